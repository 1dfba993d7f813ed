// lathe show: shows a workload at every level from expression to machine code, and the graph of a
// model.
#include <algorithm>
#include <memory>
#include <optional>

#include "api/model.h"
#include "api/targets.h"
#include "api/views.h"
#include "base/processors.h"
#include "base/timing_claim.h"
#include "cli/application.h"
#include "cli/check_text.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/open_model.h"
#include "cli/show_model.h"

namespace lathe::cli {
namespace {

struct Flags {
  api::WorkloadRequest workload;
  MachineFlags machine;
  std::string what, schedule = "default";  // what: "" is a graph of a model, else an expression
  std::string after, weights_type = api::WeightsRequest().type;
  bool json = false, floors = false;
};

// A model has sizes that are open, and nothing else of a workload's flags.
Result<int> perform_on_model(const Flags& flags) {
  api::WorkloadRequest named = flags.workload;
  const api::WeightsRequest weights{flags.weights_type, model_error(named)};
  LATHE_TRY_STATUS(check_flags_of_model(named));
  if (flags.json)
    return fail_at("--json", ErrorKind::kInvalidArgument,
                   "a graph is shown as text; leave it out, or ask lathe bench or lathe tune");
  ModelShowFlags model{flags.workload.text,
                       flags.workload.shapes,
                       flags.what.empty() ? "graph" : flags.what,
                       flags.after,
                       weights,
                       LATHE_TRY(target_of(flags.machine)),
                       schedule_request("best", flags.machine),
                       flags.floors,
                       usual_jobs().number};
  std::optional<TimingClaim> claim;
  if (flags.floors) {
    LATHE_TRY_STATUS(api::check_timed_here(model.target));
    claim.emplace();
    complain_unless_alone(*claim);
  }
  return show_model(model);
}

Result<int> perform(Flags flags) {
  if (names_model(flags.workload.text)) return perform_on_model(flags);
  if (!flags.after.empty())
    return fail_at("--after", ErrorKind::kInvalidArgument,
                   "only a model.onnx goes through passes; --what shows the stages of a workload");
  LATHE_TRY_STATUS(check_no_weights_type(flags.weights_type));
  if (flags.floors)
    return fail_at("--floors", ErrorKind::kInvalidArgument,
                   "these are of a model's nodes; lathe bench prints a workload's shares of the "
                   "peaks");
  if (flags.what.empty()) flags.what = "expression";
  auto workload = LATHE_TRY(api::make_workload(flags.workload));
  api::ViewRequest request;
  request.what = flags.what;
  request.target = LATHE_TRY(target_of(flags.machine));
  request.flavour = flags.machine.space;
  request.json = flags.json;
  const auto sources = api::known_sources();
  if (!api::needs_schedule(flags.what) &&
      std::ranges::find(sources, flags.schedule) == sources.end())
    return fail_at("--trace", ErrorKind::kInvalidArgument,
                   "--what {} shows no schedule; --what scheduled applies these steps", flags.what);
  if (api::needs_schedule(flags.what)) {
    const auto source =
        LATHE_TRY(api::schedule_source(schedule_request(flags.schedule, flags.machine)));
    auto chosen = LATHE_TRY(source(workload.definition, request.target));
    if (!chosen.note.empty()) complain(chosen.note);
    request.trace = std::move(chosen.trace);
    request.target = std::move(chosen.target);
  }
  request.workload = std::move(workload.definition);
  std::string text = LATHE_TRY(api::view(request));
  if (text.empty() || text.back() != '\n') text += '\n';
  fmt::print("{}", text);
  return kDone;
}

}  // namespace

Command show_command() {
  return {
      "show", "print a workload at any stage, or the graph of a model.onnx: " + api::known_views(),
      [](FlagSet& set) -> Work {
        auto flags = std::make_shared<Flags>();
        add_workload_flags(set, flags->workload);
        set.text("--what", flags->what, "VIEW",
                 api::known_views() +
                     " (default: expression); of a model graph (the default), tasks, text");
        set.text("--after", flags->after, "PASS",
                 "of a model, the graph after this pass: " + api::known_passes());
        add_floors_flag(set, flags->floors);
        add_weights_type_flag(set, flags->weights_type);
        add_schedule_flag(set, flags->schedule);
        add_target_flags(set, flags->machine);
        add_database_flag(set, flags->machine.database);
        add_space_flag(set, flags->machine);
        add_cache_flag(set, flags->machine);
        set.flag("--json", flags->json, "one JSON object on standard output, of --what sharing");
        return [flags] { return perform(*flags); };
      }};
}

}  // namespace lathe::cli
