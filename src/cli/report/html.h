// HTML and JSON for a page. Whatever comes from a database passes through escaped() or embedded()
// on its way into the page.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace lathe::cli {

// Escapes for text and for quoted attributes.
std::string escaped(std::string_view text);
// JSON in valid UTF-8 that cannot end a <script> element.
std::string embedded(const Json& json);

// Replaces each {{name}} in `text` by its value; values are not searched for further names.
using Values = std::map<std::string, std::string, std::less<>>;
std::string filled(std::string_view text, const Values& values);

// A <details> element that is closed at first.
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
  // A long text, which may be broken into lines.
  void words(const std::string& html) { cell(" class=\"text\"", html); }
  void number(double value, const std::string& html);
  // `wide`: as wide as the page. `sortable`: a click on a title sorts.
  std::string html(bool wide = false, bool sortable = false) const;

 private:
  void cell(const std::string& attributes, const std::string& html);

  std::vector<Column> columns_;
  std::string rows_;
  std::size_t cells_ = 0;
};

}  // namespace lathe::cli
