#include "tuner/measure/neighbourhood.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "compiler/cook_toom/matrices.h"

namespace lathe::measure {
namespace {

constexpr std::int64_t kMostResults = 6;  // results that are computed together along an axis

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

class Dimension {
 public:
  Dimension(const te::Stage& stage, const ir::Affine& row, const ir::Read& other)
      : stage_(stage), row_(row), other_(other) {}

  Reach reach(std::int64_t size) const {
    Reach out{row_.offset, row_.offset, 0};
    for (const ir::AffineTerm& term : row_.terms) {
      const std::int64_t span = term.coef * (iter(term).extent - 1);
      (span < 0 ? out.low : out.high) += span;
    }
    out.reach = tile() == 0 || taps() == 0 ? 0 : tile() + taps() - 1;
    // Further away there is nothing.
    out.reach = std::min(out.reach, std::max(size, out.high - out.low + 1));
    return out;
  }

  bool is_tap(int number) const {
    return row_.coef_of(number) != 0 && tile() > 0 &&
           stage_.iters[static_cast<std::size_t>(number)].kind == te::IterKind::kReduce;
  }

 private:
  const te::Iterator& iter(const ir::AffineTerm& term) const {
    return stage_.iters[static_cast<std::size_t>(term.iter)];
  }

  // How far apart the elements are that results of a tile read with one tap; 0: there is no result.
  std::int64_t tile() const {
    std::int64_t most = 0;
    for (const ir::AffineTerm& y : row_.terms) {
      if (iter(y).kind != te::IterKind::kSpatial || reads_iter(other_, y.iter)) continue;
      most = std::max<std::int64_t>(most, 1);
      for (const ir::AffineTerm& tap : row_.terms) {
        if (iter(tap).kind != te::IterKind::kReduce) continue;
        const std::int64_t step = std::abs(tap.coef) / std::gcd(y.coef, tap.coef);
        const std::int64_t results = std::min(kMostResults, (iter(y).extent + step - 1) / step);
        most = std::max(most, (results - 1) * std::abs(y.coef) * step + 1);
      }
    }
    return most;
  }

  // How far apart the elements are that one result reads; 0: there is no tap.
  std::int64_t taps() const {
    std::int64_t apart = 0;
    for (const ir::AffineTerm& tap : row_.terms)
      if (iter(tap).kind == te::IterKind::kReduce)
        apart = std::max<std::int64_t>(apart, 1) + std::abs(tap.coef) * (iter(tap).extent - 1);
    return apart;
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
  return std::ranges::any_of(around, [](const Reach& each) { return each.reach > 0; });
}

double channels_of(const te::Stage& stage, const NeighbourSum& sum) {
  double channels = 1;
  for (int i = 0; i < static_cast<int>(stage.iters.size()); ++i) {
    const te::Iterator& iter = stage.iters[static_cast<std::size_t>(i)];
    const auto is_tap = [&](const ir::Read& read, const ir::Read& other) {
      return std::ranges::any_of(read.index, [&](const ir::Affine& row) {
        return Dimension(stage, row, other).is_tap(i) && row.terms.size() > 1;
      });
    };
    if (iter.kind == te::IterKind::kReduce && !is_tap(sum.a, sum.b) && !is_tap(sum.b, sum.a))
      channels *= static_cast<double>(iter.extent);
  }
  return channels;
}

}  // namespace

std::optional<NeighbourSum> neighbour_sum(const te::Workload& workload, const te::Stage& stage) {
  const auto* product = std::get_if<ir::Binary>(&stage.body->value);
  if (workload.contract.level() == te::Numerics::kComponentwise ||
      stage.reduce != ir::ReduceOp::kSum || product == nullptr ||
      product->op != ir::BinaryOp::kMul ||
      (stage.body->dtype != Dtype::kF32 && stage.body->dtype != Dtype::kF64))
    return std::nullopt;
  const auto* a = std::get_if<ir::Read>(&product->a->value);
  const auto* b = std::get_if<ir::Read>(&product->b->value);
  if (a == nullptr || b == nullptr) return std::nullopt;
  NeighbourSum out{through_copies(workload, *a), through_copies(workload, *b), {}, {}};
  if (out.a.pad.value_or(0) != 0 || out.b.pad.value_or(0) != 0) return std::nullopt;
  out.around_a = around(workload, stage, out.a, out.b);
  out.around_b = around(workload, stage, out.b, out.a);
  if (!has_reach(out.around_a) && !has_reach(out.around_b)) return std::nullopt;
  out.channels = channels_of(stage, out);
  return out;
}

double allowed_growth(const te::Contract& contract, const NeighbourSum& sum) {
  const auto terms = static_cast<std::int64_t>(std::min(sum.channels, 0x1p62));
  return std::max(1.0, contract.max_error / cook_toom::direct_error(terms));
}

}  // namespace lathe::measure
