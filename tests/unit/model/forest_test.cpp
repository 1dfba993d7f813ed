#include "tuner/model/forest.h"

#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"

namespace lathe::model {
namespace {

// A random tree of at most `depth`, leaves at any level.
int grow(Tree& tree, int depth, int width, Rng& rng) {
  const int id = static_cast<int>(tree.nodes.size());
  tree.nodes.emplace_back();
  if (depth == 0 || rng.chance(0.25)) {
    tree.nodes[id].value = static_cast<float>(rng.normal());
    return id;
  }
  tree.nodes[id].feature = static_cast<int>(rng.below(static_cast<std::uint64_t>(width)));
  tree.nodes[id].threshold = static_cast<float>(rng.below(8));
  const int left = grow(tree, depth - 1, width, rng);
  const int right = grow(tree, depth - 1, width, rng);
  tree.nodes[id].left = left;
  tree.nodes[id].right = right;
  return id;
}

float walk(const Tree& tree, const float* row) {
  int at = 0;
  while (tree.nodes[at].left != -1)
    at = row[tree.nodes[at].feature] < tree.nodes[at].threshold ? tree.nodes[at].left
                                                                : tree.nodes[at].right;
  return tree.nodes[at].value;
}

std::vector<Tree> random_trees(int count, int depth, int width, Rng& rng) {
  std::vector<Tree> trees(static_cast<std::size_t>(count));
  for (Tree& tree : trees) grow(tree, depth, width, rng);
  return trees;
}

TEST(Forest, WalksAsTheTreesDo) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Rng rng(seed);
    const int width = static_cast<int>(rng.between(1, 13)),
              rows = static_cast<int>(rng.between(1, 53));
    const auto trees = random_trees(static_cast<int>(rng.between(1, 9)),
                                    static_cast<int>(rng.between(0, 8)), width, rng);
    const Result<Forest> forest = Forest::build(trees, width);
    ASSERT_TRUE(forest) << "seed " << seed;
    std::vector<float> features(static_cast<std::size_t>(rows * width));
    // Integers: many values equal a threshold exactly.
    for (float& f : features) f = static_cast<float>(rng.below(9));
    std::vector<float> scores(static_cast<std::size_t>(rows));
    forest->predict(features, scores);
    for (int r = 0; r < rows; ++r) {
      float expected = 0;
      for (const Tree& tree : trees) expected += walk(tree, features.data() + r * width);
      ASSERT_EQ(scores[r], expected) << "seed " << seed << " row " << r;
    }
  }
}

TEST(Forest, SurvivesItsBytes) {
  Rng rng(5);
  const auto trees = random_trees(7, 6, 10, rng);
  const Forest forest = *Forest::build(trees, 10);
  std::string bytes;
  forest.append_to(bytes);
  bytes += "rest";
  std::string_view view = bytes;
  const Result<Forest> again = Forest::read_from(view);
  ASSERT_TRUE(again);
  EXPECT_EQ(view, "rest");
  std::string second;
  again->append_to(second);
  EXPECT_EQ(second + "rest", bytes);
}

TEST(Forest, RefusesBytesCutAnywhere) {
  Rng rng(6);
  const Forest forest = *Forest::build(random_trees(3, 4, 5, rng), 5);
  std::string bytes;
  forest.append_to(bytes);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    std::string_view cut(bytes.data(), size);
    EXPECT_FALSE(Forest::read_from(cut)) << size;
  }
}

TEST(Forest, RefusesWhatIsNoTree) {
  Tree cycle;
  cycle.nodes = {{0, 0, 0, 1.0F, 0}};
  EXPECT_FALSE(Forest::build(std::vector{cycle}, 3));
  Tree dangling;
  dangling.nodes = {{1, 2, 0, 1.0F, 0}, {}};
  EXPECT_FALSE(Forest::build(std::vector{dangling}, 3));
  Tree wide;
  wide.nodes = {{1, 2, 3, 1.0F, 0}, {}, {}};
  const Result<Forest> refused = Forest::build(std::vector{Tree{{Tree::Node{}}}, wide}, 3);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "tree 1 of the cost model asks for feature 3 of 3");
}

TEST(Forest, NanGoesRight) {
  Tree tree;
  tree.nodes = {{1, 2, 0, 1.0F, 0}, {-1, -1, 0, 0, 10.0F}, {-1, -1, 0, 0, 20.0F}};
  const Forest forest = *Forest::build(std::vector{tree}, 1);
  const std::vector<float> features = {std::numeric_limits<float>::quiet_NaN()};
  std::vector<float> scores(1);
  forest.predict(features, scores);
  EXPECT_EQ(scores[0], 20.0F);
}

}  // namespace
}  // namespace lathe::model
