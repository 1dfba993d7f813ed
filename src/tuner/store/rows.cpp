#include "tuner/store/rows.h"

#include <cmath>

#include "tuner/store/fields.h"
#include "tuner/store/visits.h"

namespace lathe::store {
namespace {

std::unexpected<Error> damaged(const char* what, std::int64_t id, const Error& why) {
  return fail(ErrorKind::kDataLoss, "{} {} ({})", what, id, why.text());
}

std::string parameters(std::size_t count) {
  std::string all = "?";
  for (std::size_t i = 1; i < count; ++i) all += ",?";
  return all;
}

// What stands in a row of `r` for a field. Each name has an alias, which is joined below.
template <class AField>
std::string selected(const AField& field, bool summary) {
  if (field.name) return fmt::format("{}_name.text", field.column);
  return field.bulky && summary ? "'[]'" : fmt::format("r.{}", field.column);
}

template <class Fields>
std::string select_sql(const char* first, const Fields& fields, const char* table, bool summary) {
  std::string sql = fmt::format(
      "SELECT {}, {} FROM {} r", first,
      listed(fields, ", ", [&](const auto& field) { return selected(field, summary); }), table);
  for (const auto& field : fields)
    if (field.name) sql += fmt::format(" JOIN names {0}_name ON {0}_name.id = r.{0}", field.column);
  return sql;
}

void bind_value(Statement& statement, int n, bool value) { statement.bind(n, value ? 1 : 0); }
void bind_value(Statement& statement, int n, int value) { statement.bind(n, value); }
void bind_value(Statement& statement, int n, std::int64_t value) { statement.bind(n, value); }
void bind_value(Statement& statement, int n, std::uint64_t value) {
  statement.bind(n, static_cast<std::int64_t>(value));
}
void bind_value(Statement& statement, int n, double value) { statement.bind(n, value); }
void bind_value(Statement& statement, int n, const std::string& value) { statement.bind(n, value); }
void bind_value(Statement& statement, int n, CacheMode value) { statement.bind(n, name_of(value)); }
void bind_value(Statement& statement, int n, const std::vector<Visit>& value) {
  statement.bind_bytes(n, packed(value));
}

// What stands in the table of names, of fields that may be there.
std::string_view text_of(std::string_view value) { return value; }
std::string_view text_of(CacheMode value) { return name_of(value); }

Status bind_name(Statement& statement, int n, std::string_view text, const NameId& id_of) {
  statement.bind(n, LATHE_TRY(id_of(text)));
  return {};
}

Status bind_json(Statement& statement, int n, const Json& json, const NameId& id_of) {
  const std::string bytes = LATHE_TRY(packed(json, id_of));
  if (bytes.empty()) statement.bind(n, dump(json));
  else statement.bind_bytes(n, bytes);
  return {};
}

// Binds the fields, from parameter 1 on; returns the number of the last.
template <class Fields, class Owner>
Result<int> bind_fields(Statement& statement, const Fields& fields, const Owner& owner,
                        const NameId& id_of) {
  int n = 0;
  for (const auto& field : fields)
    LATHE_TRY_STATUS(with_value(field, owner, [&, at = ++n]<class T>(const T& value) -> Status {
      if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, CacheMode>)
        if (field.name) return bind_name(statement, at, text_of(value), id_of);
      if constexpr (std::is_same_v<T, Json>) return bind_json(statement, at, value, id_of);
      else bind_value(statement, at, value);
      return {};
    }));
  return n;
}

template <class Integer>
  requires std::is_integral_v<Integer>
Status read_column(const Statement& row, int n, Integer& value) {
  value = static_cast<Integer>(row.integer(n));
  return {};
}
Status read_column(const Statement& row, int n, double& value) {
  value = row.number(n);
  return {};
}
Status read_column(const Statement& row, int n, std::string& value) {
  value = row.text(n);
  return {};
}
Status read_column(const Statement& row, int n, CacheMode& value) {
  auto mode = cache_mode_named(row.text(n));
  if (!mode) mode.error().place = "cache_mode";
  value = LATHE_TRY(std::move(mode));
  return {};
}
// Records of older versions, and summaries, have JSON where others have bytes.
Status read_column(const Statement& row, int n, const PartOf& part_of, Json& value) {
  value = row.is_bytes(n) ? LATHE_TRY(unpacked_json(row.text(n), part_of))
                          : LATHE_TRY(parse_json(row.text(n)));
  return {};
}
Status read_column(const Statement& row, int n, std::vector<Visit>& value) {
  value = row.is_bytes(n) ? LATHE_TRY(unpacked_visits(row.text(n)))
                          : LATHE_TRY(visits_from_json(LATHE_TRY(parse_json(row.text(n)))));
  return {};
}

// Reads the fields, from column `n` on.
template <class Fields, class Owner>
Status read_fields(const Statement& row, int n, const Fields& fields, Owner& owner,
                   const PartOf& part_of) {
  for (const auto& field : fields)
    LATHE_TRY_STATUS(with_value(field, owner, [&, at = n++]<class T>(T& value) {
      if constexpr (std::is_same_v<T, Json>) return read_column(row, at, part_of, value);
      else return read_column(row, at, value);
    }));
  return {};
}

constexpr int kFirstOfRace = 4;  // the parameters of set_race_sql that fields have

}  // namespace

double first_standing(const Record& record) {
  if (record.standing > 0) return record.standing;
  return own_standing(record);
}

double own_standing(const Record& record) {
  return record.raced ? record.race_seconds : record.seconds * kUnracedPenalty;
}

std::string insert_record_sql() {
  return fmt::format("INSERT INTO records ({}, ok, standing) VALUES ({})",
                     columns_of(kRecordFields), parameters(kRecordFields.size() + 2));
}

Status bind_record(Statement& insert, const Record& record, const NameId& id_of) {
  const int last = LATHE_TRY(bind_fields(insert, kRecordFields, record, id_of));
  insert.bind(last + 1, record.ok() ? 1 : 0).bind(last + 2, first_standing(record));
  return {};
}

std::string select_records_sql(const std::string& rest, bool summary) {
  return select_sql("r.id, r.standing", kRecordFields, "records", summary) + " " + rest;
}

Result<Record> read_record(const Statement& row, const PartOf& part_of) {
  Record record;
  record.id = row.integer(0);
  record.standing = row.number(1);
  const auto read = read_fields(row, 2, kRecordFields, record, part_of);
  if (!read) return damaged("record", record.id, read.error());
  return record;
}

std::string set_race_sql() {
  std::string sql =
      "UPDATE records SET raced = 1, race_seconds = ?2, standing = CASE WHEN raced = 1 AND "
      "race_disturbed = 0 AND ?3 < 2 THEN min(standing, ?2) ELSE ?2 END";
  int n = kFirstOfRace;
  for (const auto& field : kRecordFields)
    if (is_of_race(field)) sql += fmt::format(", {} = ?{}", field.column, n++);
  return sql + " WHERE id = ?1 AND (raced = 0 OR race_seconds > ?2 OR ?3 + race_disturbed > 1)";
}

void bind_race(Statement& update, const RaceResult& result, const RaceNote& note) {
  const bool failed = !std::isfinite(result.seconds);
  update.bind(1, result.record).bind(2, result.seconds);
  update.bind(3, note.disturbed ? 0 : failed ? 2 : 1);
  Record raced;
  raced.race = note;
  raced.race.spread = result.spread;
  raced.race.after_1ms = result.after_1ms;
  raced.race.after_20ms = result.after_20ms;
  raced.race.lost = result.lost;
  int n = kFirstOfRace;
  for (const auto& field : kRecordFields)
    if (is_of_race(field))
      with_value(field, raced, [&, at = n++]<class T>(const T& value) {
        if constexpr (!std::is_same_v<T, Json>) bind_value(update, at, value);  // no race sets one
      });
}

std::string insert_run_sql() {
  return fmt::format("INSERT OR IGNORE INTO runs ({}) VALUES ({})", columns_of(kRunFields),
                     parameters(kRunFields.size()));
}

std::string find_run_sql() {
  return "SELECT id FROM runs WHERE " + listed(kRunFields, " AND ", [](const auto& field) {
           return fmt::format("{} = ?", field.column);
         });
}

Status bind_run(Statement& statement, const Run& run, const NameId& id_of) {
  LATHE_TRY(bind_fields(statement, kRunFields, run, id_of));
  return {};
}

std::string select_runs_sql() {
  return select_sql("r.id", kRunFields, "runs", false) + " ORDER BY r.id";
}

Result<Run> read_run(const Statement& row) {
  Run run;
  run.id = row.integer(0);
  const auto read = read_fields(row, 1, kRunFields, run, {});
  if (!read) return damaged("run", run.id, read.error());
  return run;
}

}  // namespace lathe::store
