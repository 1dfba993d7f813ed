// lathe compile: a workload as a shared library with a C header and an example that calls it.
#include <memory>

#include "api/artifact.h"
#include "cli/application.h"
#include "cli/command.h"
#include "cli/flags.h"

namespace lathe::cli {
namespace {

struct Flags {
  WorkloadFlags workload;
  MachineFlags machine;
  std::string schedule = "best", output, name;
};

Result<int> perform(const Flags& flags) {
  const auto workload = LATHE_TRY(api::make_workload(flags.workload.request));
  const Target target = LATHE_TRY(api::make_target(flags.machine.target, flags.machine.threads));
  const auto chosen =
      LATHE_TRY(api::choose_schedule(workload.program, target, LATHE_TRY(schedule_request(flags.schedule, flags.machine))));
  if (!chosen.note.empty()) fmt::print(stderr, "lathe: {}\n", chosen.note);
  const auto files = LATHE_TRY(api::write_artifact(workload.program, chosen.trace, target, flags.output, flags.name));
  fmt::print("{}\n{}\n{}\n", files.library, files.header, files.example);
  return kDone;
}

}  // namespace

void add_compile(CLI::App& app, Work& work) {
  auto flags = std::make_shared<Flags>();
  auto* command = app.add_subcommand("compile", "write a library, its C header and an example");
  add_workload_flags(*command, flags->workload);
  command->add_option("-o,--output", flags->output, "the library, NAME.so")->type_name("FILE")->required();
  command->add_option("--name", flags->name, "of its functions, lathe_NAME_run (default: the file's)");
  add_schedule_flag(*command, flags->schedule);
  add_target_flags(*command, flags->machine);
  add_database_flag(*command, flags->machine.database);
  add_space_flag(*command, flags->machine);
  add_cache_flag(*command, flags->machine);
  command->callback([flags, &work] { work = [flags] { return perform(*flags); }; });
}

}  // namespace lathe::cli
