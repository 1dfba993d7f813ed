// Races programs that are on record, to tell again which is fastest.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "api/tuning.h"

namespace lathe::api {

struct RaceRequest {
  te::Workload workload;
  Target target;
  std::string database;  // must exist
  CacheMode cache_mode = CacheMode::kWarm;
  // How many of the fastest on record take part, one for each configuration; the default schedule
  // is among them where it is on record and there is room for two.
  int count = 6;
  // For the whole race; it waits at most this long for an undisturbed machine.
  double seconds = 30;
  int jobs = 2;
};
struct Raced {
  std::vector<store::Record> records;  // as the store has them now, the best first
  // For each, its time in this race; infinity if it failed, 0 if it ran too seldom to have one.
  std::vector<double> seconds;
  tune::RaceStory story;
  double flops = 0, peak_flops = 0;
  Traffic traffic;
};

// The request's target, or with fewer threads where programs that could race are only recorded for
// fewer. Fails where this machine cannot time as many threads as are asked for.
Result<Target> racing_target(const RaceRequest& request);

// Races them on this machine and stores what they reached. The winner of an earlier, undisturbed
// race, else the default schedule, keeps its place unless another is faster by more than chance
// explains. Records of other machines and other code generators take no part; fails if none is
// left.
Result<Raced> race_best(const RaceRequest& request,
                        const std::function<void(const std::string& phase)>& listener,
                        const std::function<bool()>& stop);

}  // namespace lathe::api
