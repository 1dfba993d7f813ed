#include "compiler/sequence/arena.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace lathe::sequence {
namespace {

bool meet(const Lifetime& a, const Lifetime& b) { return a.first <= b.last && b.first <= a.last; }

// Each in the smallest gap that takes it among those before it in the order; else at the end.
Arena placed(std::span<const Lifetime> lifetimes, const std::vector<std::size_t>& order) {
  Arena arena{std::vector<std::int64_t>(lifetimes.size(), 0), 0};
  std::vector<std::size_t> by_offset;  // those that have a place
  for (const std::size_t item : order) {
    const std::int64_t bytes = aligned(lifetimes[item].bytes);
    std::int64_t end = 0, best = -1, best_gap = 0;
    for (const std::size_t other : by_offset) {
      if (!meet(lifetimes[item], lifetimes[other])) continue;
      const std::int64_t gap = arena.offsets[other] - end;
      if (gap >= bytes && (best < 0 || gap < best_gap)) best = end, best_gap = gap;
      end = std::max(end, arena.offsets[other] + aligned(lifetimes[other].bytes));
    }
    arena.offsets[item] = best < 0 ? end : best;
    arena.bytes = std::max(arena.bytes, arena.offsets[item] + bytes);
    const auto before = [&](std::size_t a, std::size_t b) {
      return arena.offsets[a] < arena.offsets[b];
    };
    by_offset.insert(std::ranges::upper_bound(by_offset, item, before), item);
  }
  return arena;
}

}  // namespace

Arena arena_for(std::span<const Lifetime> lifetimes) {
  std::vector<std::size_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  Arena in_turn = placed(lifetimes, order);
  std::ranges::stable_sort(order, std::greater{},
                           [&](std::size_t item) { return lifetimes[item].bytes; });
  Arena by_size = placed(lifetimes, order);
  return by_size.bytes <= in_turn.bytes ? by_size : in_turn;
}

std::int64_t most_at_once(std::span<const Lifetime> lifetimes) {
  std::map<int, std::int64_t> change;
  for (const Lifetime& item : lifetimes) {
    change[item.first] += aligned(item.bytes);
    change[item.last + 1] -= aligned(item.bytes);
  }
  std::int64_t now = 0, most = 0;
  for (const auto& [step, bytes] : change) most = std::max(most, now += bytes);
  return most;
}

}  // namespace lathe::sequence
