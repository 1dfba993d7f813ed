#include "compiler/ir/expr/expr.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/result.h"

namespace lathe::ir {
namespace {

Expr make(decltype(Node::value) value, Dtype dtype) {
  return std::make_shared<const Node>(Node{std::move(value), dtype});
}

Affine normalised(Affine a) {
  std::ranges::sort(a.terms, {}, &AffineTerm::iter);
  std::vector<AffineTerm> merged;
  for (const AffineTerm& term : a.terms) {
    if (!merged.empty() && merged.back().iter == term.iter) merged.back().coef += term.coef;
    else merged.push_back(term);
  }
  std::erase_if(merged, [](const AffineTerm& t) { return t.coef == 0; });
  a.terms = std::move(merged);
  return a;
}

bool is_predicate(BinaryOp op) { return op >= BinaryOp::kLt; }

}  // namespace

Affine Affine::iter(int iter, std::int64_t coef) { return normalised({{{iter, coef}}, 0}); }

std::int64_t Affine::coef_of(int iter) const {
  for (const AffineTerm& term : terms)
    if (term.iter == iter) return term.coef;
  return 0;
}

Affine operator+(const Affine& a, const Affine& b) {
  Affine sum = a;
  sum.terms.insert(sum.terms.end(), b.terms.begin(), b.terms.end());
  sum.offset += b.offset;
  return normalised(std::move(sum));
}

Affine operator*(const Affine& a, std::int64_t factor) {
  Affine product = a;
  for (AffineTerm& term : product.terms) term.coef *= factor;
  product.offset *= factor;
  return normalised(std::move(product));
}

Affine substitute(const Affine& a, const std::vector<Affine>& substitution) {
  Affine out = Affine::constant(a.offset);
  for (const AffineTerm& term : a.terms)
    out = out + substitution.at(static_cast<std::size_t>(term.iter)) * term.coef;
  return out;
}

Expr constant(double value, Dtype dtype) { return make(Const{value}, dtype); }
Expr iter_value(int iter) { return make(IterValue{iter}, Dtype::kI64); }
Expr read(int tensor, std::vector<Affine> index, Dtype dtype, std::optional<double> pad) {
  return make(Read{tensor, std::move(index), pad}, dtype);
}
Expr lookup(int tensor, std::vector<Expr> index, Dtype dtype, std::optional<double> pad) {
  std::vector<Affine> rows;
  for (const Expr& row : index) {
    LATHE_CHECK(row->dtype == Dtype::kI64, "an index is {}", lathe::name_of(row->dtype));
    const AffineAndRest parts = affine_and_rest(row);
    if (!parts.rest) rows.push_back(parts.affine);
  }
  if (rows.size() == index.size()) return read(tensor, std::move(rows), dtype, pad);
  return make(Lookup{tensor, std::move(index), pad}, dtype);
}
Expr unary(UnaryOp op, Expr x) {
  const Dtype dtype = yields_bool(op) ? Dtype::kBool : x->dtype;
  return make(Unary{op, std::move(x)}, dtype);
}
Expr binary(BinaryOp op, Expr a, Expr b) {
  LATHE_CHECK(a->dtype == b->dtype, "operands of {} differ in type", name_of(op));
  const Dtype dtype = is_predicate(op) ? Dtype::kBool : a->dtype;
  return make(Binary{op, std::move(a), std::move(b)}, dtype);
}
Expr select(Expr condition, Expr then, Expr otherwise) {
  LATHE_CHECK(condition->dtype == Dtype::kBool && then->dtype == otherwise->dtype);
  const Dtype dtype = then->dtype;
  return make(Select{std::move(condition), std::move(then), std::move(otherwise)}, dtype);
}
Expr cast(Expr x, Dtype dtype) { return x->dtype == dtype ? x : make(Cast{std::move(x)}, dtype); }
Expr in_range(std::vector<InRange::Row> rows) {
  return make(InRange{std::move(rows)}, Dtype::kBool);
}

bool yields_bool(UnaryOp op) {
  return op == UnaryOp::kNot || op == UnaryOp::kIsNan || op == UnaryOp::kIsInf;
}

const char* name_of(UnaryOp op) {
  constexpr const char* kNames[] = {
      "-", "abs", "exp", "log", "sqrt",  "rsqrt", "tanh",  "erf",  "sigmoid", "floor", "ceil",
      "!", "sin", "cos", "tan", "round", "log1p", "expm1", "sign", "~",       "isnan", "isinf"};
  return kNames[static_cast<int>(op)];
}
const char* name_of(BinaryOp op) {
  constexpr const char* kNames[] = {"+", "-",  "*",  "/", "%",  "min", "max", "pow", "&", "|",
                                    "^", "<<", ">>", "<", "<=", "==",  "!=",  "&&",  "||"};
  return kNames[static_cast<int>(op)];
}
double trigonometric_limit(Dtype dtype) { return dtype == Dtype::kF64 ? 0x1p26 : 0x1p20; }

const char* name_of(ReduceOp op) {
  constexpr const char* kNames[] = {"none", "sum", "max", "min", "prod"};
  return kNames[static_cast<int>(op)];
}

double identity_of(ReduceOp op, Dtype dtype) {
  const bool real = is_float(dtype);
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const auto lowest = [&] {
    switch (dtype) {
      case Dtype::kI8: return -128.0;
      case Dtype::kI16: return -0x1p15;
      case Dtype::kI32: return -0x1p31;
      case Dtype::kI64: return -0x1p63;
      default: return 0.0;
    }
  };
  const auto highest = [&] {
    switch (dtype) {
      case Dtype::kI8: return 127.0;
      case Dtype::kU8: return 255.0;
      case Dtype::kI16: return 0x1p15 - 1;
      case Dtype::kU16: return 0x1p16 - 1;
      case Dtype::kU32: return 0x1p32 - 1;
      case Dtype::kI32: return 0x1p31 - 1;
      case Dtype::kI64: return 0x1p63;
      default: return 1.0;
    }
  };
  switch (op) {
    case ReduceOp::kNone:
    case ReduceOp::kSum: return 0;
    case ReduceOp::kProd: return 1;
    case ReduceOp::kMax: return real ? -kInf : lowest();
    case ReduceOp::kMin: return real ? kInf : highest();
  }
  return 0;
}

std::vector<const Read*> reads_of(const Expr& e) {
  std::vector<const Read*> out;
  for_each_node(e, [&](const Expr& node) {
    if (const auto* read = std::get_if<Read>(&node->value)) out.push_back(read);
  });
  return out;
}

bool equal(const Expr& a, const Expr& b) {
  if (a == b) return true;
  if (a->dtype != b->dtype || a->value.index() != b->value.index()) return false;
  struct Visitor {
    const Node& other;
    // 0 and -0 are two numbers.
    static bool same(double x, double y) {
      return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y);
    }
    bool operator()(const Const& n) const {
      return same(n.value, std::get<Const>(other.value).value);
    }
    bool operator()(const IterValue& n) const {
      return n.iter == std::get<IterValue>(other.value).iter;
    }
    bool operator()(const Read& n) const {
      const auto& o = std::get<Read>(other.value);
      return n.tensor == o.tensor && n.index == o.index && n.pad.has_value() == o.pad.has_value() &&
             (!n.pad || same(*n.pad, *o.pad));
    }
    bool operator()(const Lookup& n) const {
      const auto& o = std::get<Lookup>(other.value);
      return n.tensor == o.tensor && n.pad.has_value() == o.pad.has_value() &&
             (!n.pad || same(*n.pad, *o.pad)) &&
             std::ranges::equal(n.index, o.index,
                                [](const Expr& x, const Expr& y) { return ir::equal(x, y); });
    }
    bool operator()(const Unary& n) const {
      const auto& o = std::get<Unary>(other.value);
      return n.op == o.op && equal(n.x, o.x);
    }
    bool operator()(const Binary& n) const {
      const auto& o = std::get<Binary>(other.value);
      return n.op == o.op && equal(n.a, o.a) && equal(n.b, o.b);
    }
    bool operator()(const Select& n) const {
      const auto& o = std::get<Select>(other.value);
      return equal(n.condition, o.condition) && equal(n.then, o.then) &&
             equal(n.otherwise, o.otherwise);
    }
    bool operator()(const Cast& n) const { return equal(n.x, std::get<Cast>(other.value).x); }
    bool operator()(const InRange& n) const {
      const auto& o = std::get<InRange>(other.value);
      return std::ranges::equal(n.rows, o.rows, [](const auto& x, const auto& y) {
        return x.index == y.index && x.low == y.low && x.high == y.high;
      });
    }
  };
  return std::visit(Visitor{*b}, a->value);
}

}  // namespace lathe::ir
