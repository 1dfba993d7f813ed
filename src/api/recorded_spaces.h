// Spaces small enough to be measured whole: recorded on this machine, replayed anywhere.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "api/tuning.h"
#include "base/result.h"
#include "research/recorded/difficulty.h"
#include "research/recorded/recording.h"
#include "tuner/space/space.h"

namespace lathe::api {

// What is to be recorded: a workload, its threads, and the values kept of every knob of its space.
// As JSON:
//   {"name": "C6", "workload": "C6", "layout": "free", "threads": 1, "cache": "warm",
//    "space": "wide",
//    "knobs": {"order": ["VPK.vp", "PVK.vp"], "tile.v": [1, 2], "prefetch": 0, ...}}
// and where the workload is an operator or an expression, "flags": {"input": "1,64,56,56"},
// "shapes": ["A=64,32"] and "constants": ["B"], as on the command line.
struct SpaceList {
  std::string name;
  CacheMode cache_mode = CacheMode::kWarm;
  space::Flavour flavour = space::Flavour::kWide;
  Target target;
  std::shared_ptr<const space::Space> space;
};
// The error's place is the path. `target` as on the command line; the threads are the list's.
Result<SpaceList> read_space_list(const std::string& path, const std::string& target);

struct RecordingRequest {
  SpaceList list;
  // Every trial is durable here, so that the same request can go on later.
  std::string database;
  std::string output;
  int jobs = 2;
};
struct RecordedSpace {
  tune::Summary summary;  // interrupted: then nothing is written
  recorded::Difficulty difficulty;
};
// Measures every configuration, races the fastest again, and writes the recording.
Result<RecordedSpace> record_space(const RecordingRequest& request, const TuneListener& listener,
                                   const std::function<bool()>& stop);

// Sets what a search on a recording begins from: the file's model if one is named, else nothing,
// for the models that come with Lathe may change, and a replay must not.
Result<Origin> begin_replay(const std::string& global_model, const recorded::Recording& recording,
                            tune::Options& options);

// Any search on a recording, with no hardware. Equal options and seed give the same trials and
// results.
Result<Tuned> replay_tuning(const recorded::Recording& recording, const std::string& global_model,
                            const tune::Options& options, const TuneListener& listener,
                            const std::function<bool()>& stop);

}  // namespace lathe::api
