#include "tuner/space/rules/again/pass_cost.h"

#include <algorithm>

#include "compiler/schedule/parts.h"
#include "tuner/space/costs.h"
#include "tuner/space/rules/shared/axes.h"
#include "tuner/space/rules/shared/stage_cost.h"

namespace lathe::space {
namespace {

// A line that is stored to is read before, and goes out later.
constexpr double kStored = 2;
// The share of a cache that still has what the pass before made.
constexpr double kStillCached = 0.5;
// Rows of a register tile, which computes once what they have in common.
constexpr std::int64_t kTileRows = 4;

class PassWalk {
 public:
  PassWalk(const te::Workload& view, const CpuTarget& target)
      : view_(view), target_(target), threads_(std::max(1, target.threads)) {
    for (const te::Tensor& tensor : view.tensors) all_ += tensor.constant ? 0 : bytes_of(tensor);
  }

  double cycles() const {
    double sum = 0;
    for (const te::Stage& stage : view_.stages)
      if (!tensor(stage.tensor).constant) sum += cycles_of_pass(stage) + meet_cycles(threads_);
    return sum;
  }

 private:
  const te::Tensor& tensor(int number) const {
    return view_.tensors[static_cast<std::size_t>(number)];
  }

  double cycles_of_pass(const te::Stage& stage) const {
    const int lanes = std::max(1, target_.lanes(size_of(stage.body->dtype)));
    double cycles = cycles_of(view_, stage, lanes) - cycles_shared(stage, lanes);
    const std::pair<double, double> levels[] = {{kL1, kL2Rate},
                                                {kL2, kL3Rate * share_of_l3(threads_)},
                                                {kL3, kMemoryRate * share_of_memory(threads_)}};
    for (const auto& [bytes, rate] : levels)
      cycles = beside(cycles, moved_beyond(stage, bytes) / rate);
    return cycles / threads_;
  }

  // Cycles that tiles of a map save by what does not depend on an axis besides that of the lanes.
  double cycles_shared(const te::Stage& stage, int lanes) const {
    if (stage.reduce != ir::ReduceOp::kNone) return 0;
    const auto all = schedule::subexpressions(stage.body);
    double cycles = 0;
    for (std::size_t e = 0; e < all.size();) {
      const auto rows = static_cast<double>(rows_alike(stage, all[e]));
      if (rows > 1) {
        te::Stage part = stage;
        part.body = all[e];
        cycles += cycles_of(view_, part, lanes) * (1 - 1 / rows);
      }
      e += rows > 1 ? schedule::subexpressions(all[e]).size() : 1;
    }
    return cycles;
  }
  static std::int64_t rows_alike(const te::Stage& stage, const ir::Expr& e) {
    const std::set<int> own = schedule::iters_of(e);
    std::int64_t rows = 1;
    if (own.empty() || std::holds_alternative<ir::Read>(e->value)) return rows;
    for (int i = 0; i + 1 < std::ssize(stage.iters); ++i)
      if (!own.contains(i))
        rows = std::max(rows, std::min(kTileRows, stage.iters[static_cast<std::size_t>(i)].extent));
    return rows;
  }

  // Bytes that the stage gets from beyond caches of this size, or stores there.
  double moved_beyond(const te::Stage& stage, double cache) const {
    double bytes = stays(stage.tensor, cache) ? 0 : kStored * bytes_of(tensor(stage.tensor));
    std::vector<const ir::Read*> seen;  // one place, or neighbours of it
    for (const ir::Read* read : ir::reads_of(stage.body)) {
      const auto is_alike = [&](const ir::Read* other) {
        return other->tensor == read->tensor &&
               std::ranges::equal(other->index, read->index, {}, &ir::Affine::terms,
                                  &ir::Affine::terms);
      };
      if (stays(read->tensor, cache) || std::ranges::any_of(seen, is_alike)) continue;
      seen.push_back(read);
      bytes += moved_by(stage, *read, cache);
    }
    return bytes;
  }
  // True if a pass finds it in the cache: what a call touches, from the call before.
  bool stays(int number, double cache) const {
    const bool is_made = tensor(number).role == te::TensorRole::kIntermediate;
    return all_ <= cache || (is_made && bytes_of(tensor(number)) <= kStillCached * cache);
  }

  // It is read again for each iteration of a loop that does not change it, unless what the loops
  // inside read stays. Tiles see to that where elements are used again.
  double moved_by(const te::Stage& stage, const ir::Read& read, double cache) const {
    const double whole = bytes_of(tensor(read.tensor));
    if (stage.reduce != ir::ReduceOp::kNone) return whole;
    double inside = size_of(tensor(read.tensor).dtype), times = 1;
    for (int i = static_cast<int>(stage.iters.size()); i-- > 0;) {
      const auto extent = static_cast<double>(stage.iters[static_cast<std::size_t>(i)].extent);
      if (touches(read.index, i)) inside = std::min(whole, inside * extent);
      else if (inside > kStillCached * cache) times *= extent;
    }
    return inside * times;
  }

  const te::Workload& view_;
  const CpuTarget& target_;
  int threads_;
  double all_ = 0;  // bytes of all tensors
};

}  // namespace

double cycles_of_passes(const te::Workload& view, const CpuTarget& target) {
  return PassWalk(view, target).cycles();
}

}  // namespace lathe::space
