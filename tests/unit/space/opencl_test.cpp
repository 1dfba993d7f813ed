// Spaces for devices that run OpenCL: every configuration computes its program, of all operators
// and of random programs.
#include <gtest/gtest.h>

#include "compiler/te/workload.h"
#include "support/bound_trace.h"
#include "support/random_workload.h"
#include "unit/space/check_space.h"
#include "unit/space/operator_shapes.h"

namespace lathe::space {
namespace {

TEST(OpenClSpace, OperatorsOfAwkwardShapes) {
  for (const ops::Operator& op : ops::operators())
    for (std::uint64_t seed = 1; seed <= asked("LATHE_RANDOM_ROUNDS", 3); ++seed) {
      const auto algorithms =
          ops::build(op, awkward_arguments(op, seed), te::Numerics::kComponentwise);
      ASSERT_TRUE(algorithms) << op.name << ": " << algorithms.error().text();
      for (const ops::Algorithm& algorithm : *algorithms)
        check_space(algorithm.workload, generic_opencl(),
                    seed % 2 == 0 ? Flavour::kWide : Flavour::kDefault, 4, seed);
    }
}

TEST(OpenClSpace, RandomPrograms) {
  for (std::uint64_t seed = 1; seed <= asked("LATHE_RANDOM_ROUNDS", 60); ++seed) {
    Rng rng(seed);
    const te::Workload workload =
        random_workload(rng, {.dtypes = seed % 3 == 0, .max_iterations = 4'000});
    if (derive_space(workload, generic_opencl(), Flavour::kDefault))
      check_space(workload, generic_opencl(), Flavour::kDefault, 4, seed);
  }
}

TEST(OpenClSpace, LongSumsInPartsAndCopiesOfWeights) {
  const std::string texts[] = {
      "A: f32[3,9973]; S[i:3] = sum(j) A[i,j]", "A: f32[5001]; M[o:1] = max(j) A[j+0*o]",
      "A: f32[7,4099]; B: f32[9,4099]; C[i,j] = sum(k) A[i,k] * B[j,k]",
      "X: f32[2,5,9,11]; const W: f32[13,5,3,3]; Y[n:2,o:13,y:9,x:11] = "
      "sum(c,r,s) X[n,c,y+r-1,x+s-1 else 0] * W[o,c,r,s]; Z[n,o,y,x] = max(Y[n,o,y,x], 0)"};
  for (const std::string& text : texts)
    for (const Flavour flavour : kFlavours)
      check_space(parsed(text), generic_opencl(), flavour, 12, 3);
}

}  // namespace
}  // namespace lathe::space
