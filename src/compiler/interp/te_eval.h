// Evaluates an index expression stage by stage as it is written, in f64: the oracle of every test.
#pragma once

#include <vector>

#include "base/result.h"
#include "base/rng.h"
#include "compiler/te/program.h"

namespace lathe::interp {

struct Tensor {
  Dtype dtype = Dtype::kF32;
  std::vector<std::int64_t> shape;
  std::vector<double> values;  // row-major
  std::vector<double> bounds;  // of results, element by element: see scalar.h; infinite where
                               // nothing is known
};

// `inputs` in the order of program.inputs(), their elements already rounded to their types; the
// results in the order of program.outputs(). For programs of test size: at most 2^28 elements a
// tensor.
Result<std::vector<Tensor>> evaluate(const te::Program& program, const std::vector<Tensor>& inputs);

// Non-zero values that suit the type: uniform in +-[0.1, 1] for floats, small whole numbers for
// integers, either bool.
Tensor random_input(const te::Tensor& tensor, Rng& rng);
std::vector<Tensor> random_inputs(const te::Program& program, Rng& rng);

// The first element of `got` further than factor * bound from `want`, in words; empty if there is
// none. NaN and infinities agree with their like, and anything where the bound is infinite.
std::string compare(const Tensor& want, const std::vector<double>& got, double factor = 1);

}  // namespace lathe::interp
