#include "graph/passes/passes.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "graph/passes/concat.h"
#include "graph/passes/fold.h"
#include "graph/passes/fuse.h"
#include "graph/passes/layout.h"
#include "graph/passes/movements.h"
#include "graph/passes/views.h"

namespace lathe::graph {

const std::vector<Pass>& passes() {
  static const std::vector<Pass> list = {
      {"fold", "What scales channels by constants scales the weights before.", fold},
      {"views", "What is copied from elements that follow each other becomes a view of them.",
       views},
      {"movements", "Nodes that only move elements, one after the other, become one.", movements},
      {"concat", "What is joined is made where it is joined.", concat},
      {"layout", "Values between convolutions lie channels last.", layout},
      {"fuse", "What is computed element by element of a node's result joins the node.", fuse},
  };
  return list;
}

Status run_passes(Graph& graph, std::string_view last) {
  std::vector<std::string> names = {"import"};
  for (const Pass& pass : passes()) names.push_back(pass.name);
  if (!last.empty() && std::ranges::count(names, last) == 0)
    return fail(ErrorKind::kInvalidArgument, "there is no pass '{}'; there are {}", last,
                fmt::join(names, ", "));
  if (last == "import") return {};
  for (const Pass& pass : passes()) {
    LATHE_TRY_STATUS(pass.run(graph));
    const Status sound = verify(graph);
    LATHE_CHECK(sound.has_value(), "after {}: {}", pass.name, sound ? "" : sound.error().text());
    if (pass.name == last) break;
  }
  return {};
}

}  // namespace lathe::graph
