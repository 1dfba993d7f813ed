#include "compiler/analysis/scans.h"

#include <algorithm>
#include <cmath>

#include "compiler/analysis/dependence.h"

namespace lathe::analysis {
bool is_scan(const ir::Block& block) { return reads(block, block.writes); }

bool has_scan(const ir::Nest& nest) {
  return std::ranges::any_of(nest.blocks_in_order(),
                             [&](ir::BlockId id) { return is_scan(nest.blocks[id]); });
}

namespace {

// The read of the block's own tensor that begins anew with an iterator: select(u - 1 in range,
// own[t - 1], other).
struct StartedRead {
  const ir::Read* own = nullptr;
  int part = -1;
};
StartedRead started_read(const ir::Block& block, const ir::Expr& e) {
  if (const auto* own = std::get_if<ir::Read>(&e->value)) return {own, -1};
  const auto* choice = std::get_if<ir::Select>(&e->value);
  if (choice == nullptr) return {};
  const auto* range = std::get_if<ir::InRange>(&choice->condition->value);
  const auto* own = std::get_if<ir::Read>(&choice->then->value);
  if (range == nullptr || own == nullptr || range->rows.size() != 1) return {};
  for (const ir::Read* other : ir::reads_of(choice->otherwise))
    if (other->tensor == block.writes) return {};
  const ir::InRange::Row& row = range->rows[0];
  if (row.low != 0 || row.index.terms.size() != 1 || row.index.terms[0].coef != 1 ||
      row.index.offset != -1)
    return {};
  return {own, row.index.terms[0].iter};
}

// The iterator along which the read lies one step before the element that is written; -1: none.
int axis_one_before(const ir::Block& block, const ir::Read& own) {
  int axis = -1;
  for (std::size_t d = 0; d < block.index.size(); ++d) {
    const ir::Affine apart = own.index[d] + block.index[d] * -1;
    if (apart.terms.empty() && apart.offset == 0) continue;
    const ir::Affine& row = block.index[d];
    if (axis >= 0 || !apart.terms.empty() || row.terms.size() != 1 ||
        apart.offset != -row.terms[0].coef)
      return -1;
    axis = row.terms[0].iter;
  }
  return axis;
}

bool same_digit(const ir::LoopDigit& a, const ir::LoopDigit& b) {
  return a.loop == b.loop && a.weight == b.weight && a.div == b.div && a.mod == b.mod;
}

// True if the loops of the axis are those of the part, and others outside of these.
bool is_part_of(const ir::BlockIter& part, const ir::BlockIter& axis) {
  if (part.offset != ir::SizeId::kNone || axis.offset != ir::SizeId::kNone ||
      part.digits.size() > axis.digits.size())
    return false;
  return std::equal(part.digits.rbegin(), part.digits.rend(), axis.digits.rbegin(), same_digit);
}

// Takes a number as a factor out of what is before.
void take_factor(AnyOrderScan& scan) {
  const auto* product = std::get_if<ir::Binary>(&scan.before->value);
  if (product == nullptr || product->op != ir::BinaryOp::kMul || scan.op != ir::BinaryOp::kAdd ||
      !is_float(scan.before->dtype))
    return;
  const auto* first = std::get_if<ir::Const>(&product->a->value);
  const auto* second = std::get_if<ir::Const>(&product->b->value);
  if (first == nullptr && second == nullptr) return;
  scan.factor = first != nullptr ? first->value : second->value;
  scan.before = first != nullptr ? product->b : product->a;
}

// True if so high a power of the factor is as exact as the factor, and neither overflows nor
// vanishes: what is before may be infinite.
bool has_power(double factor, std::int64_t power, Dtype dtype) {
  const double least = dtype == Dtype::kF32 ? 0x1p-126 : 0x1p-1022;
  const double size = std::abs(factor);
  return factor == 1 || (size <= 1 && std::pow(size, static_cast<double>(power)) >= least);
}

}  // namespace

ir::ReduceOp reduction_by(ir::BinaryOp op) {
  switch (op) {
    case ir::BinaryOp::kMax: return ir::ReduceOp::kMax;
    case ir::BinaryOp::kMin: return ir::ReduceOp::kMin;
    case ir::BinaryOp::kMul: return ir::ReduceOp::kProd;
    default: return ir::ReduceOp::kSum;
  }
}

std::optional<AnyOrderScan> any_order_scan(const ir::Block& block) {
  const auto* made = std::get_if<ir::Binary>(&block.body->value);
  const Dtype dtype = block.body->dtype;
  if (made == nullptr || block.reduce != ir::ReduceOp::kNone || dtype == Dtype::kF16 ||
      dtype == Dtype::kBF16 || ir::looks_up(block.body, block.writes))
    return std::nullopt;
  if (made->op != ir::BinaryOp::kAdd && made->op != ir::BinaryOp::kMul &&
      made->op != ir::BinaryOp::kMin && made->op != ir::BinaryOp::kMax)
    return std::nullopt;
  const auto reads_own = [&](const ir::Expr& e) {
    return std::ranges::any_of(ir::reads_of(e),
                               [&](const ir::Read* r) { return r->tensor == block.writes; });
  };
  AnyOrderScan out{.op = made->op, .before = block.body, .terms = nullptr};
  const auto takes_op = [&] {
    made = std::get_if<ir::Binary>(&out.before->value);
    return made != nullptr && made->op == out.op;
  };
  while (takes_op()) {
    const ir::Expr a = made->a, b = made->b;
    if (reads_own(a) == reads_own(b)) return std::nullopt;
    const ir::Expr& others = reads_own(a) ? b : a;
    out.terms = out.terms ? ir::binary(out.op, others, out.terms) : others;
    out.before = reads_own(a) ? a : b;
  }
  take_factor(out);
  const StartedRead started = started_read(block, out.before);
  if (started.own == nullptr) return std::nullopt;
  out.own = started.own, out.part = started.part;
  out.axis = axis_one_before(block, *out.own);
  const auto iter = [&](int i) -> const ir::BlockIter& {
    return block.iters[static_cast<std::size_t>(i)];
  };
  if (out.axis < 0 || (out.part >= 0 && !is_part_of(iter(out.part), iter(out.axis))))
    return std::nullopt;
  return out;
}

bool may_scan_lanes(const ir::Nest& nest, ir::BlockId id, ir::LoopId loop) {
  const ir::Block& block = nest.blocks[static_cast<std::size_t>(id)];
  const ir::Loop& l = nest.loops[static_cast<std::size_t>(loop)];
  const auto scan = any_order_scan(block);
  if (!scan || block.parent != loop || l.body.size() != 1 || !nest.sizes.is_constant(l.extent) ||
      (l.tail != ir::Tail::kPeel && l.tail != ir::Tail::kMask) ||
      l.intrinsic != ir::IntrinsicId::kNone)
    return false;
  const std::int64_t lanes = nest.sizes.constant_value(l.extent);
  const auto& digits = block.iters[static_cast<std::size_t>(scan->axis)].digits;
  if (digits.empty()) return false;
  const ir::LoopDigit& digit = digits.back();
  const bool last = digit.loop == loop && digit.div == ir::SizeId::kNone &&
                    digit.mod == ir::SizeId::kNone && nest.sizes.is_constant(digit.weight) &&
                    nest.sizes.constant_value(digit.weight) == 1;
  return last && lanes > 0 && (lanes & (lanes - 1)) == 0 &&
         has_power(scan->factor, lanes, block.body->dtype);
}

bool is_scan_loop(const ir::Block& block, ir::LoopId loop) {
  if (const auto scan = any_order_scan(block); scan && scan->part >= 0) {
    const auto& digits = block.iters[static_cast<std::size_t>(scan->part)].digits;
    return std::ranges::find(digits, loop, &ir::LoopDigit::loop) != digits.end();
  }
  return std::ranges::any_of(ir::reads_of(block.body), [&](const ir::Read* read) {
    if (read->tensor != block.writes) return false;
    for (std::size_t d = 0; d < block.index.size(); ++d)
      if (read->index[d] != block.index[d] &&
          (is_driven_by(block, block.index[d], loop) || is_driven_by(block, read->index[d], loop)))
        return true;
    return false;
  });
}

bool goes_along_scan(const ir::Nest& nest, ir::BlockId id, ir::LoopId loop) {
  const ir::Block& block = nest.blocks[static_cast<std::size_t>(id)];
  return std::ranges::any_of(nest.path_to(loop),
                             [&](ir::LoopId l) { return is_scan_loop(block, l); });
}

}  // namespace lathe::analysis
