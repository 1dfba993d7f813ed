// lathe compile: a workload or a model as a shared library with a C header and an example that
// calls it.
#include <filesystem>
#include <memory>
#include <optional>

#include "api/artifact.h"
#include "api/last_word.h"
#include "api/model.h"
#include "api/model_check.h"
#include "api/targets.h"
#include "cli/application.h"
#include "cli/check_text.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/live_work.h"
#include "cli/results.h"
#include "cli/show_model.h"

namespace lathe::cli {
namespace {

struct Flags {
  api::WorkloadRequest workload;
  MachineFlags machine;
  std::string schedule = "best", output, name;
  bool no_check = false;
  api::Checking checking() const { return no_check ? api::Checking::kSkip : api::Checking::kOnce; }
};

void print_files(const api::ArtifactFiles& files) {
  if (!files.checked.done && !files.checked.skipped)
    complain("the program " + files.checked.sentence);
  fmt::print("{}\n{}\n{}\n", files.library, files.header, files.example);
}

std::string megabytes(std::int64_t bytes) {
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

Result<int> perform_on_model(const Flags& flags) {
  api::WorkloadRequest named = flags.workload;
  const double max_error = model_error(named);
  LATHE_TRY_STATUS(check_flags_of_model(named));
  const api::ArtifactRequest request{flags.output, flags.name, flags.checking()};
  const auto wanted = LATHE_TRY(api::files_of(request));
  std::error_code ignored;
  if (std::filesystem::equivalent(wanted.library, flags.workload.text, ignored))
    return fail_at("-o", ErrorKind::kInvalidArgument,
                   "the library would be written over the model {}; give another file",
                   flags.workload.text);
  const Target asked = LATHE_TRY(target_of(flags.machine));
  const auto graph = LATHE_TRY(api::read_model(flags.workload.text, flags.workload.shapes));
  const auto source = LATHE_TRY(
      api::source_of_model(graph, schedule_request(flags.schedule, flags.machine), asked));
  const auto made =
      LATHE_TRY(with_live_line("building and checking", [&](const api::ModelProgress& progress) {
        return api::model_program(graph, source, asked, flags.checking(), progress);
      }));
  std::optional<api::ModelCheck> checked;
  if (!flags.no_check && api::check_runs_here(made.target))
    checked = LATHE_TRY(with_live_line("comparing the whole with its reference", [&](const auto&) {
      return api::check_model(graph, made, max_error);
    }));
  const auto files = LATHE_TRY(with_live_line(
      "writing", [&](const auto&) { return api::write_model(graph, made, request); }));
  for (const std::string& input : made.left_out)
    complain(fmt::format("no node reads the input {}, and the library does not have it", input));
  complain(threads_line(flags.machine, asked));
  for (const std::string& note : made.notes) complain(note);
  complain(fmt::format(
      "{}, {}, {} of them tuned; {} between them in an arena of {}, "
      "{} of packed constants",
      counted(made.nodes, "node"), counted(made.programs, "program"), made.recorded,
      megabytes(made.unshared_bytes), megabytes(made.arena_bytes), megabytes(made.constant_bytes)));
  if (made.recorded < made.programs && flags.schedule == "best")
    complain(
        fmt::format("{} of its programs are not tuned; lathe tune with the same model and "
                    "flags looks for faster ones",
                    made.programs - made.recorded));
  if (checked) complain(check_text(*checked, max_error));
  print_files(files);
  return kDone;
}

Result<int> perform(const Flags& flags) {
  if (names_model(flags.workload.text)) return perform_on_model(flags);
  const auto workload = LATHE_TRY(api::make_workload(flags.workload));
  const Target asked = LATHE_TRY(target_of(flags.machine));
  const auto source =
      LATHE_TRY(api::schedule_source(schedule_request(flags.schedule, flags.machine)));
  const auto chosen = LATHE_TRY(source(workload.definition, asked));
  if (!chosen.note.empty()) complain(chosen.note);
  const std::string what = fmt::format("building and checking the {} schedule", flags.schedule);
  const auto files = LATHE_TRY(with_live_line(what, [&](const auto&) {
    return api::write_artifact(workload.definition, chosen,
                               {flags.output, flags.name, flags.checking()});
  }));
  if (chosen.target == asked) complain(threads_line(flags.machine, asked));
  print_files(files);
  return kDone;
}

}  // namespace

Command compile_command() {
  return {
      "compile", "write a library of a workload or of model.onnx, its C header and an example",
      [](FlagSet& set) -> Work {
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
