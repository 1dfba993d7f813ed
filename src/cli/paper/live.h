// Figure 10a: the best program of live runs over wall-clock time, from a database.
#pragma once

#include <string>

#include "cli/paper/picture.h"

namespace lathe::cli {

struct LiveFigure {
  Picture picture;  // a panel a workload
  std::string csv;  // what is drawn, as rows
};
// The error says what is missing.
Result<LiveFigure> live_figure(const std::string& database);

}  // namespace lathe::cli
