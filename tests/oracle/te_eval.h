// Evaluates an index expression stage by stage as it is written, in f64. Every test compares with
// it.
#pragma once

#include <vector>

#include "base/result.h"
#include "base/rng.h"
#include "compiler/te/workload.h"

namespace lathe::interp {

struct Tensor {
  Dtype dtype = Dtype::kF32;
  std::vector<std::int64_t> shape;
  std::vector<double> values;  // row-major
  // Of results: a bound for each element, see scalar.h; infinite where nothing is known.
  std::vector<double> bounds;
};

// `inputs` have the order of program.inputs(), and their elements are already rounded to their
// types; the results have the order of program.outputs(). For workloads of test size: a tensor may
// have 2^28 elements at most.
Result<std::vector<Tensor>> evaluate(const te::Workload& workload,
                                     const std::vector<Tensor>& inputs);

// Non-zero values that suit the type: uniform in +-[0.1, 1] for floats, small whole numbers for
// integers, either bool.
Tensor random_input(const te::Tensor& tensor, Rng& rng);
std::vector<Tensor> random_inputs(const te::Workload& workload, Rng& rng);

// Says in words which element of `got` is the first that is further than factor * bound from
// `want`; empty if none is. NaN and infinities agree with their like, and anything agrees where the
// bound is infinite.
std::string compare(const Tensor& want, const std::vector<double>& got, double factor = 1);

}  // namespace lathe::interp
