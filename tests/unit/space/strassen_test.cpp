// Products by Strassen's algorithm: each such program computes the expression.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "compiler/te/parse.h"
#include "support/targets.h"
#include "unit/space/check_space.h"

namespace lathe::space {
namespace {

using test::avx512, test::sse;

te::Workload strassen_workload(const std::string& text) {
  auto workload = te::parse_workload(text);
  if (!workload) throw std::runtime_error(workload.error().text() + "\n" + text);
  return *workload;
}

struct StrassenCase {
  const char* name;
  const char* text;
};
const StrassenCase kStrassenCases[] = {
    {"plain", "A: f32[37,41]; B: f32[41,67]; C[i,j] = sum(k) A[i,k] * B[k,j]"},
    {"powers", "A: f32[32,64]; B: f32[64,32]; C[i,j] = sum(k) A[i,k] * B[k,j]"},
    {"constant_right", "A: f32[33,48]; const B: f32[48,35]; C[i,j] = sum(k) A[i,k] * B[k,j]"},
    {"constant_left", "const A: f32[33,48]; B: f32[48,35]; C[i,j] = sum(k) A[i,k] * B[k,j]"},
    {"left_transposed", "A: f32[41,37]; B: f32[41,67]; C[i,j] = sum(k) A[k,i] * B[k,j]"},
    {"right_transposed", "A: f32[37,41]; B: f32[67,41]; C[i,j] = sum(k) A[i,k] * B[j,k]"},
    {"constant_right_transposed",
     "A: f32[37,41]; const B: f32[67,41]; C[i,j] = sum(k) A[i,k] * B[j,k]"},
    {"both_transposed", "A: f32[41,37]; B: f32[67,41]; C[i,j] = sum(k) A[k,i] * B[j,k]"},
    {"one_tensor_twice", "A: f32[41,37]; C[i,j] = sum(k) A[k,i] * A[k,j]"},
    {"batch", "A: f32[3,33,35]; B: f32[3,35,38]; C[b,i,j] = sum(k) A[b,i,k] * B[b,k,j]"},
    {"batch_of_one", "A: f32[33,2,35]; B: f32[35,38]; C[b,i,j] = sum(k) A[i,b,k] * B[k,j]"},
    {"batch_inside", "A: f32[33,35,2]; B: f32[2,38,35]; C[b,i,j] = sum(k) A[i,k,b] * B[b,j,k]"},
    {"pixels", "X: f32[2,40,6,7]; const W: f32[36,40]; Y[n,o,y,x] = sum(c) W[o,c] * X[n,c,y,x]"},
    {"consumer",
     "A: f32[37,41]; B: f32[41,45]; b: f32[45]\n"
     "C[i,j] = relu((sum(k) A[i,k] * B[k,j]) + b[j])"},
    {"producer",
     "A: f32[37,41]; B: f32[41,45]; T[i,k] = exp(A[i,k]); C[i,j] = sum(k) T[i,k] * B[k,j]"},
    {"doubles", "A: f64[37,41]; B: f64[41,45]; C[i,j] = sum(k) A[i,k] * B[k,j]"},
    {"free_layouts", "layout free; A: f32[37,41]; B: f32[41,67]; C[i,j] = sum(k) A[i,k] * B[k,j]"},
    {"free_layouts_constant",
     "layout free; A: f32[37,41]; const B: f32[67,41]; C[i,j] = sum(k) A[i,k] * B[j,k]"},
};

class ByStrassen : public ::testing::TestWithParam<StrassenCase> {};
TEST_P(ByStrassen, ComputeTheProgram) {
  const te::Workload workload =
      strassen_workload(std::string("algorithm strassen; ") + GetParam().text);
  for (const Target& target : {avx512(1), sse(1), avx512(3)})
    check_space(workload, target, Flavour::kDefault, 5, 1);
}
INSTANTIATE_TEST_SUITE_P(Strassen, ByStrassen, ::testing::ValuesIn(kStrassenCases),
                         [](const auto& info) { return info.param.name; });

// Products of random sizes and orders of axes.
TEST(Strassen, OfRandomProductsComputeThem) {
  const std::uint64_t first = asked("LATHE_RANDOM_FIRST", 0),
                      rounds = asked("LATHE_RANDOM_ROUNDS", 20);
  for (std::uint64_t seed = first; seed < first + rounds && !HasFailure(); ++seed) {
    Rng rng(seed);
    std::map<char, std::uint64_t> extent = {{'b', 1 + rng.below(3)}};
    for (const char axis : {'i', 'j', 'k'}) extent[axis] = 32 + rng.below(20);
    const auto tensor = [&](std::string axes) {
      std::vector<char> order(axes.begin(), axes.end());
      if (rng.chance(0.5)) shuffle(order, rng);
      std::vector<std::uint64_t> sizes;
      for (const char axis : order) sizes.push_back(extent[axis]);
      return std::pair(fmt::format("f32[{}]", fmt::join(sizes, ",")),
                       fmt::format("[{}]", fmt::join(order, ",")));
    };
    const bool batch = rng.chance(0.4);
    const auto [a, a_index] = tensor(batch ? "bik" : "ik");
    const auto [b, b_index] = tensor(batch && rng.chance(0.5) ? "bkj" : "kj");
    const std::string text =
        fmt::format("algorithm strassen; {}A: {}; {}B: {}; C[{}] = sum(k) A{} * B{}",
                    rng.chance(0.2) ? "const " : "", a, rng.chance(0.3) ? "const " : "", b,
                    batch ? "b,i,j" : "i,j", a_index, b_index);
    const Target target = seed % 4 == 0 ? sse(1) : avx512(seed % 4 == 1 ? 2 : 1);
    check_space(strassen_workload(text), target, Flavour::kDefault, 3, seed);
  }
}

std::vector<std::string> offered(const std::string& level, const std::string& text,
                                 Flavour flavour) {
  const auto space = derive_space(strassen_workload(level + text), avx512(1), flavour);
  if (!space) throw std::runtime_error(space.error().text());
  const auto& knobs = (*space)->knob_list();
  const auto found = std::ranges::find(knobs, "algorithm", &Knob::name);
  return found == knobs.end() ? std::vector<std::string>{} : found->labels;
}

std::vector<std::string> algorithms_of(const std::string& text, Flavour flavour) {
  return offered("numerics normwise; ", text, flavour);
}

std::string product_of_size(int m, int n, int k) {
  return fmt::format("A: f32[{},{}]; B: f32[{},{}]; C[i,j] = sum(k) A[i,k] * B[k,j]", m, k, k, n);
}

TEST(Strassen, IsOfferedForLargeProducts) {
  using Labels = std::vector<std::string>;
  const Labels both = {"direct", "strassen"};
  // Only where roundings may spread over whole matrices.
  EXPECT_EQ(offered("", product_of_size(512, 700, 513), Flavour::kWide), Labels{});
  EXPECT_EQ(offered("numerics local; ", product_of_size(512, 700, 513), Flavour::kWide), Labels{});
  EXPECT_EQ(algorithms_of(product_of_size(512, 700, 513), Flavour::kDefault), both);
  EXPECT_EQ(algorithms_of(product_of_size(512, 700, 511), Flavour::kDefault), Labels{});
  EXPECT_EQ(algorithms_of(product_of_size(130, 128, 150), Flavour::kWide), both);
  EXPECT_EQ(algorithms_of(product_of_size(127, 128, 150), Flavour::kWide), Labels{});
  EXPECT_EQ(algorithms_of("algorithm direct; " + product_of_size(512, 700, 513), Flavour::kWide),
            Labels{});
  EXPECT_EQ(algorithms_of("max_error 1e-6; " + product_of_size(512, 700, 513), Flavour::kWide),
            Labels{});
  // Sums that are no such products: of integers, of halves, of three factors, of row by row.
  for (const char* text :
       {"A: i32[128,128]; B: i32[128,128]; C[i,j] = sum(k) A[i,k] * B[k,j]",
        "A: f16[128,128]; B: f16[128,128]; C[i,j] = sum(k) A[i,k] * B[k,j]",
        "A: f32[128,128]; B: f32[128,128]; D: f32[128,128,128]\n"
        "C[i,j] = sum(k) A[i,k] * B[k,j] * D[i,j,k]",
        "A: f32[128,128,128]; B: f32[128,128]; C[i,j] = sum(k) A[i,j,k] * B[j,k]",
        "A: f32[128,128]; C[i,j] = sum(k:128) (A[i,k] + A[k,j])",
        "A: f32[128,128]; B: f32[128,128]; T[i,j] = sum(k) A[i,k] * B[k,j]\n"
        "C[i,j] = sum(k) T[i,k] * B[k,j]"})
    EXPECT_EQ(algorithms_of(text, Flavour::kWide), Labels{}) << text;
}

TEST(Strassen, IsRefusedWhereItIsNot) {
  const auto refused = [](const std::string& text) {
    const auto space = derive_space(strassen_workload("algorithm strassen; " + text), avx512(1),
                                    Flavour::kDefault);
    return space ? std::string() : space.error().text();
  };
  EXPECT_EQ(refused(product_of_size(40, 40, 40)), "");
  EXPECT_EQ(refused(product_of_size(40, 40, 31)),
            "algorithm: this workload has no strassen on this target; it is for products of two "
            "matrices of f32 or f64 with at least 32 rows, columns and terms");
  EXPECT_EQ(refused("max_error 1e-7; " + product_of_size(40, 40, 40)),
            "algorithm: strassen rounds too much for a largest error of 1e-07; allow more with "
            "--max-error, or name direct");
  EXPECT_EQ(refused("max_error 1e-3; " + product_of_size(40, 40, 20'000)),
            "algorithm: strassen would add up 10000 terms one after the other, and no sum has more "
            "than 8192; name direct");
}

}  // namespace
}  // namespace lathe::space
