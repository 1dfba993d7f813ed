// Element types, stages split off, roles, and programs built without the parser.
#include <gtest/gtest.h>

#include <set>

#include "compiler/te/naive_nest.h"
#include "compiler/te/parse.h"
#include "support/random_workload.h"

namespace lathe::te {
namespace {

Workload checked_workload(std::string_view text, const Declarations& declarations = {}) {
  auto workload = parse_workload(text, declarations);
  LATHE_CHECK(workload.has_value(), "{}\n{}", text, workload.error().text());
  return *std::move(workload);
}

// What stays of the text after parsing: the printed program.
struct Printed {
  const char* text;
  const char* lines;
};
class Typing : public testing::TestWithParam<Printed> {};

TEST_P(Typing, PrintsAs) {
  EXPECT_EQ(print_workload(checked_workload(GetParam().text)), GetParam().lines);
}

const Printed kCases[] = {
    // Sums of narrow types are wide; an output that is not declared has the type of the operands
    // ...
    {"A: f16[3]; S[one:1] = sum(k) A[k] * A[k]",
     "A: f16[3]\nS_acc: f32[1]\noutput S: f16[1]\n"
     "S_acc[one:1] = sum(k:3) f32(A[k]) * f32(A[k])\nS[one:1] = f16(S_acc[0])\n"},
    // ... but that of the accumulator for integers, whose sums would overflow.
    {"A: i8[3]; S[one:1] = sum(k) A[k] * A[k]",
     "A: i8[3]\noutput S: i32[1]\nS[one:1] = sum(k:3) i32(A[k]) * i32(A[k])\n"},
    {"A: i8[3]; S[one:1] = max(k) A[k]",
     "A: i8[3]\nS_acc: i32[1]\noutput S: i8[1]\nS_acc[one:1] = max(k:3) i32(A[k])\nS[one:1] = "
     "i8(S_acc[0])\n"},
    // Of 16 bits, too; sums of u32 keep their type.
    {"A: u16[3]; S[one:1] = sum(k) A[k] * A[k]",
     "A: u16[3]\noutput S: i32[1]\nS[one:1] = sum(k:3) i32(A[k]) * i32(A[k])\n"},
    {"A: u32[3]; S[one:1] = sum(k) A[k] * 4294967295",
     "A: u32[3]\noutput S: u32[1]\nS[one:1] = sum(k:3) A[k] * 4294967295\n"},
    // A cast as the whole body chooses the accumulator.
    {"A: f32[3]; S[one:1] = sum(k) f64(A[k] * A[k])",
     "A: f32[3]\noutput S: f64[1]\nS[one:1] = sum(k:3) f64(A[k] * A[k])\n"},
    {"A: f16[3]; S[one:1] = sum(k) f16(A[k] * A[k])",
     "A: f16[3]\noutput S: f16[1]\nS[one:1] = sum(k:3) f16(A[k] * A[k])\n"},
    // The place of an extreme is found in i32 where all places fit, and only there.
    {"A: f32[9]; p[o:1] = min(k) select(A[k] > 0, 2 * k - 1, 20)",
     "A: f32[9]\np_acc: i32[1]\noutput p: i64[1]\n"
     "p_acc[one:1] = min(k:9) select(0 < A[k], 2 * i32(k) - 1, 20)\np[o:1] = i64(p_acc[0])\n"},
    {"A: f32[9]; p[o:1] = max(k) select(A[k] > 0, 300000000 * k, 0)",
     "A: f32[9]\noutput p: i64[1]\np[o:1] = max(k:9) select(0 < A[k], 3e+08 * k, 0)\n"},
    {"A: f32[9]; p[i] = i + 2 * (min(k) select(A[k] > A[i], k, 9))",
     "A: f32[9]\np_acc: i32[9]\noutput p: i64[9]\n"
     "p_acc[i:9] = min(k:9) select(A[i] < A[k], i32(k), 9)\np[i:9] = i + 2 * i64(p_acc[i])\n"},
    // A declared output gets its type; a literal rounds to its own.
    {"A: f32[2]; B: bf16[2]; B[i] = A[i] + 0.1",
     "A: f32[2]\noutput B: bf16[2]\nB[i:2] = bf16(A[i] + 0.1)\n"},
    // The epilogue of a narrow sum runs in the wide type.
    {"A: f16[2,3]; b: f16[2]; Y[i] = relu((sum(k) A[i,k]) + b[i])",
     "A: f16[2,3]\nb: f16[2]\nY_acc: f32[2]\noutput Y: f16[2]\nY_acc[i:2] = sum(k:3) f32(A[i,k])\n"
     "Y[i:2] = f16(max(Y_acc[i] + f32(b[i]), 0))\n"},
    // A reduction that depends on no outer iterator has one element; names stay unique.
    {"A: f32[2]; Y_acc: f32[2]; Y[i] = A[i] - (max(k) A[k]) + Y_acc[i]",
     "A: f32[2]\nY_acc: f32[2]\nY_acc2: f32[1]\noutput Y: f32[2]\n"
     "Y_acc2[one:1] = max(k:2) A[k]\nY[i:2] = A[i] - Y_acc2[0] + Y_acc[i]\n"},
    // Only the iterators a reduction depends on are its own.
    {"A: f32[2,3]; B: f32[5]; Y[i,j] = B[j] * (sum(k) A[i,k])",
     "A: f32[2,3]\nB: f32[5]\nY_acc: f32[2]\noutput Y: f32[2,5]\n"
     "Y_acc[i:2] = sum(k:3) A[i,k]\nY[i:2,j:5] = B[j] * Y_acc[i]\n"},
    {"A: f32[2,3]; Y[i] = sum(k) A[i,k] * (max(l:2) A[l,k])",
     "A: f32[2,3]\nY_acc: f32[3]\noutput Y: f32[2]\n"
     "Y_acc[k:3] = max(l:2) A[l,k]\nY[i:2] = sum(k:3) A[i,k] * Y_acc[k]\n"},
    // What is read along an iterator is computed along it.
    {"A: f32[2,3]; P: f32[3,4]; Q: f32[4,5]; Y[i,o] = sum(k) A[i,k] * (sum(r) P[k,r] * Q[r,o])",
     "A: f32[2,3]\nP: f32[3,4]\nQ: f32[4,5]\nY_acc: f32[3,5]\noutput Y: f32[2,5]\n"
     "Y_acc[k:3,o:5] = sum(r:4) P[k,r] * Q[r,o]\n"
     "Y[i:2,o:5] = sum(k:3) A[i,k] * Y_acc[k,o]\n"},
    // Operators: precedence, comparisons turned round, signs.
    {"A: f32[2]; Y[i] = -(A[i] - (A[i] - 1)) * -2 - -(3)",
     "A: f32[2]\noutput Y: f32[2]\nY[i:2] = -(A[i] - (A[i] - 1)) * -2 - -(3)\n"},
    {"A: f32[2]; Y[i] = select(A[i] > 1 || A[i] >= 2 && i != 0, relu(A[i]), pow(2, A[i]))",
     "A: f32[2]\noutput Y: f32[2]\n"
     "Y[i:2] = select(1 < A[i] || 2 <= A[i] && i != 0, max(A[i], 0), pow(2, A[i]))\n"},
    // Reductions end at + and -; max(a, b) of iterators is no reduction.
    {"A: f32[2]; B: f32[2]; Y[i:2] = sum(k) A[k] * 2 + B[i]",
     "A: f32[2]\nB: f32[2]\nY_acc: f32[1]\noutput Y: f32[2]\n"
     "Y_acc[one:1] = sum(k:2) A[k] * 2\nY[i:2] = Y_acc[0] + B[i]\n"},
    {"Y[i:2,j:2] = max(i, j) - 1", "output Y: i64[2,2]\nY[i:2,j:2] = max(i, j) - 1\n"},
    {"A: f32[2,3]; Y[one:1] = max(i, j) A[i,j]",
     "A: f32[2,3]\noutput Y: f32[1]\nY[one:1] = max(i:2,j:3) A[i,j]\n"},
    // Bits bind more loosely than + and more tightly than comparisons, as in Python.
    {"A: i32[3]; B: i32[3]; Y[i] = A[i] | B[i] ^ A[i] & B[i] << 2 + 1 >> B[i]",
     "A: i32[3]\nB: i32[3]\noutput Y: i32[3]\nY[i:3] = A[i] | B[i] ^ A[i] & B[i] << 2 + 1 >> "
     "B[i]\n"},
    {"A: u8[3]; Y[i] = ((A[i] | 3) & ~A[i]) << (1 << A[i]); Z[i] = (A[i] & 4) == 4 || ~7 < i",
     "A: u8[3]\noutput Y: u8[3]\noutput Z: bool[3]\nY[i:3] = ((A[i] | 3) & ~A[i]) << (1 << "
     "A[i])\nZ[i:3] = A[i] & 4 == 4 || ~7 < i\n"},
    {"A: i8[2,3]; S[i] = sum(k) A[i,k] << 2",
     "A: i8[2,3]\nS_acc: i32[2]\noutput S: i32[2]\nS_acc[i:2] = sum(k:3) i32(A[i,k])\n"
     "S[i:2] = S_acc[i] << 2\n"},
    {"A: f16[3]; Y[i] = select(isnan(A[i]) || isinf(0.5), sign(A[i]), round(log1p(A[i])))",
     "A: f16[3]\noutput Y: f16[3]\nY[i:3] = select(isnan(A[i]) || isinf(f32(0.5)), sign(A[i]), "
     "round(log1p(A[i])))\n"},
    // Shapes of inputs that are not declared follow from extents.
    {"C[i:4,j:6] = sum(k:3) P[k,i] * Q[2*k + 1,5 - j]",
     "P: f32[3,4]\nQ: f32[6,6]\noutput C: f32[4,6]\nC[i:4,j:6] = sum(k:3) P[k,i] * Q[2*k + 1,-j + "
     "5]\n"},
    // Outputs: what nothing reads, and what is declared so.
    {"A: f32[2]; output B: f32[2]; B[i] = A[i] + 1; C[i] = B[i] * 2",
     "A: f32[2]\noutput B: f32[2]\noutput C: f32[2]\nB[i:2] = A[i] + 1\nC[i:2] = B[i] * 2\n"},
    {"const W: f32[2]; B[i] = W[i] * W[i]; C[i] = B[i] * 2; layout free; max_error 0.001; name "
     "twice",
     "name twice\nconst W: f32[2]\nB: f32[2]\noutput C: f32[2]\nB[i:2] = W[i] * W[i]\nC[i:2] = "
     "B[i] * 2\n"
     "layout free\nmax_error 0.001\n"},
};
INSTANTIATE_TEST_SUITE_P(Programs, Typing, testing::ValuesIn(kCases));

TEST(Key, NamesDoNotMatterEverythingElseDoes) {
  const std::string base = "A: f32[4,4]; B: f32[4,4]; C[i,j] = sum(k) A[i,k] * B[k,j]";
  const std::string key = workload_key(checked_workload(base));
  EXPECT_EQ(key, workload_key(checked_workload(
                     "name mm; X: f32[4,4]; Y: f32[4,4]; Z[y,x] = sum(r) X[y,r] * Y[r,x]")));
  std::set<std::string> keys = {key};
  for (const char* other : {"A: f32[4,4]; B: f32[4,4]; C[i,j] = sum(k) A[i,k] * B[j,k]",
                            "A: f32[4,4]; const B: f32[4,4]; C[i,j] = sum(k) A[i,k] * B[k,j]",
                            "A: f16[4,4]; B: f16[4,4]; C[i,j] = sum(k) A[i,k] * B[k,j]",
                            "A: f32[4,5]; B: f32[5,4]; C[i,j] = sum(k) A[i,k] * B[k,j]",
                            "A: f32[4,4]; B: f32[4,4]; C[i,j] = max(k) A[i,k] * B[k,j]"})
    EXPECT_TRUE(keys.insert(workload_key(checked_workload(other))).second) << other;
  EXPECT_TRUE(keys.insert(workload_key(checked_workload(base + "; layout free"))).second);
  EXPECT_TRUE(keys.insert(workload_key(checked_workload(base + "; max_error 1e-6"))).second);
}

// Some inputs and outputs are seen with neighbouring dimensions merged.
void merge_some(Workload& p, Rng& rng) {
  for (Tensor& tensor : p.tensors) {
    const bool border = tensor.role == TensorRole::kInput || tensor.role == TensorRole::kOutput;
    if (!border || rng.below(3) != 0) continue;
    tensor.border_shape = {tensor.shape[0]};
    for (std::size_t d = 1; d < tensor.shape.size(); ++d)
      if (rng.below(2) == 0) tensor.border_shape.back() *= tensor.shape[d];
      else tensor.border_shape.push_back(tensor.shape[d]);
  }
}

TEST(RandomWorkloads, PrintAndParseBack) {
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    Rng rng(seed);
    Workload p = random_workload(rng, {.dtypes = seed % 2 == 0});
    merge_some(p, rng);
    ASSERT_TRUE(validate(p)) << "seed " << seed << "\n" << validate(p).error().text();
    const auto again = parse_workload(print_workload(p));
    ASSERT_TRUE(again) << "seed " << seed << "\n" << print_workload(p) << again.error().text();
    ASSERT_TRUE(equal(p, *again)) << "seed " << seed << "\n"
                                  << print_workload(p) << print_workload(*again);
    const auto keyed = parse_workload(workload_key(p));
    ASSERT_TRUE(keyed) << "seed " << seed << "\n" << workload_key(p);
    ASSERT_TRUE(equal(canonical(p), *keyed)) << "seed " << seed << "\n" << workload_key(p);
    ASSERT_TRUE(ir::verify(naive_nest(p))) << "seed " << seed;
  }
}

// A program put together by hand, as the C++ API does.
Workload by_hand() {
  Workload p;
  p.tensors = {{"A", Dtype::kF32, {3, 4}}, {"S", Dtype::kF32, {3}, TensorRole::kOutput}};
  p.stages = {{1,
               {{"i", 3}, {"k", 4, IterKind::kReduce}},
               ir::ReduceOp::kSum,
               Dtype::kF32,
               ir::read(0, {ir::Affine::iter(0), ir::Affine::iter(1)}, Dtype::kF32)}};
  p.name = "rows";
  return p;
}

TEST(Validate, ProgramsBuiltByHand) {
  EXPECT_TRUE(validate(by_hand()));
  const auto again = parse_workload(print_workload(by_hand()));
  ASSERT_TRUE(again);
  EXPECT_TRUE(equal(by_hand(), *again));
  const auto refusal = [](auto change) {
    Workload p = by_hand();
    change(p);
    const Status status = validate(p);
    return status ? std::string() : status.error().text();
  };
  const auto has = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  has(refusal([](Workload& p) { p.stages.clear(); }), "computes nothing");
  has(refusal([](Workload& p) { p.tensors[0].name = "S"; }), "two tensors are called S");
  has(refusal([](Workload& p) { p.tensors[0].name = "a b"; }), "no name for a tensor");
  has(refusal([](Workload& p) { p.tensors[0].shape = {3, 3}; }), "reaches 3, 1 past its end");
  has(refusal([](Workload& p) { p.tensors[0].dtype = Dtype::kF64; }), "A is f64, but read as f32");
  has(refusal([](Workload& p) { p.tensors[1].shape = {4}; }), "do not run over the shape [4]");
  has(refusal([](Workload& p) { p.stages[0].iters[0].extent = 0; }), "size 0");
  has(refusal([](Workload& p) { p.stages[0].iters[1].kind = IterKind::kSpatial; }),
      "do not run over");
  has(refusal([](Workload& p) { p.stages[0].reduce = ir::ReduceOp::kNone; }), "need each other");
  has(refusal([](Workload& p) { p.stages[0].accumulator = Dtype::kF64; }), "must be one type");
  has(refusal([](Workload& p) { p.stages[0].tensor = 7; }), "does not exist");
  has(refusal([](Workload& p) { p.stages[0].body = nullptr; }), "null");
  has(refusal([](Workload& p) { p.stages[0].body = ir::iter_value(9); }),
      "iterator 9 does not exist");
  has(refusal([](Workload& p) { p.stages[0].body = ir::constant(0.1, Dtype::kF32); }),
      "not rounded to f32");
  has(refusal([](Workload& p) { p.stages[0].body = ir::read(5, {}, Dtype::kF32); }),
      "tensor 5 does not exist");
  has(refusal([](Workload& p) { p.stages[0].body = ir::constant(1, Dtype::kF32); }),
      "A is never read");
  has(refusal(
          [](Workload& p) { p.tensors.push_back({"Z", Dtype::kF32, {1}, TensorRole::kOutput}); }),
      "Z is never written");
  has(refusal([](Workload& p) { p.tensors[1].role = TensorRole::kIntermediate; }),
      "S is never read");
  has(refusal([](Workload& p) { p.tensors[1].constant = true; }), "only inputs can be");
  has(refusal([](Workload& p) { p.stages.push_back(p.stages[0]); }), "written twice");
  has(refusal([](Workload& p) { p.contract.max_error = 0; }), "max_error");
  has(refusal([](Workload& p) { p.contract.max_error = 5e-8; }), "6e-08");
  has(refusal([](Workload& p) { p.name = "a b"; }), "no name for a workload");
}

TEST(MaxError, IsWhatTheTypesOfTheOutputsHold) {
  for (const char* text :
       {"max_error 6e-8; A: f32[4]; C[i] = A[i]", "max_error 1.2e-16; A: f64[4]; C[i] = A[i]",
        "max_error 1e-40; A: i8[4]; C[i] = A[i] * 2", "max_error 0.00049; A: f16[4]; C[i] = A[i]",
        "max_error 0.004; A: bf16[4]; C[i] = A[i]",
        // The default is for f32, and coarser types keep it.
        "A: f16[4]; C[i] = A[i]", "max_error 2e-5; A: bf16[4]; C[i] = A[i]"}) {
    const Workload workload = checked_workload(text);
    EXPECT_TRUE(equal(checked_workload(print_workload(workload)), workload)) << text;
  }
}

TEST(Flops, CountsArithmeticAndReductionSteps) {
  EXPECT_EQ(flops(checked_workload("A: f32[5]; Y[i] = relu(A[i] * 2 + 1)")), 15);
  EXPECT_EQ(flops(checked_workload("A: f32[5,3]; Y[i] = max(k) A[i,k]")), 15);
  EXPECT_EQ(flops(checked_workload("A: f32[5]; Y[i] = select(A[i] < 2, exp(A[i]), 1)")), 5);
}

TEST(NaiveNest, IntermediatesOfConstantsAloneAreConstant) {
  const Workload p = checked_workload(
      "const W: f32[4]; G: f32[4] = {1,2,3,4}; A: f32[4]; V[i] = W[i] * G[i]; U[i] = V[i] + 1; "
      "Y[i] = U[i] * A[i]; "
      "output Z: f32[4]; Z[i] = V[i] + 2");
  const ir::Nest nest = naive_nest(p);
  const auto constant = [&](const char* name) {
    return nest.buffers[static_cast<std::size_t>(p.find(name))].constant;
  };
  EXPECT_TRUE(constant("W") && constant("G") && constant("V") && constant("U"));
  EXPECT_FALSE(constant("A") || constant("Y") || constant("Z"));
}

}  // namespace
}  // namespace lathe::te
