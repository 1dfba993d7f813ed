// Models as one program compute what their nodes do, one after the other.
#include "api/model.h"

#include <gtest/gtest.h>

#include "graph/import/import.h"
#include "graph/ir/print.h"
#include "graph/passes/passes.h"
#include "support/graph_run.h"
#include "support/onnx_writer.h"
#include "support/random_graph.h"
#include "unit/codegen/harness.h"

namespace lathe::api {
namespace {

using test::attribute;
using test::node;
using test::tensor;
using test::value_info;
using Ints = std::vector<std::int64_t>;

std::vector<float> some(std::size_t count, Rng& rng) {
  std::vector<float> out(count);
  for (float& value : out) value = static_cast<float>(rng.uniform() - 0.5);
  return out;
}

// Two convolutions with a residual, pooling, a product; weights that only constants make.
test::ModelParts network() {
  Rng rng(3);
  return {{node("Conv", {"x", "w1", "b1"}, {"a"}, {attribute("pads", Ints{1, 1, 1, 1})}),
           node("Relu", {"a"}, {"r"}), node("Mul", {"w2", "scale"}, {"w2s"}),
           node("Conv", {"r", "w2s"}, {"c"}, {attribute("pads", Ints{1, 1, 1, 1})}),
           node("Add", {"c", "r"}, {"d"}),
           node("MaxPool", {"d"}, {"p"},
                {attribute("kernel_shape", Ints{3, 3}), attribute("strides", Ints{2, 2})}),
           node("Flatten", {"p"}, {"f"}),
           node("Gemm", {"f", "w3", "b3"}, {"y"}, {attribute("transB", 1)})},
          {tensor("w1", {5, 3, 3, 3}, some(135, rng)), tensor("b1", {5}, some(5, rng)),
           tensor("w2", {5, 5, 3, 3}, some(225, rng)), tensor("scale", {1}, some(1, rng)),
           tensor("w3", {7, 45}, some(315, rng)), tensor("b3", {7}, some(7, rng))},
          {value_info("x", {"batch", "3", "7", "8"})},
          {value_info("y", {"batch", "7"})}};
}

graph::Graph graph_of(const test::ModelParts& parts, const std::vector<std::string>& shapes) {
  graph::ImportOptions options;
  options.shapes = *graph::parse_shapes(shapes);
  auto imported = graph::import(*onnx::parse_model(test::model(parts), ""), options);
  EXPECT_TRUE(imported) << imported.error().text();
  EXPECT_TRUE(imported->unsupported.empty()) << graph::print(imported->unsupported);
  return std::move(imported->graph);
}

Result<ModelProgram> program_of(const graph::Graph& graph, const std::string& which) {
  const auto source = LATHE_TRY(schedule_source({.which = which, .database = {}}));
  return model_program(graph, source, testing::resolved("cpu:host"), Checking::kSkip,
                       [](const std::string&) {});
}

void check(const graph::Graph& graph, const std::string& which = "default") {
  const auto made = program_of(graph, which);
  ASSERT_TRUE(made) << made.error().text();
  const auto verified = flat::verify(made->program);
  ASSERT_TRUE(verified) << verified.error().text();
  Rng rng(11);
  std::map<std::string, std::vector<double>> inputs;
  std::vector<interp::Bytes> stored;
  for (std::size_t i = 0; i < made->program.inputs.size(); ++i) {
    const flat::Border& border = made->program.inputs[i];
    std::vector<double>& values = inputs[border.name];
    for (const float value : some(static_cast<std::size_t>(border.elements()), rng))
      values.push_back(value);
    stored.push_back(interp::to_storage(border, values));
  }
  for (const int id : graph.inputs)  // those that no node reads
    inputs.try_emplace(graph.value(id).name,
                       graph::place(static_cast<int>(graph.value(id).elements())));
  const auto want = test::run(graph, inputs);
  ASSERT_TRUE(want.has_value());
  const auto module = testing::compile(made->program, made->target);
  ASSERT_TRUE(module) << module.error().text();
  const auto got = testing::run_module(**module, made->program, stored);
  ASSERT_TRUE(got) << got.error().text();
  ASSERT_EQ(got->size(), want->size());
  for (std::size_t o = 0; o < got->size(); ++o) {
    const auto values = interp::from_storage(made->program.outputs[o], (*got)[o]);
    ASSERT_EQ(values.size(), (*want)[o].size());
    for (std::size_t e = 0; e < values.size(); ++e)
      ASSERT_NEAR(values[e], (*want)[o][e], 1e-4) << "output " << o << ", element " << e;
  }
}

TEST(Model, ComputesWhatItsNodesDo) {
  for (const char* batch : {"batch=1", "batch=3"}) {
    const graph::Graph graph = graph_of(network(), {batch});
    check(graph);
    check(graph, "naive");
  }
}

TEST(Model, SharesProgramsAndMemory) {
  test::ModelParts parts;
  Rng rng(5);
  parts.inputs = {value_info("v0", {"1", "8", "9", "9"})};
  for (int n = 0; n < 5; ++n) {
    const std::string w = "w" + std::to_string(n), from = "v" + std::to_string(n),
                      to = "v" + std::to_string(n + 1);
    parts.initializers.push_back(tensor(w, {8, 8, 3, 3}, some(576, rng)));
    parts.nodes.push_back(node("Conv", {from, w}, {to}, {attribute("pads", Ints{1, 1, 1, 1})}));
  }
  parts.outputs = {value_info("v5", {"1", "8", "9", "9"})};
  const graph::Graph graph = graph_of(parts, {});
  check(graph);
  const auto made = program_of(graph, "default");
  ASSERT_TRUE(made);
  EXPECT_EQ(made->nodes, 5);
  EXPECT_EQ(made->programs, 1);
  EXPECT_LT(made->arena_bytes, made->unshared_bytes);
  EXPECT_EQ(made->program.inputs.size(), 1U);
}

TEST(Model, OutputsMayBeInputsConstantsAndEachOther) {
  Rng rng(5);
  const test::ModelParts parts = {
      {node("Relu", {"x"}, {"y"}), node("Identity", {"y"}, {"same"}),
       node("Reshape", {"x", "to"}, {"seen"}), node("Identity", {"c"}, {"known"})},
      {tensor("to", {1}, Ints{-1}), tensor("c", {2}, some(2, rng))},
      {value_info("x", {"3", "4"}), value_info("unused", {"2"})},
      {value_info("y", {"3", "4"}), value_info("same", {"3", "4"}), value_info("seen", {"12"}),
       value_info("known", {"2"})}};
  const graph::Graph graph = graph_of(parts, {});
  const auto made = program_of(graph, "default");
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_EQ(made->left_out, (std::vector<std::string>{"unused"}));
  EXPECT_EQ(made->program.outputs[2].shape, (std::vector<std::int64_t>{12}));
  EXPECT_TRUE(flat::verify(made->program));
}

graph::Graph passed(const test::ModelParts& parts) {
  graph::Graph graph = graph_of(parts, {});
  const auto done = graph::run_passes(graph);
  EXPECT_TRUE(done) << done.error().text();
  return graph;
}

// Parts of inputs, outputs that are joined, parts that are outputs, a value that is joined twice
// and beside inputs and constants, parts without elements.
TEST(Model, PartsOfValues) {
  Rng rng(7);
  const test::ModelParts parts = {
      {node("Split", {"x", "sizes"}, {"low", "high"}, {attribute("axis", 1)}),
       node("Conv", {"high", "w"}, {"c"}), node("Slice", {"c", "one", "one", "one"}, {"none"}),
       node("Concat", {"low", "c", "none", "c", "k"}, {"all"}, {attribute("axis", 1)}),
       node("Conv", {"all", "v"}, {"y"}), node("Relu", {"c"}, {"r"}),
       node("Concat", {"r", "c"}, {"both"}, {attribute("axis", 1)}),
       node("Slice", {"both", "one", "three", "one"}, {"part"})},
      {tensor("sizes", {2}, Ints{2, 3}), tensor("w", {4, 3, 1, 1}, some(12, rng)),
       tensor("v", {2, 11, 1, 1}, some(22, rng)), tensor("k", {1, 1, 3, 7}, some(21, rng)),
       tensor("one", {1}, Ints{1}), tensor("three", {1}, Ints{3})},
      {value_info("x", {"1", "5", "3", "7"})},
      {value_info("y", {"1", "2", "3", "7"}), value_info("both", {"1", "8", "3", "7"}),
       value_info("c", {"1", "4", "3", "7"}), value_info("part", {"1", "2", "3", "7"}),
       value_info("high", {"1", "3", "3", "7"})}};
  check(passed(parts));
  check(passed(parts), "naive");
}

// Scales and shifts of channels go into weights of each kind of sum: what is left is a bias.
TEST(Model, NormalizationsGoIntoWeights) {
  Rng rng(13);
  const std::vector<std::int64_t> six = {6};
  test::ModelParts parts = {
      {node("Conv", {"x", "w1", "b"}, {"c1"}, {attribute("group", 2)}),
       node("BatchNormalization", {"c1", "s", "b", "m", "v"}, {"n1"}),
       node("Conv", {"n1", "w2"}, {"c2"},
            {attribute("group", 6), attribute("pads", Ints{1, 1, 1, 1})}),
       node("Mul", {"c2", "by"}, {"n2"}), node("Relu", {"n2"}, {"r2"}),
       node("ConvTranspose", {"r2", "w3"}, {"c3"}, {attribute("strides", Ints{2, 2})}),
       node("BatchNormalization", {"c3", "s", "b", "m", "v"}, {"n3"}),
       node("Flatten", {"n3"}, {"f"}), node("MatMul", {"f", "w4"}, {"c4"}),
       node("Add", {"c4", "b"}, {"a4"}), node("Mul", {"a4", "s"}, {"y"})},
      {tensor("w1", {6, 2, 1, 1}, some(12, rng)), tensor("w2", {6, 1, 3, 3}, some(54, rng)),
       tensor("w3", {6, 6, 2, 2}, some(144, rng)), tensor("w4", {360, 6}, some(2160, rng)),
       tensor("by", {6, 1, 1}, some(6, rng))},
      {value_info("x", {"1", "4", "5", "3"})},
      {value_info("y", {"1", "6"})}};
  for (const char* name : {"s", "b", "m", "v"})
    parts.initializers.push_back(tensor(name, six, some(6, rng)));
  const graph::Graph before = graph_of(parts, {});
  graph::Graph after = before;
  ASSERT_TRUE(graph::run_passes(after, "fold"));
  std::vector<std::string> ops;
  for (const graph::Node& node : after.nodes) ops.push_back(node.op);
  EXPECT_EQ(ops, (std::vector<std::string>{"Conv", "Conv", "Relu", "ConvTranspose",
                                           "BatchNormalization", "MatMul", "Add", "Mul"}));
  std::map<std::string, std::vector<double>> inputs;
  for (const float value : some(60, rng)) inputs["x"].push_back(value);
  const auto want = test::run(before, inputs), got = test::run(after, inputs);
  for (std::size_t e = 0; e < (*want)[0].size(); ++e)
    EXPECT_NEAR((*got)[0][e], (*want)[0][e], 1e-4 * (1 + std::abs((*want)[0][e])));
  check(after);
}

TEST(Model, OfPartsAloneIsCopied) {
  const test::ModelParts parts = {
      {node("Split", {"x", "sizes"}, {"low", "high"}, {attribute("axis", 0)})},
      {tensor("sizes", {2}, Ints{2, 3})},
      {value_info("x", {"5", "3"})},
      {value_info("low", {"2", "3"}), value_info("high", {"3", "3"})}};
  EXPECT_TRUE(passed(parts).nodes.empty());
  check(passed(parts));
}

// Values that are parts of others: of what is joined, of inputs, of outputs.
TEST(Model, RandomGraphsComputeTheSameAfterPasses) {
  for (std::uint64_t seed = 0; seed < 12 && !HasFailure(); ++seed) {
    Rng rng(seed);
    graph::Graph graph = test::RandomGraph(rng).make();
    const auto done = graph::run_passes(graph);
    ASSERT_TRUE(done) << done.error().text();
    if (!graph.nodes.empty()) check(graph, seed % 2 == 0 ? "default" : "naive");
    if (HasFailure()) ADD_FAILURE() << "seed " << seed << "\n" << graph::print(graph);
  }
}

}  // namespace
}  // namespace lathe::api
