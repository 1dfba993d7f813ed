// Programs with intrinsics that lowering writes out: they compute the same, and stay as they are.
#include <gtest/gtest.h>

#include "compiler/lower/lower.h"
#include "compiler/schedule/step.h"
#include "compiler/te/naive_nest.h"
#include "compiler/te/parse.h"
#include "support/check_flat.h"
#include "support/targets.h"

namespace lathe {
namespace {

// Splits that make the loops of one intrinsic from those of C: `sizes` of i, j and k. They end up
// inside, in the given order, the first of them taken by the intrinsic.
std::string tiles(const std::vector<int>& sizes, const std::vector<std::string>& inside,
                  const std::string& intrinsic, const std::string& outside = "") {
  std::string trace = "[";
  const std::vector<std::string> loops = {"i", "j", "k"};
  for (std::size_t l = 0; l < loops.size(); ++l)
    trace +=
        fmt::format(R"({{"step":"split","loop":"C.{0}","factor":{1},"outer":"{0}o","inner":"{0}",)"
                    R"("tail":"peel"}},)",
                    loops[l], sizes[l]);
  trace += fmt::format(R"({{"step":"reorder","loops":[{}"io","jo","ko","{}"]}},)", outside,
                       fmt::join(inside, "\",\""));
  return trace + fmt::format(R"({{"step":"tensorize","loop":"{}","intrinsic":"{}"}}])",
                             inside.front(), intrinsic);
}

Result<flat::Program> lowered(const te::Workload& workload, const std::string& trace,
                              const Target& target) {
  ir::Nest nest = te::naive_nest(workload);
  const auto steps = schedule::trace_from_json(LATHE_TRY(parse_json(trace)));
  EXPECT_TRUE(steps) << steps.error().text();
  const auto applied = schedule::apply(nest, *steps, false);
  EXPECT_TRUE(applied) << applied.error().text() << "\n" << trace;
  return lower::lower(ir::SizedNest(nest, {}), target);
}

struct Tile {
  const char* workload;
  std::vector<std::string> inside;
  const char* outside;
  std::uint64_t hash;  // of the program, which only a change of lowering may change
};

// Tails, transposed operands, orders of the loops, a batch, what follows.
const std::vector<Tile>& gemm_tiles() {
  static const std::vector<Tile> tiles = {
      {"A: f32[8,8]; B: f32[8,8]; C[i,j] = sum(k) A[k,i] * B[k,j]",
       {"i", "j", "k"},
       "",
       0xa1e8225d00b2ec1e},
      {"A: f32[67,35]; B: f32[35,29]; C[i,j] = sum(k) A[i,k] * B[k,j]",
       {"i", "j", "k"},
       "",
       0x4eb820790a864e55},
      {"A: f32[16,32]; B: f32[24,32]; C[i,j] = sum(k) A[i,k] * B[j,k]",
       {"k", "i", "j"},
       "",
       0x517015de5ed7bdde},
      {"A: f32[32,16]; B: f32[32,24]; C[i,j] = sum(k) B[k,j] * A[k,i]",
       {"j", "k", "i"},
       "",
       0x3e7d9414c9f49025},
      {"A: f32[3,16,9]; B: f32[3,9,24]; C[b,i,j] = sum(k) A[b,i,k] * B[b,k,j]",
       {"i", "k", "j"},
       "\"C.b\",",
       0x960e2c21231c537f},
      {"A: f32[16,8]; B: f32[8,8]; C[i,j] = sum(k) A[i,k] * B[k,j]; D[i,j] = max(C[i,j], 0.0)",
       {"i", "j", "k"},
       "",
       0x97f532098a181cce},
  };
  return tiles;
}

TEST(Gemm8x8, ProgramsAreRightAndAsTheyWere) {
  for (const Tile& tile : gemm_tiles()) {
    const auto workload = te::parse_workload(tile.workload);
    ASSERT_TRUE(workload) << workload.error().text();
    const std::string trace = tiles({8, 8, 8}, tile.inside, "gemm8x8", tile.outside);
    for (const bool wide : {true, false}) {
      const auto flat = lowered(*workload, trace, wide ? test::avx512(1) : test::sse(1));
      ASSERT_TRUE(flat) << flat.error().text();
      EXPECT_EQ(flat::hash(*flat), tile.hash) << tile.workload;
      EXPECT_EQ(check_flat(*workload, *flat, 1), "") << tile.workload;
    }
  }
}

TEST(Intrinsics, OfOtherDevicesAreRefused) {
  const auto workload =
      te::parse_workload("A: f32[32,8]; B: f32[8,16]; C[i,j] = sum(k) A[i,k] * B[k,j]");
  ASSERT_TRUE(workload);
  const std::string trace = tiles({16, 8, 8}, {"i", "j", "k"}, "mma.m16n8k8.tf32");
  const auto flat = lowered(*workload, trace, test::avx512(1));
  ASSERT_FALSE(flat);
  EXPECT_EQ(flat.error().kind, ErrorKind::kUnsupported);
  EXPECT_EQ(flat.error().text(),
            "intrinsic mma.m16n8k8.tf32 is the instruction "
            "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32, which cpu:x86-64-v4;threads=1 has "
            "not, but NVIDIA GPUs of compute capability 8.0 and higher have; take a schedule "
            "without it");
}

}  // namespace
}  // namespace lathe
