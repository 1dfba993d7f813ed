// Copies of what a block reads, by its iterators: what is computed stays the same.
#include <gtest/gtest.h>

#include "unit/schedule/same.h"

namespace lathe::schedule {
namespace {

// The shape of the copy that a step makes, and whether the program computes the same.
std::string copied(std::string_view text, const Reindex& step) {
  ir::Nest nest = nest_of(text);
  must_apply(nest, {step});
  expect_same(program(text), nest);
  std::string out;
  const ir::Buffer& copy = nest.buffers[static_cast<std::size_t>(nest.find_buffer(step.name))];
  for (const ir::SizeId size : copy.shape)
    out += (out.empty() ? "" : ",") + std::to_string(nest.sizes.constant_value(size));
  return out + (copy.constant ? " constant" : "");
}

TEST(Reindex, HasADimensionForEachIteratorOfTheRead) {
  // The weights of a transposed convolution by phases, of groups, and backwards.
  EXPECT_EQ(copied("X: f32[3,5]; const W: f32[3,2,4]\n"
                   "Y[o,x:5,q:2] = sum(c,s:2) X[c,x+q-s else 0] * W[c,o,2*s+1-q]",
                   {"W", "W.r", "Y"}),
            "2,2,3,2 constant");
  EXPECT_EQ(copied("X: f32[6,9]; const W: f32[4,3,2]\n"
                   "Y[g:2,o:2,x:8] = sum(c,s) X[3*g+c,x+s] * W[2*g+o,c,s]",
                   {"W", "W.r", "Y"}),
            "2,2,3,2 constant");
  EXPECT_EQ(
      copied("X: f32[9]; const W: f32[3]\nY[x:7] = sum(s) X[x+s] * W[2-s]", {"W", "W.r", "Y"}),
      "3 constant");
  // An image by its windows, with what lies beyond it; taps beyond a filter.
  EXPECT_EQ(copied("X: f32[2,7,8]; const W: f32[3,2,3,3]\n"
                   "Y[o,y:7,x:8] = sum(c,r,s) X[c,y+r-1,x+s-1 else 0] * W[o,c,r,s]",
                   {"X", "X.r", "Y"}),
            "7,8,2,3,3");
  EXPECT_EQ(copied("X: f32[7]; const W: f32[3]\nY[x:5] = sum(s:3) X[x+s] * W[2*s-1 else 0]",
                   {"W", "W.r", "Y"}),
            "3 constant");
  // A diagonal, a tensor that another stage computes, and one that two stages read.
  EXPECT_EQ(copied("A: f32[4,4]\nY[i] = A[i,i] + 1.0", {"A", "A.r", "Y"}), "4");
  EXPECT_EQ(
      copied("X: f32[5,3]\nT[i,j] = X[i,j] * 2.0\nY[i:4] = sum(j) T[i+1,j]", {"T", "T.r", "Y"}),
      "4,3");
  EXPECT_EQ(copied("X: f32[6]\nA[i:3] = X[2*i] + 1.0\nB[i:5] = X[i+1] + A[0]", {"X", "X.r", "B"}),
            "5");
}

TEST(Reindex, NamesWhatIsWrong) {
  constexpr std::string_view kSums =
      "X: f32[5,7]\nS[i] = sum(j) X[i,j]\nY[i,j:6] = X[i,j] + X[i,j+1] + S[0]";
  const auto refused = [&](Trace trace) { return refusal(kSums, trace); };
  EXPECT_EQ(refused({Reindex{"Z", "t", "Y"}}), Refusal::kNoSuchBuffer);
  EXPECT_EQ(refused({Reindex{"X", "S", "Y"}}), Refusal::kNameTaken);
  EXPECT_EQ(refused({Reindex{"X", "t", "Z"}}), Refusal::kNoSuchBlock);
  EXPECT_EQ(refused({Reindex{"S", "t", "S"}}), Refusal::kNotUsedThere);
  // Read at two places; at one element that no iterator moves.
  EXPECT_EQ(refused({Reindex{"X", "t", "Y"}}), Refusal::kMultipleConsumers);
  EXPECT_EQ(refused({Reindex{"S", "t", "Y"}}), Refusal::kNotElementwise);
  EXPECT_EQ(refusal("A: f32[1000]; Y[a:1000,b:1000,c:1000,d:1000,e:1] = sum(f:1000)"
                    " A[f+a+b+c+d else 0]",
                    {Reindex{"A", "t", "Y"}}),
            Refusal::kTooLarge);
}

}  // namespace
}  // namespace lathe::schedule
