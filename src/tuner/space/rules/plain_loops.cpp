// The single schedule of a stage that is not worth knobs.
#include <algorithm>

#include "tuner/space/rules/axes.h"
#include "tuner/space/rules/prepare.h"

namespace lathe::space {
namespace {

// As many terms as can be added up without a loop, whatever the registers hold.
constexpr std::int64_t kFewestLanes = 4, kMostLanes = 16;

// True if all that is read lies along the only reduction, which is short.
bool sums_lanes(const te::Stage& stage) {
  const auto last = static_cast<int>(stage.iters.size()) - 1;
  if (last < 1 || stage.iters[last].kind != te::IterKind::kReduce ||
      stage.iters[last - 1].kind == te::IterKind::kReduce)
    return false;
  const std::int64_t lanes = stage.iters[last].extent;
  if (lanes < kFewestLanes || lanes > kMostLanes || (lanes & (lanes - 1)) != 0) return false;
  return std::ranges::all_of(ir::reads_of(stage.body), [&](const ir::Read* read) {
    return !touches(read->index, last) || read->index.back() == ir::Affine::iter(last);
  });
}

}  // namespace

void schedule_plainly(const te::Workload& view, const te::Stage& stage, const CpuTarget& target,
                      ir::Nest& nest, schedule::Trace& trace) {
  const auto step = [&](schedule::Step s) {
    try_step(nest, trace, std::move(s), view.contract.free_layout);
  };
  const auto kind = [&](const std::string& loop, ir::LoopKind k) {
    step(schedule::Annotate{.loop = loop, .kind = k});
  };
  if (sums_lanes(stage)) {
    kind(stage.iters.back().name, ir::LoopKind::kVectorized);
    if (target.threads > 1) kind(stage.iters.front().name, ir::LoopKind::kParallel);
    return;
  }
  std::vector<std::string> order, reduction;
  for (const te::Iterator& it : stage.iters)
    (it.kind == te::IterKind::kSpatial ? order : reduction).push_back(it.name);
  if (order.empty()) return;
  const std::int64_t lanes = std::max(1, target.lanes(size_of(stage.body->dtype)));
  const std::string last = order.back();
  step(schedule::Split{last, lanes, last + ".o", last + ".l", ir::Tail::kPeel});
  order.back() = last + ".o";
  const std::string first = order.front();
  order.insert(order.end(), reduction.begin(), reduction.end());
  order.push_back(last + ".l");
  step(schedule::Reorder{order});
  kind(last + ".l", ir::LoopKind::kVectorized);
  if (target.threads > 1) kind(first, ir::LoopKind::kParallel);
}

}  // namespace lathe::space
