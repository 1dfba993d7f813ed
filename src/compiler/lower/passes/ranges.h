// What is known about index expressions: ranges of variables, and linear facts from the conditions
// around a statement.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/ir/flat/flat.h"

namespace lathe::lower {

inline std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  return a / b - ((a % b != 0) && ((a < 0) != (b < 0)));
}

// Both ends are included. Ends are cut at +-kFar, which stands for "any".
struct Interval {
  static constexpr std::int64_t kFar = std::int64_t{1} << 62;
  std::int64_t low = -kFar, high = kFar;

  bool is_inside(std::int64_t from, std::int64_t to) const { return low >= from && high <= to; }
  friend bool operator==(const Interval&, const Interval&) = default;
};
Interval operator+(Interval a, Interval b);
Interval operator*(Interval a, std::int64_t factor);
Interval intersect(Interval a, Interval b);

// constant + sum of coef * atom. A vector adds something inside `spread` that differs from lane to
// lane. Terms are sorted by the atoms' hashes, and each atom comes once.
struct Linear {
  struct Term {
    flat::Expr atom;
    std::int64_t coef;
  };
  std::vector<Term> terms;
  std::int64_t constant = 0;
  Interval spread{0, 0};
};

class Ranges {
 public:
  explicit Ranges(std::size_t vars) : range_(vars), meaning_(vars) {}

  void set_loop(int var, Interval range) { range_[static_cast<std::size_t>(var)] = range; }
  void set_let(int var, const flat::Expr& value);
  // From here on the condition, or its opposite, holds, until restore() puts an earlier state back.
  void assume(const flat::Expr& condition, bool holds);
  using State = std::pair<std::vector<Interval>, std::size_t>;
  State state() const { return {range_, facts_.size()}; }
  void restore(State state);

  Linear linear(const flat::Expr& e) const;
  Interval of(const Linear& linear) const;
  Interval of(const flat::Expr& e) const { return of(linear(e)); }
  // Decides a comparison of i64 operands, for all lanes alike.
  std::optional<bool> decide(flat::BinaryOp comparison, const flat::Expr& a,
                             const flat::Expr& b) const;

 private:
  void add(Linear& sum, const flat::Expr& e, std::int64_t factor) const;
  // The difference as if both were numbers without an end.
  Linear minus(const Linear& a, const Linear& b) const;
  bool is_exact(const Linear& sum) const;
  void add_atom(Linear& sum, const flat::Expr& e, std::int64_t factor) const;
  Interval of_atom(const flat::Expr& e) const;
  void assume_at_most(Linear sum, std::int64_t bound);

  struct Fact {
    std::vector<Linear::Term> terms;
    Interval range;  // of their sum
  };
  std::vector<Interval> range_;      // by variable
  std::vector<flat::Expr> meaning_;  // by variable: the value of its let
  std::vector<Fact> facts_;
};

}  // namespace lathe::lower
