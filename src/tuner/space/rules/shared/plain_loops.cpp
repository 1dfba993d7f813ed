#include "tuner/space/rules/shared/plain_loops.h"

#include <algorithm>
#include <span>

#include "compiler/analysis/recurrences.h"
#include "tuner/space/rules/scan/scan_loops.h"
#include "tuner/space/rules/shared/axes.h"
#include "tuner/space/rules/shared/busiest.h"
#include "tuner/space/rules/shared/fused_maps.h"
#include "tuner/space/rules/shared/prepare.h"

namespace lathe::space {
namespace {

// As many terms as can be added up without a loop, whatever the registers hold.
constexpr std::int64_t kFewestLanes = 4, kMostLanes = 16;

// Of a stage of a recurrence: how much work in each step is worth that threads share it.
constexpr double kWorthThreads = 1 << 14;

bool runs_once(const ir::Nest& nest, const std::string& loop) {
  const ir::LoopId id = nest.find_loop(loop);
  if (id < 0) return false;
  const ir::SizeId extent = nest.loops[static_cast<std::size_t>(id)].extent;
  return nest.sizes.is_constant(extent) && nest.sizes.constant_value(extent) == 1;
}

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

// Of a copy: the iterator along which its source lies, if that is not the last one; else -1.
int lies_across(const te::Stage& stage) {
  const auto* read = std::get_if<ir::Read>(&stage.body->value);
  if (!is_copy(stage) || read->pad || read->index.empty()) return -1;
  const auto last = static_cast<int>(stage.iters.size()) - 1;
  for (const ir::AffineTerm& term : read->index.back().terms)
    if (term.coef == 1 && term.iter != last && stage.iters[term.iter].extent > 1) return term.iter;
  return -1;
}

// True if all threads have about as much to do of these loops.
bool is_even(std::span<const SharedAxis> axes, int threads) {
  constexpr double kEven = 0.95;
  return kEven * threads * busiest_share(axes, threads) <= 1;
}

// The largest blocks of a loop, inside of so many others, that threads share about evenly.
std::int64_t largest_block(std::int64_t outside, std::int64_t count, int threads) {
  constexpr std::int64_t kMostForEach = 16;
  const std::int64_t most = std::min(count, kMostForEach * threads);
  for (std::int64_t blocks = 1; blocks <= most; ++blocks) {
    const std::int64_t block = (count + blocks - 1) / blocks;
    const SharedAxis axes[] = {{outside, 1}, {count, block}};
    if (is_even(axes, threads)) return block;
  }
  return 1;
}

}  // namespace

void share_loops(ir::Nest& nest, schedule::Trace& trace, const std::vector<std::string>& loops,
                 int threads, bool free_layout) {
  if (threads < 2) return;
  std::int64_t tasks = 1;  // of loops whose extents are known
  for (std::string loop : loops) {
    const ir::LoopId id = nest.find_loop(loop);
    if (id < 0) return;
    const ir::SizeId extent = nest.loops[static_cast<std::size_t>(id)].extent;
    std::int64_t count = nest.sizes.is_constant(extent) ? nest.sizes.constant_value(extent) : 1;
    // The first loop runs as it is.
    const std::int64_t block = loop == loops[0] ? 1 : largest_block(tasks, count, threads);
    if (block > 1 && block < count) {
      const schedule::Split split{loop, block, loop + ".s", loop + ".e", ir::Tail::kPeel};
      if (try_step(nest, trace, split, free_layout))
        loop += ".s", count = (count + block - 1) / block;
    }
    if (!try_step(nest, trace, schedule::Annotate{.loop = loop, .kind = ir::LoopKind::kParallel},
                  free_layout))
      return;
    tasks *= count;
    const SharedAxis shared{tasks, 1};
    if (is_even({&shared, 1}, threads)) return;
  }
}

void schedule_plainly(const te::Workload& view, const te::Stage& stage, const CpuTarget& target,
                      ir::Nest& nest, schedule::Trace& trace, std::set<std::string>& placed) {
  const std::string& tensor = view.tensors[static_cast<std::size_t>(stage.tensor)].name;
  const bool in_steps = analysis::is_in_steps(nest, nest.find_block(tensor));
  if (analysis::goes_along_axis(nest, nest.find_block(tensor))) {
    placed.merge(companions_along(nest, tensor));
    return schedule_scan(view, stage, target, nest, trace);
  }
  // Threads begin anew in each step.
  const bool alone = in_steps && work_of(stage) < kWorthThreads;
  const auto step = [&](schedule::Step s) {
    try_step(nest, trace, std::move(s), view.contract.free_layout);
  };
  const auto kind = [&](const std::string& loop, ir::LoopKind k) {
    step(schedule::Annotate{.loop = loop, .kind = k});
  };
  if (sums_lanes(stage)) {
    kind(stage.iters.back().name, ir::LoopKind::kVectorized);
    if (target.threads > 1 && !in_steps) kind(stage.iters.front().name, ir::LoopKind::kParallel);
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
  std::vector<std::string> outer = order;
  order.insert(order.end(), reduction.begin(), reduction.end());
  // As many neighbours as there are lanes, each of which lies in a vector of its own: code
  // generation transposes them in registers.
  const int across = lies_across(stage);
  if (across >= 0) {
    const std::string loop = stage.iters[across].name;
    step(schedule::Split{loop, lanes, loop + ".o", loop + ".u", ir::Tail::kPeel});
    std::ranges::replace(order, loop, loop + ".o");
    std::ranges::replace(outer, loop, loop + ".o");
    order.push_back(loop + ".u");
  }
  order.push_back(last + ".l");
  step(schedule::Reorder{order});
  kind(last + ".l", ir::LoopKind::kVectorized);
  if (across >= 0) kind(order[order.size() - 2], ir::LoopKind::kUnrolled);
  if (!reduction.empty()) fuse_maps(view, stage, reduction.back(), target, nest, trace, placed);
  if (in_steps)
    std::erase_if(outer, [&](const std::string& loop) { return runs_once(nest, loop); });
  share_loops(nest, trace, outer, alone ? 1 : target.threads, view.contract.free_layout);
}

}  // namespace lathe::space
