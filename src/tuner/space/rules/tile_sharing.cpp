// Which loops threads share where a search of the register-tile rule starts.
#include <algorithm>
#include <span>

#include "tuner/space/rules/register_tile.h"
#include "tuner/space/rules/row_group.h"

namespace lathe::space {
namespace {

class TileSharing {
 public:
  TileSharing(const TileRule& rule, std::vector<std::int64_t>& start)
      : rule_(rule),
        axes_(rule.axes[0]),
        stage_(rule.workload.stages[static_cast<std::size_t>(axes_.stage)]),
        start_(start) {}

  // Threads share the outermost loop that gives each about as much to do: what they do alone is
  // then longest, and what is copied for a block is copied by one of them. Where none does, they
  // share two loops, or parts of the reduction.
  void share() {
    constexpr double kEven = 0.9;
    if (is_short()) return choose(SharedLoop::kNone);
    std::int64_t together = 1;  // iterations of the batch that are shared alone
    for (const int b : axes_.batch)
      if (together < kBlocksPerThread * rule_.target.threads) together *= extent(b);
    const std::int64_t along_v = tiles_along_vector(), along_p = tiles_along_pixels();
    const double batch = together == 1 ? 0 : evenness(together);
    const double v = evenness(along_v), p = axes_.pixels.empty() ? 0 : evenness(along_p);
    const double best = std::max({batch, v, p});
    if (best < kEven && share_two(best)) return;
    if (batch >= kEven || batch > std::max(v, p)) return choose(SharedLoop::kBatch);
    if (v >= std::min(p, kEven)) {
      share_one(SharedLoop::kVectorBlocks, SharedLoop::kBatchAndVectors, together);
      return share_in_blocks(rule_.at.block_v, along_v, along_v);
    }
    share_one(SharedLoop::kPixelBlocks, SharedLoop::kBatchAndPixels, together);
    share_in_blocks(rule_.at.block_p, along_p, rule_.at.block_p < 0 ? 1 : start_[rule_.at.block_p]);
  }

 private:
  void set(int knob, std::int64_t value) {
    if (knob >= 0) start_[static_cast<std::size_t>(knob)] = value;
  }
  void choose(SharedLoop wanted) {
    const auto found = std::ranges::find(rule_.shared_loops, wanted);
    if (found != rule_.shared_loops.end())
      set(rule_.at.parallel, found - rule_.shared_loops.begin());
  }
  std::int64_t extent(int iter) const { return extent_of(rule_, axes_, iter); }
  std::vector<std::int64_t> values(int knob) const {
    return knob < 0 ? std::vector<std::int64_t>{1}
                    : rule_.knobs[static_cast<std::size_t>(knob)].values;
  }
  // How many tiles of the size that a knob says, times `unit`, there are along an axis.
  std::int64_t tiles(int iter, int knob, std::int64_t unit = 1) const {
    const std::int64_t tile = (knob < 0 ? 1 : start_[static_cast<std::size_t>(knob)]) * unit;
    return (extent(iter) + tile - 1) / tile;
  }
  std::int64_t tiles_along_vector() const {
    return tiles(axes_.vector, rule_.at.tile_v, rule_.lanes);
  }

  // The most that one of the threads gets of n things, in blocks that follow each other (Pool).
  std::int64_t largest_share(std::int64_t n, std::int64_t block) const {
    const std::int64_t blocks = (n + block - 1) / block, threads = rule_.target.threads;
    std::int64_t most = 0;
    for (std::int64_t t = 0; t < threads; ++t)
      most = std::max(most, std::min(n, blocks * (t + 1) / threads * block) -
                                std::min(n, blocks * t / threads * block));
    return most;
  }
  double evenness(std::int64_t n) const {
    return static_cast<double>(n) / static_cast<double>(rule_.target.threads * largest_share(n, 1));
  }

  // The largest blocks of at most `most` tiles with which every thread has about as much to do.
  void share_in_blocks(int knob, std::int64_t tiles, std::int64_t most) {
    constexpr double kNearlyEven = 1.05;
    std::int64_t chosen = 1;
    for (const std::int64_t block : values(knob))
      if (block <= most && static_cast<double>(largest_share(tiles, block)) <=
                               kNearlyEven * static_cast<double>(largest_share(tiles, 1)))
        chosen = block;
    set(knob, chosen);
  }

  // True if one thread is done before another has begun: 6,400 elements of a map take 0.7 us alone
  // and 1.1 with two threads.
  bool is_short() const {
    constexpr double kCycles = 3000, kOfAMap = 4;  // about 1 us; cycles for a vector
    const double each = stage_.reduce == ir::ReduceOp::kNone ? kOfAMap : 1;
    return each * cycles_alone() < kCycles;
  }

  std::int64_t tiles_along_pixels() const {
    if (axes_.pixels.empty()) return 1;
    return tiles(axes_.pixels.back(),
                 axes_.pixels.size() > 1 ? rule_.at.tile_p1 : rule_.at.tile_p0);
  }

  // Together with the batch, if there is one: then threads meet once for all of it.
  void share_one(SharedLoop alone, SharedLoop with_batch, std::int64_t batch) {
    const bool offered = std::ranges::count(rule_.shared_loops, with_batch) > 0;
    if (!offered || batch == 1 || order_for(with_batch) < 0) return choose(alone);
    choose(with_batch);
    set(rule_.at.order, order_for(with_batch));
  }

  // A way to share several loops, and how evenly that is.
  struct Sharing {
    SharedLoop loops = SharedLoop::kNone;
    std::int64_t block_v = 1, block_p = 1;  // tiles
    double evenness = 0;
    std::int64_t block() const { return block_v * block_p; }
  };

  // The best way with blocks of these two knobs; the largest blocks of those that are about as
  // good.
  Sharing best_sharing() const {
    constexpr double kAsGood = 1.02;
    Sharing best;
    for (const SharedLoop loops : rule_.shared_loops) {
      const std::vector<TileAxis> axes = shared_axes(loops);
      const bool batch = shares_batch(loops);
      if (axes.size() + (batch ? 1 : 0) < 2 || order_for(loops) < 0) continue;
      for (const std::int64_t bv : blocks_of(rule_.at.block_v, axes, TileAxis::kVector))
        for (const std::int64_t bp : blocks_of(rule_.at.block_p, axes, TileAxis::kPixels)) {
          const Sharing next{loops, bv, bp, evenness_of(axes, batch, bv, bp)};
          const bool as_good = next.evenness * kAsGood >= best.evenness;
          if (next.evenness > best.evenness * kAsGood || (as_good && next.block() > best.block()))
            best = next;
        }
    }
    return best;
  }
  std::vector<std::int64_t> blocks_of(int knob, const std::vector<TileAxis>& axes,
                                      TileAxis axis) const {
    if (knob < 0 || std::ranges::count(axes, axis) == 0) return {1};
    return rule_.knobs[static_cast<std::size_t>(knob)].values;
  }
  double evenness_of(const std::vector<TileAxis>& axes, bool batch, std::int64_t block_v,
                     std::int64_t block_p) const {
    std::int64_t tasks = 1, tiles = 1, most = 1;
    for (const int b : axes_.batch)
      if (batch) tasks *= extent(b), tiles *= extent(b);
    for (const TileAxis axis : axes) {
      const bool v = axis == TileAxis::kVector;
      const std::int64_t along = v ? tiles_along_vector() : tiles_along_pixels();
      const std::int64_t block = std::min(along, v ? block_v : block_p);
      tasks *= (along + block - 1) / block;
      tiles *= along;
      most *= block;
    }
    const std::int64_t threads = rule_.target.threads;
    const std::int64_t turns = (tasks + threads - 1) / threads;
    return static_cast<double>(tiles) / static_cast<double>(threads * turns * most);
  }

  // The number of the order with these loops outside and the tiles in the order they have; -1:
  // there is none.
  std::int64_t order_for(SharedLoop loops) const {
    const std::vector<TileAxis> axes = shared_axes(loops);
    const auto chosen = static_cast<std::size_t>(start_[static_cast<std::size_t>(rule_.at.order)]);
    const auto fits = [&](const LoopOrder& order) {
      return order.tiles == rule_.orders[chosen].tiles && order.blocks.size() >= axes.size() &&
             std::ranges::is_permutation(std::span(order.blocks).first(axes.size()), axes);
    };
    if (fits(rule_.orders[chosen])) return static_cast<std::int64_t>(chosen);
    const auto found = std::ranges::find_if(rule_.orders, fits);
    return found == rule_.orders.end() ? -1 : found - rule_.orders.begin();
  }

  // Cycles of one thread, in vectors and about.
  double cycles_alone() const {
    double iterations = 1;
    for (const te::Iterator& it : stage_.iters) iterations *= static_cast<double>(it.extent);
    return iterations / static_cast<double>(rule_.lanes);
  }

  // Cycles of parts of the reduction: the last pass reads and writes what each part has made.
  double cycles_in_parts(const std::int64_t terms) const {
    constexpr double kMeet = 1000;  // the threads, once more
    const std::int64_t threads = rule_.target.threads,
                       parts = (terms + rule_.part - 1) / rule_.part;
    const double results = cycles_alone() / static_cast<double>(terms);
    const double even = static_cast<double>(terms) / static_cast<double>(threads * rule_.part);
    return cycles_alone() / (static_cast<double>(threads) * even) +
           2 * results * static_cast<double>(parts + 1) / static_cast<double>(threads) + kMeet;
  }

  // False if one loop alone, with this evenness, is as good.
  bool share_two(double alone) {
    constexpr double kBetter = 1.1;
    const Sharing two = best_sharing();
    const auto threads = static_cast<double>(rule_.target.threads);
    const double evenness = std::max(alone, two.evenness);
    if (rule_.part > 0 &&
        kBetter * cycles_in_parts(extent(axes_.reduce)) < cycles_alone() / (threads * evenness)) {
      choose(SharedLoop::kReduction);
      return true;
    }
    if (two.evenness < kBetter * alone) return false;
    choose(two.loops);
    set(rule_.at.order, order_for(two.loops));
    const std::vector<TileAxis> axes = shared_axes(two.loops);
    if (std::ranges::count(axes, TileAxis::kVector) > 0) set(rule_.at.block_v, two.block_v);
    if (std::ranges::count(axes, TileAxis::kPixels) > 0) set(rule_.at.block_p, two.block_p);
    return true;
  }

  const TileRule& rule_;
  const Axes& axes_;
  const te::Stage& stage_;
  std::vector<std::int64_t>& start_;
};

}  // namespace

void choose_shared_loops(const TileRule& rule, std::vector<std::int64_t>& start) {
  TileSharing(rule, start).share();
}

}  // namespace lathe::space
