// Strassen's algorithm as a step: what it computes is what the first block computes.
#include <gtest/gtest.h>

#include "unit/schedule/same.h"

namespace lathe::schedule {
namespace {

constexpr double kProductErrors =
    100;  // an element's roundings go with the largest numbers around it

void expect_same_product(std::string_view text, const Strassen& step) {
  const te::Workload workload = program(text);
  ir::Nest nest = te::naive_nest(workload);
  must_apply(nest, {step});
  schedule::expect_same(workload, nest, kProductErrors);
}

std::string product(int m, int n, int k) {
  return fmt::format("A: f32[{},{}]; B: f32[{},{}]; C[i,j] = sum(k) A[i,k] * B[k,j]", m, k, k, n);
}

TEST(Strassen, ComputesTheSame) {
  for (const int m : {2, 3, 4, 7, 13})
    for (const int n : {2, 5, 8, 11})
      for (const int k : {2, 3, 6, 17}) expect_same_product(product(m, n, k), {"C", "i", "j", "k"});
}

TEST(Strassen, HasSevenProducts) {
  ir::Nest nest = nest_of(product(9, 6, 8));
  must_apply(nest, {Strassen{"C", "i", "j", "k"}});
  const auto sizes_of = [&](const char* name) {
    std::vector<std::int64_t> out;
    for (const ir::SizeId size : nest.buffers[nest.find_buffer(name)].shape)
      out.push_back(nest.sizes.constant_value(size));
    return out;
  };
  using Sizes = std::vector<std::int64_t>;
  EXPECT_EQ(sizes_of("C.left"), (Sizes{7, 5, 4}));
  EXPECT_EQ(sizes_of("C.right"), (Sizes{7, 4, 3}));
  EXPECT_EQ(sizes_of("C.product"), (Sizes{7, 5, 3}));
}

TEST(Strassen, TakesAnyProduct) {
  // Rows and columns the other way round, operands transposed or swapped.
  expect_same_product(product(5, 6, 7), {"C", "j", "i", "k"});
  expect_same_product("A: f32[7,5]; B: f32[6,7]; C[i,j] = sum(k) B[j,k] * A[k,i]",
                      {"C", "i", "j", "k"});
  expect_same_product("A: f32[7,5]; C[i,j] = sum(k) A[k,i] * A[k,j]", {"C", "i", "j", "k"});
  // Batches on both sides or one, in any place, and a second axis of each kind.
  expect_same_product("A: f32[3,5,7]; B: f32[7,4,3]; C[i,b,j] = sum(k) A[b,i,k] * B[k,j,b]",
                      {"C", "i", "j", "k"});
  expect_same_product("A: f32[5,7,3]; B: f32[7,4]; C[b,i,j] = sum(k) A[i,k,b] * B[k,j]",
                      {"C", "i", "j", "k"});
  const std::string four =
      "A: f32[3,5,2,3]; B: f32[2,4,3,5]; C[i,p,j,q] = sum(k,l) A[i,p,k,l] * B[k,j,l,q]";
  expect_same_product(four, {"C", "i", "j", "k"});
  expect_same_product(four, {"C", "p", "q", "l"});
  // A convolution's channels, beside taps that leave the image; iterators with the step's names.
  expect_same_product(
      "X: f32[2,5,6,7]; const W: f32[3,5,3,3]\n"
      "Y[n,o,y:6,x:7] = sum(c,r,s) X[n,c,y+r-1,x+s-1 else 0] * W[o,c,r,s]",
      {"Y", "o", "n", "c"});
  expect_same_product("A: f32[5,7]; B: f32[7,4]; C[q,d0] = sum(h0) A[q,h0] * B[h0,d0]",
                      {"C", "q", "d0", "h0"});
  // A part of the operands, more than they have, stages before and after, and f64.
  expect_same_product("A: f32[9,9]; B: f32[9,9]; C[i:4,j:6] = sum(k:8) A[i,k] * B[k,j]",
                      {"C", "i", "j", "k"});
  expect_same_product("A: f32[4,4]; B: f32[9,6]; C[i:7,j] = sum(k:9) A[i,k else 0] * B[k,j]",
                      {"C", "i", "j", "k"});
  expect_same_product(
      "A: f64[6,5]; B: f64[5,7]; T[i,k] = max(A[i,k], 0.0); C[i,j] = sum(k) T[i,k] * B[k,j]\n"
      "Z[i,j] = C[i,j] + 1.0",
      {"C", "i", "j", "k"});
}

// What follows a vector of a quarter ends where the quarter does.
TEST(Strassen, ConsumersFollowQuarters) {
  const te::Workload workload =
      program("A: f32[5,6]; B: f32[6,9]; C[i,j] = sum(k) A[i,k] * B[k,j]; Z[i,j] = C[i,j] + 1.0");
  ir::Nest nest = te::naive_nest(workload);
  must_apply(
      nest,
      {Strassen{"C", "i", "j", "k"}, Split{"C.j.i", std::int64_t{3}, "jo", "jl", ir::Tail::kPeel},
       Reorder{{"C.i.i", "jo", "C.i.h", "C.j.h", "C.q", "jl"}}, ReverseComputeAt{"Z", "C.j.h"}});
  schedule::expect_same(workload, nest, kProductErrors);
}

TEST(Strassen, ConstantOperandsArePreparedOnce) {
  ir::Nest nest = nest_of("A: f32[5,7]; const B: f32[7,4]; C[i,j] = sum(k) A[i,k] * B[k,j]");
  must_apply(nest, {Strassen{"C", "i", "j", "k"}});
  EXPECT_TRUE(nest.buffers[nest.find_buffer("C.right")].constant);
  EXPECT_FALSE(nest.buffers[nest.find_buffer("C.left")].constant);
}

TEST(Strassen, RefusesOtherSums) {
  const std::string plain = product(5, 6, 7);
  EXPECT_EQ(refusal(plain, {Strassen{"D", "i", "j", "k"}}), Refusal::kNoSuchBlock);
  EXPECT_EQ(refusal(plain, {Strassen{"C", "i", "j", "l"}}), Refusal::kNoSuchLoop);
  EXPECT_EQ(refusal(plain, {Strassen{"C", "", "j", "k"}}), Refusal::kNoSuchLoop);
  EXPECT_EQ(refusal(plain, {Strassen{"C", "i", "i", "k"}}), Refusal::kNoProduct);
  EXPECT_EQ(refusal(plain, {Strassen{"C", "i", "k", "j"}}), Refusal::kNoProduct);
  for (const auto& [m, n, k] : {std::tuple(1, 6, 7), std::tuple(5, 1, 7), std::tuple(5, 6, 1)})
    EXPECT_EQ(refusal(product(m, n, k), {Strassen{"C", "i", "j", "k"}}), Refusal::kNoProduct);
  EXPECT_EQ(refusal(plain, {Split{"C.i", std::int64_t{2}, "a", "b", ir::Tail::kPeel},
                            Strassen{"C", "i", "j", "k"}}),
            Refusal::kNotAsWritten);
  EXPECT_EQ(refusal(plain, {Strassen{"C", "i", "j", "k"}, Strassen{"C", "i", "j", "q"}}),
            Refusal::kNotAsWritten);
  for (const char* sum :
       {"sum(k:4) A[i,2*k] * B[k,j]", "sum(k:4) A[i,k+1] * B[k,j]", "sum(k:4) A[i+k,k] * B[k,j]",
        "sum(k:5) A[i,k] * B[k,j]", "sum(k:4) (A[i,k] + B[k,j])", "sum(k:4) A[i,k else 1] * B[k,j]",
        "sum(k:4) A[i,k] * (B[k,j] + 1.0)", "sum(k:4) A[i,j] * B[k,j]"})
    EXPECT_EQ(refusal(fmt::format("A: f32[20,20]; B: f32[9,9]; C[i:4,j:4] = {}", sum),
                      {Strassen{"C", "i", "j", "k"}}),
              Refusal::kNoProduct)
        << sum;
  EXPECT_EQ(refusal("A: f32[4,4]; B: f32[4,4]; C[i,j] = max(k) A[i,k] * B[k,j]",
                    {Strassen{"C", "i", "j", "k"}}),
            Refusal::kNotAReduction);
  EXPECT_EQ(refusal("A: i32[4,4]; B: i32[4,4]; C[i,j] = sum(k) A[i,k] * B[k,j]",
                    {Strassen{"C", "i", "j", "k"}}),
            Refusal::kNotAReduction);
}

}  // namespace
}  // namespace lathe::schedule
