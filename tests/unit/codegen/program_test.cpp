// Small programs, one for each thing code generation does.
#include <gtest/gtest.h>

#include "unit/codegen/small_programs.h"

namespace lathe {
namespace {

using namespace flat;
using enum flat::BinaryOp;
using testing::buffer, testing::check, testing::compile, testing::program;
using testing::run_module, testing::runnable_targets;

const Type kVec{Dtype::kF32, 8};

// C[i,j] += A[i,k] B[k,j], 3 x 16 register tiles, 8 wide.
Program matmul(int m, int n, int k, bool parallel) {
  const Expr i = var(0), j = var(1), x = var(2);
  const auto at = [](Expr row, std::int64_t stride, Expr column) {
    return binary(kAdd, binary(kMul, row, int_imm(stride)), column);
  };
  std::vector<Stmt> start, step, finish;
  for (int r = 0; r < 3; ++r)
    for (int c = 0; c < 2; ++c) {
      const int reg = r * 2 + c;
      const Expr row = binary(kAdd, i, int_imm(r)), column = binary(kAdd, j, int_imm(c * 8));
      start.push_back(reg_write(reg, imm(0, kVec)));
      const Expr a = broadcast(load(0, at(row, k, x), {Dtype::kF32, 1}), 8);
      step.push_back(reg_write(reg, fma(a, load(1, at(x, n, column), kVec), reg_read(reg, kVec))));
      finish.push_back(store(2, at(row, n, column), reg_read(reg, kVec)));
    }
  const Stmt reduce = for_loop(2, int_imm(0), int_imm(k), seq(step));
  const Stmt tile = seq({seq(start), reduce, seq(finish)});
  const Stmt columns = for_loop(3, int_imm(0), int_imm(n / 16),
                                seq({let(1, binary(kMul, var(3), int_imm(16))), tile}));
  const Stmt row = seq({let(0, binary(kMul, var(4), int_imm(3))), columns});
  const Stmt rows = parallel ? parallel_for(4, int_imm(0), int_imm(m / 3), row)
                             : for_loop(4, int_imm(0), int_imm(m / 3), row);
  return program({buffer("A", m * k, Scope::kInput, 0), buffer("B", k * n, Scope::kInput, 1),
                  buffer("C", m * n, Scope::kOutput, 0)},
                 {"i", "j", "k", "jo", "io"}, rows, std::vector<Type>(6, kVec));
}

TEST(Program, MatmulSerialAndParallel) {
  check(matmul(6, 32, 17, false), 20);
  check(matmul(21, 16, 5, true), 20);
  check(matmul(3, 16, 1, true), 20);
}

TEST(Program, LoopsThatMayNotRun) {
  // O[i] = sum of A[j] for i - 2 <= j < 5: empty from i = 7 on. The register keeps its value then.
  const Stmt body = reg_write(0, binary(kAdd, reg_read(0, {}), load(0, var(1), {})));
  const Expr first = binary(kMax, binary(kSub, var(0), int_imm(2)), int_imm(0));
  const Stmt inner = for_loop(1, first, int_imm(5), body);
  const Stmt outer = for_loop(
      0, int_imm(0), int_imm(11),
      seq({reg_write(0, float_imm(0.5, Dtype::kF32)), inner, store(1, var(0), reg_read(0, {}))}));
  check(program({buffer("A", 5, Scope::kInput, 0), buffer("O", 11, Scope::kOutput, 0)}, {"i", "j"},
                outer, {Type{}}));
}

TEST(Program, RegistersThroughBranches) {
  const Expr i = var(0);
  const Expr odd = binary(kEq, binary(kMod, i, int_imm(2)), int_imm(1));
  const Expr big = binary(kLt, int_imm(4), i);
  const Stmt body = seq({
      reg_write(0, load(0, i, {})),
      if_then(odd, reg_write(0, binary(kMul, reg_read(0, {}), float_imm(3, Dtype::kF32))),
              seq({reg_write(1, load(0, i, {})),
                   reg_write(0, binary(kAdd, reg_read(0, {}), reg_read(1, {})))})),
      if_then(big, reg_write(0, binary(kSub, reg_read(0, {}), load(0, i, {})))),
      if_then(binary(kLt, i, int_imm(100)), store(1, i, reg_read(0, {}))),
  });
  check(program({buffer("A", 9, Scope::kInput, 0), buffer("O", 9, Scope::kOutput, 0)}, {"i"},
                for_loop(0, int_imm(0), int_imm(9), body), {Type{}, Type{}}));
}

TEST(Program, TailsUnderMasks) {
  // 13 elements, 8 lanes: the second load and store are masked, by a constant and by a variable.
  const Expr block = binary(kMul, var(0), int_imm(8));
  const Expr mask = binary(kLt, ramp(block, 1, 8), broadcast(int_imm(13), 8));
  for (const Dtype dtype : {Dtype::kF32, Dtype::kF64, Dtype::kI32, Dtype::kU8, Dtype::kF16}) {
    const Type type{dtype, 8};
    const Expr x = load(0, block, type, mask);
    check(program(
        {buffer("A", 13, Scope::kInput, 0, dtype), buffer("O", 13, Scope::kOutput, 0, dtype)},
        {"i"}, for_loop(0, int_imm(0), int_imm(2), store(1, block, binary(kAdd, x, x), mask))));
  }
  const Expr prefix = binary(kLt, ramp(int_imm(0), 1, 8), broadcast(int_imm(5), 8));
  const Stmt both = seq({store(1, int_imm(0), load(0, int_imm(0), kVec)),
                         store(1, int_imm(8), load(0, int_imm(8), kVec, prefix), prefix)});
  check(program({buffer("A", 13, Scope::kInput, 0), buffer("O", 13, Scope::kOutput, 0)}, {}, both));
}

TEST(Program, MasksOfMoreLanesThanARegisterHolds) {
  // Rows of 35, of which the last lanes lie beyond the tensor: a row counts or not, and of it the
  // lanes below 35. LLVM 19 reads the second half of such a load without a mask on one machine, and
  // dies on others.
  for (const Dtype dtype : {Dtype::kF32, Dtype::kF64, Dtype::kI32, Dtype::kU8, Dtype::kF16})
    for (const int lanes : {16, 32, 64}) {
      const Expr row = broadcast(binary(kLt, var(0), int_imm(5)), lanes);
      const Expr below = binary(kLt, ramp(int_imm(32), 1, lanes), broadcast(int_imm(35), lanes));
      const Expr first = binary(kAdd, binary(kMul, var(0), int_imm(35)), int_imm(32));
      const Expr x = load(0, first, {dtype, lanes}, binary(kAnd, row, below));
      const Expr to = binary(kMul, var(0), int_imm(lanes));
      const Stmt clear =
          for_loop(1, int_imm(0), int_imm(5 * 35), store(2, var(1), imm(0, {dtype, 1})));
      const Stmt body =
          seq({store(1, to, binary(kAdd, x, x)), store(2, first, x, binary(kAnd, row, below))});
      check(program({buffer("A", 5 * 35, Scope::kInput, 0, dtype),
                     buffer("O", 8 * lanes, Scope::kOutput, 0, dtype),
                     buffer("P", 5 * 35, Scope::kOutput, 1, dtype)},
                    {"i", "j"}, seq({clear, for_loop(0, int_imm(0), int_imm(8), body)})));
    }
}

// Where the condition does not hold, nothing is there.
TEST(Program, VectorsUnderOneCondition) {
  for (const Dtype dtype : {Dtype::kF32, Dtype::kF64, Dtype::kI32, Dtype::kU8, Dtype::kF16})
    for (const int lanes : {1, 3, 8, 16, 32, 64}) {
      const Expr i = var(0), to = binary(kMul, i, int_imm(lanes));
      const Expr far = binary(kMul, binary(kDiv, i, int_imm(5)), int_imm(std::int64_t{1} << 40));
      const Expr holds = binary(kLt, i, int_imm(5)),
                 lines = lanes == 1 ? holds : broadcast(holds, lanes);
      const Expr x = load(0, binary(kAdd, to, far), {dtype, lanes}, lines);
      check(program({buffer("A", 5 * lanes, Scope::kInput, 0, dtype),
                     buffer("O", 8 * lanes, Scope::kOutput, 0, dtype)},
                    {"i"}, for_loop(0, int_imm(0), int_imm(8), store(1, to, binary(kAdd, x, x)))));
    }
}

// Lanes that loads leave out are 0, and what is made of them is not stored. LLVM 19 takes 0 / 0 for
// 0, and then needs no select where that has a 0.
TEST(Program, QuotientsOfLanesThatAreLeftOut) {
  for (const Dtype dtype : {Dtype::kF32, Dtype::kF64})
    for (const int lanes : {2, 4, 8, 16, 32})
      for (const double pad : {0.0, 3.0})
        for (const BinaryOp op : {kDiv, kMul, kAdd, kSub}) {
          const Type type{dtype, lanes};
          const Expr inside = binary(kLe, broadcast(int_imm(1), lanes), ramp(int_imm(0), 1, lanes));
          const Expr a = load(0, int_imm(0), type, inside), b = load(1, int_imm(0), type, inside);
          const Stmt run = store(2, int_imm(0), select(inside, binary(op, a, b), imm(pad, type)));
          check(program({buffer("A", lanes, Scope::kInput, 0, dtype),
                         buffer("B", lanes, Scope::kInput, 1, dtype),
                         buffer("O", lanes, Scope::kOutput, 0, dtype)},
                        {}, run));
        }
}

TEST(Program, MasksOfEveryDirection) {
  // O[i * 8 + lane] = A where the lane is on one side of the bound, 0 elsewhere.
  for (const BinaryOp op : {kLt, kLe, kEq, kNe})
    for (const bool swapped : {false, true}) {
      const Expr block = binary(kMul, var(0), int_imm(8));
      const Expr line = ramp(block, 1, 8), bound = broadcast(binary(kAdd, var(1), int_imm(3)), 8);
      const Expr mask = swapped ? binary(op, bound, line) : binary(op, line, bound);
      const Expr to = binary(kAdd, block, binary(kMul, var(1), int_imm(24)));
      const Stmt inner =
          for_loop(0, int_imm(0), int_imm(3), store(1, to, load(0, block, kVec, mask)));
      check(program({buffer("A", 24, Scope::kInput, 0), buffer("O", 24 * 20, Scope::kOutput, 0)},
                    {"i", "n"}, for_loop(1, int_imm(0), int_imm(20), inner)));
    }
}

TEST(Program, GathersAndScatters) {
  const Expr i = var(0);
  const Expr strided = ramp(binary(kMul, i, int_imm(2)), 3, 8);
  const Expr indices = cast(load(1, int_imm(0), {Dtype::kI32, 8}), Dtype::kI64);
  const Expr wrapped = binary(kMod, indices, broadcast(int_imm(25), 8));
  const Expr few = binary(kLt, ramp(i, 2, 8), broadcast(int_imm(9), 8));
  const Expr sum = binary(kAdd, load(0, strided, kVec, few), load(0, wrapped, kVec));
  const Stmt body = seq({store(2, ramp(i, 3, 8), sum),
                         store(3, ramp(binary(kMul, i, int_imm(8)), 1, 8), imm(0, kVec)),
                         store(3, ramp(binary(kMul, i, int_imm(8)), 1, 8), sum, few)});
  check(program({buffer("A", 25, Scope::kInput, 0), buffer("I", 8, Scope::kInput, 1, Dtype::kI32),
                 buffer("O", 24, Scope::kOutput, 0), buffer("P", 24, Scope::kOutput, 1)},
                {"i"}, for_loop(0, int_imm(0), int_imm(3), body)));
}

TEST(Program, LoadsSeeStoresToTheSameStorage) {
  // Workspace buffers that overlap, and a load after a store.
  const Expr at = int_imm(0);
  const Type one{};
  const Stmt run =
      seq({store(2, at, load(0, at, one)), store(2, int_imm(1), load(0, int_imm(1), one)),
           store(1, at, load(2, at, one)),
           for_loop(0, int_imm(0), int_imm(3),
                    store(2, at, binary(kAdd, load(2, at, one), load(2, int_imm(1), one)))),
           store(1, int_imm(1), load(2, at, one)), prefetch(0, int_imm(12345))});
  Program p = program({buffer("A", 2, Scope::kInput, 0), buffer("O", 2, Scope::kOutput, 0),
                       buffer("W", 2, Scope::kGlobal, 0)},
                      {"i"}, run);
  p.global_bytes = 64;
  check(p);
}

TEST(Program, TilesAreStoredAcrossRows) {
  // Columns of a tile, `lanes` rows apart by `stride`; every count from one column to more than a
  // transposed block.
  for (const int lanes : {4, 8, 16})
    for (const int columns : {1, 2, 7, 35}) {
      const Type type{Dtype::kF32, lanes};
      const int stride = columns + 2, size = stride * lanes;
      std::vector<Stmt> stmts = {
          for_loop(1, int_imm(0), int_imm(2 * size), store(1, var(1), imm(0, {})))};
      std::vector<Stmt> tile;
      for (int c = 0; c < columns; ++c)
        tile.push_back(reg_write(
            c, load(0, binary(kAdd, binary(kMul, var(0), int_imm(3)), int_imm(c * 5)), type)));
      const Expr at = binary(kAdd, binary(kMul, var(0), int_imm(size)), int_imm(1));
      for (int c = 0; c < columns; ++c) {
        const Expr doubled = binary(kAdd, reg_read(c, type), reg_read(c, type));
        tile.push_back(store(1, ramp(binary(kAdd, at, int_imm(c)), stride, lanes), doubled));
      }
      stmts.push_back(for_loop(0, int_imm(0), int_imm(2), seq(std::move(tile))));
      check(program({buffer("A", columns * 5 + lanes + 3, Scope::kInput, 0),
                     buffer("O", 2 * size, Scope::kOutput, 0)},
                    {"i", "j"}, seq(std::move(stmts)),
                    std::vector<Type>(static_cast<std::size_t>(columns), type)));
    }
}

TEST(Program, TilesOfMemoryAreStoredAcrossRows) {
  // What is stored comes from a buffer that changes, or from the output itself, whose elements
  // earlier columns have changed.
  const Type one{Dtype::kF32, 1};
  for (const int lanes : {4, 8, 16})
    for (const int columns : {1, 4, 6, 16, 21})
      for (const int from : {1, 2}) {
        const Type type{Dtype::kF32, lanes};
        const int stride = columns + 3, all = stride * lanes + columns * 2 + 3;
        const Expr i = var(0);
        std::vector<Stmt> stmts = {
            for_loop(1, int_imm(0), int_imm(all),
                     seq({store(1, var(1), imm(0, {})), store(2, var(1), load(0, var(1), one))}))};
        std::vector<Stmt> tile;
        for (int c = 0; c < columns; ++c) {
          const Expr read = load(from, binary(kAdd, i, int_imm(c * 2)), type);
          tile.push_back(store(1, ramp(binary(kAdd, i, int_imm(c)), stride, lanes),
                               binary(kAdd, read, load(0, int_imm(c * 2 + 1), type))));
        }
        tile.push_back(store(2, i, load(1, i, one)));
        stmts.push_back(for_loop(0, int_imm(0), int_imm(3), seq(std::move(tile))));
        Program p =
            program({buffer("A", all, Scope::kInput, 0), buffer("O", all, Scope::kOutput, 0),
                     buffer("W", all, Scope::kGlobal, 0)},
                    {"i", "j"}, seq(std::move(stmts)));
        p.global_bytes = (all * 4 + 63) / 64 * 64;
        check(p);
      }
}

TEST(Program, TilesAreLoadedAcrossRows) {
  // Two vectors of columns in turn, as a tile of several vectors has them.
  for (const int lanes : {4, 8, 16})
    for (const int columns : {1, 3, 4, 7, 16}) {
      const Type type{Dtype::kF32, lanes};
      const int stride = columns + 1, size = stride * 2 * lanes;
      std::vector<Stmt> tile;
      for (int c = 0; c < columns; ++c)
        for (int v = 0; v < 2; ++v)
          tile.push_back(reg_write(
              2 * c + v,
              load(0, ramp(binary(kAdd, var(0), int_imm(v * lanes * stride + c)), stride, lanes),
                   type)));
      for (int c = 0; c < columns; ++c)
        for (int v = 0; v < 2; ++v) {
          const Expr doubled = binary(kAdd, reg_read(2 * c + v, type), reg_read(2 * c + v, type));
          const Expr at =
              binary(kAdd, binary(kMul, var(0), int_imm(size)), int_imm(v * lanes * stride + c));
          tile.push_back(store(1, ramp(at, stride, lanes), doubled));
        }
      const Stmt clear = for_loop(1, int_imm(0), int_imm(2 * size), store(1, var(1), imm(0, {})));
      check(program(
          {buffer("A", size + 1, Scope::kInput, 0), buffer("O", 2 * size, Scope::kOutput, 0)},
          {"i", "j"}, seq({clear, for_loop(0, int_imm(0), int_imm(2), seq(std::move(tile)))}),
          std::vector<Type>(static_cast<std::size_t>(2 * columns), type)));
    }
}

TEST(Program, ColumnsAreCopiedFromRows) {
  // One of the rows' columns after the other; then those of a third of the rows.
  for (const int lanes : {4, 8, 16})
    for (const int columns : {1, 2, 4, 7, 16, 33})
      for (const int stride : {2, 3, columns + 1}) {
        const Type type{Dtype::kF32, lanes};
        std::vector<Stmt> copies;
        for (int c = 0; c < columns; ++c)
          copies.push_back(store(
              1, binary(kAdd, binary(kMul, var(0), int_imm(columns * lanes)), int_imm(c * lanes)),
              load(0, ramp(binary(kAdd, var(0), int_imm(c)), stride, lanes), type)));
        check(program({buffer("A", columns + stride * lanes + 1, Scope::kInput, 0),
                       buffer("O", 2 * columns * lanes, Scope::kOutput, 0)},
                      {"i"}, for_loop(0, int_imm(0), int_imm(2), seq(std::move(copies)))));
      }
}

TEST(Program, StridedLoadsStayInside) {
  // The first and the last element that are read are the tensor's.
  for (const int lanes : {2, 4, 8, 16, 32})
    for (const int stride : {2, 3, 4, 5}) {
      const Type type{Dtype::kF32, lanes};
      check(program(
          {buffer("A", stride * (lanes - 1) + 1, Scope::kInput, 0),
           buffer("O", lanes, Scope::kOutput, 0)},
          {},
          store(1, int_imm(0),
                binary(kAdd, load(0, ramp(int_imm(0), stride, lanes), type), imm(1, type)))));
    }
}

TEST(Program, LanesAreReduced) {
  for (const Dtype dtype : {Dtype::kF32, Dtype::kF64, Dtype::kI32, Dtype::kI8, Dtype::kU8})
    for (const int lanes : {2, 4, 16, 32})
      for (const BinaryOp op : {kAdd, kMul, kMin, kMax}) {
        const Type type{dtype, lanes};
        const Expr all = reduce(op, load(0, binary(kMul, var(0), int_imm(lanes)), type));
        check(program({buffer("A", 3 * lanes, Scope::kInput, 0, dtype),
                       buffer("O", 3, Scope::kOutput, 0, dtype)},
                      {"i"}, for_loop(0, int_imm(0), int_imm(3), store(1, var(0), all))));
      }
}

TEST(Program, LanesSlide) {
  for (const Dtype dtype :
       {Dtype::kF32, Dtype::kF64, Dtype::kF16, Dtype::kBF16, Dtype::kI32, Dtype::kI64, Dtype::kU8})
    for (const int lanes : {2, 3, 8, 16, 32})
      for (const int from : {-lanes, 1 - lanes, -1, 0, 1, 2, lanes - 1, lanes}) {
        const Type type{dtype, lanes};
        const Expr x = load(0, int_imm(0), type), fill = load(1, int_imm(0), {dtype, 1});
        const Expr last = flat::lane(x, lanes - 1);
        check(program(
            {buffer("A", lanes, Scope::kInput, 0, dtype), buffer("B", 1, Scope::kInput, 1, dtype),
             buffer("O", lanes + 1, Scope::kOutput, 0, dtype)},
            {},
            seq({store(2, int_imm(0), slide(x, from, lanes, fill)),
                 store(2, int_imm(lanes), last)})));
      }
}

TEST(Program, SignedLanesAreNotUnsignedOnes) {
  const Expr x = load(0, int_imm(0), {Dtype::kI8, 16});
  const Expr u = load(1, int_imm(0), {Dtype::kU8, 16});
  check(program(
      {buffer("A", 16, Scope::kInput, 0, Dtype::kI8), buffer("B", 16, Scope::kInput, 1, Dtype::kU8),
       buffer("O", 3, Scope::kOutput, 0, Dtype::kI32)},
      {},
      seq({store(2, int_imm(0), cast(reduce(kMax, x), Dtype::kI32)),
           store(2, int_imm(1), cast(reduce(kMax, cast(x, Dtype::kU8)), Dtype::kI32)),
           store(2, int_imm(2), cast(reduce(kMax, u), Dtype::kI32))})));
}

TEST(Program, StoresThatMeetKeepTheirOrder) {
  // Columns as far apart as rows: later ones overwrite earlier ones. And values read back from what
  // is stored.
  const Type four{Dtype::kF32, 4};
  std::vector<Stmt> stmts;
  for (int c = 0; c < 5; ++c)
    stmts.push_back(store(1, ramp(int_imm(c), 2, 4), load(0, int_imm(c * 4), four)));
  for (int c = 0; c < 4; ++c)
    stmts.push_back(store(1, ramp(int_imm(20 + c), 5, 4), load(1, ramp(int_imm(c), 1, 4), four)));
  stmts.push_back(store(2, ramp(int_imm(0), 4, 4), load(0, int_imm(0), four)));
  for (int c = 1; c < 4; ++c)
    stmts.push_back(store(2, ramp(int_imm(c), 4, 4), load(2, ramp(int_imm(c - 1), 4, 4), four)));
  Program p = program({buffer("A", 20, Scope::kInput, 0), buffer("O", 39, Scope::kOutput, 0),
                       buffer("P", 16, Scope::kOutput, 1)},
                      {"i"}, nullptr);
  const Stmt clear = for_loop(0, int_imm(0), int_imm(39), store(1, var(0), imm(0, {})));
  stmts.insert(stmts.begin(), clear);
  set_run(p, seq(std::move(stmts)));
  check(p);
}

TEST(Program, WhatHasNoInstructionIsRefused) {
  const Stmt run = store(1, int_imm(0), unary(UnaryOp::kErf, load(0, int_imm(0), {})));
  const Program p =
      program({buffer("A", 1, Scope::kInput, 0), buffer("O", 1, Scope::kOutput, 0)}, {}, run);
  const auto object = codegen::generate(p, testing::resolved("cpu:host"));
  ASSERT_FALSE(object);
  EXPECT_EQ(object.error().kind, ErrorKind::kUnsupported);
  EXPECT_NE(object.error().message.find("erf"), std::string::npos);
}

TEST(Program, SpillsAreCounted) {
  // 40 vectors live at once.
  const Target target = testing::resolved("cpu:x86-64-v3");
  const auto with_tile = [&](int tile) {
    std::vector<Stmt> start, step, finish;
    for (int r = 0; r < tile; ++r) {
      start.push_back(reg_write(r, load(0, int_imm(r * 8), kVec)));
      step.push_back(reg_write(r, fma(reg_read(r, kVec), reg_read((r + 1) % tile, kVec),
                                      broadcast(load(0, var(0), {}), 8))));
      finish.push_back(store(1, int_imm(r * 8), reg_read(r, kVec)));
    }
    const Stmt loop = for_loop(0, int_imm(0), int_imm(9), seq(step));
    const Program p =
        program({buffer("A", tile * 8, Scope::kInput, 0), buffer("O", tile * 8, Scope::kOutput, 0)},
                {"i"}, seq({seq(start), loop, seq(finish)}),
                std::vector<Type>(static_cast<std::size_t>(tile), kVec));
    auto object = codegen::generate(p, target);
    return object ? object->spills : -1;
  };
  EXPECT_EQ(with_tile(12), 0);
  EXPECT_GE(with_tile(40), 20);
}

TEST(Program, TablesSayWhatIsInThem) {
  const Program p = matmul(3, 16, 2, false);
  const auto module = compile(p, testing::resolved("cpu:host"));
  ASSERT_TRUE(module);
  EXPECT_EQ((*module)->table().abi, LATHE_MODULE_ABI);
  EXPECT_EQ((*module)->table().inputs, 2);
  EXPECT_EQ((*module)->table().outputs, 1);
  EXPECT_EQ((*module)->table().prepare, nullptr);
}

}  // namespace
}  // namespace lathe
