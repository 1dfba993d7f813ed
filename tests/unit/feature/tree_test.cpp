#include "tuner/feature/tree.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "tuner/feature/plan.h"
#include "unit/feature/hand_nest.h"

namespace lathe::feature {
namespace {

struct Node {
  int parent;
  float variable;
  std::vector<float> context;
};

std::vector<Node> tree_of(const ir::Nest& nest, const std::vector<std::int64_t>& knobs) {
  const ir::SizedNest sized(nest, knobs);
  std::vector<float> row(static_cast<std::size_t>(tree_width()), NAN);
  TreePlan(nest).row(sized.values, row.data());
  std::vector<Node> nodes;
  bool over = false;
  for (int n = 0; n < kTreeNodes; ++n) {
    const float* node = row.data() + n * kTreeNodeWidth;
    for (int i = 0; i < kTreeNodeWidth; ++i) EXPECT_TRUE(std::isfinite(node[i])) << n << " " << i;
    over = over || node[kNodeParent] == kNoNode;
    EXPECT_EQ(over, node[kNodeParent] == kNoNode) << "a node after the last";
    if (over) {
      EXPECT_EQ(std::count(node + 1, node + kTreeNodeWidth, 0.0F), kTreeNodeWidth - 1);
      continue;
    }
    EXPECT_LT(node[kNodeParent], n);
    nodes.push_back({static_cast<int>(node[kNodeParent]),
                     node[kNodeVariable],
                     {node + kNodeContext, node + kTreeNodeWidth}});
  }
  return nodes;
}

ir::Nest chain_of(int loops) {
  ir::Nest nest;
  const auto two = nest.sizes.constant(2);
  std::vector<HandLoop> hand;
  for (int l = 0; l < loops; ++l) hand.push_back({fmt::format("l{}", l), two});
  nest.buffers = {tensor(nest, "Y", {1}, ir::Scope::kOutput)};
  nest_loops(nest, hand);
  ir::Block block;
  block.name = "Y";
  block.writes = 0;
  block.index = {ir::Affine::constant(0)};
  block.reduce = ir::ReduceOp::kSum;  // the main block, whatever its siblings
  block.body = ir::constant(1, Dtype::kF32);
  add_block(nest, block, {});
  return nest;
}

TEST(TreeRow, AChainHasTheContextsOfTheContextRow) {
  const ir::Nest nest = worked_example();
  const auto nodes = tree_of(nest, kWorkedKnobs);
  const char* names[] = {"ko", "jo", "io", "ki", "ku", "ii", "jv", "jl"};
  ASSERT_EQ(nodes.size(), std::size(names));
  const ir::SizedNest sized(nest, kWorkedKnobs);
  std::vector<float> context(static_cast<std::size_t>(context_width()));
  context_row(Plan(nest), sized.values, context.data());
  const float* loops = context.data() + (kLoops - 8) * kLoopContext;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    EXPECT_EQ(nodes[n].parent, static_cast<int>(n) - 1);
    EXPECT_EQ(nodes[n].variable, variable_code(names[n]));
    EXPECT_EQ(nodes[n].context,
              std::vector<float>(loops + n * kLoopContext, loops + (n + 1) * kLoopContext));
  }
}

TEST(TreeRow, LoopsOfOneIterationAreLeftOut) {
  const auto nodes = tree_of(worked_example(), {14, 1, 256, 4});  // jv runs once
  ASSERT_EQ(nodes.size(), 7);
  EXPECT_EQ(nodes[6].variable, variable_code("jl"));
  EXPECT_EQ(nodes[6].parent, 5);
  EXPECT_TRUE(tree_of(worked_example(1), {1, 1, 1, 1}).size() == 1) << "jl alone, which is of 16";
}

TEST(TreeRow, SiblingsHangWhereTheyRun) {
  ir::Nest nest = worked_example();
  const auto three = nest.sizes.constant(3);
  add_sibling(nest, nest.find_loop("io"), {{"p0", three}, {"p1", three}}, 2);
  add_sibling(nest, ir::kRoot, {{"z", three}}, 2);
  const auto nodes = tree_of(nest, kWorkedKnobs);
  ASSERT_EQ(nodes.size(), 11);
  EXPECT_EQ(nodes[8].variable, variable_code("p0"));
  EXPECT_EQ(nodes[8].parent, 2) << "io";
  EXPECT_EQ(nodes[9].parent, 8);
  EXPECT_EQ(nodes[10].parent, static_cast<int>(kAtTop));
  EXPECT_NEAR(nodes[9].context[0], std::log2(3), 1e-6);
  EXPECT_EQ(nodes[10].context[kLoopHeader], 0) << "nothing is around it";
}

TEST(TreeRow, WhatRunsBeforeTheProgramIsNoPartOfIt) {
  ir::Nest nest = worked_example();
  ir::Buffer packed = nest.buffers[1];
  packed.name = "B.pack";
  packed.scope = ir::Scope::kMemory;
  packed.constant = true;
  nest.buffers.push_back(packed);
  add_sibling(nest, ir::kRoot, {{"p", nest.sizes.constant(9)}}, 3);
  EXPECT_EQ(tree_of(nest, kWorkedKnobs).size(), 8);
}

TEST(TreeRow, LongChainsLoseTheirOutermostLoops) {
  const auto nodes = tree_of(chain_of(40), {});
  ASSERT_EQ(nodes.size(), kTreeNodes);
  EXPECT_EQ(nodes.front().parent, static_cast<int>(kAtTop));
  EXPECT_EQ(nodes.front().variable, variable_code("l8"));
  EXPECT_EQ(nodes.back().variable, variable_code("l39"));
}

TEST(TreeRow, OfTooManyLoopsTheMainChainStays) {
  ir::Nest nest = chain_of(30);
  const auto five = nest.sizes.constant(5);
  add_sibling(nest, nest.find_loop("l3"), {{"a", five}, {"b", five}, {"c", five}, {"d", five}});
  const auto nodes = tree_of(nest, {});
  ASSERT_EQ(nodes.size(), kTreeNodes);
  const auto has = [&](const char* name) {
    return std::ranges::count(nodes, variable_code(name), &Node::variable);
  };
  for (int l = 0; l < 30; ++l) EXPECT_EQ(has(fmt::format("l{}", l).c_str()), 1) << l;
  EXPECT_EQ(has("a") + has("b"), 2);
}

TEST(TreeRow, AProgramWithoutLoops) { EXPECT_TRUE(tree_of(chain_of(0), {}).empty()); }

TEST(TreeRow, NamesAreAsManyAsFloats) {
  EXPECT_EQ(tree_names().size(), static_cast<std::size_t>(tree_width()));
  EXPECT_EQ(tree_names()[kTreeNodeWidth + kNodeVariable], "node1.variable");
}

}  // namespace
}  // namespace lathe::feature
