#include "cli/show_model.h"

#include "api/model.h"
#include "cli/application.h"
#include "cli/command.h"
#include "cli/open_model.h"
#include "cli/results.h"
#include "compiler/te/parse.h"
#include "graph/ir/print.h"

namespace lathe::cli {
namespace {

std::string expressions(const graph::Graph& graph) {
  std::string text;
  for (const graph::Node& node : graph.nodes)
    text += fmt::format("# {} ({})\n{}\n", node.name, node.op, te::print_workload(node.expression));
  return text;
}

}  // namespace

bool names_model(const std::string& text) {
  return text.ends_with(".onnx") && text.find_first_of("[=;\n") == std::string::npos;
}

Status check_flags_of_model(const api::WorkloadRequest& request) {
  api::WorkloadRequest others = request;
  others.text.clear();
  others.shapes.clear();
  if (api::names_no_workload(others)) return {};
  return fail_at(request.text, ErrorKind::kInvalidArgument,
                 "a model takes --shape and --max-error alone of the flags of a workload; remove "
                 "the others");
}

Result<int> show_model(const std::string& path, const std::vector<std::string>& shapes,
                       const std::string& what, const std::string& after,
                       const api::WeightsRequest& weights, const Target& target) {
  if (what != "graph" && what != "tasks" && what != "text")
    return fail_at("--what", ErrorKind::kInvalidArgument,
                   "of a model there are graph, tasks and text (an expression for each node), not "
                   "'{}'",
                   what);
  graph::Graph graph;
  if (after.empty()) graph = LATHE_TRY(open_model(path, shapes, weights, target)).weights.graph;
  else graph = LATHE_TRY(api::read_model(path, shapes, after));
  if (what == "text") fmt::print("{}", expressions(graph));
  else if (what == "tasks") fmt::print("{}{}", graph::summary(graph), graph::print_tasks(graph));
  else
    fmt::print("{}\n{}\n{}", graph::summary(graph), graph::print(graph), graph::print_tasks(graph));
  return kDone;
}

}  // namespace lathe::cli
