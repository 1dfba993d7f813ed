// The sketch of a Cook-Toom algorithm: where its transforms and its products are computed, and how
// their loops run.
#include <algorithm>
#include <utility>

#include "compiler/ir/nest/nest.h"
#include "tuner/space/rules/cook_toom.h"
#include "tuner/space/rules/stepper.h"

namespace lathe::space {
namespace {

using ir::LoopKind;
using ir::SizeId;
using schedule::LayoutItem;
using Names = std::vector<std::string>;

class CookToomBuilder : private Stepper {
 public:
  CookToomBuilder(const CookToomRule& rule, const std::vector<Knob>& knobs,
                  std::span<const std::int64_t> values, Sketch& sketch)
      : Stepper(sketch.nest, sketch.trace, rule.prepared.view.contract.free_layout),
        rule_(rule),
        sum_(rule.sum),
        knobs_(knobs),
        values_(values),
        algorithm_(rule.algorithms[chosen(rule.at.algorithm)]) {}

  void run() {
    for (const schedule::Layout& layout : rule_.layouts) step(layout);
    step(schedule::CookToom{sum_.block, algorithm_.taps, algorithm_.tiles});
    split_result();
    place_output_transforms();
    place_products();
    place_input_transforms();
    copy_input();
    prepare_filter();
    share();
    schedule_others();
  }

 private:
  std::size_t chosen(int knob) const {
    return knob < 0 ? 0 : static_cast<std::size_t>(values_[static_cast<std::size_t>(knob)]);
  }
  bool whole_input() const { return rule_.places[chosen(rule_.at.place)] == InputPlace::kWhole; }
  SizeId size(int knob) {
    return knob < 0 ? number(1)
                    : nest_.sizes.knob(knob, knobs_[static_cast<std::size_t>(knob)].name);
  }
  SizeId lanes() { return number(rule_.lanes); }

  bool transformed(const ImageAxis& axis) const { return algorithm_.transforms(axis); }
  std::size_t transforms() const { return algorithm_.taps.size(); }
  // The axis that the transforms with this number are along.
  const ImageAxis& along(std::size_t a) const {
    return *std::ranges::find(sum_.axes, algorithm_.taps[a], &ImageAxis::tap);
  }
  std::string stage(const char* what, std::size_t a) const {
    const std::string name = sum_.block + "." + what;
    return a == 0 ? name : name + "." + std::to_string(a);
  }
  // The tiles along an axis, or its results where it is not transformed.
  std::int64_t tiles_along(const ImageAxis& axis) const {
    const auto found = std::ranges::find(algorithm_.taps, axis.tap);
    if (found == algorithm_.taps.end()) return axis.extent;
    const auto a = static_cast<std::size_t>(found - algorithm_.taps.begin());
    return (axis.results() + algorithm_.tiles[a] - 1) / algorithm_.tiles[a];
  }
  // The loop over an axis' tiles, or over its results where it is not transformed.
  std::string tiles_of(const ImageAxis& axis) const {
    return sum_.block + "." + axis.iter + (transformed(axis) ? ".t" : "");
  }

  // The loop over an axis' strands, inside `prefix`; none where it has one or is not transformed.
  Names strands_of(const ImageAxis& axis, const std::string& prefix) const {
    if (!transformed(axis) || !axis.strands().several()) return {};
    return {prefix + axis.iter + ".s"};
  }

  // The loops of the result: blocks of tiles, then blocks of vectors (or the other way round), then
  // single tiles.
  void split_result() {
    const std::string first = tiles_of(sum_.axes[0]), v = sum_.block + "." + sum_.vector;
    split(first, size(rule_.at.block_t), first + ".c", first + ".r");
    split(v, times(size(rule_.at.block_v), lanes()), v + ".c", v + ".r");
    split(v + ".r", lanes(), v + ".o", v + ".l");
    block_loop_ = first + ".c";
    meeting_ = v + ".c";
    Names order;
    for (const std::string& iter : sum_.outer) order.push_back(sum_.block + "." + iter);
    if (whole_input()) {
      order.insert(order.end(), {v + ".c", first + ".c"});
      meeting_ = first + ".c";
    } else {
      order.insert(order.end(), {first + ".c", v + ".c"});
    }
    order.push_back(v + ".o");
    for (const ImageAxis& axis : sum_.axes) {
      append(order, strands_of(axis, sum_.block + "."));
      order.push_back(&axis == &sum_.axes[0] ? first + ".r" : tiles_of(axis));
    }
    tile_loop_ = order.back();
    Names inner;
    for (std::size_t a = transforms(); a-- > 0;)
      inner.push_back(sum_.block + "." + along(a).iter + ".i");
    inner.push_back(sum_.block + "." + schedule::position_iter(sum_.result));
    order.insert(order.end(), inner.begin(), inner.end());
    order.push_back(v + ".l");
    step(schedule::Reorder{order});
    unroll(inner);
    kind(v + ".l", LoopKind::kVectorized);
  }

  // Each works on the registers of one tile.
  void place_output_transforms() {
    for (std::size_t a = 1; a < transforms(); ++a) {
      const std::string name = stage("output", a);
      step(schedule::ComputeAt{name, tile_loop_});
      const auto loop = [&](const std::string& iter) {
        return name + "." + iter + "@" + tile_loop_;
      };
      Names written_out;
      for (std::size_t b = 0; b < transforms(); ++b)
        if (b != a) written_out.push_back(loop(along(b).iter + (b < a ? ".p" : ".i")));
      written_out.push_back(loop(along(a).iter + ".i"));
      written_out.push_back(loop(schedule::position_iter(sum_.result)));
      Names order = written_out;
      order.push_back(loop(sum_.vector));
      step(schedule::Reorder{order});
      unroll(written_out);
      kind(order.back(), LoopKind::kVectorized);
      store_along(name, product_dims(sum_, algorithm_).vector);
    }
  }

  static void append(Names& names, const Names& others) {
    names.insert(names.end(), others.begin(), others.end());
  }
  static void append(std::vector<LayoutItem>& items, const std::vector<int>& dims) {
    for (const int d : dims) items.push_back({d, std::int64_t{1}});
  }

  // Stores a tensor with this dimension inside.
  void store_along(const std::string& name, int inside) {
    const ir::BufferId buffer = nest_.find_buffer(name);
    std::vector<LayoutItem> items;
    for (int d = 0; std::cmp_less(d, nest_.buffers[buffer].shape.size()); ++d)
      if (d != inside) items.push_back({d, std::int64_t{1}});
    items.push_back({inside, std::int64_t{1}});
    step(schedule::Layout{name, items, 0});
  }

  void place_products() {
    const std::string name = sum_.block + ".product";
    step(schedule::ComputeAt{name, meeting_});
    const auto loop = [&](const std::string& iter) { return name + "." + iter + "@" + meeting_; };
    const std::string v = loop(sum_.vector), k = loop(sum_.channels);
    split(v, times(size(rule_.at.tile_v), lanes()), v + ".t", v + ".i");
    split(v + ".i", lanes(), v + ".v", v + ".l");
    Names tiles, inside, order;
    for (std::size_t a = 0; a < sum_.axes.size(); ++a) {
      const std::string own = loop(sum_.axes[a].iter + (transformed(sum_.axes[a]) ? ".t" : ""));
      const bool last = a + 1 == sum_.axes.size();
      const SizeId tile = size(last ? rule_.at.tile_p0 : rule_.at.tile_p1);
      split(own, nest_.sizes.min(tile, number(tiles_along(sum_.axes[a]))), own + ".t", own + ".i");
      tiles.push_back(own + ".t");
      inside.push_back(own + ".i");
    }
    split(k, size(rule_.at.unroll), k + ".s", k + ".u");
    for (const std::string& iter : sum_.outer) order.push_back(loop(iter));
    for (const ImageAxis& axis : sum_.axes)
      if (transformed(axis)) order.push_back(loop(axis.iter + ".p"));
    order.push_back(v + ".t");
    for (const ImageAxis& axis : sum_.axes)
      for (const std::string& strand : strands_of(axis, "")) order.push_back(loop(strand));
    append(order, tiles);
    for (const ImageAxis& axis : sum_.axes)
      if (!transformed(axis)) order.push_back(loop(axis.tap));
      else if (axis.residues().several()) order.push_back(loop(axis.tap + ".a"));
    order.insert(order.end(), {k + ".s", k + ".u"});
    order.insert(order.end(), inside.begin(), inside.end());
    order.insert(order.end(), {v + ".v", v + ".l"});
    step(schedule::Reorder{order});
    keep_products(name, tiles.back());
    unroll({k + ".u", v + ".v"});
    unroll(inside);
    kind(v + ".l", LoopKind::kVectorized);
    reduction_loop_ = k + ".s";
  }

  // Products are summed in registers; their tensor has positions outside, as they are computed.
  void keep_products(const std::string& name, const std::string& loop) {
    const ProductDims dims = product_dims(sum_, algorithm_);
    std::vector<LayoutItem> stored, held;
    append(stored, dims.outer);
    stored.push_back({dims.vector, std::int64_t{rule_.lanes}});
    append(stored, dims.positions);
    append(stored, dims.tiles);
    stored.push_back({dims.vector, std::int64_t{1}});
    step(schedule::Layout{name, stored, 0});
    for (const auto& part : {dims.outer, dims.positions, dims.tiles}) append(held, part);
    held.push_back({dims.vector, std::int64_t{rule_.lanes}});
    held.push_back({dims.vector, std::int64_t{1}});
    const std::string registers = name + ".acc";
    step(schedule::Cache{name, registers, loop, ir::Scope::kRegister, held});
    for (std::size_t i = 0; i < held.size(); ++i)
      kind(fmt::format("{}.d{}", registers, i),
           i + 1 == held.size() ? LoopKind::kVectorized : LoopKind::kUnrolled);
  }

  // The axis along this dimension of the input; -1: none.
  int axis_at(int dim) const {
    const auto found = std::ranges::find(sum_.axes, dim, &ImageAxis::input_dim);
    return found == sum_.axes.end() ? -1 : static_cast<int>(found - sum_.axes.begin());
  }

  void place_input_transforms() {
    const std::size_t last = transforms() - 1;
    std::string place = whole_input() ? "" : block_loop_;
    for (std::size_t a = last + 1; a-- > 0;) {
      const std::string name = stage("input", a);
      if (!place.empty()) step(schedule::ComputeAt{name, place});
      const auto loop = [&](const std::string& iter) {
        return name + "." + iter + (place.empty() ? "" : "@" + place);
      };
      place = order_input_transform(a, loop, a == last);
      if (a != last) store_along(name, channels_dim(a));
    }
    store_input(stage("input", last));
  }

  // Where the channels are after the transforms up to number a.
  int channels_dim(std::size_t a) const {
    int dim = sum_.input_channels;
    for (const ImageAxis& axis : sum_.axes)
      if (axis.input_dim < sum_.input_channels && transformed(axis) && transform_of(axis) <= a)
        dim += 1 + axis.shifts + (axis.strands().several() ? 1 : 0) +
               (axis.residues().several() ? 1 : 0);
    return dim;
  }

  // Returns the loop inside which the transform before it is computed.
  template <class LoopOf>
  std::string order_input_transform(std::size_t a, const LoopOf& loop, bool outermost) {
    const int along_lanes = input_lanes();
    std::string lane = loop(fmt::format("d{}", along_lanes));
    Names order, inside, written_out;
    if (outermost) {
      split(lane, lanes(), lane + ".o", lane + ".l");
      order.push_back(lane + ".o");
      copied_block_ = lane + ".o";
      lane += ".l";
    }
    for (int d = 0; d < sum_.input_dims; ++d) {
      if (d == along_lanes) continue;
      const int axis = axis_at(d);
      const std::string dim = std::to_string(d);
      if (axis < 0 || !transformed(sum_.axes[static_cast<std::size_t>(axis)])) {
        order.push_back(loop("d" + dim));
        continue;
      }
      const ImageAxis& own = sum_.axes[static_cast<std::size_t>(axis)];
      const auto number = transform_of(own);
      if (outermost && copied_row_.empty()) copied_row_ = loop("t" + dim);
      if (number > a) written_out.push_back(loop("d" + dim));  // elements of a tile
      else order.push_back(loop("t" + dim));
      Names& parts = number < a ? order : inside;
      for (int k = 0; number <= a && k < own.shifts; ++k)
        order.push_back(loop("o" + dim + (k == 0 ? "" : "." + std::to_string(k))));
      if (number <= a && own.strands().several()) parts.push_back(loop("s" + dim));
      if (number <= a && own.residues().several()) parts.push_back(loop("a" + dim));
      if (number < a) written_out.push_back(loop("p" + dim));
    }
    const std::string tile = order.back();
    if (outermost && whole_input()) shared_input_ = order;
    order.insert(order.end(), inside.begin(), inside.end());
    written_out.push_back(loop(fmt::format("p{}", along(a).input_dim)));
    written_out.push_back(loop("r"));
    order.insert(order.end(), written_out.begin(), written_out.end());
    order.push_back(lane);
    step(schedule::Reorder{order});
    unroll(written_out);
    kind(lane, LoopKind::kVectorized);
    return tile;
  }
  // The transforms read a copy of the input. It has zeros where they read beyond it, so their loops
  // have no edges, and lanes lie side by side.
  void copy_input() {
    const InputCopy copy = rule_.copies[chosen(rule_.at.copy)];
    if (copy == InputCopy::kNone || input_lanes() != sum_.input_channels) return;
    const std::string name = sum_.block + ".copy";
    std::vector<LayoutItem> items;
    for (int d = 0; d < sum_.input_dims; ++d)
      if (d != sum_.input_channels) items.push_back({d, std::int64_t{1}});
    items.push_back({sum_.input_channels, std::int64_t{1}});
    schedule::Cache cache{sum_.input, name, copy == InputCopy::kRow ? copied_row_ : copied_block_,
                          ir::Scope::kMemory, items};
    if (!may_step(cache)) return;
    const auto loop = [&](int digit) { return fmt::format("{}.d{}", name, digit); };
    const std::string along = loop(sum_.input_dims - 2);
    split(along, lanes(), along + ".o", along + ".i");
    kind(along + ".i", LoopKind::kUnrolled);
    kind(loop(sum_.input_dims - 1), LoopKind::kVectorized);
  }

  // The dimension of the input that lanes of its transform run along: the channels, or where these
  // are few, the elements of a row that is not transformed.
  int input_lanes() const {
    const int last = sum_.input_dims - 1, axis = axis_at(last);
    const bool row = axis >= 0 && !transformed(sum_.axes[static_cast<std::size_t>(axis)]);
    return row && 2 * sum_.channel_extent <= rule_.lanes ? last : sum_.input_channels;
  }
  std::size_t transform_of(const ImageAxis& axis) const {
    return static_cast<std::size_t>(std::ranges::find(algorithm_.taps, axis.tap) -
                                    algorithm_.taps.begin());
  }

  // Positions outside, what lanes run along inside.
  void store_input(const std::string& name) {
    std::vector<int> positions, tiles;
    int inside = -1, d = 0;
    for (int dim = 0; dim < sum_.input_dims; ++dim) {
      const int axis = axis_at(dim);
      if (dim == input_lanes()) inside = d;
      else tiles.push_back(d);
      ++d;
      if (axis < 0 || !transformed(sum_.axes[static_cast<std::size_t>(axis)])) continue;
      const ImageAxis& own = sum_.axes[static_cast<std::size_t>(axis)];
      for (int k = own.shifts + (own.strands().several() ? 1 : 0); k > 0; --k) tiles.push_back(d++);
      if (own.residues().several()) positions.push_back(d++);
      positions.push_back(d++);
    }
    std::vector<LayoutItem> items;
    append(items, positions);
    append(items, tiles);
    items.push_back({inside, std::int64_t{1}});
    step(schedule::Layout{name, items, 0});
  }

  // The filter lies as the products read it: a panel of vectors for each position.
  void prepare_filter() {
    for (std::size_t a = 0; a < transforms(); ++a) {
      const std::string name = stage("filter", a);
      const std::string own = fmt::format("{}.d{}", name, along(a).filter_dim);
      const bool residues = along(a).residues().several();
      Names order, written_out = {residues ? own + ".p" : own, name + ".r"};
      for (int d = 0; d < sum_.filter_dims; ++d)
        if (d != along(a).filter_dim) order.push_back(fmt::format("{}.d{}", name, d));
      if (residues) order.push_back(own + ".a");
      order.insert(order.end(), written_out.begin(), written_out.end());
      step(schedule::Reorder{order});
      unroll(written_out);
    }
    const std::string name = stage("filter", transforms() - 1);
    std::vector<LayoutItem> items;
    for (int d = 0; d < sum_.filter_dims; ++d)
      if (d != sum_.vector_dim && d != sum_.filter_channels && is_position(d))
        items.push_back({d, std::int64_t{1}});
    items.push_back({sum_.vector_dim, times(size(rule_.at.tile_v), lanes())});
    for (int d = 0; d < sum_.filter_dims; ++d)
      if (d != sum_.vector_dim && d != sum_.filter_channels && !is_position(d))
        items.push_back({d, std::int64_t{1}});
    items.push_back({sum_.filter_channels, std::int64_t{1}});
    items.push_back({sum_.vector_dim, std::int64_t{1}});
    step(schedule::Layout{name, items, 0});
    schedule::Annotate ahead;
    ahead.loop = reduction_loop_;
    ahead.what = schedule::Annotate::What::kPrefetch;
    ahead.buffer = name;
    ahead.bytes = size(rule_.at.prefetch);
    step(ahead);
  }
  bool is_position(int filter_dim) const {
    const auto axis = std::ranges::find(sum_.axes, filter_dim, &ImageAxis::filter_dim);
    return axis == sum_.axes.end() || transformed(*axis);
  }

  void share() {
    if (rule_.target.threads < 2) return;
    share_loops(nest_, trace_, shared_input_, rule_.target.threads, free_layout_);
    const std::string results = sum_.block + "." + sum_.vector + ".c";
    Names loops;
    switch (rule_.shares[chosen(rule_.at.share)]) {
      case TileShare::kTiles: loops = {block_loop_}; break;
      case TileShare::kResults: loops = {results}; break;
      case TileShare::kResultsAndTiles: loops = {results, block_loop_}; break;
      case TileShare::kBatchAndTiles:
      case TileShare::kBatchAndResults:
        for (const std::string& iter : sum_.outer) loops.push_back(sum_.block + "." + iter);
        loops.push_back(rule_.shares[chosen(rule_.at.share)] == TileShare::kBatchAndTiles
                            ? block_loop_
                            : results);
    }
    for (const std::string& loop : loops) kind(loop, LoopKind::kParallel);
  }

  // What reads the result element by element is computed for each tile of it.
  void schedule_others() {
    const te::Workload& view = rule_.prepared.view;
    const auto result = std::ranges::find(view.tensors, sum_.block, &te::Tensor::name);
    if (result->role == te::TensorRole::kIntermediate)
      store_along(sum_.block, static_cast<int>(std::ranges::find(sum_.result, sum_.vector) -
                                               sum_.result.begin()));
    std::set<std::string> placed = {sum_.block};
    for (const te::Stage& other : view.stages) {
      const std::string& name = view.tensors[static_cast<std::size_t>(other.tensor)].name;
      if (!placed.insert(name).second) continue;
      if (!may_step(schedule::ReverseComputeAt{name, tile_loop_})) {
        schedule_plainly(view, other, rule_.target, nest_, trace_, placed);
        continue;
      }
      Names loops;
      std::string vector;
      const auto count = std::min(other.iters.size(), sum_.result.size());
      for (std::size_t i = 0; i < count; ++i) {
        const std::string loop = other.iters[i].name + "@" + tile_loop_;
        if (sum_.result[i] == sum_.vector) vector = loop;
        else loops.push_back(loop);
      }
      Names order = loops;
      order.push_back(vector);
      step(schedule::Reorder{order});
      unroll(loops);
      kind(vector, LoopKind::kVectorized);
    }
  }

  const CookToomRule& rule_;
  const ImageSum& sum_;
  const std::vector<Knob>& knobs_;
  std::span<const std::int64_t> values_;
  const Algorithm& algorithm_;
  std::string block_loop_, meeting_, tile_loop_, reduction_loop_;
  Names shared_input_;                     // loops of the whole input's transform
  std::string copied_block_, copied_row_;  // the loops at which the input may be copied
};

}  // namespace

Result<Sketch> build_cook_toom_sketch(const CookToomRule& rule, const std::vector<Knob>& knobs,
                                      std::span<const std::int64_t> values) {
  try {
    Sketch sketch{rule.prepared.nest, rule.prepared.steps};
    CookToomBuilder(rule, knobs, values, sketch).run();
    return sketch;
  } catch (const StepRefused& refused) {
    return fail(ErrorKind::kIllegalSchedule, "{}", refused.error.text());
  }
}

}  // namespace lathe::space
