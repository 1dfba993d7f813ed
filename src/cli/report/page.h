// `lathe report` as one HTML file that needs nothing else.
#pragma once

#include <string>

#include "api/report/report.h"

namespace lathe::cli {

struct PageInfo {
  std::string database;  // as people should read it
  std::string path;      // of the database, from the root on
  std::string written;   // the time of writing
};

std::string report_page(const report::Report& report, const PageInfo& info);

}  // namespace lathe::cli
