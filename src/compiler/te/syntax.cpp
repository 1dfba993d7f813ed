#include "compiler/te/syntax.h"

#include <algorithm>
#include <cmath>

#include "base/known_names.h"
#include "compiler/te/algorithms.h"
#include "compiler/te/expr_syntax.h"
#include "compiler/te/workload.h"

namespace lathe::te {
namespace {

constexpr std::size_t kMaxLiteral = 1 << 16;

Result<InputRange> range_of(TokenReader& in) {
  const Place place = in.peek().place;
  InputRange out;
  out.low = LATHE_TRY(in.signed_number());
  LATHE_TRY_STATUS(in.expect(".."));
  out.high = LATHE_TRY(in.signed_number());
  if (!(std::isfinite(out.low) && std::isfinite(out.high) && out.low <= out.high))
    return in.error(place,
                    "a range goes from a finite number to one that is no smaller, as in 0..1");
  return out;
}

// Parses items: declarations, stages, and the settings that a workload key has.
class ItemParser {
 public:
  explicit ItemParser(std::vector<Token> tokens) : in_(std::move(tokens)) {}

  Result<WorkloadSyntax> run() {
    for (;;) {
      while (in_.peek().kind == Token::Kind::kSeparator) in_.next();
      if (in_.peek().kind == Token::Kind::kEnd) break;
      LATHE_TRY_STATUS(item());
      const Token& end = in_.peek();
      if (end.kind != Token::Kind::kSeparator && end.kind != Token::Kind::kEnd)
        return in_.unexpected("an operator, ';' or a new line");
    }
    out_.names = in_.names();
    return std::move(out_);
  }

 private:
  Status item() {
    const Token& first = in_.peek();
    const Token& second = in_.peek(1);
    if (first.kind == Token::Kind::kName) {
      if (second.is("[")) return stage();
      if (second.is(":")) return declaration();
      if (first.text == "const" || first.text == "output") return declaration();
      if (first.text == "layout" || first.text == "max_error" || first.text == "name" ||
          first.text == "algorithm" || first.text == "numerics")
        return setting();
    }
    return in_.unexpected("a stage like C[i,j] = ... or a declaration like A: f32[16,16]",
                          first.kind == Token::Kind::kName ? 1 : 0);
  }

  Status setting() {
    const Token what = in_.next();
    if (what.text == "max_error") {
      const double value = LATHE_TRY(in_.number());
      if (!(value > 0 && value <= 1))
        return in_.error(what.place, "max_error must be more than 0 and at most 1");
      out_.max_error = value;
    } else if (what.text == "name") {
      out_.name = LATHE_TRY(in_.name("a name for the workload")).text;
    } else if (what.text == "algorithm") {
      const Token algorithm = LATHE_TRY(in_.name(algorithm_words()));
      if (algorithm_named(algorithm.text) == nullptr)
        return in_.error(algorithm.place, "{} is no algorithm; name {}", algorithm.shown(),
                         algorithm_words());
      out_.algorithm = algorithm.text;
    } else if (what.text == "numerics") {
      const Token level = LATHE_TRY(in_.name(kNumerics));
      if (out_.numerics) return in_.error(level.place, "numerics are given twice; give one level");
      out_.numerics = numerics_from_name(level.text);
      if (!out_.numerics)
        return in_.error(level.place, "{} is no level of numerics; name {}", level.shown(),
                         kNumerics);
    } else {
      const Token mode = LATHE_TRY(in_.name("plain or free"));
      if (mode.text != "plain" && mode.text != "free")
        return in_.error(mode.place, "layout is plain or free, not {}", mode.shown());
      out_.free_layout = mode.text == "free";
    }
    return {};
  }

  Status declaration() {
    DeclarationSyntax d;
    for (;; in_.next()) {
      if (in_.peek(1).is(":")) break;
      if (in_.peek().text == "const") d.constant = true;
      else if (in_.peek().text == "output") d.output = true;
      else break;
    }
    const Token name = LATHE_TRY(in_.new_name("a tensor"));
    d.name = name.text;
    d.place = name.place;
    LATHE_TRY_STATUS(in_.expect(":"));
    const Token dtype = LATHE_TRY(in_.name("an element type"));
    const auto known = dtype_from_name(dtype.text);
    if (!known)
      return in_.error(dtype.place, "{} is no element type; known are {}", dtype.shown(),
                       known_dtypes(dtype.text));
    d.dtype = *known;
    d.shape = LATHE_TRY(sizes(d.name));
    if (in_.peek().kind == Token::Kind::kName && in_.peek().text == "as") {
      in_.next();
      d.border_shape = LATHE_TRY(sizes(d.name));
    }
    if (in_.peek().kind == Token::Kind::kName && in_.peek().text == "in") {
      in_.next();
      d.range = LATHE_TRY(range_of(in_));
    }
    if (in_.accept("=")) d.literal = LATHE_TRY(literal());
    out_.declarations.push_back(std::move(d));
    return {};
  }

  Result<std::vector<std::int64_t>> sizes(const std::string& tensor) {
    std::vector<std::int64_t> out;
    LATHE_TRY_STATUS(in_.expect("["));
    do {
      if (in_.peek().kind == Token::Kind::kName)
        return in_.error(in_.peek().place,
                         "{} is no size: shapes are fixed numbers; write the number, or leave this "
                         "declaration out and give the shape of {} beside the expression (on the "
                         "command line --shape {}=128,64)",
                         in_.peek().shown(), tensor, tensor);
      out.push_back(LATHE_TRY(in_.size()));
    } while (in_.accept(","));
    LATHE_TRY_STATUS(in_.expect("]"));
    return out;
  }

  Result<std::vector<double>> literal() {
    std::vector<double> values;
    LATHE_TRY_STATUS(in_.expect("{"));
    do {
      if (values.size() == kMaxLiteral)
        return in_.error(in_.peek().place, "a literal has at most {} elements", kMaxLiteral);
      values.push_back(LATHE_TRY(in_.signed_number()));
    } while (in_.accept(","));
    LATHE_TRY_STATUS(in_.expect("}"));
    return values;
  }

  Status stage() {
    StageSyntax s;
    const Token name = LATHE_TRY(in_.new_name("a tensor"));
    s.name = name.text;
    s.place = name.place;
    LATHE_TRY_STATUS(in_.expect("["));
    if (in_.peek().is("]"))
      return in_.error(in_.peek().place,
                       "a tensor needs a dimension; for a single number write {}[one:1] = ...",
                       s.name);
    s.iters = LATHE_TRY(parse_iterators(in_));
    LATHE_TRY_STATUS(in_.expect("]"));
    LATHE_TRY_STATUS(in_.expect("="));
    s.body = LATHE_TRY(parse_expression(in_));
    out_.stages.push_back(std::move(s));
    return {};
  }

  TokenReader in_;
  WorkloadSyntax out_;
};

}  // namespace

Result<WorkloadSyntax> parse_syntax(std::string_view text) {
  return ItemParser(LATHE_TRY(tokenize(text))).run();
}

Result<InputRange> parse_range_syntax(std::string_view text) {
  TokenReader in(LATHE_TRY(tokenize(text)));
  const InputRange range = LATHE_TRY(range_of(in));
  if (in.peek().kind != Token::Kind::kEnd) return in.unexpected("the end of the range");
  return range;
}

}  // namespace lathe::te
