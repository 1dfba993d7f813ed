#include "tuner/space/rules/opencl/item_tile.h"

#include <algorithm>

#include <fmt/format.h>

#include "tuner/space/rules/shared/consumers.h"

namespace lathe::space {
namespace {

using ir::LoopKind;
using Names = std::vector<std::string>;

class ItemBuilder : private Stepper {
 public:
  ItemBuilder(const ItemStage& stage, const ItemSizes& sizes, ir::Nest& nest,
              schedule::Trace& trace, std::set<std::string>& placed)
      : Stepper(nest, trace, false),
        of_(stage),
        stage_(stage.get()),
        sizes_(sizes),
        placed_(placed),
        name_(tensor(stage_.tensor)) {}

  void run() {
    copy_weights();
    split_axes();
    order_loops();
    bind_loops();
    keep_in_registers();
    write_out_tile();
    if (sizes_.staged) stage_operands();
    fuse_consumers();
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

  // A copy of the whole operand in which vectors lie together: a kernel of its own.
  void copy_weights() {
    if (sizes_.weights == Packing::kNone) return;
    const ir::Read* read = of_.axes.weights;
    const int along = plain_dim(read->index, of_.axes.vector);
    std::vector<schedule::LayoutItem> layout;
    for (int d = 0; std::cmp_less(d, read->index.size()); ++d)
      if (d != along) layout.push_back({d, std::int64_t{1}});
    layout.push_back({along, std::int64_t{1}});
    const std::string name = tensor(read->tensor) + ".pack";
    step(schedule::Cache{tensor(read->tensor), name, "", ir::Scope::kMemory, layout, name_});
    Names far;
    for (std::size_t i = 0; i + 1 < layout.size(); ++i)
      far.push_back(fmt::format("{}.d{}", name, i));
    kind(fused(far, name + ".far"), LoopKind::kBlockY);
    const std::string last = fmt::format("{}.d{}", name, layout.size() - 1);
    split(last, number(sizes_.copying), last + ".g", last + ".i");
    kind(last + ".g", LoopKind::kBlockX);
    kind(last + ".i", LoopKind::kThreadX);
  }

  // l into l.g of groups, l.i of items and l.t of the tile.
  void split_in_items(const std::string& l, ir::SizeId items, ir::SizeId tile) {
    split(l, times(items, tile), l + ".g", l + ".r");
    split(l + ".r", tile, l + ".i", l + ".t");
  }
  void split_axes() {
    const std::string& v = loop(of_.axes.vector);
    split_in_items(v, sizes_.group_x, times(sizes_.v, width()));
    split(v + ".t", width(), v + ".v", v + ".l");
    if (of_.pixel(0) >= 0) split_in_items(loop(of_.pixel(0)), sizes_.group_y, sizes_.p0);
    if (of_.pixel(1) >= 0)
      split(loop(of_.pixel(1)), sizes_.p1, loop(of_.pixel(1)) + ".g", loop(of_.pixel(1)) + ".t");
    if (of_.axes.reduce >= 0) {
      const std::string& k = loop(of_.axes.reduce);
      if (sizes_.staged) split(k, sizes_.chunk, k + ".c", k + ".r");
      split(sizes_.staged ? k + ".r" : k, sizes_.unroll, k + ".s", k + ".u");
    }
  }

  void order_loops() {
    const std::string& v = loop(of_.axes.vector);
    for (const int b : of_.axes.batch) far_.push_back(loop(b));
    if (of_.pixel(1) >= 0) far_.push_back(loop(of_.pixel(1)) + ".g");
    Names order = far_;
    if (of_.pixel(0) >= 0) order.push_back(loop(of_.pixel(0)) + ".g");
    order.push_back(v + ".g");
    if (of_.pixel(0) >= 0) order.push_back(loop(of_.pixel(0)) + ".i");
    order.push_back(v + ".i");
    tile_loop_ = v + ".i";
    if (sizes_.staged) order.push_back(loop(of_.axes.reduce) + ".c");
    Names taps;
    for (const int t : of_.axes.taps) taps.push_back(loop(t));
    const auto add_taps = [&] { order.insert(order.end(), taps.begin(), taps.end()); };
    if (sizes_.order == ReduceOrder::kTapsOutside) add_taps();
    if (of_.axes.reduce >= 0) order.push_back(loop(of_.axes.reduce) + ".s");
    if (sizes_.order == ReduceOrder::kChannelsOutside) add_taps();
    if (of_.axes.reduce >= 0) order.push_back(loop(of_.axes.reduce) + ".u");
    if (of_.pixel(1) >= 0) order.push_back(loop(of_.pixel(1)) + ".t");
    if (of_.pixel(0) >= 0) order.push_back(loop(of_.pixel(0)) + ".t");
    order.push_back(v + ".v");
    order.push_back(v + ".l");
    step(schedule::Reorder{order});
  }

  void bind_loops() {
    const std::string& v = loop(of_.axes.vector);
    if (!far_.empty()) kind(fused(far_, name_ + ".far"), LoopKind::kBlockZ);
    if (of_.pixel(0) >= 0) {
      kind(loop(of_.pixel(0)) + ".g", LoopKind::kBlockY);
      kind(loop(of_.pixel(0)) + ".i", LoopKind::kThreadY);
    }
    kind(v + ".g", LoopKind::kBlockX);
    kind(v + ".i", LoopKind::kThreadX);
  }

  // False where a dimension of the result is several iterators, as the residues of a filter, or an
  // iterator several loops, as results inside tiles.
  bool writes_plainly_here() const {
    return writes_plainly(*of_.view, stage_) &&
           all_plain(nest_.blocks[nest_.find_block(name_)].index);
  }

  // Of a reduction: the sums that are under way.
  void keep_in_registers() {
    if (stage_.reduce == ir::ReduceOp::kNone || !writes_plainly_here()) return;
    const int vector = plain_dim(written_index(stage_), of_.axes.vector);
    if (vector < 0) return;
    std::vector<schedule::LayoutItem> layout;
    const auto dims = of_.view->tensors[static_cast<std::size_t>(stage_.tensor)].shape.size();
    for (int d = 0; std::cmp_less(d, dims); ++d)
      if (d != vector) layout.push_back({d, std::int64_t{1}});
    layout.push_back({vector, sizes_.width});
    layout.push_back({vector, std::int64_t{1}});
    const std::string name = name_ + ".acc";
    step(schedule::Cache{name_, name, tile_loop_, ir::Scope::kRegister, layout});
    for (std::size_t i = 0; i < layout.size(); ++i)
      kind(fmt::format("{}.d{}", name, i),
           i + 1 == layout.size() ? LoopKind::kVectorized : LoopKind::kUnrolled);
  }

  // Copies of what the items of a group read in a chunk of the sum. Rows are padded up to whole
  // vectors; items next to each other copy vectors that lie side by side in the copy.
  void stage_operands() {
    std::vector<int> staged;
    for (const ir::Read* read : ir::reads_of(stage_.body)) {
      if (std::ranges::count(staged, read->tensor) > 0) continue;
      staged.push_back(read->tensor);
      const std::string& whole = tensor(read->tensor);
      const bool packed = nest_.find_buffer(whole + ".pack") >= 0;
      stage_operand(packed ? whole + ".pack" : whole, *read);
    }
  }
  void stage_operand(const std::string& operand, const ir::Read& read) {
    const std::string copy = operand + ".stage";
    // Vectors run along the dimension of the tile's vectors, or the last one.
    const auto along = std::ranges::find_if(
        read.index, [&](const ir::Affine& row) { return row.coef_of(of_.axes.vector) != 0; });
    const auto last = static_cast<int>(along == read.index.end() ? std::ssize(read.index) - 1
                                                                 : along - read.index.begin());
    std::vector<schedule::LayoutItem> layout;
    for (int d = 0; std::cmp_less(d, read.index.size()); ++d)
      if (d != last) layout.push_back({d, std::int64_t{1}});
    layout.push_back({last, sizes_.width});
    layout.push_back({last, std::int64_t{1}});
    step(schedule::Cache{operand, copy, loop(of_.axes.reduce) + ".c", ir::Scope::kGroup, layout,
                         name_});
    Names turns;
    for (std::size_t i = 0; i + 1 < layout.size(); ++i)
      turns.push_back(fmt::format("{}.d{}", copy, i));
    kind(fused(turns, copy + ".turns"), LoopKind::kItems);
    kind(fmt::format("{}.d{}", copy, turns.size()), LoopKind::kVectorized);
  }

  void write_out_tile() {
    kind(loop(of_.axes.vector) + ".l", LoopKind::kVectorized);
    kind(loop(of_.axes.vector) + ".v", LoopKind::kUnrolled);
    for (const std::size_t which : {0, 1})
      if (of_.pixel(which) >= 0) kind(loop(of_.pixel(which)) + ".t", LoopKind::kUnrolled);
    if (of_.axes.reduce >= 0) kind(loop(of_.axes.reduce) + ".u", LoopKind::kUnrolled);
  }

  // Element-wise maps of the result are computed by the item that has it.
  void fuse_consumers() {
    if (stage_.reduce == ir::ReduceOp::kNone || !writes_plainly_here()) return;
    const int vector = plain_dim(written_index(stage_), of_.axes.vector);
    for (const te::Stage& consumer : of_.view->stages) {
      const std::string& name = tensor(consumer.tensor);
      if (consumer.reduce != ir::ReduceOp::kNone || placed_.contains(name)) continue;
      const ir::BlockId id = nest_.find_block(name);
      if (id < 0 || !maps_element_by_element(nest_, nest_.blocks[id], nest_.find_buffer(name_)))
        continue;
      Names loops;
      for (const ir::BlockIter& iter : nest_.blocks[id].iters)
        loops.push_back(name + "." + iter.name + "@" + tile_loop_);
      if (vector < 0 || !may_step(schedule::ReverseComputeAt{name, tile_loop_})) continue;
      placed_.insert(name);
      const std::string lane = loops[static_cast<std::size_t>(vector)];
      loops.erase(loops.begin() + vector);
      split(lane, width(), lane + ".v", lane + ".l");
      loops.push_back(lane + ".v");
      write_out({}, loops, lane + ".l");
    }
  }

  const ItemStage& of_;
  const te::Stage& stage_;
  const ItemSizes& sizes_;
  std::set<std::string>& placed_;
  std::string name_, tile_loop_;
  Names far_;  // loops of groups along z
};

}  // namespace

bool has_strided_weights(const ItemStage& stage) {
  const ir::Read* read = stage.axes.weights;
  if (read == nullptr || !has_reuse(stage.get()) || !all_plain(read->index)) return false;
  const int along = plain_dim(read->index, stage.axes.vector);
  return along >= 0 && std::cmp_less(along + 1, read->index.size());
}

void put_on_grid(const ItemStage& stage, const ItemSizes& sizes, ir::Nest& nest,
                 schedule::Trace& trace, std::set<std::string>& placed) {
  ItemBuilder(stage, sizes, nest, trace, placed).run();
}

}  // namespace lathe::space
