// Scans along the last axis: by elements or vectors, whole or in parts that threads share.
#include <algorithm>

#include <gtest/gtest.h>

#include "support/targets.h"
#include "unit/space/check_space.h"

namespace lathe::space {
namespace {

using test::avx2, test::avx512, test::sse;

// What the default has of a choice; empty: there is none.
std::string chosen(const std::string& text, const Target& target, const std::string& knob) {
  const auto space = derive_space(parsed(text), target, Flavour::kDefault);
  if (!space) throw std::runtime_error(space.error().text());
  const std::vector<Knob>& knobs = (*space)->knob_list();
  const auto found = std::ranges::find(knobs, knob, &Knob::name);
  if (found == knobs.end()) return "";
  return found->labels[(*space)->default_config()[static_cast<std::size_t>(found - knobs.begin())]];
}
std::string sums(std::int64_t rows, std::int64_t length) {
  return fmt::format("X: f32[{},{}]\nY[i,t] = Y[i,t-1 else 0] + X[i,t]", rows, length);
}

TEST(Scans, GoByVectorsWhereFewRowsWaitForEachOther) {
  for (const Target& target : {avx512(1), avx2(1), sse(1)})
    EXPECT_EQ(chosen(sums(1, 1000), target, "scan.along"), "vectors") << target.text();
  EXPECT_EQ(chosen(sums(4, 1000), avx512(1), "scan.along"), "vectors");
  EXPECT_EQ(chosen(sums(64, 1000), avx2(1), "scan.along"), "elements");
  EXPECT_EQ(chosen(sums(64, 1000), sse(1), "scan.along"), "elements");
}

TEST(Scans, AreInPartsWhereThreadsHaveNoRows) {
  EXPECT_EQ(chosen(sums(1, 1000000), avx512(1), "scan.parts"), "");
  EXPECT_EQ(chosen(sums(1, 1000000), avx512(2), "scan.parts"), "2");
  EXPECT_EQ(chosen(sums(1, 1000000), avx512(8), "scan.parts"), "8");
  EXPECT_EQ(chosen(sums(8, 1000000), avx512(8), "scan.parts"), "whole");
  EXPECT_EQ(chosen(sums(1, 9000), avx512(2), "scan.parts"), "whole");
  EXPECT_EQ(chosen(sums(1, 1000), avx512(2), "scan.parts"), "");
}

TEST(Scans, HaveNoChoiceWhereTheirOrderCounts) {
  for (const char* text : {"X: f16[1,900]\nY[i,t] = Y[i,t-1 else 0] + X[i,t]",
                           "X: f32[1,900]\nY[i,t] = Y[i,t-2 else 0] + X[i,t]",
                           "X: f32[1,900]\nY[i,t] = X[i,t] * Y[i,t-1 else 0] + X[i,t]",
                           "X: f32[1,900]\nY[i,t] = exp(Y[i,t-1 else 0]) + X[i,t]"})
    EXPECT_EQ(chosen(text, avx512(2), "scan.along"), "") << text;
}

TEST(Scans, ComputeTheSameByEveryChoice) {
  for (const char* text :
       {"X: f32[3,131]\nY[i,t] = Y[i,t-1 else 0] + X[i,t]",
        "X: i32[71]\nY[t] = max(Y[t-1 else -5], X[t])",
        "X: f32[2,67]\nY[i,t] = 0.9 * Y[i,t-1 else 0] + X[i,t]\nZ[i,t] = exp(Y[i,t])",
        "X: f32[40,33]\nY[i,t] = min(X[i,t], Y[i,t-1 else inf])",
        "X: f32[5,64]\nY[i,t:64] = sum(s:64) select(s <= t, X[i,s], 0)"})
    for (const Target& target : {avx512(1), avx2(2), sse(3)}) {
      const auto found = check_choices(parsed(text), target, "scan.along", 3, 1);
      EXPECT_EQ(found.size(), 2U) << text;
    }
}

TEST(Scans, ComputeTheSameInAllParts) {
  for (const char* text : {"X: f32[1,16411]\nY[i,t] = Y[i,t-1 else 1] + X[i,t]",
                           "X: f32[2,8192]\nY[i,t] = max(Y[i,t-1 else -inf], X[i,t])",
                           "X: i32[33000]\nY[t] = Y[t-1 else 0] + X[t] * X[t]"})
    for (const Target& target : {avx512(2), sse(3), avx2(8)}) {
      const auto found = check_choices(parsed(text), target, "scan.parts", 2, 1);
      EXPECT_GE(found.size(), 2U) << text;
    }
}

}  // namespace
}  // namespace lathe::space
