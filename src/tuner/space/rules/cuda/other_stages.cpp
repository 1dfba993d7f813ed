#include "tuner/space/rules/cuda/other_stages.h"

#include "tuner/space/rules/cuda/block_space.h"
#include "tuner/space/rules/cuda/thread_sum_space.h"
#include "tuner/space/rules/opencl/item_space.h"

namespace lathe::space {

OtherStages::OtherStages(std::shared_ptr<const Prepared> prepared, int main,
                         const CudaContext& context)
    : prepared_(std::move(prepared)), rows_(prepared_, main, context), target_(context.target) {
  const te::Workload& view = prepared_->view;
  for (int s = 0; std::cmp_less(s, view.stages.size()); ++s) {
    if (s == main || view.stages[static_cast<std::size_t>(s)].reduce == ir::ReduceOp::kNone)
      continue;
    Other other{{&view, s, {}}, {}, nullptr, {}};
    if (auto rule = block_rule(prepared_, s, context.target)) {
      other.values = first_block_start(*rule, context.flavour);
      if (!other.values.empty()) other.blocks = std::make_shared<const BlockRule>(std::move(*rule));
    }
    other.sum = thread_sum_of(other.stage);
    if (other.blocks || other.sum.sum >= 0) others_.push_back(std::move(other));
  }
}

// Where stages along rows are in the way of others, they are kernels of their own.
Result<Sketch> OtherStages::sketch(
    const std::function<void(Sketch&, std::set<std::string>&)>& put_main) const {
  const auto made = [&](bool with_rows) -> Result<Sketch> {
    Sketch sketch{prepared_->nest, prepared_->steps};
    std::set<std::string> placed;
    try {
      if (with_rows) rows_.put(sketch.nest, sketch.trace, placed);
      put_main(sketch, placed);
      put(sketch.nest, sketch.trace, placed);
    } catch (const StepRefused& refused) {
      return fail(ErrorKind::kIllegalSchedule, "{}", refused.error.text());
    }
    return sketch;
  };
  auto first = made(rows_.any());
  return first || !rows_.any() ? std::move(first) : made(false);
}

void OtherStages::put(ir::Nest& nest, schedule::Trace& trace, std::set<std::string>& placed) const {
  for (const Other& other : others_) {
    const te::Stage& stage = other.stage.get();
    if (placed.contains(prepared_->view.tensors[static_cast<std::size_t>(stage.tensor)].name))
      continue;
    if (other.blocks)
      put_on_blocks(other.blocks->main, fixed_block_sizes(*other.blocks, other.values, nest), nest,
                    trace, placed);
    else
      put_sum_on_threads(other.stage, other.sum,
                         fixed_sum_sizes(other.stage, other.sum, target_, nest), nest, trace,
                         placed);
  }
  put_others_on_grid(prepared_->view, *target_.grids(), nest, trace, placed);
}

}  // namespace lathe::space
