// Numerics, algorithms and ranges: what a contract allows, as text and as part of the key.
#include "compiler/te/contract.h"

#include <gtest/gtest.h>

#include "compiler/te/parse.h"

namespace lathe::te {
namespace {

const std::string kProduct = "A: f32[8,9]; B: f32[9,7]; C[i,j] = sum(k) A[i,k] * B[k,j]";

Workload made(const std::string& more) {
  const auto workload = parse_workload(kProduct + "; " + more);
  if (!workload) throw std::runtime_error(workload.error().text());
  return *workload;
}
std::string refusal(const std::string& text) {
  const auto workload = parse_workload(text);
  return workload ? "" : workload.error().text();
}

TEST(Contract, LevelIsLocalUnlessAnAlgorithmOrTheTextSaysOtherwise) {
  EXPECT_EQ(made("").contract.level(), Numerics::kLocal);
  EXPECT_EQ(made("numerics componentwise").contract.level(), Numerics::kComponentwise);
  EXPECT_EQ(made("algorithm direct").contract.level(), Numerics::kComponentwise);
  EXPECT_EQ(made("algorithm F4x4").contract.level(), Numerics::kLocal);
  EXPECT_EQ(made("algorithm strassen").contract.level(), Numerics::kNormwise);
  // A named algorithm keeps to what it needs.
  EXPECT_EQ(made("numerics normwise; algorithm direct").contract.level(), Numerics::kComponentwise);
}

TEST(Contract, KeysHaveTheLevelWhereItIsNotTheUsualOne) {
  const std::string plain = workload_key(made(""));
  EXPECT_FALSE(plain.contains("numerics"));
  EXPECT_EQ(workload_key(made("numerics local")), plain);
  EXPECT_EQ(workload_key(made("numerics normwise")), plain + "; numerics normwise");
  EXPECT_EQ(workload_key(made("numerics normwise; algorithm strassen")),
            workload_key(made("algorithm strassen")));
  for (const char* more : {"numerics componentwise", "numerics normwise", "algorithm direct"}) {
    const Workload workload = made(more);
    EXPECT_TRUE(equal(*parse_workload(print_workload(workload)), workload)) << more;
    EXPECT_EQ(parse_workload(workload_key(workload))->contract.level(), workload.contract.level());
    EXPECT_FALSE(equal(workload, made(""))) << more;
  }
}

TEST(Contract, RefusesAlgorithmsThatNeedMore) {
  EXPECT_EQ(refusal(kProduct + "; numerics local; algorithm strassen"),
            "algorithm strassen is normwise, and numerics local does not allow it; name another "
            "algorithm, or numerics normwise");
  EXPECT_NE(refusal(kProduct + "; numerics componentwise; algorithm F4"), "");
  EXPECT_TRUE(refusal(kProduct + "; numerics exact")
                  .ends_with("'exact' is no level of numerics; name componentwise, local or "
                             "normwise"));
}

TEST(Range, IsPartOfTheTextAndTheKey) {
  const auto ranged = parse_workload("X: f32[4] in 0..1; Y[i] = exp(X[i])");
  ASSERT_TRUE(ranged) << ranged.error().text();
  EXPECT_EQ(ranged->tensors[0].range, (InputRange{0, 1}));
  EXPECT_TRUE(workload_key(*ranged).starts_with("A: f32[4] in 0..1; "));
  EXPECT_TRUE(equal(*parse_workload(print_workload(*ranged)), *ranged));
  EXPECT_FALSE(equal(*parse_workload("X: f32[4]; Y[i] = exp(X[i])"), *ranged));
  const auto odd = parse_workload(
      "X: f32[2,3] as [6] in -1.5e-3..0.1; const W: i8[3] in -7..7; Y[i,j] = X[i,j] * f32(W[j])");
  ASSERT_TRUE(odd) << odd.error().text();
  EXPECT_EQ(odd->tensors[0].range->high, static_cast<double>(0.1F)) << "rounded to its type";
  EXPECT_EQ(odd->tensors[1].range, (InputRange{-7, 7}));
  EXPECT_TRUE(equal(*parse_workload(print_workload(*odd)), *odd));
}

TEST(Range, IsRefusedWhereItIsNone) {
  for (const char* text :
       {"X: f32[4] in 1..0; Y[i] = X[i]", "X: f32[4] in 0..inf; Y[i] = X[i]",
        "X: f32[4] in 0; Y[i] = X[i]", "X: f32[4] in ..1; Y[i] = X[i]",
        "X: f32[4] in 0..1..2; Y[i] = X[i]", "X: i8[4] in 0..300; Y[i] = X[i]",
        "X: i8[4] in 0..1.5; Y[i] = X[i]", "numerics local; numerics local; X: f32[4]; Y[i] = X[i]",
        "X: bool[4] in 0..1; Y[i] = X[i]", "X: f32[4]; Y: f32[4] in 0..1; Y[i] = X[i]",
        "X: f32[2] in 0..1 = {0, 1}; Y[i] = X[i]"})
    EXPECT_NE(refusal(text), "") << text;
  EXPECT_TRUE(parse_range("0..1", Dtype::kF32));
  EXPECT_FALSE(parse_range("0..1 2", Dtype::kF32));
}

}  // namespace
}  // namespace lathe::te
