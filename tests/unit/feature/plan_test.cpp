#include "tuner/feature/plan.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "unit/feature/hand_nest.h"

namespace lathe::feature {
namespace {

std::map<std::string, float> context_of(const ir::Nest& nest,
                                        const std::vector<std::int64_t>& knobs) {
  const ir::SizedNest sized(nest, knobs);
  std::vector<float> row(static_cast<std::size_t>(context_width()), NAN);
  context_row(Plan(nest), sized.values, row.data());
  const auto names = context_names();
  EXPECT_EQ(names.size(), row.size());
  std::map<std::string, float> out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_TRUE(std::isfinite(row[i])) << names[i];
    EXPECT_TRUE(out.emplace(names[i], row[i]).second) << names[i] << " twice";
  }
  return out;
}

std::vector<float> relation_of(const ir::Nest& nest, const std::vector<std::int64_t>& knobs) {
  const ir::SizedNest sized(nest, knobs);
  std::vector<float> row(static_cast<std::size_t>(relation_width()), NAN);
  relation_row(Plan(nest), sized.values, row.data());
  return row;
}

TEST(ContextRow, WorkedExample) {
  const auto f = context_of(worked_example(), kWorkedKnobs);
  // loop0 is jl, loop5 is io, loop7 is ko; buffer0 is C, 1 is A, 2 is B.
  EXPECT_EQ(f.at("loop0.length"), 4);
  EXPECT_EQ(f.at("loop0.vectorize"), 1);
  EXPECT_EQ(f.at("loop0.unroll"), 0);
  EXPECT_EQ(f.at("loop3.unroll"), 1);
  EXPECT_NEAR(f.at("loop5.top_down"), 7, 1e-6);
  EXPECT_NEAR(f.at("loop5.bottom_up"), std::log2(114688), 1e-5);
  EXPECT_NEAR(f.at("loop5.buffer1.reuse"), std::log2(74.0 * 114688 / 262144), 1e-5);
  EXPECT_EQ(f.at("loop5.buffer2.touch"), 13);
  EXPECT_EQ(f.at("loop5.buffer2.stride"), kNoStride);
  EXPECT_EQ(f.at("loop4.buffer1.stride"), 12);
  // Loops that are not there are loops of length one outside.
  EXPECT_EQ(f.at("loop8.length"), 0);
  EXPECT_NEAR(f.at("loop15.bottom_up"), std::log2(4.0 * 271581184), 1e-5);
  EXPECT_EQ(f.at("loop15.buffer0.touch"), 20);
  EXPECT_EQ(f.at("loop15.buffer0.stride"), kNoStride);
  EXPECT_EQ(f.at("loop15.buffer3.touch"), 0);
}

TEST(ContextRow, RegistersOfTheTile) {
  const auto f = context_of(worked_example(), kWorkedKnobs);
  EXPECT_EQ(f.at("accumulators"), 28);
  EXPECT_EQ(f.at("vector_loads"), 2);
  EXPECT_EQ(f.at("scalar_loads"), 14);
  EXPECT_EQ(f.at("registers"), 14 * 2 + 2 + 1);
  EXPECT_NEAR(f.at("body_fmas"), std::log2(4 * 14 * 2), 1e-6);
  EXPECT_EQ(f.at("lanes"), 4);
  EXPECT_EQ(f.at("lane_bytes"), 6);
  EXPECT_NEAR(f.at("waste"), std::log2(1036.0 / 1024), 1e-6);
  EXPECT_NEAR(f.at("work"), 30, 1e-6);
}

// The pixel held in a register while the weights are read again and again (measured: twice as
// slow).
TEST(ContextRow, RegistersDependOnTheOrderInTheTile) {
  ir::Nest nest = worked_example();
  const ir::LoopId ii = nest.find_loop("ii"), jv = nest.find_loop("jv");
  std::swap(nest.loops[ii].extent, nest.loops[jv].extent);
  for (ir::BlockIter& iter : nest.blocks[0].iters)
    for (ir::LoopDigit& digit : iter.digits)
      digit.loop = digit.loop == ii ? jv : digit.loop == jv ? ii : digit.loop;
  EXPECT_EQ(context_of(nest, kWorkedKnobs).at("registers"), 28 + 1 + 14);
  EXPECT_EQ(context_of(worked_example(), {28, 1, 256, 4}).at("registers"), 28 + 1 + 1);
}

TEST(ContextRow, TrafficFollowsTheWorkingSet) {
  const auto f = context_of(worked_example(), kWorkedKnobs);
  // ki fits 32 KiB no more (3584 + 8192 + 448 floats are 48,896 bytes); ku does: 632 floats, run
  // 606208 times.
  EXPECT_NEAR(f.at("l1_traffic"), std::log2(606208.0 * 632 * 4 / 1073741824), 1e-5);
  // io does not fit 1 MiB (262144 + 8192 + 32768 floats), ki does: 9472 times.
  EXPECT_NEAR(f.at("l2_traffic"), std::log2(9472.0 * (3584 + 8192 + 448) * 4 / 1073741824), 1e-5);
  // Everything fits 32 MiB.
  EXPECT_NEAR(f.at("l3_traffic"), std::log2(3.0 * 1048576 * 4 / 1073741824), 1e-5);
  EXPECT_NEAR(f.at("bytes"), std::log2(3.0 * 4194304), 1e-5);
}

TEST(ContextRow, ParallelBalance) {
  ir::Nest nest = worked_example();
  nest.loops[nest.find_loop("jo")].kind = ir::LoopKind::kParallel;
  const auto f = context_of(nest, {14, 3, 256, 4});  // 22 panels of 48 columns
  EXPECT_NEAR(f.at("parallel"), std::log2(22), 1e-6);
  EXPECT_EQ(f.at("idle_of_2"), 0);
  EXPECT_NEAR(f.at("idle_of_4"), 1 - 22.0 / 24, 1e-6);
  EXPECT_EQ(f.at("loop6.parallel"), 1);
}

TEST(ContextRow, CopiesAndConstants) {
  ir::Nest nest = worked_example();
  // A becomes a packed copy in memory for one iteration of io.
  ir::Buffer packed = nest.buffers[0];
  packed.name = "A.packed";
  packed.scope = ir::Scope::kMemory;
  packed.cache_of = 0;
  packed.at = nest.find_loop("io");
  nest.buffers.push_back(packed);
  nest.buffers[1].constant = true;
  nest.blocks[0].body = ir::rewrite_leaves(nest.blocks[0].body, [](const ir::Expr& e) {
    const auto* read = std::get_if<ir::Read>(&e->value);
    return read != nullptr && read->tensor == 0 ? ir::read(3, read->index, Dtype::kF32) : e;
  });
  ir::Block copy;
  copy.name = "A.packed";
  copy.writes = 3;
  copy.index = {ir::Affine::iter(0), ir::Affine::iter(1)};
  copy.body = ir::read(0, copy.index, Dtype::kF32);
  copy.parent = nest.find_loop("io");
  nest.loops[copy.parent].body.insert(nest.loops[copy.parent].body.begin(),
                                      {ir::Item::Kind::kBlock, 1});
  nest.blocks.push_back(copy);
  const auto f = context_of(nest, kWorkedKnobs);
  EXPECT_EQ(f.at("buffer1.copied"), 1);
  EXPECT_EQ(f.at("buffer2.copied"), 0);
  EXPECT_EQ(f.at("buffer2.constant"), 1);
  EXPECT_NEAR(f.at("weight_bytes"), 22, 1e-5);
  EXPECT_NEAR(f.at("copy_work"), std::log2(1 + 4.0 * 32 * 74), 1e-5);
  EXPECT_EQ(f.at("other_work"), 0);
  EXPECT_NEAR(f.at("scratch_bytes"), std::log2(1 + 3584.0 * 4), 1e-5);
}

// A loop of length one more or less is the same program, and the same row where it is outermost.
TEST(ContextRow, AlignedAtTheInnermost) {
  ir::Nest nest = worked_example();
  const auto before = context_of(nest, kWorkedKnobs);
  ir::Loop outer;
  outer.name = "batch";
  outer.extent = nest.sizes.constant(1);
  outer.body = nest.root;
  nest.loops[0].parent = static_cast<ir::LoopId>(nest.loops.size());
  nest.root = {{ir::Item::Kind::kLoop, static_cast<int>(nest.loops.size())}};
  nest.loops.push_back(outer);
  EXPECT_EQ(context_of(nest, kWorkedKnobs), before);
}

TEST(ContextRow, LongChainsLoseTheirOutermostLoops) {
  ir::Nest nest;
  std::vector<HandLoop> loops;
  const auto two = nest.sizes.constant(2);
  for (int l = 0; l < 20; ++l) loops.push_back({fmt::format("l{}", l), two});
  nest_loops(nest, loops);
  nest.buffers = {tensor(nest, "Y", {1}, ir::Scope::kOutput)};
  ir::Block block;
  block.name = "Y";
  block.writes = 0;
  block.index = {ir::Affine::constant(0)};
  block.body = ir::constant(1, Dtype::kF32);
  add_block(nest, block, {});
  const auto f = context_of(nest, {});
  EXPECT_EQ(f.at("loop15.length"), 1);
  EXPECT_EQ(f.at("loop15.top_down"), 4);
  EXPECT_EQ(f.at("loop0.top_down"), 19);
}

TEST(ContextRow, SameRowsWhateverWasThereBefore) {
  const ir::Nest nest = worked_example();
  const Plan plan(nest);
  Rng rng(1);
  for (int i = 0; i < 100; ++i) {
    const std::vector<std::int64_t> knobs = {rng.between(1, 30), rng.between(1, 6),
                                             rng.between(1, 1024), rng.between(1, 8)};
    const ir::SizedNest sized(nest, knobs);
    std::vector<float> a(static_cast<std::size_t>(context_width()), 1e30F), b(a.size(), -7);
    context_row(plan, sized.values, a.data());
    context_row(plan, sized.values, b.data());
    ASSERT_EQ(a, b);
  }
}

// R recomputed from its definition.
TEST(RelationRow, FollowsItsDefinition) {
  const ir::Nest nest = worked_example(300);
  Rng rng(2);
  for (int i = 0; i < 50; ++i) {
    const std::vector<std::int64_t> knobs = {rng.between(1, 30), rng.between(1, 6),
                                             rng.between(1, 300), rng.between(1, 8)};
    const ir::SizedNest sized(nest, knobs);
    analysis::Footprint f;
    analysis::FootprintPlan(nest, 0).evaluate(sized.values, f);
    const std::vector<float> row = relation_of(nest, knobs);
    for (int s = 0; s < kSlots; ++s) {
      for (int t = 0; t < kThresholds; ++t) {
        double reuse = kNoLoop, seldom = kNoLoop;
        for (int l = 0; l < f.loops && s < f.slots; ++l) {
          if (!(f.touch[l][s] < std::exp2(kThresholdStep * (t + 1)))) continue;
          reuse = std::max(reuse, std::log2(f.reuse(l, s)));
          seldom = std::max(seldom, -std::log2(f.top_down[l]));
        }
        ASSERT_NEAR(row[(2 * s) * kThresholds + t], reuse, 1e-4) << s << " " << t;
        ASSERT_NEAR(row[(2 * s + 1) * kThresholds + t], seldom, 1e-4) << s << " " << t;
      }
    }
  }
  EXPECT_EQ(relation_names().size(), static_cast<std::size_t>(relation_width()));
}

}  // namespace
}  // namespace lathe::feature
