#include "tuner/store/rows.h"

namespace lathe::store {
namespace {

// In the order of bind_record.
constexpr const char* kColumns =
    "run, batch, idx, workload, target, cache_mode, fingerprint, cpu, trace, config, space_hash, "
    "codegen_version, "
    "program_hash, visits, seconds, dropped_early, raced, race_seconds, spills, error_kind, "
    "error_message, error_place, "
    "numerical_error, predicted_score, build_seconds, run_seconds, model_seconds, search_seconds, "
    "time, ok, standing, "
    "race_spread, race_peak, race_sentinel, race_disturbed, race_time";
constexpr int kColumnCount = 36;

std::unexpected<Error> damaged(std::int64_t id, const Error& why) {
  return fail(ErrorKind::kDataLoss, "record {} ({})", id, why.message);
}

Result<std::vector<Visit>> read_visits(const std::string& text) {
  return visits_from_json(LATHE_TRY(parse_json(text)));
}

}  // namespace

double first_standing(const Record& record) {
  return record.raced ? record.race_seconds : record.seconds * kUnracedPenalty;
}

std::string insert_record_sql() {
  std::string values = "?";
  for (int i = 1; i < kColumnCount; ++i) values += ",?";
  return fmt::format("INSERT INTO records ({}) VALUES ({})", kColumns, values);
}

std::string select_records_sql(const std::string& rest, bool summary) {
  return fmt::format(
      "SELECT r.id, r.run, r.batch, r.idx, w.text, t.text, m.text, f.text, c.text, {}, r.config, "
      "r.space_hash, "
      "r.codegen_version, r.program_hash, {}, r.seconds, r.dropped_early, r.raced, r.race_seconds, "
      "r.spills, "
      "r.error_kind, r.error_message, r.error_place, r.numerical_error, r.predicted_score, "
      "r.build_seconds, "
      "r.run_seconds, r.model_seconds, r.search_seconds, r.time, r.standing, "
      "r.race_spread, r.race_peak, r.race_sentinel, r.race_disturbed, r.race_time "
      "FROM records r JOIN names w ON w.id = r.workload JOIN names t ON t.id = r.target "
      "JOIN names m ON m.id = r.cache_mode JOIN names f ON f.id = r.fingerprint JOIN names c ON "
      "c.id = r.cpu {}",
      summary ? "'[]'" : "r.trace", summary ? "'[]'" : "r.visits", rest);
}

void bind_record(Statement& insert, const Record& r, const NameIds& names) {
  int n = 0;
  const auto bind = [&](const auto&... values) { (insert.bind(++n, values), ...); };
  bind(r.run, r.batch, r.index, names.workload, names.target, names.cache_mode, names.fingerprint,
       names.cpu);
  bind(dump(r.trace), dump(r.config), r.space_hash, r.codegen_version, r.program_hash);
  bind(dump(visits_to_json(r.visits)), r.seconds, r.dropped_early ? 1 : 0, r.raced ? 1 : 0,
       r.race_seconds, r.spills);
  bind(r.error_kind, r.error_message, r.error_place, r.numerical_error, r.predicted_score);
  bind(r.build_seconds, r.run_seconds, r.model_seconds, r.search_seconds, r.time, r.ok() ? 1 : 0,
       first_standing(r));
  bind(r.race.spread, r.race.peak_flops, r.race.sentinel_seconds, r.race.disturbed ? 1 : 0,
       r.race.time);
  LATHE_CHECK(n == kColumnCount);
}

Result<Record> read_record(const Statement& row) {
  Record r;
  int n = 0;
  r.id = row.integer(n++);
  r.run = row.integer(n++);
  r.batch = static_cast<int>(row.integer(n++));
  r.index = static_cast<int>(row.integer(n++));
  for (auto* text : {&r.workload, &r.target, &r.cache_mode, &r.fingerprint, &r.cpu})
    *text = row.text(n++);
  for (auto* json : {&r.trace, &r.config}) {
    auto parsed = parse_json(row.text(n++));
    if (!parsed) return damaged(r.id, parsed.error());
    *json = std::move(*parsed);
  }
  r.space_hash = row.text(n++);
  r.codegen_version = static_cast<int>(row.integer(n++));
  r.program_hash = row.text(n++);
  auto visits = read_visits(row.text(n++));
  if (!visits) return damaged(r.id, visits.error());
  r.visits = std::move(*visits);
  r.seconds = row.number(n++);
  r.dropped_early = row.integer(n++) != 0;
  r.raced = row.integer(n++) != 0;
  r.race_seconds = row.number(n++);
  r.spills = static_cast<int>(row.integer(n++));
  for (auto* text : {&r.error_kind, &r.error_message, &r.error_place}) *text = row.text(n++);
  for (auto* number : {&r.numerical_error, &r.predicted_score, &r.build_seconds, &r.run_seconds,
                       &r.model_seconds, &r.search_seconds})
    *number = row.number(n++);
  r.time = row.text(n++);
  r.standing = row.number(n++);
  for (auto* number : {&r.race.spread, &r.race.peak_flops, &r.race.sentinel_seconds})
    *number = row.number(n++);
  r.race.disturbed = row.integer(n++) != 0;
  r.race.time = row.text(n++);
  return r;
}

Json visits_to_json(const std::vector<Visit>& visits) {
  Json out = Json::array();
  for (const auto& visit : visits) {
    out.push_back(
        {{"visit", visit.visit}, {"seconds", visit.seconds}, {"sentinel", visit.sentinel_seconds}});
    if (!visit.disturbed.empty()) out.back()["disturbed"] = visit.disturbed;
  }
  return out;
}

namespace {

Result<std::vector<double>> numbers_of(const Json& visit, const char* member) {
  std::vector<double> numbers;
  for (const Json& number : LATHE_TRY(json_array(visit, member))) {
    if (!number.is_number())
      return fail(ErrorKind::kInvalidArgument, "a visit's \"{}\" must be numbers", member);
    numbers.push_back(number.get<double>());
  }
  return numbers;
}

}  // namespace

Result<std::vector<Visit>> visits_from_json(const Json& json) {
  if (!json.is_array()) return fail(ErrorKind::kInvalidArgument, "\"visits\" must be an array");
  std::vector<Visit> visits;
  for (const Json& item : json) {
    Visit visit;
    visit.visit = static_cast<int>(LATHE_TRY(json_int(item, "visit")));
    visit.sentinel_seconds = LATHE_TRY(json_number(item, "sentinel"));
    visit.seconds = LATHE_TRY(numbers_of(item, "seconds"));
    if (item.contains("disturbed")) visit.disturbed = LATHE_TRY(numbers_of(item, "disturbed"));
    visits.push_back(std::move(visit));
  }
  return visits;
}

}  // namespace lathe::store
