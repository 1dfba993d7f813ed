#include "compiler/schedule/steps/neighbour_sum.h"

#include <algorithm>

#include <fmt/format.h>

#include "compiler/schedule/edit.h"

namespace lathe::schedule {
namespace {

// Finds the two reads; which of them is the input is not known yet.
StepResult<void> check_block(const ir::Nest& nest, const CookToom& step, NeighbourSum& sum) {
  const ir::Block& block = nest.blocks[sum.block];
  if (step.taps.empty() || step.taps.size() != step.tiles.size())
    return refuse(Refusal::kBadTile, fmt::format("{}: {} taps, {} tiles", step.block,
                                                 step.taps.size(), step.tiles.size()));
  if (block.reduce != ir::ReduceOp::kSum || !is_float(block.body->dtype))
    return refuse(Refusal::kNotAReduction, step.block);
  if (!has_first_loops(nest, sum.block)) return refuse(Refusal::kNotAsWritten, step.block);
  const auto* product = std::get_if<ir::Binary>(&block.body->value);
  if (product == nullptr || product->op != ir::BinaryOp::kMul)
    return refuse(Refusal::kNoNeighbours, step.block);
  sum.input = std::get_if<ir::Read>(&product->a->value);
  sum.filter = std::get_if<ir::Read>(&product->b->value);
  if (sum.input == nullptr || sum.filter == nullptr)
    return refuse(Refusal::kNoNeighbours, step.block);
  for (const ir::Affine& row : block.index)
    if (row.offset != 0 || plain_iter(row) < 0) return refuse(Refusal::kBadLayout, step.block);
  return {};
}

StepResult<void> find_axis(const ir::Nest& nest, const std::string& tap, std::int64_t tile,
                           NeighbourSum& sum) {
  const ir::Block& block = nest.blocks[sum.block];
  const auto extent = [&](int i) { return nest.sizes.constant_value(block.iters[i].extent); };
  const auto found = std::ranges::find(block.iters, tap, &ir::BlockIter::name);
  if (found == block.iters.end())
    return refuse(Refusal::kNoSuchLoop, fmt::format("{}.{}", block.name, tap));
  if (found->kind != ir::IterKind::kReduce) return refuse(Refusal::kNoNeighbours, tap);
  const auto number = static_cast<int>(found - block.iters.begin());
  auto known = analysis::neighbours_of(*sum.input, *sum.filter, number);
  if (!known && sum.axes.empty()) {
    std::swap(sum.input, sum.filter);
    known = analysis::neighbours_of(*sum.input, *sum.filter, number);
  }
  if (!known) return refuse(Refusal::kNoNeighbours, tap);
  NeighbourAxis axis{*known, number};
  if (block.iters[axis.result].kind != ir::IterKind::kSpatial ||
      std::ranges::any_of(sum.axes, [&](const NeighbourAxis& a) { return a.tap == axis.tap; }))
    return refuse(Refusal::kNoNeighbours, tap);
  if (sum.input->pad.value_or(0) != 0 || sum.filter->pad.value_or(0) != 0)
    return refuse(Refusal::kNoNeighbours, tap);
  axis.taps = extent(axis.tap);
  axis.strands = cook_toom::strands_of(axis.stride, axis.tap_step());
  axis.residues = cook_toom::residues_of(axis.taps, axis.strands.inner_stride);
  const std::int64_t own =
      nest.sizes.constant_value(nest.buffers[sum.filter->tensor].shape[axis.filter_dim]);
  if (!axis.residues.may_use(axis.taps, own)) return refuse(Refusal::kNoNeighbours, tap);
  if (tile < 1 || tile + axis.residues.taps - 1 > cook_toom::kMostPositions)
    return refuse(Refusal::kBadTile,
                  fmt::format("{}, {} taps by tiles of {}", tap, axis.residues.taps, tile));
  axis.tile = tile;
  axis.positions = tile + axis.residues.taps - 1;
  axis.results = extent(axis.result);
  axis.tiles = (axis.strands.longest(axis.results) + tile - 1) / tile;
  axis.matrices = cook_toom::matrices(static_cast<int>(tile), static_cast<int>(axis.residues.taps));
  if (axis.strands.several()) axis.moved_by.push_back({-1, axis.strands.count, axis.stride});
  for (const ir::AffineTerm& shift : axis.shifts) {
    if (block.iters[shift.iter].kind != ir::IterKind::kSpatial)
      return refuse(Refusal::kNoNeighbours, tap);
    axis.moved_by.push_back({shift.iter, extent(shift.iter), shift.coef});
  }
  axis.low = axis.start();
  for (const NeighbourAxis::Shift& shift : axis.moved_by)
    axis.low += std::min<std::int64_t>(0, shift.step * (shift.extent - 1));
  sum.axes.push_back(std::move(axis));
  return {};
}

}  // namespace

StepResult<NeighbourSum> neighbour_sum(const ir::Nest& nest, const CookToom& step) {
  NeighbourSum sum;
  sum.block = LATHE_TRY(block_named(nest, step.block));
  if (auto fits = check_block(nest, step, sum); !fits) return std::unexpected(fits.error());
  for (std::size_t a = 0; a < step.taps.size(); ++a)
    if (auto known = find_axis(nest, step.taps[a], step.tiles[a], sum); !known)
      return std::unexpected(known.error());
  return sum;
}

}  // namespace lathe::schedule
