// What algebra rewrites, as machine code against the evaluation of the expression: bands, blocks,
// one-hot products and sliding windows of odd sizes, windows that go along one dimension first,
// divisions that leave a sum, what several statements have in common, and terms that need other
// iterators each.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "unit/space/built_program.h"
#include "unit/space/check_space.h"

namespace lathe::space {
namespace {

// {0} to {3} are sizes, {4} and {5} small numbers.
constexpr const char* kKinds[] = {
    "A: f32[{0},{0}]; X: f32[{0},{1}]\n"
    "Y[i,c] = sum(j) select(abs(i-j) <= {4}, A[i,j]*X[j,c], 0)",
    "A: f32[{0},{0}]; B: f32[{0},{1}]\nY[i,o] = sum(j) select(j <= i, A[i,j]*B[j,o], 0)",
    "A: f32[{0},{0}]; B: f32[{0},{1}]\nY[o,i] = sum(j) select({4}*j >= i + {5}, A[i,j]*B[j,o], 0)",
    "X: f32[{1},{0}]\nY[c,t:{0}] = sum(s:{0}) select(s <= t && s > t - {4}, X[c,s], 0)",
    "X: f32[{1},{0}]\nY[c,t:{0}] = max(s:{0}) select(s >= t - {4} && s <= t + {5}, X[c,s], -inf)",
    "h: f32[{4}]; x: f32[{0}]\nY[t:{0}] = sum(s:{0}) h[t-s else 0] * x[s]",
    "h: f32[{1},{4}]; x: f32[{1},{0}]\n"
    "Y[c,t:{0}] = sum(s:{0}) select(s <= t && t-s < {4}, h[c,min(max(t-s,0),{4}-1)]*x[c,s], 0)",
    "I: i32[{1}] in -2..{0}; W: f32[{0},{2}]\nY[n,o] = sum(k) f32(i64(I[n]) == k) * W[k,o]",
    "I: i16[{0}] in 0..{1}; X: f32[{0},{2}]\n"
    "Y[b:{1},c] = sum(i) select(i64(I[i]) == b, X[i,c], 0)",
    "X: f32[{2},{0}]\nY[c,y:{1}] = max(h:{0}) select(h/{4} == y, X[c,h], -inf)",
    "X: f32[{0},{1}]\nY[y:{0},x:{1}] = max(r:7,s:5) X[y+r-3,x+s-2 else -inf]",
    "X: f32[{0},{1}]; g: f32[{4}]; h: f32[{5}]\n"
    "Y[y:{0},x:{1}] = sum(r,s) X[y+r-1,x+s-1 else 0]*g[r]*h[s]",
    "A: f32[{0},{1}]; B: f32[{1},{2}]; p: f32[{1}] in 1..2; q: f32[{0}] in 1..2\n"
    "Y[i,j] = sum(k) A[i,k]*B[k,j] / (p[k]*q[i])",
    "X: f32[{3},{0},{1}]; W: f32[{2},{3},3,3]\n"
    "Y[o,y:{0},x:{1}] = sum(c,r,s) X[c,y+r-1,x+s-1 else 0]*sigmoid(X[c,y+r-1,x+s-1 else 0])*"
    "W[o,c,r,s]",
    "X: f32[{0},{1}]; V: f32[{1},{2}]\n"
    "Y[i,o] = (sum(k) exp(X[i,k])*V[k,o]) / (sum(k) exp(X[i,k])) + (sum(k) exp(X[i,k]))",
    "X: f32[{0},{1}]; m: f32[{1}]\nY[i,j] = sum(n) (X[n,i] - m[i]) * (X[n,j] - m[j])",
    "X: f32[{0},{0}]\n"
    "M[i] = max(j) select(j <= i, X[i,j], -inf)\n"
    "Y[i,j:{0}] = exp(select(j <= i, X[i,j], -inf) - M[i])",
    "A: f32[{0},{1}]; B: f32[{0},{2}]; c: f32[{0}]\n"
    "Y[a] = max(b,d) (A[a,b] - tanh(B[a,d]) + c[a])",
    "A: f32[{0},{1}]; B: f32[{0},{2}]\nY[a,e:{4}] = sum(b,d) (A[a,b] - 2*B[a,d] + 0.5)",
    "A: f16[{0},{1}]; B: f16[{0},{2}]\nY[a] = min(b,d) (A[a,b] + B[a,d])",
    "A: f32[{0},{1}]; b: f32[{0}]\nY[a,d:{2}] = max(k) (A[a,k] + b[a])*2",
    "X: i8[{0},{1}]; Z: i8[{2},{1}]\nY[a,c] = sum(k) (X[a,k] + Z[c,k] + X[a,k]*Z[c,k])",
    "A: f32[{0},{1}]; B: f32[{0},{1}]; C: f32[{1},{2}]\n"
    "Y[i,j] = sum(k) (A[i,k]*C[k,j] - B[i,k]*C[k,j]/3 + A[i,k])",
    "X: f32[{1},{0}]\nY[i,t:{0}] = sum(s) select(s <= t, exp(X[i,s]), 0)",
};

TEST(Rewritten, ProgramsOfOddSizesComputeWhatTheExpressionSays) {
  const std::uint64_t first = asked("LATHE_RANDOM_FIRST", 0),
                      rounds = asked("LATHE_RANDOM_ROUNDS", 96);
  const auto targets = testing::runnable_targets();
  for (std::uint64_t seed = first; seed < first + rounds && !HasFailure(); ++seed) {
    Rng rng(seed);
    const auto size = [&] { return rng.chance(0.2) ? rng.between(1, 4) : rng.between(5, 53); };
    const std::string text =
        fmt::format(fmt::runtime(kKinds[seed % std::size(kKinds)]), size(), size(), size(),
                    rng.between(1, 6), rng.between(2, 7), rng.between(1, 5));
    const te::Workload workload = parsed(text);
    const Target& target = targets[seed / 2 % targets.size()];
    SCOPED_TRACE(fmt::format("seed {} {}\n{}", seed, target.text(), text));
    const auto space = derive_space(workload, target, Flavour::kDefault);
    ASSERT_TRUE(space) << space.error().text();
    const Candidate candidate(workload, rng);
    for (const Config& config : {(*space)->default_config(), (*space)->random(rng)})
      ASSERT_EQ(candidate.what_is_wrong(**space, config, target), "") << (*space)->describe(config);
  }
}

}  // namespace
}  // namespace lathe::space
