// f16 and bf16: conversions in integer arithmetic agree with base/dtype bit for bit, and promoted
// programs compute in f32.
#include <bit>
#include <cmath>

#include "base/rng.h"
#include "compiler/ir/flat/rewrite.h"
#include "unit/lower/elementwise.h"

namespace lathe::lower {
namespace {

using flat::Expr;

flat::Program expanded(const flat::Program& p) {
  flat::Program out = expand_conversions(promote_halves(p, testing::old_x86()), testing::old_x86());
  const Status legal = verify(out);
  EXPECT_TRUE(legal) << legal.error().text();
  return out;
}

// Casts to or from a 16-bit type.
int conversions(const flat::Program& p) {
  const auto half = [](Dtype d) { return d == Dtype::kF16 || d == Dtype::kBF16; };
  int count = 0;
  flat::rewrite_exprs(p, [&](const Expr& e) {
    if (const auto* n = std::get_if<flat::Cast>(&e->value))
      count += half(e->type.dtype) || half(n->x->type.dtype);
    return e;
  });
  return count;
}

TEST(ExpandConversions, EveryHalfWidens) {
  for (const Dtype half : {Dtype::kF16, Dtype::kBF16}) {
    std::vector<double> all(65536);
    for (std::uint32_t i = 0; i < all.size(); ++i) {
      const auto bits = static_cast<std::uint16_t>(i);
      all[i] = half == Dtype::kF16 ? f16_to_f32(bits) : bf16_to_f32(bits);
    }
    const testing::Elementwise test(all, {}, half, Dtype::kF32,
                                    [](Expr a, Expr) { return flat::cast(a, Dtype::kF32); });
    const flat::Program p = expanded(test.program);
    EXPECT_EQ(conversions(p), 0);
    const std::vector<double> got = test.values(p);
    for (std::size_t i = 0; i < all.size(); ++i)
      ASSERT_TRUE(std::bit_cast<std::uint64_t>(got[i]) == std::bit_cast<std::uint64_t>(all[i]) ||
                  (std::isnan(got[i]) && std::isnan(all[i])))
          << name_of(half) << " " << i << ": " << got[i] << ", not " << all[i];
  }
}

TEST(ExpandConversions, NarrowingRoundsToEven) {
  for (const Dtype half : {Dtype::kF16, Dtype::kBF16}) {
    Rng rng(5);
    std::vector<double> x{
        0.0,       -0.0,     INFINITY, -INFINITY, NAN,     65504,   65519.99, 65520,
        -65520,    65535,    1e30,     3e38,      0x1p-14, 0x1p-24, 0x1p-25,  0x1.000002p-25,
        0x1.8p-24, 0x1p-126, 0x1p-149, 2049,      2051,    257,     259};
    for (int i = 0; i < 50000; ++i)
      x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(rng.next())));
    for (int i = 0; i < 50000; ++i)
      x.push_back(rng.normal() * std::exp2(static_cast<double>(rng.between(-30, 17))));
    for (double& v : x) v = static_cast<float>(v);
    const testing::Elementwise test(x, {}, Dtype::kF32, half,
                                    [&](Expr a, Expr) { return flat::cast(a, half); });
    const flat::Program p = expanded(test.program);
    EXPECT_EQ(conversions(p), 0);
    const std::vector<double> got = test.values(p), want = test.values(test.program);
    for (std::size_t i = 0; i < x.size(); ++i)
      ASSERT_TRUE(std::bit_cast<std::uint64_t>(got[i]) == std::bit_cast<std::uint64_t>(want[i]) ||
                  (std::isnan(got[i]) && std::isnan(want[i])))
          << name_of(half) << " of " << x[i] << ": " << got[i] << ", not " << want[i];
  }
}

TEST(ExpandConversions, HardwareKeepsF16ButNotBf16) {
  for (const Dtype half : {Dtype::kF16, Dtype::kBF16}) {
    const testing::Elementwise test({1}, {}, half, Dtype::kF32,
                                    [](Expr a, Expr) { return flat::cast(a, Dtype::kF32); });
    EXPECT_EQ(conversions(expand_conversions(test.program, testing::new_x86())),
              half == Dtype::kF16 ? 1 : 0);
  }
}

TEST(PromoteHalves, RoundsOnceWhereStored) {
  // 2048 + 1 + 1 in f16: 2048 step by step, 2050 in f32.
  const testing::Elementwise test({2048}, {1}, Dtype::kF16, Dtype::kF16, [](Expr a, Expr b) {
    return flat::binary(flat::BinaryOp::kAdd, flat::binary(flat::BinaryOp::kAdd, a, b), b);
  });
  EXPECT_EQ(test.values(test.program), std::vector<double>{2048});
  EXPECT_EQ(test.values(expanded(test.program)), std::vector<double>{2050});
}

TEST(PromoteHalves, CastsStillRound) {
  const testing::Elementwise test({2049}, {}, Dtype::kF32, Dtype::kF32, [](Expr a, Expr) {
    return flat::cast(flat::cast(a, Dtype::kF16), Dtype::kF32);
  });
  EXPECT_EQ(test.values(expanded(test.program)), std::vector<double>{2048});
}

TEST(PromoteHalves, BitcastsSeeTheBits) {
  const testing::Elementwise test({1.5, -2}, {}, Dtype::kF16, Dtype::kI32, [](Expr a, Expr) {
    return flat::bitcast(flat::unary(flat::UnaryOp::kNeg, a), Dtype::kI32);
  });
  EXPECT_EQ(test.values(expanded(test.program)), (std::vector<double>{0xbe00, 0x4000}));
}

TEST(PromoteHalves, LeavesOtherProgramsAlone) {
  const testing::Elementwise test({1}, {2}, Dtype::kF32, Dtype::kF32, [](Expr a, Expr b) {
    return flat::binary(flat::BinaryOp::kAdd, a, b);
  });
  EXPECT_EQ(expanded(test.program).kernels[0].body, test.program.kernels[0].body);
}

}  // namespace
}  // namespace lathe::lower
