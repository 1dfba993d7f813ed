// Sums of what the items of a warp have in registers: they exchange them, halves with halves, so
// that all have the sum. It is the same in each, and the same in every run.
#include <algorithm>
#include <utility>

#include "compiler/lower/expand/emitter.h"
#include "compiler/lower/expand/lanes.h"

namespace lathe::lower {

// Items along x are the lanes of a warp: so many, whether all have a part or not.
void Emitter::fill_warps(flat::Grid& grid) {
  flat::Axis& axis = grid.items[0];
  if (axis.count > flat::kWarpItems)
    refuse(ErrorKind::kIllegalSchedule,
           "a loop of {} iterations is bound to threadIdx.x where items of a warp exchange "
           "registers: at most {} can",
           axis.count, flat::kWarpItems);
  if (axis.var < 0) axis.var = new_var("lane", {0, 0});
  axis.count = flat::kWarpItems;
  place_.ranges[axis.var].max = axis.count - 1;
}

// Emits the whole reduction of a block over the parts of a warp's items.
void Emitter::emit_sum_of_lanes(LoopId loop, BlockId sum) {
  if (place_.init_of || !plan_.blocks[sum].live) return;  // it starts with the first part
  const ir::Block& block = nest_.blocks[sum];
  if (!plan_.grids || !plan_.grids->exchanges)
    refuse(ErrorKind::kUnsupported,
           "the parts {} are in registers that the items of a warp exchange, which this target has "
           "not: keep them in the memory of the group",
           nest_.buffers[std::get<ir::Read>(block.body->value).tensor].name);
  const BlockPlan& plan = plan_.blocks[sum];
  for (const LoopId l : plan.path)
    if (l != loop && plan_.reduces_over(sum, l))
      refuse(
          ErrorKind::kUnsupported,
          "block {} sums up the parts of a warp's items, and over loop {}, too: sum up the parts "
          "alone",
          block.name, nest_.loops[l].name);
  place_.bound[loop] = {Binding::Kind::kStatic, 0};
  Instance at{sum, &plan};
  if (leaf_.prepare_instance(at)) {
    const auto* read = std::get_if<ir::Read>(&block.body->value);
    const flat::Expr own = leaf_.read_element(at, read->tensor, read->index, nullptr, 0);
    const std::int64_t parts = sized_.extent(loop);
    const int total = exchanged_sum(block, own, parts);
    const auto put_off = put_off_;
    const unsigned first_items = first_items_;
    const flat::Expr test = both(at.condition, both(tests_put_off({sum}), test_of_first({sum})));
    const flat::Stmt store = code_.capture([&] {
      leaf_.emit_write(at, block.writes, flat::reg_read(total, code_.program.regs[total]));
    });
    put_off_ = put_off;
    first_items_ = first_items;
    code_.out->push_back(test ? flat::if_then(test, store) : store);
  }
  place_.bound[loop] = {};
}

// A register that gets what all items' own values are in one. Items beyond the parts have none.
int Emitter::exchanged_sum(const ir::Block& block, flat::Expr own, std::int64_t parts) {
  const flat::Type type = own->type;
  if (type.lanes != 1 || type.dtype == Dtype::kBool)
    refuse(ErrorKind::kUnsupported,
           "block {} sums up vectors or truth values of a warp's items, which they do not exchange",
           block.name);
  auto& regs = code_.program.regs;
  const int total = static_cast<int>(regs.size()), other = total + 1;
  regs.push_back(type), regs.push_back(type);
  const flat::Stmt take = flat::reg_write(total, std::move(own));
  if (parts < flat::kWarpItems) {
    const double none = ir::identity_of(block.reduce, type.dtype);
    const flat::Expr has_part =
        flat::binary(flat::BinaryOp::kLt, flat::var(grid_.items[0].var), flat::int_imm(parts));
    code_.out->push_back(
        flat::if_then(has_part, take, flat::reg_write(total, flat::imm(none, type))));
  } else {
    code_.out->push_back(take);
  }
  const flat::Expr sum = flat::reg_read(total, type);
  for (int mask = flat::kWarpItems / 2; mask > 0; mask /= 2) {
    code_.out->push_back(flat::exchange(other, sum, mask));
    code_.out->push_back(flat::reg_write(
        total, flat::binary(BlockEmitter::operation_of(block), sum, flat::reg_read(other, type))));
  }
  return total;
}

}  // namespace lathe::lower
