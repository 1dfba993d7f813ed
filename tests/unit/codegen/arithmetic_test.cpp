// The sentences of docs/expressions.md about numbers, a case each: the interpreters, folded
// constants and generated code, scalar and vector, on every target this machine runs, say the same.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "compiler/lower/lower.h"
#include "compiler/schedule/step.h"
#include "compiler/te/naive_nest.h"
#include "compiler/te/parse.h"
#include "oracle/te_eval.h"
#include "unit/codegen/harness.h"

namespace lathe {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr std::int64_t kLength = 37;  // whole vectors and a tail

struct Case {
  const char* name;
  Dtype input;
  const char* output;                            // of A[i]
  std::vector<std::pair<double, double>> pairs;  // of input and output
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"I8Wraps", Dtype::kI8, "A[i] + 100", {{27, 127}, {28, -128}, {127, -29}, {-128, -28}}},
      {"U8Wraps", Dtype::kU8, "A[i] * 3 - 1", {{0, 255}, {85, 254}, {86, 1}, {255, 252}}},
      {"I32Wraps", Dtype::kI32, "A[i] * A[i]", {{65536, 0}, {46341, -2147479015}, {-0x1p31, 0}}},
      {"I64Wraps", Dtype::kI64, "A[i] * A[i]", {{0x1p32, 0}, {-3, 9}, {0x1p31, 0x1p62}}},
      {"NegationWraps", Dtype::kI8, "-A[i]", {{-128, -128}, {127, -127}, {0, 0}}},
      {"AbsWraps", Dtype::kI32, "abs(A[i])", {{-0x1p31, -0x1p31}, {-7, 7}, {7, 7}}},
      {"DivisionRoundsTowardsZero",
       Dtype::kI32,
       "A[i] / 3",
       {{7, 2}, {-7, -2}, {2, 0}, {-2, 0}, {-0x1p31, -715827882}}},
      {"DivisionOfBytes", Dtype::kU8, "A[i] / 16", {{255, 15}, {15, 0}}},
      {"RemainderKeepsTheSign",
       Dtype::kI32,
       "A[i] % 3",
       {{7, 1}, {-7, -1}, {-6, 0}, {-0x1p31, -2}}},
      {"RemainderOfBytes", Dtype::kI8, "A[i] % 10", {{-128, -8}, {127, 7}}},
      {"FloatToI8",
       Dtype::kF32,
       "i8(A[i])",
       {{1.9, 1},
        {-1.9, -1},
        {127.5, 127},
        {-129, -128},
        {kInf, 127},
        {-kInf, -128},
        {NAN, 0},
        {-0.0, 0}}},
      {"FloatToU8",
       Dtype::kF32,
       "u8(A[i])",
       {{1.9, 1}, {-1.9, 0}, {255.5, 255}, {1e30, 255}, {NAN, 0}}},
      {"FloatToI32",
       Dtype::kF32,
       "i32(A[i])",
       {{-2.5, -2}, {3e9, 0x1p31 - 1}, {-3e9, -0x1p31}, {kInf, 0x1p31 - 1}, {NAN, 0}}},
      {"FloatToI64",
       Dtype::kF64,
       "i64(A[i])",
       {{-2.5, -2}, {3e9, 3e9}, {-kInf, -0x1p63}, {NAN, 0}}},
      {"HalfToI8", Dtype::kF16, "i8(A[i])", {{-2.5, -2}, {300, 127}, {kInf, 127}, {NAN, 0}}},
      {"IntegersLoseHighBits",
       Dtype::kI32,
       "i8(A[i])",
       {{257, 1}, {-1, -1}, {128, -128}, {-129, 127}}},
      {"IntegersLoseTheirSign", Dtype::kI32, "u8(A[i])", {{257, 1}, {-1, 255}, {-256, 0}}},
      {"LongToInt", Dtype::kI64, "i32(A[i])", {{0x1p32 + 5, 5}, {0x1p31, -0x1p31}, {-1, -1}}},
      {"IntegerToFloatIsNearest",
       Dtype::kI32,
       "f32(A[i])",
       {{16777217, 16777216}, {16777219, 16777220}, {-0x1p31, -0x1p31}}},
      {"FloatToHalfIsNearestOrInfinite",
       Dtype::kF32,
       "f16(A[i])",
       {{2049, 2048},
        {2051, 2052},
        {65519, 65504},
        {65520, kInf},
        {-1e9, -kInf},
        {0x1p-25, 0},
        {NAN, NAN}}},
      {"FloatToBf16IsNearestOrInfinite",
       Dtype::kF32,
       "bf16(A[i])",
       {{257, 256}, {259, 260}, {3.4e38, kInf}, {NAN, NAN}}},
      {"DoubleToFloat",
       Dtype::kF64,
       "f32(A[i])",
       {{0x1p24 + 1, 0x1p24}, {1e39, kInf}, {-1e39, -kInf}, {1e-50, 0}}},
      {"ToBool",
       Dtype::kF32,
       "i32(bool(A[i]))",
       {{0, 0}, {-0.0, 0}, {0.5, 1}, {NAN, 1}, {0x1p-149, 1}}},
      {"FromBool", Dtype::kI32, "f32(A[i] > 2)", {{2, 0}, {3, 1}}},
      {"ReluKeepsNan",
       Dtype::kF32,
       "relu(A[i])",
       {{NAN, NAN}, {-1, 0}, {2, 2}, {kInf, kInf}, {-kInf, 0}}},
      {"MaxWithANumberFirst", Dtype::kF64, "max(1, A[i])", {{NAN, NAN}, {-kInf, 1}, {2, 2}}},
      {"MinKeepsNan", Dtype::kF32, "min(A[i], 6)", {{NAN, NAN}, {7, 6}, {-kInf, -kInf}}},
      {"MinOfTwo",
       Dtype::kF32,
       "min(A[i] - A[i], A[i])",
       {{NAN, NAN}, {kInf, NAN}, {7, 0}, {-7, -7}}},
      {"MaxOfTwo",
       Dtype::kF32,
       "max(A[i], A[i] - A[i])",
       {{NAN, NAN}, {kInf, NAN}, {7, 7}, {-7, 0}}},
      {"HalfMaxKeepsNan", Dtype::kF16, "max(A[i], 0)", {{NAN, NAN}, {-1, 0}, {kInf, kInf}}},
      {"ComparisonsWithNan",
       Dtype::kF32,
       "i32(A[i] < 1) + 2 * i32(A[i] >= 1) + 4 * i32(A[i] == A[i]) + 8 * i32(A[i] != A[i])",
       {{NAN, 8}, {0, 5}, {1, 6}}},
      {"SelectTakesOneSide",
       Dtype::kF32,
       "select(A[i] > 0, 1 / A[i], 0)",
       {{0, 0}, {NAN, 0}, {2, 0.5}, {kInf, 0}}},
      {"I16Wraps", Dtype::kI16, "A[i] * A[i] + 1", {{181, 32762}, {182, -32411}, {-32768, 1}}},
      {"U16Wraps", Dtype::kU16, "A[i] * A[i] - 2", {{65535, 65535}, {1, 65535}, {256, 65534}}},
      {"U32Wraps", Dtype::kU32, "A[i] * A[i] - 2", {{0x1p32 - 1, 0x1p32 - 1}, {65536, 0x1p32 - 2}}},
      {"U32Divides", Dtype::kU32, "A[i] / 10 + A[i] % 10", {{0x1p32 - 1, 429496734}, {19, 10}}},
      {"U32Compares", Dtype::kU32, "select(A[i] > 5, 1, 0)", {{0x1p32 - 1, 1}, {5, 0}, {6, 1}}},
      {"U32ToFloat", Dtype::kU32, "f32(A[i])", {{0x1p32 - 1, 0x1p32}, {16777217, 16777216}}},
      {"U32KeepsBits", Dtype::kI32, "u32(A[i])", {{-1, 0x1p32 - 1}, {-0x1p31, 0x1p31}, {7, 7}}},
      {"U32Widens", Dtype::kU32, "i64(A[i]) - 1", {{0x1p32 - 1, 0x1p32 - 2}, {0, -1}}},
      {"FloatToU32",
       Dtype::kF32,
       "u32(A[i])",
       {{1.9, 1}, {-1.9, 0}, {3e9, 3e9}, {1e30, 0x1p32 - 1}, {NAN, 0}}},
      {"FloatToI16",
       Dtype::kF32,
       "i16(A[i])",
       {{1.9, 1}, {-1.9, -1}, {4e4, 32767}, {-kInf, -32768}, {NAN, 0}}},
      {"FloatToU16", Dtype::kF32, "u16(A[i])", {{65535.5, 65535}, {7e4, 65535}, {-1, 0}, {NAN, 0}}},
      {"ShortsToBytes", Dtype::kU16, "i8(A[i])", {{255, -1}, {128, -128}, {65535, -1}, {5, 5}}},
      {"ShiftsLeft", Dtype::kI32, "A[i] << 30", {{1, 0x1p30}, {2, -0x1p31}, {-1, -0x1p30}, {4, 0}}},
      {"ShiftsOutToTheLeft",
       Dtype::kI8,
       "-5 << A[i]",
       {{0, -5}, {4, -80}, {7, -128}, {8, 0}, {127, 0}, {-1, 0}}},
      {"ShiftsOutToTheRight",
       Dtype::kI16,
       "-5 >> A[i]",
       {{0, -5}, {1, -3}, {15, -1}, {16, -1}, {-1, -1}}},
      {"ShiftsOutToTheRightUnsigned",
       Dtype::kU16,
       "65535 >> A[i]",
       {{0, 65535}, {1, 32767}, {15, 1}, {16, 0}, {65535, 0}}},
      {"ShiftsOfLongs",
       Dtype::kI64,
       "-8 >> A[i]",
       {{0, -8}, {1, -4}, {63, -1}, {64, -1}, {-1, -1}}},
      {"Bits", Dtype::kU8, "~A[i] & 15 | A[i] ^ 16", {{0, 31}, {255, 239}, {5, 31}, {16, 15}}},
      {"BitsOfNegativeNumbers", Dtype::kI32, "~A[i] ^ -8 & A[i]", {{-1, -8}, {0, -1}, {9, -2}}},
      {"RoundsToEven",
       Dtype::kF32,
       "round(A[i])",
       {{0.5, 0}, {1.5, 2}, {-2.5, -2}, {2.51, 3}, {8388609, 8388609}, {kInf, kInf}, {NAN, NAN}}},
      {"RoundsHalves", Dtype::kF16, "round(A[i])", {{0.5, 0}, {1.5, 2}, {-2.5, -2}, {NAN, NAN}}},
      {"RoundsDoubles",
       Dtype::kF64,
       "round(A[i])",
       {{0.5, 0}, {1.5, 2}, {-0.7, -1}, {1e300, 1e300}}},
      {"Sign", Dtype::kF32, "sign(A[i])", {{0, 0}, {-0.0, 0}, {kInf, 1}, {-1e-40, -1}, {NAN, NAN}}},
      {"SignOfIntegers", Dtype::kI16, "sign(A[i])", {{0, 0}, {-32768, -1}, {7, 1}}},
      {"SignOfUnsigned", Dtype::kU32, "sign(A[i])", {{0, 0}, {0x1p32 - 1, 1}}},
      {"IsNanAndIsInf",
       Dtype::kF32,
       "i32(isnan(A[i])) + 2 * i32(isinf(A[i]))",
       {{NAN, 1}, {kInf, 2}, {-kInf, 2}, {0, 0}, {3e38, 0}}},
      {"HalvesThatAreNanOrInfinite",
       Dtype::kBF16,
       "i32(isnan(A[i])) + 2 * i32(isinf(A[i]))",
       {{NAN, 1}, {kInf, 2}, {-kInf, 2}, {7, 0}}},
      {"AnglesWithoutEnd",
       Dtype::kF32,
       "i32(isnan(sin(A[i]))) + i32(isnan(cos(A[i]))) + i32(isnan(tan(A[i])))",
       {{kInf, 3}, {-kInf, 3}, {NAN, 3}, {1e38, 0}, {0, 0}}},
      {"NearNothing",
       Dtype::kF32,
       "select(log1p(A[i]) == A[i] && expm1(A[i]) == A[i] && sin(A[i]) == A[i], 1, 0)",
       {{0x1p-149, 1}, {-0x1p-100, 1}, {0.5, 0}, {kInf, 0}}},
      {"EndsOfLog1pAndExpm1",
       Dtype::kF64,
       "log1p(A[i]) + 2 * expm1(A[i])",
       {{kInf, kInf}, {NAN, NAN}, {0, 0}, {-2, NAN}, {710, kInf}}},
  };
  return all;
}

class Arithmetic : public ::testing::TestWithParam<Case> {
 protected:
  Arithmetic()
      : workload_(*te::parse_workload(fmt::format("A: {}[{}]; Y[i] = {}", name_of(GetParam().input),
                                                  kLength, GetParam().output))) {
    for (std::int64_t i = 0; i < kLength; ++i) inputs_.values.push_back(pair(i).first);
    inputs_.dtype = GetParam().input;
    inputs_.shape = {kLength};
  }
  const std::pair<double, double>& pair(std::int64_t i) const {
    const auto& pairs = GetParam().pairs;
    return pairs[static_cast<std::size_t>(i) % pairs.size()];
  }
  void expect(const std::vector<double>& got, const std::string& where) const {
    ASSERT_EQ(got.size(), static_cast<std::size_t>(kLength));
    for (std::int64_t i = 0; i < kLength; ++i) {
      const auto [input, want] = pair(i);
      const double value = got[static_cast<std::size_t>(i)];
      ASSERT_TRUE(value == want || (std::isnan(value) && std::isnan(want)))
          << where << ": of " << input << " " << value << " instead of " << want;
    }
  }
  // As flat program in the interpreter and on every target.
  void check(const ir::Nest& nest, const std::string& where) const {
    for (const Target& target : testing::runnable_targets()) {
      const auto p = lower::lower(ir::SizedNest(nest, {}), target);
      ASSERT_TRUE(p) << p.error().text();
      const std::vector<interp::Bytes> stored{interp::to_storage(p->inputs[0], inputs_.values)};
      const auto interpreted = interp::eval_flat(*p, stored);
      ASSERT_TRUE(interpreted) << interpreted.error().text();
      expect(interp::from_storage(p->outputs[0], (*interpreted)[0]), where + ", interpreted");
      const auto module = testing::compile(*p, target);
      ASSERT_TRUE(module) << module.error().text();
      const auto run = testing::run_module(**module, *p, stored);
      ASSERT_TRUE(run) << run.error().text();
      expect(interp::from_storage(p->outputs[0], (*run)[0]), where + ", " + target.text());
    }
  }

  te::Workload workload_;
  interp::Tensor inputs_;
};

TEST_P(Arithmetic, OfTheExpression) {
  const auto out = interp::evaluate(workload_, {inputs_});
  ASSERT_TRUE(out) << out.error().text();
  expect(out->front().values, "expression");
}

TEST_P(Arithmetic, OfLoops) { check(te::naive_nest(workload_), "loops"); }

TEST_P(Arithmetic, OfVectors) {
  ir::Nest nest = te::naive_nest(workload_);
  const schedule::Trace trace{
      schedule::Split{"Y.i", std::int64_t{8}, "Y.o", "Y.v", ir::Tail::kPeel},
      schedule::Annotate{.loop = "Y.v", .kind = ir::LoopKind::kVectorized}};
  ASSERT_TRUE(schedule::apply(nest, trace));
  check(nest, "vectors");
}

// The operand written into the program, so that whatever folds constants does.
TEST_P(Arithmetic, OfConstants) {
  for (std::size_t p = 0; p < GetParam().pairs.size(); ++p) {
    te::Workload constant = workload_;
    const double value = GetParam().pairs[p].first;
    te::Stage& stage = constant.stages.front();
    stage.body = ir::rewrite_leaves(stage.body, [&](const ir::Expr& leaf) {
      return std::holds_alternative<ir::Read>(leaf->value) ? ir::constant(value, leaf->dtype)
                                                           : leaf;
    });
    for (std::int64_t i = 0; i < kLength; ++i) inputs_.values[static_cast<std::size_t>(i)] = 1;
    const auto p_flat =
        lower::lower(ir::SizedNest(te::naive_nest(constant), {}), testing::resolved("cpu:host"));
    ASSERT_TRUE(p_flat) << p_flat.error().text();
    const std::vector<interp::Bytes> stored{interp::to_storage(p_flat->inputs[0], inputs_.values)};
    const auto module = testing::compile(*p_flat, testing::resolved("cpu:host"));
    ASSERT_TRUE(module) << module.error().text();
    const auto run = testing::run_module(**module, *p_flat, stored);
    const auto interpreted = interp::eval_flat(*p_flat, stored);
    ASSERT_TRUE(run && interpreted);
    const double want = GetParam().pairs[p].second;
    for (const auto& bytes : {(*run)[0], (*interpreted)[0]})
      for (const double got : interp::from_storage(p_flat->outputs[0], bytes))
        ASSERT_TRUE(got == want || (std::isnan(got) && std::isnan(want)))
            << "of " << value << " " << got << " instead of " << want;
  }
}

INSTANTIATE_TEST_SUITE_P(Sentences, Arithmetic, ::testing::ValuesIn(cases()),
                         [](const auto& info) { return std::string(info.param.name); });

int count(const std::string& text, const std::string& word) {
  int found = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
    ++found;
  return found;
}

// The code of an elementwise body, four lanes at a time.
std::string assembly_of(const std::string& body, const char* target) {
  const auto workload = te::parse_workload("A: f32[64]; B: f32[64]; Y[i] = " + body);
  ir::Nest nest = te::naive_nest(*workload);
  const schedule::Trace trace{
      schedule::Split{"Y.i", std::int64_t{4}, "Y.o", "Y.v", ir::Tail::kPeel},
      schedule::Annotate{.loop = "Y.v", .kind = ir::LoopKind::kVectorized}};
  EXPECT_TRUE(schedule::apply(nest, trace));
  const Target resolved = testing::resolved(target);
  const auto text = codegen::assembly(*lower::lower(ir::SizedNest(nest, {}), resolved), resolved);
  EXPECT_TRUE(text) << text.error().text();
  return text.value_or("");
}

// NaN costs relu nothing, and a maximum of two unknown numbers a comparison and a blend on x86.
TEST(ArithmeticCost, OfNan) {
  const std::string relu = assembly_of("relu(A[i]) + B[i]", "cpu:x86-64-v3");
  EXPECT_EQ(count(relu, "vmaxps"), 1) << relu;
  EXPECT_EQ(count(relu, "vcmp") + count(relu, "vblend"), 0) << relu;
  const std::string two = assembly_of("max(A[i], B[i])", "cpu:x86-64-v3");
  EXPECT_EQ(count(two, "vmaxps"), 1) << two;
  EXPECT_EQ(count(two, "vcmpunordps"), 1) << two;
  EXPECT_EQ(count(two, "vblendvps"), 1) << two;
  const std::string arm = assembly_of("max(A[i], B[i])", "cpu:cortex-a72;isa=aarch64");
  EXPECT_EQ(count(arm, "fmax\t"), 1) << arm;
  EXPECT_EQ(count(arm, "fcm"), 0) << arm;
}

TEST(ArithmeticRefusals, DivisorsThatAreNotPositiveNumbers) {
  for (const char* text : {"A: i32[3]; Y[i] = A[i] / 0", "A: i32[3]; Y[i] = A[i] % -2",
                           "A: i32[3]; Y[i] = A[i] / A[i]"}) {
    const auto workload = te::parse_workload(text);
    ASSERT_FALSE(workload.has_value()) << text;
    EXPECT_NE(workload.error().message.find("needs a positive number as divisor"),
              std::string::npos)
        << workload.error().text();
  }
}

}  // namespace
}  // namespace lathe
