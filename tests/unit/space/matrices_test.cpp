// Contractions whose operands are laid out as matrices: each such program computes the expression.
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "support/sanitized.h"
#include "support/targets.h"
#include "tuner/space/rules/matrices/matrices.h"
#include "tuner/space/rules/shared/axes.h"
#include "unit/space/check_space.h"

namespace lathe::space {
namespace {

using test::avx512, test::sse;

// The shapes of the tensors that the product reads and writes, as "A.t[6,35] B[35,8] C.t[6,8]"; ""
// where there is no such choice.
std::string product_of(const std::string& text) {
  const auto prepared = prepare_as_matrices(parsed(text), avx512(1).as_cpu());
  if (!prepared) return "";
  const te::Workload& view = prepared->view;
  const te::Stage& stage = view.stages[static_cast<std::size_t>(main_stage(view))];
  std::string out;
  const auto add = [&](int tensor) {
    const te::Tensor& t = view.tensors[static_cast<std::size_t>(tensor)];
    out += (out.empty() ? "" : " ") + fmt::format("{}[{}]", t.name, fmt::join(t.shape, ","));
  };
  for (const ir::Read* read : ir::reads_of(stage.body)) add(read->tensor);
  add(stage.tensor);
  return out;
}

TEST(Matrices, HaveTheAxesOfAClassSideBySide) {
  EXPECT_EQ(product_of("A: f32[2,5,3,7]; B: f32[4,7,6,5]\n"
                       "C[a,b,c,d] = sum(e,f) A[a,e,b,f] * B[d,f,c,e]"),
            "A.t[6,35] B.t[24,35] C[6,24]");
  // Both operands already lie so; the result does not.
  EXPECT_EQ(product_of("A: f32[2,3,5,7]; B: f32[5,7,4,6]\n"
                       "C[a,c,b,d] = sum(e,f) A[a,b,e,f] * B[e,f,c,d]"),
            "A[6,35] B[35,24] C.t[6,24]");
  // What follows reads the product itself.
  EXPECT_EQ(product_of("A: f32[2,3,5]; B: f32[5,4,6]; b: f32[6]\n"
                       "C[a,c,b,d] = relu((sum(e) A[a,b,e] * B[e,c,d]) + b[d])"),
            "A[6,5] B[5,24] C_acc.t[6,24]");
  // The batch stays outside.
  EXPECT_EQ(product_of("A: f32[9,2,5,3]; B: f32[5,4,9,6]\n"
                       "C[n,a,b,c,d] = sum(e) A[n,a,e,b] * B[e,c,n,d]"),
            "A.t[9,5,6] B.t[9,5,24] C[9,6,24]");
}

TEST(Matrices, AreNoChoiceWithoutSuchAxes) {
  EXPECT_EQ(product_of("A: f32[7,9]; B: f32[9,20]; C[i,j] = sum(k) A[i,k] * B[k,j]"), "");
  // These lie side by side already, and have become one.
  EXPECT_EQ(product_of("A: f32[2,3,5]; B: f32[5,4]; C[a,b,c] = sum(k) A[a,b,k] * B[k,c]"), "");
  // One tensor twice, neighbours, an axis of one operand alone, three operands.
  EXPECT_EQ(product_of("A: f32[3,4,3]; C[a,b,c,d] = sum(k) A[a,k,b] * A[c,k,d]"), "");
  EXPECT_EQ(product_of("X: f32[3,9,9]; W: f32[3,3,3,4]\n"
                       "Y[x,k,y] = sum(c,r,s) X[c,x+r,y+s] * W[c,r,s,k]"),
            "");
  EXPECT_EQ(product_of("A: f32[3,4,5]; B: f32[5,6]; C[a,c] = sum(b,k) A[a,b,k] * B[k,c]"), "");
  EXPECT_EQ(product_of("A: f32[3,4,5]; B: f32[5,6]; v: f32[4]\n"
                       "C[a,c,b] = sum(k) A[a,b,k] * B[k,c] * v[b]"),
            "");
}

TEST(Matrices, AreTheDefaultWhereVectorsWouldBePartlyEmpty) {
  const auto start = [](const std::string& text) {
    const auto space = derive_space(parsed(text), avx512(1), Flavour::kDefault);
    if (!space) throw std::runtime_error(space.error().text());
    const Json json = (*space)->to_json((*space)->default_config());
    return json.contains("operands") ? json["operands"].get<std::string>() : "";
  };
  const auto of = [](int n) {
    const std::string shape = fmt::format("f32[{0},{0},{0},{0}]", n);
    return "A: " + shape + "; B: " + shape + "\nC[a,b,c,d] = sum(e,f) A[a,e,b,f] * B[d,f,c,e]";
  };
  EXPECT_EQ(start(of(24)), "as matrices");
  EXPECT_EQ(start(of(10)), "as matrices");
  EXPECT_EQ(start(of(32)), "as they lie");
  // A short sum: copies would take longer than the product.
  EXPECT_EQ(start("A: f32[12,12,16,12]; B: f32[16,12,12,12]\n"
                  "C[a,b,c,d,e,f] = sum(g) A[d,e,g,a] * B[g,f,b,c]"),
            "as they lie");
}

struct MatrixCase {
  const char* name;
  const char* text;
};
const MatrixCase kMatrixCases[] = {
    {"all_apart",
     "A: f32[3,5,4,7]; B: f32[6,7,2,5]; C[a,b,c,d] = sum(e,f) A[a,e,b,f] * B[d,f,c,e]"},
    {"transposed",
     "A: f32[7,3,5,4]; B: f32[5,6,7,2]; C[d,a,c,b] = sum(e,f) A[f,a,e,b] * B[e,d,f,c]"},
    {"batch", "A: f32[3,2,5,3]; B: f32[5,4,3,6]; C[n,a,b,c,d] = sum(e) A[n,a,e,b] * B[e,c,n,d]"},
    {"constant",
     "A: f32[17,2,5,3]; const B: f32[5,4,6]; C[n,c,a,b,d] = sum(e) A[n,a,e,b] * B[e,c,d]"},
    {"long_sum", "A: f32[97,3,113]; B: f32[113,2,97]; C[b,a] = sum(e,f) A[e,a,f] * B[f,b,e]"},
    {"vector_of_short_axes", "A: f32[5,3,7]; B: f32[7,5]; C[a] = sum(e,f) A[e,a,f] * B[f,e]"},
    {"epilogue",
     "A: f32[4,3,5]; B: f32[5,2,6]; b: f32[6]; R: f32[4,2,3,6]\n"
     "C[a,c,b,d] = relu((sum(e) A[a,b,e] * B[e,c,d]) + b[d]) + R[a,c,b,d]"},
    {"halves", "A: f16[3,5,4,7]; B: f16[6,7,2,5]; C[a,b,c,d] = sum(e,f) A[a,e,b,f] * B[d,f,c,e]"},
    {"bytes",
     "A: i8[3,5,4,7]; B: i8[6,7,2,5]\n"
     "C[a,b,c,d] = sum(e,f) i32(A[a,e,b,f]) * i32(B[d,f,c,e])"},
    {"maximum",
     "A: f32[3,5,4,7]; B: f32[6,7,2,5]; C[a,b,c,d] = max(e,f) (A[a,e,b,f] + B[d,f,c,e])"},
    {"operand_of_a_sum",
     "X: f32[3,5,4,7,2]; B: f32[6,7,2,5]; A[a,e,b,f] = sum(x) X[a,e,b,f,x]\n"
     "C[a,b,c,d] = sum(e,f) A[a,e,b,f] * B[d,f,c,e]"},
    {"chain",
     "A: f32[3,5,4,7]; B: f32[6,7,2,5]; D: f32[4,6,5]\n"
     "C[a,b,c,d] = sum(e,f) A[a,e,b,f] * B[d,f,c,e]; Y[a,c,n] = sum(b,d) C[a,b,c,d] * D[b,d,n]"},
    {"result_read_twice",
     "A: f32[3,5,4,7]; B: f32[6,7,2,5]; C[b,c,a,d] = sum(e,f) A[a,e,b,f] * B[d,f,c,e]\n"
     "M[b] = max(c,a,d) C[b,c,a,d]; Y[b,c,a,d] = C[b,c,a,d] - M[b]"},
};

constexpr int kTried = test::kSanitized ? 2 : 6;

class AsMatrices : public ::testing::TestWithParam<MatrixCase> {};
TEST_P(AsMatrices, ComputeTheProgram) {
  for (const Target& target : {avx512(1), sse(1), avx512(2), avx512(7)})
    for (const Flavour flavour : kFlavours)
      EXPECT_EQ(check_matrices(parsed(GetParam().text), target, flavour, kTried, 1), kTried);
}
INSTANTIATE_TEST_SUITE_P(Matrices, AsMatrices, ::testing::ValuesIn(kMatrixCases),
                         [](const auto& info) { return info.param.name; });

// A sum over two tensors with axes of all classes in random order, and what may stand around it.
std::string random_contraction(Rng& rng) {
  std::vector<std::string> a, b, c, k;
  std::map<std::string, std::int64_t> extent;
  const auto add = [&](std::vector<std::vector<std::string>*> tensors) {
    const std::string name(1, static_cast<char>('a' + extent.size()));
    constexpr std::int64_t kExtents[] = {1, 2, 2, 3, 3, 4, 5, 6, 7, 9};
    extent[name] = kExtents[rng.below(std::size(kExtents))];
    for (auto* tensor : tensors) tensor->push_back(name);
  };
  for (auto n = rng.below(2); n > 0; --n) add({&a, &b, &c});
  for (auto n = rng.below(3) + 1; n > 0; --n) add({&a, &c});
  for (auto n = rng.below(3); n > 0; --n) add({&b, &c});
  for (auto n = rng.below(3) + 1; n > 0; --n) add({&a, &b, &k});
  for (auto* tensor : {&a, &b, &c}) shuffle(*tensor, rng);
  const auto shape = [&](const std::vector<std::string>& axes) {
    std::vector<std::int64_t> out;
    for (const std::string& axis : axes) out.push_back(extent[axis]);
    return fmt::format("f32[{}]", fmt::join(out, ","));
  };
  const std::string index = fmt::format("[{}]", fmt::join(c, ","));
  std::string text =
      fmt::format("A: {}; {}B: {}\n", shape(a), rng.chance(0.2) ? "const " : "", shape(b));
  std::string first = fmt::format("A[{}]", fmt::join(a, ","));
  if (rng.chance(0.2)) {
    text += fmt::format("T[{0}] = exp(A[{0}])\n", fmt::join(a, ","));
    first = fmt::format("T[{}]", fmt::join(a, ","));
  }
  text +=
      fmt::format("C{} = sum({}) {} * B[{}]\n", index, fmt::join(k, ","), first, fmt::join(b, ","));
  constexpr std::string_view kAfter[] = {"C{0} + 1.0", "relu(C{0}) * C{0}", "exp(C{0})"};
  return text +
         fmt::format("Y{} = {}", index, fmt::format(fmt::runtime(kAfter[rng.below(3)]), index));
}

TEST(Matrices, OfRandomContractionsComputeThem) {
  const std::uint64_t first = asked("LATHE_RANDOM_FIRST", 0),
                      rounds = asked("LATHE_RANDOM_ROUNDS", 120);
  std::uint64_t checked = 0;
  for (std::uint64_t seed = first; seed < first + rounds && !HasFailure(); ++seed) {
    Rng rng(seed);
    const Target target = seed % 4 == 0 ? sse(1) : avx512(seed % 4 == 1 ? 2 : 1);
    const Flavour flavour = seed % 5 == 0 ? Flavour::kWide : Flavour::kDefault;
    const te::Workload workload = parsed(random_contraction(rng));
    checked += check_matrices(workload, target, flavour, 3, seed) > 0 ? 1 : 0;
  }
  EXPECT_GT(checked, rounds / 3);
}

}  // namespace
}  // namespace lathe::space
