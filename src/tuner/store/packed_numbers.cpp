// Times as whole numbers: seconds times a power of ten, or of two, that makes all of a list whole.
#include <array>
#include <bit>
#include <cmath>
#include <optional>

#include "base/bytes.h"
#include "tuner/store/packed.h"

namespace lathe::store {
namespace {

// The byte behind the count: how the numbers are written. From kTens or kTwos on it is an exponent.
constexpr int kRaw = 0, kTens = 1, kTwos = 32;
constexpr int kMostTens = 15, kMostTwos = 63;
constexpr double kMostWhole = 9007199254740992;  // 2^53: beyond, not every whole number is a double

constexpr std::array<double, kMostTens + 1> kPowersOfTen = {
    1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};

double number_of(std::int64_t whole, int scale) {
  const auto value = static_cast<double>(whole);
  return scale >= kTwos ? std::ldexp(value, kTwos - scale)
                        : value / kPowersOfTen[static_cast<std::size_t>(scale - kTens)];
}

// Nothing if it does not come back from a whole number.
std::optional<std::int64_t> whole_of(double number, int scale) {
  const double scaled = scale >= kTwos
                            ? std::ldexp(number, scale - kTwos)
                            : number * kPowersOfTen[static_cast<std::size_t>(scale - kTens)];
  if (!(std::abs(scaled) < kMostWhole)) return std::nullopt;
  const std::int64_t whole = std::llround(scaled);
  const bool same =
      std::bit_cast<std::uint64_t>(number_of(whole, scale)) == std::bit_cast<std::uint64_t>(number);
  return same ? std::optional(whole) : std::nullopt;
}

bool all_whole(std::span<const double> numbers, int scale) {
  for (const double number : numbers)
    if (!whole_of(number, scale)) return false;
  return true;
}

int scale_of(std::span<const double> numbers) {
  for (int scale = kTens; scale <= kTens + kMostTens; ++scale)
    if (all_whole(numbers, scale)) return scale;
  int twos = 0;  // what the number with the lowest bit needs
  for (const double number : numbers) {
    if (!std::isfinite(number)) return kRaw;
    int exponent = 0;
    const auto bits = std::llround(std::ldexp(std::abs(std::frexp(number, &exponent)), 53));
    if (bits != 0)
      twos = std::max(twos, 53 - exponent - std::countr_zero(static_cast<std::uint64_t>(bits)));
  }
  return twos <= kMostTwos && all_whole(numbers, kTwos + twos) ? kTwos + twos : kRaw;
}

}  // namespace

void append_numbers(std::string& bytes, std::span<const double> numbers) {
  append_whole(bytes, numbers.size());
  if (numbers.empty()) return;
  const int scale = scale_of(numbers);
  bytes += static_cast<char>(scale);
  std::uint64_t before = 0;
  for (const double number : numbers) {
    if (scale == kRaw) {
      append_value(bytes, number);
      continue;
    }
    const auto whole = static_cast<std::uint64_t>(*whole_of(number, scale));
    // Differences go up and down: their sign becomes the lowest bit.
    const auto step = static_cast<std::int64_t>(whole - before);
    append_whole(bytes,
                 (static_cast<std::uint64_t>(step) << 1) ^ static_cast<std::uint64_t>(step >> 63));
    before = whole;
  }
}

bool take_numbers(std::string_view& bytes, std::vector<double>& numbers) {
  std::uint64_t count = 0;
  if (!take_whole(bytes, count) || count > bytes.size()) return false;
  numbers.resize(count);
  if (count == 0) return true;
  const int scale = static_cast<unsigned char>(bytes.front());
  bytes.remove_prefix(1);
  if (scale > kTwos + kMostTwos || (scale < kTwos && scale > kTens + kMostTens)) return false;
  std::uint64_t whole = 0;
  for (double& number : numbers) {
    std::uint64_t step = 0;
    if (scale == kRaw) {
      if (!take_value(bytes, number)) return false;
      continue;
    }
    if (!take_whole(bytes, step)) return false;
    whole += (step >> 1) ^ (0 - (step & 1));
    number = number_of(static_cast<std::int64_t>(whole), scale);
  }
  return true;
}

}  // namespace lathe::store
