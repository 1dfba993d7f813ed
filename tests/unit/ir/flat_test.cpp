// Constructors, text, equality and the verifier's refusals of flat programs.
#include "compiler/ir/flat/flat.h"

#include <gtest/gtest.h>

#include "compiler/ir/flat/rewrite.h"

namespace lathe::flat {
namespace {

using enum BinaryOp;
const Type kI64{Dtype::kI64, 1};
const Type kF32{Dtype::kF32, 1};
const Type kF32x8{Dtype::kF32, 8};

// A[64], C[64], scratch S[64]; vars i, j, k; registers r0 f32 x 8, r1 f32.
Program base() {
  Program p;
  p.inputs = {{.name = "A", .shape = {64}, .layout = {{0, 1, 64, 1}}, .size = 64}};
  p.outputs = {{.name = "C", .shape = {64}, .layout = {{0, 1, 64, 1}}, .size = 64}};
  p.buffers = {{.name = "A", .size = 64, .scope = Scope::kInput},
               {.name = "C", .size = 64, .scope = Scope::kOutput},
               {.name = "S", .size = 64, .scope = Scope::kGlobal}};
  p.global_bytes = 256;
  p.vars = {"i", "j", "k"};
  p.regs = {kF32x8, kF32};
  set_run(p, seq({}));
  return p;
}
Expr add(Expr a, Expr b) { return binary(kAdd, std::move(a), std::move(b)); }
Expr mul(Expr a, Expr b) { return binary(kMul, std::move(a), std::move(b)); }
Expr sub(Expr a, Expr b) { return binary(kSub, std::move(a), std::move(b)); }
std::string text(const Expr& e) { return print(base(), e); }

TEST(FlatFold, SumsKeepTheirImmediateLast) {
  const Expr i = var(0), j = var(1);
  const auto n = [](std::int64_t v) { return int_imm(v); };
  EXPECT_EQ(text(add(add(i, n(3)), n(5))), "i + 8");
  EXPECT_EQ(text(add(add(i, n(3)), j)), "i + j + 3");
  EXPECT_EQ(text(add(n(3), i)), "i + 3");
  EXPECT_EQ(text(mul(add(i, n(3)), n(4))), "i * 4 + 12");
  EXPECT_EQ(text(mul(n(4), mul(i, n(8)))), "i * 32");
  EXPECT_EQ(text(sub(n(7), i)), "i * -1 + 7");
  EXPECT_EQ(text(sub(add(i, n(7)), add(i, n(9)))), "-2");
  EXPECT_EQ(text(sub(i, n(2))), "i - 2");
  EXPECT_EQ(text(add(add(i, n(2)), n(-2))), "i");
  EXPECT_EQ(text(mul(i, n(0))), "0");
  EXPECT_EQ(text(binary(kDiv, i, n(1))), "i");
  EXPECT_EQ(text(binary(kMod, i, n(1))), "0");
  EXPECT_EQ(text(binary(kMin, n(4), n(-3))), "-3");
  EXPECT_EQ(text(binary(kLt, i, i)), "false");
}

TEST(FlatFold, RampsAndBroadcastsMoveOut) {
  const Expr i = var(0), j = var(1);
  const Expr line = ramp(i, 2, 8);
  EXPECT_EQ(text(add(line, broadcast(add(j, int_imm(1)), 8))), "ramp(i + j + 1, 2, 8)");
  EXPECT_EQ(text(mul(line, broadcast(int_imm(3), 8))), "ramp(i * 3, 6, 8)");
  EXPECT_EQ(text(sub(line, line)), "x8(0)");
  EXPECT_EQ(text(mul(broadcast(i, 8), broadcast(j, 8))), "x8(i * j)");
  EXPECT_EQ(text(load(0, ramp(i, 1, 8), kF32x8)), "A[i : 8]");
  EXPECT_EQ(text(load(0, line, kF32x8)), "A[ramp(i, 2, 8)]");
}

TEST(FlatFold, IntegersWrapInTheirType) {
  EXPECT_EQ(as_int(add(int_imm(127, Dtype::kI8), int_imm(1, Dtype::kI8))), -128);
  EXPECT_EQ(as_int(add(int_imm(255, Dtype::kU8), int_imm(1, Dtype::kU8))), 0);
  EXPECT_EQ(as_int(binary(kShr, int_imm(-1, Dtype::kI32), int_imm(28, Dtype::kI32))), 15);
  EXPECT_EQ(as_int(cast(int_imm(300), Dtype::kU8)), 44);
  EXPECT_EQ(as_int(binary(kDiv, int_imm(INT64_MIN), int_imm(-1))), INT64_MIN);
  EXPECT_EQ(as_int(binary(kDiv, int_imm(1), int_imm(0))), std::nullopt);
}

TEST(FlatFold, BitsOfImmediates) {
  EXPECT_EQ(as_int(bitcast(float_imm(-1.5, Dtype::kF32), Dtype::kI32)),
            static_cast<std::int32_t>(0xbfc00000));
  EXPECT_EQ(as_int(bitcast(float_imm(1, Dtype::kF64), Dtype::kI64)), 0x3ff0000000000000);
  EXPECT_EQ(as_int(bitcast(float_imm(-1, Dtype::kF16), Dtype::kI32)), 0xbc00);
  EXPECT_EQ(text(bitcast(int_imm(0x40490fdb, Dtype::kI32), Dtype::kF32)), "3.1415927410125732");
  EXPECT_EQ(text(bitcast(int_imm(0x13f80, Dtype::kI32), Dtype::kBF16)), "1.0:bf16");
}

TEST(FlatFold, CastsThereAndBack) {
  const Expr x = load(0, var(0), kF32);
  EXPECT_EQ(cast(cast(x, Dtype::kF64), Dtype::kF32), x);
  EXPECT_EQ(text(cast(cast(x, Dtype::kF16), Dtype::kF32)), "f32(f16(A[i]))");
  EXPECT_EQ(text(cast(cast(x, Dtype::kI64), Dtype::kF32)), "f32(i64(A[i]))");
}

TEST(FlatFold, RealArithmeticStays) {
  const Expr x = load(0, int_imm(0), kF32);
  EXPECT_EQ(text(add(x, imm(0, kF32))), "A[0] + 0.0");  // -0 + 0 is 0
  EXPECT_EQ(text(mul(x, imm(0, kF32))), "A[0] * 0.0");
  EXPECT_EQ(mul(imm(1, kF32), x), x);
}

TEST(FlatHash, EqualStructureEqualHash) {
  const auto make = [](int v, double c) {
    return fma(load(0, var(v), kF32), imm(c, kF32), reg_read(1, kF32));
  };
  EXPECT_TRUE(equal(make(0, 2), make(0, 2)));
  EXPECT_EQ(make(0, 2)->hash, make(0, 2)->hash);
  EXPECT_FALSE(equal(make(0, 2), make(1, 2)));
  EXPECT_FALSE(equal(make(0, 2), make(0, 3)));
  EXPECT_FALSE(equal(imm(0.0, kF32), imm(-0.0, kF32)));
  Program a = base(), b = base();
  b.vars[0] = "other";
  EXPECT_EQ(hash(a), hash(b));
  b.buffers[2].slot = 64;
  EXPECT_NE(hash(a), hash(b));
}

TEST(FlatPrint, Program) {
  Program p = base();
  const Expr c = load(0, add(mul(var(0), int_imm(8)), int_imm(8)), kF32x8);
  set_run(p, parallel_for(0, int_imm(0), int_imm(7),
                          seq({reg_write(0, fma(c, imm(2, kF32x8), c)),
                               if_then(binary(kLt, var(0), int_imm(5)),
                                       store(1, mul(var(0), int_imm(8)), reg_read(0, kF32x8)),
                                       store(1, int_imm(0), load(0, int_imm(1), kF32)))})));
  EXPECT_TRUE(verify(p));
  EXPECT_EQ(print(p),
            "A: f32[64] input 0\n"
            "C: f32[64] output 0\n"
            "S: f32[64] global 0\n"
            "regs: r0 f32x8 r1 f32\n"
            "run {\n"
            "  for i in 0..7 parallel {\n"
            "    r0 = fma(A[i * 8 + 8 : 8], x8(2.0), A[i * 8 + 8 : 8])\n"
            "    if i < 5 {\n"
            "      C[i * 8 : 8] = r0\n"
            "    } else {\n"
            "      C[0] = A[1]\n"
            "    }\n"
            "  }\n"
            "}\n");
}

TEST(FlatPrint, PhasesAndKernels) {
  Program p = base();
  p.buffers[2].scope = Scope::kShared, p.shared_bytes = 256;
  const Expr i = var(0), j = var(1);
  const Stmt both = region({{0, int_imm(0), int_imm(64), store(2, i, load(0, i, kF32))},
                            {1, int_imm(0), int_imm(32), store(1, j, load(2, j, kF32))}});
  const Stmt rest = for_loop(2, int_imm(32), int_imm(64), store(1, var(2), imm(0, kF32)));
  p.kernels = {{"both", both}, {"rest", rest}};
  p.run = {0, 1, 0};
  EXPECT_TRUE(verify(p));
  EXPECT_EQ(print(p),
            "A: f32[64] input 0\n"
            "C: f32[64] output 0\n"
            "S: f32[64] shared 0\n"
            "regs: r0 f32x8 r1 f32\n"
            "both {\n"
            "  region {\n"
            "    for i in 0..64 parallel {\n"
            "      S[i] = A[i]\n"
            "    }\n"
            "    barrier\n"
            "    for j in 0..32 parallel {\n"
            "      C[j] = S[j]\n"
            "    }\n"
            "  }\n"
            "}\n"
            "rest {\n"
            "  for k in 32..64 {\n"
            "    C[k] = 0.0\n"
            "  }\n"
            "}\n"
            "run: both, rest, both\n");
  Program once = p;
  once.run = {0, 1};
  EXPECT_NE(hash(p), hash(once));
  once.run = p.run;
  EXPECT_EQ(hash(p), hash(once));
  once.kernels[0].body =
      seq({parallel_for(0, int_imm(0), int_imm(64), store(2, i, load(0, i, kF32))),
           parallel_for(1, int_imm(0), int_imm(32), store(1, j, load(2, j, kF32)))});
  EXPECT_NE(hash(p), hash(once));
}

TEST(FlatPrint, SharedExpressionsAreNamed) {
  Expr x = load(0, var(0), kF32);
  for (int i = 0; i < 40; ++i) x = add(mul(x, x), x);  // 3^40 nodes as a tree
  EXPECT_LT(text(x).size(), 4000U);
}

// One small program per refusal.
struct Refusal {
  const char* name;
  void (*spoil)(Program&);
  const char* message;
};
Stmt loop(int v, Stmt body) { return for_loop(v, int_imm(0), int_imm(8), std::move(body)); }
Stmt parallel(int v, Stmt body) { return parallel_for(v, int_imm(0), int_imm(8), std::move(body)); }
For phase(int v, Stmt body) { return {v, int_imm(0), int_imm(8), std::move(body)}; }
Stmt put(Expr value) { return store(2, int_imm(0), std::move(value)); }
const Expr& zero() {
  static const Expr kZero = imm(0, kF32);
  return kZero;
}

class FlatVerify : public ::testing::TestWithParam<Refusal> {};
TEST_P(FlatVerify, Refuses) {
  Program p = base();
  ASSERT_TRUE(verify(p));
  GetParam().spoil(p);
  const Status status = verify(p);
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().text().find(GetParam().message), std::string::npos)
      << status.error().text();
}
const Refusal kRefusals[] = {
    {"NoRun", [](Program& p) { p.run.clear(); }, "the program runs nothing"},
    {"UnknownKernel", [](Program& p) { p.run.push_back(1); }, "kernel 1 does not exist"},
    {"UnusedKernel", [](Program& p) { p.kernels.push_back({"spare", put(zero())}); },
     "kernel 1 (spare) never runs"},
    {"KernelsOfOneName",
     [](Program& p) {
       p.kernels.push_back(p.kernels[0]);
       p.run.push_back(1);
     },
     "two kernels are named run"},
    {"RegBetweenKernels",
     [](Program& p) {
       p.kernels = {{"one", reg_write(1, zero())}, {"two", put(reg_read(1, kF32))}};
       p.run = {0, 1};
     },
     "two: register 1 is read before"},
    {"RunKernelInPrepare",
     [](Program& p) {
       set_run(p, store(1, int_imm(0), zero()));
       p.prepare = p.run;
     },
     "prepare stores to the output C"},
    {"RegBetweenPhases",
     [](Program& p) {
       set_run(p, region({phase(0, reg_write(1, zero())), phase(1, put(reg_read(1, kF32)))}));
     },
     "register 1 is read before"},
    {"VarBetweenPhases",
     [](Program& p) {
       set_run(p, region({phase(0, put(zero())), phase(1, store(2, var(0), zero()))}));
     },
     "variable 0 is not defined here"},
    {"VarOfTwoPhases",
     [](Program& p) { set_run(p, region({phase(0, put(zero())), phase(0, put(zero()))})); },
     "variable 0 (i) is defined twice"},
    {"PhaseBoundsKnownBefore",
     [](Program& p) {
       set_run(p, region({phase(0, put(zero())), {1, int_imm(0), var(0), put(zero())}}));
     },
     "variable 0 is not defined here"},
    {"UndefinedVar", [](Program& p) { set_run(p, store(2, var(0), zero())); },
     "variable 0 is not defined here"},
    {"UnknownVar", [](Program& p) { set_run(p, store(2, var(9), zero())); },
     "variable 9 does not exist"},
    {"VarOutOfScope",
     [](Program& p) { set_run(p, seq({loop(0, put(zero())), store(2, var(0), zero())})); },
     "variable 0 is not defined here"},
    {"LetOutOfScope",
     [](Program& p) {
       set_run(p, seq({loop(0, seq({let(1, var(0)), put(zero())})), store(2, var(1), zero())}));
     },
     "variable 1 is not defined here"},
    {"DefinedTwice", [](Program& p) { set_run(p, loop(0, loop(0, put(zero())))); },
     "variable 0 (i) is defined twice"},
    {"UnknownBuffer", [](Program& p) { set_run(p, store(7, int_imm(0), zero())); },
     "buffer 7, which does not exist"},
    {"StoreType", [](Program& p) { set_run(p, store(2, int_imm(0), int_imm(1))); },
     "a store of i64 to S, which holds f32"},
    {"LoadType", [](Program& p) { set_run(p, put(cast(load(0, int_imm(0), kI64), Dtype::kF32))); },
     "a load of i64 to A, which holds f32"},
    {"IndexType", [](Program& p) { set_run(p, store(2, int_imm(0, Dtype::kI32), zero())); },
     "at an index of type i32"},
    {"IndexLanes", [](Program& p) { set_run(p, store(2, ramp(int_imm(0), 2, 4), imm(0, kF32x8))); },
     "at an index of type i64 x 4"},
    {"Mask",
     [](Program& p) {
       set_run(p, store(2, int_imm(0), imm(0, kF32x8),
                        binary(kLt, ramp(int_imm(0), 1, 4), broadcast(int_imm(2), 4))));
     },
     "under a mask of type bool x 4"},
    {"StoreToInput", [](Program& p) { set_run(p, store(0, int_imm(0), zero())); },
     "a store to A, which is read-only"},
    {"PrepareReadsInput",
     [](Program& p) {
       p.constant_bytes = 4;
       p.buffers.push_back({.name = "K", .size = 1, .scope = Scope::kConstant});
       set_prepare(p, store(3, int_imm(0), load(0, int_imm(0), kF32)));
     },
     "prepare reads A, which is not constant"},
    {"RunStoresConstant",
     [](Program& p) {
       p.constant_bytes = 4;
       p.buffers.push_back({.name = "K", .size = 1, .scope = Scope::kConstant});
       set_run(p, store(3, int_imm(0), zero()));
     },
     "run stores to K"},
    {"PrepareStoresOutput", [](Program& p) { set_prepare(p, store(1, int_imm(0), zero())); },
     "prepare stores to the output C"},
    {"UnknownReg", [](Program& p) { set_run(p, reg_write(5, zero())); },
     "register 5 does not exist"},
    {"RegType", [](Program& p) { set_run(p, reg_write(0, zero())); },
     "register 0 holds f32 x 8, not f32"},
    {"RegUnwritten", [](Program& p) { set_run(p, put(reg_read(1, kF32))); },
     "register 1 is read before"},
    {"RegIntoParallel",
     [](Program& p) {
       set_run(p, seq({reg_write(1, zero()), parallel(0, put(reg_read(1, kF32)))}));
     },
     "none is carried into a parallel loop"},
    {"RegAcrossParallel",
     [](Program& p) {
       set_run(p, parallel(0, seq({put(reg_read(1, kF32)), reg_write(1, zero())})));
     },
     "register 1 is read before"},
    {"RegOutOfParallel",
     [](Program& p) {
       set_run(p, seq({reg_write(1, zero()), parallel(0, reg_write(1, zero())),
                       put(reg_read(1, kF32))}));
     },
     "register 1 is read before"},
    {"NestedParallel", [](Program& p) { set_run(p, parallel(0, parallel(1, put(zero())))); },
     "a parallel region inside a parallel region"},
    {"Bounds",
     [](Program& p) { set_run(p, for_loop(0, int_imm(0, Dtype::kI32), int_imm(8), put(zero()))); },
     "bounds of a loop"},
    {"ExpOfInt",
     [](Program& p) { set_run(p, loop(0, store(2, unary(UnaryOp::kExp, var(0)), zero()))); },
     "exp of i64"},
    {"ShiftOfReal",
     [](Program& p) { set_run(p, put(binary(kShl, load(0, int_imm(0), kF32), zero()))); },
     "<< of f32"},
    {"Workspace", [](Program& p) { p.global_bytes = 255; }, "buffer S takes bytes 0 to 256 of 255"},
    {"Shared", [](Program& p) { p.buffers[2].scope = Scope::kShared, p.shared_bytes = 252; },
     "buffer S takes bytes 0 to 256 of 252 shared bytes"},
    {"Alignment", [](Program& p) { p.buffers[2].slot = 2, p.global_bytes = 512; },
     "does not align f32"},
    {"BorderSize", [](Program& p) { p.inputs[0].size = 63; }, "but input 0 is f32[63]"},
    {"Literal", [](Program& p) { p.buffers[2].scope = Scope::kLiteral; },
     "literal S has 0 bytes for 64 elements of f32"},
};
INSTANTIATE_TEST_SUITE_P(All, FlatVerify, ::testing::ValuesIn(kRefusals),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(FlatVerifyAccepts, LoopCarriedRegister) {
  Program p = base();
  set_run(p, parallel(0, seq({reg_write(1, zero()),
                              loop(1, reg_write(1, add(reg_read(1, kF32), zero()))),
                              put(reg_read(1, kF32))})));
  const Status status = verify(p);
  EXPECT_TRUE(status) << status.error().text();
}

TEST(FlatRewrite, UnchangedKeepsItsPointer) {
  const Stmt s = loop(0, seq({let(1, add(var(0), int_imm(1))),
                              store(2, var(1), add(zero(), load(0, var(0), kF32)))}));
  const auto same_expr = [](const Expr& e) { return e; };
  const auto same = [&](const auto& self, const Stmt& x) -> Stmt {
    return map_parts(x, same_expr, [&](const Stmt& y) { return self(self, y); });
  };
  EXPECT_EQ(same(same, s), s);
}

}  // namespace
}  // namespace lathe::flat
