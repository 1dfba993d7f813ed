// Knobs and constraints of the register-tile rule.
#include "tuner/space/rules/tile/register_tile.h"

#include <algorithm>
#include <functional>
#include <memory>

#include "tuner/space/costs.h"
#include "tuner/space/rules/rows/row_group.h"
#include "tuner/space/rules/shared/knob_list.h"
#include "tuner/space/rules/tile/tile_knobs.h"

namespace lathe::space {

std::int64_t extent_of(const TileRule& rule, const Axes& axes, int iter) {
  return iter < 0 ? 1 : rule.workload.stages[axes.stage].iters[iter].extent;
}

int pixel_axis(const Axes& axes, std::size_t which) {
  return which < axes.pixels.size() ? axes.pixels[which] : -1;
}

bool streams(const TileRule& rule, const Axes& axes) {
  return axes.reduce >= 0 &&
         std::ranges::all_of(
             ir::reads_of(rule.workload.stages[axes.stage].body), [&](const ir::Read* read) {
               return touches(read->index, axes.vector) &&
                      std::ranges::all_of(axes.pixels,
                                          [&](int p) { return touches(read->index, p); });
             });
}

bool is_constant(const TileRule& rule, const ir::Read* read) {
  return read != nullptr && rule.workload.tensors[read->tensor].constant;
}

bool slides(const TileRule& rule) {
  const Axes& axes = rule.axes[0];
  return axes.reduce >= 0 && axes.weights != nullptr && !axes.pixels.empty() &&
         std::ranges::all_of(axes.pixels, [&](int p) { return touches(axes.weights->index, p); }) &&
         (axes.input == nullptr || !touches(axes.input->index, axes.pixels[0]));
}
namespace {

using Values = std::vector<std::int64_t>;

constexpr TileAxis kV = TileAxis::kVector, kP = TileAxis::kPixels, kK = TileAxis::kReduction;

// The largest extent that an axis with this part has, whatever the choice of the vector axis.
template <class Get>
std::int64_t largest(const TileRule& rule, Get&& get) {
  std::int64_t most = 1;
  for (const Axes& axes : rule.axes) most = std::max(most, extent_of(rule, axes, get(axes)));
  return most;
}
// True if one tensor is both operands: a copy would replace both reads, though it is laid out for
// one.
bool is_both_operands(const Axes& axes) {
  return axes.weights != nullptr && axes.input != nullptr &&
         axes.weights->tensor == axes.input->tensor;
}
bool has_pad(const TileRule& rule) {
  for (const ir::Read* read : ir::reads_of(rule.workload.stages[rule.axes[0].stage].body))
    if (read->pad) return true;
  return false;
}

std::vector<LoopOrder> loop_orders(const TileRule& rule) {
  using Order = std::vector<TileAxis>;
  const Order vp = {kV, kP}, pv = {kP, kV}, pvk = {kP, kV, kK}, vpk = {kV, kP, kK};
  const Axes& axes = rule.axes[0];
  if (axes.reduce < 0 && axes.pixels.empty()) return {{{kV}, {kV}}};
  if (axes.reduce < 0) return {{vp, vp}, {pv, vp}, {vp, pv}, {pv, pv}};
  const bool stream = streams(rule, rule.axes[0]);
  if (axes.pixels.empty() && stream) return {{{kV, kK}, {kV}}};
  if (axes.pixels.empty()) return {{{kV, kK}, {kV}}, {{kK, kV}, {kV}}};
  if (stream) return {{pvk, pv}, {pvk, vp}, {vpk, pv}, {vpk, vp}};
  std::vector<LoopOrder> out;
  for (const Order& blocks : {vpk, pvk, {kV, kK, kP}, {kP, kK, kV}, {kK, kV, kP}, {kK, kP, kV}})
    for (const Order& tiles : {vp, pv}) out.push_back({blocks, tiles});
  return out;
}

void list_tile_knobs(TileRule& rule, Flavour flavour) {
  KnobList list(rule.knobs);
  const bool wide = flavour == Flavour::kWide;
  const std::int64_t v_extent = largest(rule, [](const Axes& a) { return a.vector; });
  const std::int64_t p0 = largest(rule, [](const Axes& a) { return pixel_axis(a, 0); });
  const std::int64_t p1 = largest(rule, [](const Axes& a) { return pixel_axis(a, 1); });
  const std::int64_t vectors = (v_extent + rule.lanes - 1) / rule.lanes;
  if (rule.axes.size() > 1) {
    std::vector<std::string> names;
    for (const Axes& a : rule.axes) {
      // The name is TENSOR.iterator.
      const std::string& loop = rule.workload.stages[a.stage].iters[a.vector].name;
      names.push_back(loop.substr(loop.find('.') + 1));
    }
    rule.at.vector = list.choice("vector", names);
  }
  rule.orders = loop_orders(rule);
  rule.at.order = list.choice("order", rule.orders);
  Values tile_v = wide ? Values{1, 2, 3, 4, 5, 6, 7, 8} : Values{1, 2, 3, 4, 5, 6};
  if (!wide && streams(rule, rule.axes[0])) tile_v.push_back(8);
  rule.at.tile_v = list.size("tile.v", up_to(tile_v, vectors));
  Values pixels;
  for (std::int64_t p = 1; p <= (wide ? 48 : 28); ++p)
    if (wide || p <= 16 || p % 2 == 0) pixels.push_back(p);
  if (p0 > 1) rule.at.tile_p0 = list.size("tile.p0", up_to(pixels, p0));
  if (p1 > 1)
    rule.at.tile_p1 = list.size(
        "tile.p1", up_to(wide                       ? Values{1, 2, 3, 4, 5, 6, 7, 8}
                         : has_dots(rule.axes[0])   ? Values{1, 2, 3, 4, 6, 8}
                         : has_phases(rule.axes[0]) ? Values{1, 2, 3, 4, 5, 6, 7, 8, 12, 14}
                                                    : Values{1, 2, 3, 4},
                         p1));
  const int threads = rule.target.threads;
  if (vectors > 1) rule.at.block_v = list.size("block.v", blocks_of(vectors, threads));
  if (std::max(p0, p1) > 1)
    rule.at.block_p = list.size("block.p", blocks_of(p1 > 1 ? p1 : p0, threads));
  if (std::min(p0, p1) > 1 && threads > 1)
    rule.at.block_q = list.size("block.q", blocks_of(p0, threads));
}

void list_reduction_knobs(TileRule& rule, Flavour flavour) {
  KnobList list(rule.knobs);
  const Axes& axes = rule.axes[0];
  if (axes.reduce < 0) return;
  const bool wide = flavour == Flavour::kWide;
  const std::int64_t k = extent_of(rule, axes, axes.reduce);
  std::int64_t unit = 1;
  for (const Axes& a : rule.axes) unit = std::max(unit, rule.channel_block(a));
  Values blocks;  // powers of two, and values halfway between
  for (std::int64_t v = std::max<std::int64_t>(unit, std::min<std::int64_t>(16, k)); v < k;
       v *= 2) {
    blocks.push_back(v);
    if (const std::int64_t half = v + v / 2; half < k && half % unit == 0 && v >= 32)
      blocks.push_back(half);
  }
  if (streams(rule, rule.axes[0]))
    blocks.clear();  // no operand would stay in a cache between blocks
  blocks.push_back((k + unit - 1) / unit * unit);
  rule.at.block_k = list.size("block.k", blocks);
  Values unrolls = wide ? Values{1, 2, 3, 4, 6, 8, 12, 16} : Values{1, 2, 4};
  if (!wide && slides(rule) && k > 4 && k <= kShortWindow) unrolls.push_back(k);
  rule.at.unroll_k = list.size("unroll.k", up_to(std::move(unrolls), k));
  if (axes.taps.empty()) return;
  rule.reduce_orders = {ReduceOrder::kChannelsOutside, ReduceOrder::kTapsOutside};
  rule.at.taps = list.choice("reduce", rule.reduce_orders);
}

// Whether the operand that is read as vectors can be copied in the order of the loops.
bool packs_weights(const TileRule& rule, const Axes& axes) {
  return axes.reduce >= 0 && axes.weights != nullptr && !is_both_operands(axes) &&
         !streams(rule, axes) && all_plain(axes, axes.weights->index);
}

bool packs_input(const TileRule& rule, const Axes& axes) {
  return !has_pad(rule) && axes.reduce >= 0 && axes.input != nullptr &&
         all_plain(axes, axes.input->index) && !axes.pixels.empty() && !is_both_operands(axes) &&
         !streams(rule, axes);
}

// Under some choice of the vector axis, weights can be packed; under others the knob does nothing.
// Of constants there is one value, unless they are read as vectors along one axis only.
std::vector<Packing> packings_of_weights(const TileRule& rule, bool wide) {
  bool constant = false, changes = false;
  for (const Axes& a : rule.axes)
    if (packs_weights(rule, a)) (is_constant(rule, a.weights) ? constant : changes) = true;
  const bool first =
      changes && !(packs_weights(rule, rule.axes[0]) && is_constant(rule, rule.axes[0].weights));
  if (first) return {Packing::kNone, Packing::kBlock, Packing::kWhole};
  if (!constant) return {};
  if (changes) return {Packing::kWhole, Packing::kBlock, Packing::kNone};
  return wide ? std::vector{Packing::kWhole, Packing::kNone} : std::vector{Packing::kWhole};
}

// True of constant weights that few rows read: most of the time they come from beyond the caches,
// and panels side by side come faster than one.
bool has_few_rows(const TileRule& rule) {
  constexpr std::int64_t kFewRows = 4;
  const Axes& axes = rule.axes[0];
  const std::int64_t rows =
      extent_of(rule, axes, pixel_axis(axes, 0)) * extent_of(rule, axes, pixel_axis(axes, 1));
  return rule.axes.size() == 1 && rows <= kFewRows && axes.taps.empty() &&
         rule.channel_block(axes) == 1 && packs_weights(rule, axes) &&
         is_constant(rule, axes.weights) && extent_of(rule, axes, axes.vector) > rule.lanes;
}

// True of constant weights that come from beyond the second cache, where several tiles read each
// panel.
bool has_panels_from_far(const TileRule& rule) {
  const Axes& axes = rule.axes[0];
  return !axes.pixels.empty() && packs_weights(rule, axes) && is_constant(rule, axes.weights) &&
         bytes_of(rule.workload.tensors[axes.weights->tensor]) > kFarWeights;
}

void list_memory_knobs(TileRule& rule, Flavour flavour) {
  KnobList list(rule.knobs);
  const bool wide = flavour == Flavour::kWide;
  rule.packs_constants = !wide;
  rule.weight_packings = packings_of_weights(rule, wide);
  if (!rule.weight_packings.empty()) {
    rule.at.pack_w = list.choice("pack.weights", rule.weight_packings);
    if (has_few_rows(rule)) {
      rule.panels = {Panels::kTile, Panels::kVector};
      rule.at.panels = list.choice("panels", rule.panels);
    }
    const bool far = rule.at.panels < 0 && has_panels_from_far(rule);
    rule.at.prefetch = list.size("prefetch", wide  ? Values{0, 1024, 4096, 16384, 65536}
                                             : far ? Values{16384}
                                                   : Values{0, 4096, 16384});
    if (far) rule.at.next_panels = list.size("prefetch.panels", wide ? Values{0, 1} : Values{1});
  }
  const Axes& axes = rule.axes[0];
  if (packs_input(rule, axes) && (!is_constant(rule, axes.input) || rule.axes.size() > 1)) {
    rule.input_packings = {Packing::kNone, Packing::kBlock, Packing::kWhole};
    rule.at.pack_x = list.choice("pack.input", rule.input_packings);
  }
}

void list_shared_loops(TileRule& rule) {
  if (rule.target.threads < 2) return;
  const Axes& axes = rule.axes[0];
  const bool one_vector = rule.axes.size() == 1 && extent_of(rule, axes, axes.vector) <= rule.lanes;
  const bool pixels = !axes.pixels.empty();
  const bool batch =
      std::ranges::any_of(axes.batch, [&](int b) { return extent_of(rule, axes, b) > 1; });
  std::vector<SharedLoop>& loops = rule.shared_loops;
  if (!one_vector || !pixels) loops = {SharedLoop::kVectorBlocks};
  if (pixels) loops.push_back(SharedLoop::kPixelBlocks);
  if (batch) loops.push_back(SharedLoop::kBatch);
  loops.push_back(SharedLoop::kNone);
  if (!one_vector && pixels) loops.push_back(SharedLoop::kVectorsAndPixels);
  if (!one_vector && batch) loops.push_back(SharedLoop::kBatchAndVectors);
  if (pixels && batch) loops.push_back(SharedLoop::kBatchAndPixels);
  if (!one_vector && pixels && batch) loops.push_back(SharedLoop::kAll);
  rule.at.parallel = KnobList(rule.knobs).choice("parallel", loops);
}

}  // namespace

void add_constraints(const TiledStage& stage, Derived& derived) {
  ir::Sizes& s = derived.sizes;
  const TileRule& rule = stage.rule;
  const auto size = [&](int knob) {
    if (knob < 0) return s.constant(1);
    const auto own = static_cast<std::size_t>(knob);
    const int number = stage.numbers[own];
    if (number < 0) return s.constant(stage.start[own]);
    const ir::SizeId size = s.knob(number, derived.knobs[static_cast<std::size_t>(number)].name);
    // As the sketch cuts what tiles share where this one's largest is less.
    return stage.shared[own] ? s.min(size, s.constant(rule.knobs[own].values.back())) : size;
  };
  const ir::SizeId pixels = s.mul(size(rule.at.tile_p0), size(rule.at.tile_p1));
  const ir::SizeId v = size(rule.at.tile_v);
  // Beside the accumulators, the vectors that one operand has of the tile, and one of the other.
  const ir::SizeId kept = has_dots(rule.axes[0])
                              ? s.min(size(rule.at.tile_p0), size(rule.at.tile_p1))
                          : has_phases(rule.axes[0]) ? s.mul(v, size(rule.at.tile_p0))
                                                     : v;
  const ir::SizeId need = s.add(s.add(s.mul(pixels, v), kept), s.constant(1));
  if (std::ranges::find(derived.constraints, need, &Constraint::size) == derived.constraints.end())
    derived.constraints.push_back({"the register tile spills", need, rule.target.vector_registers});
}

namespace {

// True for a product of constant weights with rows of many elements, as a convolution of 1x1 with a
// large image. Lanes along the rows read each line once, and store along the rows, too. Lanes along
// the weights would fetch a few elements of as many lines as there are terms, for each tile.
bool has_long_rows(const TileRule& rule) {
  constexpr std::int64_t kLongRow = 32;  // vectors
  if (!has_long_vectors(rule) || rule.workload.contract.free_layout || rule.axes.size() < 2 ||
      has_pad(rule))
    return false;
  const Axes &usual = rule.axes[0], &other = rule.axes[1];
  const te::Stage& stage = rule.workload.stages[usual.stage];
  return packs_weights(rule, usual) && is_constant(rule, usual.weights) &&
         packs_weights(rule, other) && !is_constant(rule, other.weights) &&
         other.weights->index.back() == ir::Affine::iter(other.vector) &&
         packs_input(rule, other) && has_one_tap(stage, other) &&
         extent_of(rule, other, other.vector) >= kLongRow * rule.lanes;
}

}  // namespace

TileRule tile_rule_for(const te::Workload& view, int stage, const CpuTarget& target,
                       Flavour flavour, const std::set<std::string>& steps) {
  TileRule rule;
  rule.workload = view;
  rule.target = target;
  rule.axes = classify(rule.workload, stage, steps);
  rule.lanes = std::max(1, target.lanes(size_of(rule.workload.stages[stage].body->dtype)));
  if (rule.axes.empty()) return rule;
  // The default space has a second vector axis only where the first is no clear winner: a
  // convolution between row-major tensors either vectorizes along the row or scatters its stores.
  if (has_long_rows(rule)) std::swap(rule.axes[0], rule.axes[1]);
  else if (flavour == Flavour::kDefault && (view.contract.free_layout || rule.axes[0].taps.empty()))
    rule.axes.resize(1);
  // The knobs are those of all vector axes: with pixels, if one has them.
  const auto has_pixels = [](const Axes& axes) { return !axes.pixels.empty(); };
  if (std::ranges::any_of(rule.axes, has_pixels)) std::erase_if(rule.axes, std::not_fn(has_pixels));
  list_tile_knobs(rule, flavour);
  list_reduction_knobs(rule, flavour);
  list_memory_knobs(rule, flavour);
  list_shared_loops(rule);
  return rule;
}

void note_rows(TileRule& rule, const std::map<int, std::set<int>>& same) {
  const Axes& axes = rule.axes[0];
  const auto found = same.find(rule.workload.stages[static_cast<std::size_t>(axes.stage)].tensor);
  rule.comes_back = found != same.end() && axes.weights != nullptr &&
                    found->second.contains(axes.weights->tensor);
}

std::vector<TiledStage> companions_of(const te::Workload& view, int main, const CpuTarget& target,
                                      const te::Workload& sizes,
                                      const std::map<int, std::set<int>>& same,
                                      const std::set<int>& grouped,
                                      const std::set<std::string>& steps) {
  std::vector<TiledStage> out;
  for (int s = 0; s < static_cast<int>(view.stages.size()); ++s) {
    const te::Stage& stage = view.stages[s];
    if (s == main || stage.reduce == ir::ReduceOp::kNone || view.tensors[stage.tensor].constant ||
        kWorthATile * work_of(sizes.stages[s]) < work_of(sizes.stages[main]))
      continue;
    CpuTarget own = target;
    if (grouped.contains(stage.tensor)) own.threads = 1;
    TileRule rule = tile_rule_for(view, s, own, Flavour::kDefault, steps);
    if (rule.axes.empty()) continue;
    keep_few_orders(rule);
    note_rows(rule, same);
    out.push_back(tiled(std::move(rule)));
  }
  return out;
}

std::int64_t TileRule::channel_block(const Axes& a) const {
  if (!workload.contract.free_layout || a.input == nullptr || a.reduce < 0) return 1;
  const auto& stage = workload.stages[a.stage];
  if (workload.tensors[a.input->tensor].role != te::TensorRole::kInput ||
      workload.tensors[a.input->tensor].constant)
    return 1;
  const int dim = dim_along(a, a.input->index, a.reduce);
  const bool whole_blocks =
      dim >= 0 && (a.parts < 0 || a.input->index[dim].coef_of(a.parts) % lanes == 0);
  return whole_blocks && stage.iters[a.reduce].extent >= lanes ? lanes : 1;
}

}  // namespace lathe::space
