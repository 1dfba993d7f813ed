#include "base/json.h"

#include <limits>
#include <optional>

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

// The library prints, compares and copies recursively. A limit of depth keeps what it may read far
// from the end of the stack.
constexpr int kDeepest = 500;

// The byte at which brackets first stand deeper than kDeepest, if any.
std::optional<std::size_t> too_deep_at(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string && c == '\\') ++i;
    if (c == '"') in_string = !in_string;
    if (in_string) continue;
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (depth > kDeepest) return i;
  }
  return std::nullopt;
}

}  // namespace

Result<Json> parse_json(std::string_view text) {
  if (const auto byte = too_deep_at(text))
    return fail(ErrorKind::kInvalidArgument, "JSON nested deeper than {} levels at byte {}",
                kDeepest, *byte + 1);
  try {
    return Json::parse(text);
  } catch (const nlohmann::json::parse_error& error) {
    return fail(ErrorKind::kInvalidArgument, "not valid JSON at byte {}", error.byte);
  } catch (const nlohmann::json::exception& error) {  // e.g. numbers out of range
    return fail(ErrorKind::kInvalidArgument, "not valid JSON: {}", error.what());
  }
}

Result<std::int64_t> json_int(const Json& object, std::string_view member) {
  return get<std::int64_t>(object, member, "a 64-bit integer", [](const Json& v) {
    constexpr auto kLargest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    return v.is_number_integer() && !(v.is_number_unsigned() && v.get<std::uint64_t>() > kLargest);
  });
}
Result<std::uint64_t> json_uint(const Json& object, std::string_view member) {
  return get<std::uint64_t>(object, member, "a 64-bit integer of 0 or more", [](const Json& v) {
    return v.is_number_unsigned() || (v.is_number_integer() && v.get<std::int64_t>() >= 0);
  });
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

std::string dump(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace lathe
