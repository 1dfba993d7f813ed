#include "cli/serve.h"

#include <charconv>
#include <istream>
#include <ostream>

#include <fmt/format.h>

namespace lathe::cli {

void serve(std::istream& in, std::ostream& out, const std::string& detail,
           const std::function<double(double)>& time) {
  out << "ready " << detail << std::endl;
  for (std::string line; std::getline(in, line) && line != "quit";) {
    double seconds = 0;
    const std::string_view number =
        std::string_view(line).substr(std::min<std::size_t>(4, line.size()));
    const auto [end, code] = std::from_chars(number.data(), number.data() + number.size(), seconds);
    if (!line.starts_with("run ") || code != std::errc() || end != number.data() + number.size() ||
        !(seconds >= 0))
      out << fmt::format("error \"{}\" is neither \"run SECONDS\" nor \"quit\"", line) << std::endl;
    else out << fmt::format("{:.9e}", time(seconds)) << std::endl;
  }
}

}  // namespace lathe::cli
