#include "tuner/space/rules/row_group.h"

#include <algorithm>
#include <map>
#include <set>

#include "tuner/space/rules/axes.h"

namespace lathe::space {
namespace {

constexpr std::int64_t kFewestReused = 16;   // rows for which a tile may use something again
constexpr std::int64_t kFewestColumns = 64;  // a few vectors and whole lines of the cache

double bytes_of(const te::Tensor& tensor) {
  double bytes = size_of(tensor.dtype);
  for (const std::int64_t n : tensor.shape) bytes *= static_cast<double>(n);
  return bytes;
}

// Finds the axis that all stages share and that is iterator `iter` of the last.
class AxisFinder {
 public:
  explicit AxisFinder(const te::Workload& view) : view_(view), last_(view.stages.size() - 1) {}

  std::optional<RowAxis> find(int iter) {
    axis_ = {};
    largest_ = 0;
    axis_.iters.assign(view_.stages.size(), -1);
    axis_.iters[last_] = iter;
    axis_.extent = view_.stages[last_].iters[static_cast<std::size_t>(iter)].extent;
    if (axis_.extent < 2) return std::nullopt;
    for (std::size_t s = last_ + 1; s-- > 0;) {
      if (is_constant(s)) continue;
      if (s != last_ && !follow(s)) return std::nullopt;
      note_reuse(view_.stages[s], axis_.iters[s]);
      note_neighbours(view_.stages[s], axis_.iters[s]);
    }
    return axis_;
  }

 private:
  bool is_constant(std::size_t s) const {
    return view_.tensors[static_cast<std::size_t>(view_.stages[s].tensor)].constant;
  }

  // The dimension of the stage's result that all its readers go through along the axis.
  bool follow(std::size_t s) {
    int dim = -1;
    for (std::size_t r = s + 1; r <= last_; ++r) {
      if (is_constant(r)) continue;
      for (const ir::Read* read : ir::reads_of(view_.stages[r].body)) {
        if (read->tensor != view_.stages[s].tensor) continue;
        const int d = plain_dim(read->index, axis_.iters[r]);
        if (d < 0 || (dim >= 0 && d != dim)) return false;
        dim = d;
      }
    }
    // The iterators of the result's dimensions come first.
    if (dim < 0 || view_.stages[s].iters[static_cast<std::size_t>(dim)].extent != axis_.extent)
      return false;
    axis_.iters[s] = dim;
    return true;
  }

  void note_reuse(const te::Stage& stage, int iter) {
    if (stage.reduce == ir::ReduceOp::kNone || !has_reuse(stage)) return;
    for (const ir::Read* read : ir::reads_of(stage.body))
      axis_.reused = axis_.reused || !touches(read->index, iter);
  }

  // The largest tensor along the axis tells.
  void note_neighbours(const te::Stage& stage, int iter) {
    const auto note = [&](int tensor, const std::vector<ir::Affine>& index) {
      const double bytes = bytes_of(view_.tensors[static_cast<std::size_t>(tensor)]);
      if (bytes <= largest_ || !touches(index, iter)) return;
      largest_ = bytes;
      axis_.contiguous = index.back().coef_of(iter) != 0;
    };
    note(stage.tensor, written_index(stage));
    for (const ir::Read* read : ir::reads_of(stage.body)) note(read->tensor, read->index);
  }

  const te::Workload& view_;
  std::size_t last_;
  double largest_ = 0;  // bytes
  RowAxis axis_;
};

int stages_in(const RowAxis& axis) {
  return static_cast<int>(std::ranges::count_if(axis.iters, [](int i) { return i >= 0; }));
}

double rows_of(const RowGroup& group) {
  double rows = 1;
  for (const RowAxis& axis : group.axes) rows *= static_cast<double>(axis.extent);
  return rows;
}

}  // namespace

std::optional<RowGroup> find_row_group(const te::Workload& view) {
  for (const te::Stage& stage : view.stages)
    if (!writes_plainly(view, stage)) return std::nullopt;
  const te::Stage& last = view.stages.back();
  AxisFinder finder(view);
  RowGroup group;
  std::optional<RowAxis> reused;
  for (int i = 0; i < static_cast<int>(last.iters.size()); ++i) {
    if (last.iters[static_cast<std::size_t>(i)].kind != te::IterKind::kSpatial) continue;
    auto axis = finder.find(i);
    if (!axis || stages_in(*axis) < 2) continue;
    if (!axis->reused) group.axes.push_back(std::move(*axis));
    else if (!reused && axis->extent >= kFewestReused) reused = std::move(axis);
  }
  if (reused) group.axes.push_back(std::move(*reused));
  if (group.axes.empty()) return std::nullopt;
  return group;
}

double kept_bytes(const te::Workload& view, const RowGroup& group, std::size_t own) {
  std::map<int, int> uses;  // by tensor: the stages of the group that write it or read it by rows
  for (std::size_t s = 0; s < view.stages.size(); ++s) {
    const int iter = group.axes.back().iters[s];
    if (iter < 0) continue;
    std::set<int> tensors = {view.stages[s].tensor};
    for (const ir::Read* read : ir::reads_of(view.stages[s].body))
      if (touches(read->index, iter)) tensors.insert(read->tensor);
    for (const int t : tensors) ++uses[t];
  }
  double bytes = 0;
  for (const auto& [t, count] : uses)
    if (count > 1 && static_cast<std::size_t>(t) < own)
      bytes += bytes_of(view.tensors[static_cast<std::size_t>(t)]);
  return bytes;
}

std::vector<std::int64_t> blocks_of_rows(const RowGroup& group) {
  const RowAxis& axis = group.axes.back();
  std::vector<std::int64_t> out;
  const std::int64_t fewest = axis.contiguous ? kFewestColumns : axis.reused ? kFewestReused : 1;
  for (std::int64_t rows = fewest; rows < axis.extent; rows *= 4) out.push_back(rows);
  if (axis.reused && group.axes.size() > 1) out.push_back(axis.extent);
  return out;
}

std::int64_t rows_at_start(const RowGroup& group, double kept, const CpuTarget& target) {
  constexpr double kFirstCache = 48 << 10, kSecondCache = 1 << 20;  // about what they hold
  constexpr std::int64_t kReused = 64;  // rows of a product that are as fast as more
  const RowAxis& last = group.axes.back();
  if (kept <= kSecondCache || last.contiguous || (last.reused && group.axes.size() < 2)) return 0;
  std::int64_t chosen = 0;
  for (const std::int64_t rows : blocks_of_rows(group)) {
    const bool fits = last.reused
                          ? chosen < kReused
                          : kept / rows_of(group) * static_cast<double>(rows) <= kFirstCache;
    const bool shared =
        rows_of(group) / static_cast<double>(rows) >= kBlocksPerThread * target.threads;
    if (chosen == 0 || (fits && shared)) chosen = rows;
  }
  return chosen;
}

Status block_rows(const te::Workload& workload, const RowGroup& group, std::int64_t rows,
                  Grouped& out) {
  Prepared& prepared = out.prepared;
  out.loops.resize(group.axes.size());
  for (std::size_t s = 0; s < prepared.view.stages.size(); ++s) {
    if (group.axes[0].iters[s] < 0) continue;
    const te::Stage& stage = prepared.view.stages[s];
    for (const ir::Read* read : ir::reads_of(stage.body))
      if (!touches(read->index, group.axes.back().iters[s]))
        out.same[stage.tensor].insert(read->tensor);
  }
  std::set<std::string> outer;
  for (std::size_t s = 0; s < prepared.view.stages.size(); ++s) {
    if (group.axes[0].iters[s] < 0) continue;
    const te::Stage& stage = prepared.view.stages[s];
    schedule::Reorder order;
    for (std::size_t a = 0; a < group.axes.size(); ++a) {
      const std::string& loop = stage.iters[static_cast<std::size_t>(group.axes[a].iters[s])].name;
      const std::int64_t block = a + 1 == group.axes.size() ? rows : 1;
      if (!try_step(prepared.nest, prepared.steps,
                    schedule::Split{loop, block, loop + ".g", loop + ".r", ir::Tail::kPeel}, false))
        return fail(ErrorKind::kIllegalSchedule, "{} cannot be split", loop);
      order.loops.push_back(loop + ".g");
      out.loops[a].push_back(loop + ".g");
      outer.insert(loop + ".g");
    }
    const ir::Nest& nest = prepared.nest;
    const ir::BlockId block =
        nest.find_block(prepared.view.tensors[static_cast<std::size_t>(stage.tensor)].name);
    for (const ir::LoopId loop : nest.loops_around(block))
      if (!outer.contains(nest.loops[static_cast<std::size_t>(loop)].name))
        order.loops.push_back(nest.loops[static_cast<std::size_t>(loop)].name);
    if (!try_step(prepared.nest, prepared.steps, order, false))
      return fail(ErrorKind::kIllegalSchedule, "the rows of {} cannot be outermost",
                  nest.blocks[static_cast<std::size_t>(block)].name);
  }
  prepared.view = view_of(prepared.nest, workload, outer);
  return {};
}

Result<Grouped> prepare_grouped(const te::Workload& workload, const CpuTarget& target,
                                const RowGroup& group, std::int64_t rows) {
  Grouped out;
  out.prepared = prepare(workload, target, static_cast<double>(rows) / rows_of(group));
  auto found = find_row_group(out.prepared.view);
  if (!found || found->axes.size() != group.axes.size())
    return fail(ErrorKind::kIllegalSchedule, "the stages have no rows in common");
  if (rows == found->axes.back().extent) {
    found->axes.pop_back();
    rows = 1;
  }
  LATHE_TRY_STATUS(block_rows(workload, *found, rows, out));
  return out;
}

}  // namespace lathe::space
