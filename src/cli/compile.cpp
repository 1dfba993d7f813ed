// lathe compile: a workload as a shared library with a C header and an example that calls it.
#include <memory>

#include "api/artifact.h"
#include "cli/application.h"
#include "cli/command.h"
#include "cli/flags.h"

namespace lathe::cli {
namespace {

struct Flags {
  api::WorkloadRequest workload;
  MachineFlags machine;
  std::string schedule = "best", output, name;
};

Result<int> perform(const Flags& flags) {
  const auto workload = LATHE_TRY(api::make_workload(flags.workload));
  const Target target = LATHE_TRY(api::make_target(flags.machine.target, flags.machine.threads));
  const auto chosen =
      LATHE_TRY(api::choose_schedule(workload.program, target, LATHE_TRY(schedule_request(flags.schedule, flags.machine))));
  if (!chosen.note.empty()) complain(chosen.note);
  const auto files = LATHE_TRY(api::write_artifact(workload.program, chosen.trace, target, flags.output, flags.name));
  fmt::print("{}\n{}\n{}\n", files.library, files.header, files.example);
  return kDone;
}

}  // namespace

Command compile_command() {
  return {"compile", "write a library, its C header and an example", [](FlagSet& set) -> Work {
    auto flags = std::make_shared<Flags>();
    add_workload_flags(set, flags->workload);
    set.required_text("-o,--output", flags->output, "FILE", "the library, NAME.so");
    set.text("--name", flags->name, "NAME", "of its functions, lathe_NAME_run (default: the file's)");
    add_schedule_flag(set, flags->schedule);
    add_target_flags(set, flags->machine);
    add_database_flag(set, flags->machine.database);
    add_space_flag(set, flags->machine);
    add_cache_flag(set, flags->machine);
    return [flags] { return perform(*flags); };
  }};
}

}  // namespace lathe::cli
