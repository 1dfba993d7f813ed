// Exact fractions, for the matrices of Cook-Toom algorithms: these stay far below 2^63, so that a
// library of big numbers would be one more thing to install for four operations.
#pragma once

#include <cstdint>

namespace lathe::cook_toom {

class Rational {
 public:
  Rational(std::int64_t value = 0) : top_(value) {}  // NOLINT: a whole number is one
  // Throws LATHE_CHECK's exception if `bottom` is 0, as every operation does on overflow.
  Rational(std::int64_t top, std::int64_t bottom);

  std::int64_t top() const { return top_; }
  std::int64_t bottom() const { return bottom_; }  // > 0; the fraction is in lowest terms
  double value() const { return static_cast<double>(top_) / static_cast<double>(bottom_); }

  friend Rational operator+(const Rational& a, const Rational& b);
  friend Rational operator-(const Rational& a, const Rational& b);
  friend Rational operator*(const Rational& a, const Rational& b);
  friend Rational operator/(const Rational& a, const Rational& b);
  friend bool operator==(const Rational&, const Rational&) = default;

 private:
  std::int64_t top_ = 0, bottom_ = 1;
};

}  // namespace lathe::cook_toom
