#include "compiler/te/saturation.h"

#include <gtest/gtest.h>

#include "compiler/te/parse.h"

namespace lathe::te {
namespace {

bool saturated(const std::string& text, Saturated what = Saturated::kAnything) {
  const auto workload =
      parse_workload((text.contains("X") ? "X: f32[6,5]; " : "") +
                     std::string(text.contains("I") ? "I: i32[6,5]; " : "") + text);
  if (!workload) throw std::runtime_error(workload.error().text());
  return saturates(*workload, what);
}

TEST(Saturation, IsOfFunctionsThatBoundWhatTheyGet) {
  EXPECT_TRUE(saturated("Y[i,j] = tanh(X[i,j])"));
  EXPECT_TRUE(saturated("Y[i,j] = 3.0 - 2.0 * sigmoid(X[i,j])"));
  EXPECT_TRUE(saturated("Y[i,j] = min(max(X[i,j], 0.0), 6.0)"));
  EXPECT_TRUE(saturated("Y[i,j] = exp(-abs(X[i,j]))"));
  EXPECT_TRUE(saturated("S[i] = sum(j) X[i,j]; Y[i] = max(min(S[i], 1.0), -1.0)"));
  // In two stages, or a maximum in between.
  EXPECT_TRUE(saturated("P[i,j] = max(X[i,j], 0.0); Y[i,j] = min(P[i,j], 6.0)"));
  EXPECT_TRUE(saturated("P[i] = max(j) max(X[i,j], 0.0); Y[i] = min(P[i], 6.0)"));
}

// What is said of an expression does not depend on how it is cut into stages.
TEST(Saturation, StagesInBetweenCountWithTheirReaders) {
  for (const char* text :
       {"P[i,j] = sigmoid(X[i,j]); Y[i,j] = X[i,j] * P[i,j]",
        "B[i,j] = X[i,j] + 1.0; P[i,j] = sigmoid(B[i,j]); Y[i,j] = B[i,j] * P[i,j]",
        "E[i,j] = erf(X[i,j]); P[i,j] = E[i,j] + 1.0; Y[i,j] = 0.5 * X[i,j] * P[i,j]",
        "P[i,j] = min(max(X[i,j] + 3.0, 0.0), 6.0); Y[i,j] = X[i,j] * P[i,j] * 0.125",
        "P[i,j] = tanh(X[i,j]); Y[i,j] = X[i,j] + P[i,j]"})
    EXPECT_FALSE(saturated(text)) << text;
  for (const char* text :
       {"P[i,j] = sigmoid(X[i,j]); Y[i,j] = 2.0 * P[i,j]",
        "P[i,j] = sigmoid(X[i,j]); Q[i,j] = tanh(X[i,j]); Y[i,j] = P[i,j] * Q[i,j]",
        "P[i,j] = tanh(X[i,j]); Q[i,j] = P[i,j] + 1.0; Y[i,j] = Q[i,j] * Q[i,j]",
        "P[i,j] = tanh(X[i,j]); Q[i,j] = X[i,j] + P[i,j]; Y[i,j] = sigmoid(Q[i,j])",
        "P[i,j] = tanh(X[i,j]); Y[i] = sum(j) X[i,j] * P[i,j]",
        "P[i,j] = tanh(X[i,j]); Y[i] = sum(j) P[i,j]", "Y[i] = max(j) tanh(X[i,j])"})
    EXPECT_TRUE(saturated(text)) << text;
}

TEST(Saturation, WhatBoundsInputsHidesNoErrorOfASum) {
  for (const char* text :
       {"Z[i,j] = tanh(X[i,j]); Y[i,k:6] = sum(j) Z[i,j] * X[k,j]", "Y[i,j] = tanh(X[i,j])",
        "P[i,j] = tanh(X[i,j]); Y[i] = sum(j) P[i,j]", "Y[i] = sum(j) sigmoid(X[i,j])",
        "P[i,j] = min(max(X[i,j], 0.0), 6.0); S[i] = sum(j) P[i,j] * X[i,j]; Y[i] = S[i] + P[i,0]"})
    EXPECT_FALSE(saturated(text, Saturated::kSums)) << text;
  for (const char* text :
       {"S[i] = sum(j) X[i,j]; Y[i] = tanh(S[i])",
        "S[i] = sum(j) X[i,j]; P[i] = S[i] + 1.0; Y[i] = max(min(P[i], 1.0), -1.0)",
        "S[i] = sum(j) X[i,j]; P[i] = tanh(S[i]); Y[i] = sum(j) P[i] * X[i,j]",
        "S[i] = sum(j) X[i,j]; Y[o:1] = sum(i) sigmoid(S[i])"})
    EXPECT_TRUE(saturated(text, Saturated::kSums)) << text;
}

TEST(Saturation, IsNotOfWhatGrowsWithItsOperand) {
  for (const char* text :
       {"Y[i,j] = max(X[i,j], 0.0)", "Y[i,j] = min(X[i,j], 6.0)",
        "Y[i,j] = X[i,j] * sigmoid(X[i,j])", "Y[i,j] = exp(X[i,j])",
        "Y[i] = sum(j) X[i,j] * tanh(X[i,j])", "Y[i,j] = 1.0 / X[i,j]", "Y[i,j] = sqrt(X[i,j])",
        "Y[i,j] = min(I[i,j], 3)", "Y[i:3] = f32(i)", "Y[i,j] = max(min(I[i,j], 3), 0)"})
    EXPECT_FALSE(saturated(text)) << text;
}

}  // namespace
}  // namespace lathe::te
