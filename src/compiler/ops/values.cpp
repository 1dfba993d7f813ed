#include "compiler/ops/values.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "base/known_names.h"
#include "base/split.h"

namespace lathe::ops {
namespace {

constexpr std::int64_t kLargest = std::int64_t{1} << 31;

Result<std::vector<std::int64_t>> parse_numbers(const Parameter& parameter,
                                                const std::string& text) {
  std::vector<std::int64_t> out;
  using enum Parameter::Kind;
  const bool negative = parameter.kind == kAxes || parameter.kind == kOffsets;
  const std::int64_t least = parameter.kind == kDims ? 1 : negative ? -kLargest : 0;
  for (const std::string& part : split(text, ',')) {
    auto value = parse_integer(part, least);
    if (!value) return Values::error(parameter.name, "{}", value.error().message);
    out.push_back(*value);
  }
  if (parameter.kind == Parameter::Kind::kInt && out.size() != 1)
    return Values::error(parameter.name, "one number is needed, '{}' has {}", text, out.size());
  return out;
}

// True for a fallback in words where numbers are wanted.
bool is_words(const Parameter& parameter, const std::string& value) {
  return value == parameter.fallback && !value.empty() &&
         std::isalpha(static_cast<unsigned char>(value.front())) != 0;
}

std::string names_of(const std::vector<Parameter>& parameters) {
  std::vector<std::string> names;
  for (const Parameter& p : parameters) names.push_back("--" + p.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

const char* name_of(Parameter::Kind kind) {
  constexpr const char* kNames[] = {"int",     "ints", "dims", "axes",
                                    "offsets", "real", "flag", "text"};
  return kNames[static_cast<int>(kind)];
}

Result<std::int64_t> parse_integer(std::string_view text, std::int64_t least) {
  std::int64_t value = 0;
  const auto [rest, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code == std::errc::invalid_argument || rest != text.data() + text.size() || text.empty())
    return fail(ErrorKind::kInvalidArgument, "'{}' is no whole number", text);
  if (code != std::errc() || value < least || value > kLargest)
    return fail(ErrorKind::kInvalidArgument, "{} is outside the possible range from {} to 2^31",
                text, least);
  return value;
}

std::optional<double> parse_real(std::string_view text) {
  double value = 0;
  const auto [rest, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = code == std::errc() && rest == text.data() + text.size();
  return whole && value - value == 0 ? std::optional(value) : std::nullopt;
}

Result<Values> Values::check(const Operator& op, const Arguments& arguments) {
  for (const auto& [name, value] : arguments)
    if (std::ranges::find(op.parameters, name, &Parameter::name) == op.parameters.end())
      return error(name, "{} has no such parameter; known are {}", op.name,
                   known_names(names_of(op.parameters), "--" + name));
  Values out;
  for (const Parameter& p : op.parameters) {
    const auto given = arguments.find(p.name);
    if (given == arguments.end() && p.fallback.empty() && p.kind != Parameter::Kind::kText)
      return error(p.name, "{} needs it: {}", op.name, p.help);
    std::string value = given == arguments.end() ? p.fallback : given->second;
    if (p.kind == Parameter::Kind::kFlag) {
      if (value.empty()) value = "true";
      if (value != "true" && value != "false")
        return error(p.name, "'{}' is neither true nor false", value);
    }
    if (p.kind == Parameter::Kind::kFlag || p.kind == Parameter::Kind::kText)
      out.texts_[p.name] = value;
    else if (!is_words(p, value)) LATHE_TRY_STATUS(out.set_number(p, value));
  }
  return out;
}

Status Values::set_number(const Parameter& parameter, const std::string& value) {
  if (parameter.kind != Parameter::Kind::kReal) {
    numbers_[parameter.name] = LATHE_TRY(parse_numbers(parameter, value));
    return {};
  }
  const auto real = parse_real(value);
  if (!real) return error(parameter.name, "'{}' is no number, as 1e-5 is", value);
  reals_[parameter.name] = *real;
  return {};
}

bool Values::has(std::string_view name) const {
  return numbers_.contains(name) || reals_.contains(name) || texts_.contains(name);
}

const std::vector<std::int64_t>& Values::numbers(std::string_view name) const {
  const auto found = numbers_.find(name);
  LATHE_CHECK(found != numbers_.end(), "no parameter {}", name);
  return found->second;
}

double Values::real(std::string_view name) const {
  const auto found = reals_.find(name);
  LATHE_CHECK(found != reals_.end(), "no parameter {}", name);
  return found->second;
}

const std::string& Values::text(std::string_view name) const {
  const auto found = texts_.find(name);
  LATHE_CHECK(found != texts_.end(), "no parameter {}", name);
  return found->second;
}

bool Values::flag(std::string_view name) const { return text(name) == "true"; }

Result<std::vector<std::int64_t>> Values::dims(std::string_view name, std::size_t rank) const {
  const auto& shape = numbers(name);
  if (shape.size() != rank)
    return error(name, "{} dimensions are needed, [{}] has {}", rank, fmt::join(shape, ","),
                 shape.size());
  return shape;
}

Result<std::vector<std::int64_t>> Values::each(std::string_view name, std::string_view letters,
                                               std::int64_t least) const {
  std::vector<std::int64_t> values = numbers(name);
  if (values.size() != 1 && values.size() != letters.size())
    return error(name, "{}, {} are given",
                 letters.size() == 1 ? "one value is needed"
                                     : fmt::format("one value or {} ({}) are needed",
                                                   letters.size(), fmt::join(letters, ",")),
                 values.size());
  for (const std::int64_t value : values)
    if (value < least) return error(name, "at least {} is needed", least);
  values.resize(letters.size(), values.front());
  return values;
}

Result<std::vector<std::size_t>> Values::axes(std::string_view name,
                                              const std::vector<std::int64_t>& shape) const {
  const auto rank = static_cast<std::int64_t>(shape.size());
  std::vector<std::size_t> out;
  if (!has(name))
    for (std::size_t d = 0; d < shape.size(); ++d) out.push_back(d);
  else
    for (const std::int64_t axis : numbers(name)) {
      if (axis < -rank || axis >= rank)
        return error(name, "[{}] has no dimension {}; give one from 0 to {}, or from -{} to -1",
                     fmt::join(shape, ","), axis, rank - 1, rank);
      out.push_back(static_cast<std::size_t>(axis < 0 ? axis + rank : axis));
    }
  std::ranges::sort(out);
  if (const auto twice = std::ranges::adjacent_find(out); twice != out.end())
    return error(name, "dimension {} is there twice", *twice);
  return out;
}

Result<std::int64_t> Values::size(std::string_view name) const {
  if (integer(name) < 1) return error(name, "at least 1 is needed");
  return integer(name);
}

}  // namespace lathe::ops
