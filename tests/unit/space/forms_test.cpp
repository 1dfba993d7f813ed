// Configurations in one form are one program, and nearly all in different forms are different ones.
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "compiler/ir/flat/flat.h"
#include "compiler/lower/lower.h"
#include "compiler/te/naive_nest.h"
#include "compiler/te/parse.h"
#include "support/targets.h"
#include "tuner/search/search.h"
#include "tuner/space/restriction.h"
#include "tuner/space/space.h"

namespace lathe::space {
namespace {

constexpr const char* kPrograms[] = {
    "A: f32[23,19]; B: f32[23,37]; C[i,j] = sum(k) A[k,i] * B[k,j]",
    "A: f32[32,64]; B: f32[64,48]; C[i,j] = sum(k) A[i,k] * B[k,j]",
    "A: f32[128,128]; B: f32[128,200]; C[i,j] = sum(k) A[i,k] * B[k,j]",
    "A: f32[4,40,24]; B: f32[4,24,56]; C[b,i,j] = sum(k) A[b,i,k] * B[b,k,j]",
    "A: f32[31,17]; B: f32[17]; C[i] = sum(k) A[i,k] * B[k]",
    "X: f32[3,29]; const W: f32[35,29]; const B: f32[35]; Y[n,o] = max(sum(k) X[n,k]*W[o,k] + "
    "B[o], 0)",
    "X: f32[1,19,7,9]; const W: f32[33,19,3,3]; Y[n,o,y:7,x:9] = sum(c,r,s) X[n,c,y+r-1,x+s-1 else "
    "0] * W[o,c,r,s]",
    "X: f32[1,32,14,14]; const W: f32[64,32,3,3]; Y[n,o,y:14,x:14] = sum(c,r,s) X[n,c,y+r-1,x+s-1 "
    "else 0] * W[o,c,r,s]",
    "X: f32[2,3,13,11]; const W: f32[20,3,5,5]; Y[n,o,y:7,x:6] = sum(c,r,s) X[n,c,2*y+r-2,2*x+s-2 "
    "else 0] * W[o,c,r,s]",
    "X: f32[1,32,5,7]; const W: f32[48,32]; const B: f32[48]; R: f32[1,48,5,7]; "
    "Y[n,o,y,x] = max(sum(c) X[n,c,y,x] * W[o,c] + B[o] + R[n,o,y,x], 0)",
    "X: f32[1,21,8,6]; const W: f32[21,3,3]; Y[n,c,y:8,x:6] = sum(r,s) X[n,c,y+r-1,x+s-1 else 0] * "
    "W[c,r,s]",
    "X: f32[1,2,9,6,6]; const W: f32[2,18,9,3,3]; Y[n,g,o,y:6,x:6] = sum(c,r,s) "
    "X[n,g,c,y+r-1,x+s-1 else 0] * W[g,o,c,r,s]",
    "X: f32[1,5,9,9]; Y[n,c,y:4,x:4] = max(r:3,s:3) X[n,c,2*y+r,2*x+s]",
    "X: f32[13,29]; B: f32[29]; Y[i,j] = max(X[i,j] * 2.0 + B[j], 0)",
    "X: f32[7,33]; S[i] = sum(j) X[i,j]; Y[i,j] = X[i,j] - S[i]",
    "A: f32[1,1]; B: f32[1,1]; C[i,j] = sum(k) A[i,k] * B[k,j]",
    "A: f32[1,64]; B: f32[64,1]; C[i,j] = sum(k) A[i,k] * B[k,j]",
    "A: f32[40,1]; B: f32[1,72]; C[i,j] = sum(k) A[i,k] * B[k,j]",
    "X: f32[1,1,8,8]; const W: f32[1,1,3,3]; Y[n,o,y:6,x:6] = sum(c,r,s) X[n,c,y+r,x+s] * "
    "W[o,c,r,s]",
    "A: f32[67,48]; B: f32[48,80]; C: f32[80,56]; M[i,j] = sum(k) A[i,k] * B[k,j]; "
    "Y[i,l] = sum(j) M[i,j] * C[j,l]",
    "Q: f32[3,131,32]; K: f32[3,70,32]; V: f32[3,70,32]; S[h,q,k] = sum(d) Q[h,q,d] * K[h,k,d]; "
    "P[h,q,k] = exp(S[h,q,k] - (max(j) S[h,q,j])); "
    "O[h,q,d] = (sum(k) P[h,q,k] * V[h,k,d]) / (sum(j) P[h,q,j])",
};

std::uint64_t program_of(const Space& space, const Config& config, const Target& target) {
  ir::Nest nest = te::naive_nest(space.workload());
  const auto applied =
      schedule::apply(nest, space.trace(config), space.workload().contract.free_layout);
  EXPECT_TRUE(applied);
  const auto flat = lower::lower(ir::SizedNest(nest, {}), target);
  return flat ? flat::hash(*flat) : 0;  // 0: too much code, which the wide space holds
}

// Of the valid configurations, not brought to their form.
Config any(const Space& space, Rng& rng) {
  Config config(static_cast<std::size_t>(space.knobs()));
  do {
    for (int k = 0; k < space.knobs(); ++k)
      config[k] = static_cast<std::uint16_t>(rng.below(space.values(k)));
  } while (!space.valid(config));
  return config;
}

class FormsTest : public ::testing::TestWithParam<std::tuple<int, bool>> {};

TEST_P(FormsTest, OneFormIsOneProgram) {
  const auto [which, free_layout] = GetParam();
  auto workload = te::parse_workload(kPrograms[which]);
  ASSERT_TRUE(workload) << workload.error().text();
  workload->contract.free_layout = free_layout;
  // of configurations in different forms; those that are one program
  double pairs = 0, alike = 0;
  for (const Target& target : {test::avx512(1), test::avx512(2), test::sse(1)}) {
    for (const Flavour flavour : {Flavour::kDefault, Flavour::kWide}) {
      const auto space = derive_space(*workload, target, flavour);
      ASSERT_TRUE(space) << space.error().text();
      Rng rng(which + 1);
      std::map<std::uint64_t, int> programs;
      std::set<std::uint64_t> forms;
      const auto propose = [&](const Config& form) {
        EXPECT_EQ((*space)->canonical(form), form) << (*space)->describe(form);
        if (!forms.insert((*space)->program_number(form)).second) return;
        pairs += static_cast<double>(forms.size()) - 1;
        if (const std::uint64_t own = program_of(**space, form, target); own != 0)
          alike += programs[own]++;
      };
      for (int trial = 0; trial < 8; ++trial) {
        const Config config = any(**space, rng);
        const Config form = (*space)->canonical(config);
        SCOPED_TRACE(target.text() + " " + (*space)->describe(config) +
                     "\nform: " + (*space)->describe(form));
        ASSERT_TRUE((*space)->valid(form));
        ASSERT_EQ((*space)->program_number(config), (*space)->program_number(form));
        ASSERT_EQ(program_of(**space, config, target), program_of(**space, form, target));
        propose(form);
        propose((*space)->random(rng));
        propose((*space)->neighbour(form, rng));
      }
    }
  }
  EXPECT_LE(alike, 0.07 * pairs);  // tiny programs are written out whole, whatever their tiles
}

TEST(Forms, DifferentFormsAreDifferentPrograms) {
  double pairs = 0, alike = 0;
  for (const char* text : kPrograms) {
    const auto workload = te::parse_workload(text);
    const Target target = test::avx512(2);
    const auto space = derive_space(*workload, target, Flavour::kDefault);
    std::map<std::uint64_t, int> programs;
    int forms = 0;
    for (const Config& config : search::make_random(**space, 2)->ask(40)) {
      pairs += forms++;
      alike += programs[program_of(**space, config, target)]++;
    }
  }
  EXPECT_GT(pairs, 5000);
  EXPECT_LE(alike, 0.01 * pairs);
}

// As a search proposes them: of programs of some size one in a hundred repeats another at most.
TEST(Forms, ASearchSeldomRepeatsAProgram) {
  for (const int threads : {1, 2}) {
    int proposed = 0, repeated = 0;
    for (const int which : {2, 3, 7, 8, 9}) {
      const auto workload = te::parse_workload(kPrograms[which]);
      const Target target = test::avx512(threads);
      const auto space = derive_space(*workload, target, Flavour::kDefault);
      ASSERT_TRUE(space) << space.error().text();
      std::set<std::uint64_t> programs;
      for (const Config& config : search::make_random(**space, 1)->ask(60)) {
        ++proposed;
        repeated += !programs.insert(program_of(**space, config, target)).second;
      }
    }
    EXPECT_EQ(proposed, 300);
    EXPECT_LE(repeated, 3);
  }
}

TEST(Forms, KnobsWithoutEffectTakeTheirFirstValue) {
  const auto workload =
      te::parse_workload("A: f32[32,64]; B: f32[64,48]; C[i,j] = sum(k) A[i,k] * B[k,j]");
  const auto space = derive_space(*workload, test::avx512(), Flavour::kDefault);
  Json json = (*space)->to_json((*space)->default_config());
  json["pack.weights"] = "none";
  json["tile.v"] = 3;    // all of j
  json["block.k"] = 64;  // all of k
  const auto formed = [&](const char* knob, const Json& value) {
    json[knob] = value;
    const auto config = (*space)->from_json(json);
    EXPECT_TRUE(config) << config.error().text();
    return (*space)->to_json((*space)->canonical(*config));
  };
  EXPECT_EQ(formed("prefetch", 16384)["prefetch"], 0);
  EXPECT_EQ(formed("block.v", 3)["block.v"], 1);
  json["pack.input"] = "none";
  EXPECT_EQ(formed("order", "KVP.pv")["order"], "VPK.vp");
  json["pack.weights"] = "whole";
  EXPECT_EQ(formed("prefetch", 16384)["prefetch"], 16384);
}

TEST(Forms, APartOfASpaceIsAListOfConfigurations) {
  const auto workload =
      te::parse_workload("A: f32[4,8]; B: f32[8,16]; C[i,j] = sum(k) A[i,k] * B[k,j]");
  std::shared_ptr<const Space> whole =
      std::move(*derive_space(*workload, test::avx512(), Flavour::kDefault));
  Json kept = whole->to_json(whole->default_config());
  kept["order"] = {"VPK.vp", "PVK.vp", "KVP.vp"};
  kept["unroll.k"] = {1, 2};
  const auto part = restrict_space(whole, kept);
  ASSERT_TRUE(part) << part.error().text();
  EXPECT_EQ(all_configs(**part).size(), 6U);
  for (const Config& config : all_configs(**part)) EXPECT_EQ((*part)->canonical(config), config);
  EXPECT_EQ(count_programs(**part).programs, 6);
}

TEST(Forms, ProgramsAreCountedOrEstimated) {
  const auto tiny = te::parse_workload(kPrograms[15]);
  const auto few = derive_space(*tiny, test::avx512(), Flavour::kDefault);
  const ProgramCount counted = count_programs(**few);
  EXPECT_EQ(counted.samples, 0);
  EXPECT_LE(counted.programs, 4);  // of 18 configurations
  EXPECT_EQ((*few)->size(), 18);
  EXPECT_EQ(search::make_random(**few, 1)->ask(10'000).size(), [&] {
    std::set<std::uint64_t> programs;
    for (const Config& config : all_configs(**few)) programs.insert((*few)->program_number(config));
    return programs.size();
  }());
  const auto large = te::parse_workload(kPrograms[7]);
  const ProgramCount guessed =
      count_programs(**derive_space(*large, test::avx512(), Flavour::kDefault));
  EXPECT_GT(guessed.samples, 0);
  EXPECT_LE(guessed.uncertainty, 0.1);
}

INSTANTIATE_TEST_SUITE_P(
    All, FormsTest,
    ::testing::Combine(::testing::Range(0, static_cast<int>(std::size(kPrograms))),
                       ::testing::Bool()));

}  // namespace
}  // namespace lathe::space
