// The tensors on which a workload is measured and checked.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "compiler/te/workload.h"
#include "runtime/runner/channel.h"
#include "runtime/tensor/layout.h"

namespace lathe::measure {

// The workload's inputs and outputs as row-major borders, in declared order.
std::vector<tensor::Border> plain_inputs(const te::Workload& workload);
std::vector<tensor::Border> plain_outputs(const te::Workload& workload);

// Row-major values of every input, exact in its type. They are random, and few are zero, because
// zeros hide wrong addresses and some hardware multiplies them faster; positive where the workload
// takes logarithms, roots or powers; small whole numbers for integer types, so that sums stay
// exact; in the range that the workload states of an input. Inputs of which outputs are sums of
// products (uneven.h) have slices of very different size, slices with a large mean, and zeros.
std::vector<std::vector<double>> random_inputs(const te::Workload& workload, std::uint64_t seed);

// The file that `lathe-runner` takes: every tensor in the type of its border, at file_offsets().
Result<runner::Fd> inputs_file(const std::vector<tensor::Border>& borders,
                               const std::vector<std::vector<double>>& values);

}  // namespace lathe::measure
