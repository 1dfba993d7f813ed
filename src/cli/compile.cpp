// lathe compile: a workload as a shared library with a C header and an example that calls it.
#include <chrono>
#include <memory>

#include "api/artifact.h"
#include "cli/application.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/live_line.h"
#include "cli/progress_line.h"

namespace lathe::cli {
namespace {

struct Flags {
  api::WorkloadRequest workload;
  MachineFlags machine;
  std::string schedule = "best", output, name;
  bool no_check = false;
  api::Checking checking() const { return no_check ? api::Checking::kSkip : api::Checking::kOnce; }
};

Result<int> perform(const Flags& flags) {
  const auto workload = LATHE_TRY(api::make_workload(flags.workload));
  const Target asked = LATHE_TRY(target_of(flags.machine));
  const auto source =
      LATHE_TRY(api::schedule_source(schedule_request(flags.schedule, flags.machine)));
  const auto chosen = LATHE_TRY(source(workload.definition, asked));
  if (!chosen.note.empty()) complain(chosen.note);
  const auto began = std::chrono::steady_clock::now();
  LiveLine line(stderr, [&](std::size_t) {
    const std::chrono::duration<double> past = std::chrono::steady_clock::now() - began;
    return fmt::format("building and checking the {} schedule, {}", flags.schedule,
                       duration_text(past.count()));
  });
  const auto files = api::write_artifact(workload.definition, chosen,
                                         {flags.output, flags.name, flags.checking()});
  line.finish();
  if (!files) return std::unexpected(files.error());
  if (chosen.target == asked) complain(threads_line(flags.machine, asked));
  if (!files->checked.done && !files->checked.skipped)
    complain("the program " + files->checked.sentence);
  fmt::print("{}\n{}\n{}\n", files->library, files->header, files->example);
  return kDone;
}

}  // namespace

Command compile_command() {
  return {
      "compile", "write a library, its C header and an example", [](FlagSet& set) -> Work {
        auto flags = std::make_shared<Flags>();
        add_workload_flags(set, flags->workload);
        set.required_text(
            "-o,--output", flags->output, "FILE",
            "the library, for example STEM.so; STEM.h and STEM_example.c are written beside it");
        set.text(
            "--name", flags->name, "NAME",
            "NAME in its functions, lathe_NAME_run (default: STEM); the files keep the name STEM");
        set.flag(
            "--no-check", flags->no_check,
            "write it without checking its outputs against a reference; the check runs once for "
            "each program and machine");
        add_schedule_flag(set, flags->schedule);
        add_target_flags(set, flags->machine);
        add_database_flag(set, flags->machine.database);
        add_space_flag(set, flags->machine);
        add_cache_flag(set, flags->machine);
        return [flags] { return perform(*flags); };
      }};
}

}  // namespace lathe::cli
