#include "tuner/space/rules/cook_toom/threads.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include "tuner/space/costs.h"
#include "tuner/space/rules/cook_toom/work.h"
#include "tuner/space/rules/shared/busiest.h"

namespace lathe::space {
namespace {

using Values = std::vector<std::int64_t>;

constexpr double kProductCycles = 0.5;  // cycles of one in a vector
// Bytes a cycle of what other threads have made, which nothing hides: C2 with two threads and its
// whole input transformed before takes 193 us, by blocks of tiles 162.
constexpr double kOthersRate = 12;
// A start that transforms the whole input before must promise so much, and one that cuts rows of
// tiles: with two threads those that promised 1.08, and 1.05, took up to 1.1 times as long.
constexpr double kWholeInput = 1.15, kColumns = 1.04;

std::int64_t whole(double x) { return std::llround(x); }

// The cycles of the thread that does most, by what threads share.
class SharedCycles {
 public:
  // How the result is cut in blocks.
  struct Blocks {
    std::int64_t rows = 1, columns = 1, vectors = 1;
  };

  SharedCycles(const CookToomRule& rule, const std::vector<Knob>& knobs, const Algorithm& algorithm)
      : rule_(rule),
        knobs_(knobs),
        algorithm_(algorithm),
        shapes_(shapes_of(rule, algorithm)),
        work_(total_work(rule, shapes_)),
        threads_(rule.target.threads) {
    rows_ = whole(shapes_[0].tiles);
    columns_ = shapes_.size() > 1 ? whole(shapes_[1].tiles) : 1;
    vectors_ = (rule.sum.vector_extent + rule.lanes - 1) / rule.lanes;
    outer_ = rule.sum.outer_extent;
    for (const Shape& s : shapes_) {
      strands_ *= whole(s.strands);
      if (s.tile > 1) positions_ *= whole(s.positions);
      if (s.tile > 1) unlike_ *= std::ceil(s.taps) / s.taps;
    }
    for (const std::int64_t v : values(rule.at.tile_v))
      for (const std::int64_t p0 : values(rule.at.tile_p0))
        for (const std::int64_t p1 : values(rule.at.tile_p1))
          if (const ProductTile tile{v, p0, p1}; fits(tile, rule)) tiles_.push_back(tile);
  }

  struct Decision {
    double cycles = 1e300;
    TileShare share = TileShare::kTiles;
    Blocks blocks;
    ProductTile tile;
    InputCopy copy = InputCopy::kNone;
  };

  static bool shares_tiles(TileShare share) {
    return share == TileShare::kTiles || share == TileShare::kBatchAndTiles;
  }
  Decision best() {
    consider_positions();
    for (const std::int64_t rows : blocks_of(rule_.at.block_t, rows_))
      for (const std::int64_t columns : blocks_of(rule_.at.block_p0, columns_)) {
        consider_tiles({rows, columns, vectors_});
        for (const std::int64_t vectors : blocks_of(rule_.at.block_v, vectors_))
          consider_results({rows, columns, vectors});
      }
    // The largest blocks of what is about as good as the best.
    return std::ranges::min(decisions_, {}, [this](const Decision& p) {
      const std::int64_t block = p.blocks.rows * p.blocks.columns * p.blocks.vectors;
      return std::tuple(p.cycles > kAlike * least_, !shares_tiles(p.share),
                        p.blocks.columns < columns_, -block, p.cycles);
    });
  }

 private:
  Values values(int knob) const {
    return knob < 0 ? Values{1} : knobs_[static_cast<std::size_t>(knob)].values;
  }
  // The knob's values up to the first that makes one block of everything.
  Values blocks_of(int knob, std::int64_t all) const {
    Values out;
    if (knob < 0) return {all};
    for (const std::int64_t value : values(knob)) {
      out.push_back(std::min(value, all));
      if (value >= all) break;
    }
    return out;
  }
  double cycles(double multiply_adds) const { return multiply_adds / (2.0 * rule_.lanes); }
  double rate() const {
    return work_.weights <= kWeightsOfMemory ? kL3Rate * share_of_l3(threads_)
                                             : kMemoryRate * share_of_memory(threads_);
  }
  static double tail(std::int64_t count, std::int64_t block) {
    return count % block == 0 ? 1 : kTail;
  }
  double tails(const Blocks& b) const {
    return tail(rows_, b.rows) * tail(columns_, b.columns) * tail(vectors_, b.vectors);
  }
  double transform(double elements) const {
    return cycles(kTransformCost * work_.operations * elements);
  }

  // The tile with which products of such a block take least, and how much longer than at the peak.
  std::pair<ProductTile, double> best_tile(const Blocks& b) const {
    std::pair<ProductTile, double> found{{}, 1e300};
    const bool two = shapes_.size() > 1;
    const std::int64_t inner = two ? b.columns : b.rows, outer = two ? b.rows : 1;
    for (const ProductTile& tile : tiles_) {
      if (tile.p0 > inner || tile.p1 > outer || tile.v > b.vectors) continue;
      const auto sums = static_cast<double>(tile.v * tile.p0 * tile.p1);
      const double slow = std::max(slowness(tile), kLatency / (kProductCycles * sums)) *
                          waste(static_cast<double>(inner), tile.p0) *
                          waste(static_cast<double>(outer), tile.p1) *
                          waste(static_cast<double>(b.vectors), tile.v);
      if (slow < found.second) found = {tile, slow};
    }
    return found;
  }

  // Threads share blocks of tiles, of all images; each transforms the input of its own.
  void consider_tiles(const Blocks& b) {
    const std::array axes{SharedAxis{outer_, 1}, SharedAxis{rows_, b.rows},
                          SharedAxis{columns_, b.columns}};
    const auto all = static_cast<double>(outer_);
    const double share = busiest_share(axes, threads_);
    const double least = cycles(work_.products) * all * share;
    if (least >= least_) return;
    const double own = own_parts(axes);
    const double scratch = 4 * (work_.inputs + work_.outputs);
    const double block =
        static_cast<double>(b.rows * b.columns) / static_cast<double>(rows_ * columns_);
    double bytes = work_.weights * (work_.weights > kScratchShare * kL2 ? own : 1);
    if (scratch * block > kScratchShare * kL2) bytes += 2 * scratch * all * share;
    const auto [tile, slow] = best_tile(b);
    const double moved = bytes / rate() + work_.weights * own / kL2Rate;
    const double most = tails(b) * beside(least * slow, moved) +
                        transform(work_.inputs + work_.outputs) * all * share;
    const double time = start_cycles(used(axes)) + kBlockCycles * own + most * (1 + kLate / own);
    take({time, outer_ > 1 ? TileShare::kBatchAndTiles : TileShare::kTiles, b, tile,
          best_copy(rule_, algorithm_, shapes_, b.rows)});
  }

  // The input is transformed whole before; then threads share blocks of tiles and of results.
  void consider_results(const Blocks& b) {
    const std::array axes{SharedAxis{outer_, 1}, SharedAxis{vectors_, b.vectors},
                          SharedAxis{rows_, b.rows}, SharedAxis{columns_, b.columns}};
    const auto all = static_cast<double>(outer_);
    const double share = busiest_share(axes, threads_);
    const double least = cycles(work_.products) * all * share;
    if (least >= least_) return;
    const double own = own_parts(axes);
    const std::int64_t tile_blocks = axes[2].parts() * axes[3].parts();
    const double of_tiles = 1 / static_cast<double>(tile_blocks),
                 of_vectors = 1 / static_cast<double>(axes[1].parts());
    // Blocks of tiles follow each other: they read the same weights, and the next ones others.
    const double panels = std::ceil(own * of_tiles);
    const double panel = work_.weights * of_vectors, inputs = 4 * work_.inputs * of_tiles;
    double bytes = panel * (panel > kScratchShare * kL2 ? own : panels);
    const double kept = std::min(own, static_cast<double>(tile_blocks)) * inputs;
    const double read = (kept > kScratchShare * kL2 ? own * inputs : kept);
    const auto [tile, slow] = best_tile(b);
    const InputPhase input = best_input();
    const double most = tails(b) * beside(least * slow, bytes / rate()) + read / kOthersRate +
                        transform(work_.outputs) * all * share;
    const double time = start_cycles(used(axes)) + meet_cycles(threads_) + input.cycles +
                        kBlockCycles * own + most * (1 + kLate / own);
    take({time, outer_ > 1 ? TileShare::kAll : TileShare::kResultsAndTiles, b, tile, input.copy});
  }

  // Input and products are made whole, position by position; threads share all register tiles,
  // and then blocks of results.
  void consider_positions() {
    const auto [tile, slow] = best_tile({rows_, columns_, vectors_});
    const bool two = shapes_.size() > 1;
    const std::array axes{SharedAxis{outer_ * positions_, 1}, SharedAxis{vectors_, tile.v},
                          SharedAxis{strands_, 1}, SharedAxis{two ? rows_ : 1, tile.p1},
                          SharedAxis{two ? columns_ : rows_, tile.p0}};
    const auto all = static_cast<double>(outer_);
    const double share = busiest_share(axes, threads_);
    const double of_positions = std::max(share, 1 / static_cast<double>(outer_ * positions_));
    const double moved = 4 * all * (work_.inputs * of_positions + work_.outputs * share);
    const double products = beside(cycles(work_.products) * all * share * slow * unlike_,
                                   all * work_.weights * share / rate());
    const InputPhase input = best_input();
    for (const std::int64_t columns : blocks_of(rule_.at.block_p0, columns_)) {
      const Blocks b{1, columns, 1};
      const std::array results{SharedAxis{outer_, 1}, SharedAxis{vectors_, 1}, SharedAxis{rows_, 1},
                               SharedAxis{columns_, columns}};
      const double back = (transform(work_.outputs) + 4 * work_.outputs / kOthersRate) * all;
      const double time = start_cycles(used(axes)) + 2 * meet_cycles(threads_) + input.cycles +
                          products + moved / kOthersRate +
                          back * busiest_share(results, threads_) * tails(b) +
                          kBlockCycles * own_parts(results);
      take({time, TileShare::kPositions, b, tile, input.copy});
    }
  }

  // The whole input's transform, whose parts follow from the copy that it reads.
  struct InputPhase {
    double cycles = 0;
    InputCopy copy = InputCopy::kNone;
  };
  InputPhase best_input() const {
    const std::int64_t blocks = (rule_.sum.channel_extent + rule_.lanes - 1) / rule_.lanes;
    const std::int64_t images = rule_.sum.input_extent;
    const double all = transform(work_.inputs) * static_cast<double>(images);
    const InputCopy wanted = best_copy(rule_, algorithm_, shapes_, rows_);
    InputPhase best{1e300, InputCopy::kNone};
    for (const InputCopy copy : {InputCopy::kNone, InputCopy::kBlock, InputCopy::kRow}) {
      if ((copy == InputCopy::kNone) != (wanted == InputCopy::kNone)) continue;
      const bool by_rows = copy != InputCopy::kBlock;
      const std::array axes{SharedAxis{blocks, 1}, SharedAxis{by_rows ? images : 1, 1},
                            SharedAxis{by_rows ? rows_ : 1, 1}};
      // Rows overlap, and are copied again.
      const double again = copy == InputCopy::kRow ? shapes_[0].positions / shapes_[0].tile : 1;
      const double written = 4 * work_.inputs * static_cast<double>(images) / kOthersRate;
      const double time =
          (all * (1 + 0.25 * (again - 1)) + written) * busiest_share(axes, threads_);
      if (time < best.cycles) best = {time, copy};
    }
    return best;
  }

  int used(std::span<const SharedAxis> axes) const {
    return static_cast<int>(std::min<std::int64_t>(threads_, parts_of(axes)));
  }
  // Parts of the thread that has most.
  double own_parts(std::span<const SharedAxis> axes) const {
    const std::int64_t own = (parts_of(axes) + threads_ - 1) / threads_;
    return static_cast<double>(own);
  }
  void take(Decision decision) {
    if (!shares_tiles(decision.share)) decision.cycles *= kWholeInput;
    else if (decision.blocks.columns < columns_) decision.cycles *= kColumns;
    least_ = std::min(least_, decision.cycles);
    decisions_.push_back(decision);
  }

  const CookToomRule& rule_;
  const std::vector<Knob>& knobs_;
  const Algorithm& algorithm_;
  std::vector<Shape> shapes_;
  Work work_;
  int threads_;
  std::int64_t rows_ = 1, columns_ = 1, vectors_ = 1, outer_ = 1, strands_ = 1, positions_ = 1;
  double unlike_ = 1;  // products of the position that has most, over the mean
  std::vector<ProductTile> tiles_;
  std::vector<Decision> decisions_;
  double least_ = 1e300;
};

}  // namespace

SharedStart shared_start(const CookToomRule& rule, const std::vector<Knob>& knobs,
                         std::size_t algorithm, std::vector<std::int64_t> start) {
  const SharedCycles::Decision decision =
      SharedCycles(rule, knobs, rule.algorithms[algorithm]).best();
  const auto set = [&](int knob, std::int64_t value) {
    if (knob >= 0) start[static_cast<std::size_t>(knob)] = value;
  };
  const auto choose = [&](int knob, const auto& choices, const auto& wanted) {
    set(knob, std::ranges::find(choices, wanted) - choices.begin());
  };
  const bool block = SharedCycles::shares_tiles(decision.share);
  choose(rule.at.share, rule.shares, decision.share);
  choose(rule.at.place, rule.places, block ? InputPlace::kBlock : InputPlace::kWhole);
  choose(rule.at.copy, rule.copies, decision.copy);
  set(rule.at.tile_v, decision.tile.v);
  set(rule.at.tile_p0, decision.tile.p0);
  set(rule.at.tile_p1, decision.tile.p1);
  // The first value that holds so much: it may be all there is.
  const auto hold = [&](int knob, std::int64_t count) {
    if (knob < 0) return;
    const Values& values = knobs[static_cast<std::size_t>(knob)].values;
    set(knob, *std::ranges::find_if(values, [&](std::int64_t v) { return v >= count; }));
  };
  hold(rule.at.block_t, decision.blocks.rows);
  hold(rule.at.block_p0, decision.blocks.columns);
  hold(rule.at.block_v, decision.blocks.vectors);
  return {decision.cycles, std::move(start)};
}

}  // namespace lathe::space
