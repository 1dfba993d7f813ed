// Work of threads in small programs, counted by hand.
#include "compiler/sharing/sharing.h"

#include <gtest/gtest.h>

#include "unit/sharing/programs.h"

namespace lathe::sharing {
namespace {

using flat::var;

Sharing of(const flat::Program& program, int threads, int vector_bytes = 32) {
  const auto valid = flat::verify(program);
  EXPECT_TRUE(valid) << valid.error().text();
  auto sharing = sharing_of(program, threads, vector_bytes);
  EXPECT_TRUE(sharing) << sharing.error().text();
  return std::move(*sharing);
}

// Part p has 10 - p multiply-adds of vectors.
flat::Program triangle() {
  const flat::Stmt inner =
      flat::for_loop(1, var(0), at(10), square_add(kY, times(var(0), 8), kX, times(var(1), 8)));
  return program(80, 80, 8, 2, flat::parallel_for(0, at(0), at(10), inner));
}

TEST(Sharing, PartsOfUnequalWorkCountAsTheyAre) {
  struct Case {
    int threads, with_parts;
    std::int64_t busiest;
  };
  // As the pool cuts ten parts: 3, 3, 4 for three threads.
  for (const Case& c : {Case{1, 1, 55},
                        {2, 2, 40},
                        {3, 3, 27},
                        {4, 4, 21},
                        {10, 10, 10},
                        {64, 10, 10},
                        {1024, 10, 10}}) {
    const Sharing sharing = of(triangle(), c.threads);
    ASSERT_EQ(sharing.kernels.size(), 1U);
    ASSERT_EQ(sharing.kernels[0].phases.size(), 1U);
    const Phase& phase = sharing.kernels[0].phases[0];
    EXPECT_EQ(phase.parts, 10);
    EXPECT_EQ(phase.threads, c.with_parts);
    EXPECT_EQ(phase.all, (Work{55, 55 * 8, 55 * 3 * 32}));
    EXPECT_EQ(phase.busiest, (Work{c.busiest, c.busiest * 8, c.busiest * 3 * 32})) << c.threads;
    EXPECT_EQ(sharing.kernels[0].barriers, c.threads > 1 ? 1 : 0);
    EXPECT_DOUBLE_EQ(share_of(phase, c.threads, 32),
                     55.0 / (c.threads * static_cast<double>(c.busiest)));
    const Totals totals = totals_of(sharing, false);
    EXPECT_EQ(totals.threads, c.with_parts);
    EXPECT_DOUBLE_EQ(totals.share, 55.0 / (c.with_parts * static_cast<double>(c.busiest)));
    EXPECT_DOUBLE_EQ(totals.share_of_offered, share_of(phase, c.threads, 32));
  }
}

TEST(Sharing, WiderVectorsTakeSeveralRegisters) {
  EXPECT_EQ(of(triangle(), 1, 16).kernels[0].phases[0].all.operations, 110);
  EXPECT_EQ(of(triangle(), 1, 64).kernels[0].phases[0].all.operations, 55);
}

TEST(Sharing, RegionsInLoopsRunOftenAndTheCallerIsAlone) {
  // Three times: a region of 5 parts of one operation, then of 2v parts that only copy.
  flat::For adds{1, at(0), at(5), square_add(kY, times(var(1), 8), kX, at(0))},
      copies{2, at(0), times(var(0), 2), copy(kY, times(var(2), 8), kX, at(8))};
  const flat::Stmt loop = flat::for_loop(0, at(0), at(3), flat::region({adds, copies})),
                   first = flat::store(kY, at(0), flat::load(kX, at(0), kScalar));
  const Sharing sharing = of(program(16, 40, 8, 3, flat::seq({first, loop})), 2);
  const KernelWork& kernel = sharing.kernels[0];
  EXPECT_EQ(kernel.alone, (Work{0, 0, 8}));
  ASSERT_EQ(kernel.phases.size(), 2U);
  EXPECT_EQ(kernel.phases[0].runs, 3);
  EXPECT_EQ(kernel.phases[0].all.operations, 15);
  EXPECT_EQ(kernel.phases[0].busiest.operations, 9);
  EXPECT_EQ(kernel.phases[1].parts, 4);
  EXPECT_EQ(kernel.phases[1].all, (Work{0, 0, 6 * 64}));
  EXPECT_EQ(kernel.phases[1].busiest.bytes, 3 * 64);
  EXPECT_EQ(kernel.phases[1].number, 2);
  EXPECT_EQ(unit_of(kernel.phases[0].all, 32), Unit::kOperations);
  EXPECT_EQ(unit_of(kernel.phases[1].all, 32), Unit::kBytes);
  EXPECT_EQ(kernel.barriers, 6);
  // Work in registers: alone 1/4 of one, 15, 12 moved.
  const Totals totals = totals_of(sharing, false);
  EXPECT_DOUBLE_EQ(totals.work, 27.25);
  EXPECT_DOUBLE_EQ(totals.busiest, 0.25 + 9 + 6);
  EXPECT_DOUBLE_EQ(totals.share, (0.25 / 2 + 15 * (15.0 / 18) + 12) / 27.25);
}

TEST(Sharing, MasksSwitchNothingOffThatTakesTime) {
  const flat::Expr mask = flat::binary(flat::BinaryOp::kLt, flat::ramp(times(var(0), 8), 1, 8),
                                       flat::broadcast(at(21), 8));
  const flat::Expr value = flat::load(kX, times(var(0), 8), kVector, mask);
  const flat::Stmt body = flat::store(kY, times(var(0), 8), flat::fma(value, value, value), mask);
  const Sharing sharing = of(program(21, 21, 8, 1, flat::parallel_for(0, at(0), at(3), body)), 3);
  const Phase& phase = sharing.kernels[0].phases[0];
  EXPECT_EQ(phase.all, (Work{3, 24, 3 * 64}));
  EXPECT_EQ(phase.busiest, (Work{1, 8, 64}));
}

TEST(Sharing, WhatDependsOnDataIsRefused) {
  const flat::Expr low = flat::binary(flat::BinaryOp::kLt, flat::load(kX, var(0), kScalar),
                                      flat::float_imm(1, Dtype::kF32));
  const flat::Stmt body = flat::if_then(low, copy(kY, var(0), kX, var(0), kScalar));
  const auto sharing =
      sharing_of(program(9, 9, 8, 1, flat::parallel_for(0, at(0), at(9), body)), 2);
  ASSERT_FALSE(sharing);
  EXPECT_EQ(sharing.error().kind, ErrorKind::kUnsupported);
}

}  // namespace
}  // namespace lathe::sharing
