// Scans in a nest: blocks that read elements that they have written before. What they read lies
// along one axis before the element that they write, so the loops along it keep their order.
#pragma once

#include <optional>

#include "compiler/ir/nest/nest.h"

namespace lathe::analysis {

// True if the block reads the buffer that it writes.
bool is_scan(const ir::Block& block);
bool has_scan(const ir::Nest& nest);

// A scan whose elements are each `before` (op) `terms`, where the order of the operations may
// change: sums, products and extremes; and filters, sums of `factor` * `before` and terms. `before`
// is the element one before, or, inside of a Select by an InRange, what a part of the scan starts
// from.
struct AnyOrderScan {
  ir::BinaryOp op = ir::BinaryOp::kAdd;
  ir::Expr before, terms;
  const ir::Read* own = nullptr;  // in `before`
  int axis = -1;                  // iterator along which the scan goes
  int part = -1;  // iterator that begins anew where the scan does; -1: there is none
  double factor = 1;
};
// The reduction by the operation of such a scan.
ir::ReduceOp reduction_by(ir::BinaryOp op);
// Nothing where the block is none, or computes in f16 or bf16, which round after every operation.
std::optional<AnyOrderScan> any_order_scan(const ir::Block& block);

// True if the loop is innermost, and its iterations, a power of two, may be the lanes of vectors:
// log2(lanes) operations make the scan of a vector, and one more adds what is before it.
bool may_scan_lanes(const ir::Nest& nest, ir::BlockId block, ir::LoopId loop);

// True if the loop moves the block along the axis of its scan. A loop over parts, in each of which
// the scan begins anew, does not.
bool is_scan_loop(const ir::Block& block, ir::LoopId loop);

// True if the loop, or one around it, is such a loop of the block that writes the buffer: what it
// holds in one iteration is not all that the scan reads again.
bool goes_along_scan(const ir::Nest& nest, ir::BlockId block, ir::LoopId loop);

}  // namespace lathe::analysis
