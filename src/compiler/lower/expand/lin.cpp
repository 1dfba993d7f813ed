#include "compiler/lower/expand/lin.h"

#include <algorithm>

namespace lathe::lower {

void Lin::add(std::int64_t factor, int var) {
  if (factor == 0) return;
  const auto at = std::ranges::lower_bound(terms, var, {}, &Term::var);
  if (at == terms.end() || at->var != var) {
    terms.insert(at, {var, factor});
  } else if ((at->coef += factor) == 0) {
    terms.erase(at);
  }
}

void Lin::add(std::int64_t factor, const Lin& other) {
  if (factor == 0) return;
  c += factor * other.c;
  lane += factor * other.lane;
  for (const Term& term : other.terms) add(factor * term.coef, term.var);
}

Range range_of(const Lin& lin, const std::vector<Range>& ranges, int lanes) {
  Range out{lin.c, lin.c};
  const auto widen = [&](std::int64_t coef, std::int64_t min, std::int64_t max) {
    out.min += std::min(coef * min, coef * max);
    out.max += std::max(coef * min, coef * max);
  };
  for (const auto& [var, coef] : lin.terms) widen(coef, ranges[var].min, ranges[var].max);
  if (lin.lane != 0) widen(lin.lane, 0, lanes - 1);
  return out;
}

flat::Expr scalar_expr(const Lin& lin) {
  flat::Expr sum;
  for (const auto& [var, coef] : lin.terms) {
    flat::Expr term = flat::var(var);
    if (coef != 1) term = flat::binary(flat::BinaryOp::kMul, term, flat::int_imm(coef));
    sum = sum ? flat::binary(flat::BinaryOp::kAdd, sum, term) : term;
  }
  if (!sum) return flat::int_imm(lin.c);
  return lin.c == 0 ? sum : flat::binary(flat::BinaryOp::kAdd, sum, flat::int_imm(lin.c));
}

flat::Expr vector_expr(const Lin& lin, int lanes) {
  if (lin.lane == 0 || lanes == 1) return scalar_expr(lin);
  return flat::ramp(scalar_expr(lin), lin.lane, lanes);
}

}  // namespace lathe::lower
