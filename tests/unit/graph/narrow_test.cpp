// Weights in narrower types: which are weights, how often a run needs them, what a type holds.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "graph/ir/print.h"
#include "graph/passes/narrow.h"
#include "support/graph_run.h"
#include "support/graph_writer.h"

namespace lathe::graph {
namespace {

using test::GraphWriter;

TEST(Narrow, WeightsAreFactorsInSums) {
  Rng rng(1);
  GraphWriter w;
  const int x = w.input({3, 5});
  const int product = test::product(w, x, w.constant({5, 7}, rng));
  const int added = w.node("Add",
                           "X: f32[3,7]; const B: f32[7]; const W: f32[7,7]; "
                           "Y[i,j] = sum(k) (X[i,k] * W[k,j] + B[k])",
                           {product, w.constant({7}, rng), w.constant({7, 7}, rng)}, {3, 7});
  const int scaled = test::scaled(w, added, w.constant({7}, rng));
  const int looked_up =
      w.node("Gather", "const T: f32[9,7]; I: f32[3,7]; Y[i,j] = T[i64(I[i,j]), j else 0] * 2",
             {w.constant({9, 7}, rng), scaled}, {3, 7});
  const Graph graph = w.finish({looked_up});
  const std::vector<WeightUse> uses = weight_uses(graph);
  ASSERT_EQ(uses.size(), 2U);
  EXPECT_EQ(uses[0].node, 0);
  EXPECT_EQ(uses[0].input, 1U);
  EXPECT_EQ(uses[0].times, 3);
  EXPECT_EQ(uses[0].bytes, 5 * 7 * 4);
  EXPECT_EQ(uses[1].node, 1);
  EXPECT_EQ(uses[1].input, 2U);
}

TEST(Narrow, StepsOfARecurrenceCountAsOne) {
  Rng rng(2);
  for (const char* length : {"1", "2", "35"}) {
    GraphWriter w;
    const std::int64_t steps = std::stoll(length);
    const int x = w.input({steps, 2, 6});
    const int y = w.node("RNN",
                         fmt::format("X: f32[{0},2,6]; const U: f32[6,6]; "
                                     "S[t:{0},b:2,j:6] = sum(k:6) H[t-1,b,k else 0] * U[j,k]; "
                                     "H[t:{0},b:2,j:6] = tanh(X[t,b,j] + S[t,b,j])",
                                     length),
                         {x, w.constant({6, 6}, rng)}, {steps, 2, 6});
    const Graph graph = w.finish({y});
    const std::vector<WeightUse> uses = weight_uses(graph);
    ASSERT_EQ(uses.size(), 1U) << length;
    EXPECT_EQ(uses[0].times, 2) << length;
  }
}

TEST(Narrow, TypesHoldWhatTheyRoundLittle) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float nan = std::nanf("");
  using Numbers = std::vector<float>;
  for (const Numbers& numbers :
       {Numbers{}, Numbers{0, 0}, Numbers{0.1F, -65504}, Numbers{65519, 1}, Numbers{nan, 1.3F},
        Numbers{kInfinity, -kInfinity, 0.7F}, Numbers{1, 1e-9F}, Numbers{7e-5F, 1e-4F}})
    EXPECT_EQ(narrow_type(numbers), Dtype::kF16) << (numbers.empty() ? 0 : numbers[0]);
  for (const Numbers& numbers : {Numbers{65520, 1}, Numbers{-1e30F, 0.5F}, Numbers{1e-7F, 3e-7F},
                                 Numbers{1e-9F, 1e-9F}, Numbers{3.1e-6F, -2.7e-6F}})
    EXPECT_EQ(narrow_type(numbers), Dtype::kBF16) << numbers[0];
  EXPECT_FALSE(narrow_type({std::numeric_limits<float>::max(), 1}));
  EXPECT_FALSE(narrow_type({1e-42F, 3e-45F}));
}

TEST(Narrow, NodesConvertWhatTheyRead) {
  Rng rng(3);
  GraphWriter w;
  const int weight = w.constant({5, 5}, rng), x = w.input({3, 5});
  const int y = test::product(w, test::product(w, x, weight), weight);
  Graph graph = w.finish({y});
  const Graph before = graph;
  std::map<std::string, std::vector<double>> inputs;
  for (int e = 0; e < 15; ++e) inputs[graph.value(graph.inputs[0]).name].push_back(0.25 * (e - 7));
  for (const Dtype dtype : {Dtype::kF16, Dtype::kBF16}) {
    graph = before;
    std::vector<NarrowUse> uses;
    for (const WeightUse& use : weight_uses(graph)) uses.push_back({use, dtype});
    ASSERT_EQ(uses.size(), 2U);
    narrow(graph, uses);
    const Status sound = verify(graph);
    ASSERT_TRUE(sound) << sound.error().text();
    // Both read one constant in half of the bytes, and what was is gone.
    EXPECT_EQ(totals_of(graph).parameter_bytes, 5 * 5 * 2);
    EXPECT_EQ(graph.nodes[0].inputs[1], graph.nodes[1].inputs[1]);
    EXPECT_EQ(graph.value(graph.nodes[0].inputs[1]).dtype, dtype);
    // The quarters of the constant are exact in both types.
    EXPECT_EQ(test::run(graph, inputs), test::run(before, inputs));
  }
}

}  // namespace
}  // namespace lathe::graph
