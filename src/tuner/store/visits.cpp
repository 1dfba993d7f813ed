#include "tuner/store/visits.h"

namespace lathe::store {
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

Json visits_to_json(const std::vector<Visit>& visits) {
  Json out = Json::array();
  for (const auto& visit : visits) {
    out.push_back(
        {{"visit", visit.visit}, {"seconds", visit.seconds}, {"sentinel", visit.sentinel_seconds}});
    if (!visit.disturbed.empty()) out.back()["disturbed"] = visit.disturbed;
  }
  return out;
}

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
