// Reads tokens, and parses the expressions of the text form by recursive descent.
#pragma once

#include <algorithm>

#include "compiler/te/syntax.h"

namespace lathe::te {

class TokenReader {
 public:
  explicit TokenReader(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  const Token& peek(std::size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  Token next() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
  bool accept(std::string_view symbol);
  Status expect(std::string_view symbol);
  Result<Token> name(std::string_view what);
  Result<Token> new_name(std::string_view what);  // refuses the words of the language
  Result<double> number();                        // not negative
  Result<double> signed_number();                 // also -1, inf, -inf, true, false
  Result<std::int64_t> size();                    // at least 1
  std::set<std::string, std::less<>> names() const;

  template <class... Args>
  std::unexpected<Error> error(Place place, fmt::format_string<Args...> format,
                               Args&&... args) const {
    return fail_at(place.text(), ErrorKind::kInvalidArgument, format, std::forward<Args>(args)...);
  }
  // The error "expected WANTED, found 'x'" at the token `ahead` of the next one.
  std::unexpected<Error> unexpected(std::string_view wanted, std::size_t ahead = 0) const;

 private:
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
};

Result<Ast> parse_expression(TokenReader& in);
Result<std::vector<IterSyntax>> parse_iterators(TokenReader& in);

}  // namespace lathe::te
