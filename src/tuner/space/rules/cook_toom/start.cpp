#include "tuner/space/rules/cook_toom/start.h"

#include <algorithm>
#include <cmath>

#include "tuner/space/costs.h"
#include "tuner/space/rules/cook_toom/threads.h"
#include "tuner/space/rules/cook_toom/work.h"

namespace lathe::space {
namespace {

using Values = std::vector<std::int64_t>;

// Another algorithm must promise this share of the direct sum's time at most.
constexpr double kWorthIt = 0.85;
// A search also begins with other algorithms, of at most so many times the best one's cost.
constexpr double kStillOfInterest = 1.5;

// How much longer products take whose panels of weights, of so many vectors by all channels, come
// from the second cache for each tile: 64 channels to 128 of 128x128 take 9.6 ms on a Zen 4 with
// tiles of two pixels, 6.8 with four.
double slowness_of_panels(const CookToomRule& rule, const ProductTile& tile) {
  constexpr double kPixels = 4;
  const auto panel = static_cast<double>(4 * rule.lanes * tile.v * rule.sum.channel_extent);
  if (panel < kL1 / 2) return 1;
  return std::max(1.0, kPixels / static_cast<double>(tile.p0 * tile.p1));
}

struct TileChoice {
  ProductTile tile;
  double slowness = 1e30;  // how much longer than at the peak products take with it
};

// The register tile that wastes least and loads little.
TileChoice best_tile(const CookToomRule& rule, const std::vector<Knob>& knobs,
                     const std::vector<Shape>& shapes, std::int64_t rows) {
  const double along = std::min(static_cast<double>(rows), shapes[0].tiles);
  const auto values = [&](int knob) {
    return knob < 0 ? Values{1} : knobs[static_cast<std::size_t>(knob)].values;
  };
  const double vectors = std::ceil(static_cast<double>(rule.sum.vector_extent) / rule.lanes);
  TileChoice best;
  for (const std::int64_t v : values(rule.at.tile_v))
    for (const std::int64_t p0 : values(rule.at.tile_p0))
      for (const std::int64_t p1 : values(rule.at.tile_p1)) {
        const ProductTile tile{v, p0, p1};
        if (!fits(tile, rule)) continue;
        const double tail =
            std::fmod(shapes.back().tiles, static_cast<double>(p0)) == 0 ? 1 : kTail;
        const double cost = tail * waste(shapes.back().tiles, p0) * waste(along, p1) *
                                waste(vectors, v) * slowness(tile) *
                                slowness_of_panels(rule, tile) +
                            0.01 * static_cast<double>(p1);
        if (cost < best.slowness) best = {tile, cost};
      }
  return best;
}

// Cycles until so many bytes of weights have come.
double cycles_of_weights(const Work& work, double bytes) {
  return bytes / (work.weights <= kWeightsOfMemory ? kL3Rate : kMemoryRate);
}

// Cycles of one image's products, in so many blocks of rows of tiles: each block reads all weights,
// beside them; what it keeps is written and read again. Products take `slow` times as long as at
// the peak.
double cycles_of(const CookToomRule& rule, const Work& work, double blocks, double slow = 1) {
  const double weights = work.weights > kScratchShare * kL2 ? blocks * work.weights : 0;
  return beside(slow * work.products / (2.0 * rule.lanes), cycles_of_weights(work, weights)) +
         scratch_cycles(work, blocks);
}

// The knob's value, rows of tiles in a block, with which these take least; of equals the smallest.
// Blocks are alike, for code of a smaller last one is slow: C2 with 10 rows takes 280 us by blocks
// of 5, 410 by blocks of 8. Of few columns a register tile has several rows, if it is much faster
// so. Where taps are apart and weights come from beyond the second cache, all rows are one block:
// 256 channels of 33x33 with taps two apart take 5.0 ms so with AVX2, 6.7 by blocks of two.
std::int64_t best_rows(const CookToomRule& rule, const std::vector<Knob>& knobs, const Work& work,
                       const std::vector<Shape>& shapes) {
  constexpr double kMuchSlower = 1.1;
  const double tiles = shapes[0].tiles;
  const bool apart = shapes[0].strands > 1 && work.weights > kScratchShare * kL2;
  std::vector<std::pair<std::int64_t, double>> rows_and_slowness;
  double fastest = 1e300;
  for (const std::int64_t value : knobs[static_cast<std::size_t>(rule.at.block_t)].values) {
    const double rows = std::min(static_cast<double>(value), tiles);
    if (std::fmod(tiles, rows) != 0 || (apart && rows < tiles)) continue;
    rows_and_slowness.emplace_back(value, best_tile(rule, knobs, shapes, value).slowness);
    fastest = std::min(fastest, rows_and_slowness.back().second);
  }
  std::int64_t best = 1;
  double least = 1e300;
  for (const auto& [value, slowness] : rows_and_slowness) {
    const double slow = slowness > kMuchSlower * fastest ? slowness / fastest : 1;
    const double rows = std::min(static_cast<double>(value), tiles);
    const double cycles = cycles_of(rule, work, tiles / rows, slow);
    if (cycles < least) best = value, least = cycles;
  }
  return best;
}

// An algorithm as one thread runs it.
struct Alone {
  std::vector<Shape> shapes;
  std::int64_t rows = 1;  // of tiles, in a block
  double cost = 0;        // multiply-adds of one image, with what else it does at its cost
  // Memory is asked for weights all the time that the products take: then processors fetch ahead
  // better than programs.
  bool waits_for_weights = false;
};

Alone alone_with(const CookToomRule& rule, const std::vector<Knob>& knobs,
                 const Algorithm& algorithm) {
  Alone out{.shapes = shapes_of(rule, algorithm)};
  const Work work = total_work(rule, out.shapes);
  const double each = 2.0 * rule.lanes;  // a cycle
  out.waits_for_weights = cycles_of_weights(work, work.weights) > work.products / each;
  double cycles = 0;
  if (algorithm.taps.empty()) {
    cycles = beside(work.products / each,
                    cycles_of_weights(work, work.weights > kL2 ? work.weights : 0));
  } else {
    out.rows = best_rows(rule, knobs, work, out.shapes);
    const double tiles = out.shapes[0].tiles;
    cycles = cycles_of(rule, work, tiles / std::min(static_cast<double>(out.rows), tiles));
  }
  out.cost = each * cycles + kTransformCost * work.operations * (work.inputs + work.outputs);
  return out;
}

// Sets the knobs of an algorithm that is not direct, for one thread.
void set_knobs(const CookToomRule& rule, const std::vector<Knob>& knobs, std::size_t algorithm,
               const Alone& alone, Values& start) {
  const auto set = [&](int knob, std::int64_t value) {
    if (knob >= 0) start[static_cast<std::size_t>(knob)] = value;
  };
  set(rule.at.block_t, alone.rows);
  const ProductTile tile = best_tile(rule, knobs, alone.shapes, alone.rows).tile;
  set(rule.at.tile_v, tile.v);
  set(rule.at.tile_p0, tile.p0);
  set(rule.at.tile_p1, tile.p1);
  set(rule.at.copy, static_cast<std::int64_t>(
                        best_copy(rule, rule.algorithms[algorithm], alone.shapes, alone.rows)));
  if (rule.at.block_v >= 0)
    set(rule.at.block_v, knobs[static_cast<std::size_t>(rule.at.block_v)].values.back());
}

// An algorithm's start, and what it costs: multiply-adds of one thread, or cycles of several.
std::pair<double, Values> start_of(const CookToomRule& rule, const std::vector<Knob>& knobs,
                                   std::size_t algorithm, const Alone& alone, Values start) {
  const bool one_thread = rule.target.threads < 2;
  if (algorithm == 0)
    return {kWorthIt * (one_thread ? alone.cost : rule.direct_cycles), std::move(start)};
  const auto set = [&](int knob, std::int64_t value) {
    start[static_cast<std::size_t>(knob)] = value;
  };
  set(rule.at.algorithm, static_cast<std::int64_t>(algorithm));
  set(rule.at.unroll, rule.sum.channel_extent <= 4 ? rule.sum.channel_extent : 2);
  set(rule.at.prefetch, rule.at.next_panels < 0 ? 16384 : 0);
  if (rule.at.next_panels >= 0) set(rule.at.next_panels, alone.waits_for_weights ? 0 : 1);
  if (!one_thread) {
    SharedStart found = shared_start(rule, knobs, algorithm, std::move(start));
    return {found.cycles, std::move(found.values)};
  }
  set_knobs(rule, knobs, algorithm, alone, start);
  return {alone.cost, std::move(start)};
}

}  // namespace

void set_starts(const CookToomRule& rule, Derived& derived) {
  std::vector<std::pair<double, Values>> by_cost;
  std::size_t usual = 0;  // what one thread would choose
  double least = 1e300;
  for (std::size_t i = rule.may_be_direct ? 0 : 1; i < rule.algorithms.size(); ++i) {
    const Alone alone = alone_with(rule, derived.knobs, rule.algorithms[i]);
    by_cost.push_back(start_of(rule, derived.knobs, i, alone, derived.starts[0]));
    const double cost = (i == 0 ? kWorthIt : 1) * alone.cost;
    if (cost < least) usual = by_cost.size() - 1, least = cost;
  }
  for (std::size_t i = 0; rule.target.threads > 1 && i < by_cost.size(); ++i)
    if (i != usual) by_cost[i].first *= kOtherChoice;
  std::ranges::stable_sort(by_cost, {}, &std::pair<double, Values>::first);
  const double most = kStillOfInterest * by_cost[0].first;
  derived.starts.clear();
  for (auto& [cost, start] : by_cost)
    if (cost <= most && derived.starts.size() < kMostStarts)
      derived.starts.push_back(std::move(start));
}

}  // namespace lathe::space
