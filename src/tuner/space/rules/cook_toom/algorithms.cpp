#include "tuner/space/rules/cook_toom/algorithms.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "compiler/schedule/step.h"
#include "compiler/te/algorithms.h"

namespace lathe::space {
namespace {

using TileSizes = std::vector<std::int64_t>;
using cook_toom::kMostTaps;
constexpr std::int64_t kTiles[] = {2, 3, 4, cook_toom::kLargestTile};

bool may_tile(const ImageAxis& axis, std::int64_t tile) {
  const std::int64_t taps = axis.residues().taps;
  return taps >= 2 && taps <= kMostTaps && tile <= axis.results() &&
         tile + taps - 1 <= cook_toom::kMostPositions;
}

std::vector<Algorithm> algorithms_of(const ImageSum& sum) {
  std::vector<Algorithm> out = {{}};
  const auto add = [&](std::vector<std::string> taps, TileSizes tiles) {
    out.push_back({std::move(taps), std::move(tiles)});
  };
  for (const ImageAxis& axis : sum.axes)
    for (const std::int64_t n : kTiles)
      if (may_tile(axis, n)) add({axis.tap}, {n});
  if (sum.axes.size() < 2) return out;
  for (const std::int64_t m : kTiles)
    for (const std::int64_t n : kTiles)
      if (may_tile(sum.axes[0], m) && may_tile(sum.axes[1], n))
        add({sum.axes[0].tap, sum.axes[1].tap}, {m, n});
  return out;
}

bool is_accurate(const ImageSum& sum, const Algorithm& algorithm, double max_error) {
  double growth = 1;
  std::int64_t terms = sum.channel_extent;  // of a sum of products
  for (const ImageAxis& axis : sum.axes) {
    const auto found = std::ranges::find(algorithm.taps, axis.tap);
    const cook_toom::Residues residues = axis.residues();
    terms *= found == algorithm.taps.end() ? axis.taps : residues.count;
    if (found == algorithm.taps.end()) continue;
    const auto a = static_cast<std::size_t>(found - algorithm.taps.begin());
    growth *= cook_toom::error_growth(static_cast<int>(algorithm.tiles[a]),
                                      static_cast<int>(residues.taps));
  }
  return growth * cook_toom::direct_error(terms) <= max_error;
}

}  // namespace

bool Algorithm::transforms(const ImageAxis& axis) const {
  return std::ranges::find(taps, axis.tap) != taps.end();
}

std::string label_of(const Algorithm& algorithm) {
  if (algorithm.taps.empty()) return "direct";
  if (algorithm.taps.size() == 1)
    return fmt::format("F({}) along {}", algorithm.tiles[0], algorithm.taps[0]);
  return fmt::format("F({})", fmt::join(algorithm.tiles, "x"));
}

namespace {

// The word by which a contract names it: "direct", "F4", "F4x2".
std::string word_of(const Algorithm& algorithm) {
  return algorithm.taps.empty() ? "direct" : fmt::format("F{}", fmt::join(algorithm.tiles, "x"));
}
bool allows(const std::string& wanted, const Algorithm& algorithm) {
  if (algorithm.taps.empty() || wanted.empty()) return true;
  return wanted == "cook_toom" || wanted == word_of(algorithm);
}

// Why the sum has no algorithm of this word: the first of its tiles that an axis does not take.
std::string fault_of(const ImageSum& sum, const std::string& wanted) {
  const auto of_axis = [](const ImageAxis& axis, std::int64_t tile) -> std::string {
    const std::int64_t taps = axis.residues().taps;
    if (taps < 2)
      return fmt::format("a stride of {} leaves {} tap together along {}, and 2 are needed",
                         axis.stride, taps, axis.tap);
    if (taps > kMostTaps)
      return fmt::format("it has {} taps along {}, more than {}", taps, axis.tap, kMostTaps);
    if (std::ranges::find(kTiles, tile) == std::end(kTiles))
      return fmt::format("tiles are of {} results", fmt::join(kTiles, ", "));
    if (tile > axis.results())
      return fmt::format("it has {} results along {}, less than a tile of {}", axis.results(),
                         axis.iter, tile);
    if (tile + taps - 1 > cook_toom::kMostPositions)
      return fmt::format("a tile of {} and {} taps along {} are more than {} together", tile, taps,
                         axis.tap, cook_toom::kMostPositions + 1);
    return "";
  };
  if (wanted == "cook_toom") {
    for (const ImageAxis& axis : sum.axes)
      if (std::string fault = of_axis(axis, kTiles[0]); !fault.empty()) return fault;
    return "";
  }
  const auto x = wanted.find('x');
  TileSizes tiles = {std::stoll(wanted.substr(1))};
  if (x != std::string::npos) tiles.push_back(std::stoll(wanted.substr(x + 1)));
  if (tiles.size() > sum.axes.size()) return "it has taps along one axis, not two";
  for (std::size_t a = 0; a < sum.axes.size(); ++a)
    if (std::string fault = of_axis(sum.axes[a], tiles[std::min(a, tiles.size() - 1)]);
        !fault.empty())
      return fault;
  return "";
}

std::string what_of(const std::string& wanted) {
  return wanted == "cook_toom" ? "Cook-Toom algorithm" : wanted;
}

std::unexpected<Error> no_such(const std::string& wanted, const std::string& why,
                               const std::vector<Algorithm>& all) {
  std::vector<std::string> known;
  for (const Algorithm& each : all)
    if (std::ranges::find(known, word_of(each)) == known.end()) known.push_back(word_of(each));
  if (known.empty()) known.emplace_back("direct");
  return fail_at("algorithm", ErrorKind::kInvalidArgument, "this workload has no {}: {}; it has {}",
                 what_of(wanted), why, fmt::join(known, ", "));
}

// Where there is no algorithm that the contract allows, but the sum is one over neighbours.
std::unexpected<Error> none_left(const std::string& wanted, const ImageSum& sum,
                                 const std::vector<Algorithm>& all, double max_error) {
  const auto is_wanted = [&](const Algorithm& each) {
    return !each.taps.empty() && allows(wanted, each);
  };
  if (std::ranges::none_of(all, is_wanted)) return no_such(wanted, fault_of(sum, wanted), all);
  return fail_at("algorithm", ErrorKind::kInvalidArgument,
                 "{} rounds too much for a largest error of {:g}; allow more with --max-error, or "
                 "name an algorithm with smaller tiles",
                 what_of(wanted), max_error);
}

}  // namespace

Result<std::vector<Algorithm>> algorithms_for(const te::Contract& contract,
                                              const std::expected<ImageSum, std::string>& sum) {
  const std::string& wanted = contract.algorithm;
  const bool demanded = !contract.may_be_direct();
  if (demanded && te::algorithm_named(wanted)->step != schedule::CookToom::kName)
    return std::vector<Algorithm>{{}};  // another rule's
  if (!sum && demanded) return no_such(wanted, sum.error(), {});
  std::vector<Algorithm> out = {{}};
  if (!sum) return out;
  const std::vector<Algorithm> all = algorithms_of(*sum);
  for (const Algorithm& algorithm : all)
    if (!algorithm.taps.empty() && allows(wanted, algorithm) &&
        is_accurate(*sum, algorithm, contract.max_error))
      out.push_back(algorithm);
  if (out.size() < 2 && demanded) return none_left(wanted, *sum, all, contract.max_error);
  return out;
}

}  // namespace lathe::space
