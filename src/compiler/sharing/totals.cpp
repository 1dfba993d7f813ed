#include <algorithm>

#include "compiler/sharing/sharing.h"

namespace lathe::sharing {
namespace {

// In operations, or registers moved.
double measured(std::int64_t amount, Unit unit, int vector_bytes) {
  return static_cast<double>(amount) / (unit == Unit::kBytes ? vector_bytes : 1);
}

}  // namespace

const char* name_of(Unit unit) { return unit == Unit::kBytes ? "bytes" : "operations"; }

Repeats& Repeats::operator+=(const Repeats& other) {
  copied_bytes += other.copied_bytes;
  copied_again_bytes += other.copied_again_bytes;
  computed_again += other.computed_again;
  return *this;
}

Repeats operator*(Repeats repeats, std::int64_t times) {
  return {repeats.copied_bytes * times, repeats.copied_again_bytes * times,
          repeats.computed_again * times};
}

Unit unit_of(const Work& work, int vector_bytes) {
  const bool computes = work.multiply_adds > 0 || work.operations * vector_bytes >= work.bytes;
  return computes ? Unit::kOperations : Unit::kBytes;
}

std::int64_t amount_of(const Work& work, Unit unit) {
  return unit == Unit::kBytes ? work.bytes : work.operations;
}

double share_of(const Phase& phase, int threads, int vector_bytes) {
  const Unit unit = unit_of(phase.all, vector_bytes);
  const std::int64_t busiest = amount_of(phase.busiest, unit);
  if (busiest == 0) return 1;
  return static_cast<double>(amount_of(phase.all, unit)) /
         (static_cast<double>(threads) * static_cast<double>(busiest));
}

Totals totals_of(const Sharing& sharing, bool prepares) {
  Totals totals;
  const int width = sharing.vector_bytes;
  double weighted = 0;  // the sum of work * share, by one thread
  const auto add = [&](const Work& all, const Work& busiest) {
    const Unit unit = unit_of(all, width);
    const double work = measured(amount_of(all, unit), unit, width),
                 most = measured(amount_of(busiest, unit), unit, width);
    totals.work += work;
    totals.busiest += most;
    totals.multiply_adds += all.multiply_adds;
    if (most > 0) weighted += work * work / most;
  };
  for (const KernelWork& kernel : sharing.kernels) {
    if (kernel.prepares != prepares) continue;
    add(kernel.alone, kernel.alone);
    for (const Phase& phase : kernel.phases) {
      add(phase.all, phase.busiest);
      totals.threads = std::max(totals.threads, phase.threads);
      totals.repeats += phase.repeats;
    }
    totals.barriers += kernel.barriers;
  }
  if (totals.work > 0) {
    totals.share = weighted / totals.work / totals.threads;
    totals.share_of_offered = weighted / totals.work / sharing.threads;
  }
  return totals;
}

}  // namespace lathe::sharing
