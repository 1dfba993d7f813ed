#include "base/dtype.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "base/rng.h"

namespace lathe {
namespace {

constexpr Dtype kAll[] = {Dtype::kF32,  Dtype::kF64, Dtype::kF16, Dtype::kBF16,
                          Dtype::kI8,   Dtype::kU8,  Dtype::kI32, Dtype::kI64,
                          Dtype::kBool, Dtype::kI16, Dtype::kU16, Dtype::kU32};
constexpr float kFloatInfinity = std::numeric_limits<float>::infinity();

// The value of a small binary float by its definition, in double arithmetic.
double value_of(unsigned bits, int exponent_bits, int fraction_bits) {
  const int fraction_mask = (1 << fraction_bits) - 1;
  const int exponent = static_cast<int>(bits >> fraction_bits) & ((1 << exponent_bits) - 1);
  const int fraction = static_cast<int>(bits) & fraction_mask;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const double sign = (bits & 0x8000U) != 0 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1)
    return fraction == 0 ? sign * kFloatInfinity : std::numeric_limits<double>::quiet_NaN();
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - fraction_bits);
  return sign * std::ldexp(fraction + fraction_mask + 1, exponent - bias - fraction_bits);
}

struct Narrow {
  const char* name;
  int exponent_bits, fraction_bits;
  float (*widen)(std::uint16_t);
  std::uint16_t (*narrow)(float);
};
constexpr Narrow kNarrow[] = {{"f16", 5, 10, f16_to_f32, f32_to_f16},
                              {"bf16", 8, 7, bf16_to_f32, f32_to_bf16}};

TEST(Dtype, EveryHalfWidensToItsValueAndComesBack) {
  for (const Narrow& type : kNarrow) {
    for (unsigned bits = 0; bits < 65536; ++bits) {
      const auto half = static_cast<std::uint16_t>(bits);
      const float wide = type.widen(half);
      const double expected = value_of(bits, type.exponent_bits, type.fraction_bits);
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(wide)) << type.name << ' ' << bits;
        ASSERT_TRUE(std::isnan(type.widen(type.narrow(wide)))) << type.name << ' ' << bits;
        continue;
      }
      ASSERT_EQ(wide, expected) << type.name << ' ' << bits;
      ASSERT_EQ(std::signbit(wide), (bits & 0x8000U) != 0) << type.name << ' ' << bits;
      ASSERT_EQ(type.narrow(wide), half) << type.name << ' ' << bits;
    }
  }
}

// Between two neighbours lies one tie: it goes to the even one, anything beside it to the nearer
// one.
TEST(Dtype, NarrowingRoundsToNearestEven) {
  for (const Narrow& type : kNarrow) {
    const unsigned infinity = ((1U << type.exponent_bits) - 1) << type.fraction_bits;
    for (unsigned bits = 0; bits + 1 < infinity; ++bits) {
      const auto low = static_cast<std::uint16_t>(bits);
      const auto high = static_cast<std::uint16_t>(bits + 1);
      const float tie = type.widen(low) / 2 + type.widen(high) / 2;
      if (type.widen(low) / 2 * 2 != type.widen(low)) continue;  // a tie that f32 cannot hold
      ASSERT_EQ(type.narrow(tie), bits % 2 == 0 ? low : high) << type.name << ' ' << bits;
      ASSERT_EQ(type.narrow(std::nextafter(tie, 0.0F)), low) << type.name << ' ' << bits;
      ASSERT_EQ(type.narrow(std::nextafter(tie, kFloatInfinity)), high) << type.name << ' ' << bits;
      ASSERT_EQ(type.narrow(-tie), type.narrow(tie) | 0x8000U) << type.name << ' ' << bits;
    }
  }
}

TEST(Dtype, NarrowingOverflowsToInfinity) {
  EXPECT_EQ(f16_to_f32(f32_to_f16(65519.0F)), 65504.0F);
  EXPECT_EQ(f16_to_f32(f32_to_f16(65520.0F)), kFloatInfinity);
  EXPECT_EQ(f16_to_f32(f32_to_f16(-1e30F)), -kFloatInfinity);
  EXPECT_EQ(f16_to_f32(f32_to_f16(kFloatInfinity)), kFloatInfinity);
  EXPECT_EQ(bf16_to_f32(f32_to_bf16(std::numeric_limits<float>::max())), kFloatInfinity);
  EXPECT_EQ(bf16_to_f32(f32_to_bf16(-kFloatInfinity)), -kFloatInfinity);
}

#ifdef __FLT16_MAX__
TEST(Dtype, HalvesAgreeWithTheCompilers) {
  const std::uint64_t seed = 20240917;
  Rng rng(seed);
  for (int i = 0; i < 1'000'000; ++i) {
    const float value = std::bit_cast<float>(static_cast<std::uint32_t>(rng.next()));
    if (std::isnan(value)) continue;
    const auto expected = std::bit_cast<std::uint16_t>(static_cast<_Float16>(value));
    ASSERT_EQ(f32_to_f16(value), expected) << "seed " << seed << ", value " << value;
  }
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const auto expected = static_cast<float>(std::bit_cast<_Float16>(half));
    if (std::isnan(expected)) continue;
    ASSERT_EQ(f16_to_f32(half), expected) << bits;
  }
}
#endif

TEST(Dtype, NamesComeBackAndAreListed) {
  for (const Dtype dtype : kAll) {
    EXPECT_EQ(dtype_from_name(name_of(dtype)), dtype);
    EXPECT_NE(known_dtypes().find(name_of(dtype)), std::string_view::npos) << name_of(dtype);
  }
  EXPECT_EQ(dtype_from_name("float"), std::nullopt);
  EXPECT_EQ(dtype_from_name(""), std::nullopt);
}

TEST(Dtype, RoundOffIsHalfTheStepAboveOne) {
  EXPECT_EQ(epsilon_of(Dtype::kF32), std::numeric_limits<float>::epsilon() / 2);
  EXPECT_EQ(epsilon_of(Dtype::kF64), std::numeric_limits<double>::epsilon() / 2);
  EXPECT_EQ(epsilon_of(Dtype::kF16), (f16_to_f32(0x3c01) - 1.0) / 2);
  EXPECT_EQ(epsilon_of(Dtype::kBF16), (bf16_to_f32(0x3f81) - 1.0) / 2);
  for (const Dtype dtype : kAll) EXPECT_EQ(epsilon_of(dtype) > 0, is_float(dtype));
}

TEST(Dtype, ElementsOfEveryTypeComeBackFromMemory) {
  for (const Dtype dtype : kAll) {
    const double values[] = {0, 1, 100, is_float(dtype) ? 0.5 : 7};
    for (const double value : values) {
      unsigned char memory[10];
      for (unsigned char& byte : memory) byte = 0xAA;
      store_element(dtype, memory + 1, value);  // misaligned on purpose
      const double expected = dtype == Dtype::kBool ? (value != 0 ? 1 : 0) : value;
      EXPECT_EQ(load_element(dtype, memory + 1), expected) << name_of(dtype);
      EXPECT_EQ(memory[0], 0xAA) << name_of(dtype);
      EXPECT_EQ(memory[1 + size_of(dtype)], 0xAA) << name_of(dtype);
    }
  }
}

TEST(Dtype, SignedAndUnsignedBytesDiffer) {
  const std::uint8_t byte = 200;
  EXPECT_EQ(load_element(Dtype::kU8, &byte), 200);
  EXPECT_EQ(load_element(Dtype::kI8, &byte), -56);
}

}  // namespace
}  // namespace lathe
