// Cook-Toom algorithms as steps: what they compute is what the first block computes.
#include <gtest/gtest.h>

#include "unit/schedule/same.h"

namespace lathe::schedule {
namespace {

constexpr std::string_view kConvolution =
    "X: f32[2,3,9,10]; const W: f32[4,3,3,3]\n"
    "Y[n,k,y:9,x:10] = sum(c,r,s) X[n,c,y+r-1,x+s-1 else 0] * W[k,c,r,s]";

// Transforms multiply rounding errors: of F(6, 3) by less than 100.
constexpr double kImageErrors = 100;

void expect_same_image(std::string_view text, const CookToom& step) {
  const te::Workload workload = program(text);
  ir::Nest nest = te::naive_nest(workload);
  must_apply(nest, {step});
  schedule::expect_same(workload, nest, kImageErrors);
}

TEST(CookToom, ComputesTheSame) {
  for (const std::int64_t m : {1, 2, 3, 4, 6})
    for (const std::int64_t n : {2, 4}) expect_same_image(kConvolution, {"Y", {"r", "s"}, {m, n}});
  expect_same_image(kConvolution, {"Y", {"s", "r"}, {2, 4}});
  expect_same_image(kConvolution, {"Y", {"s"}, {4}});
}

TEST(CookToom, TakesAnySumOverNeighbours) {
  expect_same_image("X: f32[20]; const W: f32[5]; Y[i] = sum(j) X[i+j] * W[j]", {"Y", {"j"}, {3}});
  expect_same_image("X: f32[20]; W: f32[5]; Y[i] = sum(j) W[j] * X[i+j]", {"Y", {"j"}, {2}});
  // Depthwise, a stride in the direction that is not transformed, and three taps of which one axis
  // is transformed.
  expect_same_image(
      "X: f32[3,9,9]; const W: f32[3,3,2]\n"
      "Y[c,y:4,x:8] = sum(r,s) X[c,2*y+r,x+s] * W[c,r,s]",
      {"Y", {"s"}, {4}});
  // A filter for each group, a stage before and one after.
  expect_same_image(
      "X: f32[2,4,7]; const W: f32[2,3,4,3]\n"
      "T[g,c,x] = max(X[g,c,x], 0.0)\n"
      "Y[g,k,x:7] = sum(c,s) T[g,c,x+s-1 else 0] * W[g,k,c,s]\n"
      "Z[g,k,x] = Y[g,k,x] + 1.0",
      {"Y", {"s"}, {4}});
  // In three dimensions.
  expect_same_image(
      "X: f32[4,5,6]; const W: f32[3,2,3]\n"
      "Y[z:4,y:4,x:6] = sum(q,r,s) X[z+q-1,y+r,x+s-1 else 0] * W[q,r,s]",
      {"Y", {"q", "r", "s"}, {2, 3, 4}});
}

// Residues with as many taps as the first, with one less, and fewer taps than the stride.
TEST(CookToom, TakesStrides) {
  for (const int stride : {2, 3, 4})
    for (const int taps : {1, 2, 3, 4, 5, 7}) {
      const std::string one = fmt::format(
          "X: f32[3,40]; const W: f32[3,2,{0}]\n"
          "Y[k,x:9] = sum(c,s) X[c,{1}*x+s-{2} else 0] * W[c,k,s]",
          taps, stride, std::min(1, taps - 1));
      for (const std::int64_t tile : {1, 2, 4}) expect_same_image(one, {"Y", {"s"}, {tile}});
    }
  for (const std::int64_t tile : {1, 2, 3, 4}) {
    const std::string two =
        "X: f32[2,3,11,14]; const W: f32[4,3,3,5]\n"
        "Y[n,k,y:5,x:6] = sum(c,r,s) X[n,c,2*y+r-1,2*x+s-1 else 0] * W[k,c,r,s]";
    expect_same_image(two, {"Y", {"r", "s"}, {tile, 2}});
    expect_same_image(two, {"Y", {"s", "r"}, {2, tile}});
    expect_same_image(two, {"Y", {"r"}, {tile}});
    // A stride along one axis.
    expect_same_image(
        "X: f32[3,11,14]; const W: f32[4,3,3,5]\n"
        "Y[k,y:9,x:6] = sum(c,r,s) X[c,y+r,2*x+s-1 else 0] * W[k,c,r,s]",
        {"Y", {"r", "s"}, {tile, 2}});
  }
}

// Strands of the results where the dilation has a factor that the stride has not; each with
// residues where the stride has one that the dilation has not.
TEST(CookToom, TakesDilations) {
  for (const int dilation : {2, 3, 4, 6})
    for (const int stride : {1, 2, 4})
      for (const int taps : {1, 2, 3, 4}) {
        const std::string one = fmt::format(
            "X: f32[3,40]; const W: f32[3,2,{0}]\n"
            "Y[k,x:9] = sum(c,s) X[c,{1}*x+{2}*s-{3} else 0] * W[c,k,s]",
            taps, stride, dilation, taps > 1 ? dilation : 0);
        for (const std::int64_t tile : {1, 2, 4}) expect_same_image(one, {"Y", {"s"}, {tile}});
      }
  const std::string two =
      "X: f32[2,3,11,13]; const W: f32[4,3,3,3]\n"
      "Y[n,k,y:11,x:7] = sum(c,r,s) X[n,c,y+2*r-2,2*x+3*s-3 else 0] * W[k,c,r,s]";
  for (const std::int64_t tile : {1, 2, 3, 4}) {
    expect_same_image(two, {"Y", {"r", "s"}, {tile, 2}});
    expect_same_image(two, {"Y", {"s", "r"}, {2, tile}});
    expect_same_image(two, {"Y", {"r"}, {tile}});
    expect_same_image(two, {"Y", {"s"}, {tile}});
  }
}

// A filter that is read backwards, and phases: other iterators that shift what is read.
TEST(CookToom, TakesBackwardFiltersAndPhases) {
  for (const char* read : {"x-s+3", "x-2*s+4", "2*x-3*s+7"})
    for (const std::int64_t tile : {1, 2, 4})
      expect_same_image(fmt::format("X: f32[3,30]; const W: f32[3,2,4]\n"
                                    "Y[k,x:9] = sum(c,s) X[c,{} else 0] * W[c,k,s]",
                                    read),
                        {"Y", {"s"}, {tile}});
  for (const char* shift : {"p", "2*p", "-3*p", "p-2*q"})
    for (const char* tap : {"r", "2*r", "-r"})
      for (const std::int64_t tile : {2, 3}) {
        const std::string image = fmt::format(
            "X: f32[2,20,12]; const W: f32[2,3,4,2,3]\n"
            "Y[k,y:5,p,x:11,q] = sum(c,r,s) X[c,y+{}+{}+5,x+s-1 else 0] * W[p,q,k,r,s]",
            shift, tap);
        expect_same_image(image, {"Y", {"r", "s"}, {tile, 4}});
        expect_same_image(image, {"Y", {"s", "r"}, {4, tile}});
        expect_same_image(image, {"Y", {"r"}, {tile}});
      }
}

TEST(CookToom, ConstantFiltersArePreparedOnce) {
  ir::Nest nest = nest_of(kConvolution);
  must_apply(nest, {CookToom{"Y", {"r", "s"}, {4, 4}}});
  for (const char* name : {"Y.filter", "Y.filter.1"})
    EXPECT_TRUE(nest.buffers[nest.find_buffer(name)].constant) << name;
  EXPECT_FALSE(nest.buffers[nest.find_buffer("Y.input.1")].constant);
}

TEST(CookToom, RefusesOtherSums) {
  EXPECT_EQ(refusal(kConvolution, {CookToom{"Z", {"r"}, {2}}}), Refusal::kNoSuchBlock);
  EXPECT_EQ(refusal(kConvolution, {CookToom{"Y", {}, {}}}), Refusal::kBadTile);
  EXPECT_EQ(refusal(kConvolution, {CookToom{"Y", {"r"}, {2, 2}}}), Refusal::kBadTile);
  EXPECT_EQ(refusal(kConvolution, {CookToom{"Y", {"r"}, {0}}}), Refusal::kBadTile);
  EXPECT_EQ(refusal(kConvolution, {CookToom{"Y", {"r"}, {12}}}), Refusal::kBadTile);
  EXPECT_EQ(refusal(kConvolution, {CookToom{"Y", {"c"}, {2}}}), Refusal::kNoNeighbours);
  EXPECT_EQ(refusal(kConvolution, {CookToom{"Y", {"r", "r"}, {2, 2}}}), Refusal::kNoNeighbours);
  EXPECT_EQ(refusal(kConvolution, {CookToom{"Y", {"q"}, {2}}}), Refusal::kNoSuchLoop);
  EXPECT_EQ(refusal(kConvolution, {Split{"Y.y", std::int64_t{2}, "a", "b", ir::Tail::kPeel},
                                   CookToom{"Y", {"r"}, {2}}}),
            Refusal::kNotAsWritten);
  for (const char* read : {"9-y-r", "y+r,y"})
    EXPECT_EQ(refusal(fmt::format("X: f32[{}]; const W: f32[3]; Y[y:3] = sum(r) X[{}] * W[r]",
                                  std::string_view(read).contains(',') ? "9,9" : "10", read),
                      {CookToom{"Y", {"r"}, {2}}}),
              Refusal::kNoNeighbours)
        << read;
  EXPECT_EQ(refusal("X: f32[9]; const W: f32[3]; Y[i:9] = sum(r) X[i+r-1 else 5] * W[r]",
                    {CookToom{"Y", {"r"}, {2}}}),
            Refusal::kNoNeighbours);
  // Two results beside the tap, and one that is summed over.
  EXPECT_EQ(refusal("X: f32[20]; const W: f32[3]; Y[y:3,z:4] = sum(r) X[y+z+r] * W[r]",
                    {CookToom{"Y", {"r"}, {2}}}),
            Refusal::kNoNeighbours);
  EXPECT_EQ(refusal("X: f32[20]; const W: f32[3,2]; Y[y:3] = sum(r,q) X[y+q+r] * W[r,q]",
                    {CookToom{"Y", {"r"}, {2}}}),
            Refusal::kNoNeighbours);
  EXPECT_EQ(refusal("X: f32[9]; Y[i] = max(r:3) X[i+r]", {CookToom{"Y", {"r"}, {2}}}),
            Refusal::kNotAReduction);
  EXPECT_EQ(
      refusal("X: i32[9]; W: i32[3]; Y[i] = sum(r) X[i+r] * W[r]", {CookToom{"Y", {"r"}, {2}}}),
      Refusal::kNotAReduction);
  EXPECT_EQ(refusal(kConvolution, {CookToom{"Y", {"r"}, {2}}, CookToom{"Y", {"s"}, {2}}}),
            Refusal::kNotAsWritten);
}

}  // namespace
}  // namespace lathe::schedule
