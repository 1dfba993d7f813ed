// ONNX's own tests of its operators as machine code: each model is imported and becomes one
// program, as by `lathe compile --schedule default`, which runs and gives the files' results.
#include <cstring>

#include <gtest/gtest.h>

#include "api/model.h"
#include "graph/passes/passes.h"
#include "support/graph_run.h"
#include "support/onnx_cases.h"
#include "unit/codegen/harness.h"

namespace lathe::api {
namespace {

std::vector<interp::Bytes> stored_inputs(const test::OnnxCase& files, const graph::Graph& graph,
                                         const ModelProgram& made) {
  std::vector<interp::Bytes> stored;
  for (const int id : graph.inputs) {
    const std::string& name = graph.value(id).name;
    if (std::ranges::count(made.left_out, name) > 0) continue;
    const auto bytes = files.input(name)->data.bytes;
    stored.emplace_back(bytes.begin(), bytes.end());
    EXPECT_EQ(static_cast<std::int64_t>(bytes.size()), graph.value(id).bytes()) << name;
  }
  EXPECT_EQ(stored.size(), made.program.inputs.size());
  return stored;
}

std::string computed(const test::OnnxCase& files, const graph::Graph& imported) {
  graph::Graph graph = imported;
  if (const auto done = graph::run_passes(graph); !done)
    return "WRONG: passes end with " + done.error().text();
  std::vector<std::vector<double>> outputs;
  if (graph.nodes.empty()) {
    // All is known, or a part of an input: there is no code.
    std::map<std::string, std::vector<double>> inputs;
    for (const int id : graph.inputs)
      inputs[graph.value(id).name] = test::numbers_of(*files.input(graph.value(id).name));
    outputs = *test::run(graph, inputs);
  } else {
    const auto source = schedule_source({.which = "default", .database = {}});
    static const Target target = testing::resolved("cpu:host");
    const auto made =
        model_program(graph, *source, target, Checking::kSkip, [](const std::string&) {});
    if (!made) return "no program: " + made.error().text();
    const auto module = testing::compile(made->program, target);
    if (!module) return "no code: " + module.error().text();
    const auto got =
        testing::run_module(**module, made->program, stored_inputs(files, graph, *made));
    if (!got) return "WRONG: it ends with " + got.error().text();
    for (std::size_t o = 0; o < got->size(); ++o)
      outputs.push_back(interp::from_storage(made->program.outputs[o], (*got)[o]));
  }
  for (std::size_t o = 0; o < outputs.size(); ++o)
    if (const std::string text = files.difference(o, graph.value(graph.outputs[o]), outputs[o]);
        !text.empty())
      return "WRONG: " + text;
  return "";
}

TEST(ModelNodes, AreRightAsMachineCode) {
  if (!std::filesystem::exists(test::onnx_folder()))
    GTEST_SKIP() << "libonnx-testdata is not installed";
  test::check_cases(LATHE_UNSUPPORTED_NODES, computed);
}

}  // namespace
}  // namespace lathe::api
