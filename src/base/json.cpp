#include "base/json.h"

#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "base/known_names.h"

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

// Builds the document. Of a member that an object has twice the library would keep the last one in
// silence; here it is an error.
class DocumentReader final : public nlohmann::json_sax<Json> {
 public:
  Result<Json> take() {
    if (!error_.message.empty()) return std::unexpected(std::move(error_));
    return std::move(document_);
  }

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override { return put(value); }
  bool number_float(number_float_t value, const string_t&) override { return put(value); }
  bool string(string_t& value) override { return put(std::move(value)); }
  bool binary(binary_t& value) override { return put(Json::binary(std::move(value))); }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    Json& object = *open_.back();
    const std::size_t members = object.size();
    member_ = &object[name];
    return object.size() > members ||
           refuse(fmt::format("the member \"{}\" is given twice; give it once", name));
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& e) override {
    const auto* syntax = dynamic_cast<const nlohmann::json::parse_error*>(&e);
    return refuse(syntax != nullptr ? fmt::format("not valid JSON at byte {}", syntax->byte)
                                    : fmt::format("not valid JSON: {}", e.what()));
  }

 private:
  // Where the next value belongs.
  Json& place() {
    if (open_.empty()) return document_;
    if (open_.back()->is_array()) return open_.back()->emplace_back();
    return *member_;
  }
  template <class Value>
  bool put(Value&& value) {
    place() = std::forward<Value>(value);
    return true;
  }
  // Nothing is added beside a value before it is closed, so that it stays where it is.
  bool open(Json value) {
    open_.push_back(&(place() = std::move(value)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }
  bool refuse(std::string why) {
    error_ = {ErrorKind::kInvalidArgument, std::move(why), {}};
    return false;
  }

  Json document_;
  std::vector<Json*> open_;  // from the outermost to the innermost
  Json* member_ = nullptr;   // of the innermost, which awaits its value
  Error error_;
};

}  // namespace

Result<Json> parse_json(std::string_view text) {
  if (const auto byte = too_deep_at(text))
    return fail(ErrorKind::kInvalidArgument, "JSON nested deeper than {} levels at byte {}",
                kDeepest, *byte + 1);
  DocumentReader reader;
  Json::sax_parse(text, &reader);
  return reader.take();
}

Status check_members(const Json& value, const Json& known, std::string_view what) {
  if (!value.is_object()) return fail(ErrorKind::kInvalidArgument, "{} is a JSON object", what);
  std::vector<std::string> names;
  for (const auto& [name, member] : known.items()) names.push_back(name);
  for (const auto& [name, member] : value.items())
    if (!known.contains(name))
      return fail(ErrorKind::kInvalidArgument, "unknown member \"{}\"; known are {}", name,
                  known_names(names, name));
  return {};
}

Result<std::int64_t> json_int(const Json& object, std::string_view member) {
  return get<std::int64_t>(object, member, "a 64-bit integer", [](const Json& v) {
    constexpr auto kLargest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    return v.is_number_integer() && !(v.is_number_unsigned() && v.get<std::uint64_t>() > kLargest);
  });
}
Result<std::int64_t> json_int_between(const Json& object, std::string_view member,
                                      std::int64_t least, std::int64_t most) {
  const std::int64_t value = LATHE_TRY(json_int(object, member));
  if (value >= least && value <= most) return value;
  return fail(ErrorKind::kInvalidArgument, "{} is {}; it must be from {} to {}", member, value,
              least, most);
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
