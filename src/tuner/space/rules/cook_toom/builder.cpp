// Where the products and what comes of them are computed, and how their loops run.
#include "tuner/space/rules/cook_toom/builder.h"

#include <algorithm>
#include <set>
#include <utility>

#include "compiler/ir/nest/nest.h"
#include "tuner/space/costs.h"
#include "tuner/space/rules/cook_toom/builder.h"
#include "tuner/space/rules/shared/consumers.h"
#include "tuner/space/rules/shared/plain_loops.h"

namespace lathe::space {

using ir::LoopKind;
using ir::SizeId;

void CookToomBuilder::run() {
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

// The loop over an axis' strands, inside `prefix`; none where it has one or is not transformed.
CookToomBuilder::Names CookToomBuilder::strands_of(const ImageAxis& axis,
                                                   const std::string& prefix) const {
  if (!transformed(axis) || !axis.strands().several()) return {};
  return {prefix + axis.iter + ".s"};
}

// The loops of the result: blocks of tiles, then blocks of vectors (or the other way round), then
// single tiles.
void CookToomBuilder::split_result() {
  const std::string v = sum_.block + "." + sum_.vector;
  split(v, times(size(rule_.at.block_v), lanes()), v + ".c", v + ".r");
  split(v + ".r", lanes(), v + ".o", v + ".l");
  Names tiles;  // inside the blocks
  for (const ImageAxis& axis : sum_.axes) {
    append(tiles, strands_of(axis, sum_.block + "."));
    const int block = &axis == &sum_.axes[0] ? rule_.at.block_t : rule_.at.block_p0;
    const std::string loop = tiles_of(axis);
    tiles.push_back(block < 0 ? loop : loop + ".r");
    if (block < 0) continue;
    split(loop, size(block), loop + ".c", loop + ".r");
    block_loops_.push_back(loop + ".c");
  }
  Names order;
  for (const std::string& iter : sum_.outer) order.push_back(sum_.block + "." + iter);
  if (whole_input()) order.push_back(v + ".c");
  append(order, block_loops_);
  if (!whole_input()) order.push_back(v + ".c");
  meeting_ = order.back();
  order.push_back(v + ".o");
  append(order, tiles);
  tile_loop_ = order.back();
  if (tiles.size() == 2 && sum_.axes.size() == 2) row_loop_ = tiles[0];
  for (std::size_t a = transforms(); a-- > 1;)
    order.push_back(sum_.block + "." + along(a).iter + ".i");
  write_out(order,
            {sum_.block + "." + along(0).iter + ".i",
             sum_.block + "." + schedule::position_iter(sum_.result)},
            v + ".l");
}

// A transform of one line of a tile is written out; loops go over the lines.
void CookToomBuilder::place_output_transforms() {
  for (std::size_t a = 1; a < transforms(); ++a) {
    const std::string name = stage("output", a);
    step(schedule::ComputeAt{name, tile_loop_});
    const auto loop = [&](const std::string& iter) { return name + "." + iter + "@" + tile_loop_; };
    Names lines;
    for (std::size_t b = 0; b < transforms(); ++b)
      if (b != a) lines.push_back(loop(along(b).iter + (b < a ? ".p" : ".i")));
    write_out(lines, {loop(along(a).iter + ".i"), loop(schedule::position_iter(sum_.result))},
              loop(sum_.vector));
    store_along(name, product_dims(sum_, algorithm_).vector);
  }
}

// Stores a tensor with this dimension inside.
void CookToomBuilder::store_along(const std::string& name, int inside) {
  const ir::BufferId buffer = nest_.find_buffer(name);
  Items items;
  for (int d = 0; std::cmp_less(d, nest_.buffers[buffer].shape.size()); ++d)
    if (d != inside) items.push_back({d, std::int64_t{1}});
  items.push_back({inside, std::int64_t{1}});
  step(schedule::Layout{name, items, 0});
}

void CookToomBuilder::place_products() {
  const std::string name = sum_.block + ".product";
  const std::string place = shares_positions() ? "" : "@" + meeting_;
  if (!shares_positions()) step(schedule::ComputeAt{name, meeting_});
  const auto loop = [&](const std::string& iter) { return name + "." + iter + place; };
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
  if (shares_positions()) shared_products_ = order;
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
  tiles_loop_ = tiles.front();
}

// Products are summed in registers; their tensor has positions outside, as they are computed.
void CookToomBuilder::keep_products(const std::string& name, const std::string& loop) {
  const ProductDims dims = product_dims(sum_, algorithm_);
  Items stored, held;
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

// The filter lies as the products read it: a panel of vectors for each position.
void CookToomBuilder::prepare_filter() {
  for (std::size_t a = 0; a < transforms(); ++a) {
    const std::string name = stage("filter", a);
    const std::string own = fmt::format("{}.d{}", name, along(a).filter_dim);
    const bool residues = along(a).residues().several();
    Names order, written_out = {residues ? own + ".p" : own, name + ".r"};
    for (int d = 0; d < sum_.filter_dims; ++d)
      if (d != along(a).filter_dim) order.push_back(fmt::format("{}.d{}", name, d));
    if (residues) order.push_back(own + ".a");
    const Names outside = order;
    order.insert(order.end(), written_out.begin(), written_out.end());
    step(schedule::Reorder{order});
    unroll(written_out);
    share_loops(nest_, trace_, outside, rule_.target.threads, free_layout_);
  }
  const std::string name = stage("filter", transforms() - 1);
  Items items;
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
  prefetch(reduction_loop_, name, size(rule_.at.prefetch));
  prefetch_panels(name);
}

// The panel after this one, while all tiles read this one.
void CookToomBuilder::prefetch_panels(const std::string& name) {
  if (rule_.at.next_panels < 0) return;
  const ir::Buffer& filter = nest_.buffers[nest_.find_buffer(name)];
  SizeId bytes = number(size_of(filter.dtype) * rule_.lanes);  // of a panel one vector wide
  for (int d = 0; d < sum_.filter_dims; ++d)
    if (d != sum_.vector_dim && (d == sum_.filter_channels || !is_position(d)))
      bytes = times(bytes, filter.shape[static_cast<std::size_t>(d)]);
  prefetch(tiles_loop_, name,
           times(size(rule_.at.next_panels), times(size(rule_.at.tile_v), bytes)));
}

bool CookToomBuilder::is_position(int filter_dim) const {
  const auto axis = std::ranges::find(sum_.axes, filter_dim, &ImageAxis::filter_dim);
  return axis == sum_.axes.end() || transformed(*axis);
}

// The loops over blocks of the result that threads share.
CookToomBuilder::Names CookToomBuilder::shared_result() const {
  Names results = {sum_.block + "." + sum_.vector + ".c"}, outer;
  for (const std::string& iter : sum_.outer) outer.push_back(sum_.block + "." + iter);
  switch (rule_.shares[chosen(rule_.at.share)]) {
    case TileShare::kTiles: return block_loops_;
    case TileShare::kResults: return results;
    case TileShare::kResultsAndTiles: append(outer = results, block_loops_); return outer;
    case TileShare::kBatchAndTiles: append(outer, block_loops_); return outer;
    case TileShare::kBatchAndResults: append(outer, results); return outer;
    case TileShare::kAll:
    case TileShare::kPositions: break;
  }
  append(outer, results);
  append(outer, block_loops_);
  return outer;
}

void CookToomBuilder::share() {
  if (rule_.target.threads < 2) return;
  share_loops(nest_, trace_, shared_input_, rule_.target.threads, free_layout_);
  for (const std::string& loop : shared_products_) kind(loop, LoopKind::kParallel);
  for (const std::string& loop : shared_result()) kind(loop, LoopKind::kParallel);
}

// True if the planes of a vector's channels share their places in the caches: tiles write a line
// piece by piece, and each piece would bring it again. 64 channels of 64x64 take 525 us so, and 372
// by whole rows of tiles.
bool CookToomBuilder::planes_collide(const te::Stage& stage) const {
  const auto vector = std::ranges::find(sum_.result, sum_.vector) - sum_.result.begin();
  const te::Tensor& made = rule_.prepared.view.tensors[static_cast<std::size_t>(stage.tensor)];
  if (row_loop_.empty() || std::cmp_not_equal(made.shape.size(), sum_.result.size()) ||
      vector + 1 == std::ssize(made.shape) || made.shape.back() % rule_.lanes != 0)
    return false;
  std::int64_t bytes = size_of(made.dtype);
  for (auto d = static_cast<std::size_t>(vector) + 1; d < made.shape.size(); ++d)
    bytes *= made.shape[d];
  return bytes % kPlacesRepeat == 0;
}

// Whole lines of memory, as many of them as there are lanes.
void CookToomBuilder::write_rows(Names loops, const std::string& vector) {
  const std::string along = loops.back();
  split(along, lanes(), along + ".t", along + ".i");
  loops.back() = along + ".t";
  write_out(loops, {along + ".i"}, vector);
}

// What reads the result element by element is computed for each tile of it.
void CookToomBuilder::schedule_others() {
  const te::Workload& view = rule_.prepared.view;
  const auto result = std::ranges::find(view.tensors, sum_.block, &te::Tensor::name);
  if (result->role == te::TensorRole::kIntermediate)
    store_along(sum_.block, static_cast<int>(std::ranges::find(sum_.result, sum_.vector) -
                                             sum_.result.begin()));
  std::set<std::string> placed = {sum_.block};
  for (const te::Stage& other : view.stages) {
    const std::string& name = view.tensors[static_cast<std::size_t>(other.tensor)].name;
    if (!placed.insert(name).second) continue;
    const bool along = maps_element_by_element(nest_, nest_.blocks[nest_.find_block(name)],
                                               nest_.find_buffer(sum_.block));
    const bool by_rows = along && planes_collide(other);
    const std::string& place = by_rows ? row_loop_ : tile_loop_;
    if (!along || !may_step(schedule::ReverseComputeAt{name, place})) {
      schedule_plainly(view, other, rule_.target, nest_, trace_, placed);
      continue;
    }
    Names loops;
    std::string vector;
    const auto count = std::min(other.iters.size(), sum_.result.size());
    for (std::size_t i = 0; i < count; ++i) {
      const std::string loop = other.iters[i].name + "@" + place;
      if (sum_.result[i] == sum_.vector) vector = loop;
      else loops.push_back(loop);
    }
    if (by_rows) write_rows(std::move(loops), vector);
    else write_out({}, loops, vector);
  }
}

}  // namespace lathe::space
