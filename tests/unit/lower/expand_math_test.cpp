// The written-out elementary functions against libm: dense samples, all exponents, and the special
// values.
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>

#include "base/rng.h"
#include "compiler/ir/flat/rewrite.h"
#include "unit/lower/elementwise.h"

namespace lathe::lower {
namespace {

using flat::UnaryOp;
constexpr double kInf = std::numeric_limits<double>::infinity();

// |got - want| in units in the last place of want; 0 for equal specials.
double ulps(double got, double want, Dtype dtype) {
  if (std::isnan(want)) return std::isnan(got) ? 0 : kInf;
  if (got == want) return std::signbit(got) == std::signbit(want) ? 0 : kInf;
  if (std::isnan(got) || std::isinf(got) || std::isinf(want)) return kInf;
  const bool narrow = dtype == Dtype::kF32;
  int exponent = 0;
  std::frexp(want, &exponent);
  const double unit =
      std::ldexp(1.0, std::max(exponent - (narrow ? 24 : 53), narrow ? -149 : -1074));
  return std::fabs(got - want) / unit;
}

std::vector<double> specials(Dtype dtype) {
  const bool narrow = dtype == Dtype::kF32;
  std::vector<double> out;
  for (const double x : {0.0,
                         1.0,
                         0.5,
                         2.0,
                         0.625,
                         0.9277,
                         88.0,
                         88.7,
                         88.73,
                         89.5,
                         103.9,
                         104.5,
                         709.7,
                         709.8,
                         745.1,
                         746.0,
                         1e30,
                         kInf,
                         narrow ? 0x1p-149 : 0x1p-1074,
                         narrow ? 0x1p-126 : 0x1p-1022,
                         narrow ? 0x1.8p-130 : 0x1.8p-1030,
                         narrow ? 0x1.fffffep127 : 0x1.fffffffffffffp1023}) {
    out.push_back(x);
    out.push_back(-x);
  }
  out.push_back(NAN);
  return out;
}

std::vector<double> samples(Dtype dtype, double low, double high) {
  const bool narrow = dtype == Dtype::kF32;
  std::vector<double> out = specials(dtype);
  Rng rng(7);
  constexpr int kDense = 20000, kWide = 10000;
  for (int i = 0; i <= kDense; ++i) out.push_back(low + (high - low) * i / kDense);
  for (int i = 0; i < kWide; ++i) {  // any bits at all
    const std::uint64_t bits = rng.next();
    out.push_back(narrow ? std::bit_cast<float>(static_cast<std::uint32_t>(bits))
                         : std::bit_cast<double>(bits));
  }
  if (narrow)
    for (double& x : out) x = static_cast<float>(x);
  return out;
}

// The numbers next to multiples of a quarter turn, up to the limit, and small numbers.
void add_near_turns(Dtype dtype, std::vector<double>& x) {
  const double limit = ir::trigonometric_limit(dtype);
  Rng rng(11);
  constexpr int kCount = 20000;
  for (int i = 0; i < kCount; ++i) {
    const double most = std::pow(limit / 2, rng.uniform());
    const double near = std::floor(most * rng.uniform()) * (std::numbers::pi / 2);
    const double exact = dtype == Dtype::kF32 ? static_cast<float>(near) : near;
    x.push_back(rng.chance(0.5) ? exact : -exact);
    x.push_back(limit * (2 * rng.uniform() - 1));
    x.push_back(std::exp(-40 * rng.uniform()));
  }
  if (dtype == Dtype::kF32)
    for (double& value : x) value = static_cast<float>(value);
}

struct Case {
  const char* name;
  UnaryOp op;
  double (*exact)(double);
  double low, high;    // of the dense samples
  double f32, f64;     // units in the last place allowed
  bool turns = false;  // exact up to a limit of its arguments, and beyond that any number
};
const Case kCases[] = {
    {"exp", UnaryOp::kExp, std::exp, -110, 100, 1.5, 1.5},
    {"log", UnaryOp::kLog, std::log, 0, 4, 1, 1.5},
    {"tanh", UnaryOp::kTanh, std::tanh, -10, 10, 2.6, 3},
    {"erf", UnaryOp::kErf, std::erf, -6.5, 6.5, 2, 2},
    {"sigmoid", UnaryOp::kSigmoid,
     [](double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); },
     -110, 40, 2.5, 3},
    {"rsqrt", UnaryOp::kRsqrt, [](double x) { return 1 / std::sqrt(x); }, 0, 100, 1.5, 1.5},
    {"floor", UnaryOp::kFloor, std::floor, -20, 20, 0, 0},
    {"ceil", UnaryOp::kCeil, std::ceil, -20, 20, 0, 0},
    {"round", UnaryOp::kRound, std::nearbyint, -20, 20, 0, 0},
    {"log1p", UnaryOp::kLog1p, std::log1p, -1, 4, 2.5, 2.5},
    {"expm1", UnaryOp::kExpm1, std::expm1, -45, 100, 2.5, 2.5},
    {"sin", UnaryOp::kSin, std::sin, -1000, 1000, 2, 2, true},
    {"cos", UnaryOp::kCos, std::cos, -1000, 1000, 2, 2, true},
    {"tan", UnaryOp::kTan, std::tan, -1000, 1000, 4, 4, true},
};

class ExpandMath : public ::testing::TestWithParam<Case> {};

TEST_P(ExpandMath, IsCloseToLibm) {
  const Case& c = GetParam();
  for (const Dtype dtype : {Dtype::kF32, Dtype::kF64}) {
    std::vector<double> x = samples(dtype, c.low, c.high);
    if (c.turns) add_near_turns(dtype, x);
    const testing::Elementwise test(x, {}, dtype, dtype,
                                    [&](flat::Expr a, flat::Expr) { return flat::unary(c.op, a); });
    for (const Target& target : {testing::old_x86(), testing::new_x86()}) {
      const flat::Program expanded = expand_math(test.program, target);
      const Status legal = verify(expanded);
      ASSERT_TRUE(legal) << legal.error().text();
      const std::vector<double> got = test.values(expanded);
      double worst = 0, worst_at = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        double want = c.exact(x[i]);
        if (c.turns && std::isfinite(x[i]) && std::fabs(x[i]) > ir::trigonometric_limit(dtype)) {
          ASSERT_FALSE(std::isnan(got[i])) << x[i];
          ASSERT_TRUE(c.op == UnaryOp::kTan || std::fabs(got[i]) <= 1) << x[i] << ": " << got[i];
          continue;
        }
        // f64's own error is beyond measuring with f64; f32 is measured against the unrounded
        // value.
        const bool exact_special = std::isinf(static_cast<float>(want)) || want == 0;
        if (dtype == Dtype::kF32 && exact_special) want = static_cast<float>(want);
        const double error = ulps(got[i], want, dtype);
        if (error > worst) worst = error, worst_at = x[i];
      }
      RecordProperty(dtype == Dtype::kF32 ? "f32_ulps" : "f64_ulps", std::to_string(worst));
      EXPECT_LE(worst, dtype == Dtype::kF32 ? c.f32 : c.f64)
          << name_of(dtype) << " at " << worst_at << " (" << std::hexfloat << worst_at << ")";
    }
  }
}
INSTANTIATE_TEST_SUITE_P(All, ExpandMath, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

std::size_t operations(const flat::Program& program) {
  std::size_t count = 0;
  flat::rewrite_exprs(program, [&](const flat::Expr& e) {
    ++count;
    return e;
  });
  return count;
}

TEST(ExpandMathExp, OfWhatIsNotAboveZeroTakesFewerOperations) {
  for (const Dtype dtype : {Dtype::kF32, Dtype::kF64}) {
    const std::vector<double> x = samples(dtype, -800, 10);
    const auto exp_of = [](const flat::Expr& a) { return flat::unary(UnaryOp::kExp, a); };
    const testing::Elementwise cut(x, {}, dtype, dtype, [&](flat::Expr a, flat::Expr) {
      return exp_of(flat::binary(flat::BinaryOp::kMin, flat::imm(0, a->type), a));
    });
    const testing::Elementwise any(x, {}, dtype, dtype,
                                   [&](flat::Expr a, flat::Expr) { return exp_of(a); });
    for (const auto& target : {testing::old_x86(), testing::new_x86()}) {
      const flat::Program expanded = expand_math(cut.program, target);
      EXPECT_LT(operations(expanded), operations(expand_math(any.program, target)));
      const std::vector<double> got = cut.values(expanded);
      for (std::size_t i = 0; i < x.size(); ++i) {
        double want = std::exp(std::isnan(x[i]) ? x[i] : std::min(0.0, x[i]));
        if (dtype == Dtype::kF32 && want < 0x1p-150) want = static_cast<float>(want);
        ASSERT_LE(ulps(got[i], want, dtype), 1.5) << name_of(dtype) << " exp(" << x[i] << ")";
      }
    }
  }
}

TEST(ExpandMathPow, IsCloseToLibm) {
  for (const Dtype dtype : {Dtype::kF32, Dtype::kF64}) {
    std::vector<double> x, y;
    const auto add = [&](double a, double b) {
      x.push_back(dtype == Dtype::kF32 ? static_cast<float>(a) : a);
      y.push_back(dtype == Dtype::kF32 ? static_cast<float>(b) : b);
    };
    std::vector<double> special = specials(dtype);
    for (const double s : {3.0, 7.0, 1.5, 1e9, 0x1p53 + 2, 0x1p52 + 1})
      special.push_back(s), special.push_back(-s);
    for (const double a : special)
      for (const double b : special) add(a, b);
    Rng rng(3);
    for (int i = 0; i < 20000; ++i) add(rng.uniform() * 10, rng.normal() * 10);
    for (int i = 0; i < 5000; ++i) add(rng.normal(), static_cast<double>(rng.between(-9, 9)));
    for (int i = 0; i < 5000; ++i) add(std::exp(rng.normal() * 30), rng.normal());
    const testing::Elementwise test(x, y, dtype, dtype, [](flat::Expr a, flat::Expr b) {
      return flat::binary(flat::BinaryOp::kPow, a, b);
    });
    const std::vector<double> got = test.values(expand_math(test.program, testing::new_x86()));
    for (std::size_t i = 0; i < x.size(); ++i) {
      double want = std::pow(x[i], y[i]);
      if (dtype == Dtype::kF32 &&
          (std::isinf(static_cast<float>(want)) || std::fabs(want) < 0x1p-150))
        want = static_cast<float>(want);
      const double exponent = std::fabs(y[i] * std::log2(std::fabs(x[i])));
      const double allowed =
          dtype == Dtype::kF32 ? 1 : 2 + (std::isfinite(exponent) ? 1.5 * exponent : 0);
      EXPECT_LE(ulps(got[i], want, dtype), allowed) << name_of(dtype) << " pow(" << x[i] << ", "
                                                    << y[i] << ") = " << got[i] << ", not " << want;
      if (HasFailure()) return;
    }
  }
}

TEST(ExpandMathPow, SmallConstantsAreProducts) {
  const testing::Elementwise test(
      {3, -2, 0.5}, {}, Dtype::kF32, Dtype::kF32, [](flat::Expr a, flat::Expr) {
        return flat::binary(flat::BinaryOp::kPow, a, flat::imm(3, a->type));
      });
  EXPECT_EQ(test.values(expand_math(test.program, testing::new_x86())),
            (std::vector<double>{27, -8, 0.125}));
}

bool is_call(const flat::Expr& e) {
  using enum UnaryOp;
  if (const auto* n = std::get_if<flat::Unary>(&e->value))
    return n->op != kNeg && n->op != kAbs && n->op != kSqrt && n->op != kNot;
  const auto* n = std::get_if<flat::Binary>(&e->value);
  return n != nullptr && n->op == flat::BinaryOp::kPow;
}

TEST(ExpandMathCalls, NoneIsLeft) {
  const testing::Elementwise test(
      {1}, {2}, Dtype::kF32, Dtype::kF32, [](flat::Expr a, flat::Expr b) {
        for (const Case& c : kCases)
          b = flat::binary(flat::BinaryOp::kAdd, b, flat::unary(c.op, a));
        return flat::binary(flat::BinaryOp::kPow, b, a);
      });
  bool found = false;
  flat::rewrite_exprs(expand_math(test.program, testing::old_x86()), [&](const flat::Expr& e) {
    found = found || is_call(e);
    return e;
  });
  EXPECT_FALSE(found);
}

TEST(ExpandMathFloor, StaysWhereTheTargetHasIt) {
  const testing::Elementwise test({1}, {}, Dtype::kF32, Dtype::kF32, [](flat::Expr a, flat::Expr) {
    return flat::unary(UnaryOp::kFloor, a);
  });
  EXPECT_EQ(expand_math(test.program, testing::new_x86()).kernels[0].body,
            test.program.kernels[0].body);
  EXPECT_NE(expand_math(test.program, testing::old_x86()).kernels[0].body,
            test.program.kernels[0].body);
}

}  // namespace
}  // namespace lathe::lower
