// lathe show: shows a workload at every level from expression to machine code.
#include <algorithm>
#include <memory>

#include "api/views.h"
#include "cli/application.h"
#include "cli/command.h"
#include "cli/flags.h"

namespace lathe::cli {
namespace {

struct Flags {
  api::WorkloadRequest workload;
  MachineFlags machine;
  std::string what = "expression", schedule = "default";
  bool json = false;
};

Result<int> perform(const Flags& flags) {
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
  return {"show", "print a workload at any stage: " + api::known_views(), [](FlagSet& set) -> Work {
            auto flags = std::make_shared<Flags>();
            add_workload_flags(set, flags->workload);
            set.text("--what", flags->what, "VIEW", api::known_views());
            add_schedule_flag(set, flags->schedule);
            add_target_flags(set, flags->machine);
            add_database_flag(set, flags->machine.database);
            add_space_flag(set, flags->machine);
            add_cache_flag(set, flags->machine);
            set.flag("--json", flags->json,
                     "one JSON object on standard output, of --what sharing");
            return [flags] { return perform(*flags); };
          }};
}

}  // namespace lathe::cli
