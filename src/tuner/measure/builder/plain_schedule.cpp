#include "tuner/measure/builder/plain_schedule.h"

#include <algorithm>

namespace lathe::builder {
namespace {

constexpr std::int64_t kVectors = 4;  // of accumulators

// The result's tile at `loop` in registers, its last dimension in vectors.
void add_accumulators(const te::Tensor& tensor, std::int64_t lanes, const std::string& loop, schedule::Trace& trace) {
  const int last = static_cast<int>(tensor.shape.size()) - 1;
  const std::string name = tensor.name + ".acc";
  std::vector<schedule::LayoutItem> layout;
  for (int d = 0; d < last; ++d) layout.push_back({d, std::int64_t{1}});
  layout.push_back({last, lanes});
  layout.push_back({last, std::int64_t{1}});
  trace.push_back(schedule::Cache{tensor.name, name, loop, ir::Scope::kRegister, layout});
  for (std::size_t i = 0; i < layout.size(); ++i)
    trace.push_back(schedule::Annotate{.loop = fmt::format("{}.d{}", name, i),
                                       .kind = i + 1 == layout.size() ? ir::LoopKind::kVectorized
                                                                      : ir::LoopKind::kUnrolled});
}

void add_stage(const te::Program& program, const te::Stage& stage, const Target& target, schedule::Trace& trace) {
  const te::Tensor& tensor = program.tensors[stage.tensor];
  const std::string prefix = tensor.name + ".";
  const std::int64_t lanes = std::max(1, target.lanes(size_of(tensor.dtype)));
  const te::Iterator* last = nullptr;
  std::vector<std::string> order;
  for (const te::Iterator& iter : stage.iters)
    if (iter.kind == te::IterKind::kSpatial) last = &iter;
  if (last == nullptr || lanes < 2 || last->extent < lanes) return;
  const std::string loop = prefix + last->name;
  const bool reduces = stage.reduce != ir::ReduceOp::kNone;
  if (!reduces) {
    trace.push_back(schedule::Split{loop, lanes, loop + ".o", loop + ".v"});
    trace.push_back(schedule::Annotate{.loop = loop + ".v", .kind = ir::LoopKind::kVectorized});
    return;
  }
  const std::int64_t vectors = std::min(kVectors, last->extent / lanes);
  trace.push_back(schedule::Split{loop, lanes * vectors, loop + ".o", loop + ".i"});
  trace.push_back(schedule::Split{loop + ".i", lanes, loop + ".u", loop + ".v"});
  for (const te::Iterator& iter : stage.iters)
    if (iter.kind == te::IterKind::kSpatial && &iter != last) order.push_back(prefix + iter.name);
  order.push_back(loop + ".o");
  for (const te::Iterator& iter : stage.iters)
    if (iter.kind == te::IterKind::kReduce) order.push_back(prefix + iter.name);
  order.push_back(loop + ".u");
  order.push_back(loop + ".v");
  trace.push_back(schedule::Reorder{order});
  trace.push_back(schedule::Annotate{.loop = loop + ".v", .kind = ir::LoopKind::kVectorized});
  trace.push_back(schedule::Annotate{.loop = loop + ".u", .kind = ir::LoopKind::kUnrolled});
  add_accumulators(tensor, lanes, loop + ".o", trace);
}

}  // namespace

schedule::Trace plain_schedule(const te::Program& program, const Target& target) {
  schedule::Trace trace;
  for (const te::Stage& stage : program.stages) add_stage(program, stage, target, trace);
  return trace;
}

}  // namespace lathe::builder
