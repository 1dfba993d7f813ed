#include "compiler/schedule/parts.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace lathe::schedule {
namespace {

using ir::Affine;
using ir::Expr;

// Calls visit(row) for each affine function of the iterators that e depends on.
template <class Visit>
void for_each_row(const Expr& e, const Visit& visit) {
  ir::for_each_node(e, [&](const Expr& node) {
    if (const auto* value = std::get_if<ir::IterValue>(&node->value))
      visit(Affine::iter(value->iter));
    if (const auto* read = std::get_if<ir::Read>(&node->value))
      for (const Affine& row : read->index) visit(row);
    if (const auto* range = std::get_if<ir::InRange>(&node->value))
      for (const ir::InRange::Row& row : range->rows) visit(row.index);
  });
}

ValueAxis axis_along(const ir::Nest& nest, const ir::Block& block, const Affine& along) {
  ValueAxis axis{along};
  std::int64_t high = 0;
  for (const ir::AffineTerm& term : along.terms) {
    const ir::SizeId extent = block.iters[static_cast<std::size_t>(term.iter)].extent;
    (term.coef < 0 ? axis.low : high) += term.coef * (nest.sizes.constant_value(extent) - 1);
  }
  axis.size = high - axis.low + 1;
  return axis;
}

// The row without its offset and the common divisor of its coefficients. The first is positive.
Affine linear_part(Affine row) {
  row.offset = 0;
  std::int64_t divisor = 0;
  for (const ir::AffineTerm& term : row.terms) divisor = std::gcd(divisor, term.coef);
  if (row.terms.front().coef < 0) divisor = -divisor;
  for (ir::AffineTerm& term : row.terms) term.coef /= divisor;
  return row;
}

bool is_number_one(const Expr& e) {
  const auto* value = std::get_if<ir::Const>(&e->value);
  return value != nullptr && value->value == 1;
}

void append_factors(const Expr& e, bool absolute, std::vector<Expr>& out);

// 1 / x for each part of the denominator.
void append_reciprocals(const Expr& denominator, bool absolute, std::vector<Expr>& out) {
  std::vector<Expr> factors, parts;
  append_factors(denominator, absolute, factors);
  for (const Expr& factor : factors) {
    const auto alike = std::ranges::find_if(
        parts, [&](const Expr& part) { return iters_of(part) == iters_of(factor); });
    if (alike == parts.end()) parts.push_back(factor);
    else *alike = product_of({*alike, factor});
  }
  for (const Expr& part : parts)
    out.push_back(ir::binary(ir::BinaryOp::kDiv, ir::constant(1, part->dtype), part));
}

void append_factors(const Expr& e, bool absolute, std::vector<Expr>& out) {
  const auto* product = std::get_if<ir::Binary>(&e->value);
  if (product != nullptr && product->op == ir::BinaryOp::kMul) {
    append_factors(product->a, absolute, out);
    append_factors(product->b, absolute, out);
    return;
  }
  if (product != nullptr && product->op == ir::BinaryOp::kDiv && is_float(e->dtype)) {
    if (!is_number_one(product->a)) append_factors(product->a, absolute, out);
    return append_reciprocals(product->b, absolute, out);
  }
  const auto* unary = std::get_if<ir::Unary>(&e->value);
  if (unary != nullptr && unary->op == ir::UnaryOp::kAbs && is_float(e->dtype))
    return append_factors(unary->x, true, out);
  out.push_back(absolute ? ir::unary(ir::UnaryOp::kAbs, e) : e);
}

void append_terms(const Expr& e, bool subtracted, std::vector<Term>& out) {
  const auto* b = std::get_if<ir::Binary>(&e->value);
  if (b != nullptr && (b->op == ir::BinaryOp::kAdd || b->op == ir::BinaryOp::kSub)) {
    append_terms(b->a, subtracted, out);
    append_terms(b->b, subtracted != (b->op == ir::BinaryOp::kSub), out);
    return;
  }
  out.push_back({e, subtracted});
}

}  // namespace

std::vector<Expr> subexpressions(const Expr& e) {
  std::vector<Expr> out;
  ir::for_each_node(e, [&](const Expr& node) { out.push_back(node); });
  return out;
}

Expr replaced(const Expr& e, const Expr& what, const Expr& by) {
  struct Visitor {
    const Expr& e;
    const Expr& what;
    const Expr& by;
    Expr in(const Expr& inner) const { return replaced(inner, what, by); }
    Expr operator()(const ir::Const&) const { return e; }
    Expr operator()(const ir::IterValue&) const { return e; }
    Expr operator()(const ir::Read&) const { return e; }
    Expr operator()(const ir::InRange&) const { return e; }
    Expr operator()(const ir::Lookup& n) const {
      std::vector<Expr> index;
      for (const Expr& row : n.index) index.push_back(in(row));
      return ir::lookup(n.tensor, std::move(index), e->dtype, n.pad);
    }
    Expr operator()(const ir::Unary& n) const { return ir::unary(n.op, in(n.x)); }
    Expr operator()(const ir::Binary& n) const { return ir::binary(n.op, in(n.a), in(n.b)); }
    Expr operator()(const ir::Select& n) const {
      return ir::select(in(n.condition), in(n.then), in(n.otherwise));
    }
    Expr operator()(const ir::Cast& n) const { return ir::cast(in(n.x), e->dtype); }
  };
  if (ir::equal(e, what)) return by;
  return std::visit(Visitor{e, what, by}, e->value);
}

std::vector<Expr> factors_of(const Expr& e) {
  std::vector<Expr> out;
  append_factors(e, false, out);
  return out;
}

std::vector<Term> terms_of(const Expr& e) {
  std::vector<Term> out;
  append_terms(e, false, out);
  return out;
}

Expr sum_of(const std::vector<Term>& terms) {
  Expr sum;
  for (const Term& term : terms) {
    if (!sum) sum = term.subtracted ? ir::unary(ir::UnaryOp::kNeg, term.value) : term.value;
    else
      sum = ir::binary(term.subtracted ? ir::BinaryOp::kSub : ir::BinaryOp::kAdd, sum, term.value);
  }
  return sum;
}

Collected collected_by(const std::vector<Term>& terms, const Expr& factor) {
  Collected out;
  std::vector<Term> rests;
  std::size_t place = 0;  // of the first term that has it
  for (const Term& term : terms) {
    std::vector<Expr> factors = factors_of(term.value);
    const auto found =
        std::ranges::find_if(factors, [&](const Expr& f) { return ir::equal(f, factor); });
    if (found == factors.end()) {
      out.all.push_back(term);
      continue;
    }
    factors.erase(found);
    if (rests.empty()) place = out.all.size();
    rests.push_back(
        {factors.empty() ? ir::constant(1, factor->dtype) : product_of(factors), term.subtracted});
  }
  out.terms = rests.size();
  if (rests.empty()) return out;
  // The sign of the first is that of all.
  const bool subtracted = rests.front().subtracted;
  for (Term& rest : rests) rest.subtracted = rest.subtracted != subtracted;
  out.rest = sum_of(rests);
  out.all.insert(out.all.begin() + static_cast<std::ptrdiff_t>(place),
                 {product_of({out.rest, factor}), subtracted});
  return out;
}

Expr product_of(const std::vector<Expr>& factors) {
  Expr product = factors.front();
  for (std::size_t i = 1; i < factors.size(); ++i) {
    const auto* quotient = std::get_if<ir::Binary>(&factors[i]->value);
    if (quotient != nullptr && quotient->op == ir::BinaryOp::kDiv && is_number_one(quotient->a) &&
        is_float(quotient->a->dtype))
      product = ir::binary(ir::BinaryOp::kDiv, product, quotient->b);
    else product = ir::binary(ir::BinaryOp::kMul, product, factors[i]);
  }
  return product;
}

std::vector<int> iters_in_order(const Expr& e) {
  std::vector<int> iters;
  for_each_row(e, [&](const Affine& row) {
    for (const ir::AffineTerm& term : row.terms)
      if (std::ranges::find(iters, term.iter) == iters.end()) iters.push_back(term.iter);
  });
  return iters;
}

std::set<int> iters_of(const Expr& e) {
  const std::vector<int> iters = iters_in_order(e);
  return {iters.begin(), iters.end()};
}

std::vector<ValueAxis> value_axes(const ir::Nest& nest, const ir::Block& block, const Expr& e,
                                  const std::set<int>& reduced) {
  std::vector<ValueAxis> by_iter, by_row;
  const auto add = [&](const Affine& row) {
    const Affine along = linear_part(row);
    if (std::ranges::find(by_row, along, &ValueAxis::along) == by_row.end())
      by_row.push_back(axis_along(nest, block, along));
  };
  const auto is_reduced = [&](const ir::AffineTerm& term) { return reduced.contains(term.iter); };
  for (const int iter : iters_in_order(e))
    if (!reduced.contains(iter)) by_iter.push_back(axis_along(nest, block, Affine::iter(iter)));
  for_each_row(e, [&](const Affine& row) {
    if (row.terms.empty()) return;
    if (std::ranges::none_of(row.terms, is_reduced)) return add(row);
    for (const ir::AffineTerm& term : row.terms)
      if (!is_reduced(term)) add(Affine::iter(term.iter));
  });
  return elements_of(by_row) < elements_of(by_iter) ? by_row : by_iter;
}

double elements_of(const std::vector<ValueAxis>& axes) {
  double elements = 1;
  for (const ValueAxis& axis : axes) elements *= static_cast<double>(axis.size);
  return elements;
}

namespace {

// What stands for a block's iterators once others count along axes.
class AlongAxes {
 public:
  AlongAxes(const std::vector<ValueAxis>& axes, const std::map<int, int>& others)
      : axes_(axes), others_(others) {}

  Expr leaf(const Expr& leaf) const {
    if (const auto* value = std::get_if<ir::IterValue>(&leaf->value))
      return ir::iter_value(number_of(value->iter));
    if (const auto* range = std::get_if<ir::InRange>(&leaf->value)) {
      std::vector<ir::InRange::Row> rows = range->rows;
      for (ir::InRange::Row& row : rows) row.index = at(row.index);
      return ir::in_range(std::move(rows));
    }
    if (std::holds_alternative<ir::Lookup>(leaf->value)) return leaf;
    const auto& read = std::get<ir::Read>(leaf->value);
    std::vector<Affine> index;
    for (const Affine& row : read.index) index.push_back(at(row));
    return ir::read(read.tensor, std::move(index), leaf->dtype, read.pad);
  }

 private:
  Affine at(const Affine& row) const {
    if (row.terms.empty()) return row;
    const auto [number, factor] = axis_of(row);
    if (number >= 0)
      return Affine::iter(number, factor) +
             Affine::constant(factor * axes_[static_cast<std::size_t>(number)].low + row.offset);
    Affine out = Affine::constant(row.offset);
    for (const ir::AffineTerm& term : row.terms)
      out = out + Affine::iter(number_of(term.iter), term.coef);
    return out;
  }
  int number_of(int iter) const {
    const auto other = others_.find(iter);
    return other != others_.end() ? other->second : axis_of(Affine::iter(iter)).first;
  }
  // The axis that the row is a multiple of, and the factor; -1: none.
  std::pair<int, std::int64_t> axis_of(const Affine& row) const {
    for (std::size_t a = 0; a < axes_.size(); ++a) {
      const Affine& along = axes_[a].along;
      const std::int64_t factor = row.coef_of(along.terms.front().iter) / along.terms.front().coef;
      if (factor != 0 && (along * factor).terms == row.terms) return {static_cast<int>(a), factor};
    }
    return {-1, 0};
  }

  const std::vector<ValueAxis>& axes_;
  const std::map<int, int>& others_;
};

}  // namespace

Expr along_axes(const Expr& e, const std::vector<ValueAxis>& axes,
                const std::map<int, int>& others) {
  const AlongAxes along(axes, others);
  return ir::rewrite_leaves(e, [&](const Expr& leaf) { return along.leaf(leaf); });
}

std::vector<Affine> index_along(const std::vector<ValueAxis>& axes) {
  std::vector<Affine> index;
  for (const ValueAxis& axis : axes) index.push_back(axis.along + Affine::constant(-axis.low));
  return index;
}

}  // namespace lathe::schedule
