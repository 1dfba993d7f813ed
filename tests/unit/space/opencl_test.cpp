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
      const auto algorithms = ops::build(op, awkward_arguments(op, seed), te::Numerics::kLocal);
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

TEST(OpenClSpace, StagesThatNeedEachOtherStepByStep) {
  const std::uint64_t first = asked("LATHE_RANDOM_FIRST", 0),
                      end = first + asked("LATHE_RANDOM_ROUNDS", 60);
  for (std::uint64_t seed = first; seed < end && !HasFailure(); ++seed) {
    Rng rng(seed);
    const te::Workload workload =
        random_workload(rng, {.dtypes = seed % 3 == 0, .max_iterations = 4'000, .recurrences = 1});
    check_space(workload, generic_opencl(), Flavour::kDefault, 4, seed);
  }
}

// The rows of a layer's batch go through the steps on items of their own.
TEST(OpenClSpace, RowsOfARecurrenceAreItems) {
  const te::Workload workload = parsed(
      "X: f32[7,200,5]; const U: f32[5,5]; H[t,n,j] = X[t,n,j] + 0.1 * "
      "(sum(k) H[t-1,n,k else 0] * U[k,j])");
  const auto space = derive_space(workload, generic_opencl(), Flavour::kDefault);
  ASSERT_TRUE(space) << space.error().text();
  ASSERT_EQ((*space)->knob_list().size(), 1u);
  EXPECT_EQ((*space)->knob_list()[0].values.back(), 128);
  check_space(workload, generic_opencl(), Flavour::kDefault, 4, 1);
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

TEST(OpenClSpace, CookToomAlgorithmsInSeveralKernels) {
  const std::string texts[] = {
      "X: f32[2,5,9,11]; const W: f32[13,5,3,3]; Y[n:2,o:13,y:9,x:11] = "
      "sum(c,r,s) X[n,c,y+r-1,x+s-1 else 0] * W[o,c,r,s]; Z[n,o,y,x] = max(Y[n,o,y,x], 0)",
      "X: f32[3,40]; const W: f32[18,3,5]; Y[o:18,x:36] = sum(c,s) X[c,x+s] * W[o,c,s]",
      "X: f32[1,3,15,14]; const W: f32[7,3,5,4]; Y[n:1,o:7,y:6,x:6] = "
      "sum(c,r,s) X[n,c,2*y+r,2*x+s else 0] * W[o,c,r,s]"};
  for (const std::string& text : texts)
    for (const auto& [label, count] :
         check_choices(parsed(text), generic_opencl(), "algorithm", 2, 5))
      EXPECT_GE(count, 1) << label;
}

TEST(OpenClSpace, OperandsThroughLocalMemory) {
  const std::string texts[] = {
      "A: f32[37,41]; B: f32[41,29]; C[i,j] = sum(k) A[i,k] * B[k,j]; D[i,j] = tanh(C[i,j])",
      "A: f32[16,64]; B: f32[32,64]; C[i,j] = sum(k) A[i,k] * B[j,k]",
      "A: f32[3,1,5]; B: f32[3,5,1]; C[b,i,j] = sum(k) A[b,i,k] * B[b,k,j]",
      "X: f32[2,5,9,11]; const W: f32[13,5,3,3]; Y[n:2,o:13,y:9,x:11] = "
      "sum(c,r,s) X[n,c,y+r-1,x+s-1 else 0] * W[o,c,r,s]; Z[n,o,y,x] = max(Y[n,o,y,x], 0)",
      "X: f32[1,7,15,14]; const W: f32[6,7,3,2]; Y[n:1,o:6,y:7,x:7] = "
      "sum(c,r,s) X[n,c,2*y+r,2*x+s else 0] * W[o,c,r,s]"};
  for (const std::string& text : texts)
    for (const auto& [label, count] : check_choices(parsed(text), generic_opencl(), "stage", 12, 7))
      EXPECT_GE(count, 1) << label;
}

}  // namespace
}  // namespace lathe::space
