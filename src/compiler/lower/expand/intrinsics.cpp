// Tensorized loops: an intrinsic's own sequence of flat statements replaces its loops.
//
// gemm8x8 (paper, Figure 1): C[8,8] += sum over 8 of A * B. The eight rows of the result stay in
// registers of eight lanes while eight rank-one updates are added. Each update takes one broadcast
// and one multiply-add for each row.
#include "compiler/lower/expand/emitter.h"

namespace lathe::lower {

namespace {
constexpr int kGemm = 8;
}

// The loops of the intrinsic, by what they index: rows, lanes (the result's innermost dimension),
// reduction.
GemmLoops Emitter::gemm_loops(LoopId loop, BlockId id) const {
  GemmLoops loops;
  const ir::Block& block = nest_.blocks[id];
  for (const LoopId l : plan_.blocks[id].path) {
    if (l != loop && !plan_.inside(l, loop)) continue;
    if (sized_.extent(l) != kGemm)
      refuse(ErrorKind::kIllegalSchedule,
             "intrinsic gemm8x8 needs loops of 8 iterations, {} has {}", nest_.loops[l].name,
             sized_.extent(l));
    bool lanes = false;
    for (const auto& term : block.index.back().terms)
      for (const LoopDigit& d : plan_.blocks[id].iters[term.iter].digits)
        lanes |= d.loop == l && d.weight * term.coef == 1;
    (plan_.reduces_over(id, l) ? loops.reduction : lanes ? loops.lanes : loops.rows) = l;
  }
  if (loops.rows < 0 || loops.lanes < 0 || loops.reduction < 0)
    refuse(ErrorKind::kIllegalSchedule,
           "intrinsic gemm8x8 needs two spatial loops and a reduction inside {}",
           nest_.loops[loop].name);
  return loops;
}

void Emitter::emit_intrinsic(LoopId loop) {
  switch (nest_.loops[loop].intrinsic) {
    case ir::Intrinsic::kNone: break;
    case ir::Intrinsic::kGemm8x8: return emit_gemm8x8(loop);
  }
  LATHE_CHECK(false, "{} has no intrinsic", nest_.loops[loop].name);
}

void Emitter::emit_gemm8x8(LoopId loop) {
  const auto blocks = place_.blocks_in_view(loop);
  const ir::Loop& l = nest_.loops[loop];
  if (blocks.size() != 1 || nest_.blocks[blocks[0]].reduce != ir::ReduceOp::kSum ||
      place_.lanes > 1)
    refuse(ErrorKind::kIllegalSchedule,
           "intrinsic gemm8x8 stands for one sum, not for what is inside {}", l.name);
  const BlockId id = blocks[0];
  const BlockPlan& plan = plan_.blocks[id];
  for (int k = 0; k < static_cast<int>(plan.constraints.size()); ++k)
    // A tail becomes plain loops.
    if (place_.proven[id][k] == 0 && place_.status(plan, k) != Status::kAlways)
      return emit_dynamic(loop);

  const GemmLoops loops = gemm_loops(loop, id);
  const ir::Block& block = nest_.blocks[id];
  const Dtype dtype = block.body->dtype;
  const bool starts_here = plan.init_loop == loop || plan_.inside(plan.init_loop, loop);
  const auto bind = [&](LoopId which, std::int64_t value) {
    place_.bound[which] = {Binding::Kind::kStatic, value};
  };
  Instance at{id, &plan, kGemm};
  place_.lanes = kGemm;
  place_.bound[loops.lanes] = {Binding::Kind::kLane};
  bind(loops.reduction, 0);
  const int first = static_cast<int>(code_.program.regs.size());
  const flat::Type row{dtype, kGemm};
  code_.program.regs.resize(code_.program.regs.size() + kGemm, row);
  for (int i = 0; i < kGemm; ++i) {
    bind(loops.rows, i);
    flat::Expr start =
        starts_here
            ? flat::imm(0, row)
            : flat::cast(leaf_.read_element(at, block.writes, block.index, nullptr, 0), dtype);
    code_.out->push_back(flat::reg_write(first + i, std::move(start)));
  }
  for (int k = 0; k < kGemm; ++k) {
    bind(loops.reduction, k);
    for (int i = 0; i < kGemm; ++i) {
      bind(loops.rows, i);
      code_.out->push_back(
          flat::reg_write(first + i, leaf_.accumulated(at, flat::reg_read(first + i, row))));
    }
  }
  for (int i = 0; i < kGemm; ++i) {
    bind(loops.rows, i);
    leaf_.emit_write(at, block.writes, flat::reg_read(first + i, row));
  }
  place_.lanes = 1;
  for (const LoopId which : {loops.rows, loops.lanes, loops.reduction}) place_.bound[which] = {};
}

}  // namespace lathe::lower
