#include "tuner/space/rules/tile/tile_sharing.h"

#include <algorithm>
#include <span>
#include <tuple>

#include "tuner/space/costs.h"
#include "tuner/space/rules/rows/row_group.h"
#include "tuner/space/rules/shared/stage_cost.h"
#include "tuner/space/rules/tile/shared_tile.h"

namespace lathe::space {
namespace {

constexpr double kStays = 2 * kL1 / 3;  // what is there as it lies needs no copy

class TileSharing {
 public:
  TileSharing(const TileRule& rule, std::vector<std::int64_t>& start, double slowness)
      : rule_(rule), axes_(rule.axes[0]), start_(start), tile_(rule, start, slowness) {}

  SharedCost share() {
    for (const SharedLoop loops : rule_.shared_loops)
      for (const Packing w : packings(rule_.at.pack_w, rule_.weight_packings, axes_.weights))
        for (const Packing x : packings(rule_.at.pack_x, rule_.input_packings, axes_.input))
          consider(loops, w, x);
    const Choice best = simplest();
    choose(rule_.at.parallel, rule_.shared_loops, best.loops);
    choose(rule_.at.pack_w, rule_.weight_packings, best.weights);
    choose(rule_.at.pack_x, rule_.input_packings, best.input);
    set(rule_.at.order, best.order);
    set(rule_.at.block_v, best.block_v);
    set(rule_.at.block_p, best.block_p);
    set(rule_.at.block_q, best.block_q);
    return {best.cycles, best.loops == SharedLoop::kNone ? 0 : tile_.shared_rest()};
  }

 private:
  struct Choice : SharedChoice {
    double cycles = 1e300;
    std::int64_t parts = 1;
  };

  void set(int knob, std::int64_t value) {
    if (knob >= 0) start_[static_cast<std::size_t>(knob)] = value;
  }
  template <class Choices>
  void choose(int knob, const std::vector<Choices>& choices, const Choices& wanted) {
    const auto found = std::ranges::find(choices, wanted);
    if (found != choices.end()) set(knob, found - choices.begin());
  }
  std::int64_t value(int knob) const {
    return knob < 0 ? 1 : start_[static_cast<std::size_t>(knob)];
  }

  // The knob's values up to the first that makes one block, where threads share the axis.
  std::vector<std::int64_t> blocks_of(int knob, SharedLoop loops) const {
    std::vector<std::int64_t> out;
    for (const TileAxis axis : shared_axes(loops))
      for (const BlockedAxis& each : tile_.blocked(axis)) {
        if (each.knob != knob || knob < 0) continue;
        for (const std::int64_t block : rule_.knobs[static_cast<std::size_t>(knob)].values) {
          out.push_back(block);
          if (tile_.blocks(each, block).parts() == 1) break;
        }
      }
    return out.empty() ? std::vector{value(knob)} : out;
  }

  // As it is, or not or once for all instead of block by block.
  std::vector<Packing> packings(int knob, const std::vector<Packing>& choices,
                                const ir::Read* operand) const {
    if (knob < 0) return {Packing::kNone};
    std::vector<Packing> out = {choices[static_cast<std::size_t>(value(knob))]};
    if (out[0] != Packing::kBlock || operand == nullptr) return out;
    const te::Tensor& tensor = rule_.workload.tensors[static_cast<std::size_t>(operand->tensor)];
    if (operand == axes_.weights && bytes_of(tensor) <= kStays &&
        operand->index.back() == ir::Affine::iter(axes_.vector))
      out.push_back(Packing::kNone);
    out.push_back(Packing::kWhole);
    std::erase_if(out, [&](Packing p) { return std::ranges::count(choices, p) == 0; });
    return out;
  }

  // The order with these loops outside and the tiles in the order they have; -1: there is none.
  std::int64_t order_for(SharedLoop loops) const {
    const std::vector<TileAxis> axes = shared_axes(loops);
    const auto chosen = static_cast<std::size_t>(value(rule_.at.order));
    const auto fits = [&](const LoopOrder& order) {
      return order.tiles == rule_.orders[chosen].tiles && order.blocks.size() >= axes.size() &&
             std::ranges::is_permutation(std::span(order.blocks).first(axes.size()), axes);
    };
    if (axes.empty() || fits(rule_.orders[chosen])) return static_cast<std::int64_t>(chosen);
    const auto found = std::ranges::find_if(rule_.orders, fits);
    return found == rule_.orders.end() ? -1 : found - rule_.orders.begin();
  }

  void consider(SharedLoop loops, Packing w, Packing x) {
    SharedChoice next{loops, w, x, order_for(loops), 1, 1, value(rule_.at.block_q)};
    if (next.order < 0) return;
    const std::vector<std::int64_t> inner = inner_blocks(loops, tile_.parts(next));
    for (const std::int64_t bv : blocks_of(rule_.at.block_v, loops))
      for (const std::int64_t bp : blocks_of(rule_.at.block_p, loops))
        for (const std::int64_t bq : inner) {
          next.block_v = bv, next.block_p = bp, next.block_q = bq;
          choices_.push_back({next, tile_.cycles(next), tile_.parts(next)});
        }
  }

  // Of the inner pixel axis: as they are, or any where there are few parts otherwise.
  std::vector<std::int64_t> inner_blocks(SharedLoop loops, std::int64_t most) const {
    constexpr std::int64_t kFew = 4;
    std::vector<std::int64_t> blocks = {value(rule_.at.block_q)};
    if (most < kFew * rule_.target.threads)
      for (const std::int64_t block : blocks_of(rule_.at.block_q, loops))
        if (block != blocks[0]) blocks.push_back(block);
    return blocks;
  }

  // Of what is about as good as the best: few loops, the vectors' before the pixels'; then copies
  // as they are, and large blocks.
  Choice simplest() const {
    LATHE_CHECK(!choices_.empty(), "nothing can be shared");
    const auto least = [&](int rank) {
      double cycles = 1e300;
      for (const Choice& c : choices_)
        if (rank < 0 || rank_of(c.loops) == rank) cycles = std::min(cycles, c.cycles);
      return cycles;
    };
    int simple = 0;
    while (least(simple) > kAlike * least(-1)) ++simple;
    const double most = kAlike * least(simple);
    return std::ranges::min(choices_, {}, [&](const Choice& c) {
      return std::tuple(rank_of(c.loops) != simple || c.cycles > most,
                        c.weights != choices_[0].weights, c.input != choices_[0].input, c.parts,
                        c.cycles);
    });
  }
  static int rank_of(SharedLoop loops) {
    switch (loops) {
      case SharedLoop::kNone: return 0;
      case SharedLoop::kBatch: return 1;
      case SharedLoop::kVectorBlocks:
      case SharedLoop::kBatchAndVectors: return 2;
      case SharedLoop::kPixelBlocks:
      case SharedLoop::kBatchAndPixels: return 3;
      case SharedLoop::kVectorsAndPixels:
      case SharedLoop::kAll: return 4;
      case SharedLoop::kReduction: return 5;
    }
    LATHE_CHECK(false, "a shared loop has no rank");
  }

  const TileRule& rule_;
  const Axes& axes_;
  std::vector<std::int64_t>& start_;
  SharedTile tile_;
  std::vector<Choice> choices_;
};

}  // namespace

SharedCost choose_shared_loops(const TileRule& rule, double slowness,
                               std::vector<std::int64_t>& start) {
  return TileSharing(rule, start, slowness).share();
}

}  // namespace lathe::space
