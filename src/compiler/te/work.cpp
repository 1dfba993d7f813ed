#include "compiler/te/work.h"

#include <algorithm>
#include <numeric>

#include "compiler/ir/expr/padding.h"

namespace lathe::te {
namespace {

// Says that 0 <= index < size.
struct Bound {
  const ir::Affine* index;
  std::int64_t size;
};

std::vector<Bound> bounds_of(const Workload& workload, const Stage& stage) {
  std::vector<Bound> bounds;
  for (const ir::Read* read : ir::reads_of(stage.body)) {
    if (!read->pad || !ir::pad_kills(stage.reduce, stage.body, read)) continue;
    const auto& shape = workload.tensors[static_cast<std::size_t>(read->tensor)].shape;
    for (std::size_t d = 0; d < shape.size(); ++d) bounds.push_back({&read->index[d], shape[d]});
  }
  return bounds;
}

// Groups of bounds that share no iterator. The numbers of iterations inside them multiply.
std::vector<std::vector<Bound>> independent(const std::vector<Bound>& bounds,
                                            std::size_t iterators) {
  std::vector<std::size_t> group(iterators);
  std::iota(group.begin(), group.end(), 0);
  for (const Bound& bound : bounds)
    for (const ir::AffineTerm& term : bound.index->terms) {
      const std::size_t from = group[static_cast<std::size_t>(term.iter)];
      const std::size_t to = group[static_cast<std::size_t>(bound.index->terms.front().iter)];
      std::ranges::replace(group, from, to);
    }
  std::vector<std::vector<Bound>> groups(iterators);
  for (const Bound& bound : bounds)
    if (!bound.index->terms.empty())
      groups[group[static_cast<std::size_t>(bound.index->terms.front().iter)]].push_back(bound);
  std::erase_if(groups, [](const auto& g) { return g.empty(); });
  return groups;
}

// A larger group is not counted one by one, but sampled.
constexpr std::int64_t kMostCounted = 1 << 20;

// Scatters numbers, for iterations that are too many to count: multiples of an odd number.
std::int64_t scattered(std::int64_t n) {
  return static_cast<std::int64_t>((static_cast<std::uint64_t>(n) * 0x9e3779b97f4a7c15U) >> 1);
}

double share_inside(const std::vector<Bound>& bounds, const Stage& stage) {
  std::vector<int> iters;
  for (const Bound& bound : bounds)
    for (const ir::AffineTerm& term : bound.index->terms) iters.push_back(term.iter);
  std::ranges::sort(iters);
  iters.erase(std::unique(iters.begin(), iters.end()), iters.end());
  double all = 1;
  for (const int iter : iters)
    all *= static_cast<double>(stage.iters[static_cast<std::size_t>(iter)].extent);
  const auto looked_at =
      static_cast<std::int64_t>(std::min(all, static_cast<double>(kMostCounted)));
  std::int64_t inside = 0;
  std::vector<std::int64_t> values(stage.iters.size());
  for (std::int64_t n = 0; n < looked_at; ++n) {
    std::int64_t number = static_cast<double>(looked_at) < all ? scattered(n) : n;
    for (const int iter : iters) {
      const std::int64_t extent = stage.iters[static_cast<std::size_t>(iter)].extent;
      values[static_cast<std::size_t>(iter)] = number % extent;
      number /= extent;
    }
    inside += std::ranges::all_of(bounds, [&](const Bound& bound) {
      std::int64_t index = bound.index->offset;
      for (const ir::AffineTerm& term : bound.index->terms)
        index += term.coef * values[static_cast<std::size_t>(term.iter)];
      return index >= 0 && index < bound.size;
    });
  }
  return static_cast<double>(inside) / static_cast<double>(looked_at);
}

// The share of the stage's iterations in which no padded read makes the term the reduction's
// identity.
double inside_share(const Workload& workload, const Stage& stage) {
  const auto bounds = bounds_of(workload, stage);
  double share = 1;
  for (const Bound& bound : bounds)
    if (bound.index->terms.empty() &&
        (bound.index->offset < 0 || bound.index->offset >= bound.size))
      return 0;
  for (const auto& group : independent(bounds, stage.iters.size()))
    share *= share_inside(group, stage);
  return share;
}

}  // namespace

double done_flops(const Workload& workload) {
  double total = 0;
  for (const Stage& stage : workload.stages) {
    Workload alone;
    alone.stages = {stage};
    total += flops(alone) * inside_share(workload, stage);
  }
  return total;
}

double terms_of(const Stage& stage) {
  double terms = 1;
  for (const Iterator& iter : stage.iters)
    if (iter.kind == IterKind::kReduce) terms *= static_cast<double>(iter.extent);
  return terms;
}

bool touches(const std::vector<ir::Affine>& index, int iter) {
  return std::ranges::any_of(index, [&](const ir::Affine& row) { return row.coef_of(iter) != 0; });
}

bool has_reuse(const Stage& stage) {
  const auto reads = ir::reads_of(stage.body);
  const auto lacks = [&](const ir::Read* a, const ir::Read* b) {
    for (int i = 0; i < static_cast<int>(stage.iters.size()); ++i)
      if (stage.iters[static_cast<std::size_t>(i)].kind == IterKind::kSpatial &&
          stage.iters[static_cast<std::size_t>(i)].extent > 1 && !touches(a->index, i) &&
          touches(b->index, i))
        return true;
    return false;
  };
  for (const ir::Read* a : reads)
    for (const ir::Read* b : reads)
      if (lacks(a, b) && lacks(b, a)) return true;
  return false;
}

}  // namespace lathe::te
