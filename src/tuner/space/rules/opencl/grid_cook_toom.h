// Cook-Toom algorithms on grids: the transforms of input and filter, the products, and the
// transforms back are kernels one after the other. The knobs are those of the products' tiles.
#pragma once

#include <memory>
#include <span>

#include "tuner/space/rules/opencl/grid_context.h"
#include "tuner/space/rules/rule.h"

namespace lathe::space {

Result<std::unique_ptr<Alternatives>> offer_grid_cook_toom(const GridContext& context);
std::span<const Meaning> grid_cook_toom_meanings();

}  // namespace lathe::space
