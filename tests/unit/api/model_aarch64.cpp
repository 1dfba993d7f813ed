// Small variants of five networks as AArch64 code under an emulator, beside this machine's results.
#include <gtest/gtest.h>

#include "api/model.h"
#include "api/model_run.h"
#include "api/model_weights.h"
#include "graph/import/import.h"
#include "graph/passes/passes.h"
#include "support/onnx_writer.h"
#include "unit/codegen/emulated.h"

namespace lathe::api {
namespace {

using test::attribute;
using test::node;
using test::value_info;
using Ints = std::vector<std::int64_t>;

// Writes a network layer by layer; each takes the name of what it reads, and returns its own.
class Network {
 public:
  std::string weight(const Ints& shape, double scale) {
    std::vector<float> numbers(static_cast<std::size_t>(graph::elements_of(shape)));
    for (float& number : numbers) number = static_cast<float>((rng_.uniform() - 0.5) * scale);
    parts_.initializers.push_back(test::tensor(fresh("w"), shape, numbers));
    return last_;
  }
  std::string axis(std::int64_t number) {
    parts_.initializers.push_back(test::tensor(fresh("axis"), {1}, Ints{number}));
    return last_;
  }
  std::string layer(const char* op, const std::vector<std::string>& reads,
                    const std::vector<test::Message>& attributes = {}) {
    parts_.nodes.push_back(node(op, reads, {fresh("v")}, attributes));
    return last_;
  }
  std::string norm(const std::string& x, std::int64_t channels) {
    const std::string scale = weight({channels}, 2), bias = weight({channels}, 1),
                      mean = weight({channels}, 1);
    parts_.initializers.push_back(test::tensor(
        fresh("w"), {channels}, std::vector<float>(static_cast<std::size_t>(channels), 0.7F)));
    return layer("BatchNormalization", {x, scale, bias, mean, last_});
  }
  std::string conv(const std::string& x, const Ints& shape, std::int64_t stride, std::int64_t pad,
                   std::int64_t groups = 1) {
    return layer("Conv", {x, weight(shape, 0.6)},
                 {attribute("strides", Ints{stride, stride}),
                  attribute("pads", Ints{pad, pad, pad, pad}), attribute("group", groups)});
  }
  std::string relu(const std::string& x) { return layer("Relu", {x}); }
  std::string dense(const std::string& x, std::int64_t out, std::int64_t in) {
    return layer("Gemm", {x, weight({out, in}, 0.5), weight({out}, 1)}, {attribute("transB", 1)});
  }

  graph::Graph finish(const std::vector<test::Message>& inputs, const std::string& output,
                      const std::vector<std::string>& shape) {
    parts_.inputs = inputs;
    parts_.outputs = {value_info(output, shape)};
    auto imported = graph::import(*onnx::parse_model(test::model(parts_), ""), {});
    EXPECT_TRUE(imported) << imported.error().text();
    EXPECT_TRUE(imported->unsupported.empty()) << graph::print(imported->unsupported);
    EXPECT_TRUE(graph::run_passes(imported->graph));
    return std::move(imported->graph);
  }

 private:
  const std::string& fresh(const char* stem) {
    last_ = stem + std::to_string(count_++);
    return last_;
  }

  Rng rng_{7};
  test::ModelParts parts_;
  int count_ = 0;
  std::string last_;
};

// As ResNet-18: a stem, a block with a residual and one that halves the image.
graph::Graph resnet() {
  Network n;
  std::string x = n.relu(n.norm(n.conv("x", {6, 3, 7, 7}, 2, 3), 6));
  x = n.layer("MaxPool", {x},
              {attribute("kernel_shape", Ints{3, 3}), attribute("strides", Ints{2, 2}),
               attribute("pads", Ints{1, 1, 1, 1})});
  std::string y = n.relu(n.norm(n.conv(x, {6, 6, 3, 3}, 1, 1), 6));
  x = n.relu(n.layer("Add", {n.norm(n.conv(y, {6, 6, 3, 3}, 1, 1), 6), x}));
  y = n.relu(n.norm(n.conv(x, {10, 6, 3, 3}, 2, 1), 10));
  x = n.relu(n.layer("Add", {n.norm(n.conv(y, {10, 10, 3, 3}, 1, 1), 10),
                             n.norm(n.conv(x, {10, 6, 1, 1}, 2, 0), 10)}));
  x = n.dense(n.layer("Flatten", {n.layer("GlobalAveragePool", {x})}), 11, 10);
  return n.finish({value_info("x", {"1", "3", "45", "37"})}, x, {"1", "11"});
}

graph::Graph mobilenet() {
  Network n;
  std::string x = n.relu(n.norm(n.conv("x", {5, 3, 3, 3}, 2, 1), 5));
  for (const auto& [in, out, stride] : {std::tuple(5, 9, 1), std::tuple(9, 13, 2)}) {
    x = n.relu(n.norm(n.conv(x, {in, 1, 3, 3}, stride, 1, in), in));
    x = n.relu(n.norm(n.conv(x, {out, in, 1, 1}, 1, 0), out));
  }
  x = n.dense(n.layer("Flatten", {n.layer("GlobalAveragePool", {x})}), 7, 13);
  return n.finish({value_info("x", {"2", "3", "23", "19"})}, x, {"2", "7"});
}

graph::Graph dqn() {
  Network n;
  std::string x = n.relu(n.conv("x", {7, 4, 8, 8}, 4, 0));
  x = n.relu(n.conv(x, {9, 7, 4, 4}, 2, 0));
  x = n.relu(n.conv(x, {5, 9, 3, 3}, 1, 0));
  x = n.dense(n.relu(n.dense(n.layer("Flatten", {x}), 17, 45)), 6, 17);
  return n.finish({value_info("x", {"1", "4", "52", "52"})}, x, {"1", "6"});
}

graph::Graph dcgan() {
  Network n;
  const auto up = [&](const std::string& x, std::int64_t in, std::int64_t out, std::int64_t stride,
                      std::int64_t pad) {
    return n.layer(
        "ConvTranspose", {x, n.weight({in, out, 4, 4}, 0.6)},
        {attribute("strides", Ints{stride, stride}), attribute("pads", Ints{pad, pad, pad, pad})});
  };
  std::string x = n.relu(n.norm(up("x", 11, 8, 1, 0), 8));
  x = n.relu(n.norm(up(x, 8, 5, 2, 1), 5));
  x = n.layer("Tanh", {up(x, 5, 3, 2, 1)});
  return n.finish({value_info("x", {"1", "11", "1", "1"})}, x, {"1", "3", "16", "16"});
}

graph::Graph lstm() {
  constexpr std::int64_t kWidth = 19, kWords = 31;
  Network n;
  std::string x = n.layer("Gather", {n.weight({kWords, kWidth}, 2), "x"});
  for (const char* state : {"0", "1"}) {
    const std::string w = n.weight({1, 4 * kWidth, kWidth}, 1),
                      r = n.weight({1, 4 * kWidth, kWidth}, 1), b = n.weight({1, 8 * kWidth}, 1);
    x = n.layer("LSTM", {x, w, r, b, "", std::string("h") + state, std::string("c") + state},
                {attribute("hidden_size", kWidth)});
    x = n.layer("Squeeze", {x, n.axis(1)});
  }
  x = n.layer("Add",
              {n.layer("MatMul", {x, n.weight({kWidth, kWords}, 1)}), n.weight({kWords}, 1)});
  const std::vector<std::string> one = {"1", "1", "19"};
  return n.finish({value_info("x", {"3", "1"}, test::kInt64), value_info("h0", one),
                   value_info("c0", one), value_info("h1", one), value_info("c1", one)},
                  x, {"3", "1", "31"});
}

struct Small {
  const char* name;
  graph::Graph (*make)();
};

class OnAArch64 : public ::testing::TestWithParam<Small> {};

// What the program for the target makes of the inputs, under the emulator.
ModelTensors emulated(const graph::Graph& graph, const char* target, const ModelTensors& inputs) {
  const auto source = *schedule_source({.which = "default", .database = {}});
  const auto made = model_program(graph, source, testing::resolved(target), Checking::kSkip,
                                  [](const std::string&) {});
  EXPECT_TRUE(made) << made.error().text();
  const auto object = codegen::generate(made->program, made->target);
  EXPECT_TRUE(object) << object.error().text();
  const auto library = codegen::link_shared(*object, made->target);
  EXPECT_TRUE(library) << library.error().text();
  std::vector<interp::Bytes> given;
  for (const graph::Data& input : inputs)
    given.emplace_back(input.bytes.begin(), input.bytes.end());
  ModelTensors out;
  for (const auto& bytes : testing::EmulatedMachine().run(made->program, *library, given))
    out.push_back(graph::Data::own({bytes.begin(), bytes.end()}));
  return out;
}

TEST_P(OnAArch64, AgreesWithThisMachine) {
  if (!testing::EmulatedMachine::is_there()) GTEST_SKIP() << testing::EmulatedMachine::kNone;
  const graph::Graph graph = GetParam().make();
  ASSERT_FALSE(graph.nodes.empty());
  const Target here = testing::resolved("cpu:host");
  const auto narrow = choose_weights(graph, {"f16", 0.1}, here, [](const std::string&) {});
  ASSERT_TRUE(narrow) << narrow.error().text();
  ASSERT_GT(narrow->tasks, 0);
  const ModelTensors inputs = random_inputs(graph, 3);
  const auto source = *schedule_source({.which = "default", .database = {}});
  for (const graph::Graph& each : {graph, narrow->graph}) {
    const auto made = model_program(each, source, here, Checking::kSkip, [](const std::string&) {});
    ASSERT_TRUE(made) << made.error().text();
    const auto want = run_model(each, *made, inputs);
    ASSERT_TRUE(want) << want.error().text();
    for (const char* target :
         {"cpu:cortex-a72;isa=aarch64", "cpu:neoverse-v2;isa=aarch64;threads=2"}) {
      const ModelTensors got = emulated(each, target, inputs);
      ASSERT_EQ(got.size(), want->size());
      for (std::size_t o = 0; o < got.size(); ++o) {
        ASSERT_EQ(got[o].bytes.size(), (*want)[o].bytes.size());
        EXPECT_LT(error_between(each.value(each.outputs[o]).dtype, got[o], (*want)[o]), 2e-5)
            << target;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, OnAArch64,
                         ::testing::Values(Small{"resnet", resnet}, Small{"mobilenet", mobilenet},
                                           Small{"dqn", dqn}, Small{"dcgan", dcgan},
                                           Small{"lstm", lstm}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace lathe::api
