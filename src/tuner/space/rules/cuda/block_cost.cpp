#include "tuner/space/rules/cuda/block_cost.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace lathe::space {
namespace {

double ceil_of(double a, double b) { return std::ceil(a / b); }

}  // namespace

BlockModel::BlockModel(const BlockRule& rule) : rule_(rule), main_(rule.main) {
  extent_v_ = main_.extent(main_.axes.vector);
  extent_p0_ = main_.extent(main_.pixel(0));
  extent_p1_ = main_.extent(main_.pixel(1));
  terms_ = main_.extent(main_.axes.reduce);
  for (const int b : main_.axes.batch) batch_ *= static_cast<double>(main_.extent(b));
  for (const int t : main_.axes.taps) taps_ *= static_cast<double>(main_.extent(t));
  bytes_of_sum_ = static_cast<double>(bytes_of_sum(main_));
}

double BlockModel::cycles_of(const BlockTiling& t) const {
  const double first = kLaunchCycles + space::cycles_of(work_of(t), rule_.target);
  if (t.parts == 1) return first;
  // The sums of parts are stored, and read again.
  const double results = batch_ * static_cast<double>(extent_v_ * extent_p0_ * extent_p1_);
  const double parts = bytes_of_sum_ * static_cast<double>(t.parts) * results;
  const double cached = card::kStagedRate * rule_.target.multiprocessors;
  const double stored = memory_rate(rule_.target);
  const bool fits = parts <= static_cast<double>(rule_.target.l2_bytes) || stored == 0;
  return first + kNextKernelCycles + 2 * parts / (fits ? cached : stored);
}

double BlockModel::reach(const BlockTiling& t, int iter, bool of_thread) const {
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
double BlockModel::elements(const BlockTiling& t, const ir::Read* read, bool of_thread) const {
  double count = 1;
  for (const ir::Affine& row : read->index) count *= extent_of(t, row, of_thread);
  return count;
}
double BlockModel::extent_of(const BlockTiling& t, const ir::Affine& row, bool of_thread) const {
  double extent = 1;
  for (const ir::AffineTerm& term : row.terms)
    extent += std::abs(static_cast<double>(term.coef)) * (reach(t, term.iter, of_thread) - 1);
  return extent;
}
// Elements of operands count as a sum of them does, also those of two bytes.
double BlockModel::staged_bytes(const BlockTiling& t) const {
  return bytes_of_sum_ *
         (elements(t, main_.axes.weights, false) + elements(t, main_.axes.input, false));
}

CardWork BlockModel::work_of(const BlockTiling& t) const {
  const double sums = static_cast<double>(t.v * rule_.width * t.p0 * t.p1);
  const auto groups = static_cast<double>(t.groups), parts = static_cast<double>(t.parts);
  const double threads = static_cast<double>(t.of_v * t.of_p0 * t.of_p1) * groups;
  const double results = sums * threads / groups;
  const double own = ceil_of(static_cast<double>(terms_), groups * parts);
  const double chunks = ceil_of(own, static_cast<double>(t.chunk));
  const double terms = chunks * static_cast<double>(t.chunk);
  const double read = elements(t, main_.axes.input, true);
  const double vectors = taps_ * static_cast<double>(t.v);
  CardWork work;
  work.threads = threads;
  work.blocks =
      batch_ * parts *
      ceil_of(static_cast<double>(extent_v_), static_cast<double>(t.v * rule_.width * t.of_v)) *
      ceil_of(static_cast<double>(extent_p0_), static_cast<double>(t.p0 * t.of_p0)) *
      ceil_of(static_cast<double>(extent_p1_), static_cast<double>(t.p1 * t.of_p1));
  work.instructions =
      terms * (sums * taps_ + read + vectors + card::kRunInstructions) +
      chunks * (card::kCopyInstructions * copies(t, threads) + card::kChunkInstructions);
  work.shared_cycles = terms * (read * cycles_of_read(t) + cycles_of_vector(t) * vectors);
  work.last = results / card::kWarp * (groups > 1 ? 2 * groups : 1);
  work.chunks = chunks;
  work.stages = t.stages;
  work.staged = chunks * staged_bytes(t);
  constexpr double kRegister = 4;
  work.registers = sums * bytes_of_sum_ / kRegister + card::kOtherRegisters;
  work.shared = t.stages * staged_bytes(t) + (groups > 1 ? bytes_of_sum_ * groups * results : 0);
  return work;
}

// Of a warp's load of 16 bytes a thread along the vector axis: half, where neighbours, or those
// next to them, read the same.
double BlockModel::cycles_of_vector(const BlockTiling& t) {
  constexpr double kAlike = 2, kApart = 4;
  const std::int64_t pixels = t.of_p0 * t.of_p1;
  const bool alike = t.lanes == LaneOrder::kPixels ? pixels % 2 == 0 : t.of_v <= 2;
  return alike || t.of_v == 1 ? kAlike : kApart;
}

// Of a load of one element along pixels. Without taps, a thread's elements may come as vectors.
double BlockModel::cycles_of_read(const BlockTiling& t) const {
  constexpr std::int64_t kElements = 4;
  if (taps_ > 1 || t.p0 % kElements != 0) return t.conflicts;
  const std::int64_t apart = std::min(t.p0, t.of_p0 * kElements) / kElements;
  return cycles_of_vector(t) / kElements * static_cast<double>(std::max<std::int64_t>(1, apart));
}

// Of a warp's load of one element along pixels: the most addresses that fall into one bank of
// shared memory, with so many elements between rows.
double BlockModel::conflicts_of(const BlockTiling& t) const {
  constexpr int kBanks = 32;
  const ir::Affine* rows[2] = {row_of(main_.pixel(0)), row_of(main_.pixel(1))};
  if (rows[0] == nullptr) return 1;
  const bool last = rows[0] == &main_.axes.input->index.back();
  const auto coef = [&](std::size_t which) {
    return rows[which] == nullptr ? 0 : std::abs(rows[which]->coef_of(main_.pixel(which)));
  };
  const std::int64_t pitch =
      last ? static_cast<std::int64_t>(extent_of(t, *rows[0], false)) + t.pad : 1;
  std::array<std::int64_t, kBanks> seen{};
  std::array<int, kBanks> in_bank{};
  int most = 1;
  for (std::int64_t lane = 0; lane < kBanks; ++lane) {
    const std::int64_t pixel = t.lanes == LaneOrder::kPixels ? lane : lane / t.of_v;
    const std::int64_t x = pixel % t.of_p0, y = pixel / t.of_p0 % t.of_p1;
    const std::int64_t at = x * t.p0 * coef(0) + y * t.p1 * coef(1) * pitch;
    const auto before = std::span(seen).first(static_cast<std::size_t>(lane));
    seen[static_cast<std::size_t>(lane)] = at;
    if (std::ranges::find(before, at) != before.end()) continue;
    most = std::max(most, ++in_bank[static_cast<std::size_t>(at % kBanks)]);
  }
  return most;
}

const ir::Affine* BlockModel::row_of(int iter) const {
  if (iter < 0) return nullptr;
  for (const ir::Affine& row : main_.axes.input->index)
    if (row.coef_of(iter) != 0) return &row;
  return nullptr;
}

// Copies of a thread for a chunk: single elements where taps shift what is read, else vectors.
double BlockModel::copies(const BlockTiling& t, double threads) const {
  constexpr double kElements = 4;
  const double input = elements(t, main_.axes.input, false) / (taps_ > 1 ? 1 : kElements);
  return std::ceil((elements(t, main_.axes.weights, false) / kElements + input) / threads);
}

}  // namespace lathe::space
