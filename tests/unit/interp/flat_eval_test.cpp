// The checked interpreter of flat programs: its arithmetic, and one small case for each fault it
// must find.
#include "oracle/flat_eval.h"

#include <bit>
#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "unit/interp/random_flat.h"

namespace lathe::interp {
namespace {

using namespace flat;
using enum flat::BinaryOp;
const Type kOneF32{Dtype::kF32, 1};

Border plain(const char* name, Dtype dtype, std::int64_t n) {
  return {.name = name, .dtype = dtype, .shape = {n}, .layout = {{0, 1, n, 1}}, .size = n};
}
// A[8] f32 in, C[8] f32 out, scratch W, S and H[8] f32; r0 f32; vars i, j.
Program base() {
  Program p;
  p.inputs = {plain("A", Dtype::kF32, 8)};
  p.outputs = {plain("C", Dtype::kF32, 8)};
  p.buffers = {{.name = "A", .size = 8, .scope = flat::Scope::kInput},
               {.name = "C", .size = 8, .scope = flat::Scope::kOutput},
               {.name = "W", .size = 8, .scope = flat::Scope::kGlobal},
               {.name = "S", .size = 8, .scope = flat::Scope::kThread},
               {.name = "H", .size = 8, .scope = flat::Scope::kShared}};
  p.global_bytes = 64, p.thread_bytes = 64, p.shared_bytes = 64;
  p.vars = {"i", "j"};
  p.regs = {kOneF32};
  return p;
}
Bytes iota() {
  return to_storage(plain("A", Dtype::kF32, 8), std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7});
}
Stmt loop(int v, std::int64_t n, Stmt body) {
  return for_loop(v, int_imm(0), int_imm(n), std::move(body));
}
Stmt parallel(int v, std::int64_t n, Stmt body) {
  return parallel_for(v, int_imm(0), int_imm(n), std::move(body));
}
For phase(int v, std::int64_t n, Stmt body) { return {v, int_imm(0), int_imm(n), std::move(body)}; }
Expr a(Expr index) { return load(0, std::move(index), kOneF32); }

Result<std::vector<double>> run(Program p, Stmt s, std::uint64_t seed = 1) {
  set_run(p, std::move(s));
  const std::vector<Bytes> inputs{iota()};
  const auto out = eval_flat(p, inputs, {.seed = seed});
  if (!out) return std::unexpected(out.error());
  return from_storage(p.outputs[0], (*out)[0]);
}

// The value of a constant expression of any type, as the bits the machine stores.
double evaluate_one(const Expr& e) {
  Program p;
  p.outputs = {plain("C", e->type.dtype, 1)};
  p.buffers = {{.name = "C", .dtype = e->type.dtype, .size = 1, .scope = flat::Scope::kOutput}};
  // Through registers, so that nothing folds.
  set_run(p, store(0, int_imm(0), e));
  const auto out = eval_flat(p, {});
  EXPECT_TRUE(out) << out.error().text();
  return out ? from_storage(p.outputs[0], (*out)[0])[0] : 0;
}

TEST(FlatEval, LoopsVectorsAndMasks) {
  const Type f32x4{Dtype::kF32, 4};
  const Expr mask = binary(kLt, ramp(var(0), 1, 4), broadcast(int_imm(7), 4));
  // C[i..i+3] = A[i..] masked below 7, for i = 0, 4.
  const auto c = run(base(), for_loop(0, int_imm(0), int_imm(2),
                                      seq({let(1, binary(kMul, var(0), int_imm(4))),
                                           store(1, var(1), load(0, var(1), f32x4, nullptr)),
                                           if_then(binary(kEq, var(0), int_imm(1)),
                                                   store(1, var(1), imm(9, f32x4), mask))})));
  ASSERT_TRUE(c) << c.error().text();
  EXPECT_EQ(*c, (std::vector<double>{0, 1, 2, 3, 9, 9, 9, 9}));
  const Expr lanes = ramp(int_imm(4), 1, 4);
  const auto d = run(
      base(),
      seq({store(1, int_imm(0),
                 load(0, int_imm(6), f32x4,
                      binary(kLt, ramp(int_imm(6), 1, 4), broadcast(int_imm(8), 4)))),
           store(1, int_imm(4), load(0, binary(kSub, broadcast(int_imm(9), 4), lanes), f32x4))}));
  ASSERT_TRUE(d) << d.error().text();
  EXPECT_EQ(*d, (std::vector<double>{6, 7, 0, 0, 5, 4, 3, 2}));
}

TEST(FlatEval, RoundsToTheType) {
  const auto real = [](double v, Dtype d) { return float_imm(v, d); };
  EXPECT_EQ(evaluate_one(binary(kAdd, real(1, Dtype::kF32), real(0x1p-24, Dtype::kF32))), 1.0);
  EXPECT_EQ(evaluate_one(binary(kAdd, real(1, Dtype::kF64), real(0x1p-24, Dtype::kF64))),
            1 + 0x1p-24);
  EXPECT_EQ(evaluate_one(binary(kAdd, real(2048, Dtype::kF16), real(1, Dtype::kF16))), 2048);
  EXPECT_EQ(evaluate_one(binary(kAdd, real(256, Dtype::kBF16), real(1, Dtype::kBF16))), 256);
  EXPECT_EQ(evaluate_one(unary(UnaryOp::kExp, real(1, Dtype::kF32))), std::exp(1.0F));
  EXPECT_EQ(evaluate_one(fma(real(1 + 0x1p-12, Dtype::kF32), real(1 + 0x1p-12, Dtype::kF32),
                             real(-1, Dtype::kF32))),
            0x1p-11 + 0x1p-24);
  for (const BinaryOp op : {kMin, kMax}) {
    EXPECT_TRUE(std::isnan(evaluate_one(binary(op, real(NAN, Dtype::kF32), real(3, Dtype::kF32)))));
    EXPECT_TRUE(std::isnan(evaluate_one(binary(op, real(3, Dtype::kF32), real(NAN, Dtype::kF32)))));
  }
}

TEST(FlatEval, IntegersWrapAndCastsSaturate) {
  const auto eight = [](std::int64_t v) { return bitcast(int_imm(v, Dtype::kU8), Dtype::kI8); };
  EXPECT_EQ(evaluate_one(binary(kAdd, eight(127), eight(1))), -128);
  EXPECT_EQ(evaluate_one(unary(UnaryOp::kNeg, eight(128))), -128);
  const Expr big = unary(UnaryOp::kNeg, float_imm(-300.7, Dtype::kF32));
  EXPECT_EQ(evaluate_one(cast(big, Dtype::kI8)), 127);
  EXPECT_EQ(evaluate_one(cast(big, Dtype::kI32)), 300);
  EXPECT_EQ(evaluate_one(bitcast(float_imm(1.5, Dtype::kF32), Dtype::kI32)), 0x3fc00000);
  EXPECT_EQ(evaluate_one(bitcast(float_imm(-1, Dtype::kBF16), Dtype::kI32)), 0xbf80);
  EXPECT_EQ(evaluate_one(
                bitcast(unary(UnaryOp::kNeg, int_imm(0xbf80 - 0x20000, Dtype::kI32)), Dtype::kF16)),
            f16_to_f32(static_cast<std::uint16_t>(-(0xbf80 - 0x20000))));
}

TEST(FlatEval, StorageLayout) {
  // [3, 5] in blocks of 2 columns: column block outermost, padded to 3 blocks.
  const Border b{.name = "x",
                 .shape = {3, 5},
                 .layout = {{1, 2, 3, 6}, {0, 1, 3, 2}, {1, 1, 2, 1}},
                 .size = 18};
  std::vector<double> values(15);
  for (std::size_t i = 0; i < 15; ++i) values[i] = static_cast<double>(i);
  const Bytes storage = to_storage(b, values);
  const std::int64_t index[] = {2, 3};
  EXPECT_EQ(storage_offset(b, index), 6 + 4 + 1);
  EXPECT_EQ(from_storage(b, storage), values);
  EXPECT_TRUE(std::isnan(load_element(Dtype::kF32, &storage[4 * 13])));  // column 5
}

TEST(FlatEval, PrepareFillsConstants) {
  Program p = base();
  p.inputs[0].constant = true;
  p.buffers.push_back({.name = "K", .size = 8, .scope = flat::Scope::kConstant});
  p.constant_bytes = 64;
  set_prepare(p, parallel(1, 8, store(5, var(1), binary(kMul, a(var(1)), imm(2, kOneF32)))));
  const auto c = run(p, loop(0, 8, store(1, var(0), load(5, var(0), kOneF32))));
  ASSERT_TRUE(c) << c.error().text();
  EXPECT_EQ((*c)[7], 14);
}

struct Bug {
  const char* name;
  Stmt (*program)();
  const char* message;
};
// C = A + W[0], with loop variable v.
Stmt copy_all(int v) {
  return loop(v, 8, store(1, var(v), binary(kAdd, a(var(v)), load(2, int_imm(0), kOneF32))));
}
Stmt copy_all() { return loop(1, 8, store(1, var(1), a(var(1)))); }
const Bug kBugs[] = {
    {"LoadOutside",
     [] { return loop(0, 9, store(1, binary(kMin, var(0), int_imm(7)), a(var(0)))); },
     "a load of A at 8, outside its 8 elements"},
    {"StoreOutside",
     [] { return loop(0, 8, store(1, binary(kSub, var(0), int_imm(1)), imm(0, kOneF32))); },
     "a store to C at -1, outside its 8 elements"},
    {"VectorOutside", [] { return store(1, int_imm(0), load(0, int_imm(4), {Dtype::kF32, 8})); },
     "a load of A at 8"},
    {"UnwrittenScratch", [] { return loop(0, 8, store(1, var(0), load(2, var(0), kOneF32))); },
     "a load of W at 0, which nothing has written"},
    {"UnwrittenOutput", [] { return loop(0, 7, store(1, var(0), imm(0, kOneF32))); },
     "element [7] of output C is never written"},
    {"AccumulatesIntoNothing",
     [] {
       return loop(0, 8, store(1, var(0), binary(kAdd, load(1, var(0), kOneF32), imm(1, kOneF32))));
     },
     "a load of C at 0, which nothing has written"},
    {"UnwrittenRegister",
     [] {
       return loop(0, 8,
                   seq({if_then(binary(kLt, int_imm(0), var(0)), reg_write(0, imm(1, kOneF32))),
                        store(1, var(0), reg_read(0, kOneF32))}));
     },
     "register r0 is read before it is written"},
    {"WorkerAreaCarried",
     [] {
       return parallel(
           0, 8,
           seq({if_then(binary(kEq, var(0), int_imm(0)), store(3, int_imm(0), imm(1, kOneF32))),
                store(1, var(0), load(3, int_imm(0), kOneF32))}));
     },
     "a load of S at 0, which"},
    {"WriteRace", [] { return seq({parallel(0, 8, store(2, int_imm(0), a(var(0)))), copy_all()}); },
     "which another iteration of the parallel loop also writes"},
    {"ReadRace",
     [] {
       return seq({store(2, int_imm(0), imm(0, kOneF32)),
                   parallel(0, 8,
                            seq({store(1, var(0), load(2, int_imm(0), kOneF32)),
                                 store(2, int_imm(0), imm(0, kOneF32))}))});
     },
     "another iteration of the parallel loop"},
    {"SharedOutlivesRegion",
     [] {
       return seq({parallel(0, 8, store(4, var(0), a(var(0)))),
                   loop(1, 8, store(1, var(1), load(4, var(1), kOneF32)))});
     },
     "a load of H at 0, which was written before the end of a parallel region"},
    {"SharedFromOutside",
     [] {
       return seq({loop(0, 8, store(4, var(0), a(var(0)))),
                   parallel(1, 8, store(1, var(1), load(4, var(1), kOneF32)))});
     },
     "which was written before the end of a parallel region"},
    {"ThreadScratchAcrossABarrier",
     [] {
       return region({phase(0, 8, store(3, var(0), a(var(0)))),
                      phase(1, 8, store(1, var(1), load(3, var(1), kOneF32)))});
     },
     "a load of S at"},
    {"ReadRaceInTheSecondPhase",
     [] {
       return region({phase(0, 8, store(4, var(0), a(var(0)))),
                      phase(1, 8,
                            seq({store(1, var(1), load(4, int_imm(3), kOneF32)),
                                 store(4, var(1), imm(9, kOneF32))}))});
     },
     "which another iteration of the parallel loop writes"},
    {"PoisonAddress",
     [] {
       return loop(0, 8,
                   store(1, binary(kAdd, var(0), cast(load(2, int_imm(0), kOneF32), Dtype::kI64)),
                         imm(0, kOneF32)));
     },
     "an address depends on a load of W at 0, which nothing has written"},
    {"PoisonCondition",
     [] {
       return loop(0, 8,
                   if_then(binary(kLt, load(2, int_imm(0), kOneF32), imm(1, kOneF32)),
                           store(1, var(0), imm(0, kOneF32))));
     },
     "a condition depends on a load of W at 0"},
    {"PoisonThroughMemory",
     [] {
       return loop(
           0, 8,
           seq({store(2, int_imm(1), binary(kAdd, load(2, int_imm(0), kOneF32), imm(1, kOneF32))),
                reg_write(0, load(2, int_imm(1), kOneF32)),
                store(1, var(0), reg_read(0, kOneF32))}));
     },
     "element [0] of output C depends on a load of W at 0, which nothing has written"},
    {"ReadBeforeAnotherWrites",  // right in half of all orders
     [] {
       return seq({store(2, int_imm(0), imm(0, kOneF32)),
                   parallel(0, 2,
                            if_then(binary(kEq, var(0), int_imm(0)), copy_all(1),
                                    store(2, int_imm(0), imm(5, kOneF32))))});
     },
     "depends on a load of W at 0, which another iteration of the parallel loop writes"},
    {"DivisionByZero",
     [] { return loop(0, 8, store(1, binary(kDiv, int_imm(7), var(0)), imm(0, kOneF32))); },
     "7 / 0 is not defined"},
};
class FlatEvalFinds : public ::testing::TestWithParam<Bug> {};
TEST_P(FlatEvalFinds, Bug) {
  for (std::uint64_t seed = 1; seed < 6; ++seed) {
    const auto c = run(base(), GetParam().program(), seed);
    ASSERT_FALSE(c);
    EXPECT_NE(c.error().text().find(GetParam().message), std::string::npos) << c.error().text();
  }
}
INSTANTIATE_TEST_SUITE_P(All, FlatEvalFinds, ::testing::ValuesIn(kBugs),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(FlatEval, PhasesSeeAllOfThePhaseBefore) {
  const auto c = run(
      base(),
      region({phase(0, 8, store(4, var(0), a(var(0)))),
              phase(1, 8, store(1, var(1), load(4, binary(kSub, int_imm(7), var(1)), kOneF32)))}));
  ASSERT_TRUE(c) << c.error().text();
  EXPECT_EQ(*c, (std::vector<double>{7, 6, 5, 4, 3, 2, 1, 0}));
}

TEST(FlatEval, KernelsRunInOrderAndAgain) {
  Program p = base();
  const Expr i = var(0);
  p.kernels = {
      {"begin", loop(0, 8, store(2, i, a(i)))},
      {"twice", loop(0, 8, store(2, i, binary(kMul, load(2, i, kOneF32), imm(2, kOneF32))))},
      {"end", loop(0, 8, store(1, i, load(2, i, kOneF32)))}};
  p.run = {0, 1, 1, 2};
  const std::vector<Bytes> inputs{iota()};
  const auto out = eval_flat(p, inputs);
  ASSERT_TRUE(out) << out.error().text();
  EXPECT_EQ(from_storage(p.outputs[0], (*out)[0])[7], 28);
}

TEST(FlatEval, OverlappingTilesMayWriteTheSame) {
  const auto c =
      run(base(), parallel(0, 4,
                           store(1, binary(kMul, var(0), int_imm(2)),
                                 load(0, binary(kMin, binary(kMul, var(0), int_imm(2)), int_imm(6)),
                                      {Dtype::kF32, 2}))));
  ASSERT_TRUE(c) << c.error().text();
  EXPECT_EQ((*c)[7], 7);
}

TEST(FlatEval, LanesNobodyKeepsMayBeLoaded) {
  const Type f32x4{Dtype::kF32, 4};
  const Expr first = binary(kEq, var(0), int_imm(0));
  const Expr kept = binary(kLt, ramp(int_imm(0), 1, 4), broadcast(int_imm(1), 4));
  // W[0] accumulates; lanes 1 to 3 of W are never written.
  const auto c = run(
      base(), seq({loop(0, 3,
                        store(2, int_imm(0),
                              binary(kAdd, select(first, imm(0, f32x4), load(2, int_imm(0), f32x4)),
                                     imm(1, f32x4)),
                              kept)),
                   loop(1, 8, store(1, var(1), load(2, int_imm(0), kOneF32)))}));
  ASSERT_TRUE(c) << c.error().text();
  EXPECT_EQ((*c)[0], 3);
}

TEST(FlatEval, BuffersInOnePlace) {
  Program p = base();
  p.buffers.push_back({.name = "V", .size = 8, .scope = flat::Scope::kGlobal});
  const auto c =
      run(p, seq({store(2, int_imm(0), imm(1, kOneF32)), store(5, int_imm(0), imm(2, kOneF32)),
                  loop(0, 8, store(1, var(0), load(2, int_imm(0), kOneF32)))}));
  ASSERT_FALSE(c);
  EXPECT_NE(c.error().text().find("another buffer in the same place"), std::string::npos)
      << c.error().text();
}

// Random programs are legal, and their parallel loops do not depend on the order.
TEST(FlatEval, RandomProgramsAgreeInAnyOrder) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Rng rng(seed);
    const Program p = testing::random_flat(rng, {.math = seed % 2 == 0, .halves = seed % 3 == 0});
    const Status legal = verify(p);
    ASSERT_TRUE(legal) << "seed " << seed << ": " << legal.error().text();
    const auto inputs = testing::random_inputs(rng, p);
    const auto one = eval_flat(p, inputs, {.seed = 1, .workers = 1});
    ASSERT_TRUE(one) << "seed " << seed << ": " << one.error().text() << "\n" << print(p);
    const auto two = eval_flat(p, inputs, {.seed = 2, .workers = 4});
    ASSERT_TRUE(two) << "seed " << seed << ": " << two.error().text();
    ASSERT_EQ(*one, *two) << "seed " << seed;
  }
}

}  // namespace
}  // namespace lathe::interp
