#include "compiler/te/lexer.h"

#include <algorithm>
#include <array>

namespace lathe::te {
namespace {

constexpr std::size_t kMaxText = 1 << 20;
constexpr std::array<std::string_view, 9> kPairs = {"<=", ">=", "==", "!=", "&&",
                                                    "||", "..", "<<", ">>"};
constexpr std::string_view kSingles = "+-*/%<>!=&|^~()[]{},:";

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_name(char c) { return is_name_start(c) || is_digit(c); }

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Result<std::vector<Token>> run() {
    if (text_.size() > kMaxText)
      return fail(ErrorKind::kInvalidArgument, "the expression is longer than {} bytes", kMaxText);
    while (at_ < text_.size()) LATHE_TRY_STATUS(step());
    add(Token::Kind::kEnd, 0);
    return std::move(tokens_);
  }

 private:
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  void advance(std::size_t count) {
    for (; count > 0; --count, ++at_) {
      ++place_.column;
      if (text_[at_] == '\n') place_ = {place_.line + 1, 1};
    }
  }

  void add(Token::Kind kind, std::size_t length) {
    tokens_.push_back({kind, text_.substr(at_, length), place_});
    advance(length);
  }

  Status step() {
    const char c = peek();
    if (c == ' ' || c == '\t' || c == '\r') {
      advance(1);
    } else if (c == '#') {
      advance(std::min(text_.find('\n', at_), text_.size()) - at_);
    } else if (c == '\n' && depth_ > 0) {
      advance(1);
    } else if (c == '\n' || c == ';') {
      depth_ = 0;
      add(Token::Kind::kSeparator, 1);
    } else if (is_name_start(c)) {
      add(Token::Kind::kName, length_of_name());
    } else if (is_digit(c) || (c == '.' && is_digit(peek(1)))) {
      add(Token::Kind::kNumber, length_of_number());
    } else {
      return symbol();
    }
    return {};
  }

  Status symbol() {
    if (std::ranges::find(kPairs, text_.substr(at_, 2)) != kPairs.end()) {
      add(Token::Kind::kSymbol, 2);
      return {};
    }
    const char c = peek();
    if (kSingles.find(c) == std::string_view::npos) {
      const bool printable = c > ' ' && c < '\x7f';
      return fail_at(place_.text(), ErrorKind::kInvalidArgument, "{} has no meaning here",
                     printable ? fmt::format("the character '{}'", c)
                               : fmt::format("byte {:#04x}", static_cast<unsigned char>(c)));
    }
    if (c == '(' || c == '[' || c == '{') ++depth_;
    if (c == ')' || c == ']' || c == '}') depth_ = std::max(depth_ - 1, 0);
    add(Token::Kind::kSymbol, 1);
    return {};
  }

  std::size_t length_of_name() const {
    std::size_t n = 1;
    while (is_name(peek(n))) ++n;
    return n;
  }

  std::size_t length_of_number() const {
    std::size_t n = 0;
    while (is_digit(peek(n))) ++n;
    if (peek(n) == '.' && peek(n + 1) == '.') return n;  // 0..1 is a range
    if (peek(n) == '.') ++n;
    while (is_digit(peek(n))) ++n;
    if (peek(n) != 'e' && peek(n) != 'E') return n;
    std::size_t exponent = n + 1;
    if (peek(exponent) == '+' || peek(exponent) == '-') ++exponent;
    if (!is_digit(peek(exponent))) return n;
    while (is_digit(peek(exponent))) ++exponent;
    return exponent;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  Place place_;
  int depth_ = 0;  // open brackets; inside them a newline is mere space
  std::vector<Token> tokens_;
};

}  // namespace

std::string Place::text() const { return fmt::format("line {}, column {}", line, column); }

std::string Token::shown() const {
  if (kind == Kind::kEnd) return "the end of the text";
  if (kind == Kind::kSeparator) return "the end of the statement";
  constexpr std::size_t kShown = 40;
  return fmt::format("'{}{}'", text.substr(0, kShown), text.size() > kShown ? "..." : "");
}

Result<std::vector<Token>> tokenize(std::string_view text) { return Lexer(text).run(); }

}  // namespace lathe::te
