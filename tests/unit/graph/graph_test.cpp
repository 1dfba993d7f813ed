// Small models, written here: what their graphs are, and what is said of wrong ones.
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "graph/import/import.h"
#include "graph/ir/print.h"
#include "support/graph_run.h"
#include "support/onnx_writer.h"
#include "support/temporary_folder.h"

namespace lathe::graph {
namespace {

using test::attribute;
using test::model;
using test::ModelParts;
using test::node;
using test::tensor;
using test::value_info;

using Ints = std::vector<std::int64_t>;
using Floats = std::vector<float>;

Result<Imported> imported(const ModelParts& parts, const std::vector<std::string>& shapes = {}) {
  ImportOptions options;
  options.shapes = LATHE_TRY(parse_shapes(shapes));
  return import(LATHE_TRY(onnx::parse_model(model(parts), "")), options);
}

Graph graph_of(const ModelParts& parts, const std::vector<std::string>& shapes = {}) {
  auto made = imported(parts, shapes);
  if (!made) throw std::runtime_error(made.error().text());
  if (!made->unsupported.empty()) throw std::runtime_error(print(made->unsupported));
  EXPECT_EQ(verify(made->graph).has_value(), true);
  return std::move(made->graph);
}

void refused(const ModelParts& parts, const std::string& words,
             const std::vector<std::string>& shapes = {}) {
  const auto made = imported(parts, shapes);
  ASSERT_FALSE(made) << words;
  EXPECT_NE(made.error().text().find(words), std::string::npos) << made.error().text();
}

// x of [batch, 3, 5]; Reshape to [batch, 15] by its shape, as exporters write it.
ModelParts shape_arithmetic() {
  return {
      {node("Shape", {"x"}, {"s"}), node("Gather", {"s", "zero"}, {"n"}),
       node("Unsqueeze", {"n", "axis"}, {"n1"}),
       node("Concat", {"n1", "rest"}, {"to"}, {attribute("axis", 0)}),
       node("Reshape", {"x", "to"}, {"r"}), node("Relu", {"r"}, {"y"})},
      {tensor("zero", {}, Ints{0}), tensor("axis", {1}, Ints{0}), tensor("rest", {1}, Ints{-1})},
      {value_info("x", {"batch", "3", "5"})},
      {value_info("y", {"batch", "15"})}};
}

TEST(Graph, ShapeArithmeticLeavesNoNodes) {
  for (const std::int64_t batch : {1, 2, 7}) {
    const Graph graph = graph_of(shape_arithmetic(), {fmt::format("batch={}", batch)});
    ASSERT_EQ(graph.nodes.size(), 1U);
    EXPECT_EQ(graph.nodes[0].op, "Relu");
    const Value& read = graph.value(graph.nodes[0].inputs[0]);
    EXPECT_EQ(read.shape, (Shape{batch, 15}));
    ASSERT_TRUE(read.view_of.has_value());
    EXPECT_EQ(graph.storage_of(graph.nodes[0].inputs[0]), graph.inputs[0]);
    EXPECT_EQ(graph.value(graph.outputs[0]).shape, (Shape{batch, 15}));
    EXPECT_EQ(graph.value(graph.outputs[0]).name, "y");
    for (const Value& value : graph.values) EXPECT_FALSE(value.constant) << value.name;
  }
}

TEST(Graph, IsComputed) {
  const Floats weight{1, 2, 3, 4, 5, 6};
  const ModelParts parts{{node("MatMul", {"x", "w"}, {"m"}), node("Add", {"m", "b"}, {"a"}),
                          node("Transpose", {"a"}, {"t"}), node("Relu", {"t"}, {"y"})},
                         {tensor("w", {3, 2}, weight), tensor("b", {}, Floats{-20})},
                         {value_info("x", {"n", "3"})},
                         {value_info("y", {"2", "n"})}};
  const Graph graph = graph_of(parts, {"n=2"});
  const auto got = test::run(graph, {{"x", {1, 0, 2, 3, 1, 1}}});
  ASSERT_TRUE(got);
  // Rows of x * w: [11, 14] and [11, 16].
  EXPECT_EQ((*got)[0], (std::vector<double>{0, 0, 0, 0}));
  const auto more = test::run(graph, {{"x", {10, 0, 2, 30, 1, 1}}});
  EXPECT_EQ((*more)[0], (std::vector<double>{0, 18, 12, 50}));
  const Totals totals = totals_of(graph);
  EXPECT_EQ(totals.parameters, 6);  // the number of Add stands in its expression
}

TEST(Graph, EqualNodesAreOneTask) {
  const ModelParts parts{{node("Relu", {"x"}, {"a"}), node("Sigmoid", {"a"}, {"b"}),
                          node("Relu", {"b"}, {"c"}), node("Relu", {"c"}, {"y"})},
                         {},
                         {value_info("x", {"3", "5"})},
                         {value_info("y", {"3", "5"})}};
  const Graph graph = graph_of(parts);
  const std::vector<Task> tasks = tasks_of(graph);
  ASSERT_EQ(tasks.size(), 2U);
  EXPECT_EQ(tasks[0].nodes, (std::vector<int>{0, 2, 3}));
  EXPECT_EQ(tasks[1].nodes, (std::vector<int>{1}));
  EXPECT_NE(print_tasks(graph).find("    3"), std::string::npos);
  EXPECT_NE(print(graph).find("a: f32[3,5] = Relu(x: f32[3,5])"), std::string::npos)
      << print(graph);
}

TEST(Graph, RemarksStandWithTheirNodesAndTasks) {
  const Graph graph = graph_of({{node("Relu", {"x"}, {"a"}), node("Sigmoid", {"a"}, {"y"})},
                                {},
                                {value_info("x", {"3", "5"})},
                                {value_info("y", {"3", "5"})}});
  const std::string nodes = print(graph, {"slow", "fast"});
  EXPECT_NE(nodes.find("Relu(x: f32[3,5])  [15 FLOP, slow]"), std::string::npos) << nodes;
  EXPECT_NE(nodes.find("FLOP, fast]"), std::string::npos) << nodes;
  // Sigmoid has more work, so its line comes first, whatever the order of the columns' cells is.
  const std::string tasks =
      print_tasks(graph, {{"first", {" one ", " two "}}, {"2nd", {"3rd", "4th"}}});
  EXPECT_NE(tasks.find("first  2nd  task\n"), std::string::npos) << tasks;
  EXPECT_NE(tasks.find(" one   3rd  Relu"), std::string::npos) << tasks;
  EXPECT_NE(tasks.find(" two   4th  Sigmoid"), std::string::npos) << tasks;
}

TEST(Graph, NodesMayStandInAnyOrder) {
  const ModelParts parts{{node("Relu", {"a"}, {"y"}), node("Sigmoid", {"x"}, {"a"})},
                         {},
                         {value_info("x", {"4"})},
                         {value_info("y", {"4"})}};
  const Graph graph = graph_of(parts);
  ASSERT_EQ(graph.nodes.size(), 2U);
  EXPECT_EQ(graph.nodes[0].op, "Sigmoid");
}

TEST(Graph, WhatNothingReadsIsLeftOut) {
  const ModelParts parts{{node("Relu", {"x"}, {"y"}), node("Sigmoid", {"x"}, {"unused"})},
                         {tensor("w", {2}, Floats{1, 2})},
                         {value_info("x", {"4"}), value_info("z", {"2"})},
                         {value_info("y", {"4"})}};
  const Graph graph = graph_of(parts);
  EXPECT_EQ(graph.nodes.size(), 1U);
  EXPECT_EQ(graph.inputs.size(), 2U);
  EXPECT_EQ(graph.values.size(), 3U);
}

TEST(Graph, AllThatIsUnsupportedIsListed) {
  const ModelParts parts{{node("Frobnicate", {"x"}, {"a"}), node("Relu", {"a"}, {"b"}),
                          node("Frobnicate", {"b"}, {"c"}), node("NonZero", {"x"}, {"d"}),
                          node("Add", {"c", "d"}, {"y"})},
                         {},
                         {value_info("x", {"4"})},
                         {value_info("y", {"4"})}};
  const auto made = imported(parts);
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_EQ(made->unsupported.size(), 3U);
  const std::string text = print(made->unsupported);
  EXPECT_NE(text.find("2 x Frobnicate (opset 17)"), std::string::npos) << text;
  EXPECT_NE(text.find("1 x NonZero (opset 17)"), std::string::npos) << text;
  EXPECT_NE(text.find("node 'Frobnicate_a'"), std::string::npos) << text;
}

TEST(Graph, DataDoesNotGiveShapes) {
  const ModelParts parts{{node("Reshape", {"x", "s"}, {"y"})},
                         {},
                         {value_info("x", {"4"}), value_info("s", {"2"}, test::kInt64)},
                         {value_info("y", {"", ""})}};
  const auto made = imported(parts);
  ASSERT_TRUE(made);
  ASSERT_EQ(made->unsupported.size(), 1U);
  EXPECT_NE(made->unsupported[0].reason.find("depend on data (input 's')"), std::string::npos);
}

TEST(BadModels, AreRefusedWithNodeAndValue) {
  const auto x = value_info("x", {"4"}), y = value_info("y", {"4"});
  refused({{node("Relu", {"a"}, {"b"}), node("Relu", {"b"}, {"a"}), node("Relu", {"x"}, {"y"})},
           {},
           {x},
           {y}},
          "node 'Relu_b' (Relu): it is in a circle of nodes");
  refused({{node("Relu", {"x"}, {"y"}), node("Relu", {"x"}, {"y"})}, {}, {x}, {y}},
          "the value 'y' is made twice");
  refused({{node("Relu", {"none"}, {"y"})}, {}, {x}, {y}}, "nothing makes its input 'none'");
  refused({{node("Relu", {"x"}, {"z"})}, {}, {x}, {y}}, "nothing makes the output 'y'");
  refused({{node("Relu", {"x"}, {"y"})}, {}, {x}, {}}, "the model has none");
  refused({{node("Add", {"x"}, {"y"})}, {}, {x}, {y}}, "it has 1 inputs, and needs 2");
  refused({{node("Add", {"x", "w"}, {"y"})}, {tensor("w", {3}, Floats{1, 2, 3})}, {x}, {y}},
          "its inputs 'x' and 'w' are f32[4] and f32[3], which do not fit together");
  refused({{node("Flatten", {"x"}, {"y"}, {attribute("axis", 9)})}, {}, {x}, {y}},
          "axis 9 is none of its 1 dimensions");
  refused({{node("Relu", {"x"}, {"y"})}, {}, {x, value_info("x", {"4"})}, {y}},
          "two are named 'x'");
}

TEST(BadModels, OpenSizesAreNamed) {
  refused(shape_arithmetic(), "fix them, as with --shape batch=1");
  refused(shape_arithmetic(), "'bath' is no input of the model", {"bath=1"});
  refused(shape_arithmetic(), "is no shape of the input 'x', which is [batch,3,5]", {"x=1,3,6"});
  refused(shape_arithmetic(), "is no size", {"batch=0"});
  refused(shape_arithmetic(), "write, for example, --shape batch=1", {"batch"});
  EXPECT_EQ(graph_of(shape_arithmetic(), {"x=2,3,5"}).nodes.size(), 1U);
}

TEST(BadModels, FilesThatAreNone) {
  EXPECT_FALSE(onnx::parse_model("", ""));
  EXPECT_FALSE(onnx::parse_model("hello, this is a text", ""));
  const std::string whole = model(shape_arithmetic());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto cut = onnx::parse_model(std::string_view(whole).substr(0, size), "");
    if (!cut) EXPECT_FALSE(cut.error().message.empty());
    else (void)import(*cut);
  }
  EXPECT_FALSE(onnx::read_model("/nowhere/model.onnx"));
}

TEST(BadModels, DataThatDoesNotFitItsShape) {
  refused({{node("Relu", {"w"}, {"y"})},
           {tensor("w", {3}, Floats{1, 2})},
           {},
           {value_info("y", {"3"})}},
          "tensor 'w': it has 8 bytes of data, and its shape takes 12");
  refused(
      {{node("Relu", {"w"}, {"y"})}, {tensor("w", {3}, Ints{1, 2})}, {}, {value_info("y", {"3"})}},
      "tensor 'w': it has 2 elements, and its shape takes 3");
  refused({{node("Relu", {"w"}, {"y"})},
           {tensor("w", {1LL << 40, 1LL << 40}, Ints{1})},
           {},
           {value_info("y", {"3"})}},
          "more than 2^40 elements");
  refused(
      {{node("Relu", {"w"}, {"y"})}, {tensor("w", {-3}, Ints{1})}, {}, {value_info("y", {"3"})}},
      "a negative size");
}

class ExternalData : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(folder() / "inner");
    const Floats values{1, -2, 3, -4};
    for (const auto& file : {folder() / "inner" / "weights", folder() / "outside"})
      std::ofstream(file).write(reinterpret_cast<const char*>(values.data()), 16);
    std::filesystem::create_symlink("../outside", folder() / "inner" / "link");
  }
  std::filesystem::path folder() const { return std::filesystem::path(folder_.path()); }

  Result<onnx::Model> read(const std::string& location, std::int64_t offset, std::int64_t length,
                           std::int64_t size = 3) {
    const std::string path = (folder() / "inner" / "model.onnx").string();
    std::ofstream(path) << model({{node("Relu", {"w"}, {"y"})},
                                  {test::external("w", size, location, offset, length)},
                                  {},
                                  {value_info("y", {std::to_string(size)})}});
    return onnx::read_model(path);
  }
  void says(const Result<onnx::Model>& got, const std::string& words) {
    ASSERT_FALSE(got) << words;
    EXPECT_NE(got.error().text().find(words), std::string::npos) << got.error().text();
  }

 private:
  test::TemporaryFolder folder_;
};

TEST_F(ExternalData, IsMapped) {
  const auto got = read("weights", 4, 12);
  ASSERT_TRUE(got) << got.error().text();
  const auto made = import(*got);
  ASSERT_TRUE(made);
  EXPECT_EQ(numbers_of(made->graph.value(made->graph.outputs[0])), (std::vector<double>{0, 3, 0}));
}

TEST_F(ExternalData, IsRefusedWhereItIsElsewhereOrWrong) {
  says(read("none", 0, 12), "cannot be found beside the model");
  says(read("../outside", 0, 12), "lies outside of the model's folder");
  says(read("link", 0, 12), "lies outside of the model's folder");
  says(read((folder() / "outside").string(), 0, 12), "no path beneath the model's folder");
  says(read("", 0, 12), "no path beneath the model's folder");
  says(read("weights", 8, 12), "it is cut off or another model's");
  says(read("weights", 0, 16), "and its shape takes 12");
  says(read("weights", std::int64_t{1} << 62, 12), "it is cut off or another model's");
  says(read(".", 0, 12), "is no file");
  EXPECT_TRUE(read("weights", 0, 0));
}

}  // namespace
}  // namespace lathe::graph
