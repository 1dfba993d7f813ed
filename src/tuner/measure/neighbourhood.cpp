#include "tuner/measure/neighbourhood.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "compiler/cook_toom/matrices.h"
#include "compiler/te/saturation.h"

namespace lathe::measure {
namespace {

bool reads_iter(const ir::Read& read, int iter) {
  return std::ranges::any_of(read.index,
                             [&](const ir::Affine& row) { return row.coef_of(iter) != 0; });
}

// The read of what is copied, where the tensor is a mere copy.
ir::Read through_copies(const te::Workload& workload, ir::Read read) {
  for (;;) {
    const te::Stage* writer = workload.writer(read.tensor);
    const auto* from = writer != nullptr && writer->reduce == ir::ReduceOp::kNone
                           ? std::get_if<ir::Read>(&writer->body->value)
                           : nullptr;
    if (from == nullptr) return read;
    ir::Read next = *from;
    for (ir::Affine& row : next.index) row = ir::substitute(row, read.index);
    if (!next.pad) next.pad = read.pad;
    read = std::move(next);
  }
}

// A row of an operand's index: its results are iterators that the other operand lacks, its taps are
// reduced ones beside these.
class Dimension {
 public:
  Dimension(const te::Stage& stage, const ir::Affine& row, const ir::Read& other)
      : stage_(stage), row_(row), other_(other) {}

  Reach reach(std::int64_t size) const {
    Reach out{row_.offset, row_.offset};
    for (const ir::AffineTerm& term : row_.terms) {
      const std::int64_t span = term.coef * (iter(term).extent - 1);
      (span < 0 ? out.low : out.high) += span;
    }
    std::int64_t step = 0, taps = 0, results = 0;
    for (const ir::AffineTerm& tap : row_.terms) {
      const std::int64_t apart = results_apart(tap);
      if (apart < 0) continue;
      step = std::gcd(step, tap.coef);
      taps += std::abs(tap.coef) * (iter(tap).extent - 1);
      results = std::max(results, apart);
    }
    if (step == 0) return out;
    // Further away there is nothing.
    const std::int64_t most = std::max(size, out.high - out.low + 1);
    out.step = step;
    out.steps = (std::min(taps + results, most) + step - 1) / step;
    return out;
  }

  bool is_tap(int number) const {
    return std::ranges::any_of(row_.terms, [&](const ir::AffineTerm& term) {
      return term.iter == number && results_apart(term) >= 0;
    });
  }

 private:
  const te::Iterator& iter(const ir::AffineTerm& term) const {
    return stage_.iters[static_cast<std::size_t>(term.iter)];
  }

  // How far apart the elements are that results of a tile read with this tap; -1: no algorithm
  // makes tiles along it.
  std::int64_t results_apart(const ir::AffineTerm& tap) const {
    std::int64_t most = -1;
    if (iter(tap).kind != te::IterKind::kReduce) return most;
    for (const ir::AffineTerm& y : row_.terms) {
      if (iter(y).kind != te::IterKind::kSpatial || reads_iter(other_, y.iter)) continue;
      const cook_toom::Strands strands =
          cook_toom::strands_of(std::abs(y.coef), std::abs(tap.coef));
      const std::int64_t taps = cook_toom::residues_of(iter(tap).extent, strands.inner_stride).taps;
      if (taps < 2 || taps > cook_toom::kMostTaps) continue;
      const std::int64_t results =
          std::min(cook_toom::kLargestTile, strands.longest(iter(y).extent));
      most = std::max(most, (results - 1) * std::abs(y.coef) * strands.count);
    }
    return most;
  }

  const te::Stage& stage_;
  const ir::Affine& row_;
  const ir::Read& other_;
};

Neighbourhood around(const te::Workload& workload, const te::Stage& stage, const ir::Read& read,
                     const ir::Read& other) {
  const auto& shape = workload.tensors[static_cast<std::size_t>(read.tensor)].shape;
  Neighbourhood out;
  for (std::size_t d = 0; d < read.index.size(); ++d)
    out.push_back(Dimension(stage, read.index[d], other).reach(shape[d]));
  return out;
}

bool has_reach(const Neighbourhood& around) {
  return std::ranges::any_of(around, [](const Reach& each) { return each.steps > 0; });
}

bool is_tap(const te::Stage& stage, const ir::Read& read, const ir::Read& other, int iter) {
  return std::ranges::any_of(
      read.index, [&](const ir::Affine& row) { return Dimension(stage, row, other).is_tap(iter); });
}

// Terms that are no taps; 0: there are only taps.
double channels_of(const te::Stage& stage, const MixedSum& sum) {
  double channels = 0;
  for (int i = 0; i < static_cast<int>(stage.iters.size()); ++i) {
    const te::Iterator& iter = stage.iters[static_cast<std::size_t>(i)];
    if (iter.kind == te::IterKind::kReduce && !is_tap(stage, sum.a, sum.b, i) &&
        !is_tap(stage, sum.b, sum.a, i))
      channels = std::max(channels, 1.0) * static_cast<double>(iter.extent);
  }
  return channels;
}

}  // namespace

std::optional<MixedSum> mixed_sum(const te::Workload& workload, const te::Stage& stage) {
  const auto* product = std::get_if<ir::Binary>(&stage.body->value);
  const te::Contract& contract = workload.contract;
  if (contract.level() == te::Numerics::kComponentwise ||
      (contract.algorithm.empty() && te::saturates(workload, te::Saturated::kSums)) ||
      stage.reduce != ir::ReduceOp::kSum || product == nullptr ||
      product->op != ir::BinaryOp::kMul ||
      (stage.body->dtype != Dtype::kF32 && stage.body->dtype != Dtype::kF64))
    return std::nullopt;
  const auto* a = std::get_if<ir::Read>(&product->a->value);
  const auto* b = std::get_if<ir::Read>(&product->b->value);
  if (a == nullptr || b == nullptr) return std::nullopt;
  MixedSum out{through_copies(workload, *a), through_copies(workload, *b), {}, {}};
  if (out.a.pad.value_or(0) != 0 || out.b.pad.value_or(0) != 0) return std::nullopt;
  out.around_a = around(workload, stage, out.a, out.b);
  out.around_b = around(workload, stage, out.b, out.a);
  if (!has_reach(out.around_a) && !has_reach(out.around_b)) return std::nullopt;
  out.channels = channels_of(stage, out);
  if (out.channels == 0) return std::nullopt;
  return out;
}

double allowed_growth(const te::Contract& contract, const MixedSum& sum) {
  const auto terms = static_cast<std::int64_t>(std::min(sum.channels, 0x1p62));
  return std::max(1.0, contract.max_error / cook_toom::direct_error(terms));
}

}  // namespace lathe::measure
