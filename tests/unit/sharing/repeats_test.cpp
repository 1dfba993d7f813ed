// What several parts copy or compute alike, in small programs.
#include <gtest/gtest.h>

#include "unit/sharing/compare.h"
#include "unit/sharing/programs.h"

namespace lathe::sharing {
namespace {

using flat::var;

// Parts (i, j) of 3 x 5, as loops that run as one; `first` is done before T is read.
flat::Program product(const flat::Stmt& first) {
  const flat::Stmt use = square_add(kY, plus(times(var(1), 40), times(var(2), 8)), kT, at(0));
  const flat::Stmt body =
      flat::seq({flat::let(1, flat::binary(flat::BinaryOp::kDiv, var(0), at(5))),
                 flat::let(2, flat::binary(flat::BinaryOp::kMod, var(0), at(5))), first, use});
  return program(120, 120, 40, 4, flat::parallel_for(0, at(0), at(15), body));
}
Repeats repeats_of(const flat::Program& program) {
  EXPECT_TRUE(flat::verify(program));
  compare(program, {1, 3, 64}, 32, true);
  const auto sharing = sharing_of(program, 4);
  EXPECT_TRUE(sharing);
  return sharing->kernels[0].phases[0].repeats;
}

TEST(Repeats, PartsThatCopyAllCopyItAgain) {
  // All 40 elements in each of 15 parts.
  const Repeats all = repeats_of(
      product(flat::for_loop(3, at(0), at(5), copy(kT, times(var(3), 8), kX, times(var(3), 8)))));
  EXPECT_EQ(all.copied_bytes, 15 * 40 * 4);
  EXPECT_EQ(all.copied_again_bytes, 14 * 40 * 4);
  EXPECT_EQ(all.computed_again, Work{});
}

TEST(Repeats, WhatDiffersByOneLoopIsCopiedOnceForEachOfTheOthers) {
  const auto row = [](int of) {
    return product(
        flat::for_loop(3, at(0), at(3),
                       copy(kT, times(var(3), 8), kX, plus(times(var(of), 24), times(var(3), 8)))));
  };
  EXPECT_EQ(repeats_of(row(1)).copied_again_bytes, (15 - 3) * 24 * 4);
  EXPECT_EQ(repeats_of(row(2)).copied_again_bytes, (15 - 5) * 24 * 4);
  EXPECT_EQ(repeats_of(row(2)).copied_bytes, 15 * 24 * 4);
}

TEST(Repeats, NeighboursOverlap) {
  // Five parts read 8 elements, 6 apart.
  const flat::Stmt body = flat::seq(
      {copy(kT, at(0), kX, times(var(0), 6)), square_add(kY, times(var(0), 8), kT, at(0))});
  const Repeats halo = repeats_of(program(32, 40, 8, 1, flat::parallel_for(0, at(0), at(5), body)));
  EXPECT_EQ(halo.copied_bytes, 5 * 8 * 4);
  EXPECT_EQ(halo.copied_again_bytes, 4 * 2 * 4);
}

TEST(Repeats, PaddingIsNotCopied) {
  // Lanes before element 3 are zeros.
  const flat::Expr inside = flat::binary(flat::BinaryOp::kLe, flat::broadcast(at(3), 8),
                                         flat::ramp(times(var(0), 8), 1, 8));
  const flat::Expr masked = flat::load(kX, times(var(0), 8), kVector, inside),
                   chosen = flat::select(inside, flat::load(kX, times(var(0), 8), kVector),
                                         flat::imm(0, kVector));
  for (const flat::Expr& value : {masked, chosen}) {
    const flat::Stmt body =
        flat::seq({flat::store(kT, at(0), value), square_add(kY, times(var(0), 8), kT, at(0))});
    const Repeats padded =
        repeats_of(program(24, 24, 8, 1, flat::parallel_for(0, at(0), at(3), body)));
    EXPECT_EQ(padded.copied_bytes, 21 * 4);
    EXPECT_EQ(padded.copied_again_bytes, 0);
  }
}

TEST(Repeats, IntermediateResultsAreComputedAgain) {
  // T[0:8] = X[24i : 8] + X[24i + 8 : 8], in each of five parts of a row.
  const flat::Expr row = times(var(1), 24);
  const flat::Stmt sum = flat::store(
      kT, at(0), plus(flat::load(kX, row, kVector), flat::load(kX, plus(row, at(8)), kVector)));
  const Repeats rows = repeats_of(product(sum));
  EXPECT_EQ(rows.computed_again, (Work{12, 0, 12 * 96}));
  EXPECT_EQ(rows.copied_bytes, 0);
}

TEST(Repeats, ResultsThatDifferInAnyInputAreNot) {
  // The sum goes through T[8:8], which differs from part to part.
  const flat::Stmt first = copy(kT, at(8), kX, plus(times(var(1), 40), times(var(2), 8))),
                   sum = flat::store(
                       kT, at(0),
                       plus(flat::load(kT, at(8), kVector), flat::load(kT, at(8), kVector)));
  EXPECT_EQ(repeats_of(product(flat::seq({first, sum}))).computed_again, Work{});
}

TEST(Repeats, ARegisterOnTheWayIsACopyToo) {
  flat::Program p = product(flat::seq({flat::reg_write(0, flat::load(kX, at(16), kVector)),
                                       flat::store(kT, at(0), flat::reg_read(0, kVector))}));
  p.regs = {kVector};
  const Repeats copied = repeats_of(p);
  EXPECT_EQ(copied.copied_bytes, 15 * 32);
  EXPECT_EQ(copied.copied_again_bytes, 14 * 32);
}

}  // namespace
}  // namespace lathe::sharing
