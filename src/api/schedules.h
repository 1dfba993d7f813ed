// Which schedule of a workload: the naive loops, the analytic default, the models' choice, or the
// best on record.
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
  // what the user should know about the choice; may be empty
  std::string note;
};

struct ScheduleRequest {
  std::string which = "best";  // naive, default, predicted, best
  std::string database;
  std::string cache_mode = "warm";
  space::Flavour flavour = space::Flavour::kDefault;
};

// What the store calls best for the query: of this code generator, else, where that has none, of
// another. Times of two compare badly, so that a record of an old one must not hide the present's.
Result<std::optional<store::Record>> best_comparable(store::Store& store, store::Query query);

// The best record of a workload: of this machine, else of another one. None if nothing is recorded.
// The database must exist.
Result<std::optional<store::Record>> best_record(const te::Program& program, const Target& target,
                                                 const std::string& database,
                                                 const std::string& cache_mode);
// That of "best"; the error says with which other flags the workload is recorded.
Result<Chosen> recorded_schedule(const te::Program& program, const Target& target,
                                 const ScheduleRequest& request);
Result<Chosen> choose_schedule(const te::Program& program, const Target& target,
                               const ScheduleRequest& request);

// What `lathe` has to be told to find records of the same workload in another layout, on another
// target or for other caches: "--layout free", "--threads 2 --cache cold"; "" where there are none.
Result<std::string> other_flags(store::Store& store, const te::Program& program,
                                const Target& target, const std::string& cache_mode);

// Whether a trial from elsewhere is one that the commands can use: its workload, target, cache mode
// and trace are read.
Status check_trial(const store::Run& run, const store::Record& record);

// An existing database, for commands that only read; the error says how to get one.
Result<std::unique_ptr<store::Store>> open_existing(const std::string& path);

}  // namespace lathe::api
