#include "tuner/space/rules/cook_toom/work.h"

#include <algorithm>
#include <cmath>

namespace lathe::space {
namespace {

// True if lanes of the input's transform are far apart in the input.
bool has_lanes_apart(const CookToomRule& rule) {
  const auto& layouts = rule.layouts;
  const auto own = std::ranges::find(layouts, rule.sum.input, &schedule::Layout::buffer);
  const int innermost = own == layouts.end() || own->layout.empty() ? rule.sum.input_dims - 1
                                                                    : own->layout.back().dim;
  return innermost != rule.sum.input_channels;
}

}  // namespace

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

// As measured on a Zen 4 with 64 to 256 channels of 56x56 to 128x128 (bench/results/models.md).
double scratch_cycles(const Work& work, double blocks) {
  constexpr double kEach = 0.4;    // cycles a byte, once a block has
  constexpr double kBeyond = 6e6;  // so many more than fit
  const double all = 4 * (work.inputs + work.outputs);
  const double more = all / blocks - kScratchShare * kL2;
  return all * kEach * std::clamp(more / kBeyond, 0.0, 1.0);
}

bool fits(const ProductTile& tile, const CookToomRule& rule) {
  return tile.p0 * tile.p1 * tile.v + tile.v + 1 <= rule.target.vector_registers;
}

double slowness(const ProductTile& tile) {
  const auto pixels = static_cast<double>(tile.p0 * tile.p1), v = static_cast<double>(tile.v);
  return std::max(1.0, (1 / v + 1 / pixels) / 0.75) * (1 + 1 / (pixels * v));
}

double waste(double extent, std::int64_t tile) {
  return std::ceil(extent / static_cast<double>(tile)) * static_cast<double>(tile) / extent;
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

}  // namespace lathe::space
