// Factors of a sum that are multiplied and summed up first: what is computed stays the same.
#include <gtest/gtest.h>

#include "unit/schedule/same.h"

namespace lathe::schedule {
namespace {

// The loops of the new block and those of the block.
std::string loops(std::string_view text, const Trace& steps, double errors = 4) {
  ir::Nest nest = nest_of(text);
  must_apply(nest, steps);
  expect_same(program(text), nest, errors);
  std::string out;
  for (const ir::BlockId id : nest.blocks_in_order()) {
    const ir::Block& block = nest.blocks[static_cast<std::size_t>(id)];
    out += (out.empty() ? "" : "; ") + block.name + ":";
    for (const ir::BlockIter& iter : block.iters)
      out += " " + iter.name + (iter.kind == ir::IterKind::kReduce ? "+" : "");
  }
  return out;
}

TEST(Contract, SumsUpFirstWhatOneFactorAloneHas) {
  EXPECT_EQ(loops("A: f32[5,7]; B: f32[5,3]\nY[one:1] = sum(a,b,c) A[a,b] * B[a,c]",
                  {Contract{"Y", {0}, "S"}}),
            "S: a b+; Y: one a+ c+");
  EXPECT_EQ(loops("A: f32[5,7]; B: f32[5,3]\nY[one:1] = sum(a,b,c) A[a,b] * B[a,c]",
                  {Contract{"Y", {0}, "S"}, Contract{"Y", {1}, "T"}}),
            "S: a b+; T: a c+; Y: one a+");
}

TEST(Contract, MakesProductsOfTwoAfterTheOther) {
  const std::string three =
      "A: f32[4,5]; B: f32[5,6]; C: f32[6,3]\nY[i,l] = sum(j,k) A[i,j] * B[j,k] * C[k,l]";
  EXPECT_EQ(loops(three, {Contract{"Y", {0, 1}, "S"}}), "S: i k j+; Y: i l k+");
  EXPECT_EQ(loops(three, {Contract{"Y", {2, 1}, "S"}}), "S: j l k+; Y: i l j+");
  EXPECT_EQ(loops(three, {Contract{"Y", {0, 2}, "S"}}), "S: i j k l; Y: i l j+ k+");
}

TEST(Contract, TakesOutWhatTheSumDoesNotChange) {
  EXPECT_EQ(
      loops("A: f32[4,5]; s: f32[4]\nY[i] = sum(j) s[i] * A[i,j] * 0.3", {Contract{"Y", {1}, "S"}}),
      "S: i j+; Y: i");
  // A number alone: the part has one element.
  EXPECT_EQ(loops("A: f32[5]; s: f32[4]\nY[i] = sum(j) s[i] * A[j]", {Contract{"Y", {1}, "S"}}),
            "S: one j+; Y: i");
}

TEST(Contract, TakesFactorsOfAbsoluteValuesAndWindows) {
  EXPECT_EQ(loops("A: f32[4,5]; B: f32[5,3]\nY[i,k] = sum(j) abs(A[i,j] * B[j,k] * A[i,j])",
                  {Contract{"Y", {0, 2}, "S"}}),
            "S: i j; Y: i k j+");
  EXPECT_EQ(loops("X: f32[3,9]; D: f32[3,4]; P: f32[5,3]\n"
                  "Y[o,x:9] = sum(c,s) X[c,x+s-2 else 0] * D[c,s] * P[o,c]",
                  {Contract{"Y", {0, 1}, "S"}}),
            "S: c x s+; Y: o x c+");
  EXPECT_EQ(loops("A: u8[4,5]; B: i8[5,6]; C: i8[6,3]\n"
                  "Y[i,l] = sum(j,k) A[i,j] * B[j,k] * C[k,l]",
                  {Contract{"Y", {1, 2}, "S"}}, 1),
            "S: j l k+; Y: i l j+");
}

TEST(Contract, IsRefused) {
  const std::string two = "A: f32[4,5]; B: f32[5,3]\nY[i,j] = sum(k) A[i,k] * B[k,j]";
  EXPECT_EQ(refusal(two, {Contract{"Y", {0}, "S"}}), Refusal::kNotElementwise);
  EXPECT_EQ(refusal(two, {Contract{"Y", {0, 1}, "S"}}), Refusal::kBadNumber);
  EXPECT_EQ(refusal(two, {Contract{"Y", {}, "S"}}), Refusal::kBadNumber);
  EXPECT_EQ(refusal(two, {Contract{"Y", {2}, "S"}}), Refusal::kBadNumber);
  EXPECT_EQ(refusal(two, {Contract{"Y", {0, 0}, "S"}}), Refusal::kNamedTwice);
  EXPECT_EQ(refusal(two, {Contract{"Y", {0}, "A"}}), Refusal::kNameTaken);
  EXPECT_EQ(refusal(two, {Split{"Y.i", 2, "a", "b"}, Contract{"Y", {0}, "S"}}),
            Refusal::kNotAsWritten);
  EXPECT_EQ(refusal("A: f32[4,5]\nY[i] = max(j) A[i,j] * 2.0", {Contract{"Y", {0}, "S"}}),
            Refusal::kNotAReduction);
}

}  // namespace
}  // namespace lathe::schedule
