#include "compiler/analysis/box.h"

#include <algorithm>

#include "compiler/analysis/dependence.h"

namespace lathe::analysis {
namespace {

using ir::BlockId;
using ir::BlockIter;
using ir::LoopDigit;
using ir::LoopId;
using ir::Nest;
using ir::SizeId;
using ir::Sizes;

// weight * [0, extent): what loops inside contribute to a row.
struct Extension {
  SizeId weight;
  SizeId extent;
};

bool is_one(const Sizes& sizes, SizeId id) {
  return sizes.is_constant(id) && sizes.constant_value(id) == 1;
}
SizeId minus_one(Sizes& sizes, SizeId id) { return sizes.add(id, sizes.constant(-1)); }
SizeId negated(Sizes& sizes, SizeId id) { return sizes.mul(id, sizes.constant(-1)); }

// How many values (loop / div) % mod takes.
SizeId count_of(Nest& nest, const LoopDigit& digit) {
  SizeId count = nest.loops[digit.loop].extent;
  if (digit.div != SizeId::kNone) count = nest.sizes.ceildiv(count, digit.div);
  if (digit.mod == SizeId::kNone || count == digit.mod) return count;
  return nest.sizes.at_least(count, digit.mod) ? digit.mod : nest.sizes.min(count, digit.mod);
}

bool contains_all(const std::vector<LoopDigit>& digits, const BlockIter& limit) {
  return !limit.digits.empty() && limit.offset == SizeId::kNone &&
         std::ranges::all_of(limit.digits, [&](const LoopDigit& wanted) {
           return std::ranges::any_of(digits, [&](const LoopDigit& d) {
             return d.loop == wanted.loop && d.div == wanted.div && d.mod == wanted.mod;
           });
         });
}

// Takes those digits out of `digits` that are multiples of the digits of the iterator `limit`, a
// guard. The guard stands for the loop that was split, so this puts the pieces of a split together
// again.
bool take_limited(Nest& nest, std::vector<LoopDigit>& digits, const BlockIter& limit,
                  std::vector<Extension>& parts) {
  if (!contains_all(digits, limit)) return false;
  const auto in_digits = [&](const LoopDigit& wanted) {
    return std::ranges::find_if(digits, [&](const LoopDigit& d) {
      return d.loop == wanted.loop && d.div == wanted.div && d.mod == wanted.mod;
    });
  };
  const LoopDigit& least = limit.digits.back();
  const SizeId own = in_digits(least)->weight;
  if (!nest.sizes.divides(least.weight, own)) return false;
  const SizeId factor = nest.sizes.ceildiv(own, least.weight);
  for (const LoopDigit& d : limit.digits)
    if (in_digits(d)->weight != nest.sizes.mul(factor, d.weight)) return false;
  for (const LoopDigit& d : limit.digits) digits.erase(in_digits(d));
  parts.push_back({own, nest.sizes.ceildiv(limit.extent, least.weight)});
  return true;
}

// True if the iterator is a view of a part of the result's: past its end the next part begins, so
// it keeps iterations out as a guard does.
bool is_view(const ir::Block& block, const BlockIter& iter) {
  const auto number = static_cast<int>(&iter - block.iters.data());
  return iter.kind == ir::IterKind::kSpatial &&
         std::ranges::none_of(block.index,
                              [&](const ir::Affine& row) { return row.coef_of(number) != 0; });
}

// What an iterator's inner digits contribute, before scaling.
std::vector<Extension> inner_parts(Nest& nest, BlockId id, const BlockIter& iter,
                                   std::vector<LoopDigit> inner, bool heed_views) {
  std::vector<Extension> parts;
  std::vector<const BlockIter*> limits;
  const ir::Block& block = nest.blocks[id];
  for (const BlockIter& limit : block.iters)
    if (&limit != &iter && (limit.guard || (heed_views && is_view(block, limit))))
      limits.push_back(&limit);
  std::ranges::stable_sort(limits, std::greater<>(),
                           [](const BlockIter* l) { return l->digits.size(); });
  for (const BlockIter* limit : limits) take_limited(nest, inner, *limit, parts);
  for (const LoopDigit& digit : inner) parts.push_back({digit.weight, count_of(nest, digit)});
  return parts;
}

// 16 * [0, v) + 1 * [0, 16) is 1 * [0, 16 * v).
void merge_parts(Sizes& sizes, std::vector<Extension>& parts) {
  std::erase_if(parts, [&](const Extension& p) { return is_one(sizes, p.extent); });
  for (bool merged = true; merged;) {
    merged = false;
    for (std::size_t a = 0; a < parts.size() && !merged; ++a)
      for (std::size_t b = 0; b < parts.size() && !merged; ++b) {
        if (a == b || parts[a].weight != sizes.mul(parts[b].weight, parts[b].extent)) continue;
        parts[b].extent = sizes.mul(parts[a].extent, parts[b].extent);
        parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(a));
        merged = true;
      }
  }
}

class SpanBuilder {
 public:
  SpanBuilder(Nest& nest, BlockId block, LoopId loop, std::span<const LoopId> relaxed)
      : nest_(nest), block_(block), loop_(loop), relaxed_(relaxed) {}

  Span build(const ir::Affine& row) {
    collect_parts(row);
    span_.dense =
        dense_ && (parts_.empty() || (parts_.size() == 1 && is_one(sizes(), parts_[0].weight)));
    span_.extent = sizes().constant(1);
    for (const Extension& p : parts_)
      span_.extent = sizes().add(span_.extent, sizes().mul(p.weight, minus_one(sizes(), p.extent)));
    std::ranges::sort(span_.start, {},
                      [](const LoopDigit& d) { return std::tuple(d.loop, d.div, d.mod); });
    collect_start();
    return std::move(span_);
  }

  // True if the row has another value in each iteration of the loops inside: each part of its value
  // is in steps that the others together do not reach.
  bool tells_iterations(const ir::Affine& row) {
    heed_views_ = true;
    collect_parts(row);
    while (!parts_.empty()) {
      const auto apart = std::ranges::find_if(parts_, [&](const Extension& part) {
        SizeId reach = sizes().constant(1);
        for (const Extension& other : parts_)
          if (&other != &part)
            reach = sizes().add(reach, sizes().mul(other.weight, minus_one(sizes(), other.extent)));
        return sizes().at_least(part.weight, reach);
      });
      if (apart == parts_.end()) return false;
      parts_.erase(apart);
    }
    return dense_;
  }

 private:
  Sizes& sizes() { return nest_.sizes; }

  void collect_parts(const ir::Affine& row) {
    span_.offset = sizes().constant(row.offset);
    // Copies the iterator: making sizes does not touch blocks, but a reference would be easy to
    // misuse.
    for (const auto& [i, coef] : row.terms)
      add(nest_.blocks[block_].iters[static_cast<std::size_t>(i)], coef);
    merge_parts(sizes(), parts_);
  }

  bool is_inner(LoopId loop) const {
    return is_strictly_inside(nest_, loop, loop_) ||
           std::ranges::find(relaxed_, loop) != relaxed_.end();
  }

  void add(const BlockIter& iter, std::int64_t coef) {
    const SizeId factor = sizes().constant(coef);
    if (iter.offset != SizeId::kNone)
      span_.offset = sizes().add(span_.offset, sizes().mul(factor, iter.offset));
    std::vector<LoopDigit> inner;
    for (const LoopDigit& digit : iter.digits) {
      if (is_inner(digit.loop)) {
        inner.push_back(digit);
      } else {
        span_.start.push_back(digit);
        span_.start.back().weight = sizes().mul(factor, digit.weight);
      }
    }
    const std::size_t inner_count = inner.size();
    const bool whole =
        inner.size() == iter.digits.size() && iter.offset == SizeId::kNone && !inner.empty();
    std::vector<Extension> parts = inner_parts(nest_, block_, iter, std::move(inner), heed_views_);
    if (whole) cut_at_domain(iter, parts);
    else if (inner_count == iter.digits.size()) cut_at_first(iter, parts);
    for (const Extension& part : parts) add_part(part, factor);
  }

  // All loops of the iterator are inside, so it stays in its domain, of which it may reach only a
  // part.
  void cut_at_domain(const BlockIter& iter, std::vector<Extension>& parts) {
    const SizeId one = sizes().constant(1);
    merge_parts(sizes(), parts);
    SizeId reached = one;
    if (parts.size() == 1 && parts[0].weight == one) reached = parts[0].extent;
    else dense_ &= parts.empty();
    if (parts.size() > 1 || sizes().at_least(reached, iter.extent)) parts = {{one, iter.extent}};
    else if (reached != one && !sizes().at_least(iter.extent, reached))
      parts = {{one, sizes().min(reached, iter.extent)}};
  }

  // The same where they count down from the last element of the domain.
  void cut_at_first(const BlockIter& iter, std::vector<Extension>& parts) {
    if (iter.offset != minus_one(sizes(), iter.extent)) return;
    merge_parts(sizes(), parts);
    const bool down = parts.size() == 1 && sizes().is_negative(parts[0].weight) &&
                      is_one(sizes(), negated(sizes(), parts[0].weight));
    if (down && !sizes().at_least(iter.extent, parts[0].extent))
      parts[0].extent = sizes().at_least(parts[0].extent, iter.extent)
                            ? iter.extent
                            : sizes().min(parts[0].extent, iter.extent);
  }

  // Gives a part a positive weight. What a negative one reaches below goes into the offset.
  void add_part(Extension part, SizeId factor) {
    part.weight = sizes().mul(part.weight, factor);
    if (sizes().is_negative(part.weight)) {
      span_.offset =
          sizes().add(span_.offset, sizes().mul(part.weight, minus_one(sizes(), part.extent)));
      part.weight = negated(sizes(), part.weight);
    }
    parts_.push_back(part);
  }

  // Merges equal digits of several iterators into one.
  void collect_start() {
    std::vector<LoopDigit> out;
    for (const LoopDigit& d : span_.start) {
      if (!out.empty() && out.back().loop == d.loop && out.back().div == d.div &&
          out.back().mod == d.mod)
        out.back().weight = sizes().add(out.back().weight, d.weight);
      else out.push_back(d);
    }
    std::erase_if(out, [&](const LoopDigit& d) { return d.weight == sizes().constant(0); });
    span_.start = std::move(out);
  }

  Nest& nest_;
  BlockId block_;
  LoopId loop_;
  std::span<const LoopId> relaxed_;
  Span span_;
  std::vector<Extension> parts_;
  bool dense_ = true, heed_views_ = false;
};

}  // namespace

Span span_of(Nest& nest, BlockId block, const ir::Affine& row, LoopId loop,
             std::span<const LoopId> relaxed) {
  return SpanBuilder(nest, block, loop, relaxed).build(row);
}

Box box_of(Nest& nest, BlockId block, const std::vector<ir::Affine>& rows, LoopId loop,
           std::span<const LoopId> relaxed) {
  Box box;
  for (const ir::Affine& row : rows) box.push_back(span_of(nest, block, row, loop, relaxed));
  return box;
}

namespace {

// True if these digits of a loop tell its iterations apart: they lie side by side, from the least
// to the most significant.
bool tell_all(Nest& nest, LoopId loop, std::vector<LoopDigit> digits) {
  Sizes& sizes = nest.sizes;
  SizeId below = sizes.constant(1);  // iterations of which nothing is told yet follow each other
  while (below != nest.loops[loop].extent) {
    const auto next = std::ranges::find_if(digits, [&](const LoopDigit& d) {
      return (d.div == SizeId::kNone ? sizes.constant(1) : d.div) == below;
    });
    if (next == digits.end()) return false;
    if (next->mod == SizeId::kNone) return true;
    below = sizes.mul(below, next->mod);
    digits.erase(next);
  }
  return true;
}

}  // namespace

bool writes_twice(Nest& nest, BlockId id, LoopId loop) {
  const LoopId at = nest.buffers[nest.blocks[id].writes].at;
  if (at != ir::kRoot && nest.is_inside({ir::Item::Kind::kLoop, at}, loop)) return false;
  if (!is_driven_by(nest.blocks[id], loop)) return true;
  if (nest.sizes.knob_count() > 0) return false;
  std::vector<LoopDigit> told;
  const std::vector<ir::Affine> index = nest.blocks[id].index;
  for (const ir::Affine& row : index) {
    const Span span = span_of(nest, id, row, loop);
    std::vector<LoopDigit> own;
    std::ranges::copy_if(span.start, std::back_inserter(own),
                         [&](const LoopDigit& d) { return d.loop == loop; });
    for (LoopDigit& d : own)
      if (nest.sizes.is_negative(d.weight)) d.weight = negated(nest.sizes, d.weight);
    const bool tells = (own.size() == 1 && nest.sizes.at_least(own[0].weight, span.extent)) ||
                       SpanBuilder(nest, id, nest.loops[loop].parent, {}).tells_iterations(row);
    if (tells) told.insert(told.end(), own.begin(), own.end());
  }
  return !tell_all(nest, loop, std::move(told));
}

bool same_start(const Span& a, const Span& b) {
  return std::ranges::equal(a.start, b.start, [](const LoopDigit& x, const LoopDigit& y) {
    return x.loop == y.loop && x.weight == y.weight && x.div == y.div && x.mod == y.mod;
  });
}

Span united(Sizes& sizes, const Span& a, const Span& b, const Span& whole) {
  if (!same_start(a, b)) return whole;
  if (a.offset == b.offset && a.extent == b.extent) {
    Span out = a;
    out.dense |= b.dense;
    return out;
  }
  Span out = a;
  out.dense = false;
  out.offset = sizes.min(a.offset, b.offset);
  const SizeId end = sizes.max(sizes.add(a.offset, a.extent), sizes.add(b.offset, b.extent));
  out.extent = sizes.add(end, negated(sizes, out.offset));
  return out;
}

Box box_read(Nest& nest, ir::BufferId buffer, LoopId loop, std::span<const LoopId> relaxed) {
  Box box, whole;
  if (is_looked_up(nest, buffer, loop)) {
    for (const SizeId size : nest.buffers[buffer].shape)
      box.push_back({{}, nest.sizes.constant(0), size, true});
    return box;
  }
  for (const bool final : {false, true}) {
    for (const BlockId block : nest.blocks_in(loop)) {
      for (const ir::Read* read : ir::reads_of(nest.blocks[block].body)) {
        if (read->tensor != buffer) continue;
        const Box one = box_of(nest, block, read->index, final ? loop : ir::kRoot, relaxed);
        Box& sum = final ? box : whole;
        if (sum.empty()) {
          sum = one;
          continue;
        }
        for (std::size_t d = 0; d < one.size(); ++d)
          sum[d] = united(nest.sizes, sum[d], one[d], whole[d]);
      }
    }
  }
  return box;
}

namespace {

std::vector<Extension> parts_of(Nest& nest, const std::vector<LoopDigit>& digits) {
  std::vector<Extension> parts;
  for (const LoopDigit& digit : digits) parts.push_back({digit.weight, count_of(nest, digit)});
  merge_parts(nest.sizes, parts);
  return parts;
}

// Where a loop counts down, its first iteration is the largest.
SizeId reach_of(Sizes& sizes, const std::vector<Extension>& parts) {
  SizeId reach = sizes.constant(1);
  for (const Extension& p : parts)
    if (!sizes.is_negative(p.weight))
      reach = sizes.add(reach, sizes.mul(p.weight, minus_one(sizes, p.extent)));
  return reach;
}

}  // namespace

SizeId reach_of(Nest& nest, const std::vector<LoopDigit>& digits) {
  return reach_of(nest.sizes, parts_of(nest, digits));
}

bool stays_below(Nest& nest, const std::vector<LoopDigit>& digits, SizeId extent) {
  Sizes& sizes = nest.sizes;
  const std::vector<Extension> parts = parts_of(nest, digits);
  if (parts.size() == 1 && !sizes.is_negative(parts[0].weight))
    return sizes.at_least(sizes.ceildiv(extent, parts[0].weight), parts[0].extent);
  return sizes.at_least(extent, reach_of(sizes, parts));
}

std::int64_t extent_of(const ir::SizedNest& nest, const ir::Block& block, const ir::Affine& row,
                       LoopId loop) {
  std::int64_t extent = 1;
  for (const auto& [i, coef] : row.terms) {
    const BlockIter& iter = block.iters[static_cast<std::size_t>(i)];
    std::int64_t reach = 0;
    for (const LoopDigit& digit : iter.digits) {
      if (!is_strictly_inside(*nest.nest, digit.loop, loop)) continue;
      std::int64_t last = nest.extent(digit.loop) - 1;
      if (digit.div != SizeId::kNone) last /= nest[digit.div];
      if (digit.mod != SizeId::kNone) last = std::min(last, nest[digit.mod] - 1);
      reach += std::abs(nest[digit.weight]) * last;
    }
    extent += std::abs(coef) * std::min(reach, nest[iter.extent] - 1);
  }
  return extent;
}

}  // namespace lathe::analysis
