#include "compiler/schedule/steps/tensorize.h"

#include <algorithm>

#include <fmt/format.h>

#include "compiler/analysis/dependence.h"
#include "compiler/schedule/edit.h"
#include "compiler/schedule/intrinsic.h"

namespace lathe::schedule {
namespace {

using ir::LoopId;

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
        const bool known = nest.sizes.is_constant(digit.weight) && digit.div == ir::SizeId::kNone &&
                           digit.mod == ir::SizeId::kNone;
        if (d + 1 == index.size())
          motion.last = known ? coef * nest.sizes.constant_value(digit.weight) : -1;
      }
  return motion;
}

// Tries to give each iterator of the intrinsic one of the loops.
class Matcher {
 public:
  Matcher(const ir::Nest& nest, ir::BlockId block, const std::vector<LoopId>& chain,
          const IntrinsicShape& shape)
      : nest_(nest), id_(block), block_(nest.blocks[block]), chain_(chain), shape_(shape) {}

  bool matches() const {
    const auto* product = std::get_if<ir::Binary>(&block_.body->value);
    if (!product || product->op != ir::BinaryOp::kMul || block_.reduce != shape_.reduce)
      return false;
    const auto* a = std::get_if<ir::Read>(&product->a->value);
    const auto* b = std::get_if<ir::Read>(&product->b->value);
    if (!a || !b || product->a->dtype != shape_.dtype || product->b->dtype != shape_.dtype ||
        nest_.buffers[block_.writes].dtype != shape_.dtype || chain_.size() != shape_.iters.size())
      return false;
    std::vector<std::size_t> order(chain_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    do {
      if (fits(order, *a, *b) || fits(order, *b, *a)) return true;
    } while (std::ranges::next_permutation(order).found);
    return false;
  }

 private:
  bool fits(const std::vector<std::size_t>& order, const ir::Read& left,
            const ir::Read& right) const {
    for (std::size_t i = 0; i < order.size(); ++i) {
      const LoopId loop = chain_[order[i]];
      const IntrinsicShape::Iter& iter = shape_.iters[i];
      const ir::SizeId extent = nest_.loops[loop].extent;
      if (!nest_.sizes.is_constant(extent) || nest_.sizes.constant_value(extent) != iter.extent)
        return false;
      if (nest_.is_reduction_loop(id_, loop) != iter.reduces) return false;
      const auto wants = [&](const std::vector<int>& operand) {
        return std::ranges::find(operand, static_cast<int>(i)) != operand.end();
      };
      const Motion result = motion_of(nest_, block_, block_.index, loop);
      if (result.moves != wants(shape_.result) || (iter.is_lane && result.last != 1)) return false;
      if (motion_of(nest_, block_, left.index, loop).moves != wants(shape_.left)) return false;
      if (motion_of(nest_, block_, right.index, loop).moves != wants(shape_.right)) return false;
    }
    return true;
  }

  const ir::Nest& nest_;
  ir::BlockId id_;
  const ir::Block& block_;
  const std::vector<LoopId>& chain_;
  const IntrinsicShape& shape_;
};

}  // namespace

std::string Tensorize::text() const {
  return fmt::format("tensorize {} by {}", loop, name_of(intrinsic));
}

StepResult<void> apply_step(ir::Nest& nest, const Tensorize& step) {
  const LoopId loop = LATHE_TRY(loop_named(nest, step.loop));
  const IntrinsicShape shape = shape_of(step.intrinsic);
  const std::vector<LoopId> chain = innermost_chain(nest, loop);
  if (chain.empty()) return refuse(Refusal::kNotInnermost, step.loop);
  for (const LoopId l : chain)
    if (nest.loops[l].kind != ir::LoopKind::kSerial || is_tensorized(nest, l))
      return refuse(Refusal::kAlreadyBound, nest.loops[l].name);
  const ir::BlockId block = nest.loops[chain.back()].body[0].id;
  if (!Matcher(nest, block, chain, shape).matches())
    return refuse(Refusal::kIntrinsicMismatch, step.loop);
  nest.loops[loop].intrinsic = step.intrinsic;
  return {};
}

}  // namespace lathe::schedule
