// An operator's arguments, checked against its parameters and completed by defaults.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/known_names.h"
#include "compiler/ops/operators.h"

namespace lathe::ops {

// Every number is at most 2^31, so that the shape arithmetic of operators cannot overflow.
class Values {
 public:
  // Refuses unknown names, missing values, and values that are not of the parameter's kind.
  static Result<Values> check(const Operator& op, const Arguments& arguments);

  te::Numerics numerics() const { return numerics_; }
  void set_numerics(te::Numerics level) { numerics_ = level; }

  // False where the fallback of numbers is words, and nothing else is given.
  bool has(std::string_view name) const;
  std::int64_t integer(std::string_view name) const { return numbers(name).front(); }
  // Of kInt, kInts, kDims, kAxes and kOffsets.
  const std::vector<std::int64_t>& numbers(std::string_view name) const;
  double real(std::string_view name) const;
  bool flag(std::string_view name) const;
  const std::string& text(std::string_view name) const;

  // The shape, if it has `rank` dimensions; else an error.
  Result<std::vector<std::int64_t>> dims(std::string_view name, std::size_t rank) const;
  // A number for each of the axes that letters name, "yx": one value for all or one for each.
  Result<std::vector<std::int64_t>> each(std::string_view name, std::string_view letters,
                                         std::int64_t least = 1) const;
  // The dimensions of `shape` that are given, in order and counted from 0; all where words stand
  // for them.
  Result<std::vector<std::size_t>> axes(std::string_view name,
                                        const std::vector<std::int64_t>& shape) const;
  // At least 1.
  Result<std::int64_t> size(std::string_view name) const;

  template <class... Args>
  static std::unexpected<Error> error(std::string_view name, fmt::format_string<Args...> format,
                                      Args&&... args) {
    return fail_at("--" + std::string(name), ErrorKind::kInvalidArgument, format,
                   std::forward<Args>(args)...);
  }

 private:
  Status set_number(const Parameter& parameter, const std::string& value);

  te::Numerics numerics_ = te::Contract{}.level();
  std::map<std::string, std::vector<std::int64_t>, std::less<>> numbers_;
  std::map<std::string, double, std::less<>> reals_;
  std::map<std::string, std::string, std::less<>> texts_;  // also flags, as "true" and "false"
};

// The enumerator whose number is the place of the word that a parameter has among the known ones.
template <class Enum, std::size_t kCount>
Result<Enum> one_of(const Values& values, std::string_view name,
                    const std::array<std::string_view, kCount>& known) {
  const auto found = std::ranges::find(known, values.text(name));
  if (found != known.end()) return static_cast<Enum>(found - known.begin());
  return Values::error(
      name, "'{}' is none of {}", values.text(name),
      known_names(std::vector<std::string>(known.begin(), known.end()), values.text(name)));
}

// Parses one number of a parameter: at least `least`, at most 2^31.
Result<std::int64_t> parse_integer(std::string_view text, std::int64_t least);
// None if the text is no number, or infinite.
std::optional<double> parse_real(std::string_view text);

}  // namespace lathe::ops
