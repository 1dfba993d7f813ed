// lathe race: races the best programs on record again.
#include <cmath>
#include <memory>
#include <mutex>

#include "api/racing.h"
#include "api/told_times.h"
#include "base/processors.h"
#include "cli/application.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/interrupt.h"
#include "cli/live_line.h"
#include "cli/progress_line.h"
#include "cli/results.h"

namespace lathe::cli {
namespace {

struct Flags {
  api::WorkloadRequest workload;
  MachineFlags machine;
  int count = 6, jobs = usual_jobs().number;
  double seconds = 30;
  bool json = false;
};

std::string outcome_text(const api::Raced& raced) {
  if (!raced.story.finished && interrupted())
    return "the race was interrupted, and nothing of it is kept";
  if (!raced.story.finished)
    return "the race came to no end, and nothing of it is kept; give it more --time";
  const std::string share = fmt::format("{:.0f} %", 100 * raced.story.speed);
  if (raced.story.disturbed)
    return fmt::format(
        "disturbed: the machine ran at {} of the speed it has shown, or was busy; times that were "
        "faster before stand",
        share);
  return fmt::format("undisturbed: the machine ran at {} of the speed it has shown", share);
}

void print_row(const store::Record& record, double now, double flops) {
  const std::string raced = now == 0 ? "no time" : std::isfinite(now) ? time_text(now) : "failed";
  const double believed = believed_seconds(record);
  const double stands = std::isfinite(believed) ? believed : record.seconds;
  fmt::print("{:>4} {:>6}  {:>10} {:>10} {:>16}  {}{}\n", record.run, record.index, raced,
             time_text(stands), rate_text(flops, stands), schedule_text(record.config),
             record.race.disturbed ? " (disturbed)" : "");
}

void print_text(const api::Raced& raced) {
  fmt::print(" run  trial    now raced     stands             rate  schedule\n");
  for (std::size_t i = 0; i < raced.records.size(); ++i)
    print_row(raced.records[i], raced.seconds[i], raced.flops);
  const double best = believed_seconds(raced.records.front());
  fmt::print("{}\n", outcome_text(raced));
  if (std::isfinite(best))
    fmt::print("best: {}, {}, {}\nmemory: {}\n", time_text(best), rate_text(raced.flops, best),
               peak_text(raced.traffic, raced.flops, best, raced.peak_flops),
               traffic_text(raced.traffic, best));
  if (const std::string called = api::called_text(raced.records.front()); !called.empty())
    fmt::print("{}\n", called);
}

void print_json(const api::Raced& raced) {
  Json racers = Json::array();
  for (std::size_t i = 0; i < raced.records.size(); ++i) {
    racers.push_back(short_json(raced.records[i], raced.flops));
    const bool timed = raced.seconds[i] > 0 && std::isfinite(raced.seconds[i]);
    racers.back()["raced_seconds"] = timed ? Json(raced.seconds[i]) : Json(nullptr);
    racers.back()["failed"] = std::isinf(raced.seconds[i]);
  }
  fmt::print("{}\n", dump({{"finished", raced.story.finished},
                           {"disturbed", raced.story.disturbed},
                           {"speed", raced.story.speed},
                           {"peak_gflops", raced.peak_flops / 1e9},
                           {"racers", std::move(racers)}}));
}

Result<int> perform(const Flags& flags) {
  const auto workload = LATHE_TRY(api::make_workload(flags.workload));
  api::RaceRequest request{.workload = workload.definition,
                           .target = LATHE_TRY(target_of(flags.machine)),
                           .database = flags.machine.database,
                           .cache_mode = flags.machine.cache,
                           .count = flags.count,
                           .seconds = flags.seconds,
                           .jobs = flags.jobs};
  const Target asked = request.target;
  request.target = LATHE_TRY(api::racing_target(request));
  const TimingClaim claim;
  complain_unless_alone(claim);
  catch_interrupts();
  const std::string label = label_of(flags.workload.text, request.target);
  std::mutex mutex;
  std::string phase = "starting";
  LiveLine line(stderr, [&](std::size_t columns) {
    const std::lock_guard lock(mutex);
    return cut(label + ": " + (interrupted() ? "stopping" : phase), columns);
  });
  std::once_flag said;
  const auto raced = api::race_best(
      request,
      [&](const std::string& now) {
        std::call_once(said, [&] {
          line.above(complaint(threads_line(flags.machine, asked)));
          if (request.target != asked)
            line.above(complaint(fewer_threads_line(asked, request.target)));
        });
        const std::lock_guard lock(mutex);
        phase = now;
      },
      interrupted);
  line.finish();
  if (!raced) return std::unexpected(raced.error());
  if (flags.json) print_json(*raced);
  else print_text(*raced);
  return interrupted_code(raced->story.finished ? kDone : kFailed);
}

}  // namespace

Command race_command() {
  return {"race", "race the best programs of a workload on record again", [](FlagSet& set) -> Work {
            auto flags = std::make_shared<Flags>();
            add_workload_flags(set, flags->workload);
            set.number("--time", flags->seconds, "SECONDS",
                       "time this command may take; it waits that long for a disturbed machine");
            set.whole("--count", flags->count, 1, 100, "how many of the fastest on record race");
            set.whole("--jobs", flags->jobs, 1, 1024, "processes that may work at once");
            add_target_flags(set, flags->machine);
            add_database_flag(set, flags->machine.database);
            add_cache_flag(set, flags->machine);
            set.flag("--json", flags->json, "one JSON object on standard output");
            return [flags] { return perform(*flags); };
          }};
}

}  // namespace lathe::cli
