// What threads share: every value of the knob computes the expression, for any number of threads.
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/targets.h"
#include "unit/space/check_space.h"

namespace lathe::space {
namespace {

using test::avx512, test::sse;

struct SharedCase {
  const char* name;
  const char* text;
  std::set<std::string> values;  // beside none
  const char* knob = "parallel";
};
const SharedCase kSharedCases[] = {
    {"matmul",
     "A: f32[13,97]; B: f32[97,37]; C[i,j] = sum(k) A[i,k] * B[k,j]",
     {"V", "P", "V x P", "reduction"}},
    {"transposed",
     "A: f32[131,29]; B: f32[41,131]; C[i,j] = sum(k) A[k,i] * B[j,k]",
     {"V", "P", "V x P", "reduction"}},
    {"batches",
     "A: f32[2,3,7,33]; B: f32[2,33,3,19]; C[n,h,i,j] = sum(k) A[n,h,i,k] * B[n,k,h,j]",
     {"V", "P", "batch", "V x P", "batch x V", "batch x P", "batch x V x P", "reduction"}},
    {"constant",
     "A: f32[7,70]; const B: f32[70,23]; b: f32[23]\n"
     "C[i,j] = relu((sum(k) A[i,k] * B[k,j]) + b[j])",
     {"V", "P", "V x P", "reduction"}},
    {"vector", "A: f32[67]; const B: f32[67,45]; C[j] = sum(k) A[k] * B[k,j]", {"V", "reduction"}},
    {"halves",
     "A: f16[9,67]; B: f16[67,21]; C[i,j] = sum(k) A[i,k] * B[k,j]",
     {"V", "P", "V x P", "reduction"}},
    {"bytes",
     "A: i8[9,67]; B: i8[67,21]; C[i,j] = sum(k) i32(A[i,k]) * i32(B[k,j])",
     {"V", "P", "V x P", "reduction"}},
    {"image",
     "X: f32[2,33,5,7]; const W: f32[19,33,3,1]\n"
     "Y[n,k,y:5,x:7] = sum(c,r,s) X[n,c,y+r-1,x+s else 0] * W[k,c,r,s]",
     {"V", "P", "batch", "V x P", "batch x V", "batch x P", "batch x V x P", "reduction"}},
    {"maximum",
     "A: f32[13,97]; B: f32[97,37]; C[i,j] = max(k) (A[i,k] + B[k,j])",
     {"V", "P", "V x P"}},
    {"map",
     "A: f32[3,5,7,23]; b: f32[7]; C[n,c,y,x] = relu(A[n,c,y,x] * b[y])",
     {"V", "P", "batch", "V x P", "batch x V", "batch x P", "batch x V x P"}},
    {"depthwise",
     "X: f32[2,5,9,21]; W: f32[5,3,3]\n"
     "Y[n,c,y:9,x:21] = sum(r,s) X[n,c,y+r-1,x+s-1 else 0] * W[c,r,s]",
     {"V", "P", "batch", "V x P", "batch x V", "batch x P", "batch x V x P"}},
    {"algorithm",
     "X: f32[2,5,9,11]; const W: f32[19,5,3,3]\n"
     "Y[n,k,y:9,x:11] = sum(c,r,s) X[n,c,y+r-1,x+s-1 else 0] * W[k,c,r,s]",
     {"tiles", "results", "results x tiles", "batch x tiles", "batch x results",
      "batch x results x tiles", "positions"},
     "ct.parallel"},
};

class Threads : public ::testing::TestWithParam<SharedCase> {};
TEST_P(Threads, ShareEachLoop) {
  const te::Workload workload = parsed(GetParam().text);
  for (const Target& target : {avx512(1), avx512(2), sse(3), avx512(8), avx512(64)}) {
    std::set<std::string> found;
    for (const auto& [value, count] : check_choices(workload, target, GetParam().knob, 2, 1))
      if (value != "none") found.insert(value);
    EXPECT_EQ(found, target.threads() == 1 ? std::set<std::string>{} : GetParam().values)
        << target.text();
  }
}
INSTANTIATE_TEST_SUITE_P(Space, Threads, ::testing::ValuesIn(kSharedCases),
                         [](const auto& info) { return info.param.name; });

std::string default_sharing(const std::string& text, int threads) {
  const auto space = derive_space(parsed(text), avx512(threads), Flavour::kDefault);
  if (!space) throw std::runtime_error(space.error().text());
  const Json json = (*space)->to_json((*space)->default_config());
  const char* knob = json.contains("ct.parallel") ? "ct.parallel" : "parallel";
  return json.contains(knob) ? json[knob].get<std::string>() : "";
}

TEST(Threads, ShareTwoLoopsWhereOneHasTooFewBlocks) {
  const std::string wide = "algorithm direct; A: f32[1024,1024]; B: f32[1024,1024]";
  const std::string product = "\nC[i,j] = sum(k) A[i,k] * B[k,j]";
  EXPECT_EQ(default_sharing(wide + product, 2), "V");
  EXPECT_EQ(default_sharing(wide + product, 64), "V x P");
  // A small result of long sums.
  EXPECT_EQ(default_sharing("A: f32[8,8000]; B: f32[8000,16]" + product, 8), "reduction");
  // Heads and rows.
  EXPECT_EQ(default_sharing("A: f32[3,512,64]; B: f32[3,64,512]\n"
                            "C[h,i,j] = sum(k) A[h,i,k] * B[h,k,j]",
                            8),
            "batch x V");
}

// Exponentials that lack an axis of the sum over them: a default that can be built, for any number
// of threads.
TEST(Threads, ShareAWeightedSumOfExponentials) {
  const std::string text =
      "S: f32[3,500]; V: f32[3,500,256]; E[h,k] = exp(S[h,k]); "
      "O[h,d] = (sum(k) E[h,k] * V[h,k,d]) / (sum(j) E[h,j])";
  for (const Target& target : {avx512(1), avx512(2), sse(3), avx512(8), avx512(64)}) {
    const auto space = derive_space(parsed(text), target, Flavour::kDefault);
    ASSERT_TRUE(space) << space.error().text();
    EXPECT_TRUE((*space)->valid((*space)->default_config()));
    check_choices(parsed(text), target, "parallel", 1, 1);
  }
}

TEST(Threads, MakeDifferentProgramsOfAllValues) {
  const auto space = derive_space(
      parsed("A: f32[3,40,64]; B: f32[3,64,80]; C[h,i,j] = sum(k) A[h,i,k] * B[h,k,j]"), avx512(4),
      Flavour::kDefault);
  ASSERT_TRUE(space) << space.error().text();
  const std::vector<Knob>& knobs = (*space)->knob_list();
  const auto parallel =
      static_cast<std::size_t>(std::ranges::find(knobs, "parallel", &Knob::name) - knobs.begin());
  const auto order =
      static_cast<std::size_t>(std::ranges::find(knobs, "order", &Knob::name) - knobs.begin());
  // With all other knobs at their least values every loop has several iterations.
  for (std::size_t o = 0; o < knobs[order].values.size(); ++o) {
    std::map<std::uint64_t, std::string> programs;
    for (std::size_t v = 0; v < knobs[parallel].values.size(); ++v) {
      Config config(knobs.size(), 0);
      config[order] = static_cast<std::uint16_t>(o);
      config[parallel] = static_cast<std::uint16_t>(v);
      if (!(*space)->valid(config)) continue;
      EXPECT_EQ((*space)->canonical(config)[parallel], v) << (*space)->describe(config);
      const auto [at, is_new] =
          programs.try_emplace((*space)->program_number(config), knobs[parallel].labels[v]);
      EXPECT_TRUE(is_new) << (*space)->describe(config) << " is the program of " << at->second;
    }
    EXPECT_GE(programs.size(), 5U) << knobs[order].labels[o];
  }
  // One block along an axis leaves the other one.
  Config config = (*space)->default_config();
  const auto set = [&](const char* name, const std::string& label) {
    const auto knob = std::ranges::find(knobs, name, &Knob::name);
    const auto value = label.empty()
                           ? knob->values.size() - 1
                           : static_cast<std::size_t>(std::ranges::find(knob->labels, label) -
                                                      knob->labels.begin());
    config[static_cast<std::size_t>(knob - knobs.begin())] = static_cast<std::uint16_t>(value);
  };
  set("order", "VPK.vp"), set("block.p", ""), set("parallel", "V x P");
  ASSERT_TRUE((*space)->valid(config));
  EXPECT_EQ((*space)->to_json((*space)->canonical(config))["parallel"], "V");
}

}  // namespace
}  // namespace lathe::space
