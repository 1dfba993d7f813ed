#include "cli/open_model.h"

#include "cli/application.h"
#include "cli/command.h"
#include "cli/live_work.h"
#include "cli/results.h"

namespace lathe::cli {
namespace {

std::string weights_text(const api::ModelWeights& weights) {
  constexpr double kMegabyte = 1e6;
  return fmt::format(
      "weights of {} are kept in half of their {:.1f} MB and read as f32; outputs "
      "differ by {:.1e} of their largest element by that",
      counted(weights.tasks, "task"), static_cast<double>(weights.wide_bytes) / kMegabyte,
      weights.error);
}

}  // namespace

void add_weights_type_flag(FlagSet& set, std::string& type) {
  set.choice("--weights-type", type, api::known_weights_types(),
             "of a model, the type in which weights of products are kept; they are read as f32. "
             "any: f16, or bf16 where f16 has no such numbers, where that gains time and "
             "--max-error allows it");
}

void add_floors_flag(FlagSet& set, bool& floors) {
  set.flag("--floors", floors,
           "of a model, measure how fast each node could be here: by its arithmetic, and by moving "
           "its inputs and outputs once");
}

Status check_no_weights_type(const std::string& type) {
  if (type == api::WeightsRequest().type) return {};
  return fail_at("--weights-type", ErrorKind::kInvalidArgument,
                 "this is for a model.onnx; --dtype gives types of a workload's inputs");
}

Result<OpenModel> open_model(const std::string& path, const std::vector<std::string>& shapes,
                             const api::WeightsRequest& request, const Target& target,
                             const std::optional<api::ScheduleRequest>& programs) {
  OpenModel open{LATHE_TRY(api::read_model(path, shapes)), {}, {}};
  open.weights = LATHE_TRY(
      with_live_line("choosing types of weights", [&](const api::ModelProgress& progress) {
        return api::choose_weights(open.wide, request, target, progress);
      }));
  if (open.weights.tasks > 0) complain(weights_text(open.weights));
  if (!programs) return open;
  auto chosen = LATHE_TRY(api::choose_groups(open.weights.graph, *programs, target));
  open.weights.graph = std::move(chosen.graph);
  open.choices = std::move(chosen.choices);
  return open;
}

}  // namespace lathe::cli
