#include "tuner/space/rules/cuda/cuda.h"

#include "tuner/space/rules/compose.h"
#include "tuner/space/rules/opencl/grid_cook_toom.h"
#include "tuner/space/rules/opencl/item_space.h"
#include "tuner/space/rules/opencl/opencl_context.h"

namespace lathe::space {
namespace {

constexpr Rule<OpenClContext> kCudaRules[] = {
    {Place::kMainSum, offer_grid_cook_toom, grid_cook_toom_meanings},
    {Place::kDirect, offer_tree, tree_meanings},
};

// What rules ask of a device whose kernels run on grids.
OpenClTarget as_device(const CudaTarget& card) {
  constexpr int kFloat = 4;
  OpenClTarget device{.name = card.name};
  device.compute_units = card.multiprocessors;
  device.group_items = card.block_threads;
  device.local_bytes = card.block_bytes;
  device.local_is_real = true;
  device.vector_width = card.lanes(kFloat);
  device.fp16 = device.fp64 = true;
  return device;
}

}  // namespace

Result<Derived> derive_for_cuda(const te::Workload& workload, const CudaTarget& target,
                                Flavour flavour) {
  const OpenClContext context{workload, as_device(target), flavour};
  if (workload.contract.free_layout)
    return fail(ErrorKind::kUnsupported,
                "schedules for cards keep the layouts of inputs and outputs; ask for plain ones");
  return compose(LATHE_TRY(derive_items(context)), std::span<const Rule<OpenClContext>>(kCudaRules),
                 context);
}

std::string_view cuda_meaning(std::string_view knob) {
  return meaning_in(item_meanings(), std::span<const Rule<OpenClContext>>(kCudaRules), knob);
}

}  // namespace lathe::space
