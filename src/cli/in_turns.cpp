#include "cli/in_turns.h"

#include <fmt/format.h>

#include "cli/results.h"

namespace lathe::cli {

std::string in_turns_text(const api::InTurns& turns, int threads) {
  std::string out;
  if (!turns.phases.empty())
    out = fmt::format("{:<7}{:>6}{:>9}{:>9}{:>12}{:>12}\n", "phase", "runs", "parts", "threads",
                      "slowest", "mean");
  for (const api::PhaseTurns& phase : turns.phases)
    out += fmt::format("{:<7}{:>6}{:>9}{:>9}{:>12}{:>12}\n",
                       fmt::format("{}.{}", phase.region, phase.number), phase.runs, phase.parts,
                       phase.threads, time_text(phase.slowest), time_text(phase.mean));
  if (turns.alone > 0) out += fmt::format("outside regions: {}\n", time_text(turns.alone));
  return out +
         fmt::format(
             "The slices of {} thread{} ran one after the other on one processor, {} times; the "
             "time is the sum of each phase's slowest slice (medians). It leaves out what "
             "processors share and wait for: memory, outer caches, clock, barriers. All slices "
             "together take {}, {:.2f} times as long.\n",
             threads, threads == 1 ? "" : "s", turns.calls, time_text(turns.all),
             turns.all / turns.seconds);
}

void add_in_turns(Json& json, const api::InTurns& turns) {
  json["in_turns"] = true;
  json["calls"] = turns.calls;
  json["alone_seconds"] = turns.alone;
  json["all_seconds"] = turns.all;
  json["phases"] = Json::array();
  for (const api::PhaseTurns& phase : turns.phases)
    json["phases"].push_back({{"region", phase.region},
                              {"phase", phase.number},
                              {"runs", phase.runs},
                              {"parts", phase.parts},
                              {"threads", phase.threads},
                              {"slowest_seconds", phase.slowest},
                              {"mean_seconds", phase.mean}});
}

}  // namespace lathe::cli
