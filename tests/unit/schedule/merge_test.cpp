// Neighbouring dimensions that become one: what is computed stays the same, element by element.
#include <gtest/gtest.h>

#include "unit/schedule/same.h"

namespace lathe::schedule {
namespace {

constexpr std::string_view kPointwise =
    "X: f32[5,4,3]; const W: f32[6,5]\nY[o,y,x] = relu((sum(c) W[o,c] * X[c,y,x]) + 1.0)";

// The shapes of all buffers afterwards, as "X[5,12]".
std::string shapes(std::string_view text, const Trace& trace) {
  ir::Nest nest = nest_of(text);
  must_apply(nest, trace);
  expect_same(program(text), nest);
  std::string out;
  for (const ir::Buffer& buffer : nest.buffers) {
    out += buffer.name + "[";
    for (std::size_t d = 0; d < buffer.shape.size(); ++d)
      out += (d > 0 ? "," : "") + std::to_string(nest.sizes.constant_value(buffer.shape[d]));
    out += "]";
  }
  return out;
}

TEST(Merge, FollowsEveryAccess) {
  EXPECT_EQ(shapes(kPointwise, {Merge{{"Y_acc.y", "Y_acc.x"}}}), "X[5,12]W[6,5]Y_acc[6,12]Y[6,12]");
}

TEST(Merge, TakesSeveralLoops) {
  EXPECT_EQ(shapes("X: f32[2,3,4,5]\nY[a,b,c,d] = X[a,b,c,d] * 2.0",
                   {Merge{{"Y.a", "Y.b", "Y.c", "Y.d"}}}),
            "X[120]Y[120]");
  EXPECT_EQ(shapes("X: f32[2,3,4]; b: f32[2]\nY[i] = (sum(j,k) X[i,j,k]) + b[i]",
                   {Merge{{"Y_acc.j", "Y_acc.k"}}}),
            "X[2,12]b[2]Y_acc[2]Y[2]");
}

TEST(Merge, TakesOneTensorReadTwice) {
  EXPECT_EQ(shapes("A: f32[3,4]\nC[a,b,c,d] = A[a,b] * A[c,d]", {Merge{{"C.a", "C.b"}}}),
            "A[12]C[12,12]");
}

TEST(Merge, TakesTapsOfOne) {
  EXPECT_EQ(shapes("X: f32[5,4,3]; W: f32[6,5,1,1]\n"
                   "Y[o,y,x] = sum(c,r,s) X[c,y+r,x+s] * W[o,c,r,s]",
                   {Merge{{"Y.y", "Y.x"}}}),
            "X[5,12]W[6,5,1,1]Y[6,12]");
}

TEST(Merge, RefusesWhatIsNotOneAxis) {
  const auto refused = [](std::string_view text, Trace trace) {
    EXPECT_EQ(refusal(text, trace), Refusal::kNotOneAxis) << text;
  };
  // A neighbour is read.
  refused("X: f32[9,9]\nY[i:8,j:8] = X[i+1,j] + X[i,j]", {Merge{{"Y.i", "Y.j"}}});
  // Rows are not whole.
  refused("X: f32[9,9]\nY[i:9,j:8] = X[i,j]", {Merge{{"Y.i", "Y.j"}}});
  // Another order, one of them only, no neighbours, an iterator's value.
  refused("X: f32[4,5]\nY[i,j] = X[j,i]", {Merge{{"Y.i", "Y.j"}}});
  refused("X: f32[4,5]; b: f32[5]\nY[i,j] = X[i,j] + b[j]", {Merge{{"Y.i", "Y.j"}}});
  refused("X: f32[4,5,6]\nY[i,j,k] = X[i,j,k]", {Merge{{"Y.i", "Y.k"}}});
  refused("X: f32[4,5]\nY[i,j] = select(i < j, X[i,j], 0.0)", {Merge{{"Y.i", "Y.j"}}});
  // One tensor read both ways.
  refused("X: f32[4,4]\nY[i,j] = X[i,j] + X[j,i]", {Merge{{"Y.i", "Y.j"}}});
  refused("X: f32[4,4]\nY[i,j,k] = X[i,j] * X[j,k]", {Merge{{"Y.i", "Y.j"}}});
  // Loops that are split already, or the wrong way round.
  refused("X: f32[4,6]\nY[i,j] = X[i,j]",
          {Split{"Y.j", std::int64_t{2}, "o", "i"}, Merge{{"Y.i", "o"}}});
  // One iteration, of which no access speaks; loops of two kinds.
  refused("X: f32[1,3]\nY[o] = sum(r,k:5) X[r,o]", {Merge{{"Y.r", "Y.k"}}});
  refused("X: f32[3]\nY[o:1] = (sum(k:5) 2.0) + X[o]", {Merge{{"Y_acc.one", "Y_acc.k"}}});
  // A loop that moves a second iterator: rows of one tile, of whose number the row is made.
  refused(
      "X: f32[2,4,4,4]; const W: f32[1,4,2,4]\n"
      "Y[n,k,y:3,x:3] = sum(c,r,s) X[n,c,y+r,x+s-2 else 0] * W[k,c,r,s]",
      {CookToom{"Y", {"r", "s"}, {3, 2}}, Merge{{"Y.k", "Y.y.t"}}});
  refused("X: f32[4,6]\nY[i,j] = X[i,j]", {Merge{{"Y.j", "Y.i"}}});
}

TEST(Merge, NamesWhatIsWrong) {
  EXPECT_EQ(refusal(kPointwise, {Merge{{"Y.q", "Y.x"}}}), Refusal::kNoSuchLoop);
  EXPECT_EQ(refusal(kPointwise, {Merge{{"Y.x"}}}), Refusal::kTooFewLoops);
  EXPECT_EQ(refusal("X: f32[4,6]\nY[i,j] = X[i,j]", {Merge{{"Y.i", "Y.j"}}}, true),
            Refusal::kFreeBorder);
}

}  // namespace
}  // namespace lathe::schedule
