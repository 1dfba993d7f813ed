#include "cli/show_model.h"

#include "cli/application.h"
#include "cli/command.h"
#include "cli/results.h"
#include "compiler/te/parse.h"
#include "graph/import/import.h"
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

Result<int> show_model(const std::string& path, const std::vector<std::string>& shapes,
                       const std::string& what) {
  if (what != "graph" && what != "tasks" && what != "text")
    return fail_at("--what", ErrorKind::kInvalidArgument,
                   "of a model there are graph, tasks and text (an expression for each node), not "
                   "'{}'",
                   what);
  graph::ImportOptions options;
  options.shapes = LATHE_TRY(graph::parse_shapes(shapes));
  auto imported = graph::import(LATHE_TRY(onnx::read_model(path)), options);
  if (!imported) {
    imported.error().place = path + ", " + imported.error().place;
    return std::unexpected(std::move(imported).error());
  }
  if (!imported->unsupported.empty()) {
    std::string list = graph::print(imported->unsupported);
    list.pop_back();
    complain(fmt::format("{}: {} node{} cannot be read yet:\n{}", path,
                         imported->unsupported.size(), imported->unsupported.size() == 1 ? "" : "s",
                         list));
    return kFailed;
  }
  const graph::Graph& graph = imported->graph;
  if (what == "text") fmt::print("{}", expressions(graph));
  else if (what == "tasks") fmt::print("{}{}", graph::summary(graph), graph::print_tasks(graph));
  else
    fmt::print("{}\n{}\n{}", graph::summary(graph), graph::print(graph), graph::print_tasks(graph));
  return kDone;
}

}  // namespace lathe::cli
