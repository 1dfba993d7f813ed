// Races of programs that are on record: which is fastest, said again.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "api/tuning.h"

namespace lathe::api {

struct RaceRequest {
  te::Program program;
  Target target;
  std::string database;  // must exist
  std::string cache_mode = "warm";
  int count = 6;  // of the fastest on record, a configuration each
  // for all of it: waits that long for an undisturbed machine
  double seconds = 30;
  int jobs = 2;
};
struct Raced {
  std::vector<store::Record> records;  // as the store has them now, the best first
  // of each in this race; infinity where it failed, 0 where it was not built in time
  std::vector<double> seconds;
  tune::RaceStory story;
  double flops = 0, peak_flops = 0;
  Traffic traffic;
};

// Races them on this machine and stores what they reached. Records of other machines and other code
// generators do not take part; an error where none is left.
Result<Raced> race_best(const RaceRequest& request,
                        const std::function<void(const std::string& phase)>& listener,
                        const std::function<bool()>& stop);

}  // namespace lathe::api
