#include "tuner/space/rules/cuda/cuda.h"

#include "compiler/algebra/algebra.h"
#include "tuner/space/rules/compose.h"
#include "tuner/space/rules/cuda/block_space.h"
#include "tuner/space/rules/cuda/permute_tile.h"
#include "tuner/space/rules/cuda/row_kernel_space.h"
#include "tuner/space/rules/cuda/thread_sum_space.h"
#include "tuner/space/rules/cuda/window_space.h"
#include "tuner/space/rules/opencl/grid_context.h"
#include "tuner/space/rules/opencl/grid_cook_toom.h"
#include "tuner/space/rules/opencl/item_space.h"
#include "tuner/space/rules/scan/scan_grid.h"
#include "tuner/space/rules/scan/steps_grid.h"

namespace lathe::space {
namespace {

// Stages without shared memory, as on any device whose kernels run on grids.
constexpr Rule<GridContext> kCudaRules[] = {
    {Place::kMainSum, offer_grid_cook_toom, grid_cook_toom_meanings},
};

// The main stage has the structure of its kind: sums of products go through shared memory, threads
// share long sums, tensors change their order in shared memory; all else is as on any device whose
// kernels run on grids.
Result<Derived> derive_direct(const CudaContext& context, const GridContext& as_grid) {
  if (context.workload.stages.empty()) return derive_items(as_grid);
  if (is_led_by_scan(as_grid)) return derive_scans(as_grid);
  if (algebra::makes_scans(context.workload)) return derive_items(as_grid);
  const auto prepared =
      std::make_shared<const Prepared>(prepare_for_card(context.workload, context.target));
  if (auto rows = derive_row_kernels(prepared, context)) return std::move(*rows);
  if (auto blocks = derive_blocks(prepared, context)) return std::move(*blocks);
  if (auto sums = derive_thread_sums(prepared, context)) return std::move(*sums);
  if (auto permutes = derive_permutes(prepared, context)) return std::move(*permutes);
  if (auto windows = derive_windows(prepared, context)) return std::move(*windows);
  return derive_items(as_grid);
}

}  // namespace

Result<Derived> derive_for_cuda(const te::Workload& workload, const CudaTarget& target,
                                Flavour flavour) {
  if (workload.contract.free_layout)
    return fail(ErrorKind::kUnsupported,
                "schedules for cards keep the layouts of inputs and outputs; ask for plain ones");
  const GridContext as_grid{workload, *target.grids(), flavour};
  if (is_led_by_steps(as_grid))
    return compose(LATHE_TRY(derive_steps(as_grid)), std::span<const Rule<GridContext>>(), as_grid);
  return compose(LATHE_TRY(derive_direct({workload, target, flavour}, as_grid)),
                 std::span<const Rule<GridContext>>(kCudaRules), as_grid);
}

std::string_view cuda_meaning(std::string_view knob) {
  for (const auto meanings : {row_kernel_meanings(), block_meanings(), thread_sum_meanings(),
                              permute_meanings(), grid_scan_meanings(), grid_step_meanings()})
    for (const Meaning& meaning : meanings)
      if (meaning.knob == knob) return meaning.text;
  return meaning_in(item_meanings(), std::span<const Rule<GridContext>>(kCudaRules), knob);
}

}  // namespace lathe::space
