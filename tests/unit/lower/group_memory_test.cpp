// Memory of a group: filled by its items together, with as many barriers as are needed.
#include <cstdlib>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "compiler/analysis/essence.h"
#include "compiler/lower/expand/expand.h"
#include "compiler/lower/lower.h"
#include "compiler/lower/pipeline.h"
#include "compiler/te/naive_nest.h"
#include "compiler/te/parse.h"
#include "oracle/nest_eval.h"
#include "support/bound_trace.h"
#include "support/check_flat.h"
#include "support/group_traces.h"
#include "support/random_workload.h"

namespace lathe {
namespace {

using schedule::Annotate, schedule::Split;
using testing::Fill, testing::kind, testing::staged_product;

Result<flat::Program> lowered(const std::string& text, const schedule::Trace& trace) {
  const te::Workload workload = *te::parse_workload(text);
  ir::Nest nest = te::naive_nest(workload);
  const auto applied = schedule::apply(nest, trace);
  EXPECT_TRUE(applied) << applied.error().text() << "\n" << ir::print(nest);
  return lower::lower(ir::SizedNest(nest, {}), generic_opencl());
}

std::string refusal_of(const std::string& text, const schedule::Trace& trace, const Target& on) {
  const te::Workload workload = *te::parse_workload(text);
  ir::Nest nest = te::naive_nest(workload);
  if (const auto applied = schedule::apply(nest, trace); !applied) return applied.error().text();
  const auto program = lower::lower(ir::SizedNest(nest, {}), on);
  return program ? "" : program.error().text();
}

std::int64_t count(const std::string& text, const std::string& what) {
  std::int64_t found = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

std::string wrong(const std::string& text, const schedule::Trace& trace) {
  const auto program = lowered(text, trace);
  if (!program) return program.error().text();
  const std::string fault = check_flat(*te::parse_workload(text), *program, 1);
  return fault.empty() ? "" : fault + "\n" + print(*program);
}

// The nest as it is written, run without lowering.
std::string wrong_as_nest(const te::Workload& workload, const RandomSchedule& s,
                          std::uint64_t seed) {
  Rng rng(seed);
  const auto inputs = interp::random_inputs(workload, rng);
  const auto want = interp::evaluate(workload, inputs);
  const auto got = interp::evaluate(ir::SizedNest(s.nest, s.knobs), inputs);
  if (!want || !got) return want ? got.error().text() : want.error().text();
  for (std::size_t o = 0; o < want->size(); ++o)
    if (const std::string wrong = interp::compare((*want)[o], (*got)[o].values); !wrong.empty())
      return wrong;
  return "";
}

constexpr int kSizes[][3] = {{1, 1, 1},  {17, 5, 13},  {16, 7, 32}, {31, 1, 37},
                             {2, 19, 3}, {32, 64, 48}, {33, 17, 9}};

std::string product(int m, int k, int n) {
  return fmt::format("A: f32[{0},{1}]; B: f32[{1},{2}]; C[i,j] = sum(k) A[i,k] * B[k,j]", m, k, n);
}

TEST(GroupMemory, ItemsFillTheirMemoryTogether) {
  for (const auto& [m, k, n] : kSizes)
    for (const Fill fill : testing::kFills)
      EXPECT_EQ(wrong(product(m, k, n), staged_product(fill)), "")
          << m << " " << k << " " << n << " " << static_cast<int>(fill);
}

TEST(GroupMemory, TwoCachesShareTheBarriers) {
  const auto program = lowered(product(32, 64, 48), staged_product(Fill::kVectors));
  ASSERT_TRUE(program) << program.error().text();
  EXPECT_EQ(count(print(*program), "barrier"), 2) << print(*program);
}

// Rows that are padded by a vector lie in other banks; their vectors stay where 16 bytes begin.
TEST(GroupMemory, RowsArePadded) {
  for (const auto& [m, k, n] : kSizes) {
    schedule::Trace trace = staged_product(Fill::kVectors, 2);
    const std::vector<schedule::LayoutItem> rows = {
        {0, std::int64_t{1}}, {1, std::int64_t{4}}, {1, std::int64_t{1}}};
    trace.push_back(schedule::Layout{"A.s", rows, 4});
    EXPECT_EQ(wrong(product(m, k, n), trace), "") << m << " " << k << " " << n;
    if (k < 64) continue;
    const std::string text = print(*lowered(product(m, k, n), trace));
    EXPECT_NE(text.find("A.s: f32[384] group"), std::string::npos) << text;  // 2 * 16 * (8 + 4)
  }
}

TEST(GroupMemory, StepsGoToJsonAndBack) {
  schedule::Trace trace = staged_product(Fill::kVectors, 3);
  for (const schedule::Step& step : testing::split_sum()) trace.push_back(step);
  trace.push_back(schedule::ComputeAt{"T", "ko", ir::Scope::kGroup});
  const auto back = schedule::trace_from_json(schedule::to_json(trace));
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(schedule::print(*back), schedule::print(trace));
  EXPECT_EQ(schedule::to_json(*back), schedule::to_json(trace));
  const std::string text = schedule::print(trace);
  EXPECT_NE(text.find("cache A as A.s in group at ko, 3 stages"), std::string::npos) << text;
  EXPECT_NE(text.find("compute T at ko in group"), std::string::npos) << text;
}

TEST(GroupMemory, OneFillNeedsOneBarrier) {
  const std::string text = "X: f32[40,9]; Y[i,j:7] = sum(r:3) X[i,j+r]";
  const schedule::Trace trace = {
      Split{"Y.i", std::int64_t{8}, "io", "ii"},
      kind("io", ir::LoopKind::kBlockX),
      kind("ii", ir::LoopKind::kThreadX),
      schedule::Cache{.buffer = "X", .name = "X.s", .loop = "io", .scope = ir::Scope::kGroup},
      schedule::Fuse{{"X.s.d0", "X.s.d1"}, "X.s.f"},
      kind("X.s.f", ir::LoopKind::kItems)};
  const auto program = lowered(text, trace);
  ASSERT_TRUE(program) << program.error().text();
  EXPECT_EQ(count(print(*program), "barrier"), 1) << print(*program);
  EXPECT_EQ(wrong(text, trace), "");
}

// A tile goes through memory of the group, and comes out of it along the other axis.
TEST(GroupMemory, TransposesThroughTheirMemory) {
  for (const auto& [m, n] : {std::pair{1, 1}, {7, 13}, {32, 16}, {37, 41}}) {
    const std::string text = fmt::format("X: f32[{},{}]; Y[j,i] = X[i,j]", m, n);
    const schedule::Trace trace = {
        Split{"Y.j", std::int64_t{8}, "jo", "ji"},
        Split{"Y.i", std::int64_t{8}, "io", "ii"},
        schedule::Reorder{{"jo", "io", "ji", "ii"}},
        kind("jo", ir::LoopKind::kBlockY),
        kind("io", ir::LoopKind::kBlockX),
        kind("ji", ir::LoopKind::kThreadY),
        kind("ii", ir::LoopKind::kThreadX),
        schedule::Cache{.buffer = "X", .name = "X.s", .loop = "io", .scope = ir::Scope::kGroup},
        schedule::Layout{"X.s", {}, 1},
        kind("X.s.d0", ir::LoopKind::kThreadY),
        kind("X.s.d1", ir::LoopKind::kThreadX)};
    EXPECT_EQ(wrong(text, trace), "") << text;
  }
}

// Items along z sum parts, and a sum of these in their order makes the result.
TEST(GroupMemory, ItemsShareASum) {
  for (const auto& [m, k, n] : kSizes) {
    const schedule::Trace trace = testing::split_sum();
    EXPECT_EQ(wrong(product(m, k, n), trace), "") << m << " " << k << " " << n;
  }
  const auto program = lowered(product(32, 64, 48), testing::split_sum());
  ASSERT_TRUE(program) << program.error().text();
  EXPECT_EQ(program->kernels.size(), 1U);
  EXPECT_EQ(count(print(*program), "barrier"), 1) << print(*program);
}

// A row's sum by all items of a group: the parts of it lie in memory of the group.
TEST(GroupMemory, RowsAreSummedByAllItems) {
  for (const int k : {1, 5, 64, 333}) {
    const std::string text = fmt::format("X: f32[3,{}]; S[i] = sum(k) X[i,k]", k);
    EXPECT_EQ(wrong(text, testing::summed_rows()), "") << text;
  }
}

TEST(GroupMemory, StagesOverlapCopiesAndWork) {
  for (const auto& [m, k, n] : kSizes)
    for (const int stages : {2, 3, 4})
      for (const Fill fill : testing::kFills)
        EXPECT_EQ(wrong(product(m, k, n), staged_product(fill, stages)), "")
            << m << " " << k << " " << n << " " << stages << " " << static_cast<int>(fill);
  const auto program = lowered(product(32, 64, 48), staged_product(Fill::kVectors, 2));
  ASSERT_TRUE(program) << program.error().text();
  EXPECT_EQ(count(print(*program), "barrier"), 1) << print(*program);
}

// As for a device that copies into memory of groups while it computes.
Result<flat::Program> lowered_with_copies(const ir::SizedNest& nest) {
  const ir::Nest essential = analysis::essential(nest);
  return lower::run_passes(LATHE_TRY(lower::expand(ir::SizedNest(essential, {}), {},
                                                   Grids{.most_items = 256,
                                                         .most_lanes = 16,
                                                         .group_bytes = 32'768,
                                                         .copies = true,
                                                         .exchanges = true})),
                           generic_opencl());
}

TEST(GroupMemory, CopiesGoOnDuringTheWork) {
  for (const auto& [m, k, n] : kSizes)
    for (const int stages : {2, 3, 4})
      for (const Fill fill : testing::kFills) {
        const te::Workload workload = *te::parse_workload(product(m, k, n));
        ir::Nest nest = te::naive_nest(workload);
        ASSERT_TRUE(schedule::apply(nest, staged_product(fill, stages)));
        const auto program = lowered_with_copies(ir::SizedNest(nest, {}));
        ASSERT_TRUE(program) << program.error().text();
        ASSERT_EQ(check_flat(workload, *program, 1), "")
            << m << " " << k << " " << n << " " << stages << " " << static_cast<int>(fill)
            << print(*program);
      }
  ir::Nest nest = te::naive_nest(*te::parse_workload(product(32, 64, 48)));
  ASSERT_TRUE(schedule::apply(nest, staged_product(Fill::kVectors, 3)));
  const std::string text = print(*lowered_with_copies(ir::SizedNest(nest, {})));
  EXPECT_EQ(count(text, "barrier"), 1) << text;
  EXPECT_EQ(count(text, "copy B.s"), 6) << text;  // of vectors: two turns in three places
}

// The items of a warp have a part each of a row's sum in a register, and exchange them.
TEST(GroupMemory, WarpsExchangeThePartsOfASum) {
  for (const char* op : {"sum", "max", "prod"})
    for (const int k : {1, 2, 20, 32, 33, 64, 333})
      for (const int rows : {1, 4, 7}) {
        const std::string text = fmt::format("X: f32[{},{}]; S[i] = {}(k) X[i,k]", rows, k, op);
        const te::Workload workload = *te::parse_workload(text);
        ir::Nest nest = te::naive_nest(workload);
        const auto applied = schedule::apply(nest, testing::rows_of_warps());
        ASSERT_TRUE(applied) << applied.error().text();
        const auto program = lowered_with_copies(ir::SizedNest(nest, {}));
        ASSERT_TRUE(program) << program.error().text() << "\n" << ir::print(nest);
        ASSERT_EQ(check_flat(workload, *program, 1), "") << text << "\n" << print(*program);
        if (k == 333 && rows == 7) {
          EXPECT_EQ(count(print(*program), "exchange"), 5) << print(*program);
          EXPECT_EQ(count(print(*program), "barrier"), 0);
        }
      }
  const std::string text = "X: f32[7,333]; S[i] = sum(k) X[i,k]";
  EXPECT_EQ(
      refusal_of(text, testing::rows_of_warps(), generic_opencl()),
      "the parts S.part are in registers that the items of a warp exchange, which this target "
      "has not: keep them in the memory of the group");
}

// What an item has in registers it finds there in a later stage.
TEST(GroupMemory, ItemsKeepTheirElementsInRegisters) {
  const auto text_of = [](int rows, int k) {
    return fmt::format("X: f32[{0},{1}]; M[i] = max(k) X[i,k]; Y[i,j] = X[i,j] - M[i]", rows, k);
  };
  for (const int k : {2, 20, 32, 33, 64, 131})
    for (const int rows : {1, 4, 7}) {
      const te::Workload workload = *te::parse_workload(text_of(rows, k));
      ir::Nest nest = te::naive_nest(workload);
      const auto applied = schedule::apply(nest, testing::rows_in_registers());
      ASSERT_TRUE(applied) << applied.error().text();
      const auto program = lowered_with_copies(ir::SizedNest(nest, {}));
      ASSERT_TRUE(program) << program.error().text() << "\n" << ir::print(nest);
      ASSERT_EQ(check_flat(workload, *program, 1), "") << rows << " " << k << print(*program);
      // Each element is loaded once, in one variant of the code or the other.
      if (k == 64 && rows == 4) {
        EXPECT_EQ(count(print(*program), "= X["), 2) << print(*program);
      }
      EXPECT_EQ(count(print(*program), "barrier"), 0);
    }
  const auto refused = [&](std::int64_t lanes) {
    ir::Nest nest = te::naive_nest(*te::parse_workload(text_of(7, 131)));
    EXPECT_TRUE(schedule::apply(nest, testing::rows_in_registers(lanes)));
    const auto program = lowered_with_copies(ir::SizedNest(nest, {}));
    return program ? "" : program.error().text();
  };
  EXPECT_EQ(refused(32), "");
  EXPECT_EQ(refused(64),
            "block Y may need elements of X.row that another work item computed: keep it in the "
            "memory of the group");
}

// True if something lies in memory of a group, and items meet for it.
bool meets(const flat::Program& program) { return count(print(program), "barrier") > 0; }

TEST(GroupMemory, RandomSchedulesComputeWhatTheirExpressionsSay) {
  const char* asked = std::getenv("LATHE_RANDOM_ROUNDS");
  const std::uint64_t rounds = asked ? std::strtoull(asked, nullptr, 10) : 300;
  std::uint64_t lowered = 0, met = 0;
  for (std::uint64_t seed = 1; seed <= rounds && !HasFailure(); ++seed) {
    Rng rng(seed);
    const te::Workload workload =
        random_workload(rng, {.dtypes = seed % 3 == 0, .max_iterations = 4'000});
    RandomSchedule s = random_schedule(workload, rng, {.proposals = 10});
    s = with_bound_loops(workload, s, rng);
    if (add_group_memory(s, rng) == 0) continue;
    ASSERT_EQ(wrong_as_nest(workload, s, seed), "") << "seed " << seed << "\n"
                                                    << describe(workload, s);
    const ir::SizedNest sized(s.nest, s.knobs);
    const auto flat =
        seed % 2 == 0 ? lower::lower(sized, generic_opencl()) : lowered_with_copies(sized);
    if (!flat) {
      EXPECT_TRUE(flat.error().kind == ErrorKind::kIllegalSchedule ||
                  flat.error().kind == ErrorKind::kUnsupported)
          << flat.error().text();
      continue;
    }
    ++lowered;
    met += meets(*flat) ? 1 : 0;
    ASSERT_EQ(check_flat(workload, *flat, seed), "") << "seed " << seed << "\n"
                                                     << describe(workload, s) << print(*flat);
  }
  RecordProperty("lowered", static_cast<int>(lowered));
  RecordProperty("met", static_cast<int>(met));
  EXPECT_GE(met * 8, rounds) << lowered << " could be lowered";
}

TEST(GroupMemory, WhatCannotBeIsRefusedInASentence) {
  const std::string text = "X: f32[40,9]; Y[i,j:7] = sum(r:3) X[i,j+r]";
  const schedule::Cache cache{
      .buffer = "X", .name = "X.s", .loop = "Y.i", .scope = ir::Scope::kGroup};
  EXPECT_EQ(refusal_of(text, {cache}, *parse_target("cpu:x86-64")),
            "buffer X.s is in the memory of a group, which processors have not; keep it in memory");
  EXPECT_EQ(refusal_of(text, {cache}, generic_opencl()),
            "buffer X.s is in the memory of a group, but in no loop that is bound to blockIdx or "
            "threadIdx");
  EXPECT_NE(refusal_of(text, {cache, kind("Y.i", ir::LoopKind::kThreadX)}, generic_opencl())
                .find("bind the loops of items before it is filled there"),
            std::string::npos);
  const schedule::Trace outside = {
      Split{"Y.i", std::int64_t{8}, "io", "ii"}, kind("io", ir::LoopKind::kThreadX),
      schedule::Cache{.buffer = "X", .name = "X.s", .loop = "io", .scope = ir::Scope::kGroup},
      kind("ii", ir::LoopKind::kBlockX)};
  EXPECT_NE(refusal_of(text, outside, generic_opencl()).find("block X.s is not inside loop ii"),
            std::string::npos)
      << refusal_of(text, outside, generic_opencl());
  const std::string large = "X: f32[40,9000]; Y[i,j:8998] = sum(r:3) X[i,j+r]";
  const schedule::Trace too_large = {
      Split{"Y.i", std::int64_t{8}, "io", "ii"}, kind("io", ir::LoopKind::kBlockX),
      kind("ii", ir::LoopKind::kThreadX),
      schedule::Cache{.buffer = "X", .name = "X.s", .loop = "io", .scope = ir::Scope::kGroup}};
  EXPECT_EQ(refusal_of(large, too_large, generic_opencl()),
            "with X.s a group needs 288000 bytes of memory; the device has 32768: stage less of "
            "it");
}

}  // namespace
}  // namespace lathe
