#include "compiler/ops/padding.h"

namespace lathe::ops {
namespace {

constexpr std::string_view kAxes = "zyx", kTaps = "qrs";
constexpr const char* kSides[] = {"front", "top", "left", "back", "bottom", "right"};

// Writes "front,top,left,back,bottom,right", or what of it fewer axes have.
std::string sides_of(std::size_t rank) {
  std::vector<std::string> sides;
  for (const std::size_t first : {std::size_t{0}, kAxes.size()})
    for (std::size_t a = kAxes.size() - rank; a < kAxes.size(); ++a)
      sides.emplace_back(kSides[first + a]);
  return fmt::format("{}", fmt::join(sides, ","));
}

}  // namespace

std::string_view letters_of(std::size_t rank) { return kAxes.substr(kAxes.size() - rank); }
std::string_view taps_of(std::size_t rank) { return kTaps.substr(kTaps.size() - rank); }

std::string one_or_each(std::size_t rank) {
  return rank == 1 ? "one value"
                   : fmt::format("one value, or {}", fmt::join(letters_of(rank), ","));
}

Parameter pad_parameter(std::size_t rank, const std::string& what) {
  return {Parameter::Kind::kInts, "pad", "0",
          fmt::format("{}: one value{} or {}", what,
                      rank == 1 ? "" : fmt::format(", {}", fmt::join(letters_of(rank), ",")),
                      sides_of(rank))};
}

Result<std::vector<Padding>> padding_of(const Values& values, std::size_t rank) {
  const auto& pad = values.numbers("pad");
  if (pad.size() != 1 && pad.size() != rank && pad.size() != 2 * rank)
    return Values::error(
        "pad", "1 value{} or {} ({}) are needed, {} are given",
        rank == 1 ? "" : fmt::format(", {} ({})", rank, fmt::join(letters_of(rank), ",")), 2 * rank,
        sides_of(rank), pad.size());
  std::vector<Padding> out(rank);
  for (std::size_t a = 0; a < rank; ++a) {
    out[a].before = pad[pad.size() == 1 ? 0 : a];
    out[a].after = pad.size() == 2 * rank ? pad[rank + a] : out[a].before;
  }
  return out;
}

}  // namespace lathe::ops
