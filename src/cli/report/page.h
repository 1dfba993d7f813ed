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

// Workloads have sections of their own, the last one tuned first, until these take so many bytes: a
// browser should open the page at once. The table lists all of them.
inline constexpr std::size_t kMostSections = 4'000'000;

std::string report_page(const report::Report& report, const PageInfo& info,
                        std::size_t most_sections = kMostSections);

}  // namespace lathe::cli
