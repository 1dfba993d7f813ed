#include "compiler/ops/values.h"

#include <algorithm>
#include <charconv>

#include "base/split.h"

namespace lathe::ops {
namespace {

constexpr std::int64_t kLargest = std::int64_t{1} << 31;

Result<std::vector<std::int64_t>> parse_numbers(const Parameter& parameter,
                                                const std::string& text) {
  std::vector<std::int64_t> out;
  const std::int64_t least = parameter.kind == Parameter::Kind::kDims ? 1 : 0;
  for (const std::string& part : split(text, ',')) {
    auto value = parse_integer(part, least);
    if (!value) return Values::error(parameter.name, "{}", value.error().message);
    out.push_back(*value);
  }
  if (parameter.kind == Parameter::Kind::kInt && out.size() != 1)
    return Values::error(parameter.name, "one number is needed, '{}' has {}", text, out.size());
  return out;
}

std::string names_of(const std::vector<Parameter>& parameters) {
  std::vector<std::string> names;
  for (const Parameter& p : parameters) names.push_back("--" + p.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

const char* name_of(Parameter::Kind kind) {
  constexpr const char* kNames[] = {"int", "ints", "dims", "flag", "text"};
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

Result<Values> Values::check(const Operator& op, const Arguments& arguments) {
  for (const auto& [name, value] : arguments)
    if (std::ranges::find(op.parameters, name, &Parameter::name) == op.parameters.end())
      return error(name, "{} has no such parameter; known are {}", op.name,
                   names_of(op.parameters));
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
    else out.numbers_[p.name] = LATHE_TRY(parse_numbers(p, value));
  }
  return out;
}

const std::vector<std::int64_t>& Values::numbers(std::string_view name) const {
  const auto found = numbers_.find(name);
  LATHE_CHECK(found != numbers_.end(), "no parameter {}", name);
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

Result<std::pair<std::int64_t, std::int64_t>> Values::two(std::string_view name) const {
  const auto& values = numbers(name);
  if (values.size() > 2)
    return error(name, "one value or two (y,x) are needed, {} are given", values.size());
  if (values.front() < 1 || values.back() < 1) return error(name, "at least 1 is needed");
  return std::pair(values.front(), values.back());
}

}  // namespace lathe::ops
