// Small grids by hand: what the evaluator computes of them, and one case for each fault.
#include <gtest/gtest.h>

#include "oracle/flat_eval.h"

namespace lathe::interp {
namespace {

using namespace flat;
using enum flat::BinaryOp;
const Type kF32{Dtype::kF32, 1};
constexpr int kA = 0, kC = 1, kG = 2, kW = 3, kS = 4;  // buffers

Border plain(const char* name, std::int64_t n) {
  return {.name = name, .shape = {n}, .layout = {{0, 1, n, 1}}, .size = n};
}

// A[n] in, C[n] out, G[n] of the group, W[n] global, S[2] of an item; r0, r1 f32; groups of
// `items`.
Program grid(std::int64_t groups, std::int64_t items, Stmt body) {
  Program p;
  const std::int64_t n = groups * items;
  p.inputs = {plain("A", n)};
  p.outputs = {plain("C", n)};
  p.buffers = {{.name = "A", .size = n, .scope = Scope::kInput},
               {.name = "C", .size = n, .scope = Scope::kOutput},
               {.name = "G", .size = n, .scope = Scope::kGroup},
               {.name = "W", .size = n, .scope = Scope::kGlobal},
               {.name = "S", .size = 2, .scope = Scope::kThread}};
  p.group_bytes = n * 4, p.global_bytes = n * 4, p.thread_bytes = 8;
  p.vars = {"g", "t", "i"};
  p.regs = {kF32, kF32};
  set_run(p, std::move(body));
  p.kernels[0].grid.groups[0] = {groups, 0};
  p.kernels[0].grid.items[0] = {items, 1};
  return p;
}

Expr n(std::int64_t value) { return int_imm(value); }
Expr plus(const Expr& a, const Expr& b) { return binary(kAdd, a, b); }
Expr item() { return var(1); }
Expr point(std::int64_t items) { return plus(binary(kMul, var(0), n(items)), item()); }
Expr at(int buffer, Expr index) { return load(buffer, std::move(index), kF32); }
Expr reg(int r) { return reg_read(r, kF32); }

std::vector<Bytes> iota(const Program& p) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < p.inputs[0].size; ++i) values.push_back(static_cast<double>(i));
  return {to_storage(p.inputs[0], values)};
}

std::vector<double> result(const Program& p, const FlatOptions& options = {}) {
  const auto out = eval_flat(p, iota(p), options);
  EXPECT_TRUE(out) << out.error().text() << "\n" << print(p);
  return out ? from_storage(p.outputs[0], (*out)[0]) : std::vector<double>{};
}

// Whatever the order of the items.
FlatFault fault(const Program& p, const FlatOptions& options = {}) {
  FlatFault first;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    FlatOptions with = options;
    with.seed = seed;
    FlatFault found;
    EXPECT_FALSE(eval_flat(p, iota(p), with, &found)) << print(p);
    if (seed == 1) first = found;
    EXPECT_EQ(found.kind, first.kind) << found.message << "\n" << first.message;
  }
  return first;
}

void expect_fault(const FlatFault& fault, FaultKind kind, const std::string& buffer) {
  EXPECT_EQ(fault.kind, kind) << name_of(fault.kind) << " " << fault.message;
  EXPECT_EQ(fault.buffer, buffer) << fault.message;
}

TEST(GroupEval, ABarrierShowsWhatOthersStored) {
  const Program p = grid(3, 5,
                         seq({store(kG, item(), at(kA, point(5))), barrier(),
                              store(kC, point(5), at(kG, binary(kSub, n(4), item())))}));
  EXPECT_EQ(result(p), (std::vector<double>{4, 3, 2, 1, 0, 9, 8, 7, 6, 5, 14, 13, 12, 11, 10}));
}

TEST(GroupEval, WithoutABarrierThatIsARace) {
  const Program p = grid(3, 5,
                         seq({store(kG, item(), at(kA, point(5))),
                              store(kC, point(5), at(kG, binary(kSub, n(4), item())))}));
  const FlatFault found = fault(p);
  expect_fault(found, FaultKind::kRace, "G");
  EXPECT_NE(found.place.find("G["), std::string::npos) << found.place;
}

// Also where nobody loads, and where the values are the same.
TEST(GroupEval, TwoItemsStoreOneElement) {
  expect_fault(
      fault(grid(1, 4, seq({store(kG, n(0), imm(1, kF32)), store(kC, item(), imm(0, kF32))}))),
      FaultKind::kRace, "G");
}

TEST(GroupEval, LoadsBeforeAStoreAreARaceToo) {
  const Stmt loads = store(kC, item(), at(kG, n(0)));
  const Stmt first = if_then(binary(kEq, item(), n(0)), store(kG, n(0), imm(1, kF32)));
  expect_fault(fault(grid(1, 4, seq({first, barrier(), loads, first}))), FaultKind::kRace, "G");
  EXPECT_EQ(result(grid(1, 4, seq({first, barrier(), loads, barrier(), first}))),
            (std::vector<double>{1, 1, 1, 1}));
}

TEST(GroupEval, ABarrierOrdersGlobalMemoryWithinAGroupOnly) {
  const auto mirrored = [](const Expr& from) {
    return seq(
        {store(kW, point(4), at(kA, point(4))), barrier(), store(kC, point(4), at(kW, from))});
  };
  const Expr own = plus(binary(kMul, var(0), n(4)), binary(kSub, n(3), item()));
  EXPECT_EQ(result(grid(2, 4, mirrored(own))), (std::vector<double>{3, 2, 1, 0, 7, 6, 5, 4}));
  const Expr others = binary(kSub, n(7), point(4));
  expect_fault(fault(grid(2, 4, mirrored(others))), FaultKind::kRace, "W");
}

TEST(GroupEval, TheNextKernelSeesWhatAllGroupsStored) {
  Program p = grid(2, 4, store(kW, point(4), at(kA, point(4))));
  Kernel second = p.kernels[0];
  second.name = "second";
  second.body = store(kC, point(4), at(kW, binary(kSub, n(7), point(4))));
  p.kernels[0].body = store(kW, point(4), at(kA, point(4)));
  p.kernels.push_back(second);
  for (Axis* axis : {&p.kernels[1].grid.groups[0], &p.kernels[1].grid.items[0]})
    axis->var = axis->var == 0 ? 0 : 1;
  p.run = {0, 1};
  EXPECT_EQ(result(p), (std::vector<double>{7, 6, 5, 4, 3, 2, 1, 0}));
}

TEST(GroupEval, GroupMemoryBeginsAsAnything) {
  const Stmt once = if_then(binary(kEq, var(0), n(0)), store(kG, item(), imm(1, kF32)));
  const Program p = grid(2, 4, seq({once, barrier(), store(kC, point(4), at(kG, item()))}));
  const FlatFault found = fault(p);
  expect_fault(found, FaultKind::kUnwritten, "G");
  EXPECT_EQ(found.place, "C[g * 4 + t] = G[t]");
}

TEST(GroupEval, ThreadMemoryAndRegistersAreAnItemsOwn) {
  const Stmt body = seq({store(kS, n(0), at(kA, item())), reg_write(0, at(kA, item())), barrier(),
                         store(kC, item(), plus(at(kS, n(0)), reg(0)))});
  EXPECT_EQ(result(grid(1, 4, body)), (std::vector<double>{0, 2, 4, 6}));
}

TEST(GroupEval, LoopsGoOnAfterABarrier) {
  const Stmt step = seq({reg_write(0, at(kG, binary(kMod, plus(item(), n(1)), n(4)))), barrier(),
                         store(kG, item(), plus(reg(0), imm(1, kF32))), barrier()});
  const Stmt body = seq({store(kG, item(), at(kA, item())), barrier(),
                         for_loop(2, n(0), n(3), step), store(kC, item(), at(kG, item()))});
  EXPECT_EQ(result(grid(1, 4, body)), (std::vector<double>{6, 3, 4, 5}));
}

TEST(GroupEval, ItemsOfAWarpExchange) {
  std::vector<Stmt> body = {reg_write(0, at(kA, item()))};
  for (const int mask : {16, 8, 4, 2, 1}) {
    body.push_back(exchange(1, reg(0), mask));
    body.push_back(reg_write(0, plus(reg(0), reg(1))));
  }
  body.push_back(store(kC, item(), reg(0)));
  const std::vector<double> sums = result(grid(1, 64, seq(body)));
  for (std::size_t i = 0; i < sums.size(); ++i) EXPECT_EQ(sums[i], i < 32 ? 496 : 1520);
}

// An exchange is no barrier.
TEST(GroupEval, AnExchangeShowsNoMemory) {
  const Stmt body = seq({store(kG, item(), at(kA, item())), exchange(0, at(kA, item()), 1),
                         store(kC, item(), at(kG, binary(kSub, n(31), item())))});
  expect_fault(fault(grid(1, 32, body)), FaultKind::kRace, "G");
}

TEST(GroupEval, ABarrierThatNotAllItemsCometo) {
  const Stmt body =
      seq({if_then(binary(kLt, item(), n(2)), barrier()), store(kC, item(), imm(0, kF32))});
  const Program p = grid(1, 4, body);
  EXPECT_FALSE(verify(p));
  const FlatFault found = fault(p, {.verified = false});
  EXPECT_EQ(found.kind, FaultKind::kDivergence) << found.message;
  EXPECT_EQ(found.place, "barrier");
}

// Copies: item t brings A[t] to G[t].
Stmt copy_own(const Expr& condition = nullptr) {
  return async_copy(kG, item(), kA, item(), 1, condition);
}
const Stmt kUse = store(kC, item(), at(kG, binary(kSub, n(3), item())));
const Stmt kUseOwn = store(kC, item(), at(kG, item()));

TEST(GroupEval, ACopyIsThereAfterAWaitAndABarrier) {
  EXPECT_EQ(
      result(grid(1, 4, seq({copy_own(), commit_copies(), await_copies(0), barrier(), kUse}))),
      (std::vector<double>{3, 2, 1, 0}));
  EXPECT_EQ(result(grid(1, 4, seq({copy_own(), commit_copies(), await_copies(0), kUseOwn}))),
            (std::vector<double>{0, 1, 2, 3}));
  const Expr even = binary(kEq, binary(kMod, item(), n(2)), n(0));
  EXPECT_EQ(
      result(grid(1, 4, seq({copy_own(even), commit_copies(), await_copies(0), barrier(), kUse}))),
      (std::vector<double>{0, 2, 0, 0}));
}

TEST(GroupEval, ACopyIsUsedEarly) {
  const auto early = [](const Stmt& body) {
    expect_fault(fault(grid(1, 4, body)), FaultKind::kEarly, "G");
  };
  early(seq({copy_own(), commit_copies(), kUseOwn}));
  early(seq({copy_own(), commit_copies(), barrier(), kUse}));
  early(seq({copy_own(), commit_copies(), await_copies(1), barrier(), kUse}));
  early(seq({copy_own(), await_copies(0), barrier(), kUse}));  // not of a batch
  // Awaited, but no barrier since.
  early(seq({copy_own(), commit_copies(), barrier(), await_copies(0), kUse}));
}

TEST(GroupEval, ACopyThatNoBarrierKeepsApartIsARace) {
  expect_fault(fault(grid(1, 4, seq({copy_own(), commit_copies(), await_copies(0), kUse}))),
               FaultKind::kRace, "G");
  const Stmt there = seq({copy_own(), commit_copies(), await_copies(0), barrier()});
  expect_fault(fault(grid(1, 4, seq({there, kUse, copy_own(), commit_copies(), await_copies(0)}))),
               FaultKind::kRace, "G");
  // Over what is on its way, by the same item.
  expect_fault(
      fault(grid(1, 4, seq({copy_own(), copy_own(), commit_copies(), await_copies(0), kUseOwn}))),
      FaultKind::kRace, "G");
}

TEST(GroupEval, WhatIsCopiedMustStay) {
  const Stmt filled = seq(
      {store(kW, item(), at(kA, item())), async_copy(kG, item(), kW, item(), 1), commit_copies()});
  const Stmt again = store(kW, item(), imm(9, kF32));
  const Stmt use = seq({barrier(), kUse});
  expect_fault(fault(grid(1, 4, seq({filled, again, await_copies(0), use}))), FaultKind::kRace,
               "W");
  EXPECT_EQ(result(grid(1, 4, seq({filled, await_copies(0), again, use}))),
            (std::vector<double>{3, 2, 1, 0}));
}

TEST(GroupEval, BatchesAreAwaitedInOrder) {
  const auto second = async_copy(kG, plus(item(), n(4)), kA, plus(item(), n(4)), 1);
  const auto use = [](int first) {
    return store(kC, plus(item(), n(first)), at(kG, plus(item(), n(first))));
  };
  const auto run = [&](const std::vector<Stmt>& rest) {
    std::vector<Stmt> all = {copy_own(), commit_copies(), second, commit_copies(), await_copies(1)};
    all.insert(all.end(), rest.begin(), rest.end());
    return grid(2, 4, if_then(binary(kEq, var(0), n(0)), seq(all)));
  };
  EXPECT_EQ(result(run({use(0), await_copies(0), use(4)})),
            (std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7}));
  expect_fault(fault(run({use(0), use(4)})), FaultKind::kEarly, "G");
}

TEST(GroupEval, CopiesAreAligned) {
  const auto two = [](std::int64_t to, std::int64_t from) {
    const Stmt copy = async_copy(kG, n(to), kA, n(from), 2);
    return grid(1, 4,
                seq({if_then(binary(kEq, item(), n(0)), copy), store(kC, item(), imm(0, kF32))}));
  };
  EXPECT_EQ(result(two(2, 0)).size(), 4U);
  expect_fault(fault(two(1, 0)), FaultKind::kMisaligned, "G");
  expect_fault(fault(two(0, 1)), FaultKind::kMisaligned, "A");
  expect_fault(fault(two(4, 0)), FaultKind::kOutside, "G");
  expect_fault(fault(two(0, 4)), FaultKind::kOutside, "A");
}

TEST(GroupEval, VectorsAreAlignedWhereThatIsAsked) {
  const auto vectors = [](int from, int to, int lanes) {
    const Stmt copy = store(kC, n(to), load(kA, n(from), {Dtype::kF32, lanes}));
    const Stmt rest = store(kC, plus(item(), n(4)), imm(0, kF32));
    return grid(
        2, 4,
        if_then(binary(kEq, var(0), n(0)), seq({if_then(binary(kEq, item(), n(0)), copy), rest})));
  };
  const FlatOptions aligned{.aligned_vectors = true};
  EXPECT_EQ(result(vectors(4, 0, 4), aligned).size(), 8U);
  EXPECT_EQ(result(vectors(1, 0, 4)).size(), 8U);
  expect_fault(fault(vectors(1, 0, 4), aligned), FaultKind::kMisaligned, "A");
  expect_fault(fault(vectors(2, 0, 4), aligned), FaultKind::kMisaligned, "A");
  expect_fault(fault(vectors(0, 1, 2), aligned), FaultKind::kMisaligned, "C");
}

TEST(GroupEval, AnAccessOutsideNamesItsPlace) {
  const FlatFault found = fault(grid(1, 4, store(kC, item(), at(kA, plus(item(), n(1))))));
  expect_fault(found, FaultKind::kOutside, "A");
  EXPECT_EQ(found.index, 4);
  EXPECT_EQ(found.place, "C[t] = A[t + 1]");
}

}  // namespace
}  // namespace lathe::interp
