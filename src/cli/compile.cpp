// lathe compile: a workload or a model as a shared library with a C header and an example that
// calls it.
#include <filesystem>
#include <memory>
#include <optional>
#include <tuple>

#include "api/artifact.h"
#include "api/last_word.h"
#include "api/model.h"
#include "api/model_check.h"
#include "api/model_memory.h"
#include "api/targets.h"
#include "cli/application.h"
#include "cli/check_text.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/live_work.h"
#include "cli/memory_size.h"
#include "cli/open_model.h"
#include "cli/results.h"
#include "cli/show_model.h"

namespace lathe::cli {
namespace {

struct Flags {
  api::WorkloadRequest workload;
  MachineFlags machine;
  std::string schedule = "best", output, name, weights;
  std::string weights_type = api::WeightsRequest().type;
  std::optional<std::string> max_memory;
  bool no_check = false;
  api::Checking checking() const { return no_check ? api::Checking::kSkip : api::Checking::kOnce; }
};

void print_files(const api::ArtifactFiles& files) {
  if (!files.checked.done && !files.checked.skipped)
    complain("the program " + files.checked.sentence);
  fmt::print("{}\n{}\n{}\n", files.library, files.header, files.example);
  if (!files.weights.empty()) fmt::print("{}\n", files.weights);
}

std::string megabytes(std::int64_t bytes) {
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

Status check_places(const api::ArtifactFiles& files, const std::string& model) {
  std::error_code ignored;
  for (const auto& [flag, what, path] : {std::tuple("-o", "library", files.library),
                                         std::tuple("--weights", "file of weights", files.weights)})
    if (!path.empty() && std::filesystem::equivalent(path, model, ignored))
      return fail_at(flag, ErrorKind::kInvalidArgument,
                     "the {} would be written over the model {}; give another file", what, model);
  return {};
}

// Exchanges programs where --max-memory wants it, and says what that costs; "" where it costs
// nothing.
Result<std::string> fit_into_memory(const Flags& flags, const graph::Graph& graph,
                                    const Target& target, std::int64_t most,
                                    api::ScheduleSource& source) {
  if (most == 0) return "";
  const api::MemoryRequest request{most, schedule_request(flags.schedule, flags.machine)};
  auto within = LATHE_TRY(
      with_live_line("choosing programs that fit", [&](const api::ModelProgress& progress) {
        return api::within_memory(graph, source, target, request, progress);
      }));
  source = std::move(within.source);
  if (within.exchanged == 0) return "";
  return fmt::format(
      "{} of {} have another program, so that they fit; by records and the analytic model all "
      "together take {:.0f} % more time",
      within.exchanged, counted(within.tasks, "task"), 100 * within.slower);
}

void tell_memory(const api::ModelProgram& made, std::int64_t most, const std::string& fitted) {
  const api::MemoryNeed need = api::memory_of(made.program, made.target.threads());
  complain(fmt::format("a handle needs {}, {} of these for weights; {} are allowed",
                       megabytes(need.bytes()), megabytes(need.constants), megabytes(most)));
  if (!fitted.empty()) complain(fitted);
}

Result<int> perform_on_model(const Flags& flags) {
  api::WorkloadRequest named = flags.workload;
  const double max_error = model_error(named);
  LATHE_TRY_STATUS(check_flags_of_model(named));
  const api::ArtifactRequest request{flags.output, flags.name, flags.checking(), flags.weights};
  LATHE_TRY_STATUS(check_places(LATHE_TRY(api::files_of(request)), flags.workload.text));
  const Target asked = LATHE_TRY(target_of(flags.machine));
  if (!flags.weights.empty()) LATHE_TRY_STATUS(api::check_packs_here(asked));
  const std::int64_t most =
      flags.max_memory ? LATHE_TRY(memory_size("--max-memory", *flags.max_memory)) : 0;
  const api::ScheduleRequest programs = schedule_request(flags.schedule, flags.machine);
  const OpenModel model = LATHE_TRY(open_model(flags.workload.text, flags.workload.shapes,
                                               {flags.weights_type, max_error}, asked, programs));
  const graph::Graph& graph = model.graph();
  auto source = LATHE_TRY(api::source_of_model(graph, programs, asked));
  const std::string fitted = LATHE_TRY(fit_into_memory(flags, graph, asked, most, source));
  auto made =
      LATHE_TRY(with_live_line("building and checking", [&](const api::ModelProgress& progress) {
        return api::model_program(graph, source, asked, flags.checking(), progress);
      }));
  if (!flags.weights.empty())
    LATHE_TRY_STATUS(with_live_line("packing the weights",
                                    [&](const auto&) { return api::take_weights_out(made); }));
  std::optional<api::ModelCheck> checked;
  if (!flags.no_check && api::check_runs_here(made.target))
    checked = LATHE_TRY(with_live_line("comparing the whole with its reference", [&](const auto&) {
      return api::check_model(model.wide, made, max_error);
    }));
  const auto files = LATHE_TRY(with_live_line(
      "writing", [&](const auto&) { return api::write_model(graph, made, request); }));
  for (const std::string& input : made.left_out)
    complain(fmt::format("no node reads the input {}, and the library does not have it", input));
  complain(threads_line(flags.machine, asked));
  for (const std::string& note : made.notes) complain(note);
  complain(fmt::format(
      "{}, {}, {} of them tuned; {} between them in an arena of {}, "
      "{} of {}",
      counted(made.nodes, "node"), counted(made.programs, "program"), made.recorded,
      megabytes(made.unshared_bytes), megabytes(made.arena_bytes), megabytes(made.constant_bytes),
      made.weights ? "weights in their file" : "packed constants"));
  if (most > 0) tell_memory(made, most, fitted);
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
  for (const auto& [flag, is_given] : {std::pair("--weights", !flags.weights.empty()),
                                       std::pair("--max-memory", flags.max_memory.has_value())})
    if (is_given)
      return fail_at(flag, ErrorKind::kInvalidArgument,
                     "this is for a model.onnx; leave it out for a workload");
  LATHE_TRY_STATUS(check_no_weights_type(flags.weights_type));
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
        set.text("--weights", flags->weights, "FILE",
                 "of a model: put its packed weights into FILE beside the library, which maps it");
        set.on_text("--max-memory", "SIZE",
                    "of a model: what a handle may need for weights and scratch, as 100MB or "
                    "1.5GiB; slower programs that need less are taken where it is needed",
                    [flags](const std::string& size) { flags->max_memory = size; });
        add_weights_type_flag(set, flags->weights_type);
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
