// Makes bench/results/paper.md: pictures, numbers and findings, all of them from the raw rows.
#pragma once

#include <string>
#include <vector>

#include "research/paper/summary.h"

namespace lathe::paper {

struct PageInfo {
  std::string command;                // that makes it
  std::string folder;                 // of the pictures, from the page
  std::vector<std::string> pictures;  // names of figures that are drawn there: "fig4"
  std::vector<std::string> live;      // sentences about the live figure
};
std::string page_text(const std::vector<Sheet>& sheets, const std::vector<SpaceFile>& spaces,
                      const Settings& settings, const RawRows& rows, const PageInfo& info);

}  // namespace lathe::paper
