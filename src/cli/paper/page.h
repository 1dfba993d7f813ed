// docs/paper.md: pictures, numbers and findings, all of it from the raw rows.
#pragma once

#include <string>
#include <vector>

#include "cli/paper/summary.h"

namespace lathe::cli {

struct PaperInfo {
  std::string command;                // that makes it
  std::string folder;                 // of the pictures, from the page
  std::vector<std::string> pictures;  // names of figures that are drawn there: "fig4"
  std::vector<std::string> live;      // sentences about the live figure
};
std::string paper_page(const std::vector<paper::Plan>& plans,
                       const std::vector<paper::SpaceFile>& spaces, const paper::Settings& settings,
                       const paper::RawRows& rows, const PaperInfo& info);

}  // namespace lathe::cli
