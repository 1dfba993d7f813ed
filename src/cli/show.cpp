// lathe show: every stage on the way from expression to machine code.
#include <memory>

#include "api/views.h"
#include "cli/application.h"
#include "cli/command.h"
#include "cli/flags.h"

namespace lathe::cli {
namespace {

struct Flags {
  WorkloadFlags workload;
  MachineFlags machine;
  std::string what = "expression", schedule = "default";
};

Result<int> perform(const Flags& flags) {
  auto workload = LATHE_TRY(api::make_workload(flags.workload.request));
  api::ViewRequest request;
  request.what = flags.what;
  request.target = LATHE_TRY(api::make_target(flags.machine.target, flags.machine.threads));
  request.flavour = LATHE_TRY(api::flavour_named(flags.machine.space));
  if (api::needs_schedule(flags.what)) {
    auto chosen = LATHE_TRY(
        api::choose_schedule(workload.program, request.target, LATHE_TRY(schedule_request(flags.schedule, flags.machine))));
    if (!chosen.note.empty()) fmt::print(stderr, "lathe: {}\n", chosen.note);
    request.trace = std::move(chosen.trace);
  }
  request.program = std::move(workload.program);
  std::string text = LATHE_TRY(api::view(request));
  if (text.empty() || text.back() != '\n') text += '\n';
  fmt::print("{}", text);
  return kDone;
}

}  // namespace

void add_show(CLI::App& app, Work& work) {
  auto flags = std::make_shared<Flags>();
  auto* command = app.add_subcommand("show", "print a workload at any stage: " + api::known_views());
  add_workload_flags(*command, flags->workload);
  command->add_option("--what", flags->what, api::known_views())->type_name("STAGE")->capture_default_str();
  add_schedule_flag(*command, flags->schedule);
  add_target_flags(*command, flags->machine);
  add_database_flag(*command, flags->machine.database);
  add_space_flag(*command, flags->machine);
  add_cache_flag(*command, flags->machine);
  command->callback([flags, &work] { work = [flags] { return perform(*flags); }; });
}

}  // namespace lathe::cli
