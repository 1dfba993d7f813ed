// Operations that have to be done, counted one by one.
#include "compiler/te/work.h"

#include <gtest/gtest.h>

#include "compiler/ir/expr/padding.h"
#include "compiler/te/parse.h"
#include "support/random_workload.h"

namespace lathe::te {
namespace {

double done(const std::string& text) {
  const auto workload = parse_workload(text);
  EXPECT_TRUE(workload) << text << ": " << workload.error().text();
  return done_flops(*workload);
}
double counted(const std::string& text) { return flops(*parse_workload(text)); }

TEST(DoneFlops, AreAllWhereNothingIsPadded) {
  for (const char* text : {"A: f32[7,5]; B: f32[7,3]; C[i,j] = sum(k) A[k,i] * B[k,j]",
                           "X: f32[9]; Y[i] = relu(X[i] * 2)",
                           "X: f32[4,19]; S[i] = max(k) X[i,k]; Y[i,j] = exp(X[i,j] - S[i])"})
    EXPECT_EQ(done(text), counted(text)) << text;
}

// 7 taps of each of the 3 rows and columns are named, 3 are inside.
TEST(DoneFlops, LeaveOutTheProductsOfPadding) {
  const std::string conv =
      "X: f32[1,2,3,3]; W: f32[5,2,7,7]; Y[n,o,y:3,x:3] = sum(c,r,s) X[n,c,y+r-3,x+s-3 else 0] * "
      "W[o,c,r,s]";
  EXPECT_DOUBLE_EQ(counted(conv), 2.0 * 5 * 9 * 2 * 49);
  EXPECT_DOUBLE_EQ(done(conv), 2.0 * 5 * 2 * (3 * 3) * (3 * 3));
  // Corners, edges and the middle of a usual one, and a stride.
  const std::string c =
      "X: f32[1,1,7,7]; W: f32[1,1,3,3]; Y[n,o,y:7,x:7] = sum(c,r,s) X[n,c,y+r-1,x+s-1 else 0] * "
      "W[o,c,r,s]";
  EXPECT_DOUBLE_EQ(done(c), 2.0 * (3 * 7 - 2) * (3 * 7 - 2));
  const std::string s = "X: f32[9]; W: f32[3]; Y[x:5] = sum(s) X[2*x+s-1 else 0] * W[s]";
  EXPECT_DOUBLE_EQ(done(s), 2.0 * (5 * 3 - 2));
}

TEST(DoneFlops, CountPaddingThatMatters) {
  const std::string ones = "X: f32[9]; W: f32[3]; Y[x:9] = sum(s) X[x+s-1 else 1] * W[s]";
  EXPECT_EQ(done(ones), counted(ones)) << "it is no zero";
  const std::string sum = "X: f32[9]; W: f32[3]; Y[x:9] = sum(s) (X[x+s-1 else 0] + W[s])";
  EXPECT_EQ(done(sum), counted(sum)) << "it is no factor";
  const std::string plain = "X: f32[9]; Y[x:11] = X[x-1 else 0] * 2";
  EXPECT_EQ(done(plain), counted(plain)) << "an element is written whatever it is";
}

TEST(DoneFlops, OfAMaximumPaddedWithItsIdentity) {
  const std::string pool = "X: f32[9]; Y[x:9] = max(s:3) X[x+s-1 else -inf]";
  const double all = counted(pool), inside = done(pool);
  EXPECT_TRUE(inside == all || inside == all * (9 * 3 - 2) / (9 * 3)) << inside << " of " << all;
}

TEST(DoneFlops, AllIsPadding) {
  EXPECT_EQ(done("X: f32[9]; W: f32[3]; Y[x:9] = sum(s) X[x+s+20 else 0] * W[s]"), 0);
}

// Iteration by iteration.
double brute_force(const Workload& workload) {
  double total = 0;
  for (const Stage& stage : workload.stages) {
    Workload alone;
    alone.stages = {stage};
    std::int64_t all = 1, inside = 0;
    for (const Iterator& iter : stage.iters) all *= iter.extent;
    for (std::int64_t n = 0; n < all; ++n) {
      std::vector<std::int64_t> at;
      std::int64_t rest = n;
      for (const Iterator& iter : stage.iters)
        at.push_back(rest % iter.extent), rest /= iter.extent;
      bool killed = false;
      for (const ir::Read* read : ir::reads_of(stage.body)) {
        if (!read->pad || !ir::pad_kills(stage.reduce, stage.body, read)) continue;
        for (std::size_t d = 0; d < read->index.size(); ++d) {
          std::int64_t index = read->index[d].offset;
          for (const auto& term : read->index[d].terms)
            index += term.coef * at[static_cast<std::size_t>(term.iter)];
          killed |= index < 0 ||
                    index >= workload.tensors[static_cast<std::size_t>(read->tensor)].shape[d];
        }
      }
      inside += !killed;
    }
    total += flops(alone) * static_cast<double>(inside) / static_cast<double>(all);
  }
  return total;
}

TEST(DoneFlops, OfRandomWorkloadsAreThoseCountedOneByOne) {
  Rng rng(7);
  int padded = 0;
  for (int i = 0; i < 300; ++i) {
    const Workload workload = random_workload(rng);
    const double want = brute_force(workload);
    EXPECT_NEAR(done_flops(workload), want, 1e-9 * want) << print_workload(workload);
    padded += want < flops(workload);
  }
  EXPECT_GT(padded, 10) << "too few of them were padded";
}

}  // namespace
}  // namespace lathe::te
