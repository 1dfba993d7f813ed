// What tuning needs of a machine, and what its times there depend on.
#pragma once

#include <string>
#include <vector>

#include "base/target.h"

namespace lathe::api {

struct Check {
  enum class State {
    kFine,
    kDoubtful,  // times are worth less, or something is not known
    kBroken,    // nothing can be tuned
  };
  std::string what;  // a word or two: "other load"
  State state = State::kFine;
  std::string finding;
  std::string advice;  // one sentence; empty where there is nothing to do
};

// Takes about a second: it builds, links and runs a small program, as it is done with every
// candidate. `threads` is what threads_sentence() says of the target. `database` may be missing;
// nothing is written to it.
std::vector<Check> examine(const Target& target, const std::string& threads,
                           const std::string& database);

}  // namespace lathe::api
