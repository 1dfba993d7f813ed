// Chooses the schedule of a workload: the naive loops, the analytic default, the models' choice, or
// the best on record.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "base/target.h"
#include "compiler/schedule/step.h"
#include "compiler/te/program.h"
#include "tuner/space/space.h"
#include "tuner/store/store.h"

namespace lathe::api {

struct Chosen {
  schedule::Trace trace;
  std::optional<store::Record> record;  // of "best"
  // What the user should know about the choice; may be empty.
  std::string note;
};

struct ScheduleRequest {
  std::string which = "best";  // naive, default, predicted, best
  std::string database;
  CacheMode cache_mode = CacheMode::kWarm;
  space::Flavour flavour = space::Flavour::kDefault;
};

// The best record of this code generator for the query; if it has none, of another code generator.
// Times of two code generators compare badly, and an old one's record must not hide the present
// one's.
Result<std::optional<store::Record>> best_comparable(store::Store& store, store::Query query);

// The best record of a workload on this machine, else on another one. None if nothing is recorded.
// The database must exist.
Result<std::optional<store::Record>> best_record(const te::Program& program, const Target& target,
                                                 const std::string& database, CacheMode cache_mode);
// The schedule for "best"; the error tells with which other flags the workload is recorded.
Result<Chosen> recorded_schedule(const te::Program& program, const Target& target,
                                 const ScheduleRequest& request);
Result<Chosen> choose_schedule(const te::Program& program, const Target& target,
                               const ScheduleRequest& request);

// The flags with which `lathe` finds records of the same workload in another layout, on another
// target or for other caches: "--layout free", "--threads 2 --cache cold"; "" if there are none.
Result<std::string> other_flags(store::Store& store, const te::Program& program,
                                const Target& target, CacheMode cache_mode);

// Checks that the commands can use a trial from elsewhere: it reads the trial's workload, target
// and trace.
Status check_trial(const store::Run& run, const store::Record& record);

// Opens an existing database, for commands that only read; the error tells how to get one.
Result<std::unique_ptr<store::Store>> open_existing(const std::string& path);

}  // namespace lathe::api
