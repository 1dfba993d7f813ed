#include "tuner/space/rules/cuda/block_start.h"

#include <algorithm>
#include <cmath>

namespace lathe::space {
namespace {

using Values = std::vector<std::int64_t>;

constexpr double kWarpThreads = 32, kSchedulers = 4;
// A launch, first loads from memory, and what follows the last sum; a second kernel.
constexpr double kStartCycles = 2500, kKernelCycles = 2300;
// Bytes that a multiprocessor gets a cycle from the second cache.
constexpr double kStagedRate = 32;
constexpr double kOverlapped = 0.4;  // the share of the shorter of two that is not hidden
constexpr double kMoreRegisters = 40;
// Instructions: of a copy, around a chunk, around a term.
constexpr double kCopyInstructions = 3, kChunkInstructions = 30, kTermInstructions = 4;
constexpr std::int64_t kFewestSums = 4, kMostSums = 64, kMostThreads = 512;
constexpr std::int64_t kChunkTerms = 32;
constexpr double kMostStaged = 64 << 10;
constexpr int kStagesAtStart = 2;

double ceil_of(double a, double b) { return std::ceil(a / b); }

// A way to tile, without the structural knobs.
struct BlockTiling {
  std::int64_t v = 1, p0 = 1, p1 = 1, of_v = 1, of_p0 = 1, of_p1 = 1;
  std::int64_t groups = 1, parts = 1, chunk = 1;
  double cycles = 0;
};

class BlockChooser {
 public:
  BlockChooser(const BlockRule& rule, const Derived& derived)
      : rule_(rule), main_(rule.main), derived_(derived) {
    extent_v_ = main_.extent(main_.axes.vector);
    extent_p0_ = main_.extent(main_.pixel(0));
    extent_p1_ = main_.extent(main_.pixel(1));
    terms_ = main_.extent(main_.axes.reduce);
    for (const int b : main_.axes.batch) batch_ *= static_cast<double>(main_.extent(b));
    for (const int t : main_.axes.taps) taps_ *= static_cast<double>(main_.extent(t));
  }

  std::vector<Values> find() {
    try_tiles();
    std::ranges::stable_sort(found_, {}, &BlockTiling::cycles);
    std::vector<Values> out;
    std::vector<std::pair<std::int64_t, std::int64_t>> splits;
    for (const BlockTiling& tiling : found_) {
      const std::pair split(tiling.groups, tiling.parts);
      if (std::ranges::find(splits, split) != splits.end()) continue;
      Values start = values_of(tiling);
      if (!fits(start)) continue;
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
    static const Values kOne = {1};
    return knob < 0 ? kOne : rule_.knobs[static_cast<std::size_t>(knob)].values;
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
  bool is_small() const { return extent_v_ * extent_p0_ < 1024; }

  void try_blocks(BlockTiling t) {
    const BlockKnobs& at = rule_.at;
    for (const std::int64_t of_v : choices(at.of_v))
      for (const std::int64_t of_p0 : choices(at.of_p0))
        for (const std::int64_t of_p1 : choices(at.of_p1)) {
          t.of_v = of_v, t.of_p0 = of_p0, t.of_p1 = of_p1;
          if (of_v * of_p0 * of_p1 <= kMostThreads) try_splits(t);
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
      if (threads > kMostThreads || threads % static_cast<std::int64_t>(kWarpThreads) != 0)
        continue;
      for (const std::int64_t parts : with_one(rule_.at.parts)) {
        t.parts = parts;
        t.chunk = chunk_of(t);
        t.cycles = cycles_of(work_of(t), rule_.target);
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
        std::max<std::int64_t>(1, std::min(kChunkTerms, terms_ / t.parts) / t.groups);
    std::int64_t best = 1;
    for (const std::int64_t chunk : choices(rule_.at.chunk)) {
      BlockTiling wanted = t;
      wanted.chunk = chunk;
      if (chunk <= most && kStagesAtStart * staged_bytes(wanted) <= kMostStaged)
        best = std::max(best, chunk);
    }
    return best;
  }

  double reach(const BlockTiling& t, int iter, bool of_thread) const {
    const auto of = [&](std::int64_t tile, std::int64_t threads) {
      return static_cast<double>(of_thread ? tile : tile * threads);
    };
    if (iter == main_.axes.vector) return of(t.v * rule_.width, t.of_v);
    if (iter == main_.pixel(0)) return of(t.p0, t.of_p0);
    if (iter == main_.pixel(1)) return of(t.p1, t.of_p1);
    if (iter == main_.axes.reduce) return of_thread ? 1 : static_cast<double>(t.chunk * t.groups);
    const bool tap = std::ranges::find(main_.axes.taps, iter) != main_.axes.taps.end();
    return tap ? static_cast<double>(main_.extent(iter)) : 1;
  }
  // Elements of an operand for one term of a thread's tile, or for one chunk of a block's.
  double elements(const BlockTiling& t, const ir::Read* read, bool of_thread) const {
    double count = 1;
    for (const ir::Affine& row : read->index) {
      double extent = 1;
      for (const ir::AffineTerm& term : row.terms)
        extent += std::abs(static_cast<double>(term.coef)) * (reach(t, term.iter, of_thread) - 1);
      count *= extent;
    }
    return count;
  }
  double staged_bytes(const BlockTiling& t) const {
    constexpr double kElement = 4;
    return kElement *
           (elements(t, main_.axes.weights, false) + elements(t, main_.axes.input, false));
  }

  BlockWork work_of(const BlockTiling& t) const {
    const double sums = static_cast<double>(t.v * rule_.width * t.p0 * t.p1);
    const auto groups = static_cast<double>(t.groups), parts = static_cast<double>(t.parts);
    const double threads = static_cast<double>(t.of_v * t.of_p0 * t.of_p1) * groups;
    const double results = sums * threads / groups;
    const double own = ceil_of(static_cast<double>(terms_), groups * parts);
    const double chunks = ceil_of(own, static_cast<double>(t.chunk));
    const double terms = chunks * static_cast<double>(t.chunk);
    const double read = elements(t, main_.axes.input, true);
    const double vectors = taps_ * static_cast<double>(t.v);
    constexpr double kVectorBytes = 16;
    const double copies = std::ceil(staged_bytes(t) / kVectorBytes / threads);
    BlockWork work;
    work.threads = threads;
    work.blocks =
        batch_ * parts *
        ceil_of(static_cast<double>(extent_v_), static_cast<double>(t.v * rule_.width * t.of_v)) *
        ceil_of(static_cast<double>(extent_p0_), static_cast<double>(t.p0 * t.of_p0)) *
        ceil_of(static_cast<double>(extent_p1_), static_cast<double>(t.p1 * t.of_p1));
    work.instructions = terms * (sums * taps_ + read + vectors + kTermInstructions) +
                        chunks * (kCopyInstructions * copies + kChunkInstructions);
    work.shared_cycles = terms * (read + kVectorCycles * vectors);
    work.last = results / kWarpThreads * (groups > 1 ? 2 * groups : 1);
    work.staged = chunks * staged_bytes(t);
    work.registers = sums + kMoreRegisters;
    work.shared = kStagesAtStart * staged_bytes(t) + (groups > 1 ? 4 * groups * results : 0);
    work.adds_kernel = parts > 1;
    return work;
  }
  static constexpr double kVectorCycles = 3;  // that a load of 16 bytes a thread takes

  Values values_of(const BlockTiling& t) const {
    const BlockKnobs& at = rule_.at;
    Values out = first_values(rule_.knobs);
    const auto set = [&](int knob, std::int64_t value) {
      if (knob >= 0) out[static_cast<std::size_t>(knob)] = value;
    };
    set(at.v, t.v), set(at.p0, t.p0), set(at.p1, t.p1);
    set(at.of_v, t.of_v), set(at.of_p0, t.of_p0), set(at.of_p1, t.of_p1);
    set(at.chunk, t.chunk);
    set(at.unroll, unrolled(t));
    set(at.has_groups, t.groups > 1 ? 1 : 0);
    if (t.groups > 1) set(at.groups, t.groups);
    set(at.has_parts, t.parts > 1 ? 1 : 0);
    if (t.parts > 1) set(at.parts, t.parts);
    set(at.stages, kStagesAtStart - 1);
    set(at.taps, taps_ <= kTapsWritten ? 2 : 1);
    return out;
  }
  static constexpr double kTapsWritten = 9;

  std::int64_t unrolled(const BlockTiling& t) const {
    constexpr double kWritten = 256;
    const double products = static_cast<double>(t.v * rule_.width * t.p0 * t.p1) * taps_;
    std::int64_t best = 1;
    for (const std::int64_t u : choices(rule_.at.unroll))
      if (u <= t.chunk && static_cast<double>(u) * products <= kWritten) best = std::max(best, u);
    return best;
  }

  bool fits(const Values& values) {
    derived_.sizes.evaluate(values, sizes_);
    return std::ranges::all_of(derived_.constraints, [&](const Constraint& c) {
      return sizes_[static_cast<std::size_t>(c.size)] <= c.most;
    });
  }

  const BlockRule& rule_;
  const ItemStage& main_;
  const Derived& derived_;
  std::int64_t extent_v_ = 1, extent_p0_ = 1, extent_p1_ = 1, terms_ = 1;
  double batch_ = 1, taps_ = 1;
  std::vector<BlockTiling> found_;
  std::vector<std::int64_t> sizes_;
};

}  // namespace

double cycles_of(const BlockWork& work, const CudaTarget& card) {
  const double warps = std::ceil(work.threads / kWarpThreads);
  const double resident = std::max(
      1.0, std::floor(std::min({card.registers / (work.threads * std::max(32.0, work.registers)),
                                static_cast<double>(card.shared_bytes) / std::max(1.0, work.shared),
                                card.threads / work.threads, static_cast<double>(card.blocks)})));
  // Blocks that the busiest multiprocessor has, at once and in all.
  const double blocks = std::ceil(work.blocks / card.multiprocessors);
  const double at_once = std::min(blocks, resident);
  const double waves = std::ceil(blocks / resident);
  const double done = std::max(at_once, std::min(blocks, at_once * waves));
  const double a_scheduler = warps * at_once / kSchedulers;
  const double busy = std::min(0.88, 0.36 + 0.17 * a_scheduler);
  const double computing = std::max(done * warps * work.instructions / kSchedulers / busy,
                                    done * warps * work.shared_cycles / 0.85);
  const double copying = work.staged * done / kStagedRate;
  return std::max(computing, copying) + kOverlapped * std::min(computing, copying) +
         done * work.last + kStartCycles + (work.adds_kernel ? kKernelCycles : 0);
}

std::vector<std::vector<std::int64_t>> block_starts(const BlockRule& rule, const Derived& derived) {
  return BlockChooser(rule, derived).find();
}

}  // namespace lathe::space
