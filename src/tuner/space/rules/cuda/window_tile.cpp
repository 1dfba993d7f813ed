#include "tuner/space/rules/cuda/window_tile.h"

#include <algorithm>

#include <fmt/format.h>

#include "tuner/space/rules/cuda/card_builder.h"

namespace lathe::space {
namespace {

using ir::LoopKind;

// Taps beyond so many along an axis are a loop.
constexpr std::int64_t kMostTapsOfAxis = 16;
constexpr int kBytesOfHaloCopy = 16;

class WindowBuilder : private CardBuilder {
 public:
  WindowBuilder(const ItemStage& stage, const WindowAxes& axes, const WindowSizes& sizes,
                ir::Nest& nest, schedule::Trace& trace, std::set<std::string>& placed)
      : CardBuilder(stage, sizes.width, axes.v, nest, trace, placed), axes_(axes), sizes_(sizes) {}

  void run() {
    split_axes();
    order_loops();
    bind_loops();
    if (sums()) keep(name_, name_ + ".acc", tile_loop_, 0, in_vectors());
    if (sizes_.input == Staging::kShared && axes_.input != nullptr) stage_input();
    write_out_tile();
    if (sums()) place_maps(tile_loop_, in_vectors());
    placed_.insert(name_);
  }

 private:
  bool sums() const { return stage_.reduce != ir::ReduceOp::kNone; }
  bool in_vectors() const { return sizes_.width > 1; }
  bool is_tap(int iter) const {
    return stage_.iters[static_cast<std::size_t>(iter)].kind == te::IterKind::kReduce;
  }

  // v into v.g of blocks, v.i of threads, v.t of the tile and v.l of a vector. A thread's vectors
  // lie together where sums are kept in registers; of maps, those of all threads do.
  void split_axes() {
    const std::string& v = loop(axes_.v);
    const ir::SizeId of_threads = times(sizes_.of_v, width());
    split(v, times(of_threads, sizes_.v), v + ".g", v + ".r");
    if (sums()) {
      split(v + ".r", times(sizes_.v, width()), v + ".i", v + ".q");
      split(v + ".q", width(), v + ".t", v + ".l");
    } else {
      split(v + ".r", of_threads, v + ".t", v + ".q");
      split(v + ".q", width(), v + ".i", v + ".l");
    }
    if (axes_.p >= 0) {
      const std::string& p = loop(axes_.p);
      split(p, times(sizes_.of_p, sizes_.p), p + ".g", p + ".r");
      split(p + ".r", sizes_.p, p + ".i", p + ".t");
    }
    if (axes_.b >= 0) split(loop(axes_.b), sizes_.of_b, loop(axes_.b) + ".g", loop(axes_.b) + ".i");
  }

  void order_loops() {
    const std::string& v = loop(axes_.v);
    for (int i = 0; std::cmp_less(i, stage_.iters.size()); ++i)
      if (!is_tap(i) && i != axes_.v && i != axes_.p && i != axes_.b) far_.push_back(loop(i));
    if (axes_.b >= 0) far_.push_back(loop(axes_.b) + ".g");
    Names order = far_;
    if (axes_.p >= 0) order.push_back(loop(axes_.p) + ".g");
    order.push_back(v + ".g");
    if (axes_.b >= 0) order.push_back(loop(axes_.b) + ".i");
    if (axes_.p >= 0) order.push_back(loop(axes_.p) + ".i");
    order.push_back(v + ".i");
    tile_loop_ = v + ".i";
    for (int i = 0; std::cmp_less(i, stage_.iters.size()); ++i)
      if (is_tap(i)) taps_.push_back(i);
    for (const int tap : taps_) order.push_back(loop(tap));
    if (axes_.p >= 0) order.push_back(loop(axes_.p) + ".t");
    order.push_back(v + ".t");
    order.push_back(v + ".l");
    step(schedule::Reorder{order});
  }

  void bind_loops() {
    const std::string& v = loop(axes_.v);
    if (!far_.empty()) kind(fused(far_, name_ + ".far"), LoopKind::kBlockZ);
    kind(v + ".g", LoopKind::kBlockX);
    kind(v + ".i", LoopKind::kThreadX);
    if (axes_.p >= 0) {
      kind(loop(axes_.p) + ".g", LoopKind::kBlockY);
      kind(loop(axes_.p) + ".i", LoopKind::kThreadY);
    }
    if (axes_.b >= 0) kind(loop(axes_.b) + ".i", LoopKind::kThreadZ);
  }

  // What the block reads, with its halo. All threads take turns, in the order of memory.
  void stage_input() {
    const auto& source = of_.view->tensors[static_cast<std::size_t>(axes_.input->tensor)];
    const std::string copy = source.name + ".shared";
    const auto dims = static_cast<int>(axes_.input->index.size());
    const ir::Affine& row = axes_.input->index.back();
    const std::int64_t fits = kBytesOfHaloCopy / size_of(source.dtype);
    const bool plain = row.terms.size() == 1 && row.terms[0].coef == 1 && row.offset == 0;
    const std::int64_t lanes = plain && source.shape.back() % fits == 0 ? fits : 1;
    std::vector<schedule::LayoutItem> layout;
    for (int d = 0; d + 1 < dims; ++d) layout.push_back({d, std::int64_t{1}});
    if (lanes > 1) layout.push_back({dims - 1, lanes});
    layout.push_back({dims - 1, std::int64_t{1}});
    step(schedule::Cache{source.name, copy, loop(axes_.v) + ".g", ir::Scope::kGroup, layout});
    Names turns;
    for (std::size_t i = 0; i + (lanes > 1 ? 1 : 0) < layout.size(); ++i)
      turns.push_back(fmt::format("{}.d{}", copy, i));
    kind(fused(turns, copy + ".all"), LoopKind::kItems);
    if (lanes > 1) kind(fmt::format("{}.d{}", copy, dims), LoopKind::kVectorized);
  }

  void write_out_tile() {
    const std::string& v = loop(axes_.v);
    kind(v + ".l", in_vectors() ? LoopKind::kVectorized : LoopKind::kUnrolled);
    kind(v + ".t", LoopKind::kUnrolled);
    if (axes_.p >= 0) kind(loop(axes_.p) + ".t", LoopKind::kUnrolled);
    for (std::size_t i = taps_.size(), written = 0; i-- > 0; ++written) {
      const bool wanted =
          sizes_.taps == WrittenTaps::kAll || (sizes_.taps == WrittenTaps::kLast && written == 0);
      if (!wanted || of_.extent(taps_[i]) > kMostTapsOfAxis) break;
      kind(loop(taps_[i]), LoopKind::kUnrolled);
    }
  }

  const WindowAxes& axes_;
  const WindowSizes& sizes_;
  std::string tile_loop_;
  Names far_;              // loops of blocks along z
  std::vector<int> taps_;  // iterators of the reduction
};

// True if elements of the tensor are read for several results or terms.
bool is_window(const te::Stage& stage, const ir::Read& read) {
  return std::ranges::any_of(read.index, [&](const ir::Affine& row) {
    const auto moved = [&](te::IterKind kind) {
      return std::ranges::any_of(row.terms, [&](const ir::AffineTerm& term) {
        return stage.iters[static_cast<std::size_t>(term.iter)].kind == kind;
      });
    };
    return moved(te::IterKind::kSpatial) && moved(te::IterKind::kReduce);
  });
}

}  // namespace

WindowAxes window_axes_of(const ItemStage& stage) {
  WindowAxes out;
  const te::Stage& of = stage.get();
  const bool sums = of.reduce != ir::ReduceOp::kNone;
  if (!writes_plainly(*stage.view, of) || (sums && has_reuse(of)) || read_along(of) >= 0)
    return out;
  std::vector<int> spatial;
  for (int i = 0; std::cmp_less(i, of.iters.size()); ++i)
    if (of.iters[static_cast<std::size_t>(i)].kind == te::IterKind::kSpatial) spatial.push_back(i);
  if (spatial.empty()) return out;
  const auto from_end = [&](std::size_t n) {
    return spatial.size() > n ? spatial[spatial.size() - 1 - n] : -1;
  };
  out.v = from_end(0), out.p = from_end(1), out.b = from_end(2);
  for (const ir::Read* read : ir::reads_of(of.body))
    if (is_window(of, *read)) out.input = read;
  return out;
}

void put_windows_on_blocks(const ItemStage& stage, const WindowAxes& axes, const WindowSizes& sizes,
                           ir::Nest& nest, schedule::Trace& trace, std::set<std::string>& placed) {
  WindowBuilder(stage, axes, sizes, nest, trace, placed).run();
}

}  // namespace lathe::space
