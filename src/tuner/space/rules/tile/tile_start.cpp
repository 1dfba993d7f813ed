#include "tuner/space/rules/tile/tile_start.h"

#include <algorithm>
#include <numeric>

#include "tuner/space/costs.h"
#include "tuner/space/rules/shared/stage_cost.h"
#include "tuner/space/rules/tile/tile_sharing.h"

namespace lathe::space {

namespace {

using Values = std::vector<std::int64_t>;

class TileChooser {
 public:
  explicit TileChooser(const TileRule& rule)
      : rule_(rule),
        axes_(rule.axes[0]),
        stage_(rule.workload.stages[axes_.stage]),
        start_(rule.knobs.size(), 0) {}

  TileStart find() {
    for (std::size_t k = 0; k < rule_.knobs.size(); ++k)
      start_[k] = rule_.knobs[k].structural ? 0 : rule_.knobs[k].values.back();
    if (streams(rule_, axes_)) choose_accumulators();
    else if (has_lanes_of_channels()) choose_channels();
    else choose_tile();
    const bool fixed =
        is_transposed() || looks_rows_up() || picks_in_rows() || leaves_caches() || tiles_.empty();
    if (rule_.target.threads > 1 && !fixed) return find_shared();
    complete();
    if (rule_.target.threads < 2) return {start_, {}};
    const SharedCost cost = choose_shared_loops(rule_, slowness(tile()), start_);
    return {start_, cost};
  }

 private:
  struct Tile {
    std::int64_t v = 1, a = 1, b = 1;
    friend bool operator==(const Tile&, const Tile&) = default;
  };

  // What follows from the tile.
  void complete() {
    set(rule_.at.unroll_k, shares_rows() ? extent(axes_.reduce) : 2);
    if (axes_.taps.empty()) set(rule_.at.block_k, 256);
    if (axes_.taps.empty() && passes_once()) stream_weights();
    else share_panels();
    if (is_transposed()) transpose();
    else if (looks_rows_up()) copy_rows();
    else if (picks_in_rows()) pick_in_rows();
    else if (leaves_caches()) walk_along_rows();
    else if (has_lanes_of_channels()) walk_over_pixels();
    choose_copies();
  }

  // True if weights that are packed beforehand are read once, by tiles that have all pixels: blocks
  // of the sum would but store and load accumulators, and break up what is read ahead.
  bool passes_once() const {
    if (axes_.weights == nullptr || axes_.input == nullptr || axes_.reduce < 0 ||
        !is_constant(rule_, axes_.weights))
      return false;
    const std::int64_t rows = extent(pixel_axis(axes_, 0)) * extent(pixel_axis(axes_, 1));
    const bool one = tiles(pixel_axis(axes_, 0), rule_.at.tile_p0) == 1 &&
                     tiles(pixel_axis(axes_, 1), rule_.at.tile_p1) == 1;
    const std::int64_t bytes = size_of(rule_.workload.tensors[axes_.input->tensor].dtype);
    return one && static_cast<double>(rows * extent(axes_.reduce) * bytes) <= kL1 / 2;
  }

  // From end to end, panels side by side, which processors read ahead better than one of them with
  // prefetches (bench/results/models.md).
  void stream_weights() {
    set(rule_.at.block_k, extent(axes_.reduce));
    if (rule_.at.panels < 0) return;
    choose(rule_.at.panels, rule_.panels, Panels::kVector);
    set(rule_.at.prefetch, 0);
  }

  // Where several tiles read a panel, the next one comes meanwhile: of 49 pixels and 1,024 channels
  // each way a convolution of 1x1 takes 1.03 ms on a Zen 3 so, and 1.09 with prefetches.
  void share_panels() {
    const std::int64_t along = tiles(pixel_axis(axes_, 0), rule_.at.tile_p0) *
                               tiles(pixel_axis(axes_, 1), rule_.at.tile_p1);
    if (rule_.at.next_panels < 0 || along < 2) return;
    set(rule_.at.next_panels, 1);
    set(rule_.at.prefetch, 0);
  }

  // The tile with which the thread that does most is done soonest.
  TileStart find_shared() {
    const Values first = start_;
    TileStart best{first, {.cycles = 1e300}};
    const Tile usual = tile();
    const auto slow = [&](const Tile& tile) { return slowness(tile); };
    const double alone = cycles_of(rule_.workload, stage_, rule_.lanes) / rule_.target.threads;
    std::ranges::stable_sort(tiles_, {}, slow);
    for (const Tile& tile : tiles_) {
      if (slow(tile) * alone >= best.cost.cycles) break;
      start_ = first;
      set(rule_.at.tile_v, tile.v);
      set(rule_.at.tile_p0, tile.a);
      set(rule_.at.tile_p1, tile.b);
      complete();
      SharedCost cost = choose_shared_loops(rule_, slowness(this->tile()), start_);
      cost.cycles *= tile == usual ? 1 : kOtherChoice;
      if (cost.cycles < best.cost.cycles) best = {start_, cost};
    }
    return best;
  }

  Tile tile() const {
    const auto value = [&](int knob) { return knob < 0 ? std::int64_t{1} : start_[knob]; };
    return {value(rule_.at.tile_v), value(rule_.at.tile_p0), value(rule_.at.tile_p1)};
  }

  // How much longer a tile takes than the peak: with few sums under way these wait for each other.
  double slowness(const Tile& tile) const {
    double iterations = 1;
    for (const te::Iterator& it : stage_.iters) iterations *= static_cast<double>(it.extent);
    const double each = cycles_of(rule_.workload, stage_, rule_.lanes) * rule_.lanes / iterations;
    const auto sums = static_cast<double>(tile.v * tile.a * tile.b);
    const bool waits = stage_.reduce != ir::ReduceOp::kNone && each > 0;
    return cost_of_tile(tile.v, tile.a, tile.b) *
           std::max(1.0, waits ? kLatency / (each * sums) : 1);
  }

  void set(int knob, std::int64_t value) {
    if (knob >= 0) start_[knob] = value;
  }
  template <class Choice>
  void choose(int knob, const std::vector<Choice>& choices, const Choice& wanted) {
    const auto found = std::ranges::find(choices, wanted);
    if (found != choices.end()) set(knob, found - choices.begin());
  }
  Values values(int knob) const { return knob < 0 ? Values{1} : rule_.knobs[knob].values; }
  std::int64_t extent(int iter) const { return extent_of(rule_, axes_, iter); }
  std::int64_t vectors() const { return (extent(axes_.vector) + rule_.lanes - 1) / rule_.lanes; }
  // How many tiles of the size that a knob says, times `unit`, there are along an axis.
  std::int64_t tiles(int iter, int knob, std::int64_t unit = 1) const {
    const std::int64_t tile = (knob < 0 ? 1 : start_[knob]) * unit;
    return (extent(iter) + tile - 1) / tile;
  }
  std::int64_t tiles_along_vector() const {
    return tiles(axes_.vector, rule_.at.tile_v, rule_.lanes);
  }

  // Loads for each multiply-add of a tile of v vectors by a x b pixels: what each operand has of
  // it.
  double loads_of_tile(std::int64_t v, std::int64_t a, std::int64_t b) const {
    double loads = 0;
    for (const ir::Read* read : ir::reads_of(stage_.body)) {
      std::int64_t times = 1;  // that a register is used
      if (!touches(read->index, axes_.vector)) times *= v;
      if (!touches(read->index, pixel_axis(axes_, 0))) times *= a;
      if (!touches(read->index, pixel_axis(axes_, 1))) times *= b;
      loads += 1.0 / static_cast<double>(times);
    }
    return loads;
  }

  // Two loads a cycle run beside two multiply-adds, so loads cost only beyond that. Wide tiles need
  // few accumulators to hide latency, and every further accumulator saves passes over the input.
  // bench/search/tile_start judges 0.75 and 0.01 by the recorded spaces: 0.75 to 1 and 0.003 to
  // 0.01 choose the same tiles, whose best programs have 0.990 of the speed of the best in the
  // mean; no other pair does better, nor does one fitted to other spaces. Where lanes run along
  // both operands every load fills a register, and most come from beyond the first cache.
  double cost_of_tile(std::int64_t v, std::int64_t a, std::int64_t b) const {
    const auto waste = [](std::int64_t e, std::int64_t t) {
      const std::int64_t covered = (e + t - 1) / t * t;
      return static_cast<double>(covered) / static_cast<double>(e);
    };
    const double loads = loads_of_tile(v, a, b);
    // Rows of the result are stored by vectors, once lanes are transposed.
    const double stores = has_phases(axes_) ? waste(a * b, rule_.lanes) : 1;
    return stores * waste(extent(pixel_axis(axes_, 0)), a) *
               waste(extent(pixel_axis(axes_, 1)), b) * waste(vectors(), v) *
               std::max(1.0, loads / 0.75) * (1 + 1.0 / static_cast<double>(a * b * v)) *
               (has_dots(axes_) ? 1 + loads : 1) +
           0.01 * static_cast<double>(b);
  }

  // True if taps are written out that read the same vectors: these then stay in registers.
  bool shares_rows() const {
    const std::int64_t taps = extent(axes_.reduce);
    return slides(rule_) && taps > 1 && taps <= kShortWindow;
  }

  // True for a map of more bytes than half of the second cache.
  bool leaves_caches() const {
    double bytes = size_of(rule_.workload.tensors[stage_.tensor].dtype);
    for (const te::Iterator& it : stage_.iters) bytes *= static_cast<double>(it.extent);
    return stage_.reduce == ir::ReduceOp::kNone && bytes > kL2 / 2 && rule_.at.tile_p0 >= 0;
  }

  // Few rows at a time from end to end, as memory is read ahead: 1024 rows of 4096 elements times
  // a row take 6 ms so and 49 in columns of tiles, 16384 rows of 1000 53 and 202.
  void walk_along_rows() {
    using enum TileAxis;
    constexpr std::int64_t kFewRows = 4;
    for (const int knob : {rule_.at.tile_p0, rule_.at.tile_p1})
      if (knob >= 0) set(knob, std::min(start_[knob], kFewRows));
    if (rule_.at.tile_p1 >= 0) set(rule_.at.tile_p1, 1);
    const std::int64_t rows = start_[rule_.at.tile_p0];
    std::int64_t v = std::min(values(rule_.at.tile_v).back(), kFewRows);
    while (v > 1 && v * (rows + 1) + 1 > rule_.target.vector_registers) --v;
    set(rule_.at.tile_v, v);
    choose(rule_.at.order, rule_.orders, LoopOrder{{kPixels, kVector}, {kPixels, kVector}});
  }

  // True if lanes run along the last axis of rows.
  bool has_rows() const {
    return rule_.at.tile_p0 >= 0 && axes_.vector + 1 == std::ssize(stage_.iters);
  }
  bool looks_rows_up() const { return copies_rows(stage_) && has_rows(); }

  // One row after the other from end to end, so that each is found once: 512 rows of 64 elements
  // take half of the time that they take in columns of tiles. Of short rows a few are under way.
  void copy_rows() {
    using enum TileAxis;
    constexpr std::int64_t kVectors = 8;
    std::int64_t v = 1;
    for (const std::int64_t wider : values(rule_.at.tile_v))
      if (wider <= kVectors && (vectors() + wider - 1) / wider < (vectors() + v - 1) / v) v = wider;
    set(rule_.at.tile_v, v);
    const std::int64_t rows = std::max<std::int64_t>(1, kVectors / (2 * v));
    set(rule_.at.tile_p0, std::min(values(rule_.at.tile_p0).back(), rows));
    if (rule_.at.tile_p1 >= 0) set(rule_.at.tile_p1, 1);
    choose(rule_.at.order, rule_.orders, LoopOrder{{kPixels, kVector}, {kPixels, kVector}});
  }

  // True for a map that reads elements of a row wherever data says.
  bool picks_in_rows() const {
    return stage_.reduce == ir::ReduceOp::kNone && has_rows() &&
           std::ranges::any_of(ir::reads_of(stage_.body), [&](const ir::Read* read) {
             return is_anywhere(*read) && touches(read->index, axes_.pixels[0]);
           });
  }

  // So few rows at a time as stay in the first cache: 1,000 elements of each of 100 rows of 3,000
  // take 41 us so, and 63 with a column of tiles after the other.
  void pick_in_rows() {
    using enum TileAxis;
    constexpr std::int64_t kFew = 2;
    set(rule_.at.tile_v, std::min(values(rule_.at.tile_v).back(), kFew));
    set(rule_.at.tile_p0, std::min(values(rule_.at.tile_p0).back(), kFew));
    if (rule_.at.tile_p1 >= 0) set(rule_.at.tile_p1, 1);
    choose(rule_.at.order, rule_.orders, LoopOrder{{kPixels, kVector}, {kPixels, kVector}});
  }

  // The register tile that wastes least of the image and still keeps the multipliers busy.
  void choose_tile() {
    double best = 1e30;
    for (const auto v : values(rule_.at.tile_v))
      for (const auto a : values(rule_.at.tile_p0))
        for (const auto b : values(rule_.at.tile_p1)) {
          const std::int64_t kept = has_dots(axes_)     ? std::min(a, b)
                                    : has_phases(axes_) ? a * v
                                    : shares_rows()     ? a * b * v
                                                        : v;
          if (a * b * v + kept + 1 > rule_.target.vector_registers) continue;
          if (rule_.comes_back && axes_.input != nullptr && rows_collide(a)) continue;
          tiles_.push_back({v, a, b});
          const double cost = cost_of_tile(v, a, b);
          if (cost >= best) continue;
          best = cost;
          set(rule_.at.tile_v, v);
          set(rule_.at.tile_p0, a);
          set(rule_.at.tile_p1, b);
        }
  }

  // True of windows over each of the channels that lanes run along, as of an image channels last.
  bool has_lanes_of_channels() const {
    if (axes_.reduce < 0 || axes_.pixels.empty() || axes_.weights == nullptr ||
        axes_.input == nullptr || axes_.taps.empty())
      return false;
    const auto of_pixels = [&](int p) { return touches(axes_.weights->index, p); };
    return axes_.input->index.back() == ir::Affine::iter(axes_.vector) &&
           touches(axes_.weights->index, axes_.vector) &&
           std::ranges::none_of(axes_.pixels, of_pixels);
  }

  // A few vectors that lie side by side, for a few rows: what these read of a row they share. Where
  // pixels share sets of the first cache and come from beyond, longer runs of fewer rows.
  void choose_channels() {
    constexpr std::int64_t kSums = 12, kRows = 3;
    const std::int64_t taps = extent(axes_.reduce);
    const bool collide = pixels_collide((kRows + taps - 1) * (taps + 1));
    const std::int64_t most_rows = collide ? 2 : kRows;
    const auto covered = [&](std::int64_t v) { return (vectors() + v - 1) / v * v; };
    const std::int64_t rows = std::min(values(rule_.at.tile_p1).back(), most_rows);
    const auto fits = [&](std::int64_t v, std::int64_t pixels) {
      const std::int64_t sums = v * pixels * rows;
      return sums <= kSums && sums + v + 1 <= rule_.target.vector_registers;
    };
    std::int64_t v = 1;
    for (const std::int64_t wider : values(rule_.at.tile_v))
      if (fits(wider, 1) && (collide || covered(wider) <= covered(v))) v = wider;
    for (const std::int64_t pixels : values(rule_.at.tile_p0))
      if (fits(v, pixels)) {
        tiles_.push_back({v, pixels, rows});
        set(rule_.at.tile_p0, pixels);
      }
    set(rule_.at.tile_v, v);
    set(rule_.at.tile_p1, rows);
  }

  // All pixels of so many channels before the next ones.
  void walk_over_pixels() {
    using enum TileAxis;
    choose(rule_.at.order, rule_.orders,
           LoopOrder{{kVector, kPixels, kReduction}, {kPixels, kVector}});
    set(rule_.at.block_v, 1);
  }

  bool is_transposed() const {
    return read_along(stage_) >= 0 || stores_across(rule_.workload, axes_);
  }

  // Tiles of lanes by lanes, or as near as the registers allow.
  void transpose() {
    std::int64_t rows = 1;
    for (const std::int64_t p : values(rule_.at.tile_p0))
      if (p <= rule_.lanes && p + 2 <= rule_.target.vector_registers) rows = p;
    set(rule_.at.tile_v, 1);
    set(rule_.at.tile_p0, rows);
    set(rule_.at.tile_p1, 1);
  }

  // What a step needs beside the accumulators: little where it adds up what it reads, or products
  // of two reads, which instructions take from memory; else as many again.
  std::int64_t registers_beside(std::int64_t accumulators) const {
    constexpr std::int64_t kOfReads = 4;
    const auto* product = std::get_if<ir::Binary>(&stage_.body->value);
    const auto reads = [](const ir::Expr& e) { return std::holds_alternative<ir::Read>(e->value); };
    const bool plain =
        reads(stage_.body) || (product != nullptr && reads(product->a) && reads(product->b));
    return plain ? kOfReads : accumulators + 1;
  }

  // The width whose vectors, as they are read, leave registers for as many accumulators, and with
  // which fewest tiles lie side by side.
  std::int64_t width_of_accumulators(std::int64_t accumulators) const {
    std::int64_t best = 1;
    for (const std::int64_t v : values(rule_.at.tile_v))
      if (v <= accumulators && 2 * v + 1 <= rule_.target.vector_registers &&
          (vectors() + v - 1) / v < (vectors() + best - 1) / best)
        best = v;
    return best;
  }

  // As many accumulators as hide the latency of an addition, along the memory that is read first.
  void choose_accumulators() {
    std::int64_t accumulators = 8;
    while (accumulators + registers_beside(accumulators) > rule_.target.vector_registers)
      accumulators /= 2;
    const std::int64_t v = width_of_accumulators(accumulators);
    set(rule_.at.tile_v, v);
    const std::int64_t rows = std::min(values(rule_.at.tile_p0).back(), accumulators / v);
    set(rule_.at.tile_p0, rows);
    set(rule_.at.tile_p1, 1);
    for (const std::int64_t fewer : values(rule_.at.tile_p0))
      if (fewer <= rows) tiles_.push_back({v, fewer, 1});
  }

  // Of operands that change from call to call.
  void choose_copies() {
    if (rule_.at.pack_w < 0 || axes_.weights == nullptr || axes_.input == nullptr ||
        is_constant(rule_, axes_.weights))
      return;
    const bool strided = axes_.weights->index.back() != ir::Affine::iter(axes_.vector);
    if (is_constant(rule_, axes_.input) && has_one_tap(stage_, axes_) && !comes_back())
      return copy_panels();
    if (axes_.taps.empty() && !comes_back()) return copy_blocks(strided);
    // Vectors that lie apart are brought together once, where several loops come back to them.
    if (comes_back() && lies_along(axes_.batch, axes_.input->index))
      choose(rule_.at.pack_x, rule_.input_packings, Packing::kWhole);
    if (strided) choose(rule_.at.pack_w, rule_.weight_packings, Packing::kWhole);
  }

  // Of rows times constant weights, which are packed beforehand: a few panels of the rows at a time
  // stay in a cache until all weights have passed, and no longer. Many weights want more of them.
  void copy_panels() {
    constexpr std::int64_t kFewTerms = 64;  // so few rows of an operand are read as they lie
    constexpr std::int64_t kTerms = 512;    // of a panel
    const double cache =
        bytes_of(rule_.workload.tensors[axes_.input->tensor]) > kL2 / 2 ? kL2 / 4 : kL1 / 2;
    using enum TileAxis;
    choose(rule_.at.order, rule_.orders,
           LoopOrder{{kVector, kReduction, kPixels}, {kVector, kPixels}});
    choose(rule_.at.pack_x, rule_.input_packings, Packing::kWhole);
    const std::int64_t terms = extent(axes_.reduce);
    if (terms < kFewTerms) return;
    choose(rule_.at.pack_w, rule_.weight_packings, Packing::kBlock);
    const std::int64_t blocks = (terms + kTerms - 1) / kTerms,
                       block = (terms + blocks - 1) / blocks;
    set(rule_.at.block_k, block);
    set_panels(block, cache);
  }

  // As many panels of so many terms in a block as a cache holds.
  void set_panels(std::int64_t terms, double cache) {
    const std::int64_t panel = terms * start_[rule_.at.tile_v] * rule_.lanes *
                               size_of(rule_.workload.tensors[axes_.weights->tensor].dtype);
    set(rule_.at.block_v, std::max<std::int64_t>(1, std::llround(cache) / panel));
  }

  // Panels of one operand stay in L1 while blocks of the other pass through L2. Copies of what only
  // one or two tiles use would cost more than they gain.
  void copy_blocks(bool strided) {
    constexpr std::int64_t kFewTiles = 2, kTilesOfBlock = 16;
    if (!strided && is_small() && !rows_collide()) {
      set(rule_.at.block_k, extent(axes_.reduce));
      return;
    }
    using enum TileAxis;
    choose(rule_.at.order, rule_.orders,
           LoopOrder{{kVector, kReduction, kPixels}, {kVector, kPixels}});
    const std::int64_t along_p = tiles(pixel_axis(axes_, 0), rule_.at.tile_p0) *
                                 tiles(pixel_axis(axes_, 1), rule_.at.tile_p1);
    if (strided || along_p > kFewTiles)
      choose(rule_.at.pack_w, rule_.weight_packings, Packing::kBlock);
    if (tiles_along_vector() > kFewTiles)
      choose(rule_.at.pack_x, rule_.input_packings, Packing::kBlock);
    else spread_rows();
    set(rule_.at.block_p, kTilesOfBlock);
    // Where all rows pass in one block, a wide copy of the other operand would leave the cache for
    // nothing; the rows are copied once.
    if (has_long_vectors(rule_) && along_p <= kTilesOfBlock &&
        tiles_along_vector() > kTilesOfBlock) {
      choose(rule_.at.pack_x, rule_.input_packings, Packing::kWhole);
      set_panels(start_[rule_.at.block_k], kL2 / 4);
    }
  }

  // True if a loop around the tile's blocks moves one operand and not the other, which would be
  // copied again each time.
  bool comes_back() const {
    return rule_.comes_back || std::ranges::any_of(axes_.batch, [&](int b) {
             return extent(b) > 1 &&
                    touches(axes_.weights->index, b) != touches(axes_.input->index, b);
           });
  }

  static bool lies_along(const std::vector<int>& iters, const std::vector<ir::Affine>& index) {
    return std::ranges::any_of(
        iters, [&](int i) { return !index.empty() && index.back() == ir::Affine::iter(i); });
  }

  // True if both operands stay in the second cache beside the result, or nearly so in one of half
  // the size: the least that processors with long vectors have.
  bool is_small() const {
    constexpr double kShare = 0.6;
    std::int64_t bytes = 0;
    for (const ir::Read* read : {axes_.weights, axes_.input}) {
      std::int64_t own = size_of(rule_.workload.tensors[read->tensor].dtype);
      for (const std::int64_t size : rule_.workload.tensors[read->tensor].shape) own *= size;
      bytes += own;
    }
    return static_cast<double>(bytes) <= kShare * kL2;
  }

  // True if the rows that a tile reads at a time share too few sets of the first cache: each line
  // would be fetched again for each of its elements.
  bool rows_collide() const {
    return rule_.at.tile_p0 >= 0 && rows_collide(start_[rule_.at.tile_p0]);
  }
  bool rows_collide(std::int64_t rows) const {
    return collide(rows, plain_dim(axes_.input->index, pixel_axis(axes_, 0)));
  }
  // The same of pixels, whose channels lie side by side.
  bool pixels_collide(std::int64_t pixels) const {
    return collide(pixels, static_cast<int>(axes_.input->index.size()) - 2);
  }
  // Of elements that lie side by side along a dimension of the input.
  bool collide(std::int64_t count, int dim) const {
    constexpr std::int64_t kWays = 8;  // of common processors
    if (dim < 0) return false;
    const te::Tensor& tensor = rule_.workload.tensors[axes_.input->tensor];
    std::int64_t bytes = size_of(tensor.dtype);
    for (std::size_t d = static_cast<std::size_t>(dim) + 1; d < tensor.shape.size(); ++d)
      bytes *= tensor.shape[d];
    const std::int64_t apart = std::gcd(bytes, kPlacesRepeat);
    return apart >= kLine && kPlacesRepeat / apart * kWays < count;
  }

  // Makes the tile so low that its rows do not collide.
  void spread_rows() {
    const Values lower = values(rule_.at.tile_p0);
    for (std::size_t k = lower.size(); k-- > 0 && rows_collide();)
      set(rule_.at.tile_p0, std::min(start_[rule_.at.tile_p0], lower[k]));
  }

  const TileRule& rule_;
  const Axes& axes_;
  const te::Stage& stage_;
  Values start_;
  std::vector<Tile> tiles_;  // that fit the registers
};

}  // namespace

TileStart tile_start(const TileRule& rule) { return TileChooser(rule).find(); }

TileStart settled_start(const TileRule& rule) {
  TileStart start = tile_start(rule);
  for (std::size_t k = 0; k < start.values.size(); ++k)
    start.values[k] = rule.knobs[k].values[rule.knobs[k].nearest(start.values[k])];
  return start;
}

}  // namespace lathe::space
