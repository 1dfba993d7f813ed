// im2col: products with copies of what windows read compute the sums over these.
#include <string>

#include <gtest/gtest.h>

#include "support/targets.h"
#include "tuner/model/analytic.h"
#include "unit/space/check_space.h"

namespace lathe::space {
namespace {

using test::avx512, test::sse;

struct WindowCase {
  const char* name;
  const char* text;
};
const WindowCase kWindowCases[] = {
    {"few_channels",
     "X: f32[1,3,9,10]; const W: f32[21,3,7,7]\n"
     "Y[n,k,y:4,x:5] = sum(c,r,s) X[n,c,2*y+r-3,2*x+s-3 else 0] * W[k,c,r,s]"},
    {"small_image",
     "X: f32[2,17,7,7]; const W: f32[19,17,3,3]\n"
     "Y[n,k,y:7,x:7] = sum(c,r,s) X[n,c,y+r-1,x+s-1 else 0] * W[k,c,r,s]"},
    {"weights_of_the_call",
     "X: f32[2,5,11,9]; W: f32[17,5,3,2]\n"
     "Y[n,k,y,x] = sum(c,r,s) X[n,c,y+r,x+s] * W[k,c,r,s]"},
    {"dilated",
     "X: f32[1,3,9,11]; const W: f32[17,3,3,3]\n"
     "Y[n,k,y:9,x:11] = sum(c,r,s) X[n,c,y+2*r-2,x+2*s-2 else 0] * W[k,c,r,s]"},
    {"line",
     "X: f32[2,7,31]; const W: f32[19,7,5]\n"
     "Y[n,k,x:16] = sum(c,s) X[n,c,2*x+s-2 else 0] * W[k,c,s]"},
    {"volume",
     "X: f32[1,3,5,6,7]; const W: f32[17,3,3,3,3]\n"
     "Y[n,k,z:5,y:6,x:7] = "
     "sum(c,q,r,s) X[n,c,z+q-1,y+r-1,x+s-1 else 0] * W[k,c,q,r,s]"},
    {"channels_last",
     "X: f32[1,5,7,21]; const W: f32[3,3,21,18]\n"
     "Y[n,y:5,x:7,k] = sum(r,s,c) X[n,y+r-1,x+s-1,c else 0] * W[r,s,c,k]"},
    {"bias_and_relu",
     "X: f32[2,5,9,7]; const W: f32[17,5,3,3]; b: f32[17]\n"
     "Y[n,k,y:9,x:7] = relu((sum(c,r,s) X[n,c,y+r-1,x+s-1 else 0] * "
     "W[k,c,r,s]) + b[k])"},
    {"groups",
     "X: f32[1,3,4,9,7]; const W: f32[3,18,4,3,3]\n"
     "Y[n,g,k,y:9,x:7] = sum(c,r,s) X[n,g,c,y+r-1,x+s-1 else 0] * W[g,k,c,r,s]"},
    {"one_image_row",
     "X: f32[1,3,1,40]; W: f32[5,3,1,9]\n"
     "Y[n,k,y:1,x:32] = sum(c,r,s) X[n,c,y+r,x+s] * W[k,c,r,s]"},
    {"halves",
     "X: f16[1,5,9,7]; const W: f16[17,5,3,3]\n"
     "Y[n,k,y:9,x:7] = sum(c,r,s) X[n,c,y+r-1,x+s-1 else 0] * W[k,c,r,s]"},
    {"bytes",
     "X: i8[1,5,9,7]; const W: i8[17,5,3,3]\n"
     "Y[n,k,y:9,x:7] = "
     "sum(c,r,s) i32(X[n,c,y+r-1,x+s-1 else 0]) * i32(W[k,c,r,s])"},
    {"maximum",
     "X: f32[1,5,9,7]; W: f32[17,5,3,3]\n"
     "Y[n,k,y:7,x:5] = max(c,r,s) (X[n,c,y+r,x+s] + W[k,c,r,s])"},
};

class Windows : public ::testing::TestWithParam<WindowCase> {};
TEST_P(Windows, AreAnAlgorithm) {
  te::Workload workload = parsed(GetParam().text);
  for (const bool free_layout : {false, true}) {
    workload.contract.free_layout = free_layout;
    for (const Target& target : {avx512(1), sse(3), avx512(8)}) {
      auto found = check_choices(workload, target, "algorithm", 2, 1, "im2col");
      EXPECT_EQ(found["im2col"], 2) << target.text() << " " << free_layout;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Space, Windows, ::testing::ValuesIn(kWindowCases),
                         [](const auto& info) { return info.param.name; });

TEST_P(Windows, ShareTheirLoops) {
  for (const Target& target : {avx512(3), avx512(8)})
    for (const auto& [value, count] :
         check_choices(parsed(GetParam().text), target, "im2col.parallel", 1, 1))
      EXPECT_GT(count, 0) << value << " " << target.text();
}

// The default is im2col where the analytic model says so, too.
std::string default_algorithm(const std::string& text) {
  const auto space = derive_space(parsed(text), avx512(1), Flavour::kDefault);
  if (!space) throw std::runtime_error(space.error().text());
  const std::vector<Config> starts = (*space)->starts();
  std::vector<double> scores(starts.size());
  model::AnalyticScorer(**space, model::machine_of(avx512(1), {})).score(starts, scores);
  const std::string chosen = (*space)->to_json(starts[0])["algorithm"];
  for (std::size_t i = 1; i < starts.size(); ++i)
    if (chosen == "im2col") {
      EXPECT_GT(scores[0], scores[i]) << (*space)->describe(starts[i]);
    }
  return chosen;
}

TEST(Windows, AreTheDefaultWhereStridesLeaveLanesApart) {
  const auto strided = [](int filters) {
    return "X: f32[1,3,112,112]; W: f32[" + std::to_string(filters) +
           ",3,7,7]\nY[n,k,y:56,x:56] = "
           "sum(c,r,s) X[n,c,2*y+r-3,2*x+s-3 else 0] * W[k,c,r,s]";
  };
  EXPECT_EQ(default_algorithm(strided(64)), "im2col");
  EXPECT_EQ(default_algorithm(strided(8)), "direct");
  EXPECT_EQ(default_algorithm("X: f32[1,128,7,7]; W: f32[128,128,3,3]\nY[n,k,y:7,x:7] = "
                              "sum(c,r,s) X[n,c,y+r-1,x+s-1 else 0] * W[k,c,r,s]"),
            "direct");
  EXPECT_EQ(default_algorithm("X: f32[1,64,30,30]; const W: f32[64,64,5,5]\nY[n,k,y,x] = "
                              "sum(c,r,s) X[n,c,y+r,x+s] * W[k,c,r,s]")
                .substr(0, 1),
            "F");
}

bool has_im2col(const std::string& text) {
  const auto space = derive_space(parsed(text), avx512(1), Flavour::kDefault);
  if (!space) throw std::runtime_error(space.error().text());
  for (const Knob& knob : (*space)->knob_list())
    if (knob.name == "algorithm" && std::ranges::count(knob.labels, "im2col") > 0) return true;
  return false;
}

TEST(Windows, AreNoAlgorithmOfOtherSums) {
  // A product, a window without channels that it has in common, a pool, a map over neighbours.
  EXPECT_FALSE(has_im2col("A: f32[7,9]; B: f32[9,20]; C[i,j] = sum(k) A[i,k] * B[k,j]"));
  EXPECT_FALSE(
      has_im2col("X: f32[2,5,9,21]; W: f32[5,3,3]\n"
                 "Y[n,c,y,x] = sum(r,s) X[n,c,y+r,x+s] * W[c,r,s]"));
  EXPECT_FALSE(has_im2col("X: f32[2,5,9,21]; Y[n,c,y:4,x:10] = max(r:2,s:2) X[n,c,2*y+r,2*x+s]"));
  EXPECT_FALSE(has_im2col("X: f32[2,9]; Y[n,x:8] = X[n,x] + X[n,x+1]"));
}

TEST(Windows, MayBeDemanded) {
  const std::string demand = "algorithm im2col; ";
  const std::string image =
      "X: f32[1,3,9,10]; const W: f32[21,3,7,7]\n"
      "Y[n,k,y:4,x:5] = sum(c,r,s) X[n,c,2*y+r-3,2*x+s-3 else 0] * W[k,c,r,s]";
  for (const int threads : {1, 3}) {
    const auto space = derive_space(parsed(demand + image), avx512(threads), Flavour::kDefault);
    ASSERT_TRUE(space) << space.error().text();
    Rng rng(1);
    std::vector<Config> configs = (*space)->starts();
    EXPECT_EQ(configs.size(), 1U);
    for (int i = 0; i < 20; ++i) configs.push_back((*space)->random(rng));
    for (const Config& config : configs)
      EXPECT_EQ((*space)->to_json(config)["algorithm"], "im2col") << (*space)->describe(config);
  }
  const auto none =
      derive_space(parsed(demand + "A: f32[7,9]; B: f32[9,20]; C[i,j] = sum(k) A[i,k] * B[k,j]"),
                   avx512(1), Flavour::kDefault);
  ASSERT_FALSE(none);
  EXPECT_TRUE(none.error().text().starts_with("algorithm: this workload has no im2col: "))
      << none.error().text();
}

}  // namespace
}  // namespace lathe::space
