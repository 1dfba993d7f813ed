#include "tuner/feature/blocks.h"

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tuner/feature/plan.h"
#include "unit/feature/hand_nest.h"

namespace lathe::feature {
namespace {

std::map<std::string, float> row_of(const ir::Nest& nest, const std::vector<std::int64_t>& knobs) {
  const ir::SizedNest sized(nest, knobs);
  std::vector<float> row(static_cast<std::size_t>(blocks_width()), NAN);
  BlocksPlan(nest).row(sized.values, row.data());
  const auto names = blocks_names();
  EXPECT_EQ(names.size(), row.size());
  std::map<std::string, float> out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_TRUE(std::isfinite(row[i])) << names[i];
    EXPECT_TRUE(out.emplace(names[i], row[i]).second) << names[i] << " twice";
  }
  return out;
}

TEST(BlocksRow, MainBlockHasItsContext) {
  const auto f = row_of(worked_example(), kWorkedKnobs);
  EXPECT_EQ(f.at("block0.present"), 1);
  EXPECT_EQ(f.at("block0.reduces"), 1);
  EXPECT_EQ(f.at("block0.sparse"), 0);
  EXPECT_EQ(f.at("block0.loop0.length"), 4);
  EXPECT_EQ(f.at("block0.loop0.vectorize"), 1);
  EXPECT_NEAR(f.at("block0.loop5.top_down"), 7, 1e-6);
  EXPECT_EQ(f.at("block0.accumulators"), 28);
  EXPECT_EQ(f.at("block1.present"), 0);
  EXPECT_EQ(f.at("whole.blocks"), 1);
  EXPECT_EQ(f.at("whole.product_work"), 30);
  EXPECT_EQ(f.at("whole.work"), 30);
  EXPECT_EQ(f.at("whole.regions"), 0);
  EXPECT_EQ(f.at("whole.scratch_bytes"), 0);
}

TEST(BlocksRow, OthersFollowByTheirWork) {
  ir::Nest nest = worked_example();
  ir::Sizes& s = nest.sizes;
  const auto few = s.constant(8), many = s.constant(64);
  add_sibling(nest, ir::kRoot, {{"a", few}}, 2);
  add_sibling(nest, ir::kRoot, {{"b", many, ir::LoopKind::kParallel}, {"c", few}}, 2);
  const auto f = row_of(nest, kWorkedKnobs);
  EXPECT_EQ(f.at("whole.blocks"), 3);
  EXPECT_EQ(f.at("block1.loop0.length"), 3);
  EXPECT_EQ(f.at("block1.loop1.length"), 6) << "the longer of the two comes first";
  EXPECT_EQ(f.at("block2.loop0.length"), 3);
  EXPECT_EQ(f.at("block2.loop1.length"), 0);
  EXPECT_EQ(f.at("block1.reduces"), 0);
  EXPECT_EQ(f.at("block3.present"), 0);
  EXPECT_EQ(f.at("whole.product_work"), 30) << "maps multiply nothing";
}

TEST(BlocksRow, WholeTellsWhatIsKept) {
  ir::Nest nest = worked_example();
  const auto rows = nest.sizes.constant(32);
  ir::Buffer kept = tensor(nest, "T", {32}, ir::Scope::kMemory);
  nest.buffers.push_back(kept);
  add_sibling(nest, ir::kRoot, {{"t", rows}}, 3);
  EXPECT_GT(row_of(nest, kWorkedKnobs).at("whole.scratch_bytes"), 0);
  EXPECT_EQ(row_of(nest, kWorkedKnobs).at("whole.held_bytes"), 0);
}

TEST(BlocksRow, OfMoreBlocksTheShortestAreLeftOut) {
  ir::Nest nest = worked_example();
  for (int b = 0; b < kBlocks + 3; ++b)
    add_sibling(nest, ir::kRoot, {{fmt::format("l{}", b), nest.sizes.constant(2 << b)}}, 2);
  const auto f = row_of(nest, kWorkedKnobs);
  EXPECT_EQ(f.at("whole.blocks"), kBlocks + 4);
  EXPECT_EQ(f.at(fmt::format("block{}.present", kBlocks - 1)), 1);
  EXPECT_EQ(f.at("block1.loop0.length"), kBlocks + 3) << "the longest";
}

}  // namespace
}  // namespace lathe::feature
