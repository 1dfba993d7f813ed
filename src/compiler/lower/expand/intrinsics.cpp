// Tensorized loops that lowering writes out: registers of as many lanes as the intrinsic has stand
// for its tile of results, and each step of the reduction adds to all of them. What a lane holds of
// the result says which of its elements is in which register; the rest follows from the block.
#include "compiler/lower/expand/emitter.h"

namespace lathe::lower {

// By iterator of the intrinsic: the loop from `loop` inwards that is of its kind and extent. The
// loop of the lanes moves the result by one element of its innermost dimension.
std::vector<LoopId> Emitter::loops_of_intrinsic(LoopId loop, BlockId id,
                                                const ir::Intrinsic& intrinsic) const {
  const auto is_lane = [&](LoopId l) {
    for (const auto& term : nest_.blocks[id].index.back().terms)
      for (const LoopDigit& d : plan_.blocks[id].iters[term.iter].digits)
        if (d.loop == l && d.weight * term.coef == 1) return true;
    return false;
  };
  std::vector<LoopId> loops(intrinsic.iters.size(), ir::kRoot);
  for (const LoopId l : plan_.blocks[id].path) {
    if (l != loop && !plan_.inside(l, loop)) continue;
    const bool reduces = plan_.reduces_over(id, l), lane = !reduces && is_lane(l);
    const auto fits = [&](int i) {
      const ir::Intrinsic::Iter& iter = intrinsic.iters[i];
      return loops[i] == ir::kRoot && iter.reduces == reduces && iter.extent == sized_.extent(l) &&
             lane == (i == intrinsic.lane_iter());
    };
    int i = 0;
    while (i < static_cast<int>(loops.size()) && !fits(i)) ++i;
    if (i == static_cast<int>(loops.size()))
      refuse(ErrorKind::kIllegalSchedule, "intrinsic {} has no loop like {} of {} iterations",
             intrinsic.name, nest_.loops[l].name, sized_.extent(l));
    loops[i] = l;
  }
  if (std::ranges::count(loops, ir::kRoot) != 0)
    refuse(ErrorKind::kIllegalSchedule, "intrinsic {} has more loops than {}", intrinsic.name,
           nest_.loops[loop].name);
  return loops;
}

void Emitter::emit_intrinsic(LoopId loop) {
  const ir::Loop& l = nest_.loops[loop];
  const ir::Intrinsic& intrinsic = ir::row_of(l.intrinsic);
  LATHE_CHECK(intrinsic.is_written_out(), "{} is for a back end, and was not refused",
              intrinsic.name);
  const auto blocks = place_.blocks_in_view(loop);
  if (blocks.size() != 1 || nest_.blocks[blocks[0]].reduce != intrinsic.reduce || place_.lanes > 1)
    refuse(ErrorKind::kIllegalSchedule,
           "intrinsic {} stands for one sum, not for what is inside {}", intrinsic.name, l.name);
  const BlockId id = blocks[0];
  const BlockPlan& plan = plan_.blocks[id];
  for (int k = 0; k < static_cast<int>(plan.constraints.size()); ++k)
    // A tail becomes plain loops.
    if (place_.proven[id][k] == 0 && place_.status(plan, k) != Status::kAlways)
      return emit_dynamic(loop);
  emit_register_tile(loop, id, intrinsic);
}

void Emitter::emit_register_tile(LoopId loop, BlockId id, const ir::Intrinsic& intrinsic) {
  const std::vector<LoopId> loops = loops_of_intrinsic(loop, id, intrinsic);
  const BlockPlan& plan = plan_.blocks[id];
  const ir::Block& block = nest_.blocks[id];
  const flat::Type row{intrinsic.accumulator, intrinsic.lanes};
  const bool starts_here = plan.init_loop == loop || plan_.inside(plan.init_loop, loop);
  const auto bind = [&](int iter, std::int64_t value) {
    place_.bound[loops[iter]] = {Binding::Kind::kStatic, value};
  };
  const auto bind_result = [&](int element) {
    for (const ir::FragmentCoordinate& c : intrinsic.result.coordinates)
      if (c.iter >= 0 && c.iter != intrinsic.lane_iter()) bind(c.iter, c.value(0, element));
  };
  Instance at{id, &plan, intrinsic.lanes};
  place_.lanes = intrinsic.lanes;
  place_.bound[loops[intrinsic.lane_iter()]] = {Binding::Kind::kLane};
  intrinsic.bind_term(0, bind);
  const int first = static_cast<int>(code_.program.regs.size());
  const int count = intrinsic.result.elements;
  code_.program.regs.resize(code_.program.regs.size() + count, row);
  for (int i = 0; i < count; ++i) {
    bind_result(i);
    flat::Expr start =
        starts_here
            ? flat::imm(ir::identity_of(intrinsic.reduce, row.dtype), row)
            : flat::cast(leaf_.read_element(at, block.writes, block.index, nullptr, 0), row.dtype);
    code_.out->push_back(flat::reg_write(first + i, std::move(start)));
  }
  for (int k = 0; k < intrinsic.terms(); ++k) {
    intrinsic.bind_term(k, bind);
    for (int i = 0; i < count; ++i) {
      bind_result(i);
      code_.out->push_back(
          flat::reg_write(first + i, leaf_.accumulated(at, flat::reg_read(first + i, row))));
    }
  }
  for (int i = 0; i < count; ++i) {
    bind_result(i);
    leaf_.emit_write(at, block.writes, flat::reg_read(first + i, row));
  }
  place_.lanes = 1;
  for (const LoopId which : loops) place_.bound[which] = {};
}

}  // namespace lathe::lower
