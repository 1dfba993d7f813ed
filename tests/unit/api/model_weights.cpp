// Weights in f16 and bf16: where the bound of error allows them, and what programs make of them.
#include "api/model_weights.h"

#include <cmath>
#include <functional>

#include <gtest/gtest.h>

#include "api/targets.h"
#include "graph/passes/passes.h"
#include "support/graph_writer.h"

namespace lathe::api {
namespace {

using graph::place;

Target one_thread() { return *make_target("cpu:host", 1); }

// A product of a row with 1300 x 1100 weights, more than a second cache has, by number.
graph::Graph dense(const std::function<double(std::size_t, Rng&)>& number,
                   const std::string& after = "tanh({})") {
  constexpr std::int64_t kIn = 1300, kOut = 1100;
  Rng rng(5);
  test::GraphWriter w;
  const int x = w.input({1, kIn}), weight = w.constant({kIn, kOut}, rng);
  const int made = test::product(w, x, weight);
  const int second = test::product(w, made, w.constant({kOut, 7}, rng));
  graph::Graph graph = w.finish({test::unary(w, made, after), second});
  std::vector<double> elements;
  for (std::size_t e = 0; e < kIn * kOut; ++e) elements.push_back(number(e, rng));
  for (const graph::Node& node : graph.nodes)
    for (const int id : node.inputs)
      if (graph::Value& value = graph.values[place(id)];
          value.constant && value.elements() == kIn * kOut)
        value.constant = graph::Data::of(Dtype::kF32, elements);
  EXPECT_TRUE(graph::run_passes(graph));
  return graph;
}

double small(std::size_t, Rng& rng) { return (rng.uniform() - 0.5) / 16; }

Result<ModelWeights> chosen(const graph::Graph& graph, const WeightsRequest& request) {
  return choose_weights(graph, request, one_thread(), [](const std::string&) {});
}

std::vector<Dtype> types_of(const graph::Graph& graph) {
  std::vector<Dtype> types;
  for (const graph::Node& node : graph.nodes)
    for (const int id : node.inputs)
      if (graph.value(id).constant) types.push_back(graph.value(id).dtype);
  return types;
}

// The program of the narrow weights beside the model as it was.
Result<ModelCheck> checked(const graph::Graph& graph, const ModelWeights& weights, double bound) {
  const auto source = LATHE_TRY(schedule_source({.which = "default", .database = {}}));
  const auto made = LATHE_TRY(model_program(weights.graph, source, one_thread(), Checking::kOnce,
                                            [](const std::string&) {}));
  return check_model(graph, made, bound);
}

TEST(NarrowWeights, StayAsTheyAreUnderTheUsualBound) {
  const graph::Graph graph = dense(small);
  for (const WeightsRequest& request :
       {WeightsRequest{}, WeightsRequest{"any", 4e-4}, WeightsRequest{"f32", 1}}) {
    const auto weights = chosen(graph, request);
    ASSERT_TRUE(weights) << weights.error().text();
    EXPECT_EQ(weights->tasks, 0);
    EXPECT_EQ(types_of(weights->graph), types_of(graph));
  }
}

TEST(NarrowWeights, BecomeNarrowWithinALooserBound) {
  const graph::Graph graph = dense(small);
  for (const auto& [type, dtype] : {std::pair("any", Dtype::kF16), std::pair("f16", Dtype::kF16),
                                    std::pair("bf16", Dtype::kBF16)}) {
    const auto weights = chosen(graph, {type, 2e-2});
    ASSERT_TRUE(weights) << weights.error().text();
    EXPECT_EQ(weights->tasks, 2);
    EXPECT_EQ(types_of(weights->graph), std::vector(2, dtype));
    EXPECT_GT(weights->error, 1e-6);
    EXPECT_LE(weights->error, 1e-2);
    const auto check = checked(graph, *weights, 2e-2);
    ASSERT_TRUE(check) << check.error().text();
    // The program rounds less than the weights do.
    EXPECT_NEAR(check->error, weights->error, 1e-5);
  }
}

TEST(NarrowWeights, BecomeBf16WhereF16HasNoSuchNumbers) {
  const auto large = [](std::size_t e, Rng& rng) { return e == 77 ? 1e5 : small(e, rng); };
  const auto tiny = [](std::size_t e, Rng& rng) { return 1e-6 * small(e, rng); };
  for (const auto& number : {std::function(large), std::function(tiny)}) {
    const graph::Graph graph = dense(number);
    const auto weights = chosen(graph, {"any", 5e-2});
    ASSERT_TRUE(weights) << weights.error().text();
    EXPECT_EQ(types_of(weights->graph), (std::vector{Dtype::kBF16, Dtype::kF16}));
    const auto check = checked(graph, *weights, 5e-2);
    EXPECT_TRUE(check) << check.error().text();
    const auto refused = chosen(graph, {"f16", 5e-2});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::kInvalidArgument);
    EXPECT_NE(refused.error().text().find("f16 does not hold the numbers of v1"), std::string::npos)
        << refused.error().text();
  }
}

TEST(NarrowWeights, KeepNanAndInfinity) {
  const auto special = [](std::size_t e, Rng& rng) {
    if (e == 5) return std::nan("");
    return e == 1106 ? HUGE_VAL : small(e, rng);
  };
  const graph::Graph graph = dense(special);
  const auto weights = chosen(graph, {"any", 2e-2});
  ASSERT_TRUE(weights) << weights.error().text();
  EXPECT_EQ(types_of(weights->graph), std::vector(2, Dtype::kF16));
  const auto check = checked(graph, *weights, 2e-2);
  EXPECT_TRUE(check) << check.error().text();
}

TEST(NarrowWeights, StayWhereATaskMissesTheBound) {
  // What follows the first product magnifies roundings.
  const graph::Graph graph = dense(small, "sin({} * 3000)");
  const auto weights = chosen(graph, {"any", 2e-2});
  ASSERT_TRUE(weights) << weights.error().text();
  EXPECT_EQ(weights->tasks, 1);
  EXPECT_EQ(types_of(weights->graph), (std::vector{Dtype::kF32, Dtype::kF16}));
  const auto check = checked(graph, *weights, 2e-2);
  EXPECT_TRUE(check) << check.error().text();
  const auto refused = chosen(graph, {"f16", 2e-2});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text().find("an output differs by more than 0.01"), std::string::npos)
      << refused.error().text();
}

TEST(NarrowWeights, StayWhereNothingIsGained) {
  Rng rng(9);
  for (const std::int64_t rows : {1, 64}) {  // small ones, and such as are used often
    test::GraphWriter w;
    const std::int64_t size = rows == 1 ? 31 : 1100;
    const int x = w.input({rows, size});
    const graph::Graph graph = w.finish({test::product(w, x, w.constant({size, size}, rng))});
    const auto weights = chosen(graph, {"any", 1e-2});
    ASSERT_TRUE(weights);
    EXPECT_EQ(weights->tasks, 0) << rows;
    const auto asked = chosen(graph, {"f16", 1e-2});
    ASSERT_TRUE(asked);
    EXPECT_EQ(asked->tasks, 1) << rows;
  }
}

TEST(NarrowWeights, TypesThatNeedALargerBoundAreRefused) {
  const graph::Graph graph = dense(small);
  for (const auto& [type, bound] : {std::pair("f16", 1e-4), std::pair("bf16", 1e-3)}) {
    const auto refused = chosen(graph, {type, bound});
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().text().find("allow more, as --max-error 1e-2"), std::string::npos);
  }
}

}  // namespace
}  // namespace lathe::api
