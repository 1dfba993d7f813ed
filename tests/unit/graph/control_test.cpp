// Conditions and loops of models: what is known of their course stands in the graph.
#include <gtest/gtest.h>

#include "graph/import/import.h"
#include "support/graph_run.h"
#include "support/onnx_writer.h"

namespace lathe::graph {
namespace {

using test::attribute;
using test::kInt64;
using test::ModelParts;
using test::node;
using test::value_info;
using Ints = std::vector<std::int64_t>;
using Floats = std::vector<float>;
using Doubles = std::vector<double>;

constexpr int kBool = 9;

Result<Imported> read_of(const ModelParts& parts) {
  return import(LATHE_TRY(onnx::parse_model(test::model(parts), "")));
}

// The outputs for an input "x" with these elements.
std::vector<Doubles> results_of(const ModelParts& parts, const Doubles& x) {
  const auto made = read_of(parts);
  EXPECT_TRUE(made) << made.error().text();
  if (!made) return {};
  EXPECT_TRUE(made->unsupported.empty()) << print(made->unsupported);
  if (!made->unsupported.empty()) return {};
  return *test::run(made->graph, {{"x", x}});
}

// The reason why the model is not supported, or the error.
std::string what_is_refused(const ModelParts& parts) {
  const auto made = read_of(parts);
  if (!made) return made.error().text();
  return print(made->unsupported);
}

test::Message truth(const std::string& name, bool value) {
  return test::Message().number(2, kBool).text(8, name).text(9, std::string(1, value ? 1 : 0));
}

// y = x + x or x * x; the branches read what is around them.
ModelParts conditional(bool known, bool value) {
  const auto branch = [](const char* op) {
    return ModelParts{{node(op, {"x", "x"}, {"inner"})}, {}, {}, {value_info("inner", {"2"})}};
  };
  ModelParts out;
  out.nodes = {
      node("If", {"c"}, {"y"},
           {attribute("then_branch", branch("Add")), attribute("else_branch", branch("Mul"))})};
  if (known) out.initializers = {truth("c", value)};
  out.inputs = {value_info("x", {"2"})};
  if (!known) out.inputs.push_back(value_info("c", {}, kBool));
  out.outputs = {value_info("y", {"2"})};
  return out;
}

TEST(Control, ABranchIsTakenWhereTheConditionIsKnown) {
  EXPECT_EQ(results_of(conditional(true, true), {3, 5}), (std::vector<Doubles>{{6, 10}}));
  EXPECT_EQ(results_of(conditional(true, false), {3, 5}), (std::vector<Doubles>{{9, 25}}));
  EXPECT_NE(
      what_is_refused(conditional(false, true)).find("its condition depends on data (value 'c')"),
      std::string::npos);
}

// v = v * x + i in each step, and what v was; a step is taken as long as i + 1 < `until`.
ModelParts counted(std::int64_t most, std::int64_t until) {
  ModelParts body;
  body.nodes = {node("Cast", {"i"}, {"number"}, {attribute("to", 1)}),
                node("Mul", {"v", "x"}, {"product"}),
                node("Add", {"product", "number"}, {"next"}),
                node("Identity", {"v"}, {"before"}),
                node("Add", {"i", "one"}, {"i1"}),
                node("Less", {"i1", "until"}, {"more"})};
  body.initializers = {test::tensor("one", {}, Ints{1}), test::tensor("until", {}, Ints{until})};
  body.inputs = {value_info("i", {}, kInt64), value_info("c", {}, kBool), value_info("v", {"2"})};
  body.outputs = {value_info("more", {}, kBool), value_info("next", {"2"}),
                  value_info("before", {"2"})};
  ModelParts out;
  out.nodes = {node("Loop", {"most", "", "x"}, {"y", "all"}, {attribute("body", body)})};
  out.initializers = {test::tensor("most", {}, Ints{most})};
  out.inputs = {value_info("x", {"2"})};
  out.outputs = {value_info("y", {"2"}), value_info("all", {"?", "2"})};
  return out;
}

TEST(Control, StepsOfALoopStandOneAfterTheOther) {
  // v: x, x^2, x^3 + 1, x^4 + x + 2
  const std::vector<Doubles> want = {{20, 86}, {2, 3, 4, 9, 9, 28}};
  EXPECT_EQ(results_of(counted(3, 100), {2, 3}), want);
  EXPECT_EQ(results_of(counted(1000, 3), {2, 3}), want);
  EXPECT_EQ(results_of(counted(1, 100), {2, 3}), (std::vector<Doubles>{{4, 9}, {2, 3}}));
  EXPECT_NE(what_is_refused(counted(0, 3)).find("it has no steps"), std::string::npos);
  EXPECT_NE(what_is_refused(counted(5000, 1 << 20)).find("it has more than 4096 steps"),
            std::string::npos);
}

TEST(Control, ManyStepsAreJoinedInParts) {
  const auto got = results_of(counted(600, 1000), {0, 0});
  ASSERT_EQ(got.size(), 2u);
  ASSERT_EQ(got[1].size(), 1200u);
  for (std::size_t step = 1; step < 600; ++step)
    EXPECT_EQ(got[1][2 * step], static_cast<double>(step - 1)) << step;
}

// Sums along an axis of [2,3], in a direction.
ModelParts summed(std::int64_t axis, std::int64_t backward) {
  const std::string row = axis == 0 ? "3" : "2";
  ModelParts body;
  body.nodes = {node("Add", {"s", "row"}, {"next"}), node("Identity", {"next"}, {"each"})};
  body.inputs = {value_info("s", {row}), value_info("row", {row})};
  body.outputs = {value_info("next", {row}), value_info("each", {row})};
  ModelParts out;
  out.nodes = {
      node("Scan", {"zero", "x"}, {"y", "all"},
           {attribute("body", body), attribute("num_scan_inputs", 1),
            attribute("scan_input_axes", Ints{axis}), attribute("scan_output_axes", Ints{axis}),
            attribute("scan_input_directions", Ints{backward}),
            attribute("scan_output_directions", Ints{backward})})};
  out.initializers = {test::tensor("zero", {axis == 0 ? 3 : 2}, Floats(axis == 0 ? 3 : 2, 0))};
  out.inputs = {value_info("x", {"2", "3"})};
  out.outputs = {value_info("y", {row}), value_info("all", {"2", "3"})};
  return out;
}

TEST(Control, AScanGoesAlongAnyAxis) {
  const Doubles x = {1, 2, 3, 4, 5, 6};
  EXPECT_EQ(results_of(summed(0, 0), x), (std::vector<Doubles>{{5, 7, 9}, {1, 2, 3, 5, 7, 9}}));
  EXPECT_EQ(results_of(summed(1, 0), x), (std::vector<Doubles>{{6, 15}, {1, 3, 6, 4, 9, 15}}));
  EXPECT_EQ(results_of(summed(1, 1), x), (std::vector<Doubles>{{6, 15}, {6, 5, 3, 15, 11, 6}}));
}

TEST(Control, WrongBodiesAreRefused) {
  ModelParts lacks = counted(3, 100);
  ModelParts body;
  body.nodes = {node("Identity", {"nowhere"}, {"more"})};
  body.inputs = {value_info("i", {}, kInt64)};
  body.outputs = {value_info("more", {}, kBool)};
  lacks.nodes = {node("Loop", {"most", "", "x"}, {"y"}, {attribute("body", body)})};
  lacks.outputs = {value_info("y", {"2"})};
  EXPECT_NE(what_is_refused(lacks).find("nothing makes its input 'nowhere'"), std::string::npos);
  body.nodes = {node("Identity", {"i"}, {"more"})};
  lacks.nodes = {node("Loop", {"most", "", "x"}, {"y"}, {attribute("body", body)})};
  EXPECT_NE(what_is_refused(lacks).find("it has 1 inputs, and 3 are given"), std::string::npos);
  lacks.nodes = {node("Loop", {"most", "", "x"}, {"y"})};
  EXPECT_NE(what_is_refused(lacks).find("its attribute 'body' is no graph"), std::string::npos);
  body.nodes = {node("Strange", {"i"}, {"more"})};
  body.inputs = {value_info("i", {}, kInt64), value_info("c", {}, kBool), value_info("v", {"2"})};
  lacks.nodes = {node("Loop", {"most", "", "x"}, {"y"}, {attribute("body", body)})};
  const std::string text = what_is_refused(lacks);
  EXPECT_NE(text.find("Strange"), std::string::npos) << text;
  EXPECT_NE(text.find("its output 'more' cannot be made"), std::string::npos) << text;
}

// A loop in a loop in a loop ends before it is all made.
TEST(Control, LoopsInLoopsAreNotMadeForEver) {
  ModelParts body;
  body.nodes = {node("Add", {"v", "x"}, {"next"}), node("Identity", {"c"}, {"more"})};
  body.inputs = {value_info("i", {}, kInt64), value_info("c", {}, kBool), value_info("v", {"2"})};
  body.outputs = {value_info("more", {}, kBool), value_info("next", {"2"})};
  for (int depth = 0; depth < 2; ++depth) {
    ModelParts around = body;
    around.nodes = {node("Loop", {"most", "", "v"}, {"next"}, {attribute("body", body)}),
                    node("Identity", {"c"}, {"more"})};
    body = around;
  }
  ModelParts all = counted(4000, 1);
  all.nodes = {node("Loop", {"most", "", "x"}, {"y"}, {attribute("body", body)})};
  all.outputs = {value_info("y", {"2"})};
  EXPECT_NE(what_is_refused(all).find("graphs in the model are made more than"), std::string::npos);
}

}  // namespace
}  // namespace lathe::graph
