#include "compiler/cook_toom/rational.h"

#include <numeric>

#include "base/result.h"

namespace lathe::cook_toom {
namespace {

std::int64_t times(std::int64_t a, std::int64_t b) {
  std::int64_t product;
  LATHE_CHECK(!__builtin_mul_overflow(a, b, &product), "{} * {} is too large", a, b);
  return product;
}

std::int64_t plus(std::int64_t a, std::int64_t b) {
  std::int64_t sum;
  LATHE_CHECK(!__builtin_add_overflow(a, b, &sum), "{} + {} is too large", a, b);
  return sum;
}

}  // namespace

Rational::Rational(std::int64_t top, std::int64_t bottom) {
  LATHE_CHECK(bottom != 0, "{} / 0 is no number", top);
  const std::int64_t common = std::gcd(top, bottom) * (bottom < 0 ? -1 : 1);
  top_ = top / common;
  bottom_ = bottom / common;
}

Rational operator+(const Rational& a, const Rational& b) {
  return {plus(times(a.top_, b.bottom_), times(b.top_, a.bottom_)), times(a.bottom_, b.bottom_)};
}
Rational operator-(const Rational& a, const Rational& b) { return a + b * Rational(-1); }
Rational operator*(const Rational& a, const Rational& b) {
  const Rational across(a.top_, b.bottom_), other(b.top_, a.bottom_);  // keeps numbers small
  return {times(across.top_, other.top_), times(across.bottom_, other.bottom_)};
}
Rational operator/(const Rational& a, const Rational& b) { return a * Rational(b.bottom_, b.top_); }

}  // namespace lathe::cook_toom
