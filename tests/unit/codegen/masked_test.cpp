// Masked loads and stores of any number of lanes: none is handed to LLVM wider than a register, and
// none touches what its mask leaves out.
#include <cstdlib>

#include <gtest/gtest.h>

#include "compiler/lower/lower.h"
#include "compiler/schedule/step.h"
#include "compiler/te/naive_nest.h"
#include "compiler/te/parse.h"
#include "unit/codegen/masked.h"
#include "unit/codegen/small_programs.h"

namespace lathe {
namespace {

using namespace flat;
using enum BinaryOp;
using ir::LoopKind;
using schedule::Annotate, schedule::Cache, schedule::Split, schedule::Trace;
using testing::Place;

constexpr Dtype kTypes[] = {Dtype::kF32,  Dtype::kF64, Dtype::kF16, Dtype::kBF16,
                            Dtype::kI8,   Dtype::kU8,  Dtype::kI32, Dtype::kI64,
                            Dtype::kBool, Dtype::kI16, Dtype::kU16, Dtype::kU32};

Annotate vectorized(const std::string& loop) {
  return {.loop = loop, .kind = LoopKind::kVectorized};
}

// Lowered for each target, and run where this machine can.
void check_text(const std::string& text, const Trace& trace) {
  const auto workload = te::parse_workload(text);
  ASSERT_TRUE(workload) << workload.error().text();
  ir::Nest nest = te::naive_nest(*workload);
  const auto applied = schedule::apply(nest, trace);
  ASSERT_TRUE(applied) << applied.error().text();
  Rng rng(1);
  const auto inputs = interp::random_inputs(*workload, rng);
  const auto want = interp::evaluate(*workload, inputs);
  ASSERT_TRUE(want) << want.error().text();
  for (const Target& target : testing::masked_targets()) {
    const auto program = lower::lower(ir::SizedNest(nest, {}), target);
    ASSERT_TRUE(program) << program.error().text();
    EXPECT_EQ(testing::wide_in(*program, target), "") << text << "\n" << target.text();
    if (!testing::runs_here(target)) continue;
    const auto module = testing::compile(*program, target);
    ASSERT_TRUE(module) << module.error().text();
    std::vector<interp::Bytes> stored;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      stored.push_back(interp::to_storage(program->inputs[i], inputs[i].values));
    for (const Place place : {Place::kFirst, Place::kLast}) {
      const auto got = testing::run_module(**module, *program, stored, place);
      ASSERT_TRUE(got) << got.error().text() << "\n" << text << "\n" << target.text();
      EXPECT_EQ(testing::difference(*program, *want, *got), "") << text << "\n" << target.text();
    }
  }
}

// Rows of three elements among others that are padding, written as one vector each.
TEST(Masked, RowsOfAnyWidth) {
  for (const Dtype dtype : kTypes)
    for (const int width : {5, 9, 33, 65, 81, 127})
      check_text(fmt::format("A: {}[20,3]\nB[i:40,j:{}] = A[i-10,j-1 else {}]\n", name_of(dtype),
                             width, dtype == Dtype::kBool ? "false" : "0"),
                 {vectorized("B.j")});
}

// With a pad that is not 0 the mask is a variable, for it also selects the pad: parts of it are
// masks of registers, too.
TEST(Masked, MasksThatAreUsedTwice) {
  const std::string text = "A: f32[20,3]\nB[i:40,j:81] = A[i-10,j-1 else 2]\n";
  check_text(text, {vectorized("B.j")});
  ir::Nest nest = te::naive_nest(*te::parse_workload(text));
  ASSERT_TRUE(schedule::apply(nest, Trace{vectorized("B.j")}));
  const Target avx2 = testing::resolved("cpu:haswell");
  const auto program = lower::lower(ir::SizedNest(nest, {}), avx2);
  ASSERT_TRUE(program) << program.error().text();
  const auto ir = codegen::llvm_ir(*program, avx2);
  ASSERT_TRUE(ir) << ir.error().text();
  EXPECT_NE(ir->find("@llvm.masked.load.v8f32"), ir->npos) << *ir;
}

// The last elements of rows are stored as whole vectors where masked stores take long.
TEST(Masked, FirstLanesAreStoredWithoutAMask) {
  for (const Dtype dtype : kTypes)
    for (const int width : {3, 5, 7, 13, 21, 31}) {
      const std::string other = dtype == Dtype::kBool ? "" : " * 2";
      const std::string text =
          fmt::format("A: {}[20,{}]\nB[i,j] = A[i,j]{}\n", name_of(dtype), width, other);
      const Trace trace = {Split{"B.j", std::int64_t{8}, "jo", "ji", ir::Tail::kPeel},
                           vectorized("ji")};
      check_text(text, trace);
      ir::Nest nest = te::naive_nest(*te::parse_workload(text));
      ASSERT_TRUE(schedule::apply(nest, trace));
      for (const char* const name : {"cpu:haswell", "cpu:skylake-avx512"}) {
        const Target target = testing::resolved(name);
        const auto program = lower::lower(ir::SizedNest(nest, {}), target);
        ASSERT_TRUE(program) << program.error().text();
        const auto ir = codegen::llvm_ir(*program, target);
        ASSERT_TRUE(ir) << ir.error().text();
        const bool masked = ir->find("@llvm.masked.store") != ir->npos;
        EXPECT_EQ(masked, target.as_cpu().has_avx512_masks) << text << *ir;
      }
    }
}

// A padded copy of what a dilated window reads, as wide as padding and tensor together.
TEST(Masked, PaddedCopiesOfAnyWidth) {
  const Cache copy{.buffer = "A",
                   .name = "A.pad",
                   .loop = "",
                   .layout = {{0, std::int64_t{1}}, {1, std::int64_t{1}}},
                   .reader = "C"};
  const std::string small = "A: f32[33,33]\nB: f32[3,3]\n",
                    large = "A: f32[39,39]\nB: f32[31,31]\n";
  for (const Trace& trace : {Trace{copy, vectorized("A.pad.d1")}, Trace{vectorized("C.o")}}) {
    check_text(small + "C[k:33,l:33] = sum(n,o) A[k+18*n-18,l+18*o-18 else 0] * B[n,o]\n", trace);
    check_text(large + "C[k:39,l:39] = sum(n,o) A[k+n-15,l+o-15 else 0] * B[n,o]\n", trace);
  }
}

// A convolution all of whose taps but those in the middle read padding.
TEST(Masked, WindowsOfPadding) {
  const std::string text =
      "A: f32[8,21,21]\nB: f32[8,8,3,3]\n"
      "C[i:8,j:21,k:21] = sum(l,m,n) A[l,j+30*m-30,k+30*n-30 else 0] * B[i,l,m,n]\n";
  const schedule::Reorder inwards{{"C.l", "C.m", "C.n", "C.k"}};
  check_text(text, {inwards, vectorized("C.k")});
  for (const ir::Tail tail : {ir::Tail::kPeel, ir::Tail::kMask, ir::Tail::kPad})
    check_text(text, {inwards, Split{"C.k", std::int64_t{13}, "ko", "ki", tail}, vectorized("ki")});
}

// A random program of one vector: what is inside of A is loaded where a mask holds, and stored
// where another does.
class OneVector {
 public:
  explicit OneVector(std::uint64_t seed)
      : rng_(seed),
        type_{kTypes[rng_.below(std::size(kTypes))],
              static_cast<int>(rng_.between(2, rng_.chance(0.4) ? 16 : 129))} {}

  Program make() {
    const std::int64_t size = rng_.between(1, 150);
    const std::int64_t step = rng_.between(0, 40), first = rng_.between(-type_.lanes, size + 3);
    const Expr at = binary(kAdd, binary(kMul, var(0), int_imm(step)), int_imm(first));
    const Expr x = load(0, at, type_, both_in(mask(), at, size));
    const Stmt body = seq({store(2, binary(kMul, var(0), int_imm(type_.lanes)), x),
                           store(3, at, x, both_in(mask(), at, size))});
    const Stmt clear =
        for_loop(1, int_imm(0), int_imm(size), store(3, var(1), imm(0, {type_.dtype, 1})));
    return testing::program(
        {testing::buffer("A", size, Scope::kInput, 0, type_.dtype),
         testing::buffer("F", kFlags, Scope::kInput, 1, Dtype::kBool),
         testing::buffer("O", kRows * type_.lanes, Scope::kOutput, 0, type_.dtype),
         testing::buffer("P", size, Scope::kOutput, 1, type_.dtype)},
        {"i", "j"}, seq({clear, for_loop(0, int_imm(0), int_imm(kRows), body)}));
  }

 private:
  static constexpr std::int64_t kRows = 4, kFlags = 140;

  Expr lanes_from(const Expr& base) { return ramp(base, 1, type_.lanes); }
  Expr all(const Expr& scalar) { return broadcast(scalar, type_.lanes); }
  Expr both_in(const Expr& mask, const Expr& at, std::int64_t size) {
    const Expr place = lanes_from(at);
    const Expr inside =
        binary(kAnd, binary(kLe, all(int_imm(0)), place), binary(kLt, place, all(int_imm(size))));
    return rng_.chance(0.5) ? binary(kAnd, mask, inside) : binary(kAnd, inside, mask);
  }
  Expr flag() {  // known when the program runs
    return load(1, binary(kAdd, var(0), int_imm(rng_.between(0, 9))), {Dtype::kBool, 1});
  }
  Expr mask(int depth = 0) {
    const Expr base = rng_.chance(0.7) ? int_imm(0) : var(0);
    const Expr bound = all(int_imm(rng_.between(0, type_.lanes)));
    switch (rng_.below(depth < 3 ? 9 : 4)) {
      case 0: return all(flag());
      case 1: return binary(kLt, lanes_from(base), bound);
      case 2: return binary(kLe, bound, lanes_from(base));
      case 3:
        if (rng_.chance(0.7)) return all(binary(kLt, var(0), int_imm(rng_.between(0, kRows))));
        return load(1, var(0), {Dtype::kBool, type_.lanes});
      case 4: return unary(UnaryOp::kNot, mask(depth + 1));
      case 5: return binary(kOr, mask(depth + 1), mask(depth + 1));
      default: return binary(kAnd, mask(depth + 1), mask(depth + 1));
    }
  }

  Rng rng_;
  Type type_;
};

void check_vector(std::uint64_t seed, const Target& target) {
  const Program p = OneVector(seed).make();
  const auto inputs = testing::random_inputs(p, seed);
  const auto want = interp::eval_flat(p, inputs);
  ASSERT_TRUE(want) << "seed " << seed << ": " << want.error().text() << "\n" << print(p);
  ASSERT_EQ(testing::wide_in(p, target), "") << "seed " << seed << "\n" << print(p);
  if (!testing::runs_here(target)) return;
  const auto module = testing::compile(p, target);
  ASSERT_TRUE(module) << "seed " << seed << ": " << module.error().text() << "\n" << print(p);
  for (const Place place : {Place::kFirst, Place::kLast}) {
    const auto got = testing::run_module(**module, p, inputs, place);
    ASSERT_TRUE(got) << "seed " << seed << " " << target.text() << ": " << got.error().text()
                     << "\n"
                     << print(p);
    ASSERT_EQ(testing::difference(p, *want, *got, 0), "")
        << "seed " << seed << " " << target.text() << "\n"
        << print(p);
  }
}

TEST(Masked, RandomMasks) {
  const std::uint64_t rounds = std::getenv("LATHE_TEST_LONG") != nullptr ? 1'500 : 60;
  const std::vector<Target> targets = testing::masked_targets();
  for (std::uint64_t seed = 1; seed <= rounds && !HasFatalFailure(); ++seed)
    check_vector(seed, targets[seed % targets.size()]);
}

TEST(Masked, TheSearchFindsWideAccesses) {
  const Target avx2 = testing::resolved("cpu:haswell");
  const auto call = [](const char* name) {
    return fmt::format("  %x = call <1 x i8> @llvm.masked.{}(ptr %p, i32 4)\n", name);
  };
  for (const char* narrow : {"load.v8f32.p0", "store.v4f64.p0", "load.v3i64.p0", "load.v32i8.p0",
                             "store.v16f16.p0", "load.v16bf16.p0"})
    EXPECT_EQ(testing::too_wide(call(narrow), avx2), "");
  for (const char* wide : {"load.v9f32.p0", "store.v5i64.p0", "load.v81f32.p0", "load.v33i8.p0",
                           "store.v17f16.p0", "load.v17bf16.p0", "gather.v16f32.v16p0"})
    EXPECT_EQ(testing::too_wide(call("load.v8f32.p0") + call(wide), avx2),
              fmt::format("@llvm.masked.{}", wide));
}

}  // namespace
}  // namespace lathe
