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

}  // namespace

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
  device.vector_width = 4;
  device.fp64 = true;
  return Target{device};
}

}  // namespace lathe
