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
// Of the second cache, for what one block of tiles keeps between its transforms.
constexpr double kScratchBytes = 512.0 * 1024;

struct Shape {  // of one axis under an algorithm
  double results = 1, tiles = 1, positions = 1, taps = 1, tile = 1;
  double elements = 1;          // of the transformed input
  double filter_positions = 1;  // of all residues
};

std::vector<Shape> shapes_of(const CookToomRule& rule, const Algorithm& algorithm) {
  std::vector<Shape> out;
  for (const ImageAxis& axis : rule.sum.axes) {
    Shape s;
    s.results = s.tiles = static_cast<double>(axis.extent);
    s.taps = s.filter_positions = static_cast<double>(axis.taps);
    s.elements = static_cast<double>((axis.extent - 1) * axis.stride + axis.taps);
    const auto found = std::ranges::find(algorithm.taps, axis.tap);
    if (found != algorithm.taps.end()) {
      s.tile = static_cast<double>(
          algorithm.tiles[static_cast<std::size_t>(found - algorithm.taps.begin())]);
      const cook_toom::Residues residues = axis.residues();
      const auto count = static_cast<double>(residues.count);
      s.positions = s.tile + static_cast<double>(residues.taps) - 1;
      s.tiles = std::ceil(s.results / s.tile);
      s.elements = s.tiles * s.positions * count;
      s.filter_positions = count * s.positions - (residues.last_taps < residues.taps ? 1 : 0);
      s.taps = s.filter_positions / s.positions;
    }
    out.push_back(s);
  }
  return out;
}

// Multiply-adds that take as long as streaming the filter does, by its size: rates of
// model::Machine, which knows more of the machine than a rule may.
double stream_cost(const CookToomRule& rule, double bytes) {
  constexpr double kL2 = 1e6, kL3 = 32e6, kL3Rate = 20, kMemoryRate = 7;
  const double multiply_adds = 2.0 * rule.lanes;  // a cycle
  if (bytes <= kL2) return 0;
  return bytes / (bytes <= kL3 ? kL3Rate : kMemoryRate) * multiply_adds;
}

// Multiply-adds of one image, with those of the transforms at their cost.
double cost_of(const CookToomRule& rule, const Algorithm& algorithm) {
  const double k = static_cast<double>(rule.sum.vector_extent),
               c = static_cast<double>(rule.sum.channel_extent);
  double products = k * c, inputs = c, outputs = k, operations = 0, weights = 4 * k * c;
  for (const Shape& s : shapes_of(rule, algorithm)) {
    products *= s.tiles * s.positions * s.taps;
    inputs *= s.elements;
    outputs *= s.tiles * s.positions;
    weights *= s.filter_positions;
    if (s.tile > 1) operations += 2;  // for each element, about
  }
  const double stream = stream_cost(rule, weights);
  return std::max(products, stream) + kHiddenShare * std::min(products, stream) +
         kTransformCost * operations * (inputs + outputs);
}

struct Tile {
  std::int64_t v = 1, p0 = 1, p1 = 1;
};

// The register tile that wastes least and loads little; start_of_tile in register_tile.cpp has the
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

}  // namespace

void set_start(const CookToomRule& rule, const std::vector<Knob>& knobs,
               std::vector<std::int64_t>& start) {
  // Between row-major tensors, lanes along the vector axis scatter what they store.
  if (!rule.prepared.view.contract.free_layout) return;
  std::size_t chosen = 0;
  double least = kWorthIt * cost_of(rule, rule.algorithms[0]);
  for (std::size_t i = 1; i < rule.algorithms.size(); ++i)
    if (const double cost = cost_of(rule, rule.algorithms[i]); cost < least) {
      least = cost;
      chosen = i;
    }
  const auto set = [&](int knob, std::int64_t value) {
    if (knob >= 0) start[static_cast<std::size_t>(knob)] = value;
  };
  set(rule.at.algorithm, static_cast<std::int64_t>(chosen));
  if (chosen == 0) return;
  const std::vector<Shape> shapes = shapes_of(rule, rule.algorithms[chosen]);
  const Tile tile = best_tile(rule, knobs, shapes);
  set(rule.at.tile_v, tile.v);
  set(rule.at.tile_p0, tile.p0);
  set(rule.at.tile_p1, tile.p1);
  set(rule.at.unroll, 2);
  set(rule.at.prefetch, 16384);
  double inputs = static_cast<double>(rule.sum.channel_extent),
         outputs = static_cast<double>(rule.sum.vector_extent);
  for (const Shape& s : shapes) {
    inputs *= s.elements;
    outputs *= s.tiles * s.positions;
  }
  const double row = 4 * (inputs + outputs) / shapes[0].tiles;
  double rows = std::max(1.0, std::floor(kScratchBytes / row));
  const double threads = rule.target.threads;
  if (threads > 1) rows = std::min(rows, std::max(1.0, std::floor(shapes[0].tiles / threads)));
  set(rule.at.block_t, static_cast<std::int64_t>(std::min(rows, shapes[0].tiles)));
  if (rule.at.block_v >= 0)
    set(rule.at.block_v, knobs[static_cast<std::size_t>(rule.at.block_v)].values.back());
}

}  // namespace lathe::space
