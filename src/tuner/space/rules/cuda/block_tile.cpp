#include "tuner/space/rules/cuda/block_tile.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "tuner/space/rules/cuda/card_builder.h"

namespace lathe::space {
namespace {

using ir::LoopKind;

// Taps beyond so many are a loop.
constexpr std::int64_t kMostTapsWritten = 16;
constexpr int kCopyBytes = 16;

// The first dimension that is read along this iterator; else the last.
int dim_along(const ir::Read& read, int axis) {
  const auto count = static_cast<int>(read.index.size());
  int along = axis < 0 ? count - 1 : 0;
  while (along + 1 < count && read.index[static_cast<std::size_t>(along)].coef_of(axis) == 0)
    ++along;
  return along;
}

class BlockBuilder : private CardBuilder {
 public:
  BlockBuilder(const ItemStage& stage, const BlockSizes& sizes, ir::Nest& nest,
               schedule::Trace& trace, std::set<std::string>& placed)
      : CardBuilder(stage, sizes.width, stage.axes.vector, nest, trace, placed), sizes_(sizes) {}

  void run() {
    pack_weights();
    split_axes();
    split_reduction();
    order_loops();
    share_sum();
    keep(summing(), name_ + ".acc", tile_loop_,
         (sizes_.has_parts ? 1U : 0U) + (sizes_.has_groups ? 1U : 0U), true);
    if (sizes_.has_groups) add_up(sizes_.has_parts ? name_ + ".parts" : name_, block_loop_);
    if (sizes_.has_parts) add_up(name_, "");
    bind_loops();
    stage_operand(of_.axes.weights, sizes_.weights, of_.axes.vector);
    stage_operand(of_.axes.input, sizes_.input, of_.pixel(0));
    write_out_tile();
    if (!sizes_.has_groups && !sizes_.has_parts) place_maps(tile_loop_, true);
    placed_.insert(name_);
  }

 private:
  ir::SizeId block_of_vectors() { return times(times(sizes_.v, width()), sizes_.of_v); }
  const std::string& summing() const { return summing_.empty() ? name_ : summing_; }

  using Layout = std::vector<schedule::LayoutItem>;
  // The first vectors of all threads lie together, and so on.
  void add_vectors(Layout& layout, int dim) {
    layout.push_back({dim, width_});
    layout.push_back({dim, times(sizes_.v, width())});
    layout.push_back({dim, std::int64_t{1}});
  }
  // The same for loops, which go through the vectors of a thread inside.
  static Layout in_loop_order(Layout layout) {
    std::swap(layout[layout.size() - 3], layout[layout.size() - 2]);
    return layout;
  }

  // Constant weights lie in the order in which blocks copy them: a kernel that runs once.
  void pack_weights() {
    const ir::Read* read = of_.axes.weights;
    if (!is_constant(read) || !has_strided_weights(of_)) return;
    const int along = plain_dim(read->index, of_.axes.vector);
    Layout layout = {{along, block_of_vectors()}};
    for (int d = 0; std::cmp_less(d, read->index.size()); ++d)
      if (d != along) layout.push_back({d, std::int64_t{1}});
    const std::size_t far_dims = layout.size();
    add_vectors(layout, along);
    packed_ = free_name(tensor(read->tensor) + ".pack");
    step(schedule::Cache{tensor(read->tensor), packed_, "", ir::Scope::kMemory,
                         in_loop_order(layout), name_});
    step(schedule::Layout{packed_, layout});
    Names far, near;
    for (std::size_t i = 0; i < layout.size(); ++i)
      (i < far_dims ? far : near).push_back(fmt::format("{}.d{}", packed_, i));
    kind(fused(far, packed_ + ".far"), LoopKind::kBlockX);
    kind(fused(near, packed_ + ".near"), LoopKind::kThreadX);
  }
  // Another stage may have a copy of the same tensor.
  std::string free_name(const std::string& name) const {
    return nest_.find_buffer(name) < 0 ? name : name + "@" + name_;
  }
  bool is_constant(const ir::Read* read) const {
    return of_.view->tensors[static_cast<std::size_t>(read->tensor)].constant;
  }

  // l into l.g of blocks, l.i of threads and l.t of the tile.
  void split_in_items(const std::string& l, ir::SizeId items, ir::SizeId tile) {
    split(l, times(items, tile), l + ".g", l + ".r");
    split(l + ".r", tile, l + ".i", l + ".t");
  }
  void split_axes() {
    const std::string& v = loop(of_.axes.vector);
    split_in_items(v, sizes_.of_v, times(sizes_.v, width()));
    split(v + ".t", width(), v + ".v", v + ".l");
    if (of_.pixel(0) >= 0) split_in_items(loop(of_.pixel(0)), sizes_.of_p0, sizes_.p0);
    if (of_.pixel(1) >= 0) split_in_items(loop(of_.pixel(1)), sizes_.of_p1, sizes_.p1);
  }

  // k into k.b of blocks, k.o of chunks, k.z of groups, k.s and k.u, which is written out.
  void split_reduction() {
    const std::string& k = loop(of_.axes.reduce);
    std::string rest = k;
    if (sizes_.has_parts) {
      const ir::SizeId whole = number(of_.extent(of_.axes.reduce));
      split(k, nest_.sizes.ceildiv(whole, sizes_.parts), k + ".b", k + ".r");
      rest = k + ".r";
    }
    const ir::SizeId chunk = sizes_.has_groups ? times(sizes_.groups, sizes_.chunk) : sizes_.chunk;
    split(rest, chunk, k + ".o", k + ".w");
    rest = k + ".w";
    if (sizes_.has_groups) {
      split(rest, sizes_.chunk, k + ".z", k + ".q");
      rest = k + ".q";
    }
    split(rest, sizes_.unroll, k + ".s", k + ".u");
  }

  void order_loops() {
    const std::string &v = loop(of_.axes.vector), &k = loop(of_.axes.reduce);
    Names order;
    if (sizes_.has_parts) order.push_back(k + ".b");
    for (const int b : of_.axes.batch) far_.push_back(loop(b));
    for (const std::size_t which : {1, 0})
      if (of_.pixel(which) >= 0) {
        far_.push_back(loop(of_.pixel(which)) + ".g");
        near_.push_back(loop(of_.pixel(which)) + ".i");
      }
    order.insert(order.end(), far_.begin(), far_.end());
    block_loop_ = v + ".g";
    order.push_back(block_loop_);
    if (sizes_.has_groups) order.push_back(k + ".z");
    const bool pixels_last = sizes_.lanes == LaneOrder::kPixels && !near_.empty();
    if (pixels_last) order.push_back(v + ".i");
    order.insert(order.end(), near_.begin(), near_.end());
    if (!pixels_last) order.push_back(v + ".i");
    tile_loop_ = order.back();
    order.push_back(k + ".o");
    order.push_back(k + ".s");
    order.push_back(k + ".u");
    for (const int t : of_.axes.taps) order.push_back(loop(t));
    for (const std::size_t which : {1, 0})
      if (of_.pixel(which) >= 0) order.push_back(loop(of_.pixel(which)) + ".t");
    order.push_back(v + ".v");
    order.push_back(v + ".l");
    step(schedule::Reorder{order});
  }

  void share_sum() {
    const std::string& k = loop(of_.axes.reduce);
    if (sizes_.has_parts) {
      step(schedule::Rfactor{name_, k + ".b", name_ + ".parts", 0});
      summing_ = name_ + ".parts";
    }
    if (sizes_.has_groups) {
      step(schedule::Rfactor{summing(), k + ".z", name_ + ".groups", 0, ir::Scope::kGroup});
      summing_ = name_ + ".groups";
    }
  }

  // Adds up the parts of the block's results: all threads of the block where these were computed
  // take turns, or a kernel of its own does it.
  void add_up(const std::string& block, const std::string& at) {
    const auto as_computed = std::pair(vector_dim_, width_);
    if (at.empty()) store_along_last();
    else step(schedule::ReverseComputeAt{block, at});
    Names loops = loops_of(block, at);
    const std::string parts = loops.back();
    loops.pop_back();
    const std::size_t before = loops.size() - dims_;  // results are parts themselves
    const std::string lane = split_lanes(loops);
    Names order = loops;
    order.push_back(parts);
    if (!lane.empty()) order.push_back(lane);
    step(schedule::Reorder{order});
    const std::string turn = at.empty() ? bind_plainly(block, loops) : fused(loops, block + ".all");
    keep(block, block + ".sum", turn, before, !lane.empty());
    if (!lane.empty()) kind(lane, LoopKind::kVectorized);
    kind(parts, LoopKind::kUnrolled);
    if (block == name_) place_maps(turn, !lane.empty());
    if (!at.empty()) kind(turn, LoopKind::kItems);
    std::tie(vector_dim_, width_) = as_computed;
  }
  // In vectors of 16 bytes along the dimension in which results lie side by side, where rows begin
  // at multiples of these.
  void store_along_last() {
    const auto& result = of_.view->tensors[static_cast<std::size_t>(stage_.tensor)];
    const std::int64_t lanes = kCopyBytes / size_of(result.dtype);
    if (stores_vectors() || result.shape.back() % lanes != 0) return;
    vector_dim_ = static_cast<int>(dims_) - 1;
    width_ = lanes;
  }

  void bind_loops() {
    const std::string &v = loop(of_.axes.vector), &k = loop(of_.axes.reduce);
    if (!far_.empty()) kind(fused(far_, name_ + ".far"), LoopKind::kBlockX);
    kind(block_loop_, LoopKind::kBlockY);
    if (sizes_.has_parts) kind(k + ".b", LoopKind::kBlockZ);
    if (sizes_.has_groups) kind(k + ".z", LoopKind::kThreadZ);
    const bool pixels_last = tile_loop_ != v + ".i";
    if (!near_.empty()) {
      const std::string pixels = fused(near_, name_ + ".near");
      if (pixels_last) tile_loop_ = pixels;
      kind(pixels, pixels_last ? LoopKind::kThreadX : LoopKind::kThreadY);
    }
    kind(v + ".i", pixels_last ? LoopKind::kThreadY : LoopKind::kThreadX);
  }

  // Copies what a chunk of the sum needs of an operand. All threads take turns, in the order in
  // which elements lie in memory; they are kept so that those along `axis` lie together.
  void stage_operand(const ir::Read* read, Staging staging, int axis) {
    if (staging == Staging::kCache) return;
    const bool packed = read == of_.axes.weights && !packed_.empty();
    const std::string from = packed ? packed_ : tensor(read->tensor);
    const std::string name = free_name(tensor(read->tensor) + ".shared");
    const auto count = static_cast<int>(read->index.size());
    const int along = dim_along(*read, axis);
    const int last = packed ? along : count - 1;
    const std::int64_t lanes = copy_lanes(read, last, packed);
    const auto order = [&](int innermost) {
      Layout layout;
      for (int d = 0; d < count; ++d)
        if (d != innermost) layout.push_back({d, std::int64_t{1}});
      return layout;
    };
    Layout copied = order(last), kept = order(along);
    const bool of_vectors = axis == of_.axes.vector && last == along;
    const bool padded = sizes_.has_pad && read == of_.axes.input;
    if (padded) kept.push_back({along, pitch_of(read->index.back())});
    if (of_vectors) add_vectors(kept, along);
    else kept.push_back({along, std::int64_t{1}});
    if (packed) {
      copied = in_loop_order(kept);
    } else {
      if (lanes > 1) copied.push_back({last, lanes});
      copied.push_back({last, std::int64_t{1}});
    }
    schedule::Cache cache{from,   name,     loop(of_.axes.reduce) + ".o", ir::Scope::kGroup,
                          copied, summing()};
    cache.stages = sizes_.stages;
    step(cache);
    if (last != along || of_vectors || padded)
      step(schedule::Layout{name, kept, last != along ? kRowPad : 0});
    Names turns;
    for (std::size_t i = 0; i + (lanes > 1 ? 1 : 0) < copied.size(); ++i)
      turns.push_back(fmt::format("{}.d{}", name, i));
    if (packed) {  // in the order in which they lie
      std::swap(turns[turns.size() - 2], turns[turns.size() - 1]);
      step(schedule::Reorder{turns});
    }
    kind(fused(turns, name + ".all"), LoopKind::kItems);
    if (lanes > 1) kind(fmt::format("{}.d{}", name, copied.size() - 1), LoopKind::kVectorized);
  }
  // Elements that one copy has.
  std::int64_t copy_lanes(const ir::Read* read, int last, bool packed) const {
    return packed ? width_ : lanes_of_copy(of_, *read, last);
  }
  // Of the input, a block's elements along a row, and those between rows.
  ir::SizeId pitch_of(const ir::Affine& row) {
    ir::SizeId length = number(1);
    for (const ir::AffineTerm& term : row.terms) {
      const ir::SizeId more = nest_.sizes.add(reach(term.iter), number(-1));
      length = nest_.sizes.add(length, times(number(std::abs(term.coef)), more));
    }
    return nest_.sizes.add(length, sizes_.pad);
  }
  // Iterations of a block's tile, without its chunk.
  ir::SizeId reach(int iter) {
    const ir::SizeId all = number(of_.extent(iter));
    if (iter == of_.pixel(0)) return nest_.sizes.min(times(sizes_.p0, sizes_.of_p0), all);
    if (iter == of_.pixel(1)) return nest_.sizes.min(times(sizes_.p1, sizes_.of_p1), all);
    return std::ranges::find(of_.axes.taps, iter) == of_.axes.taps.end() ? number(1) : all;
  }

  void write_out_tile() {
    const std::string& v = loop(of_.axes.vector);
    kind(v + ".l", LoopKind::kVectorized);
    kind(v + ".v", LoopKind::kUnrolled);
    for (const std::size_t which : {0, 1})
      if (of_.pixel(which) >= 0) kind(loop(of_.pixel(which)) + ".t", LoopKind::kUnrolled);
    std::size_t written = 0;
    for (std::size_t i = of_.axes.taps.size(); i-- > 0; ++written) {
      const int tap = of_.axes.taps[i];
      const bool wanted =
          sizes_.taps == WrittenTaps::kAll || (sizes_.taps == WrittenTaps::kLast && written == 0);
      if (!wanted || of_.extent(tap) > kMostTapsWritten) break;
      kind(loop(tap), LoopKind::kUnrolled);
    }
    kind(loop(of_.axes.reduce) + ".u", LoopKind::kUnrolled);
  }

  static constexpr std::int64_t kRowPad = 4;

  const BlockSizes& sizes_;
  std::string packed_, summing_;
  std::string block_loop_, tile_loop_;
  Names far_, near_;  // loops of blocks, and of threads, along pixels
};

}  // namespace

std::int64_t lanes_of_copy(const ItemStage& stage, const ir::Read& read, int dim) {
  const ir::Affine& row = read.index[static_cast<std::size_t>(dim)];
  const auto& source = stage.view->tensors[static_cast<std::size_t>(read.tensor)];
  const std::int64_t lanes = kCopyBytes / size_of(source.dtype);
  const bool plain =
      row.terms.size() == 1 && row.terms[0].coef == 1 && row.offset == 0 &&
      std::ranges::find(stage.axes.batch, row.terms[0].iter) == stage.axes.batch.end();
  return plain && source.shape.back() % lanes == 0 ? lanes : 1;
}

int dim_along_pixels(const ItemStage& stage) {
  return dim_along(*stage.axes.input, stage.pixel(0));
}

bool may_pad_rows(const ItemStage& stage) {
  const ir::Read& input = *stage.axes.input;
  const int last = static_cast<int>(input.index.size()) - 1;
  return dim_along_pixels(stage) == last && lanes_of_copy(stage, input, last) == 1;
}

bool is_for_blocks(const ItemStage& stage) {
  const Axes& axes = stage.axes;
  if (axes.vector < 0 || axes.reduce < 0 || axes.weights == nullptr || axes.input == nullptr ||
      axes.weights->tensor == axes.input->tensor || stage.get().reduce != ir::ReduceOp::kSum)
    return false;
  return has_reuse(stage.get()) && writes_plainly(*stage.view, stage.get()) &&
         plain_dim(axes.weights->index, axes.vector) >= 0 &&
         !touches(axes.input->index, axes.vector) && !axes.pixels.empty() &&
         touches(axes.input->index, axes.pixels[0]);
}

std::vector<Axes> axes_of_blocks(const te::Workload& view, int stage) {
  std::vector<Axes> out;
  for (Axes& axes : classify(view, stage))
    if (is_for_blocks({&view, stage, axes})) out.push_back(std::move(axes));
  std::ranges::stable_sort(out, std::greater{}, [&](const Axes& axes) {
    return view.tensors[static_cast<std::size_t>(axes.weights->tensor)].constant;
  });
  return out;
}

void put_on_blocks(const ItemStage& stage, const BlockSizes& sizes, ir::Nest& nest,
                   schedule::Trace& trace, std::set<std::string>& placed) {
  BlockBuilder(stage, sizes, nest, trace, placed).run();
}

}  // namespace lathe::space
