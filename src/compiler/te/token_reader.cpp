#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "compiler/te/expr_syntax.h"

namespace lathe::te {
namespace {

constexpr std::array<std::string_view, 4> kReserved = {"else", "inf", "true", "false"};

}  // namespace

bool TokenReader::accept(std::string_view symbol) {
  if (!peek().is(symbol)) return false;
  next();
  return true;
}

Status TokenReader::expect(std::string_view symbol) {
  if (!accept(symbol)) return unexpected(fmt::format("'{}'", symbol));
  return {};
}

std::unexpected<Error> TokenReader::unexpected(std::string_view wanted, std::size_t ahead) const {
  const Token& token = peek(ahead);
  return error(token.place, "expected {}, found {}", wanted, token.shown());
}

Result<Token> TokenReader::name(std::string_view what) {
  if (peek().kind != Token::Kind::kName) return unexpected(what);
  return next();
}

Result<Token> TokenReader::new_name(std::string_view what) {
  const Token token = LATHE_TRY(name(fmt::format("the name of {}", what)));
  if (std::ranges::find(kReserved, token.text) != kReserved.end() || dtype_from_name(token.text))
    return error(token.place, "{} is a word of the language and cannot name {}", token.shown(),
                 what);
  return token;
}

Result<double> TokenReader::number() {
  if (peek().kind != Token::Kind::kNumber) return unexpected("a number");
  const Token token = next();
  double value = 0;
  const char* end = token.text.data() + token.text.size();
  const auto [rest, code] = std::from_chars(token.text.data(), end, value);
  if (code != std::errc() || rest != end)
    return error(token.place, "{} is not a number that fits an f64", token.shown());
  return value;
}

Result<double> TokenReader::signed_number() {
  for (const std::string_view truth : {"true", "false"})
    if (peek().kind == Token::Kind::kName && peek().text == truth) {
      next();
      return truth == "true" ? 1 : 0;
    }
  const bool negative = accept("-");
  double value = std::numeric_limits<double>::infinity();
  if (peek().kind == Token::Kind::kName && peek().text == "inf") next();
  else value = LATHE_TRY(number());
  return negative ? -value : value;
}

Result<std::int64_t> TokenReader::size() {
  constexpr std::int64_t kMaxSize = std::int64_t{1} << 40;
  if (peek().is("-")) return error(peek().place, "a size must be positive");
  if (peek().kind != Token::Kind::kNumber) return unexpected("a size");
  const Token token = next();
  std::int64_t value = 0;
  const char* end = token.text.data() + token.text.size();
  const auto [rest, code] = std::from_chars(token.text.data(), end, value);
  if (code == std::errc::result_out_of_range || (code == std::errc() && value > kMaxSize))
    return error(token.place, "the size {} is too large; at most 2^40 is possible", token.shown());
  if (code != std::errc() || rest != end)
    return error(token.place, "{} is not a whole number, as a size must be", token.shown());
  if (value == 0)
    return error(token.place, "a size of 0 leaves nothing to compute; it must be at least 1");
  return value;
}

std::set<std::string, std::less<>> TokenReader::names() const {
  std::set<std::string, std::less<>> out;
  for (const Token& token : tokens_)
    if (token.kind == Token::Kind::kName) out.emplace(token.text);
  return out;
}

}  // namespace lathe::te
