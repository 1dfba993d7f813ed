// What of a nest makes a difference, as a nest and as numbers that tell programs apart.
#include "compiler/analysis/essence.h"

#include <gtest/gtest.h>

#include "compiler/schedule/step.h"
#include "compiler/te/naive_nest.h"
#include "compiler/te/parse.h"

namespace lathe::analysis {
namespace {

using schedule::Split;

// j in blocks of `block` tiles of `tile`.
ir::Nest blocked(bool swapped = false) {
  const auto workload = te::parse_workload("A: f32[6,40]; B[i,j] = A[i,j]");
  ir::Nest nest = te::naive_nest(*workload);
  const ir::SizeId tile = nest.sizes.knob(0, "tile"), block = nest.sizes.knob(1, "block");
  schedule::Trace trace = {Split{"B.j", nest.sizes.mul(block, tile), "c", "r"},
                           Split{"r", tile, "t", "i"}};
  if (swapped) trace.push_back(schedule::Reorder{{"c", "B.i"}});
  const auto applied = schedule::apply(nest, trace, false);
  EXPECT_TRUE(applied) << applied.error().text();
  return nest;
}

std::vector<std::int64_t> sizes(const Essence& essence, std::vector<std::int64_t> knobs) {
  std::vector<std::int64_t> values;
  essence.sizes().evaluate(knobs, values);
  return values;
}

TEST(Essence, LeavesOutLoopsOfOneIterationAndIdleIterations) {
  const ir::Nest nest = blocked();
  const ir::Nest bare = essential(ir::SizedNest(nest, std::vector<std::int64_t>{8, 64}));
  EXPECT_TRUE(ir::verify(bare)) << ir::verify(bare).error().text();
  EXPECT_EQ(bare.find_loop("c"), -1);  // 512 elements are all there are
  const ir::SizedNest sized(bare, {});
  EXPECT_EQ(sized.extent(bare.find_loop("t")), 5);
  EXPECT_EQ(sized.extent(bare.find_loop("i")), 8);
  EXPECT_EQ(sized.extent(bare.find_loop("B.i")), 6);
}

TEST(Essence, KeepsALoopThatPrefetches) {
  ir::Nest nest = blocked();
  const ir::LoopId loop = nest.find_loop("c");
  nest.loops[loop].prefetch.push_back({nest.find_buffer("A"), nest.sizes.constant(4096)});
  EXPECT_GE(essential(ir::SizedNest(nest, std::vector<std::int64_t>{8, 64})).find_loop("c"), 0);
  nest.loops[loop].prefetch[0].bytes = nest.sizes.constant(0);
  EXPECT_EQ(essential(ir::SizedNest(nest, std::vector<std::int64_t>{8, 64})).find_loop("c"), -1);
}

// Stores go past the caches only where no sum goes on from what they stored.
TEST(Essence, StreamsWhereTheSumIsComplete) {
  const auto workload =
      te::parse_workload("A: f32[4,40]; B: f32[40,8]; C[i,j] = sum(k) A[i,k] * B[k,j]");
  const auto scheduled = [&](bool streaming) {
    ir::Nest nest = te::naive_nest(*workload);
    schedule::Trace trace = {Split{"C.k", nest.sizes.knob(0, "block"), "ko", "ki"},
                             schedule::Reorder{{"ko", "C.i", "C.j", "ki"}},
                             schedule::Cache{"C", "acc", "C.j", ir::Scope::kRegister, {}}};
    if (streaming) trace.emplace_back(schedule::Stream{"C"});
    const auto applied = schedule::apply(nest, trace, false);
    EXPECT_TRUE(applied) << applied.error().text();
    return nest;
  };
  const ir::Nest cached = scheduled(false), streaming = scheduled(true);
  for (const std::int64_t block : {8, 40}) {
    const std::vector<std::int64_t> knobs = {block};
    const ir::Nest bare = essential(ir::SizedNest(streaming, knobs));
    EXPECT_EQ(bare.buffers[bare.find_buffer("C")].streaming, block == 40);
    const Essence a(cached), b(streaming);
    EXPECT_EQ(
        a.outline(a.answers(sizes(a, knobs))).form == b.outline(b.answers(sizes(b, knobs))).form,
        block == 8);
  }
}

TEST(Essence, FormsOfNestsAreEqualWhereTheirDifferenceGoes) {
  const ir::Nest one = blocked(), other = blocked(true);
  const Essence a(one), b(other);
  const auto form = [&](const Essence& essence, std::int64_t block) {
    return essence.outline(essence.answers(sizes(essence, {8, block}))).form;
  };
  EXPECT_NE(form(a, 2), form(b, 2));  // c has three iterations, outside or inside i
  EXPECT_EQ(form(a, 8), form(b, 8));  // c has one
  EXPECT_TRUE(a.has_facts_of(b));
  const auto signature = [&](const Essence& essence, std::int64_t block) {
    return essence.signature(essence.answers(sizes(essence, {8, block})));
  };
  EXPECT_EQ(signature(a, 8), signature(b, 8));
  EXPECT_NE(signature(a, 8), signature(a, 2));
}

}  // namespace
}  // namespace lathe::analysis
