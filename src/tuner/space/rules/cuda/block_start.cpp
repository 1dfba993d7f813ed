#include "tuner/space/rules/cuda/block_start.h"

#include <algorithm>

#include "tuner/space/rules/cuda/block_cost.h"
#include "tuner/space/rules/cuda/card_limits.h"

namespace lathe::space {
namespace {

using Values = std::vector<std::int64_t>;

constexpr std::int64_t kFewestSums = 4, kMostSums = 64, kMostThreads = 512, kWholeWarp = 32;
constexpr std::int64_t kChunkTerms = 32;
constexpr double kMostStaged = 64 << 10;
constexpr int kStagesAtStart = 2;

class BlockChooser {
 public:
  BlockChooser(const BlockRule& rule, const Derived& derived)
      : rule_(rule), derived_(derived), model_(rule) {}

  std::vector<Values> find() {
    try_tiles();
    std::ranges::stable_sort(found_, {}, &BlockTiling::cycles);
    std::vector<Values> out;
    std::vector<std::pair<std::int64_t, std::int64_t>> splits;
    for (const BlockTiling& tiling : found_) {
      const std::pair split(tiling.groups, tiling.parts);
      if (std::ranges::find(splits, split) != splits.end()) continue;
      Values start = values_of(tiling);
      if (!keeps_limits(derived_, start, sizes_)) continue;
      splits.push_back(split);
      out.push_back(std::move(start));
      if (out.size() == kStarts) break;
    }
    return out;
  }

 private:
  static constexpr std::size_t kStarts = 4;
  static constexpr std::size_t kKept = 4000;  // tilings, when the worst are dropped

  const Values& choices(int knob) const {
    static const Values k_one = {1};
    return knob < 0 ? k_one : rule_.knobs[static_cast<std::size_t>(knob)].values;
  }

  void try_tiles() {
    const BlockKnobs& at = rule_.at;
    BlockTiling t;
    for (const std::int64_t v : choices(at.v))
      for (const std::int64_t p0 : choices(at.p0))
        for (const std::int64_t p1 : choices(at.p1)) {
          t.v = v, t.p0 = p0, t.p1 = p1;
          const std::int64_t sums = v * rule_.width * p0 * p1;
          if (sums <= kMostSums && (sums >= kFewestSums || is_small())) try_blocks(t);
        }
  }
  bool is_small() const {
    constexpr std::int64_t kFewResults = 1024;
    const ItemStage& main = rule_.main;
    return main.extent(main.axes.vector) * main.extent(main.pixel(0)) < kFewResults;
  }

  void try_blocks(BlockTiling t) {
    const BlockKnobs& at = rule_.at;
    for (const std::int64_t of_v : choices(at.of_v))
      for (const std::int64_t of_p0 : choices(at.of_p0))
        for (const std::int64_t of_p1 : choices(at.of_p1)) {
          t.of_v = of_v, t.of_p0 = of_p0, t.of_p1 = of_p1;
          if (of_v * of_p0 * of_p1 > kMostThreads) continue;
          pad_rows(t);
          try_splits(t);
        }
  }

  // With the fewest elements between rows for which the fewest accesses meet in a bank.
  void pad_rows(BlockTiling& t) const {
    t.pad = 0;
    t.conflicts = model_.conflicts_of(t);
    if (rule_.at.pad < 0) return;
    BlockTiling other = t;
    for (const std::int64_t pad : choices(rule_.at.pad)) {
      if (t.conflicts <= 1) return;
      other.pad = pad;
      other.conflicts = model_.conflicts_of(other);
      if (other.conflicts < t.conflicts) t = other;
    }
  }

  void try_splits(BlockTiling t) {
    const auto with_one = [&](int knob) {
      Values values = choices(knob);
      values.insert(values.begin(), 1);
      return values;
    };
    for (const std::int64_t groups : with_one(rule_.at.groups)) {
      t.groups = groups;
      const std::int64_t threads = t.of_v * t.of_p0 * t.of_p1 * groups;
      if (threads > kMostThreads || threads % kWholeWarp != 0) continue;
      for (const std::int64_t parts : with_one(rule_.at.parts)) {
        t.parts = parts;
        t.chunk = chunk_of(t);
        t.cycles = model_.cycles_of(t);
        keep(t);
      }
    }
  }

  void keep(const BlockTiling& t) {
    found_.push_back(t);
    if (found_.size() < 2 * kKept) return;
    std::ranges::nth_element(found_, found_.begin() + kKept, {}, &BlockTiling::cycles);
    found_.resize(kKept);
  }

  // As many terms as are wanted, and fit.
  std::int64_t chunk_of(const BlockTiling& t) const {
    const std::int64_t most =
        std::max<std::int64_t>(1, std::min(kChunkTerms, model_.terms() / t.parts) / t.groups);
    std::int64_t best = 1;
    for (const std::int64_t chunk : choices(rule_.at.chunk)) {
      BlockTiling wanted = t;
      wanted.chunk = chunk;
      if (chunk <= most && kStagesAtStart * model_.staged_bytes(wanted) <= kMostStaged)
        best = std::max(best, chunk);
    }
    return best;
  }

  Values values_of(const BlockTiling& t) const {
    const BlockKnobs& at = rule_.at;
    Values out = first_values(rule_.knobs);
    const auto set = [&](int knob, std::int64_t value) {
      if (knob >= 0) out[static_cast<std::size_t>(knob)] = value;
    };
    set(at.v, t.v), set(at.p0, t.p0), set(at.p1, t.p1);
    set(at.of_v, t.of_v), set(at.of_p0, t.of_p0), set(at.of_p1, t.of_p1);
    set(at.chunk, t.chunk), set(at.pad, t.pad);
    set(at.unroll, unrolled(t));
    set(at.has_groups, t.groups > 1 ? 1 : 0);
    if (t.groups > 1) set(at.groups, t.groups);
    set(at.has_parts, t.parts > 1 ? 1 : 0);
    if (t.parts > 1) set(at.parts, t.parts);
    set(at.stages, kStagesAtStart - 1);
    set(at.taps, model_.taps() <= kTapsWritten ? 2 : 1);
    return out;
  }
  static constexpr double kTapsWritten = 9;

  std::int64_t unrolled(const BlockTiling& t) const {
    constexpr double kWritten = 256;
    const double products = static_cast<double>(t.v * rule_.width * t.p0 * t.p1) * model_.taps();
    std::int64_t best = 1;
    for (const std::int64_t u : choices(rule_.at.unroll))
      if (u <= t.chunk && static_cast<double>(u) * products <= kWritten) best = std::max(best, u);
    return best;
  }

  const BlockRule& rule_;
  const Derived& derived_;
  BlockModel model_;
  std::vector<BlockTiling> found_;
  std::vector<std::int64_t> sizes_;
};

}  // namespace

std::vector<std::vector<std::int64_t>> block_starts(const BlockRule& rule, const Derived& derived) {
  return BlockChooser(rule, derived).find();
}

}  // namespace lathe::space
