// An operator's arguments, checked against its parameters and completed by defaults.
#pragma once

#include <cstdint>

#include "compiler/ops/operators.h"

namespace lathe::ops {

// Every number is at most 2^31, so that the shape arithmetic of operators cannot overflow.
class Values {
 public:
  // Refuses unknown names, missing values, and values that are not of the parameter's kind.
  static Result<Values> check(const Operator& op, const Arguments& arguments);

  std::int64_t integer(std::string_view name) const { return numbers(name).front(); }
  const std::vector<std::int64_t>& numbers(std::string_view name) const;  // kInt, kInts, kDims
  bool flag(std::string_view name) const;
  const std::string& text(std::string_view name) const;

  // The shape, if it has `rank` dimensions; else an error.
  Result<std::vector<std::int64_t>> dims(std::string_view name, std::size_t rank) const;
  // One value for both axes or one for each.
  Result<std::pair<std::int64_t, std::int64_t>> two(std::string_view name) const;

  template <class... Args>
  static std::unexpected<Error> error(std::string_view name, fmt::format_string<Args...> format,
                                      Args&&... args) {
    return fail_at("--" + std::string(name), ErrorKind::kInvalidArgument, format,
                   std::forward<Args>(args)...);
  }

 private:
  std::map<std::string, std::vector<std::int64_t>, std::less<>> numbers_;
  std::map<std::string, std::string, std::less<>> texts_;  // also flags, as "true" and "false"
};

// Parses one number of a parameter: at least `least`, at most 2^31.
Result<std::int64_t> parse_integer(std::string_view text, std::int64_t least);

}  // namespace lathe::ops
