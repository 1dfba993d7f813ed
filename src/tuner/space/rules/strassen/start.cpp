#include "tuner/space/rules/strassen/start.h"

#include <algorithm>
#include <cmath>

#include "tuner/space/costs.h"

namespace lathe::space {
namespace {

// A search starts with the algorithm if it promises at most this share of the direct product's
// time.
constexpr double kPays = 0.93;
// Or tries it among the first, up to this.
constexpr double kMayPay = 1.05;
// An element that is read or written takes as long as so many multiply-adds: 4 bytes at 20 a cycle,
// beside 32 multiply-adds. model::Core knows more of the machine than a rule may.
constexpr double kElementCost = 6.4;
// Of the second cache, for one product's left operand.
constexpr double kKeptLeft = 0.5;
constexpr double kNearlyEqual = 1.1;  // the largest share of a thread, times the mean

struct HalvesTile {
  std::int64_t v = 1, p = 1;
};

// The register tile that wastes least and loads little; cost_of_tile in tile_start.cpp has the same
// reasons and constants.
HalvesTile best_halved_tile(const StrassenRule& rule, const std::vector<Knob>& knobs) {
  const auto waste = [](std::int64_t extent, std::int64_t tile) {
    const std::int64_t tiles = (extent + tile - 1) / tile;
    return static_cast<double>(tiles * tile) / static_cast<double>(extent);
  };
  const std::int64_t vectors = (rule.sum.column.half() + rule.lanes - 1) / rule.lanes;
  HalvesTile best;
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

// Multiply-adds of both algorithms, with what else they move at its cost. The direct product copies
// its operands; each sum of a quarter is written and read, and quarters are read before.
struct Costs {
  double direct = 0, strassen = 0;
};
Costs costs_of(const ProductSum& sum) {
  const auto m = static_cast<double>(sum.row.extent), n = static_cast<double>(sum.column.extent),
             k = static_cast<double>(sum.term.extent);
  const double operands = (sum.left_constant ? 0 : m * k) + (sum.right_constant ? 0 : n * k);
  return {m * n * k + kElementCost * 2 * operands,
          0.875 * m * n * k + kElementCost * (2.75 * operands + 4.5 * m * n)};
}

// Tiles of rows in a block: as many as the cache keeps of one product, with about equal shares for
// threads.
std::int64_t rows_of_block(const StrassenRule& rule, const Knob& knob, std::int64_t tile) {
  const std::int64_t half = rule.sum.row.half(), threads = rule.target.threads;
  const double row_bytes = 64.0 / rule.lanes * static_cast<double>(rule.sum.term.half());
  std::int64_t best = knob.values[0];
  for (const std::int64_t value : knob.values) {
    const std::int64_t rows = value * tile, blocks = (half + rows - 1) / rows;
    const std::int64_t most = (blocks + threads - 1) / threads;  // of a thread
    const bool even = threads < 2 || static_cast<double>(most * rows * threads) <=
                                         kNearlyEqual * static_cast<double>(half);
    if (even && static_cast<double>(rows) * row_bytes <= kKeptLeft * kL2) best = value;
  }
  return best;
}

}  // namespace

void set_starts(const StrassenRule& rule, Derived& derived) {
  const std::vector<std::int64_t> direct = derived.starts[0];
  std::vector<std::int64_t> start = direct;
  const auto set = [&](int knob, std::int64_t value) {
    start[static_cast<std::size_t>(knob)] = value;
  };
  const auto knob = [&](int number) -> const Knob& {
    return derived.knobs[static_cast<std::size_t>(number)];
  };
  const HalvesTile tile = best_halved_tile(rule, derived.knobs);
  set(rule.at.algorithm, 1);
  set(rule.at.tile_v, tile.v);
  set(rule.at.tile_p, tile.p);
  set(rule.at.unroll, 2);
  set(rule.at.prefetch, 4096);
  set(rule.at.block_p, rows_of_block(rule, knob(rule.at.block_p), tile.p));
  set(rule.at.block_v, knob(rule.at.block_v).values.back());
  const auto [by_direct, by_strassen] = costs_of(rule.sum);
  if (!rule.may_be_direct || by_strassen <= kPays * by_direct) {
    derived.starts = {start};
    if (rule.may_be_direct) derived.starts.push_back(direct);
  } else if (by_strassen <= kMayPay * by_direct) {
    derived.starts.push_back(start);
  }
}

}  // namespace lathe::space
