// Where a search of a program with Cook-Toom algorithms starts.
#include <algorithm>
#include <cmath>

#include "tuner/space/rules/cook_toom.h"

namespace lathe::space {
namespace {

// An operation of a transform takes so many times as long as a multiply-add of the products:
// transforms load and store for every few of them. It is a guess and no fit.
constexpr double kTransformCost = 4;
constexpr double kHiddenShare = 0.15;  // as in model::Machine
// Another algorithm must promise this share of the direct sum's time at most.
constexpr double kWorthIt = 0.85;
// A search also begins with other algorithms, of at most so many times the best one's cost.
constexpr double kStillOfInterest = 1.5;
constexpr std::size_t kMostStarts = 8;
// Caches, for what streams and for what a block of tiles keeps between its transforms:
// model::Machine knows more of the machine than a rule may.
constexpr double kL2 = 1e6, kL3 = 32e6;
constexpr double kL3Rate = 20, kMemoryRate = 7;  // bytes a cycle
constexpr double kScratchShare = 0.6;            // of the second cache
constexpr double kCopyShare = 0.25;              // the same, for a copy of the input

struct Shape {  // of one axis under an algorithm
  double results = 1, positions = 1, taps = 1, tile = 1;
  double tiles = 1, strands = 1;  // tiles of a strand
  double elements = 1;            // of the transformed input
  double filter_positions = 1;    // of all residues
};

std::vector<Shape> shapes_of(const CookToomRule& rule, const Algorithm& algorithm) {
  std::vector<Shape> out;
  for (const ImageAxis& axis : rule.sum.axes) {
    Shape s;
    s.results = s.tiles = static_cast<double>(axis.extent);
    s.taps = s.filter_positions = static_cast<double>(axis.taps);
    s.elements =
        static_cast<double>((axis.extent - 1) * axis.stride + (axis.taps - 1) * axis.dilation + 1);
    const auto found = std::ranges::find(algorithm.taps, axis.tap);
    if (found != algorithm.taps.end()) {
      s.tile = static_cast<double>(
          algorithm.tiles[static_cast<std::size_t>(found - algorithm.taps.begin())]);
      const cook_toom::Residues residues = axis.residues();
      s.positions = s.tile + static_cast<double>(residues.taps) - 1;
      s.strands = static_cast<double>(axis.strands().count);
      s.tiles = std::ceil(static_cast<double>(axis.results()) / s.tile);
      s.elements = s.strands * s.tiles * s.positions * static_cast<double>(residues.count);
      s.filter_positions =
          static_cast<double>(residues.filter_positions(static_cast<std::int64_t>(s.positions)));
      s.taps = s.filter_positions / s.positions;
    }
    out.push_back(s);
  }
  return out;
}

// What an algorithm does for one image.
struct Work {
  double products = 1, inputs = 1, outputs = 1;  // elements of the transformed tensors
  double weights = 4;                            // bytes
  double operations = 0;                         // of the transforms, for each element, about
};

Work total_work(const CookToomRule& rule, const std::vector<Shape>& shapes) {
  Work work;
  const double k = static_cast<double>(rule.sum.vector_extent),
               c = static_cast<double>(rule.sum.channel_extent);
  work.products *= k * c, work.inputs *= c, work.outputs *= k, work.weights *= k * c;
  for (const Shape& s : shapes) {
    work.products *= s.strands * s.tiles * s.positions * s.taps;
    work.inputs *= s.elements;
    work.outputs *= s.strands * s.tiles * s.positions;
    work.weights *= s.filter_positions;
    if (s.tile > 1) work.operations += 2;
  }
  return work;
}

// Bytes from beyond the second cache, where so many rows of tiles are a block: each block reads all
// weights, and what it keeps is written and read again.
double streamed(const Work& work, double blocks) {
  const double scratch = 4 * (work.inputs + work.outputs);
  double bytes = work.weights > kScratchShare * kL2 ? blocks * work.weights : 0;
  if (scratch / blocks > kScratchShare * kL2) bytes += 2 * scratch;
  return bytes;
}

// The knob's value, rows of tiles in a block, that streams least; of equals the smallest. Blocks
// are alike, for code of a smaller last one is slow: C2 with 10 rows takes 280 us by blocks of 5,
// 410 by blocks of 8.
std::int64_t best_rows(const CookToomRule& rule, const std::vector<Knob>& knobs, const Work& work,
                       double tiles) {
  const double threads = rule.target.threads;
  const double most = threads > 1 ? std::max(1.0, std::floor(tiles / threads)) : tiles;
  std::int64_t best = 1;
  double least = streamed(work, tiles);
  for (const std::int64_t value : knobs[static_cast<std::size_t>(rule.at.block_t)].values) {
    const double rows = std::min(static_cast<double>(value), tiles);
    if (rows > most || std::fmod(tiles, rows) != 0) continue;
    const double bytes = streamed(work, tiles / rows);
    if (bytes < least) best = value, least = bytes;
  }
  return best;
}

// Multiply-adds of one image, with what else it does at its cost.
double cost_of(const CookToomRule& rule, const std::vector<Knob>& knobs,
               const Algorithm& algorithm) {
  const auto shapes = shapes_of(rule, algorithm);
  const Work work = total_work(rule, shapes);
  const double tiles = shapes[0].tiles;
  const double rows = std::min(static_cast<double>(best_rows(rule, knobs, work, tiles)), tiles);
  const bool direct = algorithm.taps.empty();
  const double bytes =
      direct ? (work.weights > kL2 ? work.weights : 0) : streamed(work, tiles / rows);
  const double stream =
      bytes / (work.weights <= kL3 ? kL3Rate : kMemoryRate) * 2.0 * rule.lanes;  // a cycle
  return std::max(work.products, stream) + kHiddenShare * std::min(work.products, stream) +
         kTransformCost * work.operations * (work.inputs + work.outputs);
}

struct Tile {
  std::int64_t v = 1, p0 = 1, p1 = 1;
};

// The register tile that wastes least and loads little; cost_of_tile in tile_start.cpp has the
// same reasons and constants.
Tile best_tile(const CookToomRule& rule, const std::vector<Knob>& knobs,
               const std::vector<Shape>& shapes) {
  const auto values = [&](int knob) {
    return knob < 0 ? std::vector<std::int64_t>{1} : knobs[static_cast<std::size_t>(knob)].values;
  };
  const double vectors = std::ceil(static_cast<double>(rule.sum.vector_extent) / rule.lanes);
  const auto waste = [](double extent, std::int64_t tile) {
    return std::ceil(extent / static_cast<double>(tile)) * static_cast<double>(tile) / extent;
  };
  Tile best;
  double least = 1e30;
  for (const std::int64_t v : values(rule.at.tile_v))
    for (const std::int64_t p0 : values(rule.at.tile_p0))
      for (const std::int64_t p1 : values(rule.at.tile_p1)) {
        if (p0 * p1 * v + v + 1 > rule.target.vector_registers) continue;
        const double pixels = static_cast<double>(p0 * p1);
        const double loads = 1 / static_cast<double>(v) + 1 / pixels;
        const double cost = waste(shapes.back().tiles, p0) * waste(shapes[0].tiles, p1) *
                                waste(vectors, v) * std::max(1.0, loads / 0.75) *
                                (1 + 1 / (pixels * static_cast<double>(v))) +
                            0.01 * static_cast<double>(p1);
        if (cost >= least) continue;
        least = cost;
        best = {v, p0, p1};
      }
  return best;
}

using Values = std::vector<std::int64_t>;

// True if lanes of the input's transform are far apart in the input.
bool has_lanes_apart(const CookToomRule& rule) {
  const auto& layouts = rule.layouts;
  const auto own = std::ranges::find(layouts, rule.sum.input, &schedule::Layout::buffer);
  const int innermost = own == layouts.end() || own->layout.empty() ? rule.sum.input_dims - 1
                                                                    : own->layout.back().dim;
  return innermost != rule.sum.input_channels;
}

// Each element of the input is read by several tiles, along both axes, so gathering lanes once is
// worth a copy. Where they lie side by side already, a copy costs 2 to 3 % (C2, C6), and where most
// lanes are empty, more.
InputCopy best_copy(const CookToomRule& rule, const Algorithm& algorithm,
                    const std::vector<Shape>& shapes, std::int64_t rows) {
  if (algorithm.taps.size() < 2 || rule.sum.channel_extent < rule.lanes || !has_lanes_apart(rule))
    return InputCopy::kNone;
  const double block = shapes[0].elements * static_cast<double>(rows) / shapes[0].tiles;
  const double bytes = 4.0 * rule.lanes * block * shapes[1].elements;
  return bytes <= kCopyShare * kL2 ? InputCopy::kBlock : InputCopy::kRow;
}

// The share of the threads' time that is used where they have so many tasks.
double evenness(double tasks, double threads) {
  return tasks / (threads * std::ceil(tasks / threads));
}

// Threads share blocks of tiles, and images, too, where there are several: then they meet once for
// all. Of an image with too few rows of tiles they share blocks of results, too, which all read the
// whole transformed input.
void choose_share(const CookToomRule& rule, const std::vector<Knob>& knobs, double rows,
                  Values& start) {
  constexpr double kEven = 0.9, kBetter = 1.1;
  if (rule.at.share < 0) return;
  const auto set = [&](int knob, std::int64_t value) {
    if (knob >= 0) start[static_cast<std::size_t>(knob)] = value;
  };
  const auto choose = [&](TileShare share) {
    set(rule.at.share, std::ranges::find(rule.shares, share) - rule.shares.begin());
  };
  choose(TileShare::kTiles);
  if (rule.sum.outer_extent > 1) return choose(TileShare::kBatchAndTiles);
  const double threads = rule.target.threads;
  const double tiles =
      std::ceil(rows / static_cast<double>(start[static_cast<std::size_t>(rule.at.block_t)]));
  double best = evenness(tiles, threads);
  if (best >= kEven || rule.at.block_v < 0) return;
  const double vectors = std::ceil(static_cast<double>(rule.sum.vector_extent) / rule.lanes);
  const auto tile = static_cast<double>(start[static_cast<std::size_t>(rule.at.tile_v)]);
  for (const std::int64_t block : knobs[static_cast<std::size_t>(rule.at.block_v)].values) {
    const auto together = static_cast<double>(block);
    const double blocks = std::ceil(vectors / together);
    const double even = evenness(tiles * blocks, threads) * vectors / (blocks * together);
    if (std::fmod(together, tile) != 0 || even < kBetter * best) continue;
    best = even;
    choose(TileShare::kResultsAndTiles);
    set(rule.at.place, std::ranges::find(rule.places, InputPlace::kWhole) - rule.places.begin());
    set(rule.at.block_v, block);
  }
}

// Sets the knobs of an algorithm that is not direct.
void set_knobs(const CookToomRule& rule, const std::vector<Knob>& knobs, std::size_t algorithm,
               Values& start) {
  const auto set = [&](int knob, std::int64_t value) {
    if (knob >= 0) start[static_cast<std::size_t>(knob)] = value;
  };
  const std::vector<Shape> shapes = shapes_of(rule, rule.algorithms[algorithm]);
  const Tile tile = best_tile(rule, knobs, shapes);
  set(rule.at.algorithm, static_cast<std::int64_t>(algorithm));
  set(rule.at.tile_v, tile.v);
  set(rule.at.tile_p0, tile.p0);
  set(rule.at.tile_p1, tile.p1);
  set(rule.at.unroll, rule.sum.channel_extent <= 4 ? rule.sum.channel_extent : 2);
  set(rule.at.prefetch, 16384);
  const std::int64_t rows = best_rows(rule, knobs, total_work(rule, shapes), shapes[0].tiles);
  set(rule.at.block_t, rows);
  set(rule.at.copy,
      static_cast<std::int64_t>(best_copy(rule, rule.algorithms[algorithm], shapes, rows)));
  if (rule.at.block_v >= 0)
    set(rule.at.block_v, knobs[static_cast<std::size_t>(rule.at.block_v)].values.back());
  choose_share(rule, knobs, shapes[0].tiles, start);
}

}  // namespace

void set_starts(const CookToomRule& rule, Derived& derived) {
  const Values direct = derived.start;
  std::vector<std::pair<double, std::size_t>> by_cost;
  for (std::size_t i = rule.may_be_direct ? 0 : 1; i < rule.algorithms.size(); ++i)
    by_cost.emplace_back((i == 0 ? kWorthIt : 1) * cost_of(rule, derived.knobs, rule.algorithms[i]),
                         i);
  std::ranges::stable_sort(by_cost);
  const double most = kStillOfInterest * by_cost[0].first;
  for (const auto& [cost, algorithm] : by_cost) {
    if (cost > most || derived.other_starts.size() == kMostStarts) break;
    Values start = direct;
    if (algorithm > 0) set_knobs(rule, derived.knobs, algorithm, start);
    derived.other_starts.push_back(std::move(start));
  }
  derived.start = derived.other_starts[0];
  derived.other_starts.erase(derived.other_starts.begin());
}

}  // namespace lathe::space
