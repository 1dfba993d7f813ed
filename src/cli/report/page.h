// `lathe report` as one HTML file that needs nothing else.
#pragma once

#include <string>

#include "api/report/model_report.h"
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

// With the section of a model first, where one is given.
std::string report_page(const report::Report& report, const PageInfo& info,
                        std::size_t most_sections = kMostSections,
                        const report::ModelReport* model = nullptr);

}  // namespace lathe::cli
