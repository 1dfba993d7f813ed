// Accesses whose indices are not affine, and what is affine in them.
#include <algorithm>

#include "base/result.h"
#include "compiler/ir/expr/expr.h"

namespace lathe::ir {
namespace {

// Coefficients beyond this stay expressions, so that none overflows.
constexpr std::int64_t kMostCoefficient = std::int64_t{1} << 40;

bool is_moderate(const Affine& a) {
  const auto fits = [](std::int64_t v) { return v <= kMostCoefficient && v >= -kMostCoefficient; };
  return fits(a.offset) &&
         std::ranges::all_of(a.terms, [&](const AffineTerm& t) { return fits(t.coef); });
}

Expr negated(const Expr& e) { return e ? unary(UnaryOp::kNeg, e) : e; }

Expr sum_of(const Expr& a, const Expr& b) {
  if (!a || !b) return a ? a : b;
  return binary(BinaryOp::kAdd, a, b);
}

// The affine form, with `value_of_iter(i)` for iterator i.
template <class ValueOfIter>
Expr value_with(const Affine& a, const ValueOfIter& value_of_iter) {
  Expr sum;
  for (const AffineTerm& t : a.terms) {
    Expr term = value_of_iter(t.iter);
    if (t.coef != 1)
      term = binary(BinaryOp::kMul, term, constant(static_cast<double>(t.coef), Dtype::kI64));
    sum = sum_of(sum, term);
  }
  if (a.offset != 0 || !sum)
    sum = sum_of(sum, constant(static_cast<double>(a.offset), Dtype::kI64));
  return sum;
}

bool is_number(const AffineAndRest& parts) { return !parts.rest && parts.affine.terms.empty(); }

bool fits_product(const Affine& a, std::int64_t factor) {
  const auto fits = [&](std::int64_t v) {
    const __int128 product = static_cast<__int128>(v) * factor;
    return product <= kMostCoefficient && product >= -kMostCoefficient;
  };
  return fits(a.offset) &&
         std::ranges::all_of(a.terms, [&](const AffineTerm& t) { return fits(t.coef); });
}

AffineAndRest parts_of(const Expr& e, const Unary& n) {
  if (n.op != UnaryOp::kNeg) return {{}, e};
  AffineAndRest x = affine_and_rest(n.x);
  return {x.affine * -1, negated(x.rest)};
}

AffineAndRest parts_of(const Expr& e, const Binary& n) {
  if (n.op != BinaryOp::kAdd && n.op != BinaryOp::kSub && n.op != BinaryOp::kMul) return {{}, e};
  AffineAndRest a = affine_and_rest(n.a), b = affine_and_rest(n.b);
  if (n.op == BinaryOp::kMul) {
    if (!is_number(a) && !is_number(b)) return {{}, e};
    const AffineAndRest& scaled = is_number(a) ? b : a;
    const std::int64_t factor = is_number(a) ? a.affine.offset : b.affine.offset;
    if (!fits_product(scaled.affine, factor)) return {{}, e};
    Expr rest = scaled.rest;
    if (rest)
      rest = binary(BinaryOp::kMul, rest, constant(static_cast<double>(factor), Dtype::kI64));
    return {scaled.affine * factor, std::move(rest)};
  }
  const bool subtracts = n.op == BinaryOp::kSub;
  Affine sum = a.affine + b.affine * (subtracts ? -1 : 1);
  if (!is_moderate(sum)) return {{}, e};
  if (subtracts && a.rest && b.rest) return {std::move(sum), binary(n.op, a.rest, b.rest)};
  return {std::move(sum), sum_of(a.rest, subtracts ? negated(b.rest) : b.rest)};
}

}  // namespace

std::vector<const Lookup*> lookups_of(const Expr& e) {
  std::vector<const Lookup*> out;
  for_each_node(e, [&](const Expr& node) {
    if (const auto* lookup = std::get_if<Lookup>(&node->value)) out.push_back(lookup);
  });
  return out;
}

bool looks_up(const Expr& e, int tensor) {
  return std::ranges::any_of(lookups_of(e), [&](const Lookup* l) { return l->tensor == tensor; });
}

std::vector<int> tensors_of(const Expr& e) {
  std::vector<int> out;
  const auto add = [&](int tensor) {
    if (std::ranges::find(out, tensor) == out.end()) out.push_back(tensor);
  };
  for_each_node(e, [&](const Expr& node) {
    if (const auto* read = std::get_if<Read>(&node->value)) add(read->tensor);
    if (const auto* lookup = std::get_if<Lookup>(&node->value)) add(lookup->tensor);
  });
  return out;
}

std::vector<Affine> rough_rows(const Lookup& lookup) {
  std::vector<Affine> rows;
  for (const Expr& index : lookup.index) {
    AffineAndRest parts = affine_and_rest(index);
    const auto add = [&](int iter) {
      if (parts.affine.coef_of(iter) == 0) parts.affine = parts.affine + Affine::iter(iter);
    };
    if (parts.rest)
      for_each_node(parts.rest, [&](const Expr& e) {
        if (const auto* value = std::get_if<IterValue>(&e->value)) add(value->iter);
        if (const auto* read = std::get_if<Read>(&e->value))
          for (const Affine& row : read->index)
            for (const AffineTerm& term : row.terms) add(term.iter);
      });
    rows.push_back(std::move(parts.affine));
  }
  return rows;
}

Expr value_of(const Affine& a) { return value_with(a, iter_value); }

AffineAndRest affine_and_rest(const Expr& e) {
  if (const auto* n = std::get_if<Const>(&e->value)) {
    const auto most = static_cast<double>(kMostCoefficient);
    if (n->value > most || n->value < -most) return {{}, e};
    return {Affine::constant(static_cast<std::int64_t>(n->value)), nullptr};
  }
  if (const auto* n = std::get_if<IterValue>(&e->value)) return {Affine::iter(n->iter), nullptr};
  if (const auto* n = std::get_if<Unary>(&e->value)) return parts_of(e, *n);
  if (const auto* n = std::get_if<Binary>(&e->value)) return parts_of(e, *n);
  return {{}, e};
}

std::optional<Expr> with_iterators(const Expr& e, const std::vector<Expr>& values) {
  bool possible = true;
  const auto value_at = [&](const Affine& row) {
    return value_with(row, [&](int iter) { return values.at(static_cast<std::size_t>(iter)); });
  };
  Expr out = rewrite_leaves(e, [&](const Expr& leaf) -> Expr {
    if (const auto* read = std::get_if<Read>(&leaf->value)) {
      std::vector<Expr> index;
      for (const Affine& row : read->index) index.push_back(value_at(row));
      return lookup(read->tensor, std::move(index), leaf->dtype, read->pad);
    }
    if (const auto* value = std::get_if<IterValue>(&leaf->value))
      return values.at(static_cast<std::size_t>(value->iter));
    const auto* range = std::get_if<InRange>(&leaf->value);
    if (range == nullptr) return leaf;
    std::vector<InRange::Row> rows = range->rows;
    for (InRange::Row& row : rows) {
      const AffineAndRest parts = affine_and_rest(value_at(row.index));
      possible = possible && !parts.rest;
      row.index = parts.affine;
    }
    return in_range(std::move(rows));
  });
  if (!possible) return std::nullopt;
  return out;
}

}  // namespace lathe::ir
