#include "compiler/te/expr_syntax.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/known_names.h"
#include "compiler/te/limits.h"

namespace lathe::te {
namespace {

using ir::BinaryOp;
using ir::ReduceOp;
using ir::UnaryOp;

// How deep the passes over syntax and this parser recurse. Both leave room for the brackets and
// casts that printing an expression of the greatest depth (limits.h) adds.
constexpr int kMaxHeight = kMaxDepth + 150;
constexpr int kMaxNesting = 2 * kMaxDepth + 100;

struct UnaryRow {
  std::string_view name;
  UnaryOp op;
};
constexpr std::array<UnaryRow, 19> kUnaries = {{{"abs", UnaryOp::kAbs},
                                                {"exp", UnaryOp::kExp},
                                                {"log", UnaryOp::kLog},
                                                {"sqrt", UnaryOp::kSqrt},
                                                {"rsqrt", UnaryOp::kRsqrt},
                                                {"tanh", UnaryOp::kTanh},
                                                {"erf", UnaryOp::kErf},
                                                {"sigmoid", UnaryOp::kSigmoid},
                                                {"floor", UnaryOp::kFloor},
                                                {"ceil", UnaryOp::kCeil},
                                                {"round", UnaryOp::kRound},
                                                {"sign", UnaryOp::kSign},
                                                {"sin", UnaryOp::kSin},
                                                {"cos", UnaryOp::kCos},
                                                {"tan", UnaryOp::kTan},
                                                {"log1p", UnaryOp::kLog1p},
                                                {"expm1", UnaryOp::kExpm1},
                                                {"isnan", UnaryOp::kIsNan},
                                                {"isinf", UnaryOp::kIsInf}}};
struct BinaryRow {
  std::string_view name;
  BinaryOp op;
};
constexpr std::array<BinaryRow, 3> kFunctions = {
    {{"min", BinaryOp::kMin}, {"max", BinaryOp::kMax}, {"pow", BinaryOp::kPow}}};
struct ReduceRow {
  std::string_view name;
  ReduceOp op;
};
constexpr std::array<ReduceRow, 4> kReductions = {{{"sum", ReduceOp::kSum},
                                                   {"max", ReduceOp::kMax},
                                                   {"min", ReduceOp::kMin},
                                                   {"prod", ReduceOp::kProd}}};
constexpr std::string_view kFunctionList =
    "exp, expm1, log, log1p, sqrt, rsqrt, sin, cos, tan, tanh, erf, sigmoid, abs, sign, floor, "
    "ceil, round, isnan, isinf, min, max, pow, relu, select, sum, prod";

// Binary operators by level, loosest first; `swap` turns > and >= into < and <=.
struct SymbolRow {
  std::string_view symbol;
  int level;
  BinaryOp op;
  bool swap;
};
constexpr int kComparison = 2, kTermLevel = 8;
constexpr std::array<SymbolRow, 18> kSymbols = {{{"||", 0, BinaryOp::kOr, false},
                                                 {"&&", 1, BinaryOp::kAnd, false},
                                                 {"<", kComparison, BinaryOp::kLt, false},
                                                 {"<=", kComparison, BinaryOp::kLe, false},
                                                 {">", kComparison, BinaryOp::kLt, true},
                                                 {">=", kComparison, BinaryOp::kLe, true},
                                                 {"==", kComparison, BinaryOp::kEq, false},
                                                 {"!=", kComparison, BinaryOp::kNe, false},
                                                 {"|", 3, BinaryOp::kBitOr, false},
                                                 {"^", 4, BinaryOp::kBitXor, false},
                                                 {"&", 5, BinaryOp::kBitAnd, false},
                                                 {"<<", 6, BinaryOp::kShl, false},
                                                 {">>", 6, BinaryOp::kShr, false},
                                                 {"+", 7, BinaryOp::kAdd, false},
                                                 {"-", 7, BinaryOp::kSub, false},
                                                 {"*", kTermLevel, BinaryOp::kMul, false},
                                                 {"/", kTermLevel, BinaryOp::kDiv, false},
                                                 {"%", kTermLevel, BinaryOp::kMod, false}}};

template <class Table>
auto find_row(const Table& table, std::string_view name) -> const typename Table::value_type* {
  for (const auto& row : table)
    if (row.name == name) return &row;
  return nullptr;
}

class ExprParser {
 public:
  explicit ExprParser(TokenReader& in) : in_(in) {}

  // Parses operators of level `lowest` and tighter ones, by precedence climbing.
  Result<Ast> level(int lowest) {
    Ast left = LATHE_TRY(unary());
    for (bool compared = false;;) {
      const SymbolRow* row = symbol_here();
      if (row == nullptr || row->level < lowest) return left;
      const Token token = in_.next();
      if (row->level == kComparison && compared)
        return in_.error(token.place, "comparisons do not chain; write (a {0} b) && (b {0} c)",
                         row->symbol);
      compared = row->level == kComparison;
      Ast right = LATHE_TRY(level(row->level + 1));
      if (row->swap) std::swap(left, right);
      const int height = std::max(left->height, right->height);
      left = LATHE_TRY(
          node(BinarySyntax{row->op, std::move(left), std::move(right)}, token.place, height));
    }
  }

 private:
  // Counts the depth of recursion for as long as it lives.
  struct Nesting {
    explicit Nesting(int& n) : count(n) { ++count; }
    ~Nesting() { --count; }
    int& count;
  };

  const SymbolRow* symbol_here() const {
    if (in_.peek().kind != Token::Kind::kSymbol) return nullptr;
    for (const SymbolRow& row : kSymbols)
      if (row.symbol == in_.peek().text) return &row;
    return nullptr;
  }

  template <class Value>
  Result<Ast> node(Value value, Place place, int height_below) const {
    if (height_below >= kMaxHeight)
      return in_.error(place,
                       "the expression is nested deeper than {} operations; split it into stages",
                       kMaxHeight);
    auto made = std::make_unique<ExprSyntax>();
    made->value = std::move(value);
    made->place = place;
    made->height = height_below + 1;
    return made;
  }

  Result<Ast> unary() {
    const Nesting nesting(nesting_);
    if (nesting_ > kMaxNesting)
      return in_.error(in_.peek().place,
                       "brackets are nested deeper than {}; split the expression into stages",
                       kMaxNesting);
    const Token token = in_.peek();
    if (in_.accept("-")) {
      Ast x = LATHE_TRY(unary());
      // -1 is a number; -(1) is a negation.
      if (auto* number = std::get_if<NumberSyntax>(&x->value); number && bare_number_) {
        number->value = -number->value;
        x->place = token.place;
        bare_number_ = false;
        return x;
      }
      const int height = x->height;
      return node(UnarySyntax{UnaryOp::kNeg, std::move(x)}, token.place, height);
    }
    if (in_.peek().is("!") || in_.peek().is("~")) {
      const UnaryOp op = in_.next().is("!") ? UnaryOp::kNot : UnaryOp::kBitNot;
      Ast x = LATHE_TRY(unary());
      const int height = x->height;
      bare_number_ = false;
      return node(UnarySyntax{op, std::move(x)}, token.place, height);
    }
    return primary();
  }

  Result<Ast> primary() {
    const Token token = in_.peek();
    if (in_.accept("(")) {
      Ast inside = LATHE_TRY(level(0));
      LATHE_TRY_STATUS(in_.expect(")"));
      bare_number_ = false;
      return inside;
    }
    bare_number_ = true;
    if (token.kind == Token::Kind::kNumber)
      return node(NumberSyntax{LATHE_TRY(in_.number())}, token.place, 0);
    if (token.kind != Token::Kind::kName || token.text == "else")
      return in_.unexpected("a tensor, a number, a function or '('");
    in_.next();
    if (in_.peek().is("[")) return read(token);
    if (in_.peek().is("(")) return call(token);
    if (token.text == "inf")
      return node(NumberSyntax{std::numeric_limits<double>::infinity()}, token.place, 0);
    if (token.text == "true" || token.text == "false")
      return node(TruthSyntax{token.text == "true"}, token.place, 0);
    return node(NameSyntax{std::string(token.text)}, token.place, 0);
  }

  Result<Ast> read(const Token& name) {
    ReadSyntax out{std::string(name.text), {}, {}, {}};
    int height = 0;
    in_.next();
    do {
      out.index.push_back(LATHE_TRY(level(0)));
      height = std::max(height, out.index.back()->height);
    } while (in_.accept(","));
    if (in_.peek().kind == Token::Kind::kName && in_.peek().text == "else") {
      in_.next();
      out.pad = LATHE_TRY(in_.signed_number());
      if (!in_.peek().is("]"))
        return in_.unexpected("']' ('else' stands once, behind the last index)");
    }
    if (!in_.peek().is("]")) return in_.unexpected("',', 'else' or ']' after the index");
    in_.next();
    return node(std::move(out), name.place, height);
  }

  // sum(k) ... and max(k) ... are reductions, but max(a, b) is not: a reduction has iterators in
  // its brackets and a term behind them.
  bool is_reduction(const Token& name) const {
    if (find_row(kReductions, name.text) == nullptr) return false;
    if (find_row(kFunctions, name.text) == nullptr) return true;
    int iterators = 0;
    for (std::size_t at = 1;; ++at) {
      if (in_.peek(at).kind != Token::Kind::kName) return false;
      ++iterators;
      if (in_.peek(++at).is(":")) return true;
      if (in_.peek(at).is(",")) continue;
      if (!in_.peek(at).is(")")) return false;
      const Token& after = in_.peek(at + 1);
      return iterators == 1 || after.kind == Token::Kind::kName ||
             after.kind == Token::Kind::kNumber || after.is("(");
    }
  }

  Result<Ast> reduction(const Token& name) {
    ReduceSyntax out{find_row(kReductions, name.text)->op, {}, nullptr};
    in_.next();
    out.iters = LATHE_TRY(parse_iterators(in_));
    LATHE_TRY_STATUS(in_.expect(")"));
    out.body = LATHE_TRY(level(kTermLevel));
    const int height = out.body->height;
    return node(std::move(out), name.place, height);
  }

  Result<Ast> call(const Token& name) {
    if (is_reduction(name)) return reduction(name);
    in_.next();
    std::vector<Ast> arguments;
    int height = 0;
    do {
      arguments.push_back(LATHE_TRY(level(0)));
      height = std::max(height, arguments.back()->height);
    } while (in_.accept(","));
    LATHE_TRY_STATUS(in_.expect(")"));
    return apply(name, std::move(arguments), height);
  }

  Result<Ast> apply(const Token& name, std::vector<Ast> args, int height) {
    const auto check = [&](std::size_t wanted) -> Status {
      if (args.size() == wanted) return {};
      return in_.error(name.place, "{} takes {} argument{}, {} given", name.text, wanted,
                       wanted == 1 ? "" : "s", args.size());
    };
    if (const auto dtype = dtype_from_name(name.text)) {
      LATHE_TRY_STATUS(check(1));
      return node(CastSyntax{*dtype, std::move(args[0])}, name.place, height);
    }
    if (const UnaryRow* row = find_row(kUnaries, name.text)) {
      LATHE_TRY_STATUS(check(1));
      return node(UnarySyntax{row->op, std::move(args[0])}, name.place, height);
    }
    if (const BinaryRow* row = find_row(kFunctions, name.text)) {
      LATHE_TRY_STATUS(check(2));
      return node(BinarySyntax{row->op, std::move(args[0]), std::move(args[1])}, name.place,
                  height);
    }
    if (name.text == "relu") {
      LATHE_TRY_STATUS(check(1));
      Ast zero = LATHE_TRY(node(NumberSyntax{0}, name.place, 0));
      return node(BinarySyntax{BinaryOp::kMax, std::move(args[0]), std::move(zero)}, name.place,
                  height);
    }
    if (name.text == "select") {
      LATHE_TRY_STATUS(check(3));
      return node(SelectSyntax{std::move(args[0]), std::move(args[1]), std::move(args[2])},
                  name.place, height);
    }
    return in_.error(name.place,
                     "there is no function {}; known are the element types as casts and {}",
                     name.shown(), known_names(kFunctionList, name.text));
  }

  TokenReader& in_;
  int nesting_ = 0;
  bool bare_number_ = false;  // the number just parsed has neither brackets nor a sign
};

}  // namespace

Result<Ast> parse_expression(TokenReader& in) { return ExprParser(in).level(0); }

Result<std::vector<IterSyntax>> parse_iterators(TokenReader& in) {
  std::vector<IterSyntax> iters;
  do {
    const Token name = LATHE_TRY(in.new_name("an iterator"));
    IterSyntax iter{std::string(name.text), {}, name.place};
    if (in.accept(":")) iter.size = LATHE_TRY(in.size());
    iters.push_back(std::move(iter));
  } while (in.accept(","));
  return iters;
}

}  // namespace lathe::te
