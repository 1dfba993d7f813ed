// lathe space: measures small spaces whole and records them, so that searches can be compared on
// them without hardware.
#include <cmath>
#include <memory>

#include "api/recorded_spaces.h"
#include "base/file.h"
#include "base/processors.h"
#include "cli/application.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/interrupt.h"
#include "cli/progress_line.h"
#include "cli/results.h"
#include "compiler/te/work.h"
#include "research/recorded/kernel_tuner.h"

namespace lathe::cli {
namespace {

struct Flags {
  std::string file, target = "cpu:host", output, database, config;
  int jobs = usual_jobs().number;
  bool json = false;
};

Json to_json(const recorded::Difficulty& d) {
  return {{"configurations", d.configs},
          {"worked", d.worked},
          {"raced", d.raced},
          {"within_5_percent", d.within_5},
          {"within_1_percent", d.within_1},
          {"random_trials_95", d.random_trials_95},
          {"random_trials_99", d.random_trials_99},
          {"default_share", d.default_share},
          {"default_place", d.default_place}};
}

std::string difficulty_text(const recorded::Difficulty& d) {
  return fmt::format(
      "{}, {} worked, the fastest {} raced again\n"
      "{} within 5 % of the best, {} within 1 %: random search needs {} and {} trials in the "
      "median\n"
      "the analytic default, known before anything is measured, has {:.3f} of the best speed: "
      "place {}\n",
      counted(d.configs, "configuration"), d.worked, d.raced, d.within_5, d.within_1,
      d.random_trials_95, d.random_trials_99, d.default_share, d.default_place);
}

Result<int> check(const Flags& flags) {
  const auto list = LATHE_TRY(api::read_space_list(flags.file, flags.target));
  const auto configs = space::all_configs(*list.space).size();
  if (flags.json) {
    fmt::print("{}\n", dump({{"name", list.name},
                             {"target", list.target.text()},
                             {"configurations", configs},
                             {"combinations", list.space->size()}}));
    return kDone;
  }
  fmt::print("{} on {}: {} valid of {:.0f} combinations\n", list.name, list.target.text(),
             counted(static_cast<std::int64_t>(configs), "configuration"), list.space->size());
  return kDone;
}

Result<int> record(const Flags& flags) {
  api::RecordingRequest request{LATHE_TRY(api::read_space_list(flags.file, flags.target)),
                                flags.database, flags.output, flags.jobs};
  const TimingClaim claim;
  complain_unless_alone(claim);
  catch_interrupts();
  const int threads = request.list.target.threads();
  ProgressLine line(stderr, {label_of(request.list.name, request.list.target),
                             te::flops(request.list.space->workload()),
                             te::done_flops(request.list.space->workload()),
                             threads_text({threads, "as the list says"})});
  const auto recorded = api::record_space(
      request,
      [&](const tune::Progress& progress, double peak) {
        line.update(heeding_interrupts(progress), peak);
      },
      interrupted);
  line.finish();
  if (!recorded) return std::unexpected(recorded.error());
  const auto& summary = recorded->summary;
  if (summary.interrupted) {
    complain(fmt::format("interrupted after {}; the same command goes on",
                         counted(summary.trials, "trial")));
    return interrupted_code(kFailed);
  }
  if (flags.json)
    fmt::print("{}\n", dump({{"file", flags.output},
                             {"failed", summary.failed},
                             {"wrong", summary.wrong},
                             {"resumed", summary.resumed},
                             {"difficulty", to_json(recorded->difficulty)}}));
  else fmt::print("{}: {}", flags.output, difficulty_text(recorded->difficulty));
  return kDone;
}

Json time_json(const recorded::Recording& recording, std::size_t place) {
  const recorded::Trial& trial = recording.trials()[place];
  Json json = {{"config", recording.space->to_json(recording.configs()[place])}};
  if (trial.failure >= 0) {
    const recorded::Failure& failure = recording.failures[static_cast<std::size_t>(trial.failure)];
    json["error"] = {{"kind", failure.kind}, {"message", failure.message}};
    return json;
  }
  json["seconds"] = recording.seconds(place);
  json["spread"] = trial.spread;
  json["raced"] = trial.raced_seconds > 0;
  json["dropped_early"] = trial.dropped_early;
  return json;
}

Result<std::size_t> place_of(const recorded::Recording& recording, const std::string& text) {
  const auto config = recording.space->from_json(LATHE_TRY(parse_json(text)));
  if (!config) return std::unexpected(config.error());
  const auto place = recording.find(*config);
  if (!place)
    return fail(ErrorKind::kInvalidArgument,
                "the recording has no {}: these choices do not go together", text);
  return *place;
}

std::size_t fastest_of(const recorded::Recording& recording) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < recording.configs().size(); ++i)
    if (recording.seconds(i) < recording.seconds(best)) best = i;
  return best;
}

Result<int> show(const Flags& flags) {
  const auto recording = LATHE_TRY(recorded::load(flags.file));
  if (recording.configs().empty())
    return fail_at(flags.file, ErrorKind::kDataLoss, "the recording is empty");
  auto place = flags.config.empty() ? Result<std::size_t>(fastest_of(recording))
                                    : place_of(recording, flags.config);
  if (!place) {
    place.error().place = "--config";
    return std::unexpected(place.error());
  }
  const auto difficulty = recorded::difficulty_of(recording);
  const double flops = te::flops(recording.space->workload());
  const double seconds = recording.seconds(*place);
  if (flags.json) {
    fmt::print("{}\n",
               dump({{"name", recording.name},
                     {"workload", te::workload_key(recording.space->workload())},
                     {"target", recording.target.text()},
                     {"cache", recording.cache_mode},
                     {"machine", recording.machine.text()},
                     {"codegen_version", recording.codegen_version},
                     {"best_seconds", recording.best_seconds()},
                     {"flops", flops},
                     {"difficulty", to_json(difficulty)},
                     {flags.config.empty() ? "best" : "trial", time_json(recording, *place)}}));
    return kDone;
  }
  fmt::print("{}: {} on {}\nrecorded on {}\n{}", recording.name,
             te::workload_key(recording.space->workload()), recording.target.text(),
             recording.machine.text(), difficulty_text(difficulty));
  fmt::print(
      "{}: {}\n",
      std::isfinite(seconds) ? time_text(seconds) + ", " + rate_text(flops, seconds) : "failed",
      recording.space->describe(recording.configs()[*place]));
  return kDone;
}

Result<int> export_recording(const Flags& flags) {
  const auto recording = LATHE_TRY(recorded::load(flags.file));
  LATHE_TRY_STATUS(write_whole(flags.output, dump(recorded::kernel_tuner_cache(recording))));
  return kDone;
}

Command part(const char* name, const char* help, Result<int> (*work)(const Flags&),
             void (*declare)(FlagSet&, Flags&)) {
  return {name, help, [=](FlagSet& set) -> Work {
            auto flags = std::make_shared<Flags>();
            declare(set, *flags);
            return [flags, work] { return work(*flags); };
          }};
}

void add_list(FlagSet& set, Flags& flags) {
  set.positional("LIST", flags.file,
                 "JSON file that names a workload and the values kept of its knobs", true);
  set.text("--target", flags.target, "TARGET",
           "cpu:MCPU[,+feature...]; the threads are the list's");
}
void add_recording(FlagSet& set, Flags& flags) {
  set.positional("FILE", flags.file, "what lathe space record wrote", true);
}
void add_json(FlagSet& set, Flags& flags) {
  set.flag("--json", flags.json, "one JSON object on standard output");
}

void declare_check(FlagSet& set, Flags& flags) {
  add_list(set, flags);
  add_json(set, flags);
}
void declare_record(FlagSet& set, Flags& flags) {
  add_list(set, flags);
  set.required_text("-o,--output", flags.output, "FILE", "where to write the recording");
  set.whole("--jobs", flags.jobs, 1, 1024, "processes that may work at once");
  add_database_flag(set, flags.database);
  add_json(set, flags);
}
void declare_show(FlagSet& set, Flags& flags) {
  add_recording(set, flags);
  set.text("--config", flags.config, "JSON",
           "the trial of this configuration, in place of the best");
  add_json(set, flags);
}
void declare_export(FlagSet& set, Flags& flags) {
  add_recording(set, flags);
  set.required_text("-o,--output", flags.output, "FILE", "where to write the cache");
}

}  // namespace

Command space_command() {
  return {"space",
          "record small spaces, and look at recordings",
          {},
          {part("check", "count the configurations of a list", check, declare_check),
           part("record", "measure every configuration of a list; the same command goes on", record,
                declare_record),
           part("show", "what a recording holds", show, declare_show),
           part("export", "write a recording as Kernel Tuner's cache file", export_recording,
                declare_export)}};
}

}  // namespace lathe::cli
