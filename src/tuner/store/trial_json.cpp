// A trial as JSON, by the lists of its fields.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tuner/store/fields.h"
#include "tuner/store/rows.h"
#include "tuner/store/store.h"
#include "tuner/store/visits.h"

namespace lathe::store {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr const char* kStandingMember = "standing";

// Where a field stands in a line: as a member, or as a member of an object.
struct Place {
  std::string object, member;
};

Place place_of(std::string_view line) {
  const std::size_t slash = line.find('/');
  if (slash == std::string_view::npos) return {"", std::string(line)};
  return {std::string(line.substr(0, slash)), std::string(line.substr(slash + 1))};
}

template <class T>
Json line_value(const T& value) {
  return value;
}
// JSON has no infinity: it is null there.
Json line_value(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }
Json line_value(const std::vector<Visit>& value) { return visits_to_json(value); }

template <class AField, class Owner>
void write_field(Json& line, const AField& field, const Owner& owner) {
  if (field.line.empty()) return;
  const Place place = place_of(field.line);
  if (field.when != nullptr && !field.when(owner)) {
    if (field.since == 1) line[place.object.empty() ? place.member : place.object] = nullptr;
    return;
  }
  Json& object = place.object.empty() ? line : line[place.object];
  object[place.member] =
      with_value(field, owner, [](const auto& value) { return line_value(value); });
}

Result<int> whole_number(const Json& object, const std::string& member) {
  constexpr int kMost = 1 << 30;  // what follows it is a number, too
  const std::int64_t value = LATHE_TRY(json_int(object, member));
  if (value < 0 || value > kMost)
    return fail(ErrorKind::kInvalidArgument, "member \"{}\" must be from 0 to {}, not {}", member,
                kMost, value);
  return static_cast<int>(value);
}

Status read_member(const Json& object, const std::string& member, bool& value) {
  value = LATHE_TRY(json_bool(object, member));
  return {};
}
Status read_member(const Json& object, const std::string& member, int& value) {
  value = LATHE_TRY(whole_number(object, member));
  return {};
}
Status read_member(const Json& object, const std::string& member, std::int64_t& value) {
  value = LATHE_TRY(json_int(object, member));
  return {};
}
Status read_member(const Json& object, const std::string& member, std::uint64_t& value) {
  value = LATHE_TRY(json_uint(object, member));
  return {};
}
Status read_member(const Json& object, const std::string& member, double& value) {
  const bool null = object.contains(member) && object[member].is_null();
  value = null ? kInfinity : LATHE_TRY(json_number(object, member));
  return {};
}
Status read_member(const Json& object, const std::string& member, std::string& value) {
  value = LATHE_TRY(json_string(object, member));
  return {};
}
Status read_member(const Json& object, const std::string& member, CacheMode& value) {
  auto mode = cache_mode_named(LATHE_TRY(json_string(object, member)));
  if (!mode) mode.error().place = fmt::format("member \"{}\"", member);
  value = LATHE_TRY(std::move(mode));
  return {};
}
Status read_member(const Json& object, const std::string& member, std::vector<Visit>& value) {
  value = LATHE_TRY(visits_from_json(LATHE_TRY(json_array(object, member))));
  return {};
}

// The version with which an object of a line came. The line itself came with the first.
int version_of(std::string_view object) {
  int version = object.empty() ? 1 : std::numeric_limits<int>::max();
  for (const auto& field : kRecordFields)
    if (place_of(field.line).object == object) version = std::min(version, field.since);
  return version;
}

// Whether the field is in `member` of `object`. It may be missing from lines of owners that do not
// have it, and from older ones.
template <class AField>
Result<bool> is_in(const Json& object, const std::string& member, const AField& field,
                   bool may_lack) {
  if (object.contains(member)) return field.when == nullptr || !object[member].is_null();
  if (may_lack) return false;
  return std::unexpected(json_member(object, member).error());
}

template <class AField, class Owner>
Status read_field(const Json& line, const AField& field, Owner& owner) {
  if (field.line.empty()) return {};
  const Place place = place_of(field.line);
  const bool later = field.since > 1;
  if (!place.object.empty() && !LATHE_TRY(is_in(line, place.object, field, later))) return {};
  const Json* object = place.object.empty() ? &line : &line[place.object];
  if (!object->is_object())
    return fail(ErrorKind::kInvalidArgument, "member \"{}\" must be an object, not {}",
                place.object, object->type_name());
  const bool may_lack = later && field.since > version_of(place.object);
  if (!LATHE_TRY(is_in(*object, place.member, field, may_lack))) return {};
  return with_value(field, owner, [&]<class T>(T& value) -> Status {
    if constexpr (std::is_same_v<T, Json>)
      value = LATHE_TRY(field.bulky ? json_array(*object, place.member)
                                    : json_member(*object, place.member));
    else LATHE_TRY_STATUS(read_member(*object, place.member, value));
    return {};
  });
}

// `what` is "seconds": a time that a program took.
Status check_time(const char* what, double seconds) {
  if (seconds >= kLeastSeconds) return {};
  return fail(ErrorKind::kInvalidArgument,
              "member \"{}\" is {} s, less than any call takes (a nanosecond)", what, seconds);
}

Status check_times(const Record& record) {
  if (record.ok()) LATHE_TRY_STATUS(check_time("seconds", record.seconds));
  if (record.raced) LATHE_TRY_STATUS(check_time("race_seconds", record.race_seconds));
  for (const Visit& visit : record.visits) {
    for (const double seconds : visit.seconds)
      LATHE_TRY_STATUS(check_time("visits/seconds", seconds));
    for (const double seconds : visit.disturbed)
      LATHE_TRY_STATUS(check_time("visits/disturbed", seconds));
  }
  return {};
}

// Checks what no field shows alone.
Status check_whole(const Json& line, const Record& record) {
  if (!line["error"].is_null() && record.error_kind.empty())
    return fail(ErrorKind::kInvalidArgument, "the error's \"kind\" must not be empty");
  if (record.ok() && !(record.seconds > 0 && std::isfinite(record.seconds)))
    return fail(ErrorKind::kInvalidArgument,
                "member \"seconds\" must be positive where \"error\" is null, not {}",
                record.seconds);
  return {};
}

// Only where it is not what the times say: of who won within the spread, and of who never raced and
// stands behind those who did.
void write_standing(Json& line, const Record& record) {
  if (record.ok() && record.standing > 0 && record.standing != own_standing(record))
    line[kStandingMember] = record.standing;
}

Status read_standing(const Json& line, Record& record) {
  if (!line.contains(kStandingMember)) return {};
  record.standing = LATHE_TRY(json_number(line, kStandingMember));
  if (record.standing >= kLeastSeconds && std::isfinite(record.standing)) return {};
  return fail_at(fmt::format("member \"{}\"", kStandingMember), ErrorKind::kInvalidArgument,
                 "a standing must be a number of seconds, a nanosecond at the least, not {}",
                 record.standing);
}

}  // namespace

Json to_json(const Run& run, const Record& record) {
  Json line;
  for (const auto& field : kRunFields) write_field(line, field, run);
  for (const auto& field : kRecordFields) write_field(line, field, record);
  write_standing(line, record);
  return line;
}

Result<std::pair<Run, Record>> from_json(const Json& line) {
  if (!line.is_object())
    return fail(ErrorKind::kInvalidArgument, "a trial must be a JSON object, not {}",
                line.type_name());
  Run run;
  for (const auto& field : kRunFields) LATHE_TRY_STATUS(read_field(line, field, run));
  Record record;
  for (const auto& field : kRecordFields) LATHE_TRY_STATUS(read_field(line, field, record));
  LATHE_TRY_STATUS(check_whole(line, record));
  const bool timed = !line["race_seconds"].is_null();
  // A race that failed has no time; lines of Lathe's first versions do not tell it.
  record.raced = timed || (line.contains("race") && line["race"].is_object());
  if (!record.raced) record.race = {};
  else if (!timed) record.race_seconds = kInfinity;
  if (record.raced && !(record.race_seconds > 0))
    return fail(ErrorKind::kInvalidArgument, "member \"race_seconds\" must be positive or null");
  LATHE_TRY_STATUS(check_times(record));
  LATHE_TRY_STATUS(read_standing(line, record));
  return std::pair{std::move(run), std::move(record)};
}

}  // namespace lathe::store
