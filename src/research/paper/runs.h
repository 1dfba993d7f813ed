// Runs what figures want and nobody has run yet.
#pragma once

#include <functional>

#include "research/paper/plan.h"
#include "research/paper/raw_rows.h"

namespace lathe::paper {

struct Progress {
  int done = 0, wanted = 0;  // runs, those found finished included
  int resumed = 0;           // found finished
  std::string now;           // "fig4, C6, random"
};
using Listener = std::function<void(const Progress&)>;

RunKey key_of(const Cell& cell, const Settings& settings, std::uint64_t seed);

// The curves of a cell that there are, by seed.
std::vector<experiment::Curve> curves_of(const Cell& cell, const Settings& settings,
                                         const RawRows& rows);

// Ends early, with what is finished kept, where `stop` says so. Up to `jobs` runs at a time; no
// curve depends on it.
Status perform(const std::vector<Plan>& plans, const Settings& settings, int jobs, RawRows& rows,
               const Listener& listener, const std::function<bool()>& stop);

}  // namespace lathe::paper
