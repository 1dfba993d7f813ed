#include "tuner/space/rules/opencl/opencl.h"

#include <algorithm>

#include "tuner/space/rules/compose.h"
#include "tuner/space/rules/opencl/grid_context.h"
#include "tuner/space/rules/opencl/grid_cook_toom.h"
#include "tuner/space/rules/opencl/item_space.h"
#include "tuner/space/rules/scan/scan_grid.h"
#include "tuner/space/rules/scan/steps_grid.h"

namespace lathe::space {
namespace {

constexpr Rule<GridContext> kOpenClRules[] = {
    {Place::kMainSum, offer_grid_cook_toom, grid_cook_toom_meanings},
    {Place::kDirect, offer_tree, tree_meanings},
    {Place::kDirect, offer_stage, stage_meanings},
};

}  // namespace

Result<Derived> derive_for_opencl(const te::Workload& workload, const OpenClTarget& target,
                                  Flavour flavour) {
  const GridContext context{workload, *target.grids(), flavour};
  if (workload.contract.free_layout)
    return fail_at("--layout", ErrorKind::kInvalidArgument,
                   "schedules for OpenCL keep the layouts of inputs and outputs; give plain, not "
                   "free");
  if (is_led_by_steps(context))
    return compose(LATHE_TRY(derive_steps(context)), std::span<const Rule<GridContext>>(), context);
  if (is_led_by_scan(context))
    return compose(LATHE_TRY(derive_scans(context)), std::span<const Rule<GridContext>>(), context);
  return compose(LATHE_TRY(derive_items(context)), std::span<const Rule<GridContext>>(kOpenClRules),
                 context);
}

std::string_view opencl_meaning(std::string_view knob) {
  for (const auto meanings : {grid_scan_meanings(), grid_step_meanings()})
    for (const Meaning& meaning : meanings)
      if (meaning.knob == knob) return meaning.text;
  return meaning_in(item_meanings(), std::span<const Rule<GridContext>>(kOpenClRules), knob);
}

}  // namespace lathe::space
