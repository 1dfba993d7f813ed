#include "tuner/store/schema.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "tuner/store/fields.h"
#include "tuner/store/visits.h"

namespace lathe::store {
namespace {

// "Lath", in the file's header: tells a Lathe database from any other SQLite file.
constexpr std::int64_t kApplicationId = 0x4c617468;

static_assert(std::ranges::all_of(kRunFields,
                                  [](const RunField& field) { return field.since == 1; }),
              "what `runs` holds is unique as a whole: its old table cannot take another column");
static_assert(std::ranges::none_of(kRecordFields,
                                   [](const RecordField& field) {
                                     return field.name && field.since > 1;
                                   }),
              "old records have no text for a name to stand for");

template <class T>
constexpr const char* type_of(const T&) {
  if (std::is_integral_v<T>) return "INTEGER";
  return std::is_floating_point_v<T> ? "REAL" : "TEXT";
}

std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? "''" : std::string(1, c);
  return out + "'";
}
std::string literal(bool value) { return value ? "1" : "0"; }
std::string literal(int value) { return std::to_string(value); }
std::string literal(std::int64_t value) { return std::to_string(value); }
std::string literal(double value) { return fmt::format("{}", value); }
std::string literal(const std::string& value) { return quoted(value); }
std::string literal(const Json& value) { return quoted(dump(value)); }
std::string literal(const std::vector<Visit>& value) { return quoted(dump(visits_to_json(value))); }

// A column's definition. One that came later has the default of its member.
template <class Owner, class AField>
std::string column_sql(const AField& field) {
  const Owner fresh;
  return with_value(field, fresh, [&](const auto& value) {
    std::string sql =
        fmt::format("{} {} NOT NULL", field.column, field.name ? "INTEGER" : type_of(value));
    if constexpr (std::is_same_v<Owner, Record>)
      if (field.since > 1) sql += " DEFAULT " + literal(value);
    return sql;
  });
}

template <class Owner, class Fields>
std::string columns_sql(const Fields& fields) {
  std::string sql;
  for (const auto& field : fields) sql += ",\n  " + column_sql<Owner>(field);
  return sql;
}

// Texts that repeat (workload keys, targets, fingerprints, steps of traces, values of knobs) are
// rows of `names`, which never change. `standing` is what "best" compares: the time in a final
// race, or the measured time with a penalty where there was none; NULL-free so that the two indexes
// answer the look-up alone, with and without the cpu given.
std::string tables_sql() {
  return fmt::format(R"sql(
CREATE TABLE names (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
CREATE TABLE runs (
  id INTEGER PRIMARY KEY{runs},
  UNIQUE ({run_columns}));
CREATE TABLE records (
  id INTEGER PRIMARY KEY{records},
  ok INTEGER NOT NULL,
  standing REAL NOT NULL,
  FOREIGN KEY (run) REFERENCES runs,
  UNIQUE (run, idx));
CREATE INDEX best_anywhere ON records (workload, target, cache_mode, ok, standing);
CREATE INDEX best_on_cpu ON records (workload, target, cache_mode, cpu, ok, standing);
CREATE TABLE named_values (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
)sql",
                     fmt::arg("runs", columns_sql<Run>(kRunFields)),
                     fmt::arg("run_columns", columns_of(kRunFields)),
                     fmt::arg("records", columns_sql<Record>(kRecordFields)));
}

// Adds the columns that an older file lacks.
std::string newer_columns_sql(std::int64_t version) {
  std::string sql;
  for (const auto& field : kRecordFields)
    if (field.since > version)
      sql += fmt::format("ALTER TABLE records ADD COLUMN {};\n", column_sql<Record>(field));
  return sql;
}

// What an older file lacks, where it may only be read: a view that has it, which hides the table.
std::string view_sql(std::int64_t version) {
  std::string columns;
  for (const auto& field : kRecordFields)
    if (field.since > version) columns += fmt::format(", 0 AS {}", field.column);
  return "CREATE TEMP VIEW records AS SELECT *" + columns + " FROM main.records";
}

Status check_ours(Database& database, std::int64_t version) {
  // In this order: somebody may make both at this moment, in one transaction.
  const std::int64_t tables = LATHE_TRY(database.integer("SELECT count(*) FROM sqlite_schema"));
  const std::int64_t id = LATHE_TRY(database.integer("PRAGMA application_id"));
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
  LATHE_TRY_STATUS(
      database.exec((version == 0 ? tables_sql() : newer_columns_sql(version)).c_str()));
  LATHE_TRY_STATUS(database.exec(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}",
                                             kApplicationId, kSchemaVersion)
                                     .c_str()));
  return transaction.commit();
}

// Tries again for a while: where two programs switch a new file to WAL at once, SQLite refuses one
// of them without waiting.
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
  if (version > 0 && database.read_only()) return database.exec(view_sql(version).c_str());
  LATHE_TRY_STATUS(write_ahead_log(database, busy_seconds));
  return migrate(database);
}

}  // namespace lathe::store
