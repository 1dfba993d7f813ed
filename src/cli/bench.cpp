// lathe bench: times one schedule of a workload, which is checked against the reference; or runs
// its threads' slices in turns; or serves a benchmark.
#include <chrono>
#include <iostream>
#include <memory>

#include "api/in_turns.h"
#include "api/loaded_program.h"
#include "api/tuning.h"
#include "base/processors.h"
#include "cli/application.h"
#include "cli/bench_model.h"
#include "cli/check_text.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/in_turns.h"
#include "cli/live_line.h"
#include "cli/open_model.h"
#include "cli/progress_line.h"
#include "cli/results.h"
#include "cli/serve.h"
#include "cli/show_model.h"

namespace lathe::cli {
namespace {

struct Flags {
  api::WorkloadRequest workload;
  MachineFlags machine;
  std::string schedule = "best", timeline, weights_type = api::WeightsRequest().type;
  bool serve = false, json = false, no_check = false, in_turns = false, floors = false;
  api::Checking checking() const { return no_check ? api::Checking::kSkip : api::Checking::kOnce; }
  api::Threads who() const { return in_turns ? api::Threads::kCaller : api::Threads::kPool; }
};

Result<int> serve_program(const api::MadeWorkload& workload, const api::Chosen& chosen,
                          const Flags& flags) {
  auto loaded = LATHE_TRY(api::LoadedProgram::make(workload.definition, chosen.trace, chosen.target,
                                                   flags.checking(), flags.who()));
  loaded->fill_random(1);
  Json about = {{"algorithm", algorithm_text(workload.algorithm, chosen.trace)}};
  about["error"] = chosen.record ? Json(chosen.record->numerical_error) : Json(nullptr);
  serve(std::cin, std::cout, dump(about), [&](double seconds) {
    if (!flags.in_turns) return loaded->time(seconds, flags.machine.cache);
    return api::time_in_turns(*loaded, chosen.target.threads(), seconds).seconds;
  });
  return kDone;
}

Result<int> time_in_turns(const api::MadeWorkload& workload, const Target& target,
                          const api::Chosen& chosen, const Flags& flags) {
  constexpr double kSeconds = 1;
  const TimingClaim claim;
  complain_unless_alone(claim);
  auto loaded = LATHE_TRY(api::LoadedProgram::make(workload.definition, chosen.trace, target,
                                                   flags.checking(), flags.who()));
  loaded->fill_random(1);
  const int threads = target.threads();
  const api::InTurns turns = api::time_in_turns(*loaded, threads, kSeconds);
  const double flops = te::flops(workload.definition);
  if (flags.json) {
    Json json = {{"workload", te::workload_key(workload.definition)},
                 {"tensors", tensor_names(workload.definition)},
                 {"target", target.text()},
                 {"schedule", flags.schedule},
                 {"cache", flags.machine.cache},
                 {"algorithm", algorithm_text(workload.algorithm, chosen.trace)},
                 {"seconds", turns.seconds},
                 {"gflops", flops / turns.seconds / 1e9},
                 {"checked", !flags.no_check}};
    add_in_turns(json, turns);
    fmt::print("{}\n", dump(json));
    return kDone;
  }
  fmt::print("{} schedule, in turns: {}, {}, {}\n{}", flags.schedule, time_text(turns.seconds),
             rate_text(flops, turns.seconds), flags.no_check ? "not checked" : "checked",
             in_turns_text(turns, threads));
  return kDone;
}

// Times it in this process, and compares it with nothing.
Result<int> time_unchecked(const api::MadeWorkload& workload, const Target& target,
                           const api::Chosen& chosen, const Flags& flags) {
  constexpr double kSeconds = 0.5;
  const TimingClaim claim;
  complain_unless_alone(claim);
  auto loaded = LATHE_TRY(
      api::LoadedProgram::make(workload.definition, chosen.trace, target, flags.checking()));
  loaded->fill_random(1);
  loaded->call();  // the first call touches its memory
  const double seconds = loaded->time(kSeconds, flags.machine.cache),
               flops = te::flops(workload.definition);
  if (flags.json) {
    const Json json = {{"workload", te::workload_key(workload.definition)},
                       {"tensors", tensor_names(workload.definition)},
                       {"target", target.text()},
                       {"schedule", flags.schedule},
                       {"cache", flags.machine.cache},
                       {"algorithm", algorithm_text(workload.algorithm, chosen.trace)},
                       {"seconds", seconds},
                       {"gflops", flops / seconds / 1e9},
                       {"checked", false},
                       {"error", nullptr}};
    fmt::print("{}\n", dump(json));
    return kDone;
  }
  fmt::print("{} schedule: {}, {}, not checked\n", flags.schedule, time_text(seconds),
             rate_text(flops, seconds));
  return kDone;
}

Result<int> perform_on_model(const Flags& flags) {
  api::WorkloadRequest named = flags.workload;
  const double max_error = model_error(named);
  LATHE_TRY_STATUS(check_flags_of_model(named));
  if (flags.serve || flags.in_turns)
    return fail_at(flags.serve ? "--serve" : "--in-turns", ErrorKind::kInvalidArgument,
                   "this is for one workload; leave it out for a model");
  if (flags.machine.cache != CacheMode::kWarm)
    return fail_at("--cache", ErrorKind::kInvalidArgument,
                   "nodes of a model find in the caches what others left; leave it out");
  ModelBenchFlags model{flags.workload.text,
                        flags.workload.shapes,
                        {flags.weights_type, max_error},
                        schedule_request(flags.schedule, flags.machine),
                        {},
                        flags.checking(),
                        flags.json,
                        flags.floors,
                        usual_jobs().number,
                        flags.timeline};
  model.target = LATHE_TRY(target_of(flags.machine));
  LATHE_TRY_STATUS(api::check_timed_here(model.target));
  complain(threads_line(flags.machine, model.target));
  const TimingClaim claim;
  complain_unless_alone(claim);
  return bench_model(model);
}

Status check_flags_of_workload(const Flags& flags) {
  if (!flags.timeline.empty())
    return fail_at("--timeline", ErrorKind::kInvalidArgument,
                   "a timeline tells the times of a model's nodes; leave it out for a workload");
  if (flags.floors)
    return fail_at(
        "--floors", ErrorKind::kInvalidArgument,
        "these are of a model's nodes; of a workload the shares of the peaks are printed");
  if (flags.serve && flags.json)
    return fail_at("--json", ErrorKind::kInvalidArgument,
                   "a program that is served answers in lines of its own; leave out --json");
  if (flags.in_turns && flags.machine.cache != CacheMode::kWarm)
    return fail_at("--in-turns", ErrorKind::kInvalidArgument,
                   "slices that take turns find in the caches what others left; leave out --cache "
                   "{}",
                   name_of(flags.machine.cache));
  return {};
}

Result<int> perform(const Flags& flags) {
  if (names_model(flags.workload.text)) return perform_on_model(flags);
  LATHE_TRY_STATUS(check_flags_of_workload(flags));
  LATHE_TRY_STATUS(check_no_weights_type(flags.weights_type));
  const auto workload = LATHE_TRY(api::make_workload(flags.workload));
  const Target asked = LATHE_TRY(target_of(flags.machine));
  // What takes turns needs no more than one processor.
  if (!flags.in_turns) LATHE_TRY_STATUS(api::check_timed_here(asked));
  const auto source =
      LATHE_TRY(api::schedule_source(schedule_request(flags.schedule, flags.machine)));
  const auto chosen = LATHE_TRY(source(workload.definition, asked));
  const Target& target = chosen.target;
  if (!flags.serve) complain(threads_line(flags.machine, asked));
  if (!chosen.note.empty()) complain(chosen.note);
  if (flags.serve) return serve_program(workload, chosen, flags);
  if (flags.in_turns) return time_in_turns(workload, target, chosen, flags);
  if (flags.no_check) return time_unchecked(workload, target, chosen, flags);
  const TimingClaim claim;
  complain_unless_alone(claim);
  const int jobs = usual_jobs().number;
  const auto began = std::chrono::steady_clock::now();
  LiveLine line(stderr, [&](std::size_t) {
    const std::chrono::duration<double> past = std::chrono::steady_clock::now() - began;
    return fmt::format("timing the {} schedule, {}", flags.schedule, duration_text(past.count()));
  });
  const auto measured = LATHE_TRY(
      api::measure_once(workload.definition, target, chosen.trace, flags.machine.cache, jobs));
  line.finish();
  const double share =
      peak_share(measured.traffic, measured.flops, measured.seconds, measured.peak_flops);
  if (flags.json) {
    Json json = {{"workload", te::workload_key(workload.definition)},
                 {"target", target.text()},
                 {"schedule", flags.schedule},
                 {"cache", flags.machine.cache},
                 {"algorithm", algorithm_text(workload.algorithm, chosen.trace)},
                 {"seconds", measured.seconds},
                 {"gflops", measured.flops / measured.seconds / 1e9},
                 {"peak_gflops", measured.peak_flops / 1e9},
                 {"peak_share", share},
                 {"checked", true},
                 {"error", measured.numerical_error},
                 {"tensors", tensor_names(workload.definition)}};
    add_traffic(json, measured.traffic, measured.seconds);
    fmt::print("{}\n", dump(json));
    return kDone;
  }
  fmt::print("{} schedule: {}, {}, {}, error {:.2g}\nmemory: {}\n", flags.schedule,
             time_text(measured.seconds), rate_text(measured.flops, measured.seconds),
             peak_text(measured.traffic, measured.flops, measured.seconds, measured.peak_flops),
             measured.numerical_error, traffic_text(measured.traffic, measured.seconds));
  return kDone;
}

}  // namespace

Command bench_command() {
  return {"bench", "time one schedule of a workload, or a model", [](FlagSet& set) -> Work {
            auto flags = std::make_shared<Flags>();
            add_workload_flags(set, flags->workload);
            add_weights_type_flag(set, flags->weights_type);
            add_schedule_flag(set, flags->schedule);
            add_target_flags(set, flags->machine);
            add_database_flag(set, flags->machine.database);
            add_space_flag(set, flags->machine);
            add_cache_flag(set, flags->machine);
            set.flag("--serve", flags->serve,
                     "answer \"run SECONDS\" on standard input with the seconds of a call, until "
                     "\"quit\"");
            set.flag("--no-check", flags->no_check,
                     "time it without comparing its outputs with a reference answer");
            set.flag("--in-turns", flags->in_turns,
                     "run each thread's slice of each phase alone, one after the other on one "
                     "processor, and add up the slowest of each phase: what --threads processors "
                     "would take without what they share");
            set.text("--timeline", flags->timeline, "FILE",
                     "write when each node of a model ran, in ten calls, for a viewer of traces");
            add_floors_flag(set, flags->floors);
            set.flag("--json", flags->json, "one JSON object on standard output");
            return [flags] { return perform(*flags); };
          }};
}

}  // namespace lathe::cli
