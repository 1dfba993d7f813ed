// What algebra keeps or has computed again: where that is a choice, what a search starts with, and
// that each way computes the program.
#include <map>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/sanitized.h"
#include "support/targets.h"
#include "tuner/space/knob_meaning.h"
#include "unit/space/check_space.h"

namespace lathe::space {
namespace {

using test::avx2, test::avx512, test::sse;

std::string scaled(int n, int rows, int columns) {
  return fmt::format("X: f32[{0},{1},{2}]; G: f32[{1},{2}]\nY[n,i,j] = X[n,i,j] * sigmoid(G[i,j])",
                     n, rows, columns);
}

std::unique_ptr<Space> space_for(const std::string& text, const Target& target) {
  auto space = derive_space(parsed(text), target, Flavour::kDefault);
  if (!space) throw std::runtime_error(space.error().text());
  return std::move(*space);
}

// "none" where there is no such knob; else the default's value.
std::string kept_in(const std::string& text, int threads = 1) {
  const auto space = space_for(text, avx512(threads));
  const Json json = space->to_json(space->default_config());
  return json.contains("algebra.kept") ? json["algebra.kept"].get<std::string>() : "none";
}

TEST(Again, IsAChoiceWhereBothWaysCanWin) {
  EXPECT_EQ(kept_in("X: f32[64,100,100]; M[i,j] = X[0,i,j] / 3 + exp(X[1,i,j])\n"
                    "U[i,j] = M[i,j] * 2; V[i,j] = tanh(M[i,j]); Y[n:4,i,j] = X[n,i,j] * M[i,j]"),
            "kept");
  // A tile of two rows computes it once.
  EXPECT_EQ(kept_in(scaled(2, 200, 300)), "again");
  // Values that leave the caches, which a pass would write there and read twice.
  EXPECT_EQ(kept_in(scaled(2, 4096, 4096)), "again");
  EXPECT_EQ(kept_in("X: f32[2,4096,4096]; G: f32[4096,4096]\nT[i,j] = sigmoid(G[i,j])\n"
                    "Y[n,i,j] = X[n,i,j] * T[i,j]"),
            "again");
  // Threads would meet once more.
  EXPECT_EQ(kept_in(scaled(2, 40, 50), 64), "again");
}

TEST(Again, IsNoChoiceElsewhere) {
  EXPECT_EQ(kept_in("X: f32[64,1000]; M[i] = max(j) X[i,j]; E[i,j] = exp(X[i,j] - M[i])\n"
                    "S[i] = sum(j) E[i,j]; Y[i,j] = E[i,j] / S[i]"),
            "none");
  EXPECT_EQ(kept_in("X: f32[64,256]; W: f32[256,256]\nY[i,o] = sum(k) exp(X[i,k]) * W[k,o]"),
            "none");
  EXPECT_EQ(kept_in("X: f32[2,200,300]; const G: f32[200,300]\n"
                    "Y[n,i,j] = X[n,i,j] * sigmoid(G[i,j])"),
            "none");
  EXPECT_EQ(kept_in("X: f32[64,256]; Y[i,j] = exp(X[i,j])"), "none");
  EXPECT_EQ(kept_in("A: f32[64,256]; B: f32[256,99]; C[i,j] = sum(k) A[i,k] * B[k,j]"), "none");
}

TEST(Again, HasKnobsOfItsOwn) {
  const auto space = space_for(scaled(2, 200, 300), avx512());
  std::size_t own = 0;
  for (const Knob& knob : space->knob_list()) {
    EXPECT_NE(knob_meaning(knob.name), "") << knob.name;
    own += knob.name.starts_with("again.") ? 1 : 0;
  }
  EXPECT_GT(own, 2U);
  for (const Config& start : space->starts()) {
    const Json json = space->to_json(start);
    const bool again = json["algebra.kept"] == "again";
    EXPECT_EQ(json.contains("tile.v"), !again);
    EXPECT_EQ(json.contains("again.tile.v"), again);
    EXPECT_EQ(space->from_json(json).value(), start);
  }
  EXPECT_EQ(space->starts().size(), 2U);
}

// {0} to {3} are sizes, {4} a small one.
constexpr const char* kKinds[] = {
    "X: f32[{4},{0},{1}]; G: f32[{0},{1}]\nY[n,i,j] = X[n,i,j] * sigmoid(G[i,j])",
    "X: f32[{0},{4},{1}]; G: f32[{0},{1}]; H: f32[{4},{1}]\n"
    "Y[i,n,j] = X[i,n,j] / (exp(G[i,j]) + 1) + tanh(H[n,j])",
    "X: f32[{0},{1}]; W: f32[{1},{4}]\nY[i,o] = sum(k) exp(X[i,k]) * W[k,o]",
    "X: f32[{0},{1}]; W: f32[{1},{4}]\nY[i,o] = max(k) (X[i,k] + log(abs(W[k,o]) + 1))",
    "X: f32[{2},{0},{1}]; W: f32[{4},{2},2,2]\n"
    "Y[o,y:{0},x:{1}] = sum(c,r,s) tanh(X[c,y+r-1,x+s else 0]) * W[o,c,r,s]",
    "X: f32[{0},{1}]; G: f32[{1}]\nS[i] = sum(j) X[i,j] * sigmoid(G[j])\n"
    "Y[i,j] = X[i,j] * sigmoid(G[j]) / (abs(S[i]) + 1)",
    "X: f32[{4},{0},{1}]; G: f32[{0},{1}]\n"
    "Y[n,i,t] = Y[n,i,t-1 else 0] * 0.5 + X[n,i,t] * sigmoid(G[i,t])",
    "X: f32[{4},{0},{1}]; G: f32[{0},{1}]; T[i,j] = tanh(G[i,j]) + 0.5; U[i,j] = T[i,j] / 3\n"
    "Y[n,i,j] = X[n,i,j] * T[i,j] * T[i,j] - U[i,j]",
    "X: f16[{4},{0},{1}]; G: f16[{0},{1}]\nY[n,i,j] = X[n,i,j] * exp(G[i,j])",
    "X: f32[{4},{0},{1}]; G: f32[{0},{1}]\n"
    "T[n,i,j] = X[n,i,j] * sigmoid(G[i,j]); Y[n,i:{0},j:{1}] = T[n,i,j-1 else 0] + T[n,i,j]",
};

TEST(Again, BothWaysComputeRandomPrograms) {
  const std::uint64_t first = asked("LATHE_RANDOM_FIRST", 0),
                      rounds = asked("LATHE_RANDOM_ROUNDS", 90);
  std::map<std::string, int> found;
  std::uint64_t offered = 0;
  for (std::uint64_t seed = first; seed < first + rounds && !HasFailure(); ++seed) {
    Rng rng(seed);
    const auto size = [&] { return rng.chance(0.1) ? rng.between(1, 4) : rng.between(5, 47); };
    const std::string text = fmt::format(fmt::runtime(kKinds[seed % std::size(kKinds)]), size(),
                                         size(), rng.between(1, 5), size(), rng.between(2, 5));
    const Target targets[] = {avx512(1), sse(1), avx2(2), avx512(5)};
    const auto checked =
        check_choices(parsed(text), targets[rng.below(4)], "algebra.kept", 4, seed);
    offered += checked.empty() ? 0 : 1;
    for (const auto& [label, count] : checked) found[label] += count;
  }
  EXPECT_GT(offered, rounds / 3);
  EXPECT_GT(found["kept"], 0);
  EXPECT_GT(found["again"], 0);
}

}  // namespace
}  // namespace lathe::space
