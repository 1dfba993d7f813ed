#include "tuner/store/schema.h"

#include <array>
#include <chrono>
#include <thread>

namespace lathe::store {
namespace {

// "Lath", in the file's header: tells a Lathe database from any other SQLite file.
constexpr std::int64_t kApplicationId = 0x4c617468;

// Entry v takes a file from version v to v + 1.
//
// Long texts that repeat (workload keys, targets, fingerprints) are rows of `names`. `standing` is
// what "best" compares: the time in a final race, or the measured time with a penalty where there
// was none; NULL-free so that the two indexes answer the look-up alone, with and without the cpu
// given. What the race_ columns tell was not kept before version 2.
constexpr std::array<const char*, kSchemaVersion> kMigrations = {
    R"sql(
CREATE TABLE names (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
CREATE TABLE runs (
  id INTEGER PRIMARY KEY, workload INTEGER NOT NULL, target INTEGER NOT NULL,
  cache_mode TEXT NOT NULL,
  space TEXT NOT NULL, space_hash TEXT NOT NULL, search TEXT NOT NULL, model TEXT NOT NULL,
  seed INTEGER NOT NULL,
  UNIQUE (workload, target, cache_mode, space, space_hash, search, model, seed));
CREATE TABLE records (
  id INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES runs, batch INTEGER NOT NULL,
  idx INTEGER NOT NULL,
  workload INTEGER NOT NULL, target INTEGER NOT NULL, cache_mode INTEGER NOT NULL,
  fingerprint INTEGER NOT NULL,
  cpu INTEGER NOT NULL, trace TEXT NOT NULL, config TEXT NOT NULL, space_hash TEXT NOT NULL,
  codegen_version INTEGER NOT NULL, program_hash TEXT NOT NULL, visits TEXT NOT NULL,
  seconds REAL NOT NULL,
  dropped_early INTEGER NOT NULL, raced INTEGER NOT NULL, race_seconds REAL NOT NULL,
  spills INTEGER NOT NULL,
  error_kind TEXT NOT NULL, error_message TEXT NOT NULL, error_place TEXT NOT NULL,
  numerical_error REAL NOT NULL,
  predicted_score REAL NOT NULL, build_seconds REAL NOT NULL, run_seconds REAL NOT NULL,
  model_seconds REAL NOT NULL,
  search_seconds REAL NOT NULL, time TEXT NOT NULL, ok INTEGER NOT NULL, standing REAL NOT NULL,
  UNIQUE (run, idx));
CREATE INDEX best_anywhere ON records (workload, target, cache_mode, ok, standing);
CREATE INDEX best_on_cpu ON records (workload, target, cache_mode, cpu, ok, standing);
CREATE TABLE named_values (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
)sql",
    R"sql(
ALTER TABLE records ADD COLUMN race_spread REAL NOT NULL DEFAULT 0;
ALTER TABLE records ADD COLUMN race_peak REAL NOT NULL DEFAULT 0;
ALTER TABLE records ADD COLUMN race_sentinel REAL NOT NULL DEFAULT 0;
ALTER TABLE records ADD COLUMN race_disturbed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE records ADD COLUMN race_time TEXT NOT NULL DEFAULT '';
)sql"};

Status check_ours(Database& database, std::int64_t version) {
  const std::int64_t id = LATHE_TRY(database.integer("PRAGMA application_id"));
  const std::int64_t tables = LATHE_TRY(database.integer("SELECT count(*) FROM sqlite_schema"));
  if (id != kApplicationId && tables > 0)
    return fail_at(database.path(), ErrorKind::kDataLoss,
                   "this is a database of another program; give another file with --db");
  if (version > kSchemaVersion)
    return fail_at(database.path(), ErrorKind::kDataLoss,
                   "the database was written by a newer Lathe (its version is {}, this one reads "
                   "up to {}); use that Lathe, "
                   "or give another file with --db",
                   version, kSchemaVersion);
  return {};
}

Status migrate(Database& database) {
  auto transaction = LATHE_TRY(Transaction::begin(database));
  // Somebody may have been faster: look again, now that nobody else can write.
  const std::int64_t version = LATHE_TRY(database.integer("PRAGMA user_version"));
  LATHE_TRY_STATUS(check_ours(database, version));
  for (std::int64_t v = version; v < kSchemaVersion; ++v)
    LATHE_TRY_STATUS(database.exec(kMigrations[static_cast<std::size_t>(v)]));
  LATHE_TRY_STATUS(database.exec(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}",
                                             kApplicationId, kSchemaVersion)
                                     .c_str()));
  return transaction.commit();
}

// Two programs that switch a new file to WAL at once: SQLite refuses one of them without waiting.
Status write_ahead_log(Database& database, double busy_seconds) {
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::duration<double>(busy_seconds);
  for (;;) {
    auto status = database.exec("PRAGMA journal_mode = WAL");
    if (status || std::chrono::steady_clock::now() >= deadline) return status;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

}  // namespace

Status prepare_schema(Database& database, double busy_seconds) {
  const std::int64_t version = LATHE_TRY(database.integer("PRAGMA user_version"));
  LATHE_TRY_STATUS(check_ours(database, version));
  // FULL: a commit is on the disk when it returns, so neither kill -9 nor a power cut loses a
  // finished trial.
  LATHE_TRY_STATUS(database.exec("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON"));
  if (version == kSchemaVersion) return {};
  LATHE_TRY_STATUS(write_ahead_log(database, busy_seconds));
  return migrate(database);
}

}  // namespace lathe::store
