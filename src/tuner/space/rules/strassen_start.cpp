// Where a search of a product with Strassen's algorithm starts.
#include <algorithm>
#include <cmath>

#include "tuner/space/rules/strassen.h"

namespace lathe::space {
namespace {

// Of a second cache, what blocks of sums and products may take.
constexpr double kSharedL2 = 500e3;
// A product must be so much longer in each direction before the algorithm is the default.
constexpr std::int64_t kPays = 1'000'000'000;

struct StrassenTile {
  std::int64_t v = 1, p = 1;
};

// The register tile that wastes least and loads little; cost_of_tile in tile_start.cpp has the same
// reasons and constants.
StrassenTile best_halved_tile(const StrassenRule& rule, const std::vector<Knob>& knobs) {
  const auto waste = [](std::int64_t extent, std::int64_t tile) {
    return static_cast<double>((extent + tile - 1) / tile * tile) / static_cast<double>(extent);
  };
  const std::int64_t vectors = (rule.sum.column.half() + rule.lanes - 1) / rule.lanes;
  StrassenTile best;
  double least = 1e30;
  for (const std::int64_t v : knobs[static_cast<std::size_t>(rule.at.tile_v)].values)
    for (const std::int64_t p : knobs[static_cast<std::size_t>(rule.at.tile_p)].values) {
      if (p * v + v + 1 > rule.target.vector_registers) continue;
      const double loads = 1 / static_cast<double>(v) + 1 / static_cast<double>(p);
      const double cost = waste(rule.sum.row.half(), p) * waste(vectors, v) *
                          std::max(1.0, loads / 0.75) * (1 + 1 / static_cast<double>(p * v));
      if (cost >= least) continue;
      least = cost;
      best = {v, p};
    }
  return best;
}

// The largest value of a knob, at least its first, of which `bytes` for each fit the cache.
std::int64_t most_that_fit(const Knob& knob, double bytes) {
  std::int64_t most = knob.values[0];
  for (const std::int64_t value : knob.values)
    if (static_cast<double>(value) * bytes <= kSharedL2) most = value;
  return most;
}

}  // namespace

void set_starts(const StrassenRule& rule, Derived& derived) {
  const std::vector<std::int64_t> direct = derived.start;
  std::vector<std::int64_t> start = direct;
  const auto set = [&](int knob, std::int64_t value) {
    start[static_cast<std::size_t>(knob)] = value;
  };
  const auto knob = [&](int number) -> const Knob& {
    return derived.knobs[static_cast<std::size_t>(number)];
  };
  const StrassenTile tile = best_halved_tile(rule, derived.knobs);
  const auto terms = static_cast<double>(rule.sum.term.half());
  const double element = 64.0 / rule.lanes;
  const auto rows = static_cast<double>(tile.p), columns = static_cast<double>(tile.v * rule.lanes);
  set(rule.at.algorithm, 1);
  set(rule.at.tile_v, tile.v);
  set(rule.at.tile_p, tile.p);
  set(rule.at.unroll, 2);
  set(rule.at.prefetch, 4096);
  const std::int64_t block_p = most_that_fit(knob(rule.at.block_p), 7 * element * terms * rows);
  set(rule.at.block_p, block_p);
  set(rule.at.block_v, most_that_fit(knob(rule.at.block_v),
                                     7 * element * static_cast<double>(block_p) * rows * columns));
  if (!rule.may_be_direct ||
      std::min({rule.sum.row.extent, rule.sum.column.extent, rule.sum.term.extent}) >= kPays) {
    derived.start = start;
    if (rule.may_be_direct) derived.other_starts.push_back(direct);
  } else {
    derived.other_starts.push_back(start);
  }
}

}  // namespace lathe::space
