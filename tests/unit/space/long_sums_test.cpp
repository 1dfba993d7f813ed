// Sums of more terms than one chain of additions has: they are cut, and tiled like shorter ones.
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "support/targets.h"
#include "unit/space/check_space.h"

namespace lathe::space {
namespace {

using test::avx512, test::sse;

std::set<std::string> knobs_of(const std::string& text, int threads) {
  const auto space = *derive_space(parsed(text), avx512(threads), Flavour::kDefault);
  std::set<std::string> names;
  for (const Knob& knob : space->knob_list()) names.insert(knob.name);
  return names;
}

std::string default_trace(const std::string& text, int threads) {
  const auto space = *derive_space(parsed(text), avx512(threads), Flavour::kDefault);
  return schedule::print(space->trace(space->default_config()));
}

// One term more than in a chain takes no knob away.
TEST(LongSums, HaveTheKnobsOfShorterOnes) {
  const auto dense = [](int terms, const char* weights) {
    return fmt::format(
        "A: f32[64,{0}]; {1}W: f32[512,{0}]; C[i,j] = sum(k) A[i,k] * W[j,k]; "
        "algorithm direct",
        terms, weights);
  };
  const auto convolution = [](int channels) {
    return fmt::format(
        "X: f32[1,{0},14,14]; const W: f32[512,{0},3,3]; Y[n,k,y:14,x:14] = "
        "sum(c,r,s) X[n,c,y+r-1,x+s-1 else 0] * W[k,c,r,s]; algorithm direct",
        channels);
  };
  for (const int threads : {1, 2}) {
    EXPECT_EQ(knobs_of(dense(8193, ""), threads), knobs_of(dense(8192, ""), threads));
    EXPECT_EQ(knobs_of(dense(8193, "const "), threads), knobs_of(dense(8192, "const "), threads));
    EXPECT_EQ(knobs_of(convolution(912), threads), knobs_of(convolution(910), threads));
  }
  EXPECT_TRUE(knobs_of(dense(25088, ""), 1).contains("pack.weights"));
}

// Parts are of one length, in whole vectors; copies are in panels as wide as the tile.
TEST(LongSums, AreCutEvenlyAndPacked) {
  const std::string trace =
      default_trace("A: f32[64,8193]; const W: f32[512,8193]; C[i,j] = sum(k) A[i,k] * W[j,k]", 1);
  EXPECT_NE(trace.find("split C.k by 2736 into C.k.b, C.k.a"), std::string::npos) << trace;
  EXPECT_NE(trace.find("cache W as W.pack in memory for C.part, layout (0/"), std::string::npos)
      << trace;
  // The same where threads share parts of a shorter sum.
  const std::string shared =
      default_trace("A: f32[8,8000]; const B: f32[8000,64]; C[i,j] = sum(k) A[i,k] * B[k,j]", 8);
  EXPECT_NE(shared.find("rfactor"), std::string::npos) << shared;
  EXPECT_NE(shared.find("layout (1/32, 0/1, 1/1)"), std::string::npos) << shared;
}

// Weights of a vector times a matrix lie in panels, whatever the length of a sum.
TEST(LongSums, OfAVectorAndWeightsReadPanels) {
  for (const int terms : {8192, 8193, 25088}) {
    const std::string text =
        fmt::format("A: f32[1,{0}]; const W: f32[512,{0}]; C[i,j] = sum(k) A[i,k] * W[j,k]", terms);
    EXPECT_NE(default_trace(text, 1).find("cache W as W.pack in memory"), std::string::npos)
        << terms;
  }
}

// Whatever is read, and however often.
TEST(LongSums, AreCutWhereLittleIsReadToo) {
  for (const char* text :
       {"X: f32[3]; Y[i:3] = sum(k:30000000) abs(X[i] - f32(k % 5))",
        "X: f32[1030]; Y[i:1030] = sum(k:16411) abs(X[i] - f32(k % 5))",
        "X: f32[3,4]; Y[i:3] = sum(j:4,k:5000000) abs(X[i,j] - f32(k % 5))",
        "X: f32[4,3000]; Z: f32[3000]; Y[q:4] = sum(j:3000,k:3000) abs(X[q,k]-Z[j])"})
    EXPECT_NE(default_trace(text, 1).find(".part"), std::string::npos) << text;
}

TEST(LongSums, EveryProgramComputesThem) {
  std::uint64_t seed = 20261126;
  for (const char* text :
       {"A: f32[5,8200]; const W: f32[19,8200]; C[i,j] = sum(k) A[i,k] * W[j,k]",
        "A: f32[1,8201]; const W: f32[67,8201]; C[i,j] = sum(k) A[i,k] * W[j,k]",
        "A: f32[5,8219]; W: f32[8219,18]; C[i,j] = sum(k) A[i,k] * W[k,j]",
        "A: f32[2,3,8200]; B: f32[2,17,8200]; C[b,i,j] = sum(k) A[b,i,k] * B[b,j,k]",
        "A: f32[4,8200]; B: f32[16,8200]; C[i,j] = max(0.0, (sum(k) A[i,k] * B[j,k]) + 0.5)",
        "X: f32[1,1030,2,3]; const W: f32[17,1030,3,3]; Y[n,k,y:2,x:3] = sum(c,r,s) "
        "X[n,c,y+r-1,x+s-1 else 0] * W[k,c,r,s]",
        "X: f32[1,1030,2,3]; W: f32[17,1030,3,3]; Y[n,k,y:2,x:3] = sum(c,r,s) "
        "X[n,c,y+r-1,x+s-1 else 0] * W[k,c,r,s]"})
    for (const bool free : {false, true})
      for (const Target& target : {avx512(2), sse(1)}) {
        SCOPED_TRACE(text);
        te::Workload workload = parsed(text);
        workload.contract.free_layout = free;
        check_space(workload, target, Flavour::kDefault, 5, ++seed);
      }
}

}  // namespace
}  // namespace lathe::space
