// lathe tune: searches for the fastest program of a workload.
#include <chrono>
#include <memory>
#include <thread>

#include "api/recorded_spaces.h"
#include "api/tuning.h"
#include "cli/application.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/interrupt.h"
#include "cli/progress_line.h"
#include "cli/results.h"
#include "compiler/te/work.h"

namespace lathe::cli {
namespace {

struct Flags {
  api::WorkloadRequest workload;
  MachineFlags machine;
  tune::Options options;
  std::string global_model, replay;
  bool no_transfer = false, json = false;
};

void add_search_flags(FlagSet& set, tune::Options& options) {
  set.whole(
      "--trials", options.trials, 0, 10'000'000,
      "trials of the run in all; the same command goes on; 0: what the models choose, unmeasured");
  set.number("--time", options.seconds, "SECONDS", "time this command may take");
  set.whole("--jobs", options.jobs, 1, 1024, "processes that may work at once");
  set.whole("--seed", options.seed, "of everything random; another seed is another run");
  set.choice("--search", options.search, tune::known_searchers(), "how candidates are chosen");
  set.choice("--model", options.model, tune::known_models(), "what learns from the trials");
  set.choice("--features", options.features, tune::known_features(),
             "what it sees of a program; treegru models see its tree of loops");
  set.choice("--acquisition", options.acquisition, tune::known_acquisitions(),
             "what xgb-ensemble makes of its uncertainty: ignores it, expected improvement, upper "
             "confidence bound");
  set.flag("--fresh", options.fresh, "learn nothing from other runs' records");
}

// Parameters of the paper's Algorithm 1 and equation 3.
void add_exploration_flags(FlagSet& set, tune::Options& options) {
  search::Options& exploration = options.exploration;
  set.group("Exploration");
  set.whole("--batch-size", options.batch, 1, 1'000'000,
            "candidates measured between updates of the model");
  set.whole("--chains", exploration.chains, 1, 1'000'000, "Markov chains of the annealing");
  set.whole("--steps", exploration.steps, 1, 1'000'000,
            "steps of a chain between two batches, at most");
  set.number("--epsilon", exploration.epsilon, 0, 1, "share of a batch that is chosen at random");
  set.number("--lambda", exploration.lambda, 1, 1000,
             "a batch is picked of so many times as many candidates");
  set.number("--alpha", exploration.alpha, 0, 1000,
             "weight of diversity in that pick, in units of the scores' spread");
  set.number("--temperature", exploration.temperature, 0, 1000,
             "of the annealing at first, in units of the scores' spread");
  set.number("--global-trials", options.global_trials, 0.001, 1e9,
             "trials that a global model is worth: it fades as they come in; the paper's never "
             "does (1e9)");
  set.number("--elite", exploration.elite, 0, 1,
             "share of the chains that restart from the best measured; the paper's is 0");
  set.number("--thrift", options.thrift, 0, 1000,
             "a trial of twice the usual cost has to promise so much more, in units of the scores' "
             "spread; the paper's is 0");
  set.group("");
}

tune::Options options_of(const Flags& flags) {
  tune::Options options = flags.options;
  options.transfer = !flags.no_transfer;
  return options;
}

int finish(const Flags& flags, const te::Program& program, const api::Tuned& tuned) {
  if (flags.json) {
    Json json = to_json(tuned);
    json["tensors"] = tensor_names(program);
    fmt::print("{}\n", dump(json));
  } else {
    fmt::print("{}", text_of(tuned));
  }
  const int code = tuned.summary.best.ok() ? kDone : kFailed;
  return tuned.summary.interrupted ? interrupted_code(code) : code;
}

Result<int> replay(const Flags& flags) {
  if (!flags.workload.text.empty())
    return fail_at("--replay", ErrorKind::kInvalidArgument,
                   "the recording says what its workload is; remove \"{}\"", flags.workload.text);
  const auto recording = LATHE_TRY(recorded::load(flags.replay));
  catch_interrupts();
  const te::Program& program = recording.space->program();
  ProgressLine line(stderr, {label_of(recording.name, recording.target), te::flops(program),
                             te::done_flops(program)});
  const auto tuned = api::replay_tuning(
      recording, flags.global_model, options_of(flags),
      [&](const tune::Progress& progress, double peak) {
        line.update(heeding_interrupts(progress), peak);
      },
      interrupted);
  line.finish();
  if (!tuned) return std::unexpected(tuned.error());
  return finish(flags, recording.space->program(), *tuned);
}

Result<int> predict(const api::TuneRequest& request, const Flags& flags) {
  const auto began = std::chrono::steady_clock::now();
  const auto predicted = LATHE_TRY(api::predict_schedule(
      {request.program, request.target, request.database, request.global_model, request.options}));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - began;
  if (flags.json) {
    Json json = to_json(predicted);
    json["workload"] = te::workload_key(request.program);
    json["tensors"] = tensor_names(request.program);
    json["target"] = request.target.text();
    json["seconds"] = seconds.count();
    fmt::print("{}\n", dump(json));
  } else {
    fmt::print("{}", text_of(predicted));
  }
  return kDone;
}

Result<int> perform(const Flags& flags) {
  if (!flags.replay.empty()) return replay(flags);
  auto workload = LATHE_TRY(api::make_workload(flags.workload));
  api::TuneRequest request;
  request.target = LATHE_TRY(api::make_target(flags.machine.target, flags.machine.threads));
  request.database = flags.machine.database;
  request.options = options_of(flags);
  request.global_model = flags.global_model;
  request.options.cache_mode = flags.machine.cache;
  request.options.flavour = LATHE_TRY(space::flavour_named(flags.machine.space));
  request.program = std::move(workload.program);
  if (flags.options.trials == 0) return predict(request, flags);
  const TimingClaim claim;
  complain_unless_alone(claim);
  catch_interrupts();
  ProgressLine line(stderr, {label_of(flags.workload.text, request.target),
                             te::flops(request.program), te::done_flops(request.program)});
  const auto tuned = api::run_tuning(
      request,
      [&](const tune::Progress& progress, double peak) {
        line.update(heeding_interrupts(progress), peak);
      },
      interrupted);
  line.finish();
  if (!tuned) return std::unexpected(tuned.error());
  return finish(flags, request.program, *tuned);
}

}  // namespace

Command tune_command() {
  return {"tune", "search for the fastest program of a workload", [](FlagSet& set) -> Work {
            auto flags = std::make_shared<Flags>();
            flags->options.jobs =
                static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
            add_workload_flags(set, flags->workload);
            add_search_flags(set, flags->options);
            set.text("--global-model", flags->global_model, "FILE",
                     "what lathe model train wrote, to begin from; without it, one trained on the "
                     "database's other workloads, or the one that comes with Lathe");
            set.flag("--no-transfer", flags->no_transfer, "learn nothing from other workloads");
            set.text("--replay", flags->replay, "FILE",
                     "search a recorded space (lathe space record) in place of this machine: "
                     "workload, target, space and cache are its own");
            add_exploration_flags(set, flags->options);
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
