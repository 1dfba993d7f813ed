// What tuning needs of a machine, and what the times it makes there depend on.
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
  std::string advice;  // a sentence; empty where there is nothing to do
};

// Takes about a second: a small program is built, linked and run, as every candidate is. `database`
// may be missing; nothing is written to it.
std::vector<Check> examine(const Target& target, const std::string& database);

}  // namespace lathe::api
