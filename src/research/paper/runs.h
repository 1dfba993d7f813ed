// Runs what figures want and nobody has run yet.
#pragma once

#include <functional>

#include "research/paper/raw_rows.h"
#include "research/paper/sheet.h"

namespace lathe::paper {

struct Progress {
  int done = 0, wanted = 0;  // runs, those found finished included
  int resumed = 0;           // found finished
  std::string now;           // "fig4, C6, random"
};
using Listener = std::function<void(const Progress&)>;

RunKey key_of(const Cell& cell, const Settings& settings, std::uint64_t seed);

// The curves of a cell that are finished, in order of seed.
std::vector<experiment::Curve> curves_of(const Cell& cell, const Settings& settings,
                                         const RawRows& rows);

// Makes the runs that are missing, up to `jobs` at a time, on which no curve depends. Ends early
// when `stop` returns true; what is finished is kept.
Status perform(const std::vector<Sheet>& sheets, const Settings& settings, int jobs, RawRows& rows,
               const Listener& listener, const std::function<bool()>& stop);

}  // namespace lathe::paper
