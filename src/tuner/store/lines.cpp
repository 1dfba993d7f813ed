// JSON lines: a line a trial with the run it belongs to.
#include <array>
#include <bit>
#include <cmath>
#include <istream>
#include <limits>
#include <map>
#include <ostream>
#include <set>
#include <tuple>

#include "base/hash.h"
#include "tuner/store/rows.h"
#include "tuner/store/store.h"

namespace lathe::store {
namespace {

// JSON has no infinity: it is null there.
Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

constexpr std::size_t kMostLine = std::size_t{64} << 20;

Result<double> read_number(const Json& object, const char* member) {
  if (LATHE_TRY(json_member(object, member)).is_null())
    return std::numeric_limits<double>::infinity();
  return json_number(object, member);
}

Result<int> read_int(const Json& object, const char* member) {
  const std::int64_t value = LATHE_TRY(json_int(object, member));
  if (value < 0 || value > std::numeric_limits<int>::max())
    return fail(ErrorKind::kInvalidArgument, "member \"{}\" must be from 0 to {}, not {}", member,
                std::numeric_limits<int>::max(), value);
  return static_cast<int>(value);
}

Status read_error(const Json& json, Record& record) {
  const Json error = LATHE_TRY(json_member(json, "error"));
  if (error.is_null()) return {};
  record.error_kind = LATHE_TRY(json_string(error, "kind"));
  record.error_message = LATHE_TRY(json_string(error, "message"));
  record.error_place = LATHE_TRY(json_string(error, "place"));
  if (record.error_kind.empty())
    return fail(ErrorKind::kInvalidArgument, "the error's \"kind\" must not be empty");
  return {};
}

// Lines of a Lathe that kept only the time of a race have none.
Result<RaceNote> read_race(const Json& json) {
  if (!json.contains("race")) return RaceNote{};
  const Json race = LATHE_TRY(json_member(json, "race"));
  if (race.is_null()) return RaceNote{};
  RaceNote note;
  note.spread = LATHE_TRY(read_number(race, "spread"));
  note.peak_flops = LATHE_TRY(json_number(race, "peak_flops"));
  note.sentinel_seconds = LATHE_TRY(json_number(race, "sentinel"));
  note.disturbed = LATHE_TRY(json_bool(race, "disturbed"));
  note.time = LATHE_TRY(json_string(race, "time"));
  return note;
}

Status read_times(const Json& json, Record& record) {
  record.visits = LATHE_TRY(visits_from_json(LATHE_TRY(json_array(json, "visits"))));
  record.seconds = LATHE_TRY(read_number(json, "seconds"));
  record.dropped_early = LATHE_TRY(json_bool(json, "dropped_early"));
  const Json race = LATHE_TRY(json_member(json, "race_seconds"));
  record.raced = !race.is_null();
  if (record.raced) record.race_seconds = LATHE_TRY(json_number(json, "race_seconds"));
  if (record.raced) record.race = LATHE_TRY(read_race(json));
  if (record.ok() && !(record.seconds > 0 && std::isfinite(record.seconds)))
    return fail(ErrorKind::kInvalidArgument,
                "member \"seconds\" must be positive where \"error\" is null");
  const Json spent = LATHE_TRY(json_member(json, "spent"));
  record.build_seconds = LATHE_TRY(read_number(spent, "build"));
  record.run_seconds = LATHE_TRY(read_number(spent, "run"));
  record.model_seconds = LATHE_TRY(read_number(spent, "model"));
  record.search_seconds = LATHE_TRY(read_number(spent, "search"));
  return {};
}

Result<Run> read_run(const Json& json) {
  Run run;
  run.workload = LATHE_TRY(json_string(json, "workload"));
  run.target = LATHE_TRY(json_string(json, "target"));
  run.cache_mode = LATHE_TRY(json_string(json, "cache"));
  const Json members = LATHE_TRY(json_member(json, "run"));
  run.space = LATHE_TRY(json_string(members, "space"));
  run.space_hash = LATHE_TRY(json_string(members, "space_hash"));
  run.search = LATHE_TRY(json_string(members, "search"));
  run.model = LATHE_TRY(json_string(members, "model"));
  run.seed = LATHE_TRY(json_uint(members, "seed"));
  return run;
}

using RunKey = std::tuple<std::string, std::string, std::string, std::string, std::string,
                          std::string, std::string, std::uint64_t>;
RunKey key_of(const Run& r) {
  return {r.workload, r.target, r.cache_mode, r.space, r.space_hash, r.search, r.model, r.seed};
}

// A run as it is in the store: which trials, at which indices.
struct Existing {
  std::int64_t run = 0;
  std::set<std::uint64_t> identities;
  std::set<int> indices;
};

Result<Existing> existing_of(Store& store, const Run& wanted) {
  Existing existing;
  existing.run = LATHE_TRY(store.open_run(wanted)).id;
  LATHE_TRY_STATUS(store.each({.run = existing.run}, [&](const Record& record) {
    existing.identities.insert(identity(record));
    existing.indices.insert(record.index);
    return true;
  }));
  return existing;
}

// Where the same command ran on two machines, both have a trial of this index: the second goes
// after the last.
void place(Record& record, Existing& existing) {
  record.run = existing.run;
  if (existing.indices.contains(record.index)) record.index = *existing.indices.rbegin() + 1;
  existing.indices.insert(record.index);
}

Result<std::pair<Run, Record>> read_line(const std::string& line, const CheckTrial& check) {
  auto trial = LATHE_TRY(from_json(LATHE_TRY(parse_json(line))));
  if (check) LATHE_TRY_STATUS(check(trial.first, trial.second));
  return trial;
}

// The next line, without its end. False after the last one. What has no lines ends here, too.
Result<bool> next_line(std::istream& lines, std::string& line) {
  std::array<char, 1 << 14> part;
  line.clear();
  while (lines.getline(part.data(), part.size()), lines.gcount() > 0 || !lines.fail()) {
    const bool whole = lines.good();  // up to its end, which is counted and not stored
    line.append(part.data(), static_cast<std::size_t>(lines.gcount()) - (whole ? 1 : 0));
    if (whole || lines.eof()) return true;
    if (lines.bad()) break;
    if (line.size() > kMostLine)
      return fail(ErrorKind::kInvalidArgument, "longer than {} MiB, which no trial is",
                  kMostLine >> 20);
    lines.clear();  // only the part was full
  }
  return !line.empty() && !lines.bad();
}

Result<std::vector<std::pair<Run, Record>>> read_lines(std::istream& lines,
                                                       const CheckTrial& check) {
  std::vector<std::pair<Run, Record>> out;
  int number = 0;
  for (std::string line;;) {
    const auto more = next_line(lines, line);
    if (!more)
      return fail_at(fmt::format("line {}", number + 1), more.error().kind,
                     "{}; nothing was imported", more.error().message);
    if (!*more) break;
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    auto read = read_line(line, check);
    if (!read)
      return fail_at(fmt::format("line {}", number), read.error().kind, "{}; nothing was imported",
                     read.error().text());
    out.push_back(std::move(*read));
  }
  if (lines.bad())
    return fail_at(fmt::format("line {}", number + 1), ErrorKind::kIo,
                   "reading failed; nothing was imported");
  return out;
}

}  // namespace

std::uint64_t identity(const Record& r) {
  return Hasher()
      .add(r.workload)
      .add(r.target)
      .add(r.cache_mode)
      .add(r.cpu)
      .add(r.fingerprint)
      .add(dump(r.config))
      .add(r.time)
      .add(std::bit_cast<std::uint64_t>(r.seconds))
      .add(r.error_kind)
      .value();
}

Json to_json(const Run& run, const Record& r) {
  Json json;
  json["workload"] = r.workload;
  json["target"] = r.target;
  json["cache"] = r.cache_mode;
  json["run"] = {{"space", run.space},
                 {"space_hash", run.space_hash},
                 {"search", run.search},
                 {"model", run.model},
                 {"seed", run.seed}};
  json["batch"] = r.batch;
  json["index"] = r.index;
  json["seconds"] = number(r.seconds);
  json["race_seconds"] = r.raced ? Json(r.race_seconds) : Json(nullptr);
  if (r.raced)
    json["race"] = {{"spread", number(r.race.spread)},
                    {"peak_flops", r.race.peak_flops},
                    {"sentinel", r.race.sentinel_seconds},
                    {"disturbed", r.race.disturbed},
                    {"time", r.race.time}};
  json["error"] =
      r.ok() ? Json(nullptr)
             : Json{{"kind", r.error_kind}, {"message", r.error_message}, {"place", r.error_place}};
  json["config"] = r.config;
  json["trace"] = r.trace;
  json["visits"] = visits_to_json(r.visits);
  json["dropped_early"] = r.dropped_early;
  json["spills"] = r.spills;
  json["numerical_error"] = number(r.numerical_error);
  json["predicted_score"] = number(r.predicted_score);
  json["spent"] = {{"build", number(r.build_seconds)},
                   {"run", number(r.run_seconds)},
                   {"model", number(r.model_seconds)},
                   {"search", number(r.search_seconds)}};
  json["space_hash"] = r.space_hash;
  json["program_hash"] = r.program_hash;
  json["codegen_version"] = r.codegen_version;
  json["fingerprint"] = r.fingerprint;
  json["cpu"] = r.cpu;
  json["time"] = r.time;
  return json;
}

Result<std::pair<Run, Record>> from_json(const Json& json) {
  if (!json.is_object())
    return fail(ErrorKind::kInvalidArgument, "a trial must be a JSON object, not {}",
                json.type_name());
  Run run = LATHE_TRY(read_run(json));
  Record r;
  r.workload = run.workload;
  r.target = run.target;
  r.cache_mode = run.cache_mode;
  r.batch = LATHE_TRY(read_int(json, "batch"));
  r.index = LATHE_TRY(read_int(json, "index"));
  LATHE_TRY_STATUS(read_error(json, r));
  LATHE_TRY_STATUS(read_times(json, r));
  r.config = LATHE_TRY(json_member(json, "config"));
  r.trace = LATHE_TRY(json_array(json, "trace"));
  r.spills = LATHE_TRY(read_int(json, "spills"));
  r.numerical_error = LATHE_TRY(read_number(json, "numerical_error"));
  r.predicted_score = LATHE_TRY(read_number(json, "predicted_score"));
  r.space_hash = LATHE_TRY(json_string(json, "space_hash"));
  r.program_hash = LATHE_TRY(json_string(json, "program_hash"));
  r.codegen_version = LATHE_TRY(read_int(json, "codegen_version"));
  r.fingerprint = LATHE_TRY(json_string(json, "fingerprint"));
  r.cpu = LATHE_TRY(json_string(json, "cpu"));
  r.time = LATHE_TRY(json_string(json, "time"));
  return std::pair{std::move(run), std::move(r)};
}

Result<ImportCount> import_lines(Store& store, std::istream& lines, const CheckTrial& check) {
  auto trials = LATHE_TRY(read_lines(lines, check));
  ImportCount count;
  std::map<RunKey, Existing> runs;
  std::vector<Record> fresh;
  for (auto& [run, record] : trials) {
    auto found = runs.find(key_of(run));
    if (found == runs.end())
      found = runs.emplace(key_of(run), LATHE_TRY(existing_of(store, run))).first;
    if (!found->second.identities.insert(identity(record)).second) {
      ++count.already_there;
      continue;
    }
    place(record, found->second);
    fresh.push_back(std::move(record));
  }
  count.added = static_cast<std::int64_t>(fresh.size());
  if (!fresh.empty()) LATHE_TRY_STATUS(store.add(fresh));
  return count;
}

Status export_lines(Store& store, const Query& query, std::ostream& lines) {
  std::map<std::int64_t, Run> runs;
  for (auto& run : LATHE_TRY(store.runs())) runs.emplace(run.id, run);
  std::int64_t written = 0;
  const Status read = store.each(query, [&](const Record& record) {
    lines << dump(to_json(runs[record.run], record)) << '\n';
    ++written;
    return lines.good();
  });
  lines.flush();
  if (!lines.good())
    return fail(ErrorKind::kIo, "writing the trials failed; check that the disk is not full");
  LATHE_TRY_STATUS(read);
  return written == 0 ? store.check() : Status();
}

}  // namespace lathe::store
