#include "research/recorded/record.h"

#include <algorithm>

#include "research/recorded/collect.h"
#include "research/recorded/replay.h"

namespace lathe::recorded {
namespace {

constexpr int kRaced = 200;  // the fastest, whose order matters

// The options of a random search to the end of the space.
tune::Options everything(const Recording& recording, int jobs) {
  tune::Options options;
  options.run.trials = static_cast<int>(space::all_configs(*recording.space).size());
  options.search.name = "random";
  options.model.name = "none";
  options.run.fresh = true;
  options.model.transfer = false;
  options.race.seconds = 0;
  options.run.jobs = jobs;
  return replay_options(recording, options);
}

// Their medians are durable when this returns; what was raced before is not raced again.
Status race_fastest(const std::vector<store::Record>& records, const RecordingMeans& means,
                    const std::function<void(double)>& progress,
                    const std::function<bool()>& stop) {
  const auto raced = fastest(records, kRaced);
  if (std::ranges::all_of(raced, &store::Record::raced)) return {};
  const auto results = LATHE_TRY(race_all(raced, means.measurer, means.cache, progress, stop));
  return results.empty() ? Status{} : means.store.set_race(results);
}

tune::Progress racing_after(const tune::Summary& summary, int trials) {
  return {.trials = trials,
          .failed = summary.failed,
          .wanted = trials,
          .main_failure = summary.main_failure,
          .best_seconds = summary.best_seconds(),
          .phase = tune::Phase::kRacing,
          .doing = "racing the fastest"};
}

}  // namespace

Result<tune::Summary> record(Recording& recording, const RecordingMeans& means,
                             const tune::Listener& listener, const std::function<bool()>& stop) {
  const tune::Options options = everything(recording, means.jobs);
  auto summary = LATHE_TRY(tune::tune(*recording.space, means.measurer, means.store,
                                      recording.target, options, listener, stop));
  if (summary.interrupted) return summary;
  tune::Progress racing = racing_after(summary, options.run.trials);
  const auto raced = [&](double share) {
    racing.doing = fmt::format("racing the fastest, {:.0f} % done", 100 * share);
    listener(racing);
  };
  const auto records = LATHE_TRY(records_of(means.store, summary.run, recording));
  LATHE_TRY_STATUS(race_fastest(records, means, raced, stop));
  summary.interrupted = stop();
  if (summary.interrupted) return summary;
  LATHE_TRY_STATUS(collect(LATHE_TRY(records_of(means.store, summary.run, recording)), recording));
  return summary;
}

}  // namespace lathe::recorded
