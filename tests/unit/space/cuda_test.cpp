// Spaces for cards: every configuration computes its program, of all operators, of random programs,
// and of sums of products whose operands go through shared memory.
#include <cstdlib>

#include <gtest/gtest.h>

#include "compiler/lower/lower.h"
#include "compiler/te/naive_nest.h"
#include "compiler/te/workload.h"
#include "support/random_card.h"
#include "support/random_workload.h"
#include "unit/space/check_space.h"
#include "unit/space/operator_shapes.h"

namespace lathe::space {
namespace {

using test::card_of_architecture;

const std::string kProducts[] = {
    "A: f32[17,19]; B: f32[19,23]; C[i,j] = sum(k) A[i,k] * B[k,j]",
    "A: f32[64,48]; B: f32[48,96]; C[i,j] = sum(k) A[i,k] * B[k,j]",
    "A: f32[37,64]; B: f32[41,64]; C[i,j] = sum(k) A[i,k] * B[j,k]",
    "A: f32[40,1]; B: f32[1,44]; C[i,j] = sum(k) A[i,k] * B[k,j]",
    "A: f32[3,5,7]; B: f32[3,7,11]; C[b,i,j] = sum(k) A[b,i,k] * B[b,k,j]",
    "A: f32[29,16]; const W: f32[31,16]; b: f32[31]; C[i,j] = sum(k) A[i,k] * W[j,k];"
    " D[i,j] = relu(C[i,j] + b[j])",
    "A: f32[6,5,7]; B: f32[7,8,9]; C[a,b,c,e] = sum(d) A[a,b,d] * B[d,c,e]",
    "A: f32[5,12]; const B: f32[17,12]; const D: f32[12,9];"
    " C[i,j] = sum(k) A[i,k] * B[j,k]; E[i,j] = sum(k) A[i,k] * D[k,j]"};
const std::string kConvolutions[] = {
    "X: f32[2,5,9,11]; const W: f32[13,5,3,3]; Y[n:2,o:13,y:9,x:11] = "
    "sum(c,r,s) X[n,c,y+r-1,x+s-1 else 0] * W[o,c,r,s]; Z[n,o,y,x] = max(Y[n,o,y,x], 0)",
    "X: f32[1,8,14,14]; const W: f32[32,8,3,3]; Y[n:1,o:32,y:7,x:7] = "
    "sum(c,r,s) X[n,c,2*y+r-1,2*x+s-1 else 0] * W[o,c,r,s]",
    "X: f32[1,3,15,14]; const W: f32[7,3,5,4]; Y[n:1,o:7,y:6,x:6] = "
    "sum(c,r,s) X[n,c,2*y+r,2*x+s else 0] * W[o,c,r,s]",
    "X: f32[1,16,8,8]; const W: f32[24,16,1,1]; Y[n:1,o:24,y:8,x:8] = "
    "sum(c,r,s) X[n,c,y+r,x+s] * W[o,c,r,s]",
    "X: f32[1,16,9,9]; const W: f32[20,16,1,1]; Y[n:1,o:20,y:5,x:5] = "
    "sum(c,r,s) X[n,c,2*y+r,2*x+s] * W[o,c,r,s]"};

TEST(CudaSpace, ProductsThroughSharedMemory) {
  for (const std::string& text : kProducts)
    for (const Flavour flavour : kFlavours)
      check_space(parsed(text), card_of_architecture(80), flavour, 8, 3);
}

TEST(CudaSpace, ConvolutionsThroughSharedMemory) {
  for (const std::string& text : kConvolutions)
    for (const Flavour flavour : kFlavours)
      check_space(parsed(text), card_of_architecture(75), flavour, 8, 5);
}

const std::string kSums[] = {
    "X: f32[13,333]; S[i] = sum(k) X[i,k]",
    "X: f32[5,64]; M[i] = max(k) X[i,k]",
    "X: f32[333,13]; S[i] = sum(k) X[k,i]",
    "X: f32[100,64]; S[i] = max(k) X[k,i]; Y[i] = S[i] * 2",
    "X: f32[3,41,8]; Y[i,j] = (sum(k) X[i,k,j]) / 41",
    "X: f32[70001]; S[o:1] = sum(k) X[k+0*o]",
    "A: f32[33,80]; x: f32[80]; y[i] = sum(k) A[i,k] * x[k]",
    "X: f32[7,9,11]; Y[j] = sum(i,k) X[i,j,k]",
    "X: f32[6,40]; E[i,j] = exp(X[i,j] - (max(k) X[i,k])); Y[i,j] = E[i,j] / (sum(k) E[i,k])"};

TEST(CudaSpace, LongSumsThatThreadsShare) {
  for (const std::string& text : kSums)
    for (const Flavour flavour : kFlavours)
      check_space(parsed(text), card_of_architecture(80), flavour, 12, 7);
}

const std::string kRows[] = {
    "X: f32[6,40]; E[i,j] = exp(X[i,j] - (max(k) X[i,k])); Y[i,j] = E[i,j] / (sum(k) E[i,k])",
    "X: f32[7,333]; E[i,j] = exp(X[i,j] - (max(k) X[i,k])); Y[i,j] = E[i,j] / (sum(k) E[i,k])",
    "X: f32[1,1000]; E[i,j] = exp(X[i,j] - (max(k) X[i,k])); Y[i,j] = E[i,j] / (sum(k) E[i,k])",
    "X: f32[5,1]; E[i,j] = exp(X[i,j] - (max(k) X[i,k])); Y[i,j] = E[i,j] / (sum(k) E[i,k])",
    "X: f32[5,4]; E[i,j] = exp(X[i,j] - (max(k) X[i,k])); Y[i,j] = E[i,j] / (sum(k) E[i,k])",
    "X: f32[37,16]; E[i,j] = exp(X[i,j] - (max(k) X[i,k])); Y[i,j] = E[i,j] / (sum(k) E[i,k])",
    "X: f32[5,97]; D[i,j] = X[i,j] - (max(k) X[i,k]); Y[i,j] = D[i,j] - log(sum(k) exp(D[i,k]))",
    "X: f32[3,2,200]; g: f32[200]; b: f32[200]; M[a,i] = (sum(k) X[a,i,k]) / 200; "
    "V[a,i] = (sum(k) (X[a,i,k] - M[a,i]) * (X[a,i,k] - M[a,i])) / 200; "
    "Y[a,i,j] = (X[a,i,j] - M[a,i]) * rsqrt(V[a,i] + 1e-5) * g[j] + b[j]",
    "X: f32[9,132]; g: f32[132]; Y[i,j] = X[i,j] * rsqrt((sum(k) X[i,k] * X[i,k]) / 132 + 1e-6) * "
    "g[j]",
    "X: f32[3,4,5,8]; a: f32[3,4]; M[g] = (sum(c,y,x) X[g,c,y,x]) / 160; "
    "V[g] = (sum(c,y,x) (X[g,c,y,x] - M[g]) * (X[g,c,y,x] - M[g])) / 160; "
    "Y[g,c,y,x] = (X[g,c,y,x] - M[g]) * rsqrt(V[g] + 1e-5) * a[g,c]",
    "X: f32[11,260]; m[i] = max(k) X[i,k]; Y[i] = m[i] + log(sum(k) exp(X[i,k] - m[i]))",
    "X: f32[13,70]; m[i] = max(k) X[i,k]; Y[i] = min(k) select(X[i,k] == m[i], k, 70)",
    "X: f16[6,72]; E: f32[6,72]; Y: f16[6,72]; E[i,j] = exp(X[i,j] - (max(k) X[i,k])); "
    "Y[i,j] = E[i,j] / (sum(k) E[i,k])",
    "Q: f32[2,9,8]; K: f32[2,24,8]; V: f32[2,24,8]; "
    "S[h,i,j] = (sum(d) Q[h,i,d] * K[h,j,d]) * 0.35; "
    "E[h,i,j] = exp(S[h,i,j] - (max(k) S[h,i,k])); "
    "Y[h,i,d] = (sum(j) E[h,i,j] * V[h,j,d]) / (sum(k) E[h,i,k])",
    "X: f32[37,9]; E[i,j] = exp(X[i,j] - (max(k) X[k,j])); Y[i,j] = E[i,j] / (sum(k) E[k,j])",
    "X: f64[5,34]; E[i,j] = exp(X[i,j] - (max(k) X[i,k])); Y[i,j] = E[i,j] / (sum(k) E[i,k])"};

TEST(CudaSpace, RowsThroughAllTheirStages) {
  const auto configurations = static_cast<int>(asked("LATHE_RANDOM_CONFIGS", 16));
  for (const std::string& text : kRows)
    for (const Flavour flavour : kFlavours)
      check_space(parsed(text), card_of_architecture(80), flavour, configurations, 11);
}

std::size_t kernels_of(const std::string& text, const Target& target) {
  const auto space = derive_space(parsed(text), target, Flavour::kDefault);
  if (!space) return 0;
  ir::Nest nest = te::naive_nest((*space)->workload());
  if (!schedule::apply(nest, (*space)->trace((*space)->default_config()))) return 0;
  const auto flat = lower::lower(ir::SizedNest(nest, {}), target);
  return flat ? flat->run.size() : 0;
}

TEST(CudaSpace, RowsAreOneKernel) {
  for (const int length : {5, 16, 97, 1000, 32000})
    EXPECT_EQ(kernels_of(fmt::format("X: f32[9,{0}]; E[i,j] = exp(X[i,j] - (max(k) X[i,k])); "
                                     "Y[i,j] = E[i,j] / (sum(k) E[i,k])",
                                     length),
                         card_of_architecture(80)),
              1U)
        << length;
  EXPECT_EQ(kernels_of("X: f32[16,768]; g: f32[768]; M[i] = (sum(k) X[i,k]) / 768; "
                       "V[i] = (sum(k) (X[i,k] - M[i]) * (X[i,k] - M[i])) / 768; "
                       "Y[i,j] = (X[i,j] - M[i]) * rsqrt(V[i] + 1e-5) * g[j]",
                       card_of_architecture(90)),
            1U);
  // A product, the rows, another product.
  EXPECT_EQ(kernels_of("Q: f32[4,64,32]; K: f32[4,64,32]; V: f32[4,64,32]; "
                       "S[h,i,j] = (sum(d) Q[h,i,d] * K[h,j,d]) * 0.125; "
                       "E[h,i,j] = exp(S[h,i,j] - (max(k) S[h,i,k])); "
                       "Y[h,i,d] = (sum(j) E[h,i,j] * V[h,j,d]) / (sum(k) E[h,i,k])",
                       card_of_architecture(80)),
            3U);
}

const std::string kWindows[] = {
    "X: f32[5,13,16]; W: f32[5,3,3]; Y[c,y:13,x:16] = "
    "sum(r,s) X[c,y+r-1,x+s-1 else 0] * W[c,r,s]",
    "X: f32[3,15,14]; W: f32[3,3,3]; Y[c,y:8,x:7] = sum(r,s) X[c,2*y+r-1,2*x+s-1 else 0] * "
    "W[c,r,s]",
    "X: f32[7,9,11]; W: f32[7,5,5]; Y[c,y:9,x:11] = sum(r,s) X[c,y+r-2,x+s-2 else 0] * W[c,r,s]; "
    "Z[c,y,x] = max(Y[c,y,x], 0)",
    "X: f32[4,12,20]; Y[c,y:6,x:10] = max(r:3,s:3) X[c,2*y+r-1,2*x+s-1 else -inf]",
    "X: f32[3,8,12]; Y[c,y,x] = (sum(r:2,s:2) X[c,2*y+r,2*x+s]) * 0.25",
    "X: f32[9,10,8]; W: f32[3,3,8]; Y[y:7,x:8,c] = sum(r,s) X[y+r,x+s,c] * W[r,s,c]",
    "X: f16[2,7,24]; Y: f16[2,5,22]; Y[c,y:5,x:22] = max(r:3,s:3) X[c,y+r,x+s]",
    "X: f32[41]; Y[x:37] = sum(s:5) X[x+s]"};
const std::string kMaps[] = {
    "A: f32[7,64]; B: f32[7,64]; Y[i,j] = relu(A[i,j] + B[i,j])",
    "X: f32[5,37]; b: f32[37]; Y[i,j] = 0.5 * (X[i,j] + b[j]) * (1 + erf((X[i,j] + b[j]) * 0.7))",
    "X: f32[6,5,12]; a: f32[6]; Y[c,y,x] = X[c,y,x] * a[c]",
    "X: f32[97]; Y[i] = exp(X[i])",
    "a: f32[20]; b: f32[23]; Y[i,j] = a[i] * b[j]",
    "X: f64[3,10]; Y[i,j] = X[i,j] + 1"};

TEST(CudaSpace, WindowsAndMaps) {
  const auto configurations = static_cast<int>(asked("LATHE_RANDOM_CONFIGS", 12));
  for (const std::string& text : kWindows)
    for (const Flavour flavour : kFlavours)
      check_space(parsed(text), card_of_architecture(80), flavour, configurations, 13);
  for (const std::string& text : kMaps)
    for (const Flavour flavour : kFlavours)
      check_space(parsed(text), card_of_architecture(80), flavour, 8, 15);
}

const std::string kPermutes[] = {"X: f32[37,41]; Y[i,j] = X[j,i]", "X: f32[64,32]; Y[i,j] = X[j,i]",
                                 "X: f32[5,7,12]; Y[c,b,a] = X[a,b,c] + 1",
                                 "X: f32[3,4,5,6]; Y[d,c,b,a] = X[a,b,c,d]",
                                 "X: f32[8,13]; Y[j:11,i:11] = X[i,j+2 else 0]"};

TEST(CudaSpace, PermutesThroughSharedMemory) {
  for (const std::string& text : kPermutes)
    for (const Flavour flavour : kFlavours)
      check_space(parsed(text), card_of_architecture(80), flavour, 12, 9);
}

// The start of an algorithm keeps to the limits of direct sums, too.
TEST(CudaSpace, NamedAlgorithms) {
  for (const std::string algorithm : {"cook_toom", "F2x2", "F4x4"})
    for (const Flavour flavour : kFlavours)
      check_space(parsed(kConvolutions[0] + "; algorithm " + algorithm), card_of_architecture(80),
                  flavour, 6, 11);
}

// Sums of 8 bytes need twice the registers and the shared memory.
TEST(CudaSpace, DefaultsOfLargeProductsFit) {
  for (const int architecture : {75, 80, 90})
    for (const char* dtype : {"f64", "i64", "f32", "f16"})
      for (const int size : {3000, 4096, 8192, 16384}) {
        const std::string text = fmt::format(
            "A: {0}[{1},{1}]; B: {0}[{1},{1}]; C[i,j] = sum(k) A[i,k] * B[k,j]", dtype, size);
        const Target card = card_of_architecture(architecture);
        const auto space = derive_space(te::canonical(parsed(text)), card, Flavour::kDefault);
        ASSERT_TRUE(space) << text << ": " << space.error().text();
        for (const Config& start : (*space)->starts()) {
          const auto& sketch = (*space)->sketch(start);
          std::vector<std::int64_t> knobs;
          (*space)->knob_values(start, knobs);
          const auto flat = lower::lower(ir::SizedNest(sketch.nest, knobs), card);
          EXPECT_TRUE(flat) << text << " " << (*space)->describe(start) << ": "
                            << flat.error().text();
        }
      }
}

TEST(CudaSpace, OperatorsOfAwkwardShapes) {
  for (const ops::Operator& op : ops::operators())
    for (std::uint64_t seed = 1; seed <= asked("LATHE_RANDOM_ROUNDS", 3); ++seed) {
      const auto algorithms = ops::build(op, awkward_arguments(op, seed), te::Numerics::kLocal);
      ASSERT_TRUE(algorithms) << op.name << ": " << algorithms.error().text();
      for (const ops::Algorithm& algorithm : *algorithms)
        check_space(algorithm.workload, card_of_architecture(80),
                    seed % 2 == 0 ? Flavour::kWide : Flavour::kDefault, 4, seed);
    }
}

TEST(CudaSpace, StagesThatNeedEachOtherStepByStep) {
  const std::uint64_t end = asked("LATHE_RANDOM_ROUNDS", 40);
  for (std::uint64_t seed = 0; seed < end && !HasFailure(); ++seed) {
    Rng rng(seed);
    const te::Workload workload =
        random_workload(rng, {.dtypes = seed % 3 == 0, .max_iterations = 4'000, .recurrences = 1});
    check_space(workload, card_of_architecture(80), Flavour::kDefault, 4, seed);
  }
}

// Four configurations of each: 300, and 10,000 where tests may take long.
TEST(CudaSpace, RandomPrograms) {
  const std::uint64_t first = asked("LATHE_RANDOM_FIRST", 1);
  const std::uint64_t plain = std::getenv("LATHE_TEST_LONG") != nullptr ? 2'500 : 75;
  const std::uint64_t end = first + asked("LATHE_RANDOM_ROUNDS", plain);
  for (std::uint64_t seed = first; seed < end && !HasFailure(); ++seed) {
    const test::RandomCard made = test::random_card(seed);
    check_space(made.workload, made.target, made.wide ? Flavour::kWide : Flavour::kDefault, 4,
                seed);
  }
}

}  // namespace
}  // namespace lathe::space
