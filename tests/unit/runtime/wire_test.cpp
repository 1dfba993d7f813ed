#include "runtime/runner/wire.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace lathe::runner {
namespace {

enum class Colour : std::uint8_t { kRed, kGreen };
struct Part {
  std::string name;
  std::vector<std::int32_t> sizes;
  friend bool operator==(const Part&, const Part&) = default;
};
struct Whole {
  std::uint32_t number = 0;
  int home = 7;
  bool flag = false;
  double real = 0;
  Colour colour = Colour::kRed;
  std::array<char, 4> name = {};
  std::vector<std::byte> bytes;
  std::vector<Part> parts;
  friend bool operator==(const Whole&, const Whole&) = default;
};

}  // namespace

template <>
inline constexpr auto kLastOf<Colour> = Colour::kGreen;
template <>
inline constexpr auto kFields<Part> = fields<Part>(&Part::name, &Part::sizes);
template <>
inline constexpr auto kFields<Whole> =
    fields<Whole>(&Whole::number, stays(&Whole::home), &Whole::flag, &Whole::real, &Whole::colour,
                  &Whole::name, &Whole::bytes, &Whole::parts);

namespace {

std::string written(const Whole& whole) {
  std::string bytes;
  write(bytes, whole);
  return bytes;
}
// Whether the bytes are taken; then what they say is in `whole`.
bool taken(std::string_view bytes, Whole& whole) {
  Reader reader(bytes);
  reader.read(whole);
  return reader.complete();
}

const Whole kExample{.number = 0x01020304,
                     .flag = true,
                     .real = -2.0,
                     .colour = Colour::kGreen,
                     .name = {'a', 'b', 0, 0},
                     .bytes = {std::byte{0xff}, std::byte{0}},
                     .parts = {{"x", {-2}}}};

// The same on every machine.
TEST(Wire, IsLittleEndian) {
  const std::string_view expected(
      "\x04\x03\x02\x01"
      "\x01"
      "\0\0\0\0\0\0\0\xc0"
      "\x01"
      "ab\0\0"
      "\x02\0\0\0\0\0\0\0\xff\0"
      "\x01\0\0\0\0\0\0\0"
      "\x01\0\0\0\0\0\0\0x"
      "\x01\0\0\0\0\0\0\0\xfe\xff\xff\xff",
      4 + 1 + 8 + 1 + 4 + 10 + 8 + 9 + 12);
  EXPECT_EQ(written(kExample), expected);
}

TEST(Wire, ReadsWhatItWrote) {
  Whole back{.home = 3};
  ASSERT_TRUE(taken(written(kExample), back));
  EXPECT_EQ(back.home, 3);  // does not travel
  back.home = kExample.home;
  EXPECT_EQ(back, kExample);
}

TEST(Wire, KeepsEveryNumberToTheBit) {
  for (const double real : {0.0, -0.0, std::numeric_limits<double>::infinity(),
                            std::numeric_limits<double>::denorm_min(), std::nan("7")}) {
    Whole back;
    ASSERT_TRUE(taken(written({.real = real}), back));
    EXPECT_EQ(std::bit_cast<std::uint64_t>(back.real), std::bit_cast<std::uint64_t>(real));
  }
}

TEST(Wire, RefusesWhatIsCutOffOrTooLong) {
  const std::string whole = written(kExample);
  Whole back;
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_FALSE(taken(std::string_view(whole).substr(0, length), back)) << length;
  EXPECT_FALSE(taken(whole + "x", back));
}

TEST(Wire, RefusesValuesThatNobodyWrites) {
  const std::string whole = written(kExample);
  Whole back;
  std::string flag = whole, colour = whole;
  flag[4] = 2;
  colour[13] = 2;
  EXPECT_FALSE(taken(flag, back));
  EXPECT_FALSE(taken(colour, back));
}

// A claim that was believed would end in std::bad_alloc or std::length_error.
TEST(Wire, BelievesNoLength) {
  const std::string whole = written(kExample);
  for (const std::size_t at : {18U, 28U, 36U, 45U})
    for (const int bit : {8, 24, 33, 45, 60, 63}) {
      std::string damaged = whole;
      damaged[at + static_cast<std::size_t>(bit) / 8] |= static_cast<char>(1 << bit % 8);
      Whole back;
      EXPECT_FALSE(taken(damaged, back)) << at << " " << bit;
      EXPECT_LE(back.bytes.capacity() + back.parts.capacity() * sizeof(Part), 1000U);
    }
}

TEST(Wire, FixedSizesNeedNoMemory) {
  struct Flat {
    std::uint16_t a = 0;
    std::array<char, 3> b = {};
  };
  static_assert(count_members<Flat>() == 2 && count_members<Whole>() == 8);
  static_assert(!has_fixed_size<Whole>() && has_fixed_size<std::array<char, 3>>());
  static_assert(least_bytes<Whole>() == 4 + 1 + 8 + 1 + 4 + 8 + 8);
  EXPECT_EQ(bytes_of(std::uint16_t{0x0102}), (std::array<char, 2>{2, 1}));
}

}  // namespace
}  // namespace lathe::runner
