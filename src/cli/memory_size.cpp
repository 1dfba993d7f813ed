#include "cli/memory_size.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

namespace lathe::cli {
namespace {

struct Unit {
  const char* name;
  double bytes;
};
constexpr Unit kUnits[] = {{"b", 1},        {"kb", 1e3},     {"mb", 1e6},    {"gb", 1e9},
                           {"kib", 0x1p10}, {"mib", 0x1p20}, {"gib", 0x1p30}};

}  // namespace

Result<std::int64_t> memory_size(const std::string& flag, const std::string& text) {
  constexpr double kMost = 0x1p60;
  double number = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string unit(end, text.data() + text.size());
  unit.erase(0, unit.find_first_not_of(' '));
  std::ranges::transform(unit, unit.begin(), [](unsigned char c) { return std::tolower(c); });
  const auto* known = std::ranges::find(kUnits, unit, &Unit::name);
  if (fault != std::errc{} || known == std::end(kUnits) || !(number > 0) ||
      number * known->bytes > kMost)
    return fail_at(flag, ErrorKind::kInvalidArgument,
                   "\"{}\" is no size of memory; give a number and a unit, as 100MB or 1.5GiB",
                   text);
  return static_cast<std::int64_t>(number * known->bytes);
}

}  // namespace lathe::cli
