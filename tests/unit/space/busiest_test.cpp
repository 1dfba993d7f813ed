// How even parts are: the estimate by which starts are chosen, against a count of all parts.
#include "tuner/space/rules/shared/busiest.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "tuner/space/costs.h"

namespace lathe::space {
namespace {

// Things in each part, in the order in which threads get them.
std::vector<double> parts(const std::vector<SharedAxis>& axes) {
  std::vector<double> out = {1};
  for (const SharedAxis& axis : axes) {
    std::vector<double> finer;
    for (const double outer : out)
      for (std::int64_t at = 0; at < axis.count; at += axis.block)
        finer.push_back(outer * static_cast<double>(std::min(axis.block, axis.count - at)));
    out = std::move(finer);
  }
  return out;
}

double counted(const std::vector<SharedAxis>& axes, int threads) {
  const std::vector<double> all = parts(axes);
  const auto count = static_cast<std::int64_t>(all.size());
  double most = 0, sum = 0;
  for (std::int64_t t = 0; t < threads; ++t) {
    double own = 0;
    for (std::int64_t i = count * t / threads; i < count * (t + 1) / threads; ++i)
      own += all[static_cast<std::size_t>(i)];
    most = std::max(most, own);
    sum += own;
  }
  return most / sum;
}

TEST(Busiest, IsTheShareOfTheThreadWithMost) {
  const std::vector<SharedAxis> tiles = {{14, 1}, {4, 1}};
  EXPECT_EQ(parts_of(tiles), 56);
  EXPECT_DOUBLE_EQ(busiest_share(tiles, 1), 1);
  EXPECT_DOUBLE_EQ(busiest_share(tiles, 8), 1.0 / 8);
  EXPECT_DOUBLE_EQ(busiest_share(tiles, 16), 4.0 / 56);
  EXPECT_DOUBLE_EQ(busiest_share(tiles, 64), 1.0 / 56);
  const SharedAxis one{7, 3};  // parts of 3, 3, 1
  EXPECT_DOUBLE_EQ(busiest_share({&one, 1}, 2), 6.0 / 7);
  EXPECT_DOUBLE_EQ(busiest_share({&one, 1}, 3), 3.0 / 7);
  EXPECT_DOUBLE_EQ(busiest_share({}, 8), 1);
}

// Never less than it is, and hardly more.
TEST(Busiest, IsAboutWhatCountingTells) {
  Rng rng(1);
  double more = 0;
  constexpr int kRounds = 3000;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<SharedAxis> axes;
    for (std::uint64_t a = 1 + rng.below(3); a > 0; --a) {
      const auto count = static_cast<std::int64_t>(1 + rng.below(23));
      axes.push_back({count, static_cast<std::int64_t>(1 + rng.below(count))});
    }
    const auto threads = static_cast<int>(1 + rng.below(64));
    const double told = busiest_share(axes, threads), is = counted(axes, threads);
    EXPECT_GE(told, is - 1e-12) << "round " << round;
    more += told / is;
  }
  EXPECT_LT(more / kRounds, 1.03);
}

TEST(ThreadCosts, GrowWithThreads) {
  EXPECT_EQ(start_cycles(1), 0);
  EXPECT_EQ(meet_cycles(1), 0);
  for (int threads = 2; threads < 128; ++threads) {
    EXPECT_GT(start_cycles(threads), start_cycles(threads - 1));
    EXPECT_GT(meet_cycles(threads), meet_cycles(threads - 1));
    EXPECT_LE(share_of_l3(threads), share_of_l3(threads - 1));
    EXPECT_LE(share_of_memory(threads), share_of_memory(threads - 1));
    // All together get no less from memory than fewer do.
    EXPECT_GE(threads * share_of_memory(threads) * (1 + 1e-12),
              (threads - 1) * share_of_memory(threads - 1));
  }
}

}  // namespace
}  // namespace lathe::space
