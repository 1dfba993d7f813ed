#include "tuner/space/rules/scan/scan_grid.h"

#include <algorithm>

#include "compiler/te/scan.h"
#include "tuner/space/rules/opencl/item_space.h"
#include "tuner/space/rules/scan/scan_loops.h"
#include "tuner/space/rules/shared/choices.h"
#include "tuner/space/rules/shared/knob_list.h"
#include "tuner/space/rules/shared/stepper.h"

namespace lathe::space {
namespace {

constexpr std::int64_t kItemsOfGroup = 64;  // where a search starts

class GridScan : public Stepper {
 public:
  GridScan(ScanLoops loops, ir::Nest& nest, schedule::Trace& trace)
      : Stepper(nest, trace, false), loops_(std::move(loops)) {}

  void run(ir::SizeId items) {
    if (loops_.others.empty()) return;
    std::vector<std::string> order = loops_.others;
    order.push_back(loops_.axis);
    step(schedule::Reorder{order});
    const std::string all = fused(loops_.others, loops_.block + ".all");
    split(all, items, all + ".g", all + ".i");
    kind(all + ".g", ir::LoopKind::kBlockX);
    kind(all + ".i", ir::LoopKind::kThreadX);
  }

 private:
  ScanLoops loops_;
};

// Items for which there is work.
std::int64_t rows_of_all(const ir::Nest& nest, const ScanLoops& loops) {
  std::int64_t rows = 1;
  for (const std::string& loop : loops.others)
    rows *= nest.sizes.constant_value(nest.loops[nest.find_loop(loop)].extent);
  return rows;
}

}  // namespace

void put_scan_on_grid(const std::string& tensor, ir::SizeId items, ir::Nest& nest,
                      schedule::Trace& trace) {
  GridScan(scan_loops_of(nest, tensor), nest, trace).run(items);
}

bool is_led_by_scan(const GridContext& context) {
  return te::has_scan(context.workload) &&
         scan_leads(prepare_for_grid(context.workload, false).view);
}

Result<Derived> derive_scans(const GridContext& context) {
  const auto prepared = std::make_shared<const Prepared>(prepare_for_grid(context.workload, false));
  const te::Workload& view = prepared->view;
  const std::string leading =
      view.tensors[static_cast<std::size_t>(leading_scan(view).tensor)].name;
  const std::int64_t rows = rows_of_all(prepared->nest, scan_loops_of(prepared->nest, leading));
  Derived derived;
  KnobList(derived.knobs)
      .size("scan.items",
            up_to({1, 2, 4, 8, 16, 32, 64, 128, 256},
                  std::min(context.grids.most_items, std::max<std::int64_t>(rows, 1))));
  const Knob& knob = derived.knobs[0];
  derived.starts = {{knob.values[knob.nearest(kItemsOfGroup)]}};
  derived.build = [prepared, leading, grids = context.grids,
                   name = knob.name](std::span<const std::int64_t>) -> Result<Sketch> {
    Sketch sketch{prepared->nest, prepared->steps};
    std::set<std::string> placed = {leading};
    try {
      put_scan_on_grid(leading, sketch.nest.sizes.knob(0, name), sketch.nest, sketch.trace);
      put_others_on_grid(prepared->view, grids, sketch.nest, sketch.trace, placed);
    } catch (const StepRefused& refused) {
      return fail(ErrorKind::kIllegalSchedule, "{}", refused.error.text());
    }
    return sketch;
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
