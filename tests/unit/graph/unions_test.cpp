// What several nodes may be as one: what is computed stays the same.
#include "graph/passes/unions.h"

#include <gtest/gtest.h>

#include "graph/ir/print.h"
#include "graph/passes/passes.h"
#include "support/anchors.h"
#include "support/graph_run.h"

namespace lathe::graph {
namespace {

using test::GraphWriter;

TEST(Unions, KeepWhatRandomGraphsCompute) {
  std::size_t joined = 0, three = 0;
  for (std::uint64_t seed = 0; seed < 400 && !HasFailure(); ++seed) {
    Rng rng(seed);
    Graph before = test::RandomAnchors(rng).make(6, 5);
    ASSERT_TRUE(run_passes(before));
    const std::vector<Union> taken = test::some_apart(unions_of(before, 0), 0.8, rng);
    const Graph after = united(before, taken);
    SCOPED_TRACE(fmt::format("seed {}\n{}\n{}", seed, print(before), print(after)));
    const Status sound = verify(after);
    ASSERT_TRUE(sound) << sound.error().text();
    joined += before.nodes.size() - after.nodes.size();
    for (const Union& each : taken) three += each.members.size() > 2 ? 1 : 0;
    const auto inputs = test::random_values(before, rng);
    const auto want = test::run(before, inputs), got = test::run(after, inputs);
    ASSERT_TRUE(want && got);
    for (std::size_t o = 0; o < want->size(); ++o)
      for (std::size_t e = 0; e < (*want)[o].size(); ++e)
        ASSERT_NEAR((*got)[o][e], (*want)[o][e], 1e-4 * (1 + std::abs((*want)[o][e])));
  }
  EXPECT_GT(joined, 200U);
  EXPECT_GT(three, 20U);
}

std::vector<std::string> offered_by(Graph graph, std::int64_t least = 0) {
  EXPECT_TRUE(run_passes(graph));
  std::vector<std::string> out;
  for (const Union& each : unions_of(graph, least)) out.push_back(each.node.op);
  return out;
}

// To more channels, a window, and to fewer, with a residual.
Graph bottleneck(std::vector<int> sizes) {
  Rng rng(1);
  GraphWriter w;
  const int x = w.input({1, sizes[0], sizes[1], sizes[2]});
  const int wide = test::unary(w, test::pointwise(w, x, sizes[3], rng), "max({}, 0)");
  const int windows = test::unary(w, test::depthwise(w, wide, 3, 1, rng), "max({}, 0)");
  const int narrow = test::pointwise(w, windows, sizes[2], rng);
  return w.finish({test::binary(w, narrow, x)});
}

TEST(Unions, AWindowOfChannelsAndProductsAroundIt) {
  const std::vector<std::string> both = {"Pointwise+max+Depthwise+max",
                                         "Depthwise+max+Pointwise+Add"};
  EXPECT_EQ(offered_by(bottleneck({4, 5, 3, 7})), both);
  // One row, or one column, is no reason to have none.
  EXPECT_EQ(offered_by(bottleneck({1, 5, 3, 7})), both);
  EXPECT_TRUE(offered_by(bottleneck({1, 1, 3, 7})).empty());  // products with vectors
}

TEST(Unions, WhatIsSmallIsNotOffered) {
  const std::int64_t between = 4 * 5 * 7 * 4;
  EXPECT_EQ(offered_by(bottleneck({4, 5, 3, 7}), between).size(), 2U);
  EXPECT_EQ(offered_by(bottleneck({4, 5, 3, 7}), between + 1).size(), 0U);
}

TEST(Unions, WhatIsNeededElsewhereStays) {
  Rng rng(2);
  GraphWriter w;
  const int windows = test::depthwise(w, w.input({1, 6, 6, 4}), 3, 1, rng);
  const int a = test::pointwise(w, windows, 5, rng), b = test::pointwise(w, windows, 3, rng);
  EXPECT_TRUE(offered_by(w.finish({a, b})).empty());
  GraphWriter v;
  const int shown = test::depthwise(v, v.input({1, 6, 6, 4}), 3, 1, rng);
  EXPECT_TRUE(offered_by(v.finish({test::pointwise(v, shown, 5, rng), shown})).empty());
}

TEST(Unions, APoolingAndAProduct) {
  Rng rng(3);
  GraphWriter w;
  const int x = w.input({2, 6, 8, 4});
  EXPECT_EQ(offered_by(w.finish({test::pointwise(w, test::pooled(w, x), 5, rng)})),
            std::vector<std::string>{"Pool+Pointwise"});
}

TEST(Unions, SoftmaxBetweenProducts) {
  GraphWriter w;
  const int scores = test::heads_product(w, w.input({2, 5, 3}), w.input({2, 3, 7}));
  const int shares = test::softmax(w, test::unary(w, scores, "0.5 * {}"));
  EXPECT_EQ(offered_by(w.finish({test::heads_product(w, shares, w.input({2, 7, 3}))})),
            std::vector<std::string>{"MatMul+0.5+Softmax+MatMul"});
}

TEST(Unions, ProductsThatReadNeighboursAreNot) {
  Rng rng(4);
  GraphWriter w;
  const int x = w.input({1, 6, 6, 4});
  const int dense = w.node("Conv",
                           "X: f32[1,6,6,4]; const W: f32[4,3,3,5]; Y[n,y:4,x:4,o] = sum(c,r,s) "
                           "X[n,y+r,x+s,c] * W[c,r,s,o]",
                           {x, w.constant({4, 3, 3, 5}, rng)}, {1, 4, 4, 5});
  const int windows = test::depthwise(w, dense, 3, 1, rng);
  const int after = w.node("Conv",
                           "X: f32[1,4,4,5]; const W: f32[5,3,3,5]; Y[n,y:2,x:2,o] = sum(c,r,s) "
                           "X[n,y+r,x+s,c] * W[c,r,s,o]",
                           {windows, w.constant({5, 3, 3, 5}, rng)}, {1, 2, 2, 5});
  EXPECT_TRUE(offered_by(w.finish({after})).empty());
}

}  // namespace
}  // namespace lathe::graph
