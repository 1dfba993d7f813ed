// lathe tune: searches for the fastest program of a workload.
#include <chrono>
#include <memory>

#include "api/recorded_spaces.h"
#include "api/tuning.h"
#include "base/processors.h"
#include "cli/application.h"
#include "cli/check_text.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/interrupt.h"
#include "cli/open_model.h"
#include "cli/progress_line.h"
#include "cli/results.h"
#include "cli/show_model.h"
#include "cli/tune_model.h"
#include "compiler/te/work.h"
#include "tuner/tune/option_list.h"

namespace lathe::cli {
namespace {

struct Flags {
  api::WorkloadRequest workload;
  MachineFlags machine;
  tune::Options options;
  std::string global_model, replay, weights_type = api::WeightsRequest().type;
  bool json = false;
};

// Of a member, the flag that its type asks for.
struct OptionFlag {
  FlagSet& set;
  tune::Options& options;
  const tune::Option& option;

  void operator()(const tune::Member<int>& member) const {
    set.whole(option.flag, member.inside(options), static_cast<std::int64_t>(option.values.least),
              static_cast<std::int64_t>(option.values.most), option.help);
  }
  void operator()(const tune::Member<std::uint64_t>& member) const {
    set.whole(option.flag, member.inside(options), option.help);
  }
  void operator()(const tune::Member<double>& member) const {
    const tune::Values& values = option.values;
    double& value = member.inside(options);
    if (values.least == 0 && values.most == 0)
      set.number(option.flag, value, values.form, option.help);
    else set.number(option.flag, value, values.least, values.most, option.help);
  }
  void operator()(const tune::Member<std::string>& member) const {
    set.choice(option.flag, member.inside(options), option.values.known, option.help);
  }
  void operator()(const tune::Member<bool>& member) const {
    bool& value = member.inside(options);
    if (std::string_view(option.flag).starts_with("--no-"))
      set.clear(option.flag, value, option.help);
    else set.flag(option.flag, value, option.help);
  }
};

void add_option_flags(FlagSet& set, tune::Options& options, tune::Heading heading) {
  for (const tune::Option& option : tune::option_list())
    if (option.heading == heading && *option.flag != '\0')
      std::visit(OptionFlag{set, options, option}, option.member);
}

int finish(const Flags& flags, const api::Tuned& tuned) {
  if (flags.json) {
    Json json = to_json(tuned);
    json["tensors"] = tensor_names(tuned.task.workload);
    fmt::print("{}\n", dump(json));
  } else {
    fmt::print("{}", text_of(tuned));
  }
  const int code = tuned.summary.best.ok() ? kDone : kFailed;
  return tuned.summary.interrupted ? interrupted_code(code) : code;
}

Result<int> replay(const Flags& flags) {
  if (!api::names_no_workload(flags.workload))
    return fail_at("--replay", ErrorKind::kInvalidArgument,
                   "the recording says what its workload is; remove {}",
                   flags.workload.text.empty() ? "the flags that describe one"
                                               : fmt::format("\"{}\"", flags.workload.text));
  const auto recording = LATHE_TRY(recorded::load(flags.replay));
  catch_interrupts();
  const te::Workload& workload = recording.space->workload();
  ProgressLine line(stderr, {label_of(recording.name, recording.target), te::flops(workload),
                             te::done_flops(workload)});
  const auto tuned = api::replay_tuning(
      recording, flags.global_model, flags.options,
      [&](const tune::Progress& progress, double peak) {
        line.update(heeding_interrupts(progress), peak);
      },
      interrupted);
  line.finish();
  if (!tuned) return std::unexpected(tuned.error());
  return finish(flags, *tuned);
}

Result<int> predict(const api::TuneRequest& request, const Flags& flags) {
  const auto began = std::chrono::steady_clock::now();
  const auto predicted = LATHE_TRY(api::predict_schedule(
      {request.task, request.target, request.database, request.global_model, request.options}));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - began;
  complain(threads_line(flags.machine, request.target));
  if (flags.json) {
    Json json = to_json(predicted);
    json["workload"] = te::workload_key(request.task.workload);
    json["tensors"] = tensor_names(request.task.workload);
    json["target"] = request.target.text();
    json["seconds"] = seconds.count();
    fmt::print("{}\n", dump(json));
  } else {
    fmt::print("{}", text_of(predicted));
  }
  return kDone;
}

Result<int> perform_on_model(const Flags& flags) {
  api::WorkloadRequest named = flags.workload;
  const double max_error = model_error(named);
  LATHE_TRY_STATUS(check_flags_of_model(named));
  if (flags.options.run.trials == 0)
    return fail_at("--trials", ErrorKind::kInvalidArgument,
                   "nothing is measured of a model with 0 trials; lathe compile {} --schedule "
                   "predicted takes what a model of costs says",
                   flags.workload.text);
  if (flags.machine.cache != CacheMode::kWarm)
    return fail_at("--cache", ErrorKind::kInvalidArgument,
                   "nodes of a model find in the caches what others left; leave it out");
  ModelTuneFlags model{
      flags.workload.text, flags.workload.shapes, {flags.weights_type, max_error}, {}, {},
      flags.json};
  model.request.target = LATHE_TRY(target_of(flags.machine));
  model.request.database = flags.machine.database;
  model.request.global_model = flags.global_model;
  model.request.options = flags.options;
  model.request.options.run.cache_mode = flags.machine.cache;
  model.request.options.run.flavour = flags.machine.space;
  model.first = threads_line(flags.machine, model.request.target);
  const TimingClaim claim;
  complain_unless_alone(claim);
  return tune_model(model);
}

Result<int> perform(const Flags& flags) {
  if (!flags.replay.empty()) return replay(flags);
  if (names_model(flags.workload.text)) return perform_on_model(flags);
  LATHE_TRY_STATUS(check_no_weights_type(flags.weights_type));
  auto workload = LATHE_TRY(api::make_workload(flags.workload));
  api::TuneRequest request;
  request.target = LATHE_TRY(target_of(flags.machine));
  request.database = flags.machine.database;
  request.options = flags.options;
  request.global_model = flags.global_model;
  request.options.run.cache_mode = flags.machine.cache;
  request.options.run.flavour = flags.machine.space;
  request.task.workload = std::move(workload.definition);
  if (flags.options.run.trials == 0) return predict(request, flags);
  const TimingClaim claim;
  complain_unless_alone(claim);
  catch_interrupts();
  const te::Workload& program = request.task.workload;
  ProgressLine line(stderr, {label_of(flags.workload.text, request.target), te::flops(program),
                             te::done_flops(program), threads_line(flags.machine, request.target)});
  const auto tuned = api::run_tuning(
      request,
      [&](const tune::Progress& progress, double peak) {
        line.update(heeding_interrupts(progress), peak);
      },
      interrupted);
  line.finish();
  if (!tuned) return std::unexpected(tuned.error());
  return finish(flags, *tuned);
}

}  // namespace

Command tune_command() {
  return {"tune", "search for the fastest program of a workload, or of each task of a model.onnx",
          [](FlagSet& set) -> Work {
            auto flags = std::make_shared<Flags>();
            flags->options.run.jobs = usual_jobs().number;
            add_workload_flags(set, flags->workload);
            add_weights_type_flag(set, flags->weights_type);
            add_option_flags(set, flags->options, tune::Heading::kNone);
            set.text("--global-model", flags->global_model, "FILE",
                     "what lathe model train wrote, to begin from; without it, one trained on the "
                     "database's other workloads, or the one that comes with Lathe");
            add_option_flags(set, flags->options, tune::Heading::kBegin);
            set.text("--replay", flags->replay, "FILE",
                     "search a recorded space (lathe space record) in place of this machine: "
                     "workload, target, space and cache are its own");
            set.group("Exploration");
            add_option_flags(set, flags->options, tune::Heading::kExploration);
            set.group("");
            add_target_flags(set, flags->machine);
            add_database_flag(set, flags->machine.database);
            add_space_flag(set, flags->machine);
            add_cache_flag(set, flags->machine);
            set.contradict("--no-transfer", {"--global-model"});
            set.contradict("--replay", {"--target", "--threads", "--db", "--space", "--cache"});
            set.flag("--json", flags->json, "end with one JSON object on standard output");
            return [flags] { return perform(*flags); };
          }};
}

}  // namespace lathe::cli
