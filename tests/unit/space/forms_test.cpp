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
#include "tuner/space/space.h"
#include "tuner/space/template.h"

namespace lathe::space {
namespace {

constexpr const char* kPrograms[] = {
    "A: f32[23,19]; B: f32[23,37]; C[i,j] = sum(k) A[k,i] * B[k,j]",
    "A: f32[32,64]; B: f32[64,48]; C[i,j] = sum(k) A[i,k] * B[k,j]",
    "A: f32[128,128]; B: f32[128,200]; C[i,j] = sum(k) A[i,k] * B[k,j]",
    "A: f32[4,40,24]; B: f32[4,24,56]; C[b,i,j] = sum(k) A[b,i,k] * B[b,k,j]",
    "A: f32[31,17]; B: f32[17]; C[i] = sum(k) A[i,k] * B[k]",
    "X: f32[3,29]; const W: f32[35,29]; const B: f32[35]; Y[n,o] = max(sum(k) X[n,k]*W[o,k] + B[o], 0)",
    "X: f32[1,19,7,9]; const W: f32[33,19,3,3]; Y[n,o,y:7,x:9] = sum(c,r,s) X[n,c,y+r-1,x+s-1 else 0] * W[o,c,r,s]",
    "X: f32[1,32,14,14]; const W: f32[64,32,3,3]; Y[n,o,y:14,x:14] = sum(c,r,s) X[n,c,y+r-1,x+s-1 else 0] * W[o,c,r,s]",
    "X: f32[2,3,13,11]; const W: f32[20,3,5,5]; Y[n,o,y:7,x:6] = sum(c,r,s) X[n,c,2*y+r-2,2*x+s-2 else 0] * W[o,c,r,s]",
    "X: f32[1,32,5,7]; const W: f32[48,32]; const B: f32[48]; R: f32[1,48,5,7]; "
    "Y[n,o,y,x] = max(sum(c) X[n,c,y,x] * W[o,c] + B[o] + R[n,o,y,x], 0)",
    "X: f32[1,21,8,6]; const W: f32[21,3,3]; Y[n,c,y:8,x:6] = sum(r,s) X[n,c,y+r-1,x+s-1 else 0] * W[c,r,s]",
    "X: f32[1,2,9,6,6]; const W: f32[2,18,9,3,3]; Y[n,g,o,y:6,x:6] = sum(c,r,s) X[n,g,c,y+r-1,x+s-1 else 0] * W[g,o,c,r,s]",
    "X: f32[1,5,9,9]; Y[n,c,y:4,x:4] = max(r:3,s:3) X[n,c,2*y+r,2*x+s]",
    "X: f32[13,29]; B: f32[29]; Y[i,j] = max(X[i,j] * 2.0 + B[j], 0)",
    "X: f32[7,33]; S[i] = sum(j) X[i,j]; Y[i,j] = X[i,j] - S[i]",
    "A: f32[1,1]; B: f32[1,1]; C[i,j] = sum(k) A[i,k] * B[k,j]",
    "A: f32[1,64]; B: f32[64,1]; C[i,j] = sum(k) A[i,k] * B[k,j]",
    "A: f32[40,1]; B: f32[1,72]; C[i,j] = sum(k) A[i,k] * B[k,j]",
    "X: f32[1,1,8,8]; const W: f32[1,1,3,3]; Y[n,o,y:6,x:6] = sum(c,r,s) X[n,c,y+r,x+s] * W[o,c,r,s]",
};

std::uint64_t program_of(const Space& space, const Config& config, const Target& target) {
  ir::Nest nest = te::naive_nest(space.program());
  const auto applied = schedule::apply(nest, space.trace(config), space.program().contract.free_layout);
  EXPECT_TRUE(applied);
  const auto flat = lower::lower(ir::SizedNest(nest, {}), target);
  return flat ? flat::hash(*flat) : 0;  // 0: too much code, which the wide space holds
}

// Of the valid configurations, not brought to their form.
Config any(const Space& space, Rng& rng) {
  Config config(static_cast<std::size_t>(space.knobs()));
  do {
    for (int k = 0; k < space.knobs(); ++k) config[k] = static_cast<std::uint16_t>(rng.below(space.values(k)));
  } while (!space.valid(config));
  return config;
}

class FormsTest : public ::testing::TestWithParam<std::tuple<int, bool>> {};

TEST_P(FormsTest, OneFormIsOneProgram) {
  const auto [which, free_layout] = GetParam();
  auto program = te::parse_program(kPrograms[which]);
  ASSERT_TRUE(program) << program.error().text();
  program->contract.free_layout = free_layout;
  int proposed = 0, repeated = 0;
  for (const Target& target : {test::avx512(1), test::avx512(2), test::sse(1)}) {
    for (const Flavour flavour : {Flavour::kDefault, Flavour::kWide}) {
      const auto space = derive_space(*program, target, flavour);
      ASSERT_TRUE(space) << space.error().text();
      Rng rng(which + 1);
      std::map<std::uint64_t, Config> programs;
      std::set<std::uint64_t> forms;
      const auto propose = [&](const Config& form) {
        EXPECT_EQ((*space)->canonical(form), form) << (*space)->describe(form);
        if (!forms.insert((*space)->program_number(form)).second) return;
        ++proposed;
        const std::uint64_t own = program_of(**space, form, target);
        const auto [known, added] = programs.emplace(own, form);
        repeated += !added && own != 0;
        if (!added && own != 0) fmt::print("REPEAT {}\n  {}\n  {}\n", kPrograms[which], (*space)->describe(known->second), (*space)->describe(form));
      };
      for (int trial = 0; trial < 16; ++trial) {
        const Config config = any(**space, rng);
        const Config form = (*space)->canonical(config);
        SCOPED_TRACE(target.text() + " " + (*space)->describe(config) + "\nform: " + (*space)->describe(form));
        ASSERT_TRUE((*space)->valid(form));
        ASSERT_EQ(program_of(**space, config, target), program_of(**space, form, target));
        propose(form);
        propose((*space)->random(rng));
        propose((*space)->neighbour(form, rng));
      }
    }
  }
  fmt::print("{} of {} repeat\n", repeated, proposed);
}

INSTANTIATE_TEST_SUITE_P(All, FormsTest, ::testing::Combine(::testing::Range(0, static_cast<int>(std::size(kPrograms))), ::testing::Bool()));

}  // namespace
}  // namespace lathe::space
