// HTML and JSON for a page. Whatever comes from a database goes through escaped() or embedded() on
// its way into one.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace lathe::cli {

// For text and quoted attributes.
std::string escaped(std::string_view text);
// JSON that ends no <script> element, in valid UTF-8.
std::string embedded(const Json& json);

// `text` with each {{name}} replaced; what is put in is not looked at again.
using Values = std::map<std::string, std::string, std::less<>>;
std::string filled(std::string_view text, const Values& values);

// <details> that are closed at first.
std::string folded(const std::string& summary, const std::string& html);

struct Column {
  std::string title;
  bool number = false;  // right-aligned; sorts by value
};

// Cells are HTML, row by row.
class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void text(const std::string& html) { cell("", html); }
  // long: may be broken into lines
  void words(const std::string& html) { cell(" class=\"text\"", html); }
  void number(double value, const std::string& html);
  // `wide`: as wide as the page; `sortable`: by a click on a title.
  std::string html(bool wide = false, bool sortable = false) const;

 private:
  void cell(const std::string& attributes, const std::string& html);

  std::vector<Column> columns_;
  std::string rows_;
  std::size_t cells_ = 0;
};

}  // namespace lathe::cli
