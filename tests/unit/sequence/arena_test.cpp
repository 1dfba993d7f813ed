#include "compiler/sequence/arena.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace lathe::sequence {
namespace {

TEST(Arena, AChainTakesItsTwoLargestNeighbours) {
  const std::vector<Lifetime> chain = {{640, 0, 1}, {6400, 1, 2}, {1280, 2, 3}, {640, 3, 4}};
  const Arena arena = arena_for(chain);
  EXPECT_EQ(arena.bytes, 7680);
  EXPECT_EQ(most_at_once(chain), 7680);
}

TEST(Arena, WhatLivesThroughoutIsKept) {
  const std::vector<Lifetime> items = {{64, 0, 9}, {128, 0, 1}, {128, 2, 3}, {128, 4, 9}};
  EXPECT_EQ(arena_for(items).bytes, 192);
}

TEST(Arena, NothingTakesNothing) {
  EXPECT_EQ(arena_for({}).bytes, 0);
  EXPECT_EQ(most_at_once({}), 0);
  const std::vector<Lifetime> empty = {{0, 0, 3}, {1, 1, 1}, {0, 1, 2}};
  EXPECT_EQ(arena_for(empty).bytes, kAlignment);
}

TEST(Arena, RandomOnesNeverOverlapAndAreNeverLargerThanAllBesideEachOther) {
  double least = 0, taken = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    Rng rng(seed);
    std::vector<Lifetime> items(1 + rng.below(40));
    std::int64_t all = 0;
    for (Lifetime& item : items) {
      item.bytes = static_cast<std::int64_t>(rng.below(2) == 0 ? rng.below(200) : rng.below(9000));
      item.first = static_cast<int>(rng.below(30));
      item.last = item.first + static_cast<int>(rng.below(rng.below(3) == 0 ? 20 : 3));
      all += (item.bytes + kAlignment - 1) / kAlignment * kAlignment;
    }
    const Arena arena = arena_for(items);
    for (std::size_t a = 0; a < items.size(); ++a) {
      EXPECT_EQ(arena.offsets[a] % kAlignment, 0);
      EXPECT_LE(arena.offsets[a] + items[a].bytes, arena.bytes) << "seed " << seed;
      for (std::size_t b = 0; b < a; ++b) {
        const bool together = items[a].first <= items[b].last && items[b].first <= items[a].last;
        const bool overlap = arena.offsets[a] < arena.offsets[b] + items[b].bytes &&
                             arena.offsets[b] < arena.offsets[a] + items[a].bytes;
        EXPECT_FALSE(together && overlap) << "seed " << seed << ": " << b << " and " << a;
      }
    }
    EXPECT_GE(arena.bytes, most_at_once(items)) << "seed " << seed;
    EXPECT_LE(arena.bytes, all) << "seed " << seed;
    least += static_cast<double>(most_at_once(items)), taken += static_cast<double>(arena.bytes);
  }
  EXPECT_LE(taken, 1.05 * least);
}

}  // namespace
}  // namespace lathe::sequence
