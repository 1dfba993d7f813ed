#include "compiler/ir/expr/print.h"

#include <cmath>

#include <fmt/format.h>

namespace lathe::ir {
namespace {

// How strongly an operator binds, loosest first; function calls and atoms bind tightest.
constexpr int kSigned = 11, kCall = 12;
int strength_of(BinaryOp op) {
  switch (op) {
    case BinaryOp::kOr: return 1;
    case BinaryOp::kAnd: return 2;
    case BinaryOp::kEq:
    case BinaryOp::kNe: return 3;
    case BinaryOp::kLt:
    case BinaryOp::kLe: return 4;
    case BinaryOp::kBitOr: return 5;
    case BinaryOp::kBitXor: return 6;
    case BinaryOp::kBitAnd: return 7;
    case BinaryOp::kShl:
    case BinaryOp::kShr: return 8;
    case BinaryOp::kAdd:
    case BinaryOp::kSub: return 9;
    case BinaryOp::kMul:
    case BinaryOp::kDiv:
    case BinaryOp::kMod: return 10;
    case BinaryOp::kMin:
    case BinaryOp::kMax:
    case BinaryOp::kPow: return kCall;
  }
  return kCall;
}

bool is_call(BinaryOp op) { return strength_of(op) == kCall; }

std::string number(double value) {
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  return fmt::format("{}", value);
}

class Printer {
 public:
  explicit Printer(const ExprNames& names, bool in_index = false)
      : names_(names), in_index_(in_index) {}

  // The text of `e`, in parentheses where it binds more loosely than `least`.
  std::string text(const Expr& e, int least) const {
    struct Visitor {
      const Printer& printer;
      const Expr& e;
      int least;
      std::string operator()(const Const& n) const { return number(n.value); }
      std::string operator()(const IterValue& n) const { return printer.iter(n.iter); }
      std::string operator()(const Read& n) const { return printer.read(n); }
      std::string operator()(const Lookup& n) const { return printer.lookup(n); }
      std::string operator()(const Unary& n) const { return printer.unary(n); }
      std::string operator()(const Binary& n) const { return printer.binary(n, least); }
      std::string operator()(const Select& n) const {
        return fmt::format("select({}, {}, {})", printer.text(n.condition, 0),
                           printer.text(n.then, 0), printer.text(n.otherwise, 0));
      }
      std::string operator()(const Cast& n) const { return printer.cast(e, n, least); }
      std::string operator()(const InRange& n) const { return printer.in_range(n); }
    };
    return std::visit(Visitor{*this, e, least}, e->value);
  }

 private:
  std::string iter(int i) const { return names_.iters[static_cast<std::size_t>(i)]; }

  std::string read(const Read& n) const {
    std::string out = names_.tensors[static_cast<std::size_t>(n.tensor)] + "[";
    for (std::size_t d = 0; d < n.index.size(); ++d)
      out += (d ? ", " : "") + print(n.index[d], names_.iters);
    if (n.pad) out += " else " + number(*n.pad);
    return out + "]";
  }

  std::string lookup(const Lookup& n) const {
    std::string out = names_.tensors[static_cast<std::size_t>(n.tensor)] + "[";
    const Printer inside(names_, true);
    for (std::size_t d = 0; d < n.index.size(); ++d)
      out += (d ? ", " : "") + inside.text(n.index[d], 0);
    if (n.pad) out += " else " + number(*n.pad);
    return out + "]";
  }

  // What is read or cast is an i64 in an index by itself; inside of a cast it is not.
  std::string cast(const Expr& e, const Cast& n, int least) const {
    if (in_index_ && is_implied_in_index(e)) return text(n.x, least);
    return fmt::format("{}({})", name_of(e->dtype), Printer(names_).text(n.x, 0));
  }

  std::string unary(const Unary& n) const {
    if (n.op == UnaryOp::kNeg || n.op == UnaryOp::kNot || n.op == UnaryOp::kBitNot)
      return name_of(n.op) + text(n.x, kSigned);
    return fmt::format("{}({})", name_of(n.op), text(n.x, 0));
  }

  std::string binary(const Binary& n, int least) const {
    if (is_call(n.op)) return fmt::format("{}({}, {})", name_of(n.op), text(n.a, 0), text(n.b, 0));
    const int strength = strength_of(n.op);
    std::string out =
        fmt::format("{} {} {}", text(n.a, strength), name_of(n.op), text(n.b, strength + 1));
    return strength < least ? "(" + out + ")" : out;
  }

  std::string in_range(const InRange& n) const {
    std::string out = "inrange(";
    for (std::size_t r = 0; r < n.rows.size(); ++r)
      out += fmt::format("{}{} <= {} < {}", r ? ", " : "", n.rows[r].low,
                         print(n.rows[r].index, names_.iters), n.rows[r].high);
    return out + ")";
  }

  const ExprNames& names_;
  bool in_index_;  // of a Lookup, whose integers of every type are i64
};

}  // namespace

std::string print(const Affine& affine, std::span<const std::string> iters) {
  std::string out;
  const auto join = [&](bool negative, const std::string& text) {
    if (out.empty()) out = (negative ? "-" : "") + text;
    else out += (negative ? " - " : " + ") + text;
  };
  for (const AffineTerm& term : affine.terms) {
    const std::string& name = iters[static_cast<std::size_t>(term.iter)];
    const std::int64_t size = std::abs(term.coef);
    join(term.coef < 0, size == 1 ? name : fmt::format("{}*{}", size, name));
  }
  if (affine.offset != 0 || out.empty())
    join(affine.offset < 0, std::to_string(std::abs(affine.offset)));
  return out;
}

std::string print(const Expr& e, const ExprNames& names) { return Printer(names).text(e, 0); }

bool is_implied_in_index(const Expr& e) {
  const auto* cast = std::get_if<Cast>(&e->value);
  if (cast == nullptr || e->dtype != Dtype::kI64) return false;
  const Dtype from = cast->x->dtype;
  if (from == Dtype::kI64 || from == Dtype::kBool || is_float(from)) return false;
  return std::holds_alternative<Read>(cast->x->value) ||
         std::holds_alternative<Lookup>(cast->x->value) ||
         std::holds_alternative<Cast>(cast->x->value);
}

std::string print_index(const Expr& e, const ExprNames& names) {
  return Printer(names, true).text(e, 0);
}

}  // namespace lathe::ir
