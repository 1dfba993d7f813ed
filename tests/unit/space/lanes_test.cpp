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
  // Of few results or terms lanes lie where they are stored.
  EXPECT_FALSE(
      has_lanes_along("A: f32[64,5]; B: f32[64,7,5]; C[i,j] = sum(k) A[k,i] * B[k,j,i]", "i"));
  EXPECT_FALSE(
      has_lanes_along("A: f32[3,256]; B: f32[3,17,256]; C[i,j] = sum(k) A[k,i] * B[k,j,i]", "i"));
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

}  // namespace
}  // namespace lathe::space
