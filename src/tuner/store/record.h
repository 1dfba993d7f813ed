// A trial's record, its run, and the lists of their fields. The lists alone tell the tables, the
// SQL and the JSON lines which fields there are: to add one, add a member and its entry here.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/cache_mode.h"
#include "base/json.h"

namespace lathe::store {

// One timed visit to a candidate.
struct Visit {
  int visit = 0;                // number of the visit
  std::vector<double> seconds;  // raw times of a run, each
  double sentinel_seconds = 0;  // of the sentinel kernel beside it
  // Calls that the scheduler disturbed, without the time that was lost. They do not count.
  std::vector<double> disturbed;
};

// The machine during a race, and how sure its times are. Zeros: the race is of a Lathe that did not
// keep them.
struct RaceNote {
  double spread = 0;  // half the interquartile range of the rounds, over the time
  double peak_flops = 0, sentinel_seconds = 0;
  // The machine was busy, or slower than it has been; so the time may be too slow.
  bool disturbed = false;
  std::string time;  // when it ended, as Record::time
  // Seconds of calls after pauses, and the share of time that the scheduler took (measure::Called).
  double after_1ms = 0, after_20ms = 0, lost = 0;
};

// What makes a run the same run, so that a command goes on with it after it was killed.
struct Run {
  std::int64_t id = 0;
  std::string workload;  // canonical key
  std::string target;    // canonical text
  CacheMode cache_mode = CacheMode::kWarm;
  std::string space;          // flavour, "default" or "wide"
  std::string space_hash;     // hex
  std::string search, model;  // "annealing", "xgb-rank"
  std::uint64_t seed = 0;
};

struct Record {
  std::int64_t id = 0;  // set by the store
  std::int64_t run = 0;
  int batch = 0, index = 0;                        // (run, index) is unique: no trial is repeated
  std::string workload, target, fingerprint, cpu;  // cpu: family/model/stepping
  CacheMode cache_mode = CacheMode::kWarm;
  Json trace, config;
  std::string space_hash;
  int codegen_version = 0;
  std::string program_hash;  // of the flat program, hex
  std::vector<Visit> visits;
  double seconds = 0;  // the robust estimate from the visits; 0 if failed
  bool dropped_early = false;
  // It took part in a race; then race_seconds is set.
  bool raced = false;
  // The fastest of its races: a slower repetition says something about the machine.
  double race_seconds = 0;
  RaceNote race;  // of that race
  int spills = 0;
  // Of a program for a card, as its assembler tells; 0: not known. The most of its kernels: of a
  // thread, in number; of a block, in bytes of shared memory.
  int registers = 0;
  std::int64_t shared_bytes = 0;
  std::string error_kind, error_message, error_place;  // kind empty: it worked
  double numerical_error = 0;                          // largest, of the largest output
  double predicted_score = 0;
  double build_seconds = 0, run_seconds = 0, model_seconds = 0, search_seconds = 0;
  std::string time;     // ISO 8601, UTC: "2026-08-01T10:00:00.125Z"
  double standing = 0;  // set by the store: what best() compares
  bool ok() const { return error_kind.empty(); }
};

// A field of an Owner. `Members` are the types that `member` may have.
template <class Owner, class... Members>
struct Field {
  std::string_view column;          // in the table
  std::variant<Members...> member;  // its default is what older records have
  // Its place in a JSON line: "cache", or "spent/build" in an object. Empty: lines do not have it.
  std::string_view line;
  // Whether this owner has the field. Where it has not, a line has null in its place.
  bool (*when)(const Owner&) = nullptr;
  bool name = false;   // the column holds the id of a text in `names`: a long one that repeats
  bool bulky = false;  // an array, which summaries leave empty
  // The version of the tables with which it came. Older databases get its column when they are
  // opened; older lines lack it, or its object, and so do lines of owners that do not have it.
  int since = 1;
};

using RunField = Field<Run, std::string Run::*, std::uint64_t Run::*, CacheMode Run::*>;
using RecordField =
    Field<Record, bool Record::*, int Record::*, std::int64_t Record::*, double Record::*,
          std::string Record::*, CacheMode Record::*, Json Record::*, std::vector<Visit> Record::*,
          bool RaceNote::*, double RaceNote::*, std::string RaceNote::*>;

// In the order of the lines. All fields together are what makes a run the same, so that none can be
// added to a table that exists.
inline constexpr auto kRunFields = std::to_array<RunField>({
    {.column = "workload", .member = &Run::workload, .line = "workload", .name = true},
    {.column = "target", .member = &Run::target, .line = "target", .name = true},
    {.column = "cache_mode", .member = &Run::cache_mode, .line = "cache"},
    {.column = "space", .member = &Run::space, .line = "run/space"},
    {.column = "space_hash", .member = &Run::space_hash, .line = "run/space_hash"},
    {.column = "search", .member = &Run::search, .line = "run/search"},
    {.column = "model", .member = &Run::model, .line = "run/model"},
    {.column = "seed", .member = &Run::seed, .line = "run/seed"},
});

inline bool has_raced(const Record& record) { return record.raced; }
inline bool has_failed(const Record& record) { return !record.ok(); }
inline bool has_registers(const Record& record) { return record.registers > 0; }

// In the order of the lines. `id` is the store's own. A line tells by its race_seconds, or where
// that failed by its race, whether a record has raced, and has a member "standing" only where it is
// not what the times say.
inline constexpr auto kRecordFields = std::to_array<RecordField>({
    {.column = "run", .member = &Record::run},
    {.column = "workload", .member = &Record::workload, .line = "workload", .name = true},
    {.column = "target", .member = &Record::target, .line = "target", .name = true},
    {.column = "cache_mode", .member = &Record::cache_mode, .line = "cache", .name = true},
    {.column = "batch", .member = &Record::batch, .line = "batch"},
    {.column = "idx", .member = &Record::index, .line = "index"},
    {.column = "seconds", .member = &Record::seconds, .line = "seconds"},
    {.column = "raced", .member = &Record::raced},
    {.column = "race_seconds",
     .member = &Record::race_seconds,
     .line = "race_seconds",
     .when = has_raced},
    {.column = "race_spread",
     .member = &RaceNote::spread,
     .line = "race/spread",
     .when = has_raced,
     .since = 2},
    {.column = "race_peak",
     .member = &RaceNote::peak_flops,
     .line = "race/peak_flops",
     .when = has_raced,
     .since = 2},
    {.column = "race_sentinel",
     .member = &RaceNote::sentinel_seconds,
     .line = "race/sentinel",
     .when = has_raced,
     .since = 2},
    {.column = "race_disturbed",
     .member = &RaceNote::disturbed,
     .line = "race/disturbed",
     .when = has_raced,
     .since = 2},
    {.column = "race_time",
     .member = &RaceNote::time,
     .line = "race/time",
     .when = has_raced,
     .since = 2},
    {.column = "race_after_1ms",
     .member = &RaceNote::after_1ms,
     .line = "race/after_1ms",
     .when = has_raced,
     .since = 4},
    {.column = "race_after_20ms",
     .member = &RaceNote::after_20ms,
     .line = "race/after_20ms",
     .when = has_raced,
     .since = 4},
    {.column = "race_lost",
     .member = &RaceNote::lost,
     .line = "race/lost",
     .when = has_raced,
     .since = 4},
    {.column = "error_kind",
     .member = &Record::error_kind,
     .line = "error/kind",
     .when = has_failed},
    {.column = "error_message",
     .member = &Record::error_message,
     .line = "error/message",
     .when = has_failed},
    {.column = "error_place",
     .member = &Record::error_place,
     .line = "error/place",
     .when = has_failed},
    {.column = "config", .member = &Record::config, .line = "config"},
    {.column = "trace", .member = &Record::trace, .line = "trace", .bulky = true},
    {.column = "visits", .member = &Record::visits, .line = "visits", .bulky = true},
    {.column = "dropped_early", .member = &Record::dropped_early, .line = "dropped_early"},
    {.column = "spills", .member = &Record::spills, .line = "spills"},
    {.column = "registers",
     .member = &Record::registers,
     .line = "card/registers",
     .when = has_registers,
     .since = 5},
    {.column = "shared_bytes",
     .member = &Record::shared_bytes,
     .line = "card/shared_bytes",
     .when = has_registers,
     .since = 5},
    {.column = "numerical_error", .member = &Record::numerical_error, .line = "numerical_error"},
    {.column = "predicted_score", .member = &Record::predicted_score, .line = "predicted_score"},
    {.column = "build_seconds", .member = &Record::build_seconds, .line = "spent/build"},
    {.column = "run_seconds", .member = &Record::run_seconds, .line = "spent/run"},
    {.column = "model_seconds", .member = &Record::model_seconds, .line = "spent/model"},
    {.column = "search_seconds", .member = &Record::search_seconds, .line = "spent/search"},
    {.column = "space_hash", .member = &Record::space_hash, .line = "space_hash"},
    {.column = "program_hash", .member = &Record::program_hash, .line = "program_hash"},
    {.column = "codegen_version", .member = &Record::codegen_version, .line = "codegen_version"},
    {.column = "fingerprint", .member = &Record::fingerprint, .line = "fingerprint", .name = true},
    {.column = "cpu", .member = &Record::cpu, .line = "cpu", .name = true},
    {.column = "time", .member = &Record::time, .line = "time"},
});

}  // namespace lathe::store
