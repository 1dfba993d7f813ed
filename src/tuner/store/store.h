// Records: every trial that was ever finished, durable, shared by
// several tuners.
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

// Best is said of what won an interleaved race; a time that was only measured is likely a lucky
// one, so it stands as if this much slower (a predecessor's recorded best of 214 GFLOP/s measured
// 171 again).
inline constexpr double kUnracedPenalty = 1.1;

struct RaceResult {
  std::int64_t record = 0;
  double seconds = 0;  // infinity: it failed
  double spread = 0;
  double standing = 0;  // where another is to be best within the spread; 0: seconds
};

struct Query {  // empty members match everything
  std::string workload, target;
  std::optional<CacheMode> cache_mode;
  std::string cpu;
  std::int64_t run = 0;
  std::optional<bool> ok;
  std::optional<int> codegen_version;
  // each() leaves traces and visits out, which are most of a record and of the time to read it
  bool summary = false;
};

class Store {
 public:
  virtual ~Store() = default;
  // The run with these members, made if there is none. Safe when two tuners ask at once.
  virtual Result<Run> open_run(const Run& wanted) = 0;
  // This process alone adds to the run, as long as what comes back lives: two tuners would number
  // their trials alike.
  virtual Result<std::shared_ptr<const void>> claim(const Run&) { return nullptr; }
  // Durable when it returns, also against a power cut: all or none of the records. Sets their ids,
  // and the time where it is empty. A trial whose (run, index) is taken is refused.
  virtual Status add(std::vector<Record>& records) = 0;
  // The results of one race, all of the same workload, target, cache mode and cpu; `note` but for
  // the spread. A record that was faster in an earlier race keeps that time and what was noted of
  // it; one that failed loses it, unless this race was disturbed. Records that were never raced
  // stand behind those that were here, also where the machine was slower.
  virtual Status set_race(const std::vector<RaceResult>& results, const RaceNote& note = {}) = 0;
  // In order of id. The callback returns false to stop. Records that cannot be read are left out;
  // then it is an error in the end.
  virtual Status each(const Query& query, const std::function<bool(const Record&)>& visit) = 0;
  virtual Result<std::int64_t> count(const Query& query) = 0;
  // The fastest working record for workload, target and cache mode, on this cpu if given: one
  // indexed look-up. The fastest is the one with the smallest standing: its time in a race, or its
  // measured time with a penalty.
  virtual Result<std::optional<Record>> best(const Query& query) = 0;
  virtual Result<std::vector<Run>> runs() = 0;
  // Whether the whole database is sound: asked where something that should be there is not. Reads
  // all of it.
  virtual Status check() { return {}; }
  // Whether the file is still the one that was opened. Where it was removed or replaced, everything
  // was written to a new one beside it, which the error names; so add() and set_race() fail, after
  // they have added to that.
  virtual Status still_there() { return {}; }
  // Small named values: cached references, the machine's measured peak.
  virtual Status put(const std::string& key, const std::string& value) = 0;
  virtual Result<std::optional<std::string>> get(const std::string& key) = 0;
};

// The fastest that runs of this store have seen a machine (a fingerprint's text), on a target's
// threads; 0: not yet.
struct MachineSpeed {
  double peak_flops = 0, sentinel_seconds = 0;
};
Result<MachineSpeed> machine_speed(Store& store, const std::string& fingerprint,
                                   const std::string& target);
// Keeps what is faster than was known; 0: says nothing.
Status note_speed(Store& store, const std::string& fingerprint, const std::string& target,
                  const MachineSpeed& seen);
// Bytes a second that the machine moves where that many are read and written (`what` tells how
// many, and the cache mode): the most of what was known and `seen`, which is kept.
Result<double> note_bandwidth(Store& store, const std::string& fingerprint,
                              const std::string& target, const std::string& what, double seen);

// Creates the file if it does not exist, and the user's data folder; any other folder must be
// there. Errors are sentences a user can act on: locked for longer than `busy_seconds`, read-only,
// disk full, damaged, written by a newer Lathe, not a database.
Result<std::unique_ptr<Store>> open_sqlite(const std::string& path, double busy_seconds = 10);
// The same for records that need not outlive it.
Result<std::unique_ptr<Store>> open_in_memory();
std::string path_in_data_folder();  // $XDG_DATA_HOME/lathe/records.db, else ~/.local/share/...
std::string default_path();         // $LATHE_DB, else that

// What a trial is, wherever it stands in which run of which store: a trial that was imported has
// that of its original.
std::uint64_t identity(const Record& record);

// JSON lines, a line a trial with its run. Import skips trials that are already there and says how
// many; a trial of the same run and index from elsewhere gets the next free index. Infinity is null
// in JSON.
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

}  // namespace lathe::store
