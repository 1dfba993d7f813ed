// JSON with errors as values: the library's exceptions do not leave json.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/result.h"

namespace lathe {

using Json = nlohmann::ordered_json;

// Parses a complete document; the error names the byte where it breaks, or the member that an
// object has twice.
Result<Json> parse_json(std::string_view text);

// Writes JSON and never throws: bytes that are not UTF-8 (say, in an error message) become U+FFFD.
std::string dump(const Json& json, int indent = -1);

// Fails where `value` is no object, or has a member that the object `known` has not. `what` it is:
// "the description of a card".
Status check_members(const Json& value, const Json& known, std::string_view what);

// These return a member of an object if it has the wanted type; the error names the member.
Result<std::int64_t> json_int(const Json& object, std::string_view member);
// From `least` to `most`.
Result<std::int64_t> json_int_between(const Json& object, std::string_view member,
                                      std::int64_t least, std::int64_t most);
Result<std::uint64_t> json_uint(const Json& object, std::string_view member);
Result<double> json_number(const Json& object, std::string_view member);
Result<bool> json_bool(const Json& object, std::string_view member);
Result<std::string> json_string(const Json& object, std::string_view member);
Result<Json> json_member(const Json& object, std::string_view member);
Result<Json> json_array(const Json& object, std::string_view member);

}  // namespace lathe
