// Copies of operands in the order in which the loops of a tile read them.
#include <algorithm>
#include <numeric>

#include "tuner/space/rules/shared/plain_loops.h"
#include "tuner/space/rules/tile/tile_builder.h"

namespace lathe::space {

using schedule::LayoutItem;

// Puts weights in the order in which the loops read them: panel by panel, each as wide as the
// register tile, or as a vector of it.
void TileBuilder::pack_weights() {
  if (axes_.weights == nullptr || weight_packing() == Packing::kNone) return;
  const ir::Read* read = axes_.weights;
  const int v = dim_of(read, axes_.vector);
  if (v < 0 || !all_plain(axes_, read->index)) return;
  std::vector<LayoutItem> items;
  const int k = dim_of(read, axes_.reduce);
  const auto is_tap = [&](int d) {
    return std::ranges::any_of(axes_.taps, [&](int tap) { return dim_of(read, tap) == d; });
  };
  for (int d = 0; d < static_cast<int>(read->index.size()); ++d)
    if (d != v && d != k && !is_tap(d)) items.push_back({d, std::int64_t{1}});
  const bool narrow = choice(rule_.at.panels, rule_.panels, Panels::kTile) == Panels::kVector;
  items.push_back({v, times(narrow ? number(1) : size(rule_.at.tile_v), number(rule_.lanes))});
  const std::int64_t together = rule_.channel_block(axes_);
  if (k >= 0 && together > 1 && !taps_outside()) items.push_back({k, together});
  for (const int t : axes_.taps)
    if (dim_of(read, t) >= 0) items.push_back({dim_of(read, t), std::int64_t{1}});
  if (k >= 0 && together > 1 && taps_outside()) items.push_back({k, together});
  if (k >= 0) items.push_back({k, std::int64_t{1}});
  items.push_back({v, std::int64_t{1}});
  const bool whole = weight_packing() == Packing::kWhole;
  const std::string name = copy_name(read->tensor, ".pack");
  if (pack(read->tensor, name, whole ? "" : innermost_block(TileAxis::kVector), items))
    packed_weights_ = name;
}

// Two stages may each pack the same tensor, so a name may be taken.
std::string TileBuilder::copy_name(int source, const std::string& suffix) const {
  const std::string name = tensor(source) + suffix;
  return nest_.find_buffer(name) < 0 ? name : name + "." + target_;
}

// The copy walks through its source as it lies in memory, with vectors along the last digit of
// its own storage.
bool TileBuilder::pack(int source, const std::string& name, const std::string& loop,
                       const std::vector<LayoutItem>& items) {
  // The copy is laid out for this stage: whoever else reads or computes the tensor does so where
  // it lies.
  if (!may_step(schedule::Cache{tensor(source), name, loop, ir::Scope::kMemory, items,
                                loop.empty() ? target_ : ""}))
    return false;
  std::vector<int> digits(items.size());
  std::iota(digits.begin(), digits.end(), 0);
  if (nest_.buffers[source].layout.empty())
    std::stable_sort(digits.begin(), digits.end() - 1,
                     [&](int a, int b) { return items[a].dim < items[b].dim; });
  std::vector<std::string> loops;
  for (const int digit : digits) loops.push_back(fmt::format("{}.d{}", name, digit));
  if (!std::ranges::is_sorted(digits)) step(schedule::Reorder{loops});
  transpose_in_blocks(source, items, digits, loops);
  kind(loops.back(), ir::LoopKind::kVectorized);
  if (!loop.empty()) return true;
  loops.pop_back();  // that in vectors
  if (const std::string blocks = loops.empty() ? "" : loops.back() + ".o";
      !blocks.empty() && nest_.find_loop(blocks) >= 0)
    loops.back() = blocks;  // of neighbours that are transposed
  share_loops(nest_, trace_, loops, draft_.threads, free_layout_);
  return true;
}

// Where lanes lie apart in the source, as many neighbours of each are copied with them: then code
// generation transposes them in registers.
void TileBuilder::transpose_in_blocks(int source, const std::vector<LayoutItem>& items,
                                      const std::vector<int>& digits,
                                      const std::vector<std::string>& loops) {
  const auto dims = static_cast<int>(nest_.buffers[source].shape.size());
  const int before = digits.size() < 2 ? -1 : digits[digits.size() - 2];
  if (!nest_.buffers[source].layout.empty() || before < 0 || items[before].dim != dims - 1 ||
      items.back().dim == dims - 1)
    return;
  const std::string& loop = loops[loops.size() - 2];
  split(loop, number(rule_.lanes), loop + ".o", loop + ".u");
  unroll({loop + ".u"});
}

void TileBuilder::pack_input() {
  if (axes_.input == nullptr || input_packing() == Packing::kNone) return;
  const ir::Read* read = axes_.input;
  const int p = axes_.pixels.empty() ? -1 : dim_of(read, axes_.pixels[0]);
  const int k = dim_of(read, axes_.reduce);
  if (p < 0 || k < 0) return;
  std::vector<LayoutItem> items;
  for (int d = 0; d < static_cast<int>(read->index.size()); ++d)
    if (d != p && d != k) items.push_back({d, std::int64_t{1}});
  items.push_back({p, size(rule_.at.tile_p0)});
  items.push_back({k, std::int64_t{1}});
  items.push_back({p, std::int64_t{1}});
  const bool whole = input_packing() == Packing::kWhole;
  pack(read->tensor, copy_name(read->tensor, ".pack"),
       whole ? "" : innermost_block(TileAxis::kPixels), items);
}

void TileBuilder::prefetch_weights() {
  if (rule_.at.prefetch < 0 || packed_weights_.empty()) return;
  // Where tiles of pixels follow each other, they read one panel.
  const LoopOrder& order = rule_.orders[choice_number(rule_.at.order)];
  const bool panels =
      rule_.at.next_panels >= 0 && !axes_.pixels.empty() && order.tiles.back() == TileAxis::kPixels;
  // Both, where the space leaves it open what a tile gains by either.
  const Knob& knob = rule_.knobs[static_cast<std::size_t>(rule_.at.prefetch)];
  if (!panels || knob.values.size() > 1)
    prefetch(loop_of(axes_.reduce) + ".s", packed_weights_, size(rule_.at.prefetch));
  if (panels) prefetch_panels();
}

// The panel after this one, while all tiles of pixels read this one.
void TileBuilder::prefetch_panels() {
  const te::Tensor& weights = rule_.workload.tensors[axes_.weights->tensor];
  std::int64_t bytes = size_of(weights.dtype) * rule_.lanes;  // of a panel one vector wide
  bytes *= extent_of(rule_, axes_, axes_.reduce);
  for (const int tap : axes_.taps)
    if (dim_of(axes_.weights, tap) >= 0) bytes *= extent_of(rule_, axes_, tap);
  prefetch(loop_of(axes_.pixels.back()) + ".t", packed_weights_,
           times(size(rule_.at.next_panels), times(size(rule_.at.tile_v), number(bytes))));
}

}  // namespace lathe::space
