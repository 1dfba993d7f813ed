// A model as one program: each node's program by its schedule, one after the other, with the
// model's constants in the code.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/artifact.h"
#include "api/schedules.h"
#include "base/result.h"
#include "base/target.h"
#include "graph/ir/graph.h"
#include "graph/onnx/model.h"

namespace lathe::api {

// Reads model.onnx; `shapes` fix what it leaves open: "batch=1", "x=1,3,224,224". Where operators
// are not supported, the error lists all of them (kUnsupported). The graph goes through the passes
// up to `last_pass` (graph/passes/passes.h); "": all of them, "import": none.
Result<graph::Graph> read_model(const std::string& path, const std::vector<std::string>& shapes,
                                const std::string& last_pass = "");
std::string known_passes();  // "import, fold, views, ..."

struct ModelProgram {
  flat::Program program;
  Target target;
  // Nodes, different programs among them, those of these that a record was found for.
  int nodes = 0, programs = 0, recorded = 0;
  std::int64_t arena_bytes = 0, unshared_bytes = 0, constant_bytes = 0;
  // What prepare would make of the model's weights, where the program has no prepare any more.
  std::optional<std::vector<std::byte>> weights;
  Checked checked;
  std::vector<std::string> left_out;  // inputs that no node reads
  // Sentences on inputs and outputs that have other names than in the model, since these would be
  // equal in characters that a header can have.
  std::vector<std::string> renamed;
  std::set<std::string> notes;  // on the choice of programs, as Chosen has them
};

// What is being done: "checking node 3 of 60".
using ModelProgress = std::function<void(const std::string& what)>;

// `source`: of nodes that it has nothing for (kNotFound) the analytic default is taken. A node's
// program is checked by itself, each once (checked.h). Targets are processors.
Result<ModelProgram> model_program(const graph::Graph& graph, const ScheduleSource& source,
                                   const Target& target, Checking checking,
                                   const ModelProgress& progress);

// Takes the weights out of the program: prepare is run here, and what it makes is kept, with the
// larger literals that run reads.
Status take_weights_out(ModelProgram& made);
// Fails where this machine cannot do that for the target.
Status check_packs_here(const Target& target);

Result<ArtifactFiles> write_model(const graph::Graph& graph, const ModelProgram& made,
                                  const ArtifactRequest& request);

}  // namespace lathe::api
