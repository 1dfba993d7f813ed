// Outputs stored past the caches: where that is a choice, where it is the default, and that it
// changes no result.
#include <gtest/gtest.h>

#include "support/random_workload.h"
#include "support/targets.h"
#include "unit/space/check_space.h"

namespace lathe::space {
namespace {

using test::avx512, test::sse;

// "none" where it is no choice; else the default's.
std::string stores_of(const std::string& text, int threads = 1) {
  const auto space = derive_space(parsed(text), avx512(threads), Flavour::kDefault);
  if (!space) throw std::runtime_error(space.error().text());
  const std::vector<Knob>& knobs = (*space)->knob_list();
  const auto found = std::ranges::find(knobs, "stores", &Knob::name);
  if (found == knobs.end()) return "none";
  return found->labels[(*space)->default_config()[static_cast<std::size_t>(found - knobs.begin())]];
}

TEST(Stores, AreAChoiceForLargeOutputsAndTheDefaultBeyondTheCaches) {
  const auto sum = [](std::int64_t n) {
    return fmt::format("A: f32[{0}]; B: f32[{0}]; C[i] = A[i] + B[i]", n);
  };
  EXPECT_EQ(stores_of(sum(1 << 20)), "none");
  EXPECT_EQ(stores_of(sum(2 << 20)), "cached");
  EXPECT_EQ(stores_of(sum(64 << 20)), "streaming");
  EXPECT_EQ(stores_of(sum((64 << 20) + 1), 2), "streaming");
  EXPECT_EQ(stores_of("X: f32[4096,8191]; Y[i,j] = X[j,i]"), "streaming");
  // Rows that do not begin at lines.
  EXPECT_EQ(stores_of("X: f32[4099,8191]; Y[i,j] = X[j,i]"), "cached");
  // Its sum takes much longer than its stores.
  EXPECT_EQ(stores_of("A: f32[4096,512]; B: f32[512,8192]; C[i,j] = sum(k) A[i,k] * B[k,j]"),
            "cached");
  // The output is small, or is read again.
  EXPECT_EQ(stores_of("X: f32[8192,8192]; Y[i] = sum(j) X[i,j]"), "none");
}

TEST(Stores, OfAwkwardShapes) {
  for (const char* text :
       {"A: f32[7,37]; B: f32[7,37]; C[i,j] = A[i,j] + B[i,j]", "X: f32[33,35]; Y[i,j] = X[j,i]",
        "X: f32[3,5,7]; Y[k,i,j] = X[i,j,k]", "X: f32[5,131]; Y[i,j:133] = X[i,j-1 else 0] * 2.0",
        "A: f32[13,9]; B: f32[9,33]; C[i,j] = sum(k) A[i,k] * B[k,j]",
        "X: f32[13,70]; E[i,j] = exp(X[i,j] - (max(k) X[i,k])); Y[i,j] = E[i,j] / (sum(k) E[i,k])"})
    for (const Target& target : {avx512(1), avx512(3), sse(1)})
      EXPECT_GT(check_stores(parsed(text), target, 6, 1), 0) << text;
  // Without a register tile, a window is summed up where the result is.
  check_stores(parsed("X: f64[2,9,11]; Y[c,y:4,x:5] = max(r:3,s:3) X[c,2*y+r,2*x+s]"), avx512(1), 6,
               1);
}

TEST(Stores, OfRandomPrograms) {
  const std::uint64_t first = asked("LATHE_RANDOM_FIRST", 0),
                      rounds = asked("LATHE_RANDOM_ROUNDS", 150);
  int streaming = 0;
  for (std::uint64_t seed = first; seed < first + rounds && !HasFailure(); ++seed) {
    Rng rng(seed);
    const te::Workload workload =
        random_workload(rng, {.dtypes = seed % 3 == 0, .max_iterations = 8'000});
    streaming +=
        check_stores(workload, seed % 4 == 0 ? sse(1) : avx512(seed % 4 == 1 ? 2 : 1), 2, seed);
  }
  EXPECT_GT(streaming, static_cast<int>(rounds / 2));
}

}  // namespace
}  // namespace lathe::space
