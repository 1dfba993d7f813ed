#include "tuner/space/rules/tile/shared_tile.h"

#include <algorithm>

#include "tuner/space/costs.h"
#include "tuner/space/rules/rows/row_group.h"
#include "tuner/space/rules/shared/consumers.h"
#include "tuner/space/rules/shared/stage_cost.h"

namespace lathe::space {
namespace {

// An element that is packed costs as much as so many multiply-adds; a copy of the whole goes
// through a further cache, and comes back.
constexpr double kPackingCost = 8, kWholeCost = 1.25;
constexpr double kUnpacked = 1.005;   // without a copy that is not needed it takes so much less
constexpr double kKeptShare = 0.5;    // of the second cache, for what a part reads of an operand
constexpr double kMapCycles = 30;     // around a block of a map
constexpr double kOtherOrder = 1.03;  // another order of loops than one thread has takes so long
constexpr double kWorthParts = 1.1;   // parts of a reduction must promise so much

}  // namespace

SharedTile::SharedTile(const TileRule& rule, const std::vector<std::int64_t>& start,
                       double slowness)
    : rule_(rule),
      axes_(rule.axes[0]),
      stage_(rule.workload.stages[static_cast<std::size_t>(axes_.stage)]),
      start_(start),
      threads_(rule.target.threads) {
  for (const te::Stage& stage : rule.workload.stages)
    if (const double cycles = cycles_of(rule.workload, stage, rule.lanes); &stage != &stage_) {
      rest_ += cycles;
      // A map of the tile's results, element by element, runs on the tile.
      const bool fused =
          stage_.reduce != ir::ReduceOp::kNone && maps_element_by_element(stage, stage_.tensor);
      others_ += cycles > 0 && !fused ? 1 : 0;
    } else {
      alone_ = cycles * slowness;
    }
  for (const ir::Read* read : ir::reads_of(stage_.body)) note_operand(*read);
}

void SharedTile::note_operand(const ir::Read& read) {
  const te::Tensor& tensor = rule_.workload.tensors[static_cast<std::size_t>(read.tensor)];
  const double elements = elements_of(tensor);
  operands_.push_back({&read, elements, elements * size_of(tensor.dtype), tensor.constant});
  bytes_ += operands_.back().bytes;
}

std::vector<BlockedAxis> SharedTile::blocked(TileAxis axis) const {
  const TileKnobs& at = rule_.at;
  if (axis == TileAxis::kVector)
    return {{axes_.vector, at.block_v, value(at.tile_v) * rule_.lanes}};
  if (axes_.pixels.empty() || axis == TileAxis::kReduction) return {};
  if (axes_.pixels.size() < 2) return {{axes_.pixels[0], at.block_p, value(at.tile_p0)}};
  return {{axes_.pixels[1], at.block_p, value(at.tile_p1)},
          {axes_.pixels[0], at.block_q, value(at.tile_p0)}};
}

SharedAxis SharedTile::blocks(const BlockedAxis& axis, std::int64_t block) const {
  const std::int64_t all = extent(axis.iter);
  return {all, std::min(all, block * axis.tile)};
}

SharedAxis SharedTile::blocks(const BlockedAxis& axis, const SharedChoice& choice) const {
  const TileKnobs& at = rule_.at;
  if (axis.knob < 0) return {extent(axis.iter), extent(axis.iter)};
  return blocks(axis, axis.knob == at.block_v   ? choice.block_v
                      : axis.knob == at.block_p ? choice.block_p
                                                : choice.block_q);
}

std::vector<SharedTile::Loop> SharedTile::shared(const SharedChoice& choice) const {
  std::vector<Loop> loops;
  std::int64_t parts = 1;
  if (choice.loops == SharedLoop::kReduction) {
    loops.push_back({axes_.reduce, {extent(axes_.reduce), rule_.part}});
    parts = loops.back().blocks.parts();
  }
  for (const int b : shared_batch(rule_, axes_, choice.loops, parts))
    loops.push_back({b, {extent(b), 1}});
  const std::vector<TileAxis> axes = shared_axes(choice.loops);
  for (const TileAxis axis : rule_.orders[static_cast<std::size_t>(choice.order)].blocks)
    if (std::ranges::count(axes, axis) > 0)
      for (const BlockedAxis& each : blocked(axis))
        loops.push_back({each.iter, blocks(each, choice)});
  return loops;
}

std::vector<SharedAxis> SharedTile::axes_of(std::span<const Loop> loops) {
  std::vector<SharedAxis> axes;
  for (const Loop& loop : loops) axes.push_back(loop.blocks);
  return axes;
}

double SharedTile::cycles(const SharedChoice& choice) const {
  const std::vector<Loop> loops = shared(choice);
  if (loops.empty())
    return beside(alone_, moving(loops, 1, 1)) + rest_ + copies_by_block(choice, 1) +
           copies_of_all(choice);
  const std::vector<SharedAxis> axes = axes_of(loops);
  double tails = 1;
  std::int64_t blocks = 1;  // of the axes of the tile
  for (const Loop& loop : loops) {
    if (loop.blocks.count % loop.blocks.block != 0) tails *= kTail;
    if (std::ranges::count(axes_.batch, loop.iter) == 0) blocks *= loop.blocks.parts();
  }
  const double share = busiest_share(axes, threads_), regions = regions_of(choice.loops);
  const std::int64_t parts = parts_of(axes), own = (parts + threads_ - 1) / threads_;
  // Other stages have phases of their own.
  const auto used =
      others_ > 0 ? threads_ : static_cast<int>(std::min<std::int64_t>(threads_, parts));
  const double most =
      beside(alone_ * share * tails * unpacked(choice), moving(loops, own, threads_)) +
      copies_by_block(choice, share);
  double time = start_cycles(used) + (regions - 1) * meet_cycles(used) +
                most * (1 + kLate / static_cast<double>(own)) + copies_of_all(choice);
  const bool reduces = stage_.reduce != ir::ReduceOp::kNone;
  if (blocks > 1)
    time += (reduces ? kBlockCycles : kMapCycles) * regions * static_cast<double>(own);
  if (choice.order != value(rule_.at.order)) time += (kOtherOrder - 1) * most;
  time += shared_rest();
  return choice.loops == SharedLoop::kReduction ? kWorthParts * (time + last_pass()) : time;
}

double SharedTile::shared_rest() const {
  return rest_ / threads_ + others_ * meet_cycles(threads_);
}

// Without the copy that the start had, of what stays in the first cache.
double SharedTile::unpacked(const SharedChoice& choice) const {
  if (rule_.at.pack_w < 0 || choice.weights != Packing::kNone) return 1;
  const auto now = static_cast<std::size_t>(value(rule_.at.pack_w));
  return rule_.weight_packings[now] == Packing::kNone ? 1 : kUnpacked;
}

// How often threads meet: once for each iteration of a batch that is not shared.
double SharedTile::regions_of(SharedLoop loops) const {
  double regions = 1;
  for (const int b : axes_.batch)
    if (!shares_batch(loops)) regions *= static_cast<double>(extent(b));
  return regions;
}

// Bytes of the operands that a thread with so many parts reads, as cycles: what of an operand the
// second cache does not keep comes again for each part.
double SharedTile::moving(const std::vector<Loop>& loops, std::int64_t own, int threads) const {
  double bytes = 0;
  for (const Operand& operand : operands_) {
    const double of_part = operand.bytes * reached(*operand.read, loops, 1);
    const double once = operand.bytes * reached(*operand.read, loops, static_cast<double>(own));
    bytes += of_part > kKeptShare * kL2 ? of_part * static_cast<double>(own) : once;
  }
  const double rate =
      bytes_ > kL3 ? kMemoryRate * share_of_memory(threads) : kL3Rate * share_of_l3(threads);
  return bytes / rate;
}

// The share of an operand that so many parts read which follow each other.
double SharedTile::reached(const ir::Read& read, std::span<const Loop> loops, double parts) {
  if (loops.empty()) return 1;
  double inside = 1;
  for (const Loop& loop : loops.subspan(1)) inside *= static_cast<double>(loop.blocks.parts());
  const double inner = reached(read, loops.subspan(1), std::min(parts, inside));
  if (!touches(read.index, loops[0].iter)) return inner;
  return inner * std::max(1.0, parts / inside) / static_cast<double>(loops[0].blocks.parts());
}

// Cycles to copy an operand once, in one thread; 0 if it is copied otherwise, or in prepare().
double SharedTile::copy(Packing packing, Packing wanted, const ir::Read* read) const {
  const auto operand = std::ranges::find(operands_, read, &Operand::read);
  if (packing != wanted || operand == operands_.end() || operand->constant) return 0;
  return kPackingCost * operand->elements / (2.0 * rule_.lanes);
}

// Of the thread that copies most.
double SharedTile::copies_by_block(const SharedChoice& choice, double share) const {
  double cycles = 0;
  if (const double w = copy(choice.weights, Packing::kBlock, axes_.weights); w > 0)
    cycles += w * share * again(choice, *axes_.weights, TileAxis::kVector);
  if (const double x = copy(choice.input, Packing::kBlock, axes_.input); x > 0)
    cycles += x * share * again(choice, *axes_.input, TileAxis::kPixels);
  return cycles;
}

double SharedTile::copies_of_all(const SharedChoice& choice) const {
  double cycles = 0;
  const int threads = choice.loops == SharedLoop::kNone ? 1 : threads_;
  for (const double one : {copy(choice.weights, Packing::kWhole, axes_.weights),
                           copy(choice.input, Packing::kWhole, axes_.input)})
    if (one > 0) cycles += kWholeCost * one / threads + meet_cycles(threads);
  return cycles;
}

// How often an operand is copied block by block: once for each of the blocks outside that do not
// move it.
double SharedTile::again(const SharedChoice& choice, const ir::Read& read, TileAxis own) const {
  double times = 1;
  for (const int b : axes_.batch)
    if (!touches(read.index, b)) times *= static_cast<double>(extent(b));
  const std::vector<TileAxis> shared = shared_axes(choice.loops);
  double outside = 1, so_far = 1;
  bool moves = false;
  for (const TileAxis axis : rule_.orders[static_cast<std::size_t>(choice.order)].blocks) {
    if (axis != own)
      for (const BlockedAxis& each : blocked(axis))
        so_far *= static_cast<double>(blocks(each, choice).parts());
    const bool inner = axis == own || axis == TileAxis::kReduction;
    moves = moves || inner;
    if (inner || (moves && shared.size() > 1 && std::ranges::count(shared, axis) > 0))
      outside = so_far;
  }
  return times * outside;
}

// The last pass reads and writes what each part of the reduction has made.
double SharedTile::last_pass() const {
  const std::int64_t terms = extent(axes_.reduce), parts = (terms + rule_.part - 1) / rule_.part;
  double results = 1;
  for (const te::Iterator& it : stage_.iters)
    if (it.kind == te::IterKind::kSpatial) results *= static_cast<double>(it.extent);
  return 2 * results / rule_.lanes * static_cast<double>(parts + 1) / threads_ +
         meet_cycles(threads_);
}

std::int64_t SharedTile::parts(const SharedChoice& choice) const {
  return parts_of(axes_of(shared(choice)));
}

std::vector<int> shared_batch(const TileRule& rule, const Axes& axes, SharedLoop loop,
                              std::int64_t parts) {
  constexpr double kEven = 0.95;
  if (!shares_batch(loop)) return {};
  const bool all = !shared_axes(loop).empty();
  const int threads = rule.target.threads;
  std::vector<int> out;
  for (const int b : axes.batch) {
    const SharedAxis so_far{parts, 1};
    const bool even = busiest_share({&so_far, 1}, threads) * threads * kEven <= 1;
    if (!all && even && parts >= kBlocksPerThread * threads) break;
    if (parts == 1 && extent_of(rule, axes, b) == 1) continue;
    parts *= extent_of(rule, axes, b);
    out.push_back(b);
  }
  return out;
}

}  // namespace lathe::space
