// Small programs of regions with phases and of several kernels.
#include "unit/codegen/small_programs.h"

namespace lathe {
namespace {

using namespace flat;
using enum flat::BinaryOp;
using testing::buffer, testing::check, testing::program;

TEST(Parallel, ParallelLoopsSeeVariablesAndOwnScratch) {
  // Within a serial loop; worker scratch is filled and read in one iteration.
  const Expr t = var(0), i = var(1), j = var(2);
  const Stmt fill =
      for_loop(2, int_imm(0), int_imm(4),
               store(2, j, binary(kMul, load(0, binary(kAdd, j, t), {}), cast(i, Dtype::kF32))));
  const Expr row = binary(
      kMul, binary(kAdd, binary(kMul, t, int_imm(5)), binary(kSub, i, int_imm(2))), int_imm(4));
  const Stmt drain =
      for_loop(3, int_imm(0), int_imm(4), store(1, binary(kAdd, row, var(3)), load(2, var(3), {})));
  const Stmt body = parallel_for(1, int_imm(2), int_imm(7), seq({fill, drain}));
  Program p = program({buffer("A", 7, Scope::kInput, 0), buffer("O", 60, Scope::kOutput, 0),
                       buffer("W", 4, Scope::kThread, 0)},
                      {"t", "i", "j", "l"}, for_loop(0, int_imm(0), int_imm(3), body));
  p.thread_bytes = 64;
  check(p);
}

// The second phase reads what all iterations of the first wrote into the region's scratch. Both use
// the serial loop's variable, and the bounds depend on it.
TEST(Parallel, PhasesOfARegion) {
  const Expr t = var(0), i = var(1), j = var(2);
  const Stmt fill = store(2, i, binary(kMul, load(0, i, {}), cast(t, Dtype::kF32)));
  const Expr mirrored = binary(kSub, int_imm(6), j);
  const Stmt drain = store(1, binary(kAdd, binary(kMul, t, int_imm(7)), j),
                           binary(kAdd, load(2, mirrored, {}), load(0, j, {})));
  const Stmt clear = store(1, binary(kAdd, binary(kMul, t, int_imm(7)), var(3)), imm(0, {}));
  const Stmt body = region({{1, int_imm(0), int_imm(7), fill},
                            {2, int_imm(0), binary(kAdd, t, int_imm(3)), drain},
                            {3, binary(kAdd, t, int_imm(3)), int_imm(7), clear}});
  Program p = program({buffer("A", 7, Scope::kInput, 0), buffer("O", 35, Scope::kOutput, 0),
                       buffer("G", 1, Scope::kGlobal, 0), buffer("H", 7, Scope::kShared, 64)},
                      {"t", "i", "j", "k"}, nullptr);
  std::swap(p.buffers[2], p.buffers[3]);
  set_run(p, for_loop(0, int_imm(0), int_imm(5), body));
  p.global_bytes = 4, p.shared_bytes = 128;
  check(p);
}

TEST(Parallel, KernelsRunInTurnAndAgain) {
  const Expr i = var(0);
  Program p = program({buffer("A", 9, Scope::kInput, 0), buffer("O", 9, Scope::kOutput, 0),
                       buffer("W", 9, Scope::kGlobal, 0), buffer("K", 9, Scope::kConstant, 0)},
                      {"i"}, nullptr);
  const auto loop = [&](Stmt body) { return parallel_for(0, int_imm(0), int_imm(9), body); };
  p.inputs[0].constant = true;
  p.global_bytes = 64, p.constant_bytes = 64;
  p.kernels = {{"copy", loop(store(3, i, load(0, i, {})))},
               {"square", loop(store(3, i, binary(kMul, load(3, i, {}), load(3, i, {}))))},
               {"begin", loop(store(2, i, load(3, i, {})))},
               {"twice", loop(store(2, i, binary(kAdd, load(2, i, {}), load(2, i, {}))))},
               {"end", loop(store(1, i, load(2, i, {})))}};
  p.prepare = {0, 1, 1};
  p.run = {2, 3, 3, 4};
  check(p);
}

TEST(Parallel, PrepareFillsConstantsAndLiteralsAreData) {
  Program p = program({buffer("A", 6, Scope::kInput, 0), buffer("O", 6, Scope::kOutput, 0),
                       buffer("K", 6, Scope::kConstant, 64), buffer("L", 6, Scope::kLiteral, 0)},
                      {"i", "j"}, nullptr);
  p.inputs[0].constant = true;
  p.buffers[3].literal =
      tensor::Data::of(p.buffers[3].dtype, std::vector<double>{1, 0.5, -2, 3, 0, 7});
  set_prepare(p, for_loop(0, int_imm(0), int_imm(6),
                          store(2, binary(kSub, int_imm(5), var(0)), load(0, var(0), {}))));
  set_run(p, for_loop(1, int_imm(0), int_imm(6),
                      store(1, var(1), binary(kMul, load(2, var(1), {}), load(3, var(1), {})))));
  p.constant_bytes = 128;
  check(p);
}

}  // namespace
}  // namespace lathe
