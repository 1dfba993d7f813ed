// ONNX's own tests of its operators, from the files of Debian's libonnx-testdata: each model is
// imported, its expressions are evaluated, and the results are compared with the files'. What is
// not supported stands in a list; what stands there and passes is an error.
#include <gtest/gtest.h>

#include "support/graph_run.h"
#include "support/onnx_cases.h"

namespace lathe::graph {
namespace {

std::string evaluated(const test::OnnxCase& files, const Graph& graph) {
  std::map<std::string, std::vector<double>> inputs;
  for (const int id : graph.inputs)
    inputs[graph.value(id).name] = test::numbers_of(*files.input(graph.value(id).name));
  const auto got = test::run(graph, inputs);
  if (!got) return "it takes too long to evaluate";
  for (std::size_t o = 0; o < got->size(); ++o)
    if (const std::string text = files.difference(o, graph.value(graph.outputs[o]), (*got)[o]);
        !text.empty())
      return "WRONG: " + text;
  return "";
}

TEST(OnnxNodes, AreRightOrListed) {
  if (!std::filesystem::exists(test::onnx_folder()))
    GTEST_SKIP() << "libonnx-testdata is not installed";
  test::check_cases(LATHE_UNSUPPORTED_NODES, evaluated);
}

}  // namespace
}  // namespace lathe::graph
