// Keeps records: every trial that was ever finished. They are durable, and several tuners share
// them.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "tuner/store/record.h"

namespace lathe::store {

// Only what won a race is called best. The fastest of many times that were only measured was likely
// lucky, so such a time stands as if it were this much slower (a best of 214 GFLOP/s on record made
// 171 when it was measured again).
inline constexpr double kUnracedPenalty = 1.1;

// No call of any program takes less: a time below was not measured.
inline constexpr double kLeastSeconds = 1e-9;

struct RaceResult {
  std::int64_t record = 0;
  double seconds = 0;  // infinity: it failed
  double spread = 0;
  bool won = false;  // it stands before all others of the race, whatever their times
  double after_1ms = 0, after_20ms = 0, lost = 0;  // as RaceNote has them
};

struct Query {  // empty members match everything
  std::string workload, target;
  std::optional<CacheMode> cache_mode;
  std::string cpu;
  std::int64_t run = 0;
  std::optional<bool> ok;
  std::optional<int> codegen_version;
  // each() leaves out traces and visits, which are most of a record and of the time to read it.
  bool summary = false;
};

class Store {
 public:
  virtual ~Store() = default;
  // Finds the run with these members, or makes it. Two tuners may ask at once.
  virtual Result<Run> open_run(const Run& wanted) = 0;
  // Keeps other processes from adding to the run for as long as the returned value lives. Two
  // tuners would give their trials the same numbers.
  virtual Result<std::shared_ptr<const void>> claim(const Run&) { return nullptr; }
  // Adds all of the records or none. When it returns they are durable, even against a power cut.
  // Sets their ids, and the time where it is empty. Refuses a trial whose (run, index) is taken.
  virtual Status add(std::vector<Record>& records) = 0;
  // Stores the results of one race, all of the same workload, target, cache mode and cpu, with
  // `note` but for its spread. A record that was faster in an earlier race keeps that time and what
  // was noted of it, unless that race was disturbed and this one was not; one that failed loses it,
  // unless this race was disturbed. Records that were never raced then stand behind those of this
  // race, even if the machine was slower now.
  virtual Status set_race(const std::vector<RaceResult>& results, const RaceNote& note = {}) = 0;
  // Calls visit(record) in order of id, until it returns false. Records that cannot be read are
  // left out, and then it ends with an error.
  virtual Status each(const Query& query, const std::function<bool(const Record&)>& visit) = 0;
  virtual Result<std::int64_t> count(const Query& query) = 0;
  // The fastest working record for workload, target and cache mode, and for the cpu if one is
  // given. That is the record with the smallest standing: its time in a race, or its measured time
  // with a penalty. It is one look-up in an index.
  virtual Result<std::optional<Record>> best(const Query& query) = 0;
  // Calls visit(record) for all of those, the fastest first, until it returns false.
  virtual Status each_by_standing(const Query& query,
                                  const std::function<bool(const Record&)>& visit) = 0;
  virtual Result<std::vector<Run>> runs() = 0;
  // Reads the whole database and fails if it is damaged. Call it where something is missing that
  // should be there.
  virtual Status check() { return {}; }
  // Fails if the file is not the one that was opened. If it was removed or replaced, everything was
  // written to a new one beside it, which the error names. add() and set_race() fail then, too,
  // after they have added to the new one.
  virtual Status still_there() { return {}; }
  // Small named values: cached references, the machine's measured peak.
  virtual Status put(const std::string& key, const std::string& value) = 0;
  virtual Result<std::optional<std::string>> get(const std::string& key) = 0;
};

// What runs of this store know of a machine (by its fingerprint's text), on a target's threads: the
// fastest that they saw, less what note_race_speed() lets fade; 0: nothing yet.
struct MachineSpeed {
  double peak_flops = 0, sentinel_seconds = 0;
};
Result<MachineSpeed> machine_speed(Store& store, const std::string& fingerprint,
                                   const std::string& target);
// Keeps what is faster than was known; 0 says nothing.
Status note_speed(Store& store, const std::string& fingerprint, const std::string& target,
                  const MachineSpeed& seen);
// The same for what a whole race saw. What was known fades with each race that does not reach it:
// a clock that the machine once had does not stay the measure for ever.
Status note_race_speed(Store& store, const std::string& fingerprint, const std::string& target,
                       const MachineSpeed& seen);
// The bytes a second that the machine moves when it reads and writes a number of bytes (`what`
// tells how many, and the cache mode). Keeps and returns the larger of what was known and `seen`.
Result<double> note_bandwidth(Store& store, const std::string& fingerprint,
                              const std::string& target, const std::string& what, double seen);

// Creates the file if it does not exist, and the user's data folder; any other folder must exist.
// Errors are sentences that a user can act on: the file is locked for longer than `busy_seconds`,
// read-only, damaged, written by a newer Lathe, or no database, or the disk is full.
Result<std::unique_ptr<Store>> open_sqlite(const std::string& path, double busy_seconds = 10);
// The same for records that need not outlive it.
Result<std::unique_ptr<Store>> open_in_memory();
std::string path_in_data_folder();  // $XDG_DATA_HOME/lathe/records.db, else ~/.local/share/...
std::string default_path();         // $LATHE_DB, else that

// Tells trials apart, whatever run and store they stand in: a trial that was imported has the
// identity of its original.
std::uint64_t identity(const Record& record);

// JSON lines: one line for each trial, with its run. Import skips trials that are already there and
// says how many; a trial from elsewhere with a run and an index that are taken gets the next free
// index. Infinity is null in JSON.
Json to_json(const Run& run, const Record& record);
Result<std::pair<Run, Record>> from_json(const Json& json);
struct ImportCount {
  std::int64_t added = 0, already_there = 0;
};
// `check` may refuse a trial for what this room knows nothing about. The error's place is "line N";
// nothing is added then.
using CheckTrial = std::function<Status(const Run&, const Record&)>;
Result<ImportCount> import_lines(Store& store, std::istream& lines, const CheckTrial& check = {});
Status export_lines(Store& store, const Query& query, std::ostream& lines);
// The line of the best record alone, for each workload, target, cache mode and cpu.
Status export_best(Store& store, const Query& query, std::ostream& lines);

}  // namespace lathe::store
