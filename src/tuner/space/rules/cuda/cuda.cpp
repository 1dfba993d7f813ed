#include "tuner/space/rules/cuda/cuda.h"

#include "tuner/space/rules/compose.h"
#include "tuner/space/rules/cuda/block_space.h"
#include "tuner/space/rules/opencl/grid_cook_toom.h"
#include "tuner/space/rules/opencl/item_space.h"
#include "tuner/space/rules/opencl/opencl_context.h"

namespace lathe::space {
namespace {

// Stages without shared memory, as on any device whose kernels run on grids.
constexpr Rule<OpenClContext> kCudaRules[] = {
    {Place::kMainSum, offer_grid_cook_toom, grid_cook_toom_meanings},
    {Place::kDirect, offer_tree, tree_meanings},
};

// Sums of products go through shared memory; all else as on any device.
Result<Derived> derive_direct(const CudaContext& context, const OpenClContext& as_grid) {
  if (auto rule = block_rule(context))
    if (auto derived = derive_blocks(std::move(*rule), context)) return derived;
  return derive_items(as_grid);
}

}  // namespace

Result<Derived> derive_for_cuda(const te::Workload& workload, const CudaTarget& target,
                                Flavour flavour) {
  if (workload.contract.free_layout)
    return fail(ErrorKind::kUnsupported,
                "schedules for cards keep the layouts of inputs and outputs; ask for plain ones");
  const OpenClContext as_grid{workload, as_device(target), flavour};
  return compose(LATHE_TRY(derive_direct({workload, target, flavour}, as_grid)),
                 std::span<const Rule<OpenClContext>>(kCudaRules), as_grid);
}

std::string_view cuda_meaning(std::string_view knob) {
  for (const Meaning& meaning : block_meanings())
    if (meaning.knob == knob) return meaning.text;
  return meaning_in(item_meanings(), std::span<const Rule<OpenClContext>>(kCudaRules), knob);
}

}  // namespace lathe::space
