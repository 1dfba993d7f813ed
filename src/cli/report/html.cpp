#include "cli/report/html.h"

#include <cmath>

#include "base/result.h"
#include "cli/results.h"

namespace lathe::cli {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      case '\0': out += "\xef\xbf\xbd"; break;
      default: out += c;
    }
  }
  return out;
}

std::string embedded(const Json& json) {
  std::string out;
  for (const char c : dump(json)) {
    if (c == '<') out += "\\u003c";  // in JSON it stands in strings only
    else out += c;
  }
  return out;
}

std::string filled(std::string_view text, const Values& values) {
  std::string out;
  for (;;) {
    const std::size_t begin = text.find("{{");
    out += text.substr(0, begin);
    if (begin == std::string_view::npos) return out;
    const std::size_t end = text.find("}}", begin);
    LATHE_CHECK(end != std::string_view::npos);
    const std::string_view name = text.substr(begin + 2, end - begin - 2);
    const auto value = values.find(name);
    LATHE_CHECK(value != values.end(), "nothing is given for {}", name);
    out += value->second;
    text.remove_prefix(end + 2);
  }
}

std::string folded(const std::string& summary, const std::string& html) {
  return fmt::format("<details><summary>{}</summary>\n{}</details>\n", summary, html);
}

void Table::number(double value, const std::string& html) {
  cell(fmt::format(" class=\"number\" data-value=\"{:.6g}\"", std::isfinite(value) ? value : 0),
       html);
}

void Table::cell(const std::string& attributes, const std::string& html) {
  const std::size_t column = cells_++ % columns_.size();
  if (column == 0) rows_ += "<tr>";
  rows_ += fmt::format("<td{}>{}</td>", attributes, html);
  if (column + 1 == columns_.size()) rows_ += "</tr>\n";
}

std::string Table::html(bool wide, bool sortable) const {
  LATHE_CHECK(cells_ % columns_.size() == 0, "a row is not full");
  std::string head;
  for (const Column& column : columns_)
    head += fmt::format("<th scope=\"col\"{}>{}</th>", column.number ? " class=\"number\"" : "",
                        column.title);
  return fmt::format(
      "<div class=\"scroll{}\" "
      "tabindex=\"0\"><table{}>\n<thead><tr>{}</tr></thead>\n<tbody>\n{}</tbody>\n</table></div>\n",
      wide ? " wide" : "", sortable ? " class=\"sortable\"" : "", head, rows_);
}

}  // namespace lathe::cli
