// The input of a Cook-Toom algorithm: where it is transformed, and the copy that the transforms
// read.
#include <algorithm>

#include "tuner/space/rules/cook_toom/builder.h"

namespace lathe::space {

using ir::LoopKind;

// The axis along this dimension of the input; -1: none.
int CookToomBuilder::axis_at(int dim) const {
  const auto found = std::ranges::find(sum_.axes, dim, &ImageAxis::input_dim);
  return found == sum_.axes.end() ? -1 : static_cast<int>(found - sum_.axes.begin());
}

void CookToomBuilder::place_input_transforms() {
  const std::size_t last = transforms() - 1;
  std::string place = whole_input() ? "" : block_loops_.back();
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
int CookToomBuilder::channels_dim(std::size_t a) const {
  int dim = sum_.input_channels;
  for (const ImageAxis& axis : sum_.axes)
    if (axis.input_dim < sum_.input_channels && transformed(axis) && transform_of(axis) <= a)
      dim += 1 + axis.shifts + (axis.strands().several() ? 1 : 0) +
             (axis.residues().several() ? 1 : 0);
  return dim;
}

// Returns the loop inside which the transform before it is computed.
std::string CookToomBuilder::order_input_transform(std::size_t a, const LoopOf& loop,
                                                   bool outermost) {
  const int along_lanes = input_lanes();
  std::string lane = loop(fmt::format("d{}", along_lanes));
  Names order, inside, lines;
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
    if (number > a) lines.push_back(loop("d" + dim));  // elements of a tile
    else order.push_back(loop("t" + dim));
    Names& parts = number < a ? order : inside;
    for (int k = 0; number <= a && k < own.shifts; ++k)
      order.push_back(loop("o" + dim + (k == 0 ? "" : "." + std::to_string(k))));
    if (number <= a && own.strands().several()) parts.push_back(loop("s" + dim));
    if (number <= a && own.residues().several()) parts.push_back(loop("a" + dim));
    if (number < a) lines.push_back(loop("p" + dim));
  }
  const std::string tile = order.back();
  if (outermost && whole_input()) shared_input_ = order;
  order.insert(order.end(), inside.begin(), inside.end());
  append(order, lines);
  write_out(order, {loop(fmt::format("p{}", along(a).input_dim)), loop("r")}, lane);
  return tile;
}

// The transforms read a copy of the input. It has zeros where they read beyond it, so their loops
// have no edges, and lanes lie side by side.
void CookToomBuilder::copy_input() {
  const InputCopy copy = rule_.copies[chosen(rule_.at.copy)];
  if (copy == InputCopy::kNone || input_lanes() != sum_.input_channels) return;
  const std::string name = sum_.block + ".copy";
  Items items;
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
int CookToomBuilder::input_lanes() const {
  const int last = sum_.input_dims - 1, axis = axis_at(last);
  const bool row = axis >= 0 && !transformed(sum_.axes[static_cast<std::size_t>(axis)]);
  return row && 2 * sum_.channel_extent <= rule_.lanes ? last : sum_.input_channels;
}

// Positions outside, what lanes run along inside.
void CookToomBuilder::store_input(const std::string& name) {
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
  Items items;
  append(items, positions);
  append(items, tiles);
  items.push_back({inside, std::int64_t{1}});
  step(schedule::Layout{name, items, 0});
}

}  // namespace lathe::space
