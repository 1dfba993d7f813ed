#include "tuner/space/rules/scan/scan_grid.h"

#include <algorithm>

#include "compiler/algebra/algebra.h"
#include "tuner/space/rules/opencl/item_space.h"
#include "tuner/space/rules/scan/scan_loops.h"
#include "tuner/space/rules/shared/choices.h"
#include "tuner/space/rules/shared/knob_list.h"
#include "tuner/space/rules/shared/stepper.h"

namespace lathe::space {
namespace {

constexpr std::int64_t kFirstItems = 64;  // where a search starts

// The longest of the other loops, the last of equals; empty: there is none.
std::string longest_of(const ir::Nest& nest, const ScanLoops& loops) {
  std::string longest;
  for (const std::string& loop : loops.others)
    if (longest.empty() || extent_of_loop(nest, loop) >= extent_of_loop(nest, longest))
      longest = loop;
  return longest;
}

class GridScan : public Stepper {
 public:
  GridScan(ScanLoops loops, ir::Nest& nest, schedule::Trace& trace)
      : Stepper(nest, trace, false), loops_(std::move(loops)) {}

  void run(ir::SizeId items) {
    if (loops_.others.empty()) return;
    const std::string longest = longest_of(nest_, loops_);
    split(longest, items, longest + ".g", longest + ".i");
    std::vector<std::string> groups = loops_.others;
    std::erase(groups, longest);
    groups.push_back(longest + ".g");
    std::vector<std::string> order = groups;
    order.push_back(longest + ".i");
    order.push_back(loops_.axis);
    step(schedule::Reorder{order});
    kind(fused(groups, loops_.block + ".all"), ir::LoopKind::kBlockX);
    kind(longest + ".i", ir::LoopKind::kThreadX);
  }

 private:
  ScanLoops loops_;
};

// Items for which a group has work.
std::int64_t items_of(const ir::Nest& nest, const ScanLoops& loops) {
  const std::string longest = longest_of(nest, loops);
  return longest.empty() ? 1 : extent_of_loop(nest, longest);
}

}  // namespace

void put_scan_on_grid(const std::string& tensor, ir::SizeId items, ir::Nest& nest,
                      schedule::Trace& trace) {
  GridScan(scan_loops_of(nest, tensor), nest, trace).run(items);
}

bool is_led_by_scan(const GridContext& context) {
  if (!algebra::makes_scans(context.workload)) return false;
  const Prepared prepared = prepare_for_grid(context.workload, false);
  return scan_leads(prepared.nest, prepared.view);
}

Result<Derived> derive_scans(const GridContext& context) {
  const auto prepared = std::make_shared<const Prepared>(prepare_for_grid(context.workload, false));
  const te::Workload& view = prepared->view;
  const std::string leading =
      view.tensors[static_cast<std::size_t>(leading_scan(prepared->nest, view).tensor)].name;
  const std::int64_t items = items_of(prepared->nest, scan_loops_of(prepared->nest, leading));
  Derived derived;
  KnobList(derived.knobs)
      .size("scan.items",
            up_to({1, 2, 4, 8, 16, 32, 64, 128, 256}, std::min(context.grids.most_items, items)));
  const Knob& knob = derived.knobs[0];
  derived.starts = {{knob.values[knob.nearest(kFirstItems)]}};
  derived.build = [prepared, leading, grids = context.grids,
                   name = knob.name](std::span<const std::int64_t>) {
    return sketch_on_grid(*prepared, grids, [&](Sketch& sketch, std::set<std::string>& placed) {
      placed = companions_along(sketch.nest, leading);
      put_scan_on_grid(leading, sketch.nest.sizes.knob(0, name), sketch.nest, sketch.trace);
    });
  };
  return derived;
}

namespace {

constexpr Meaning kGridScanMeanings[] = {
    {"scan.items",
     "items of a group, each of which goes along the axis of the scan for one row or "
     "column"},
};

}  // namespace

std::span<const Meaning> grid_scan_meanings() { return kGridScanMeanings; }

}  // namespace lathe::space
