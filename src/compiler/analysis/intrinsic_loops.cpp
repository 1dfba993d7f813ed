#include "compiler/analysis/intrinsic_loops.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace lathe::analysis {
namespace {

using ir::LoopId;
using ir::SizeId;

// `loop` and the loops inside it, each the only child of the one before, down to a single block;
// empty if the loops are not like that.
std::vector<LoopId> innermost_chain(const ir::Nest& nest, LoopId loop) {
  std::vector<LoopId> chain;
  for (;;) {
    chain.push_back(loop);
    const auto& body = nest.loops[loop].body;
    if (body.size() != 1) return {};
    if (body[0].kind == ir::Item::Kind::kBlock) return chain;
    loop = body[0].id;
  }
}

// Tells whether the loop moves an access, and by how much in its last dimension (-1: by an unknown
// amount).
struct Motion {
  bool moves = false;
  std::int64_t last = 0;
};
Motion motion_of(const ir::Nest& nest, const ir::Block& block, const std::vector<ir::Affine>& index,
                 LoopId loop) {
  Motion motion;
  for (std::size_t d = 0; d < index.size(); ++d)
    for (const auto& [iter, coef] : index[d].terms)
      for (const ir::LoopDigit& digit : block.iters[static_cast<std::size_t>(iter)].digits) {
        if (digit.loop != loop) continue;
        motion.moves = true;
        const bool known = nest.sizes.is_constant(digit.weight) && digit.div == SizeId::kNone &&
                           digit.mod == SizeId::kNone;
        if (d + 1 == index.size())
          motion.last = known ? coef * nest.sizes.constant_value(digit.weight) : -1;
      }
  return motion;
}

std::optional<std::int64_t> number(const ir::Nest& nest, SizeId id, std::int64_t absent) {
  if (id == SizeId::kNone) return absent;
  if (!nest.sizes.is_constant(id)) return std::nullopt;
  return nest.sizes.constant_value(id);
}

// What the loops of an intrinsic and those around make of an iterator: a multiple of `step`, and
// `from` to `to` on top of it.
struct Reach {
  std::int64_t from = 0, to = 0;
  std::int64_t step = 0;  // 0: only the intrinsic's loops move it
  bool inside = false;    // one of the intrinsic's loops moves it
};
// Nothing where a size is open.
std::optional<Reach> reach_of(const ir::Nest& nest, const ir::BlockIter& iter,
                              const std::vector<LoopId>& chain) {
  Reach reach;
  for (const ir::LoopDigit& digit : iter.digits) {
    const auto weight = number(nest, digit.weight, 1);
    if (!weight) return std::nullopt;
    if (std::ranges::find(chain, digit.loop) == chain.end()) {
      reach.step = std::gcd(reach.step, *weight);
      continue;
    }
    const auto extent = number(nest, nest.loops[digit.loop].extent, 1);
    const auto div = number(nest, digit.div, 1), mod = number(nest, digit.mod, 0);
    if (!extent || !div || !mod) return std::nullopt;
    std::int64_t last = (*extent - 1) / *div;
    if (*mod != 0) last = std::min(last, *mod - 1);
    reach.inside = true;
    (*weight < 0 ? reach.from : reach.to) += *weight * last;
  }
  return reach;
}

// True if in some run of the chain a part of its iterations is left out, but not all of them.
bool leaves_out_some(const ir::Nest& nest, const ir::Block& block,
                     const std::vector<LoopId>& chain) {
  return std::ranges::any_of(block.iters, [&](const ir::BlockIter& iter) {
    const auto reach = reach_of(nest, iter, chain);
    const auto extent = number(nest, iter.extent, 1), offset = number(nest, iter.offset, 0);
    if (!reach || !reach->inside || !extent || !offset) return false;
    if (reach->step == 0) return *offset + reach->from < 0 || *offset + reach->to >= *extent;
    // Every run has one whole step between two multiples of it; both ends are multiples, too.
    return reach->from < 0 || reach->to >= reach->step || *offset % reach->step != 0 ||
           *extent % reach->step != 0;
  });
}

// Tries to give each iterator of the intrinsic one of the loops.
class LoopMatcher {
 public:
  LoopMatcher(const ir::Nest& nest, ir::BlockId block, const std::vector<LoopId>& chain,
              const ir::Intrinsic& intrinsic)
      : nest_(nest),
        id_(block),
        block_(nest.blocks[block]),
        chain_(chain),
        intrinsic_(intrinsic),
        lane_(intrinsic.is_written_out() ? intrinsic.lane_iter() : -1) {}

  std::expected<IntrinsicLoops, OtherLoops> run() const {
    const auto* product = std::get_if<ir::Binary>(&block_.body->value);
    if (!product || product->op != ir::BinaryOp::kMul || block_.reduce != intrinsic_.reduce ||
        chain_.size() != intrinsic_.iters.size())
      return std::unexpected(OtherLoops::kOtherSum);
    if (!std::holds_alternative<ir::Read>(product->a->value) ||
        !std::holds_alternative<ir::Read>(product->b->value))
      return std::unexpected(OtherLoops::kOtherSum);
    const bool straight = has_types(product->a, product->b);
    const bool swapped = has_types(product->b, product->a);
    if (!straight && !swapped) return std::unexpected(OtherLoops::kOtherTypes);
    if (!has_extents()) return std::unexpected(OtherLoops::kOtherExtents);
    auto found = straight ? assigned(product->a, product->b) : std::nullopt;
    if (!found && swapped) found = assigned(product->b, product->a);
    if (!found) return std::unexpected(OtherLoops::kOtherSum);
    if (!intrinsic_.is_written_out() &&
        (found->left->pad || found->right->pad || leaves_out_some(nest_, block_, chain_)))
      return std::unexpected(OtherLoops::kTail);
    return *std::move(found);
  }

 private:
  bool has_types(const ir::Expr& left, const ir::Expr& right) const {
    return left->dtype == intrinsic_.left.dtype && right->dtype == intrinsic_.right.dtype &&
           block_.body->dtype == intrinsic_.accumulator &&
           nest_.buffers[block_.writes].dtype == intrinsic_.result.dtype;
  }

  bool has_extents() const {
    std::vector<std::int64_t> have, want;
    for (const LoopId loop : chain_) have.push_back(extent(loop));
    for (const auto& iter : intrinsic_.iters) want.push_back(iter.extent);
    return std::ranges::is_permutation(have, want);
  }
  std::int64_t extent(LoopId loop) const {
    return number(nest_, nest_.loops[loop].extent, 1).value_or(-1);
  }

  std::optional<IntrinsicLoops> assigned(const ir::Expr& left, const ir::Expr& right) const {
    IntrinsicLoops found{id_, chain_, &std::get<ir::Read>(left->value),
                         &std::get<ir::Read>(right->value)};
    std::vector<std::size_t> order(chain_.size());
    std::iota(order.begin(), order.end(), 0);
    do {
      for (std::size_t i = 0; i < order.size(); ++i) found.loops[i] = chain_[order[i]];
      if (fits(found)) return found;
    } while (std::ranges::next_permutation(order).found);
    return std::nullopt;
  }

  bool fits(const IntrinsicLoops& found) const {
    for (int i = 0; i < static_cast<int>(found.loops.size()); ++i) {
      const LoopId loop = found.loops[static_cast<std::size_t>(i)];
      const ir::Intrinsic::Iter& iter = intrinsic_.iters[static_cast<std::size_t>(i)];
      if (extent(loop) != iter.extent || nest_.is_reduction_loop(id_, loop) != iter.reduces)
        return false;
      const Motion result = motion_of(nest_, block_, block_.index, loop);
      if (result.moves != intrinsic_.result.has(i) || (i == lane_ && result.last != 1))
        return false;
      if (moves(*found.left, loop) != intrinsic_.left.has(i) ||
          moves(*found.right, loop) != intrinsic_.right.has(i))
        return false;
    }
    return true;
  }
  bool moves(const ir::Read& read, LoopId loop) const {
    return motion_of(nest_, block_, read.index, loop).moves;
  }

  const ir::Nest& nest_;
  ir::BlockId id_;
  const ir::Block& block_;
  const std::vector<LoopId>& chain_;
  const ir::Intrinsic& intrinsic_;
  int lane_;
};

}  // namespace

std::expected<IntrinsicLoops, OtherLoops> intrinsic_loops(const ir::Nest& nest, LoopId loop,
                                                          const ir::Intrinsic& intrinsic) {
  const std::vector<LoopId> chain = innermost_chain(nest, loop);
  if (chain.empty()) return std::unexpected(OtherLoops::kNotInnermost);
  const ir::BlockId block = nest.loops[chain.back()].body[0].id;
  return LoopMatcher(nest, block, chain, intrinsic).run();
}

}  // namespace lathe::analysis
