#include "tuner/measure/cpu/plain_schedule.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include "compiler/algebra/algebra.h"
#include "compiler/te/recurrence.h"
#include "compiler/te/scan.h"

namespace lathe::measure::cpu {
namespace {

// Rows of accumulators. With 4 vectors each they take 24 of 32 registers, with 2 they take 12 of
// 16.
constexpr std::int64_t kRows = 6;

// Keeps the result's tile at `loop` in registers, its last dimension in vectors.
void add_accumulators(const te::Tensor& tensor, std::int64_t lanes, const std::string& loop,
                      schedule::Trace& trace) {
  const int last = static_cast<int>(tensor.shape.size()) - 1;
  const std::string name = tensor.name + ".acc";
  std::vector<schedule::LayoutItem> layout;
  for (int d = 0; d < last; ++d) layout.push_back({d, std::int64_t{1}});
  layout.push_back({last, lanes});
  layout.push_back({last, std::int64_t{1}});
  trace.push_back(schedule::Cache{tensor.name, name, loop, ir::Scope::kRegister, layout});
  for (std::size_t i = 0; i < layout.size(); ++i)
    trace.push_back(schedule::Annotate{
        .loop = fmt::format("{}.d{}", name, i),
        .kind = i + 1 == layout.size() ? ir::LoopKind::kVectorized : ir::LoopKind::kUnrolled});
}

// The spatial iterator that is best kept in registers beside the last one: the longest of the
// others. Null if there is none. `axis`: the iterator whose loop is outside, in a recurrence.
const te::Iterator* row_of(const te::Stage& stage, const te::Iterator* last,
                           const te::Iterator* axis) {
  const te::Iterator* row = nullptr;
  for (const te::Iterator& iter : stage.iters)
    if (iter.kind == te::IterKind::kSpatial && &iter != last && &iter != axis && iter.extent > 1 &&
        (!row || iter.extent > row->extent))
      row = &iter;
  return row;
}

// Puts all loops but `last` and `row` outside; then come those over the tiles, the reductions, and
// the loops inside a tile.
void add_tile(const te::Stage& stage, const std::string& prefix, const te::Iterator* last,
              const te::Iterator* row, schedule::Trace& trace) {
  const std::string loop = prefix + last->name;
  std::vector<std::string> order;
  for (const te::Iterator& iter : stage.iters)
    if (iter.kind == te::IterKind::kSpatial && &iter != last && &iter != row)
      order.push_back(prefix + iter.name);
  order.push_back(loop + ".o");
  if (row != nullptr) order.push_back(prefix + row->name + ".o");
  for (const te::Iterator& iter : stage.iters)
    if (iter.kind == te::IterKind::kReduce) order.push_back(prefix + iter.name);
  if (row != nullptr) order.push_back(prefix + row->name + ".i");
  order.push_back(loop + ".u");
  order.push_back(loop + ".v");
  trace.push_back(schedule::Reorder{order});
  if (row != nullptr)
    trace.push_back(
        schedule::Annotate{.loop = prefix + row->name + ".i", .kind = ir::LoopKind::kUnrolled});
  trace.push_back(schedule::Annotate{.loop = loop + ".u", .kind = ir::LoopKind::kUnrolled});
  trace.push_back(schedule::Annotate{.loop = loop + ".v", .kind = ir::LoopKind::kVectorized});
}

// `axis`: that of the recurrence of which the stage is a part; -1: it is of none.
void add_stage(const te::Workload& workload, const te::Stage& stage, int axis,
               const CpuTarget& target, schedule::Trace& trace) {
  const te::Tensor& tensor = workload.tensors[stage.tensor];
  const std::string prefix = tensor.name + ".";
  std::int64_t lanes = std::max(1, target.lanes(size_of(tensor.dtype)));
  const te::Iterator* last = nullptr;
  for (const te::Iterator& iter : stage.iters)
    if (iter.kind == te::IterKind::kSpatial) last = &iter;
  if (last == nullptr || lanes < 2 || last->extent < 2) return;
  // Along the last axis the elements of a scan wait for each other.
  const auto scan = te::scan_of(stage);
  const te::Iterator* along = axis >= 0 ? &stage.iters[axis] : nullptr;
  if (last == along || (scan && &stage.iters[scan->iter] == last)) return;
  // A row shorter than a vector is one vector with lanes off.
  const auto whole =
      static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(last->extent)));
  lanes = std::min(lanes, whole);
  const ir::Tail tail = last->extent < lanes ? ir::Tail::kMask : ir::Tail::kPeel;
  const std::string loop = prefix + last->name;
  if (stage.reduce == ir::ReduceOp::kNone) {
    trace.push_back(schedule::Split{loop, lanes, loop + ".o", loop + ".v", tail});
    trace.push_back(schedule::Annotate{.loop = loop + ".v", .kind = ir::LoopKind::kVectorized});
    return;
  }
  const std::int64_t vectors = std::min<std::int64_t>(
      target.vector_registers >= 32 ? 4 : 2, std::max<std::int64_t>(1, last->extent / lanes));
  const te::Iterator* row = row_of(stage, last, along);
  trace.push_back(schedule::Split{loop, lanes * vectors, loop + ".o", loop + ".i", tail});
  trace.push_back(schedule::Split{loop + ".i", lanes, loop + ".u", loop + ".v", tail});
  if (row != nullptr)
    trace.push_back(schedule::Split{prefix + row->name, std::min(kRows, row->extent),
                                    prefix + row->name + ".o", prefix + row->name + ".i"});
  add_tile(stage, prefix, last, row, trace);
  add_accumulators(tensor, lanes, row != nullptr ? prefix + row->name + ".o" : loop + ".o", trace);
}

}  // namespace

schedule::Trace plain_schedule(const te::Workload& workload, const Target& host) {
  auto [rewritten, trace] = algebra::rewritten(workload);
  std::map<int, int> axes;     // by tensor, of recurrences
  std::set<int> behind_first;  // tensors that are computed in the loops of another
  for (const te::Recurrence& recurrence : te::recurrences_of(workload))
    for (std::size_t p = 0; p < recurrence.stages.size(); ++p) {
      const int tensor = workload.stages[recurrence.stages[p]].tensor;
      axes[tensor] = recurrence.axes[p];
      if (recurrence.element_wise && p > 0) behind_first.insert(tensor);
    }
  for (const te::Stage& stage : rewritten.stages) {
    const auto axis = axes.find(stage.tensor);
    if (!behind_first.contains(stage.tensor))
      add_stage(rewritten, stage, axis == axes.end() ? -1 : axis->second, host.as_cpu(), trace);
  }
  return trace;
}

}  // namespace lathe::measure::cpu
