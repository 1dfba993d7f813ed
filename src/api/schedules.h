// Where the schedule of a workload comes from: the best on record, the models' choice, the analytic
// default, or the naive loops.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/target.h"
#include "compiler/schedule/step.h"
#include "compiler/te/workload.h"
#include "tuner/space/space.h"
#include "tuner/store/store.h"

namespace lathe::api {

// A model has the last word on the programs of its tasks (last_word.h).
struct Exchanged {
  double gain = 0;     // the share of the model's time that it saved
  double seconds = 0;  // a call of the program alone, on record
};

// The trace to use for a workload, and how it was found.
struct Chosen {
  schedule::Trace trace;
  // What the program is made for: what was asked for, or that with fewer threads, as the record
  // has.
  Target target;
  std::optional<store::Record> record;  // of "best"
  // What the user should know about the choice; may be empty.
  std::string note;
  // The program takes constants for what changes from call to call: it reads them as they are, or
  // packs them in every run. Of models that have to fit into memory.
  bool repacks = false;
  // A model took this trace in place of the record's. Zeros: by a Lathe that did not keep them.
  std::optional<Exchanged> exchanged;
};
// What the trace is applied to: the workload, without constants where it repacks.
te::Workload scheduled_workload(const te::Workload& workload, const Chosen& chosen);

// Tells which trace to use for a workload on a target. A graph asks it for each of its workloads.
using ScheduleSource =
    std::function<Result<Chosen>(const te::Workload& workload, const Target& target)>;

struct ScheduleRequest {
  // A name of known_sources(), or a file with the steps of a trace, for the names of the workload's
  // key: its name ends with .json or has a slash.
  std::string which = "best";
  std::string database;
  CacheMode cache_mode = CacheMode::kWarm;
  space::Flavour flavour = space::Flavour::kDefault;
};

// The best record of this code generator for the query; if it has none, of another code generator.
// Times of two code generators compare badly, and an old one's record must not hide the present
// one's.
Result<std::optional<store::Record>> best_comparable(store::Store& store, store::Query query);

// The best record of a workload on this machine, else on another one, that applies to it. Where
// there is none for the target's threads, records for fewer serve, first those for the most: of
// more threads no record is taken. None if nothing is recorded; an error if records are there and
// none of them applies. The note tells of those that were passed over, and of fewer threads.
Result<std::optional<Chosen>> best_record(const te::Workload& workload, const Target& target,
                                          store::Store& store, CacheMode cache_mode);
// The source that has the request's name; the error lists the known ones.
Result<ScheduleSource> schedule_source(const ScheduleRequest& request);
// The source, but the analytic default where it has nothing (kNotFound).
ScheduleSource else_default(ScheduleSource source);
std::vector<std::string> known_sources();  // "best", "predicted", "default", "naive"
// The source "best"; its error tells with which other flags the workload is recorded.
ScheduleSource recorded_schedules(const ScheduleRequest& request);

// The target with as many threads as trials of the query have, but for its own target: as many as
// this one, else the next fewer of which there are some; this one where there are none.
Result<Target> recorded_target(store::Store& store, store::Query query, const Target& target);

// The flags with which `lathe` finds records of the same workload in another layout, on another
// target, for more threads or for other caches: "--layout free", "--threads 2 --cache cold"; "" if
// there are none.
Result<std::string> other_flags(store::Store& store, const te::Workload& workload,
                                const Target& target, CacheMode cache_mode);

// Checks that the commands can use a trial from elsewhere: it reads the trial's workload, target
// and trace, and its times are such as a machine can have.
Status check_trial(const store::Run& run, const store::Record& record);

// Opens an existing database, for commands that only read; the error tells how to get one.
Result<std::unique_ptr<store::Store>> open_existing(const std::string& path);

}  // namespace lathe::api
