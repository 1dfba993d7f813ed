#include "base/json.h"

namespace lathe {
namespace {

const Json* find(const Json& object, std::string_view member) {
  if (!object.is_object()) return nullptr;
  const auto it = object.find(std::string(member));
  return it == object.end() ? nullptr : &*it;
}

template <class T, class Test>
Result<T> get(const Json& object, std::string_view member, const char* wanted, Test test) {
  const Json* value = find(object, member);
  if (value == nullptr)
    return fail(ErrorKind::kInvalidArgument, "member \"{}\" is missing", member);
  if (!test(*value))
    return fail(ErrorKind::kInvalidArgument, "member \"{}\" must be {}, not {}", member, wanted,
                value->type_name());
  return value->get<T>();
}

}  // namespace

Result<Json> parse_json(std::string_view text) {
  try {
    return Json::parse(text);
  } catch (const nlohmann::json::parse_error& error) {
    return fail(ErrorKind::kInvalidArgument, "not valid JSON at byte {}", error.byte);
  } catch (const nlohmann::json::exception& error) {  // e.g. numbers out of range
    return fail(ErrorKind::kInvalidArgument, "not valid JSON: {}", error.what());
  }
}

Result<std::int64_t> json_int(const Json& object, std::string_view member) {
  return get<std::int64_t>(object, member, "an integer",
                           [](const Json& v) { return v.is_number_integer(); });
}
Result<double> json_number(const Json& object, std::string_view member) {
  return get<double>(object, member, "a number", [](const Json& v) { return v.is_number(); });
}
Result<bool> json_bool(const Json& object, std::string_view member) {
  return get<bool>(object, member, "true or false", [](const Json& v) { return v.is_boolean(); });
}
Result<std::string> json_string(const Json& object, std::string_view member) {
  return get<std::string>(object, member, "a string", [](const Json& v) { return v.is_string(); });
}
Result<Json> json_member(const Json& object, std::string_view member) {
  return get<Json>(object, member, "a value", [](const Json&) { return true; });
}
Result<Json> json_array(const Json& object, std::string_view member) {
  return get<Json>(object, member, "an array", [](const Json& v) { return v.is_array(); });
}

}  // namespace lathe
