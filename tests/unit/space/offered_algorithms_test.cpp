// Which algorithms a space has, and why not others.
#include <set>

#include <gtest/gtest.h>

#include "unit/space/derived.h"

namespace lathe::space {
namespace {

TEST(OfferedAlgorithms, OnlySumsOverNeighboursWithConstantFiltersHaveCookToomAlgorithms) {
  EXPECT_GE(number_of(*space_of(kConvolution), "ct.tile.v"), 0);
  for (const char* text :
       {"A: f32[33,40]; const B: f32[40,64]; C[i,j] = sum(k) A[i,k] * B[k,j]",
        "X: f32[1,35,14,15]; W: f32[33,35,3,3]; Y[n,o,y:14,x:15] = sum(c,r,s) "
        "X[n,c,y+r-1,x+s-1 else 0] * W[o,c,r,s]",
        "X: f32[1,35,15,15]; const W: f32[33,35,2,2]; Y[n,o,y:7,x:7] = sum(c,r,s) "
        "X[n,c,2*y+r,2*x+s] * W[o,c,r,s]",
        "X: f32[1,35,14,15]; const W: f32[35,3,3]; Y[n,c,y:14,x:15] = sum(r,s) "
        "X[n,c,y+r-1,x+s-1 else 0] * W[c,r,s]"})
    EXPECT_LT(number_of(*space_of(text), "ct.tile.v"), 0) << text;
}

// One axis may have taps alone, whichever it is; with a stride, a residue has several taps. There
// may be a dilation, phases, and filters that are read backwards.
TEST(OfferedAlgorithms, OneAxisOrStridesMayHaveThem) {
  for (const char* text :
       {"X: f32[1,32,19,13]; const W: f32[32,32,1,7]; Y[n,o,y:19,x:13] = sum(c,r,s) "
        "X[n,c,y+r,x+s-3 else 0] * W[o,c,r,s]",
        "X: f32[1,32,19,13]; const W: f32[32,32,7,1]; Y[n,o,y:19,x:13] = sum(c,r,s) "
        "X[n,c,y+r-3,x+s else 0] * W[o,c,r,s]",
        "X: f32[1,35,15,15]; const W: f32[33,35,3,3]; Y[n,o,y:7,x:7] = sum(c,r,s) "
        "X[n,c,2*y+r,2*x+s] * W[o,c,r,s]",
        "X: f32[1,3,67,67]; const W: f32[33,3,11,11]; Y[n,o,y:15,x:15] = sum(c,r,s) "
        "X[n,c,4*y+r,4*x+s] * W[o,c,r,s]",
        "X: f32[1,35,15,15]; const W: f32[33,35,3,3]; Y[n,o,y:7,x:7] = sum(c,r,s) "
        "X[n,c,y+2*r,x+2*s] * W[o,c,r,s]",
        "X: f32[35,19]; const W: f32[33,35,5]; Y[o,x:19] = sum(c,s) X[c,x-s+2 else 0] * W[o,c,s]",
        "X: f32[35,19]; const W: f32[35,33,4]; Y[o,x:19,p:2] = sum(c,s:2) "
        "X[c,x+p-s else 0] * W[c,o,2*s+1-p]"}) {
    const auto space = space_of(fmt::format("max_error 1e-4; {}", text));
    EXPECT_GE(number_of(*space, "algorithm"), 0) << text;
  }
}

// An algorithm that could break the contract is not in the space.
TEST(OfferedAlgorithms, TheContractLimitsAlgorithms) {
  const auto algorithms = [](const char* error) {
    const auto space = space_of(fmt::format("max_error {}; {}", error, kConvolution));
    const int knob = number_of(*space, "algorithm");
    return knob < 0 ? 1 : space->values(knob);
  };
  EXPECT_EQ(algorithms("1e-7"), 1);  // the sum in its order
  EXPECT_LT(algorithms("4e-6"), algorithms("2e-5"));
}

TEST(OfferedAlgorithms, AContractMayNameTheAlgorithm) {
  const auto algorithms = [](const std::string& name) {
    const auto space = space_of(fmt::format("algorithm {}; {}", name, kConvolution));
    const int knob = number_of(*space, "algorithm");
    std::vector<std::string> out;
    Rng rng(1);
    for (int i = 0; knob >= 0 && i < 30; ++i) {
      const Config config = i == 0 ? space->default_config() : space->random(rng);
      const std::string& label = space->knob_list()[knob].labels[config[knob]];
      if (std::ranges::find(out, label) == out.end()) out.push_back(label);
    }
    return out;
  };
  using Labels = std::vector<std::string>;
  EXPECT_EQ(algorithms("direct"), Labels{});
  EXPECT_EQ(algorithms("F2x2"), Labels{"F(2x2)"});
  EXPECT_EQ(algorithms("F2").size(), 2U);
  const Labels any = algorithms("cook_toom");
  EXPECT_GT(any.size(), 2U);
  EXPECT_EQ(std::ranges::count(any, "direct"), 0);
  const auto refused = [](const std::string& text) {
    const auto workload = te::parse_workload(text);
    if (!workload) return workload.error().text();
    const auto space = derive_space(*workload, test::avx512(1), Flavour::kDefault);
    return space ? std::string() : space.error().text();
  };
  const std::string convolution(kConvolution);
  EXPECT_TRUE(refused("algorithm F9x9; " + convolution)
                  .starts_with("algorithm: this workload has no F9x9: tiles are of 2, 3, 4, 6 "
                               "results; it has direct, F2, "));
  EXPECT_EQ(refused("max_error 1e-7; algorithm F4x4; " + convolution),
            "algorithm: F4x4 rounds too much for a largest error of 1e-07; allow more with "
            "--max-error, or name an algorithm with smaller tiles");
  EXPECT_EQ(refused("algorithm cook_toom; A: f32[8,8]; B: f32[8,8]; "
                    "C[i,j] = sum(k) A[i,k] * B[k,j]"),
            "algorithm: this workload has no Cook-Toom algorithm: of the factors of C none is "
            "constant, and to transform a filter in every call costs more than it saves; it has "
            "direct");
  EXPECT_TRUE(refused("algorithm winograd; " + convolution)
                  .ends_with("'winograd' is no algorithm; name direct, cook_toom, F4, F4x4 or "
                             "strassen"));
}

// Padding with other numbers than 0, and taps that the filter does not have: no Cook-Toom algorithm
// computes these, so the space has none, and says so.
TEST(OfferedAlgorithms, WhatIsPaddedOtherwiseHasNoCookToomAlgorithm) {
  const auto text = [](const char* input, const char* filter, int taps) {
    return fmt::format(
        "X: f32[1,64,28,28]; const W: f32[64,64,3,3]; Y[n,o,y:28,x:28] = sum(c,r:{0},s:{0}) "
        "X[n,c,y+r-1,x+s-1 else {1}] * W[o,c,r,s{2}]",
        taps, input, filter);
  };
  for (const auto& [program, why] :
       {std::pair(text("-1", "", 3), "X is read as -1 outside of it, not as 0"),
        std::pair(text("0", " else 1", 3), "W is read as 1 outside of it, not as 0"),
        std::pair(text("0", " else 0", 5), "there are 5 taps along r, and W has 3"),
        std::pair(std::string("X: f32[64,85]; const W: f32[64,64,5]; Y[o,x:40] = sum(c,r:3) "
                              "X[c,2*x+r] * W[o,c,r]"),
                  "there are 3 taps along r, and W has 5")}) {
    const auto space = space_of(program);
    ASSERT_TRUE(space);
    if (const int algorithm = number_of(*space, "algorithm"); algorithm >= 0) {
      const Knob& knob = space->knob_list()[static_cast<std::size_t>(algorithm)];
      for (const std::string& label : knob.labels) EXPECT_FALSE(label.starts_with("F(")) << program;
    }
    const auto demanded = te::parse_workload("algorithm F2; " + program);
    ASSERT_TRUE(demanded) << demanded.error().text();
    const auto refused = derive_space(*demanded, test::avx512(1), Flavour::kDefault);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().text().find(why), std::string::npos) << refused.error().text();
  }
}

// A demand for an algorithm that there is not is answered with the reason.
TEST(OfferedAlgorithms, TheReasonWhyAnAlgorithmIsMissing) {
  const auto reason = [](const std::string& algorithm, const std::string& text) {
    const auto workload = te::parse_workload("algorithm " + algorithm + "; " + text);
    if (!workload) return workload.error().text();
    const auto space = derive_space(*workload, test::avx512(1), Flavour::kDefault);
    if (space) return std::string();
    const std::string said = space.error().text();
    const std::size_t begin = said.find(": ", said.find("this workload has no")) + 2;
    return said.substr(begin, said.find("; it has") - begin);
  };
  const auto image = [](const std::string& filter, const std::string& read, int rows) {
    return fmt::format(
        "X: f32[16,{},19]; const W: f32[{}]; Y[o,y:{},x:17] = sum(c,r,s) X[c,{}] * W[o,c,r,s]",
        2 * rows + 4, filter, rows, read);
  };
  EXPECT_EQ(reason("F2x2",
                   "X: i32[8,9]; const W: i32[16,8,3]; "
                   "Y[o,x:7] = sum(c,r) X[c,x+r] * W[o,c,r]"),
            "Y sums up i32, not f32 or f64");
  EXPECT_EQ(reason("F2",
                   "X: f16[8,9]; const W: f16[16,8,3]; "
                   "Y[o,x:7] = sum(c,r) f32(X[c,x+r]) * f32(W[o,c,r])"),
            "Y converts what it multiplies, where f32 or f64 are needed");
  EXPECT_EQ(reason("F2x2", "X: f32[8,9]; Y[o,x:7] = max(r:3) X[o,x+r]"),
            "Y is no sum of products of two tensors");
  EXPECT_EQ(reason("F2", "X: f32[8,9]; const W: f32[8,16]; Y[o,x] = sum(c) X[c,x] * W[c,o]"),
            "Y has no neighbours, which are read at stride * result + dilation * tap");
  EXPECT_EQ(reason("F2", "X: f32[9]; const W: f32[16,3]; Y[o,x:7] = sum(r) X[x+r] * W[o,r]"),
            "Y sums over taps only, not over channels");
  EXPECT_EQ(reason("F2",
                   "X: f32[16,8,9]; const W: f32[16,8,3]; "
                   "Y[g,x:7] = sum(c,r) X[g,c,x+r] * W[g,c,r]"),
            "Y has no channels of its own, which the filter has and the input has not");
  EXPECT_EQ(reason("F2x2", image("5,16,3,3", "y+r,x+s", 14)),
            "its 5 results along o fill no vector of 16 lanes");
  EXPECT_EQ(reason("F2x2", image("16,16,2,3", "2*y+r,x+s", 7)),
            "a stride of 2 leaves 1 tap together along r, and 2 are needed");
  EXPECT_EQ(reason("F6x2", image("16,16,3,3", "y+r,x+s", 5)),
            "it has 5 results along y, less than a tile of 6");
  EXPECT_EQ(reason("F2x2",
                   "X: f32[16,9]; const W: f32[16,16,3]; "
                   "Y[o,x:7] = sum(c,r) X[c,x+r] * W[o,c,r]"),
            "it has taps along one axis, not two");
}

// Where a search begins: the default, then what else promises much, each of another algorithm.
}  // namespace
}  // namespace lathe::space
