#include "support/bound_trace.h"

#include <algorithm>

#include "compiler/te/naive_nest.h"

namespace lathe {
namespace {

bool is_refused(const schedule::Step& step) {
  const auto* annotate = std::get_if<schedule::Annotate>(&step);
  const bool parallel = annotate != nullptr && annotate->what == schedule::Annotate::What::kKind &&
                        annotate->kind == ir::LoopKind::kParallel;
  return parallel || std::holds_alternative<schedule::Stream>(step);
}

class Binder {
 public:
  Binder(RandomSchedule& s, Rng& rng, double chance) : s_(s), rng_(rng), chance_(chance) {}

  void bind_item(ir::Item item) {
    items_ = 1;
    free_ = {ir::LoopKind::kBlockX,  ir::LoopKind::kBlockY,  ir::LoopKind::kBlockZ,
             ir::LoopKind::kThreadX, ir::LoopKind::kThreadY, ir::LoopKind::kThreadZ};
    while (item.kind == ir::Item::Kind::kLoop) {
      if (rng_.chance(chance_)) bind(item.id);
      const auto& body = s_.nest.loops[static_cast<std::size_t>(item.id)].body;
      if (body.size() != 1) return;
      item = body[0];
    }
  }

 private:
  void bind(ir::LoopId loop) {
    constexpr std::int64_t kMostItems = 64;
    const std::int64_t extent = ir::SizedNest(s_.nest, s_.knobs).extent(loop);
    const std::size_t which = rng_.below(free_.size() + 1);
    if (which == free_.size()) return;
    const ir::LoopKind kind = free_[which];
    const bool thread = kind >= ir::LoopKind::kThreadX;
    if (thread && items_ * extent > kMostItems) return;
    const schedule::Annotate step{.loop = s_.nest.loops[static_cast<std::size_t>(loop)].name,
                                  .kind = kind};
    ir::Nest next = s_.nest;
    if (!schedule::apply(next, schedule::Step{step})) return;
    s_.nest = std::move(next);
    s_.trace.push_back(step);
    free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(which));
    if (thread) items_ *= extent;
  }

  RandomSchedule& s_;
  Rng& rng_;
  double chance_;
  std::int64_t items_ = 1;
  std::vector<ir::LoopKind> free_;
};

class GroupFiller {
 public:
  GroupFiller(RandomSchedule& s, Rng& rng) : s_(s), rng_(rng) {}

  // Copies or computes something for a block that is chosen at random.
  bool fill() {
    const auto blocks = s_.nest.blocks_in_order();
    const ir::BlockId block = blocks[rng_.below(blocks.size())];
    const auto reads = ir::reads_of(at(s_.nest.blocks, block).body);
    const auto path = s_.nest.loops_around(block);
    if (reads.empty() || path.empty()) return false;
    if (rng_.chance(0.3)) return sum_in_parts(block, path);
    const ir::BufferId buffer = reads[rng_.below(reads.size())]->tensor;
    const ir::LoopId loop = path[rng_.below(path.size())];
    std::string filled = "g" + std::to_string(s_.trace.size());
    if (rng_.chance(0.7)) {
      if (!step(cache(buffer, filled, loop))) return false;
    } else {
      const ir::BlockId writer = s_.nest.writer_of(buffer);
      if (writer < 0) return false;
      filled = at(s_.nest.blocks, writer).name;
      if (!step(schedule::ComputeAt{filled, at(s_.nest.loops, loop).name, ir::Scope::kGroup}))
        return false;
    }
    share_out(s_.nest.find_block(filled));
    return true;
  }

 private:
  template <class T>
  static const T& at(const std::vector<T>& from, int number) {
    return from[static_cast<std::size_t>(number)];
  }

  bool step(const schedule::Step& step) {
    ir::Nest next = s_.nest;
    if (!schedule::apply(next, step)) return false;
    s_.nest = std::move(next);
    s_.trace.push_back(step);
    return true;
  }

  schedule::Cache cache(ir::BufferId buffer, const std::string& name, ir::LoopId loop) {
    schedule::Cache cache{.buffer = at(s_.nest.buffers, buffer).name,
                          .name = name,
                          .loop = at(s_.nest.loops, loop).name,
                          .scope = ir::Scope::kGroup};
    const auto dims = static_cast<int>(at(s_.nest.buffers, buffer).shape.size());
    if (rng_.chance(0.5)) {
      for (int d = 0; d < dims; ++d) cache.layout.push_back({d, std::int64_t{1}});
      shuffle(cache.layout, rng_);
      if (dims > 0 && rng_.chance(0.5)) {
        schedule::LayoutItem inner = cache.layout.back();
        cache.layout.back().weight = std::int64_t{4};
        cache.layout.push_back(inner);
      }
    }
    if (rng_.chance(0.4)) cache.stages = static_cast<int>(rng_.between(2, 3));
    else if (rng_.chance(0.3)) cache.scope = ir::Scope::kLanes;  // registers of items
    return cache;
  }

  // Items along one axis sum parts, which lie in memory of the group or in registers of a warp.
  bool sum_in_parts(ir::BlockId block, const std::vector<ir::LoopId>& path) {
    const std::string name = at(s_.nest.blocks, block).name, parts = name + "p";
    const std::size_t inner = rng_.below(path.size()), outer = rng_.below(inner + 1);
    const std::string loop = at(s_.nest.loops, path[inner]).name;
    const bool of_warp = rng_.chance(0.4);
    const RandomSchedule before = s_;
    if (step(schedule::Rfactor{name, loop, parts, static_cast<int>(rng_.between(-1, 1)),
                               of_warp ? ir::Scope::kLanes : ir::Scope::kGroup}) &&
        step(schedule::ReverseComputeAt{name, at(s_.nest.loops, path[outer]).name})) {
      constexpr ir::LoopKind kAxes[] = {ir::LoopKind::kThreadX, ir::LoopKind::kThreadY,
                                        ir::LoopKind::kThreadZ};
      step(schedule::Annotate{.loop = loop, .kind = kAxes[of_warp ? 0 : rng_.below(3)]});
      if (!of_warp) share_out(s_.nest.find_block(name));
      return true;
    }
    s_ = before;
    return false;
  }

  // The loops around the block that hold nothing else, the outermost first.
  void share_out(ir::BlockId block) {
    std::vector<std::string> own;
    for (ir::LoopId l = at(s_.nest.blocks, block).parent; l >= 0; l = at(s_.nest.loops, l).parent) {
      if (at(s_.nest.loops, l).body.size() != 1) break;
      own.insert(own.begin(), at(s_.nest.loops, l).name);
    }
    const auto annotate = [&](const std::string& loop, ir::LoopKind kind) {
      return step(schedule::Annotate{.loop = loop, .kind = kind});
    };
    if (!own.empty() && rng_.chance(0.3) && annotate(own.back(), ir::LoopKind::kVectorized))
      own.pop_back();
    if (own.size() > 1 && rng_.chance(0.5)) {
      const std::string fused = own.front() + "*";
      if (step(schedule::Fuse{own, fused})) own = {fused};
    }
    constexpr ir::LoopKind kKinds[] = {ir::LoopKind::kItems, ir::LoopKind::kThreadX,
                                       ir::LoopKind::kThreadY, ir::LoopKind::kThreadZ};
    for (const std::string& loop : own)
      if (rng_.chance(0.7)) annotate(loop, kKinds[rng_.below(std::size(kKinds))]);
  }

  RandomSchedule& s_;
  Rng& rng_;
};

}  // namespace

int add_group_memory(RandomSchedule& schedule, Rng& rng) {
  constexpr int kAttempts = 6, kMost = 3;
  int filled = 0;
  GroupFiller filler(schedule, rng);
  for (int i = 0; i < kAttempts && filled < kMost; ++i) filled += filler.fill() ? 1 : 0;
  return filled;
}

RandomSchedule with_bound_loops(const te::Workload& workload, const RandomSchedule& schedule,
                                Rng& rng, double chance) {
  RandomSchedule out;
  out.nest = te::naive_nest(workload);
  out.knobs = schedule.knobs;
  for (const schedule::Step& step : schedule.trace) {
    ir::Nest next = out.nest;
    if (is_refused(step) || !schedule::apply(next, step, workload.contract.free_layout)) continue;
    out.nest = std::move(next);
    out.trace.push_back(step);
  }
  Binder binder(out, rng, chance);
  const std::vector<ir::Item> items = out.nest.root;
  for (const ir::Item& item : items) binder.bind_item(item);
  return out;
}

Target generic_opencl() {
  OpenClTarget device{.name = "generic"};
  device.compute_units = 1;
  device.group_items = 256;
  device.local_bytes = 32'768;
  device.vector_width = 4;
  device.fp64 = true;
  return Target{device};
}

}  // namespace lathe
