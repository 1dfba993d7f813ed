#include "compiler/schedule/region.h"

#include <algorithm>
#include <utility>

#include "compiler/analysis/dependence.h"

namespace lathe::schedule {
using ir::LoopDigit;
using ir::LoopId;
using ir::SizeId;

bool same_digits(const std::vector<LoopDigit>& a, const std::vector<LoopDigit>& b) {
  return std::ranges::equal(a, b, [](const LoopDigit& x, const LoopDigit& y) {
    return x.loop == y.loop && x.weight == y.weight && x.div == y.div && x.mod == y.mod;
  });
}

std::pair<std::vector<LoopDigit>, std::vector<LoopDigit>> parted(const ir::Nest& nest,
                                                                 const ir::BlockIter& iter,
                                                                 LoopId loop) {
  std::vector<LoopDigit> outer, inner;
  for (const LoopDigit& digit : iter.digits)
    (analysis::is_strictly_inside(nest, digit.loop, loop) ? inner : outer).push_back(digit);
  return {outer, inner};
}

namespace {

bool is_fused(const ir::Block& block, LoopId loop) {
  for (const ir::BlockIter& iter : block.iters)
    for (const LoopDigit& digit : iter.digits)
      if (digit.loop == loop && (digit.div != SizeId::kNone || digit.mod != SizeId::kNone))
        return true;
  return false;
}

// True if an iterator keeps iterations out that those of the result do not: a guard, or the view of
// a part of one, past whose end the next part begins.
bool bounds(ir::Nest& nest, const ir::Block& block, int number) {
  const ir::BlockIter& iter = block.iters[static_cast<std::size_t>(number)];
  if (iter.kind == ir::IterKind::kReduce) return false;
  if (iter.guard) return true;
  return std::ranges::none_of(block.index,
                              [&](const ir::Affine& row) { return row.coef_of(number) != 0; }) &&
         !analysis::stays_below(nest, iter.digits, iter.extent);
}

// The digits of loops that have several iterations, as far as that is known.
std::vector<LoopDigit> moving(const ir::Nest& nest, std::vector<LoopDigit> digits) {
  std::erase_if(digits, [&](const LoopDigit& digit) {
    return is_one(nest.sizes, nest.loops[digit.loop].extent);
  });
  return digits;
}

// What each of these digits is a multiple of in the other's weights; kNone: they are none.
SizeId factor_of(ir::Sizes& sizes, const std::vector<LoopDigit>& digits,
                 const std::vector<LoopDigit>& of) {
  if (digits.empty() || digits.size() != of.size() ||
      !sizes.divides(of[0].weight, digits[0].weight))
    return SizeId::kNone;
  const SizeId factor = sizes.ceildiv(digits[0].weight, of[0].weight);
  std::vector<LoopDigit> scaled = of;
  for (LoopDigit& digit : scaled) digit.weight = sizes.mul(digit.weight, factor);
  return same_digits(digits, scaled) ? factor : SizeId::kNone;
}

bool counts_down(const ir::Nest& nest, const std::vector<LoopDigit>& digits) {
  return std::ranges::any_of(moving(nest, digits), [&](const LoopDigit& digit) {
    return nest.sizes.is_negative(digit.weight);
  });
}

// Of a bound on loops that count down along the dimension, which begins where they end.
void count_from_the_end(ir::Sizes& sizes, const analysis::Span& span, RegionGuard& guard) {
  const SizeId last = sizes.add(span.extent, sizes.constant(-1));
  const SizeId first = sizes.mul(sizes.mul(guard.weight, sizes.constant(-1)), last);
  guard.offset = guard.offset == SizeId::kNone ? first : sizes.add(guard.offset, first);
}

}  // namespace

StepResult<Region> region_computed(ir::Nest& nest, ir::BlockId writer, LoopId loop) {
  Region region;
  const std::string name = nest.blocks[writer].name;
  region.box = analysis::box_of(nest, writer, nest.blocks[writer].index, loop);
  std::vector<std::vector<LoopDigit>> inner_of;
  for (std::size_t d = 0; d < region.box.size(); ++d) {
    const ir::Block& block = nest.blocks[writer];
    const int iter = plain_iter(block.index[d]);
    if (iter < 0 || !region.box[d].dense) return refuse(Refusal::kBadLayout, name);
    inner_of.push_back(parted(nest, block.iters[static_cast<std::size_t>(iter)], loop).second);
  }
  for (int i = 0; std::cmp_less(i, nest.blocks[writer].iters.size()); ++i) {
    if (!bounds(nest, nest.blocks[writer], i)) continue;
    const ir::BlockIter& iter = nest.blocks[writer].iters[static_cast<std::size_t>(i)];
    auto [outer, inner] = parted(nest, iter, loop);
    // Of a fused loop that is cut short, the box tells only that it covers what is computed.
    for (const LoopDigit& digit : inner)
      if (is_fused(nest.blocks[writer], digit.loop)) return refuse(Refusal::kBadLayout, name);
    if (outer.empty()) continue;  // then the box tells
    RegionGuard guard{-1, iter.extent, std::move(outer), iter.offset};
    for (std::size_t d = 0; d < inner_of.size(); ++d)
      if (const auto factor = factor_of(nest.sizes, moving(nest, inner), moving(nest, inner_of[d]));
          factor != SizeId::kNone)
        guard.dim = static_cast<int>(d), guard.weight = factor;
    if (guard.dim >= 0 && counts_down(nest, inner_of[static_cast<std::size_t>(guard.dim)]))
      count_from_the_end(nest.sizes, region.box[static_cast<std::size_t>(guard.dim)], guard);
    if (!moving(nest, inner).empty() && guard.dim < 0) return refuse(Refusal::kBadLayout, name);
    region.guards.push_back(std::move(guard));
  }
  return region;
}

std::vector<RegionGuard> idle_limits(ir::Nest& nest, ir::BlockId block, LoopId loop) {
  std::vector<RegionGuard> limits;
  for (const ir::BlockIter& iter : nest.blocks[block].iters) {
    if (iter.kind != ir::IterKind::kReduce) continue;
    std::vector<LoopDigit> outer = parted(nest, iter, loop).first;
    if (!outer.empty() && !analysis::stays_below(nest, outer, iter.extent))
      limits.push_back({-1, iter.extent, std::move(outer), iter.offset});
  }
  return limits;
}

ir::BlockIter region_iter(ir::Nest& nest, std::string name, const analysis::Span& span,
                          std::int64_t low, SizeId domain, std::vector<LoopDigit> inner) {
  ir::BlockIter iter;
  iter.name = std::move(name);
  iter.extent = domain;
  iter.digits = span.start;
  iter.digits.insert(iter.digits.end(), inner.begin(), inner.end());
  const SizeId offset = nest.sizes.add(span.offset, nest.sizes.constant(-low));
  if (offset != nest.sizes.constant(0)) iter.offset = offset;
  return iter;
}

void add_guards(ir::Nest& nest, ir::Block& block, const Region& region,
                const std::vector<std::vector<LoopDigit>>& inner) {
  for (const RegionGuard& g : region.guards) {
    ir::BlockIter guard;
    guard.name = "guard";
    guard.extent = g.extent;
    guard.digits = g.outer;
    guard.offset = g.offset;
    if (g.sums) guard.kind = ir::IterKind::kReduce;
    if (g.dim >= 0)
      for (LoopDigit digit : inner[static_cast<std::size_t>(g.dim)]) {
        if (g.weight != SizeId::kNone) digit.weight = nest.sizes.mul(digit.weight, g.weight);
        guard.digits.push_back(digit);
      }
    guard.guard = true;
    block.iters.push_back(std::move(guard));
  }
}

}  // namespace lathe::schedule
