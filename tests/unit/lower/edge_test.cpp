// Edges of padded reads: right, and with little code.
#include <gtest/gtest.h>

#include "compiler/lower/lower.h"
#include "compiler/schedule/step.h"
#include "compiler/te/naive_nest.h"
#include "compiler/te/parse.h"
#include "support/check_flat.h"
#include "support/targets.h"

namespace lathe {
namespace {

using schedule::Annotate, schedule::Reorder, schedule::Split;

constexpr const char* kConvolution =
    "X: f32[3,{0},{1}]; W: f32[3,3,3]; Y[y:{0},x:{1}] = sum(c,r,s) X[c,y+r-1,x+s-1 else 0] * "
    "W[c,r,s]";

// A tile of 2 rows by 7 written out, the channels innermost.
Result<flat::Program> tiled(const te::Workload& workload, int threads,
                            const lower::Limits& limits = {}) {
  ir::Nest nest = te::naive_nest(workload);
  schedule::Trace trace = {Split{"Y.y", std::int64_t{2}, "yt", "yi", ir::Tail::kPeel},
                           Split{"Y.x", std::int64_t{7}, "xt", "xi", ir::Tail::kPeel},
                           Reorder{{"yt", "xt", "Y.r", "Y.s", "Y.c", "yi", "xi"}}};
  for (const char* loop : {"yi", "xi"})
    trace.push_back(Annotate{.loop = loop, .kind = ir::LoopKind::kUnrolled});
  if (threads > 1) trace.push_back(Annotate{.loop = "yt", .kind = ir::LoopKind::kParallel});
  if (threads > 2) trace.push_back(Annotate{.loop = "xt", .kind = ir::LoopKind::kParallel});
  const auto applied = schedule::apply(nest, trace, false);
  EXPECT_TRUE(applied) << applied.error().text();
  return lower::lower(ir::SizedNest(nest, {}), test::avx512(threads), limits);
}

std::size_t multiplications(const flat::Program& program) {
  const std::string text = flat::print(program);
  std::size_t count = 0;
  for (std::size_t at = text.find("fma("); at != std::string::npos; at = text.find("fma(", at + 1))
    ++count;
  return count;
}

TEST(Edges, TilesComputeTheSame) {
  for (const int threads : {1, 2, 3})
    for (const auto& [height, width] : {std::pair{28, 28},
                                        {14, 14},
                                        {6, 21},
                                        {2, 7},
                                        {4, 7},
                                        {12, 42},
                                        {28, 35},
                                        {11, 37},
                                        {13, 17},
                                        {1, 1},
                                        {3, 9}}) {
      const auto workload = te::parse_workload(fmt::format(kConvolution, height, width));
      ASSERT_TRUE(workload) << workload.error().text();
      for (const std::int64_t most : {4'000, 400, 0}) {
        const auto flat = tiled(*workload, threads, {.max_edge_accesses = most});
        ASSERT_TRUE(flat) << flat.error().text();
        EXPECT_EQ(check_flat(*workload, *flat, 1), "") << height << " x " << width << "\n"
                                                       << flat::print(*flat);
      }
    }
}

TEST(Edges, TakeOneMoreTileForEachAxis) {
  constexpr std::size_t kTile = 2 * 7;
  const auto workload = te::parse_workload(fmt::format(kConvolution, 28, 35));
  const auto flat = tiled(*workload, 1);
  ASSERT_TRUE(flat);
  EXPECT_GE(multiplications(*flat), kTile);
  EXPECT_LE(multiplications(*flat), 3 * kTile) << flat::print(*flat);
}

}  // namespace
}  // namespace lathe
