// Passes over graphs: they keep what is computed, and fuse what can be fused.
#include <cstdlib>

#include <gtest/gtest.h>

#include "graph/ir/print.h"
#include "graph/passes/passes.h"
#include "support/graph_run.h"
#include "support/random_graph.h"

namespace lathe::graph {
namespace {

using test::binary;
using test::concatenated;
using test::GraphWriter;
using test::product;
using test::RandomGraph;
using test::scaled;
using test::sliced;
using test::turned;
using test::unary;

std::uint64_t rounds() {
  const char* asked = std::getenv("LATHE_RANDOM_ROUNDS");
  return asked ? std::strtoull(asked, nullptr, 10) : 300;
}

TEST(Passes, KeepWhatRandomGraphsCompute) {
  std::size_t fused = 0;
  for (std::uint64_t seed = 0; seed < rounds() && !HasFailure(); ++seed) {
    Rng rng(seed);
    const Graph before = RandomGraph(rng).make();
    const Status sound = verify(before);
    ASSERT_TRUE(sound) << "seed " << seed << "\n" << sound.error().text() << print(before);
    Graph after = before;
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, print(before)));
    const auto done = run_passes(after);
    ASSERT_TRUE(done) << "seed " << seed << "\n" << done.error().text() << "\n" << print(before);
    fused += before.nodes.size() - after.nodes.size();
    const auto inputs = test::random_values(before, rng);
    const auto want = test::run(before, inputs), got = test::run(after, inputs);
    ASSERT_TRUE(want && got);
    ASSERT_EQ(want->size(), got->size());
    for (std::size_t o = 0; o < want->size(); ++o)
      for (std::size_t e = 0; e < (*want)[o].size(); ++e)
        ASSERT_NEAR((*got)[o][e], (*want)[o][e], 1e-4 * (1 + std::abs((*want)[o][e])))
            << "seed " << seed << "\n"
            << print(before) << "\n"
            << print(after);
  }
  EXPECT_GT(fused, rounds());
}

std::vector<std::string> ops_of(Graph graph) {
  const auto done = run_passes(graph);
  EXPECT_TRUE(done) << (done ? "" : done.error().text());
  std::vector<std::string> ops;
  for (const Node& node : graph.nodes) ops.push_back(node.op);
  return ops;
}

TEST(Fuse, ResidualsJoinTheProductBeforeThem) {
  Rng rng(1);
  GraphWriter w;
  const int x = w.input({3, 5});
  const int a = unary(w, product(w, x, w.constant({5, 5}, rng)), "max({}, 0)");
  const int b = binary(w, product(w, a, w.constant({5, 5}, rng)), a);
  EXPECT_EQ(ops_of(w.finish({b})), (std::vector<std::string>{"MatMul+max", "MatMul+Add"}));
}

TEST(Fuse, BothWaysToAProductJoin) {
  Rng rng(2);
  GraphWriter w;
  const int p = product(w, w.input({3, 5}), w.constant({5, 7}, rng));
  const int gate = unary(w, p, "sigmoid({})");
  EXPECT_EQ(ops_of(w.finish({binary(w, p, gate)})), (std::vector<std::string>{"MatMul+sig+Add"}));
}

TEST(Fuse, WhatIsNeededOutsideEndsAGroup) {
  Rng rng(3);
  GraphWriter w;
  const int p = product(w, w.input({3, 5}), w.constant({5, 7}, rng));
  const int a = unary(w, p, "max({}, 0)");
  const int b = unary(w, a, "tanh({})");
  EXPECT_EQ(ops_of(w.finish({a, b})), (std::vector<std::string>{"MatMul+max", "tan"}));
}

TEST(Fuse, OtherShapesOfTheSameElementsJoin) {
  Rng rng(4);
  GraphWriter w;
  const int p = product(w, w.input({3, 5}), w.constant({5, 4}, rng));
  const int seen = w.value({3, 2, 2}, p);
  const int flat = w.value({12}, unary(w, seen, "max({}, 0)"));
  EXPECT_EQ(ops_of(w.finish({unary(w, flat, "tanh({})")})),
            (std::vector<std::string>{"MatMul+max+tan"}));
}

// What is printed of a graph after all passes.
std::string printed(Graph graph) {
  const auto done = run_passes(graph);
  EXPECT_TRUE(done) << (done ? "" : done.error().text());
  return print(graph);
}

TEST(Concat, WhatIsJoinedIsMadeThere) {
  Rng rng(5);
  GraphWriter w;
  const int x = w.input({1, 3, 5});
  const int a = unary(w, x, "max({}, 0)"), b = unary(w, x, "tanh({})");
  const int c = concatenated(w, {a, b}, 1);
  EXPECT_EQ(printed(w.finish({product(w, w.value({6, 5}, c), w.constant({5, 2}, rng))})),
            "v1: f32[1,3,5] is made in v3 from 0\n"
            "v1: f32[1,3,5] = max(v0: f32[1,3,5])  [15 FLOP]\n"
            "v2: f32[1,3,5] is made in v3 from 15\n"
            "v2: f32[1,3,5] = tan(v0: f32[1,3,5])  [15 FLOP]\n"
            "v5: f32[6,5] = view v3\n"
            "v6: f32[6,2] = MatMul(v5: f32[6,5], v4: f32[5,2])  [120 FLOP]\n");
}

TEST(Concat, ShorterOnesLieInLongerOnes) {
  Rng rng(6);
  GraphWriter w;
  const int x = w.input({1, 3, 5});
  int all = unary(w, x, "max({}, 0)");
  std::vector<int> parts = {all};
  for (int n = 0; n < 3; ++n) {
    const std::int64_t rows = w.shape(all)[1];
    const int made = product(w, w.value({rows, 5}, all), w.constant({5, 5}, rng));
    parts.push_back(w.value({1, rows, 5}, made));
    all = concatenated(w, parts, 1);
  }
  EXPECT_EQ(ops_of(w.finish({all})),
            (std::vector<std::string>{"max", "MatMul", "MatMul", "MatMul"}));
}

TEST(Concat, WhatCannotBeMadeThereIsCopied) {
  Rng rng(7);
  GraphWriter w;
  const int x = w.input({1, 5});
  const int a = product(w, x, w.constant({5, 20}, rng));
  const int c = concatenated(w, {x, a, a}, 1);  // less than half of it could be made there
  const int d = concatenated(w, {a, x}, 1);
  const int y = product(w, d, w.constant({25, 3}, rng)),
            z = product(w, c, w.constant({45, 2}, rng));
  EXPECT_EQ(ops_of(w.finish({y, z})),
            (std::vector<std::string>{"MatMul", "Concat", "Copy", "MatMul", "MatMul"}));
}

TEST(Concat, PartsSideBySideAreOne) {
  Rng rng(11);
  GraphWriter w;
  const int a = product(w, w.input({1, 5}), w.constant({5, 6}, rng));
  const int low = sliced(w, a, 1, 0, 1, 2), high = sliced(w, a, 1, 2, 1, 4);
  const int b = product(w, high, w.constant({4, 3}, rng));
  const int c = concatenated(w, {low, high, b}, 1), same = concatenated(w, {low, high}, 1);
  EXPECT_EQ(printed(w.finish({product(w, c, w.constant({9, 2}, rng)), unary(w, same, "abs({})")})),
            "v2: f32[1,6] is made in v7 from 0\n"
            "v2: f32[1,6] = MatMul(v1: f32[1,5], v0: f32[5,6])  [60 FLOP]\n"
            "v4: f32[1,4] = view v2 from 2\n"
            "v6: f32[1,3] is made in v7 from 6\n"
            "v6: f32[1,3] = MatMul(v4: f32[1,4], v5: f32[4,3])  [24 FLOP]\n"
            "v10: f32[1,2] = MatMul(v7: f32[1,9], v9: f32[9,2])  [36 FLOP]\n"
            "v8: f32[1,6] = view v2\n"
            "v11: f32[1,6] = abs(v8: f32[1,6])  [6 FLOP]\n");
}

TEST(Concat, ElementWiseReadersReadWhatIsJoined) {
  Rng rng(8);
  GraphWriter w;
  const int x = w.input({1, 5});
  const int a = product(w, x, w.constant({5, 20}, rng));
  const int y = unary(w, concatenated(w, {x, a}, 1), "tanh({})");
  EXPECT_EQ(ops_of(w.finish({y})), (std::vector<std::string>{"MatMul", "Concat+tan"}));
}

TEST(Fold, ScalesAndShiftsOfChannelsJoinWeights) {
  Rng rng(9);
  GraphWriter w;
  const int x = w.input({3, 5});
  const int p = product(w, x, w.constant({5, 7}, rng));
  const int s = scaled(w, p, w.constant({7}, rng));
  const int y =
      w.node("BatchNormalization",
             "X: f32[3,7]; const V: f32[7]; const S: f32[7]; Y: f32[3,7]\n"
             "F[c:7] = rsqrt(abs(V[c]) + 0.5) * S[c]; Y[i,c] = (X[i,c] - 2) * F[c] + S[c]",
             {s, w.constant({7}, rng), w.constant({7}, rng)}, {3, 7});
  Graph before = w.finish({unary(w, y, "max({}, 0)")}), after = before;
  ASSERT_TRUE(run_passes(after, "fold"));
  std::vector<std::string> ops;
  for (const Node& node : after.nodes) ops.push_back(node.op);
  EXPECT_EQ(ops, (std::vector<std::string>{"MatMul", "BatchNormalization", "max"}));
  EXPECT_EQ(after.nodes[1].expression.stages.size(), 1U);  // a bias
  const auto inputs = test::random_values(before, rng);
  const auto want = test::run(before, inputs), got = test::run(after, inputs);
  for (std::size_t e = 0; e < (*want)[0].size(); ++e)
    EXPECT_NEAR((*got)[0][e], (*want)[0][e], 1e-5 * (1 + std::abs((*want)[0][e])));
}

TEST(Views, PartsOfWhatFollowsAreViews) {
  Rng rng(8);
  GraphWriter w;
  const int x = w.input({1, 7, 5});
  const int a = sliced(w, x, 1, 0, 1, 3), b = sliced(w, x, 1, 3, 1, 4);
  const int strided = sliced(w, x, 1, 0, 2, 3);
  const int y = binary(w, unary(w, a, "tanh({})"), strided);
  EXPECT_EQ(printed(w.finish({y, unary(w, b, "max({}, 0)")})),
            "v1: f32[1,3,5] = view v0 from 0\n"
            "v5: f32[1,3,5] = tan+Slice+Add(v1: f32[1,3,5], v0: f32[1,7,5])  [30 FLOP]\n"
            "v2: f32[1,4,5] = view v0 from 15\n"
            "v6: f32[1,4,5] = max(v2: f32[1,4,5])  [20 FLOP]\n");
}

TEST(Movements, ChainsBecomeOneNode) {
  GraphWriter w;
  const int x = w.input({4, 6});
  const int y = turned(w, w.value({2, 6}, turned(w, sliced(w, x, 1, 1, 2, 3))));
  EXPECT_EQ(ops_of(w.finish({y})), (std::vector<std::string>{"Slice+Transpose+Transpose"}));
}

// What is joined first is made in place; an input of the graph cannot be.
TEST(Movements, LeaveWhatIsMadeWhereItIsJoined) {
  Rng rng(12);
  for (const bool made : {true, false}) {
    GraphWriter w;
    const int x = w.input({1, 3, 5});
    const auto part = [&] { return made ? unary(w, x, "tanh({})") : w.input({1, 3, 5}); };
    std::vector<int> rows;
    for (int n = 0; n < 2; ++n) {
      const int a = part();
      rows.push_back(w.value({6, 5}, concatenated(w, {a, part()}, 1)));
    }
    const int all = concatenated(w, rows, 1);
    Graph graph = w.finish({product(w, all, w.constant({10, 2}, rng))});
    const std::vector<std::string> before(made ? 4 : 0, "tan");
    std::vector<std::string> want = before;
    want.insert(want.end(), {made ? "Concat" : "Concat+Concat+Concat", "MatMul"});
    EXPECT_EQ(ops_of(graph), want);
  }
}

TEST(Movements, ProductsFindRowsWhereTheyLie) {
  Rng rng(10);
  GraphWriter w;
  const int x = w.input({4, 6});
  const int half = sliced(w, x, 1, 3, 1, 3);  // rows of a part
  const int turned_x = turned(w, x);          // columns stay a node
  const int a = product(w, half, w.constant({3, 2}, rng));
  const int b = product(w, turned_x, w.constant({4, 2}, rng));
  EXPECT_EQ(ops_of(w.finish({a, b})),
            (std::vector<std::string>{"Transpose", "Slice+MatMul", "MatMul"}));
}

TEST(Passes, UnknownOnesAreRefused) {
  Graph graph = GraphWriter().finish({});
  const auto done = run_passes(graph, "fuze");
  ASSERT_FALSE(done);
  EXPECT_NE(
      done.error().text().find("there is no pass 'fuze'; there are import, fold, views, movements, "
                               "concat, layout, fuse"),
      std::string::npos);
}

}  // namespace
}  // namespace lathe::graph
