// Tokens of the text form. Newlines outside brackets and ';' separate items; '#' starts a comment.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace lathe::te {

struct Place {
  int line = 1, column = 1;
  std::string text() const;  // "line 1, column 12"
};

template <class... Args>
std::unexpected<Error> error_at(Place place, fmt::format_string<Args...> format, Args&&... args) {
  return fail_at(place.text(), ErrorKind::kInvalidArgument, format, std::forward<Args>(args)...);
}

struct Token {
  enum class Kind { kName, kNumber, kSymbol, kSeparator, kEnd } kind;
  std::string_view text;  // points into the parsed text
  Place place;

  bool is(std::string_view symbol) const { return kind == Kind::kSymbol && text == symbol; }
  std::string shown() const;  // for messages: "'*'", "the end of the line"
};

// The last token is kEnd.
Result<std::vector<Token>> tokenize(std::string_view text);

}  // namespace lathe::te
