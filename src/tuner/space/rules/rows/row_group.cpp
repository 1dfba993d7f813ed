#include "tuner/space/rules/rows/row_group.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <tuple>

#include "tuner/space/costs.h"
#include "tuner/space/rules/shared/axes.h"
#include "tuner/space/rules/shared/busiest.h"

namespace lathe::space {
namespace {

constexpr std::int64_t kFewestReused = 16;   // rows for which a tile may use something again
constexpr std::int64_t kMostReused = 256;    // more at a time gain nothing
constexpr std::int64_t kFewestColumns = 64;  // a few vectors and whole lines of the cache
// The same where a product makes them, which what follows then has in a cache of the core.
constexpr std::int64_t kFewestMade = 16;

// Finds the axis that the stages from `first` to `last` share and that is iterator `iter` of the
// last.
class AxisFinder {
 public:
  AxisFinder(const te::Workload& view, std::size_t first, std::size_t last)
      : view_(view), first_(first), last_(last) {}

  std::optional<RowAxis> find(int iter) {
    axis_ = {};
    largest_ = 0;
    axis_.iters.assign(view_.stages.size(), -1);
    axis_.iters[last_] = iter;
    axis_.extent = view_.stages[last_].iters[static_cast<std::size_t>(iter)].extent;
    if (axis_.extent < 2) return std::nullopt;
    for (std::size_t s = last_ + 1; s-- > first_;) {
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
    for (const ir::Read* read : ir::reads_of(stage.body)) {
      if (touches(read->index, iter)) continue;
      std::int64_t beside = 1;
      for (int i = iter + 1; i < static_cast<int>(stage.iters.size()); ++i)
        if (const te::Iterator& it = stage.iters[static_cast<std::size_t>(i)];
            it.kind == te::IterKind::kSpatial && !touches(read->index, i))
          beside *= it.extent;
      axis_.beside = axis_.reused ? std::min(axis_.beside, beside) : beside;
      axis_.reused = true;
    }
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
  std::size_t first_, last_;
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

// True if there is an axis along which nothing is used again.
bool has_single_rows(const RowGroup& group) { return !group.axes[0].reused; }

bool is_used_enough(const RowAxis& axis) {
  return axis.extent * axis.beside >= kFewestReused && !axis.contiguous;
}

// Adds the reused axis that goes in blocks: the outermost with enough rows, but one by one where
// each of its rows is a large block already.
void add_reused(std::vector<RowAxis> reused, std::vector<RowAxis>& out) {
  for (std::size_t i = 0; i < reused.size(); ++i) {
    RowAxis& axis = reused[i];
    const auto inner = std::span(reused).subspan(i + 1);
    if (axis.beside >= kMostReused && std::ranges::any_of(inner, is_used_enough)) {
      out.push_back(std::move(axis));
      continue;
    }
    const bool few = axis.extent < kFewestReused;
    if (few && std::ranges::any_of(inner, [](const RowAxis& other) {
          return other.extent >= kFewestReused && !other.contiguous;
        }))
      continue;
    if (axis.extent * axis.beside < kFewestReused) continue;
    out.push_back(std::move(axis));
    return;
  }
}

// The group of the stages from `first` to `last`.
std::optional<RowGroup> group_of(const te::Workload& view, std::size_t first, std::size_t last) {
  const te::Stage& end = view.stages[last];
  AxisFinder finder(view, first, last);
  RowGroup group;
  std::vector<RowAxis> reused;
  for (int i = 0; i < static_cast<int>(end.iters.size()); ++i) {
    if (end.iters[static_cast<std::size_t>(i)].kind != te::IterKind::kSpatial) continue;
    auto axis = finder.find(i);
    if (!axis || stages_in(*axis) < 2) continue;
    (axis->reused ? reused : group.axes).push_back(std::move(*axis));
  }
  add_reused(std::move(reused), group.axes);
  if (group.axes.empty()) return std::nullopt;
  group.last = view.tensors[static_cast<std::size_t>(end.tensor)].name;
  for (std::size_t s = first; s <= last; ++s)
    if (group.axes[0].iters[s] >= 0)
      group.names.insert(view.tensors[static_cast<std::size_t>(view.stages[s].tensor)].name);
  return group;
}

// Adds the groups of the stages from `first` to `last`: the best, and those before and after it.
void add_groups(const te::Workload& view, std::size_t own, std::size_t first, std::size_t last,
                std::vector<RowGroup>& out) {
  const auto begins = [&](std::size_t s) {  // a stage that runs once cannot be the first or last
    return writes_plainly(view, view.stages[s]) &&
           !view.tensors[static_cast<std::size_t>(view.stages[s].tensor)].constant;
  };
  std::optional<RowGroup> best;
  std::tuple<bool, double, std::size_t> rank;
  std::size_t from = 0, to = 0;
  for (std::size_t b = first + 1; b <= last; ++b)
    for (std::size_t a = b; begins(b) && a-- > first;) {
      if (!writes_plainly(view, view.stages[a])) break;
      if (!begins(a)) continue;
      auto group = group_of(view, a, b);
      if (!group) break;  // nor have more stages an axis in common
      const bool both = has_single_rows(*group) && group->axes.back().reused;
      const std::tuple own_rank(both, kept_bytes(view, *group, own), b - a);
      if (std::get<1>(own_rank) == 0 || (best && own_rank <= rank)) continue;
      rank = own_rank;
      best = std::move(group);
      from = a;
      to = b;
    }
  if (!best) return;
  if (from > first + 1) add_groups(view, own, first, from - 1, out);
  out.push_back(std::move(*best));
  if (to + 1 < last) add_groups(view, own, to + 1, last, out);
}

}  // namespace

std::vector<RowGroup> find_row_groups(const te::Workload& view, std::size_t own) {
  std::vector<RowGroup> out;
  if (!view.stages.empty()) add_groups(view, own, 0, view.stages.size() - 1, out);
  return out;
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
  const std::int64_t fewest = axis.contiguous ? (axis.reused ? kFewestMade : kFewestColumns)
                              : axis.reused ? std::max<std::int64_t>(1, kFewestReused / axis.beside)
                                            : 1;
  for (std::int64_t rows = fewest; rows < axis.extent; rows *= 4) out.push_back(rows);
  if (axis.reused && group.axes.size() > 1) out.push_back(axis.extent);
  return out;
}

namespace {

// As many rows together as these, or about as many, of which threads have about equally many.
std::int64_t even_rows(const RowGroup& group, std::int64_t rows, int threads) {
  constexpr double kEven = 0.9, kEvener = 0.98;
  const RowAxis& last = group.axes.back();
  const std::int64_t outside = std::llround(rows_of(group)) / last.extent;
  const auto busiest = [&](std::int64_t block) {
    const SharedAxis axes[] = {{outside, 1}, {last.extent, block}};
    return busiest_share(axes, threads);
  };
  if (kEven * threads * busiest(rows) <= 1) return rows;
  const std::int64_t fewest = last.reused ? std::min(rows, kFewestReused / 2) : 1;
  std::int64_t best = rows;
  for (std::int64_t block = std::max(fewest, rows / 2); block <= std::min(2 * rows, last.extent);
       ++block) {
    const double own = busiest(block), least = busiest(best);
    // Of equals the larger blocks: fewer threads do the same.
    if (own < kEvener * least || (own <= least && block > best)) best = block;
  }
  return best;
}

}  // namespace

std::int64_t rows_at_start(const RowGroup& group, double kept, const CpuTarget& target) {
  constexpr std::int64_t kReused = 64;  // rows of a product that are as fast as more
  const RowAxis& last = group.axes.back();
  if (kept <= kL2 || last.contiguous || (last.reused && !has_single_rows(group))) return 0;
  std::int64_t chosen = 0;
  for (const std::int64_t rows : blocks_of_rows(group)) {
    const bool fits =
        last.reused ? chosen < kReused : kept / rows_of(group) * static_cast<double>(rows) <= kL1;
    const bool shared =
        rows_of(group) / static_cast<double>(rows) >= kBlocksPerThread * target.threads;
    if (chosen == 0 || (fits && shared)) chosen = rows;
  }
  return target.threads < 2 ? chosen : even_rows(group, chosen, target.threads);
}

namespace {

// Splits the rows of stages of one group, and makes the loops over blocks the outermost.
class RowSplitter {
 public:
  RowSplitter(Grouped& grouped, std::set<std::string>& outer)
      : prepared_(grouped.prepared), grouped_(grouped), outer_(outer) {}

  Status split(const RowBlocks& wanted, const RowGroup& found) {
    std::vector<RowAxis> axes = found.axes;
    std::int64_t rows = wanted.together;
    if (rows == axes.back().extent) {
      axes.pop_back();
      rows = 1;
    }
    if (axes.empty()) return fail(ErrorKind::kIllegalSchedule, "there is one block of rows");
    auto& loops = grouped_.loops.emplace_back(axes.size());
    for (std::size_t s = 0; s < prepared_.view.stages.size(); ++s) {
      if (axes[0].iters[s] < 0) continue;
      note(prepared_.view.stages[s], axes.back().iters[s]);
      LATHE_TRY_STATUS(split_stage(s, axes, rows, loops));
    }
    return {};
  }

 private:
  void note(const te::Stage& stage, int iter) {
    grouped_.tensors.insert(stage.tensor);
    for (const ir::Read* read : ir::reads_of(stage.body))
      if (!touches(read->index, iter)) grouped_.same[stage.tensor].insert(read->tensor);
  }

  Status split_stage(std::size_t s, const std::vector<RowAxis>& axes, std::int64_t rows,
                     std::vector<std::vector<std::string>>& loops) {
    const te::Stage& stage = prepared_.view.stages[s];
    schedule::Reorder order;
    for (std::size_t a = 0; a < axes.size(); ++a) {
      const std::string& loop = stage.iters[static_cast<std::size_t>(axes[a].iters[s])].name;
      const std::int64_t block = a + 1 == axes.size() ? rows : 1;
      if (!try_step(prepared_.nest, prepared_.steps,
                    schedule::Split{loop, block, loop + ".g", loop + ".r", ir::Tail::kPeel}, false))
        return fail(ErrorKind::kIllegalSchedule, "{} cannot be split", loop);
      order.loops.push_back(loop + ".g");
      loops[a].push_back(loop + ".g");
      outer_.insert(loop + ".g");
    }
    const ir::Nest& nest = prepared_.nest;
    const ir::BlockId block =
        nest.find_block(prepared_.view.tensors[static_cast<std::size_t>(stage.tensor)].name);
    for (const ir::LoopId loop : nest.loops_around(block))
      if (!outer_.contains(nest.loops[static_cast<std::size_t>(loop)].name))
        order.loops.push_back(nest.loops[static_cast<std::size_t>(loop)].name);
    if (!try_step(prepared_.nest, prepared_.steps, order, false))
      return fail(ErrorKind::kIllegalSchedule, "the rows of {} cannot be outermost",
                  nest.blocks[static_cast<std::size_t>(block)].name);
    return {};
  }

  Prepared& prepared_;
  Grouped& grouped_;
  std::set<std::string>& outer_;
};

}  // namespace

Status split_rows(Grouped& grouped, const RowBlocks& rows, const RowGroup& group,
                  std::set<std::string>& outer) {
  return RowSplitter(grouped, outer).split(rows, group);
}

Result<Grouped> prepare_grouped(const te::Workload& workload, const CpuTarget& target,
                                algebra::Repeated repeated, const std::vector<RowBlocks>& rows) {
  RowShares shares;
  for (const RowBlocks& each : rows)
    for (const std::string& name : each.group->names)
      shares[name] = static_cast<double>(each.together) / rows_of(*each.group);
  Grouped out;
  out.prepared = prepare(workload, target, repeated, shares);
  out.sizes = out.prepared.view;
  const std::vector<RowGroup> found = find_row_groups(out.sizes, workload.tensors.size());
  std::set<std::string> outer;
  for (const RowBlocks& each : rows) {
    const auto group = std::ranges::find(found, each.group->last, &RowGroup::last);
    if (group == found.end() || group->axes.size() != each.group->axes.size())
      return fail(ErrorKind::kIllegalSchedule, "the stages have no rows in common");
    LATHE_TRY_STATUS(split_rows(out, each, *group, outer));
  }
  out.prepared.view = view_of(out.prepared.nest, workload, outer);
  return out;
}

}  // namespace lathe::space
