// Along which axis lanes lie, where that is no matter of course.
#include <gtest/gtest.h>

#include "support/targets.h"
#include "unit/space/check_space.h"
#include "unit/space/derived.h"

namespace lathe::space {
namespace {

using test::avx512;

std::string default_steps(const std::string& text) {
  const auto space = space_of(text);
  return schedule::print(space->trace(space->default_config()));
}

bool has_lanes_along(const std::string& text, const std::string& loop) {
  return default_steps(text).find("vectorize C." + loop + ".") != std::string::npos;
}

// No axis is read and stored in vectors: lanes along one that both operands have are read as they
// lie, and the result is scattered. A short result along the last axis changes nothing.
TEST(Lanes, LieAlongAnAxisOfBothOperandsWhereNoOtherIsReadInVectors) {
  for (const int last : {2, 4, 5, 7, 8, 33})
    EXPECT_TRUE(has_lanes_along(
        fmt::format("A: f32[64,256]; B: f32[64,{},256]; C[i,j] = sum(k) A[k,i] * B[k,j,i]", last),
        "i"))
        << last;
  // Of few terms, too: a tile is transposed in registers. Of few results lanes lie where they are
  // stored.
  EXPECT_TRUE(
      has_lanes_along("A: f32[3,256]; B: f32[3,17,256]; C[i,j] = sum(k) A[k,i] * B[k,j,i]", "i"));
  EXPECT_FALSE(
      has_lanes_along("A: f32[64,5]; B: f32[64,7,5]; C[i,j] = sum(k) A[k,i] * B[k,j,i]", "i"));
  // Another axis is read in vectors and stored in them.
  EXPECT_TRUE(
      has_lanes_along("A: f32[64,256]; B: f32[64,256,33]; C[i,j] = sum(k) A[k,i] * B[k,i,j]", "j"));
}

// Rows of many elements times constant weights: lanes lie along the rows, which are copied block by
// block; with short rows, or short vectors, along the weights.
TEST(Lanes, LieAlongLongRowsOfWhatChanges) {
  const auto steps = [](int size, const Target& target) {
    const std::string text = fmt::format(
        "X: f32[1,67,{0},{0}]; const W: f32[19,67,1,1]; C[n,k,y:{0},x:{0}] = sum(c,r,s) "
        "X[n,c,y+r,x+s] * W[k,c,r,s]; algorithm direct",
        size);
    const auto space = *derive_space(parsed(text), target, Flavour::kDefault);
    return schedule::print(space->trace(space->default_config()));
  };
  for (const int size : {23, 31}) {
    EXPECT_NE(steps(size, avx512(1)).find("cache X as X.pack"), std::string::npos) << size;
    EXPECT_EQ(steps(size, test::sse(1)).find("cache X as X.pack"), std::string::npos) << size;
  }
  EXPECT_EQ(steps(14, avx512(1)).find("cache X as X.pack"), std::string::npos);
  std::uint64_t seed = 20261129;
  for (const char* text :
       {"X: f32[1,7,23,23]; const W: f32[5,7,1,1]; C[n,k,y:23,x:23] = sum(c,r,s) "
        "X[n,c,y+r,x+s] * W[k,c,r,s]",
        "X: f32[2,5,23,29]; const W: f32[9,5,1,1]; C[n,k,y:23,x:29] = max(0.0, (sum(c,r,s) "
        "X[n,c,y+r,x+s] * W[k,c,r,s]) + 0.25)",
        "const W: f32[13,65]; A: f32[65,521]; C[j,l] = sum(m) W[j,m] * A[m,l]"})
    for (const Flavour flavour : {Flavour::kDefault, Flavour::kWide})
      for (const int threads : {1, 2})
        check_space(parsed(text), avx512(threads), flavour, 4, ++seed);
}

// A vector times a matrix: constant weights are laid out in panels, of which each is read from end
// to end, where others are read row by row with lanes along the sum.
TEST(Lanes, LieAlongTheResultWhereWeightsAreLaidOutBeforehand) {
  const auto product = [](const char* kind, int n, int k) {
    return default_steps(fmt::format(
        "A: f32[1,{1}]; {2}B: f32[{0},{1}]; C[i,j] = sum(k) A[i,k] * B[j,k]", n, k, kind));
  };
  for (const auto& [n, k] : {std::pair(64, 4096), {67, 61}, {1500, 1500}}) {
    EXPECT_NE(product("const ", n, k).find("cache B as B.pack"), std::string::npos);
    EXPECT_EQ(product("const ", n, k).find("C.lanes"), std::string::npos);
    EXPECT_NE(product("", n, k).find("C.lanes"), std::string::npos);
  }
  EXPECT_NE(product("const ", 7, 4096).find("C.lanes"), std::string::npos);
  for (const char* text :
       {"A: f32[1,61]; const B: f32[67,61]; C[i,j] = sum(k) A[i,k] * B[j,k]",
        "A: f16[37]; const B: f16[2,65,37]; C[i,j] = sum(k) f32(A[k]) * f32(B[i,j,k])",
        "A: i8[1,131]; const B: i8[64,131]; C[i,j] = sum(k) i32(A[i,k]) * i32(B[j,k])"})
    for (const Target& target : {test::avx512(1), test::avx512(2), test::sse(1)})
      check_space(parsed(text), target, Flavour::kDefault, 6, 1);
}

TEST(Lanes, OfAwkwardShapes) {
  for (const char* text :
       {"A: f32[9,19]; B: f32[9,7,19]; C[i,j] = sum(k) A[k,i] * B[k,j,i]",
        "A: f32[13,8]; B: f32[13,1,8]; C[i,j] = sum(k) A[k,i] * B[k,j,i]",
        "A: f64[11,31]; B: f64[11,3,31]; C[i,j] = sum(k) A[k,i] * B[k,j,i]",
        "A: f32[9,3,17]; B: f32[9,5,17]; C[i,j,l] = sum(k) A[k,j,i] * B[k,l,i]",
        "A: f32[9,2,5,19]; B: f32[9,2,4,19]; C[i,b,j] = max(k,l) A[k,b,l,i] * B[k,b,j,i]"})
    for (const Target& target : {test::avx512(1), test::avx512(2), test::sse(1)})
      check_space(parsed(text), target, Flavour::kDefault, 6, 1);
}

// A pooling that reads planes and makes channels last: lanes lie along the planes, also where
// windows go on by two, and tiles of lanes by lanes are transposed. Between planes they are stored
// as read.
TEST(Lanes, OfPoolingsLieAlongThePlanesThatTheyRead) {
  for (const int stride : {2, 4})
    EXPECT_TRUE(
        has_lanes_along(fmt::format("X: f32[1,32,67,67]; C[n,y:16,x:16,c:32] = max(r:3,s:3) "
                                    "X[n,c,{0}*y+r,{0}*x+s]",
                                    stride),
                        "x"))
        << stride;
  // By five, each element is read alone anyway.
  EXPECT_TRUE(has_lanes_along(
      "X: f32[1,32,80,80]; C[n,y:16,x:16,c:32] = max(r:3,s:3) X[n,c,5*y+r,5*x+s]", "c"));
  EXPECT_TRUE(has_lanes_along(
      "X: f32[1,67,67,32]; C[n,y:16,x:16,c:32] = max(r:3,s:3) X[n,2*y+r,2*x+s,c]", "c"));
}

TEST(Lanes, OfPoolingsOfAwkwardShapes) {
  std::uint64_t seed = 20261130;
  for (const char* text :
       {"X: f32[1,17,19,33]; C[n,y:9,x:16,c:17] = max(r:2,s:2) X[n,c,2*y+r,2*x+s]",
        "X: f32[2,5,9,35]; C[n,y:5,x:18,c:5] = max(r:3,s:3) X[n,c,2*y+r-1,2*x+s-1 else -inf]",
        "X: f32[1,1,7,40]; C[n,y:5,x:13,c:1] = max(r:3,s:3) X[n,c,y+r,3*x+s]",
        "X: f64[1,33,4,37]; C[n,y:3,x:9,c:33] = sum(r:2,s:3) X[n,c,y+r,4*x+s]",
        "X: i8[1,19,5,64]; C[n,y:2,x:31,c:19] = max(r:3,s:2) X[n,c,2*y+r,2*x+s]",
        "X: f32[3,16,33]; C[n,x:16,c:16] = max(s:2) X[n,c,2*x+s]",
        "X: f32[1,18,6,50]; M[n,y:3,x:25,c:18] = (sum(r:2,s:2) X[n,c,2*y+r,2*x+s]) / 4\n"
        "C[n,y,x,c] = max(M[n,y,x,c], 0)"})
    for (const Target& target : {avx512(1), avx512(3), test::sse(1)})
      for (const Flavour flavour : {Flavour::kDefault, Flavour::kWide})
        check_space(parsed(text), target, flavour, 4, ++seed);
}

// Rows of a transposed convolution end in its phases: a tile has all of a row's, and as many pixels
// as make a vector of them.
TEST(Lanes, OfPhasesAreStoredByRows) {
  const std::string steps = default_steps(
      "X: f32[1,64,16,24]; const W: f32[64,48,2,2]; output C: f32[1,48,16,2,24,2] as [1,48,32,48]\n"
      "C[n,o,y,v:2,x,u:2] = sum(c) X[n,c,y,x] * W[c,o,v,u]; algorithm direct");
  EXPECT_NE(steps.find("vectorize C.o."), std::string::npos) << steps;
  EXPECT_NE(steps.find("split C.u by 2"), std::string::npos) << steps;
  EXPECT_NE(steps.find("split C.x.r by 8"), std::string::npos) << steps;
}

TEST(Lanes, OfPhasesOfAwkwardShapes) {
  std::uint64_t seed = 20261201;
  for (const char* text :
       {"X: f32[7,5,9]; const W: f32[7,19,2,2]; output C: f32[19,5,2,9,2] as [19,10,18]\n"
        "C[o,y,v:2,x,u:2] = sum(c) X[c,y,x] * W[c,o,v,u]",
        "X: f32[2,9,1,3]; const W: f32[9,33,3,3]; const b: f32[33]\n"
        "output C: f32[2,33,1,3,3,3] as [2,33,3,9]\n"
        "C[n,o,y,v:3,x,u:3] = max((sum(c) X[n,c,y,x] * W[c,o,v,u]) + b[o], 0)",
        "X: f32[9,4,17]; W: f32[9,18,4]; C[o,y,x,u:4] = sum(c) X[c,y,x] * W[c,o,u]",
        "X: f32[12,1]; const W: f32[12,16,2]; C[o,x,u:2] = sum(c) X[c,x] * W[c,o,u]",
        "X: f64[9,4,5]; const W: f64[9,17,2]; C[o,y,x,u:2] = sum(c) X[c,y,x] * W[c,o,u]",
        "X: f32[2,8,3,11]; const W: f32[16,17,2,2]; output C: f32[2,17,3,2,11,2] as [2,17,6,22]\n"
        "C[g,o,y,v:2,x,u:2] = sum(c:8) X[g,c,y,x] * W[8*g+c,o,v,u]"})
    for (const Target& target : {avx512(1), avx512(3), test::sse(1)})
      for (const Flavour flavour : {Flavour::kDefault, Flavour::kWide})
        check_space(parsed(text), target, flavour, 4, ++seed);
}

}  // namespace
}  // namespace lathe::space
