#include "tuner/space/rules/cuda/block_tile.h"

#include <algorithm>

#include <fmt/format.h>

#include "tuner/space/rules/shared/consumers.h"

namespace lathe::space {
namespace {

using ir::LoopKind;
using Names = std::vector<std::string>;

// Taps beyond so many are a loop.
constexpr std::int64_t kMostTapsWritten = 16;
// Threads of a block that adds up parts of sums, or packs weights.
constexpr std::int64_t kPlainThreads = 128;

class BlockBuilder : private Stepper {
 public:
  BlockBuilder(const ItemStage& stage, const BlockSizes& sizes, ir::Nest& nest,
               schedule::Trace& trace, std::set<std::string>& placed)
      : Stepper(nest, trace, false),
        of_(stage),
        stage_(stage.get()),
        sizes_(sizes),
        placed_(placed),
        name_(tensor(stage_.tensor)),
        vector_dim_(plain_dim(written_index(stage_), of_.axes.vector)),
        dims_(of_.view->tensors[static_cast<std::size_t>(stage_.tensor)].shape.size()) {}

  void run() {
    pack_weights();
    split_axes();
    split_reduction();
    order_loops();
    share_sum();
    keep_sums();
    if (sizes_.has_groups) add_up(sizes_.has_parts ? name_ + ".parts" : name_, block_loop_);
    if (sizes_.has_parts) add_up(name_, "");
    bind_loops();
    stage_operand(of_.axes.weights, sizes_.weights, of_.axes.vector);
    stage_operand(of_.axes.input, sizes_.input, of_.pixel(0));
    write_out_tile();
    if (!sizes_.has_groups && !sizes_.has_parts) place_maps(tile_loop_);
    placed_.insert(name_);
  }

 private:
  const std::string& tensor(int id) const {
    return of_.view->tensors[static_cast<std::size_t>(id)].name;
  }
  const std::string& loop(int iter) const {
    return stage_.iters[static_cast<std::size_t>(iter)].name;
  }
  ir::SizeId width() { return number(sizes_.width); }
  ir::SizeId block_of_vectors() { return times(times(sizes_.v, width()), sizes_.of_v); }
  const std::string& summing() const { return summing_.empty() ? name_ : summing_; }

  // Constant weights lie in the order in which blocks copy them: a kernel that runs once.
  void pack_weights() {
    const ir::Read* read = of_.axes.weights;
    if (!is_constant(read) || !has_strided_weights(of_)) return;
    const int along = plain_dim(read->index, of_.axes.vector);
    std::vector<schedule::LayoutItem> layout = {{along, block_of_vectors()}};
    for (int d = 0; std::cmp_less(d, read->index.size()); ++d)
      if (d != along) layout.push_back({d, std::int64_t{1}});
    layout.push_back({along, std::int64_t{1}});
    packed_ = tensor(read->tensor) + ".pack";
    step(schedule::Cache{tensor(read->tensor), packed_, "", ir::Scope::kMemory, layout, name_});
    Names far;
    for (std::size_t i = 0; i + 1 < layout.size(); ++i)
      far.push_back(fmt::format("{}.d{}", packed_, i));
    kind(fused(far, packed_ + ".far"), LoopKind::kBlockX);
    kind(fmt::format("{}.d{}", packed_, far.size()), LoopKind::kThreadX);
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

  // The dimensions of the result, after `before` others, in vectors.
  std::vector<schedule::LayoutItem> in_vectors(std::size_t before) {
    std::vector<schedule::LayoutItem> layout;
    const int vector = vector_dim_ + static_cast<int>(before);
    for (int d = 0; std::cmp_less(d, dims_ + before); ++d)
      if (d != vector) layout.push_back({d, std::int64_t{1}});
    layout.push_back({vector, sizes_.width});
    layout.push_back({vector, std::int64_t{1}});
    return layout;
  }
  void write_out_copy(const std::string& name, std::size_t loops, bool in_lanes) {
    for (std::size_t i = 0; i < loops; ++i)
      kind(fmt::format("{}.d{}", name, i),
           in_lanes && i + 1 == loops ? LoopKind::kVectorized : LoopKind::kUnrolled);
  }

  // The sums that are under way, in registers.
  void keep_sums() {
    const auto layout = in_vectors((sizes_.has_parts ? 1U : 0U) + (sizes_.has_groups ? 1U : 0U));
    const std::string name = name_ + ".acc";
    step(schedule::Cache{summing(), name, tile_loop_, ir::Scope::kRegister, layout});
    write_out_copy(name, layout.size(), true);
  }

  // The block's own loops, inside `above`.
  Names loops_of(const std::string& block, ir::LoopId above) const {
    Names out;
    for (const ir::LoopId l : nest_.loops_around(nest_.find_block(block)))
      if (l != above && nest_.is_inside({ir::Item::Kind::kLoop, l}, above))
        out.push_back(nest_.loops[l].name);
    return out;
  }

  // Adds up the parts of the block's results: all threads of the block where these were computed
  // take turns, or a kernel of its own does it.
  void add_up(const std::string& block, const std::string& at) {
    if (!at.empty()) step(schedule::ReverseComputeAt{block, at});
    Names loops = loops_of(block, at.empty() ? ir::kRoot : nest_.find_loop(at));
    const std::string parts = loops.back();
    loops.pop_back();
    const std::size_t before = loops.size() - dims_;  // results are parts themselves
    const bool in_lanes = std::cmp_equal(vector_dim_ + 1, dims_) && sizes_.width > 1;
    std::string lane;
    if (in_lanes) {
      const std::string last = loops.back();
      split(last, width(), last + ".v", last + ".l");
      loops.back() = last + ".v";
      lane = last + ".l";
    }
    Names order = loops;
    order.push_back(parts);
    if (in_lanes) order.push_back(lane);
    step(schedule::Reorder{order});
    const std::string turn = at.empty() ? bind_plainly(block, loops) : fused(loops, block + ".all");
    keep_added(block, turn, before, in_lanes);
    if (in_lanes) kind(lane, LoopKind::kVectorized);
    kind(parts, LoopKind::kUnrolled);
    if (block == name_) place_maps(turn);
    if (!at.empty()) kind(turn, LoopKind::kItems);
  }

  // One loop of these; its name.
  std::string fused(const Names& loops, const std::string& name) {
    if (loops.size() < 2) return loops[0];
    step(schedule::Fuse{loops, name});
    return name;
  }
  // Blocks and threads for loops whose extents are numbers. Returns the loop of threads.
  std::string bind_plainly(const std::string& block, Names loops) {
    Names threads;
    for (std::int64_t left = kPlainThreads; left > 1 && !loops.empty();) {
      const std::string l = loops.back();
      const std::int64_t extent =
          nest_.sizes.constant_value(nest_.loops[nest_.find_loop(l)].extent);
      loops.pop_back();
      if (extent > left) {
        split(l, number(left), l + ".g", l + ".i");
        loops.push_back(l + ".g");
      }
      threads.insert(threads.begin(), extent > left ? l + ".i" : l);
      left /= extent;
    }
    if (!loops.empty()) kind(fused(loops, block + ".g"), LoopKind::kBlockX);
    const std::string turn = fused(threads, block + ".i");
    kind(turn, LoopKind::kThreadX);
    return turn;
  }

  void keep_added(const std::string& block, const std::string& turn, std::size_t before,
                  bool in_lanes) {
    std::vector<schedule::LayoutItem> layout = in_vectors(before);
    if (!in_lanes) {
      layout.clear();
      for (int d = 0; std::cmp_less(d, dims_ + before); ++d) layout.push_back({d, std::int64_t{1}});
    }
    const std::string name = block + ".sum";
    step(schedule::Cache{block, name, turn, ir::Scope::kRegister, layout});
    write_out_copy(name, layout.size(), in_lanes);
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
    const std::string name = tensor(read->tensor) + ".shared";
    const auto count = static_cast<int>(read->index.size());
    int along = axis < 0 ? count - 1 : 0;
    while (along + 1 < count && read->index[static_cast<std::size_t>(along)].coef_of(axis) == 0)
      ++along;
    const int last = packed ? along : count - 1;
    const std::int64_t lanes = copy_lanes(read, last, packed);
    const auto order = [&](int innermost) {
      std::vector<schedule::LayoutItem> layout;
      for (int d = 0; d < count; ++d)
        if (d != innermost) layout.push_back({d, std::int64_t{1}});
      return layout;
    };
    std::vector<schedule::LayoutItem> copied = order(last), kept = order(along);
    if (lanes > 1) copied.push_back({last, lanes});
    copied.push_back({last, std::int64_t{1}});
    kept.push_back({along, std::int64_t{1}});
    schedule::Cache cache{from,   name,     loop(of_.axes.reduce) + ".o", ir::Scope::kGroup,
                          copied, summing()};
    cache.stages = sizes_.stages;
    step(cache);
    if (last != along) step(schedule::Layout{name, kept, kRowPad});
    Names turns;
    for (std::size_t i = 0; i + (lanes > 1 ? 1 : 0) < copied.size(); ++i)
      turns.push_back(fmt::format("{}.d{}", name, i));
    kind(fused(turns, name + ".all"), LoopKind::kItems);
    if (lanes > 1) kind(fmt::format("{}.d{}", name, copied.size() - 1), LoopKind::kVectorized);
  }
  // Elements that one copy has: a vector where rows begin at multiples of it.
  std::int64_t copy_lanes(const ir::Read* read, int last, bool packed) const {
    if (packed) return sizes_.width;
    const ir::Affine& row = read->index[static_cast<std::size_t>(last)];
    const auto& source = of_.view->tensors[static_cast<std::size_t>(read->tensor)];
    const std::int64_t lanes = kCopyBytes / size_of(source.dtype);
    const bool plain = row.terms.size() == 1 && row.terms[0].coef == 1 && row.offset == 0;
    return plain && source.shape.back() % lanes == 0 ? lanes : 1;
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

  // Element-wise maps of the result are computed by the thread that has it.
  void place_maps(const std::string& at) {
    for (const te::Stage& consumer : of_.view->stages) {
      const std::string& name = tensor(consumer.tensor);
      if (consumer.reduce != ir::ReduceOp::kNone || placed_.contains(name)) continue;
      const ir::BlockId id = nest_.find_block(name);
      if (id < 0 || !maps_element_by_element(nest_, nest_.blocks[id], nest_.find_buffer(name_)) ||
          !may_step(schedule::ReverseComputeAt{name, at}))
        continue;
      placed_.insert(name);
      Names loops = loops_of(name, nest_.find_loop(at));
      const std::string lane = loops[static_cast<std::size_t>(vector_dim_)];
      loops.erase(loops.begin() + vector_dim_);
      split(lane, width(), lane + ".v", lane + ".l");
      loops.push_back(lane + ".v");
      write_out({}, loops, lane + ".l");
    }
  }

  static constexpr std::int64_t kRowPad = 4;
  static constexpr int kCopyBytes = 16;

  const ItemStage& of_;
  const te::Stage& stage_;
  const BlockSizes& sizes_;
  std::set<std::string>& placed_;
  std::string name_;
  int vector_dim_;    // of the result
  std::size_t dims_;  // of the result
  std::string packed_, summing_;
  std::string block_loop_, tile_loop_;
  Names far_, near_;  // loops of blocks, and of threads, along pixels
};

}  // namespace

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
