#include "tuner/space/rules/rows/join_rows.h"

#include <algorithm>

#include "tuner/space/rules/rows/row_group.h"

namespace lathe::space {
namespace {

std::int64_t blocks_along(const std::string& loop, const ir::Nest& nest) {
  const auto id = static_cast<std::size_t>(nest.find_loop(loop));
  return nest.sizes.constant_value(nest.loops[id].extent);
}

// The axis whose blocks the threads share where they share one: the outermost that has enough of
// them, or else the longest.
std::string shared_axis(const std::vector<std::string>& loops, int threads, const ir::Nest& nest) {
  std::string longest;
  std::int64_t most = 0;
  for (const std::string& loop : loops) {
    const std::int64_t blocks = blocks_along(loop, nest);
    if (blocks >= kBlocksPerThread * threads) return loop;
    if (blocks > most) {
      most = blocks;
      longest = loop;
    }
  }
  return longest;
}

// Makes axes parallel that run as one, outermost first, until they have enough blocks.
bool share_axes(const std::vector<std::string>& loops, int threads, ir::Nest& nest,
                schedule::Trace& trace) {
  std::int64_t blocks = 1;
  for (const std::string& loop : loops) {
    if (blocks >= kBlocksPerThread * threads) break;
    blocks *= blocks_along(loop, nest);
    if (!try_step(nest, trace, schedule::Annotate{.loop = loop, .kind = ir::LoopKind::kParallel},
                  false))
      return false;
  }
  return true;
}

}  // namespace

void join_rows(const std::vector<std::vector<std::string>>& loops, int threads, ir::Nest& nest,
               schedule::Trace& trace) {
  std::vector<std::string> joined;
  for (const std::vector<std::string>& axis : loops) {
    schedule::Join join;
    for (const std::string& loop : axis)  // stages that run inside others have none left
      if (nest.find_loop(loop) >= 0) join.loops.push_back(loop);
    // Steps may have changed the order of stages.
    std::ranges::stable_sort(join.loops, {}, [&](const std::string& loop) {
      const ir::LoopId id = nest.find_loop(loop);
      const auto& siblings = nest.children(nest.loops[static_cast<std::size_t>(id)].parent);
      return std::ranges::find(siblings, ir::Item{ir::Item::Kind::kLoop, id}) - siblings.begin();
    });
    joined.push_back(join.loops.at(0));
    if (join.loops.size() < 2) continue;
    if (auto done = schedule::apply(nest, join); !done) throw StepRefused{done.error()};
    trace.push_back(std::move(join));
  }
  if (joined.empty() || threads < 2) return;
  const ir::Nest before = nest;
  const std::size_t steps = trace.size();
  if (share_axes(joined, threads, nest, trace)) return;
  nest = before;
  trace.resize(steps);
  share_axes({shared_axis(joined, threads, nest)}, threads, nest, trace);
}

}  // namespace lathe::space
