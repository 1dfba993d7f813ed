#include "compiler/analysis/footprint.h"

#include <cmath>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "compiler/te/naive_nest.h"
#include "compiler/te/parse.h"
#include "unit/feature/hand_nest.h"

namespace lathe::analysis {
namespace {

Footprint footprint_of(const ir::Nest& nest, std::span<const std::int64_t> knobs) {
  const ir::SizedNest sized(nest, knobs);
  const FootprintPlan plan(nest, main_block(nest));
  Footprint f;
  plan.evaluate(sized.values, f);
  return f;
}

ir::Nest naive(const std::string& text) {
  const auto workload = te::parse_workload(text);
  EXPECT_TRUE(workload) << workload.error().text();
  return te::naive_nest(*workload);
}

// Elements of buffer `slot` that the loops inside and including `loop` touch, counted one by one
// from the digits.
double counted(const ir::Nest& nest, const ir::SizedNest& sized, const ir::Block& block,
               const FootprintPlan& plan, int loop,
               const std::vector<std::vector<ir::Affine>>& accesses, ir::BufferId buffer) {
  std::set<std::vector<std::int64_t>> seen;
  std::vector<std::int64_t> at(nest.loops.size(), 0);
  const auto visit = [&](const auto& self, int l) -> void {
    if (l >= 0) {
      const ir::LoopId id = plan.chain()[l];
      for (at[id] = 0; at[id] < sized.extent(id); ++at[id]) self(self, l - 1);
      at[id] = 0;
      return;
    }
    std::vector<std::int64_t> iters;
    for (const ir::BlockIter& iter : block.iters) {
      std::int64_t x = sized.or_else(iter.offset, 0);
      for (const ir::LoopDigit& d : iter.digits) {
        const std::int64_t digit = at[d.loop] / sized.or_else(d.div, 1);
        x += sized[d.weight] * (d.mod == ir::SizeId::kNone ? digit : digit % sized[d.mod]);
      }
      iters.push_back(x);
    }
    for (const auto& rows : accesses) {
      std::vector<std::int64_t> element;
      bool inside = true;
      for (std::size_t d = 0; d < rows.size(); ++d) {
        std::int64_t x = rows[d].offset;
        for (const ir::AffineTerm& t : rows[d].terms) x += t.coef * iters[t.iter];
        inside = inside && x >= 0 && x < sized[nest.buffers[buffer].shape[d]];
        element.push_back(x);
      }
      if (inside) seen.insert(element);
    }
  };
  visit(visit, loop);
  return static_cast<double>(seen.size());
}

// Splits of random sizes, loops in random order: where boxes are dense and start at zero, they are
// exact.
TEST(Footprint, MatchesCountingOnRandomMatmuls) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Rng rng(seed);
    ir::Nest nest = feature::worked_example(rng.between(1, 13));
    const std::vector<std::int64_t> knobs = {rng.between(1, 7), 1, rng.between(1, 9),
                                             rng.between(1, 4)};
    const ir::SizedNest sized(nest, knobs);
    const FootprintPlan plan(nest, 0);
    Footprint f;
    plan.evaluate(sized.values, f);
    const ir::Block& block = nest.blocks[0];
    const auto reads = ir::reads_of(block.body);
    for (int l = 0; l < f.loops; ++l) {
      EXPECT_EQ(f.touch[l][0], counted(nest, sized, block, plan, l, {block.index}, 2))
          << "seed " << seed << " loop " << l;
      for (int r = 0; r < 2; ++r)
        EXPECT_EQ(f.touch[l][r + 1],
                  counted(nest, sized, block, plan, l, {reads[r]->index}, reads[r]->tensor))
            << "seed " << seed << " loop " << l << " read " << r;
    }
  }
}

TEST(Footprint, ConvolutionWindowsOverlap) {
  const ir::Nest nest = naive(
      "X: f32[1,5,9,9]; W: f32[7,5,3,3]; Y[n,o,y:4,x:4] = sum(c,r,s) X[n,c,2*y+r,2*x+s] * "
      "W[o,c,r,s]");
  const Footprint f = footprint_of(nest, {});
  // Loops from the innermost: s r c x y o n; slots Y, X, W.
  ASSERT_EQ(f.loops, 7);
  EXPECT_EQ(f.touch[2][1], 5 * 3 * 3);
  EXPECT_EQ(f.touch[3][1], 5 * 3 * 9);  // 1 + 2*3 + 2
  EXPECT_EQ(f.touch[4][1], 5 * 9 * 9);
  EXPECT_EQ(f.touch[4][0], 16);
  EXPECT_EQ(f.touch[4][2], 45);
  EXPECT_EQ(f.touch[6][2], 7 * 45);
  EXPECT_EQ(f.stride[3][1], 2);
  EXPECT_EQ(f.stride[4][1], 18);
  EXPECT_EQ(f.stride[2][1], 81);
  EXPECT_EQ(f.stride[5][2], 45);
  EXPECT_EQ(f.stride[5][1], 0);
  EXPECT_EQ(f.useful, 7 * 16 * 45);
  EXPECT_EQ(f.iterations, f.useful);
}

TEST(Footprint, PaddingIsNotTouched) {
  const ir::Nest nest = naive("X: f32[6]; W: f32[3]; Y[x:6] = sum(r) X[x+r-1 else 0] * W[r]");
  const Footprint f = footprint_of(nest, {});
  EXPECT_EQ(f.touch[1][1], 6);  // the window covers 8 positions, 6 of them exist
}

TEST(Footprint, ReadsOfOneWindowAreOneBuffer) {
  const ir::Nest nest = naive("X: f32[10]; Y[x:8] = X[x] + X[x+1] + X[x+2]");
  const FootprintPlan plan(nest, main_block(nest));
  ASSERT_EQ(plan.slots().size(), 2U);
  const Footprint f = footprint_of(nest, {});
  EXPECT_EQ(f.touch[0][1], 10);
  EXPECT_EQ(f.touch[0][0], 8);
}

TEST(Footprint, TailsCountWhole) {
  const ir::Nest nest = feature::worked_example();
  const Footprint f = footprint_of(nest, feature::kWorkedKnobs);
  EXPECT_EQ(f.iterations, 4.0 * 271581184);
  EXPECT_EQ(f.useful, 1024.0 * 1024 * 1024);
}

// What a split of a split leaves behind: an iterator over ki and ku that only keeps them within a
// block of k.
TEST(Footprint, BoundsAreNotWork) {
  ir::Nest nest = feature::worked_example();
  ir::BlockIter bound = nest.blocks[0].iters[2];
  bound.name = "k.r";
  bound.extent = nest.sizes.knob(2, "kc");
  bound.digits.erase(bound.digits.begin());
  nest.blocks[0].iters.push_back(bound);
  EXPECT_EQ(footprint_of(nest, feature::kWorkedKnobs).useful, 1024.0 * 1024 * 1024);
  // A reduction that the body does not look at is work: sum(k) 1.
  nest = naive("A: f32[3]; Y[i] = sum(k:7) A[i]");
  EXPECT_EQ(footprint_of(nest, {}).useful, 21);
}

TEST(Footprint, FusedLoopsMoveBothDigits) {
  // Y[a, b] over one loop f of 3 * 5: a = f / 5, b = f % 5.
  ir::Nest nest;
  const auto three = nest.sizes.constant(3), five = nest.sizes.constant(5),
             one = nest.sizes.constant(1);
  feature::nest_loops(nest, {{"f", nest.sizes.constant(15)}});
  nest.buffers = {feature::tensor(nest, "Y", {3, 5}, ir::Scope::kOutput)};
  ir::Block block;
  block.name = "Y";
  block.writes = 0;
  block.index = {ir::Affine::iter(0), ir::Affine::iter(1)};
  block.body = ir::constant(1, Dtype::kF32);
  feature::add_block(nest, block,
                     {{"a", three, ir::IterKind::kSpatial, {{"f", one}}},
                      {"b", five, ir::IterKind::kSpatial, {{"f", one}}}});
  nest.blocks[0].iters[0].digits[0].div = five;
  nest.blocks[0].iters[1].digits[0].mod = five;
  const Footprint f = footprint_of(nest, {});
  EXPECT_EQ(f.touch[0][0], 15);
  EXPECT_EQ(f.stride[0][0], 1);
}

// B packed into panels of 32 columns, [panel][k][column]: k steps by 32, panels by 32 * 1024.
TEST(Footprint, StridesFollowTheLayout) {
  ir::Nest nest = feature::worked_example();
  const auto one = nest.sizes.constant(1),
             panel = nest.sizes.mul(nest.sizes.knob(1, "v"), nest.sizes.constant(16));
  nest.buffers[1].layout = {{1, panel}, {0, one}, {1, one}};
  const Footprint f = footprint_of(nest, feature::kWorkedKnobs);
  // From the innermost: jl jv ii ku ki io jo ko.
  const std::vector<double> expected = {1, 16, 0, 32, 128, 0, 32 * 1024, 256 * 32};
  for (int l = 0; l < f.loops; ++l) EXPECT_EQ(f.stride[l][2], expected[l]) << l;
}

// A copy of B for one iteration of jo holds 256 x 32 elements.
TEST(Footprint, StoragePlacedAtALoopIsItsBox) {
  ir::Nest nest = feature::worked_example();
  nest.buffers[1].at = nest.find_loop("jo");
  const Footprint f = footprint_of(nest, feature::kWorkedKnobs);
  const std::vector<double> expected = {1, 16, 0, 32, 128, 0};
  for (int l = 0; l < 6; ++l) EXPECT_EQ(f.stride[l][2], expected[l]) << l;
}

TEST(Footprint, MainBlockIsTheDeepestReduction) {
  const ir::Nest nest = naive(
      "A: f32[4,5,6]; T[a,b,c] = exp(A[a,b,c]); S[a] = sum(b,c) T[a,b,c]; M[a] = max(b) A[a,b,0]");
  EXPECT_EQ(nest.blocks[main_block(nest)].name, "S");
  EXPECT_EQ(main_block(ir::Nest{}), -1);
}

}  // namespace
}  // namespace lathe::analysis
