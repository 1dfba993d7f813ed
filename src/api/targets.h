// What programs are made for, and how many threads they use.
#pragma once

#include <string>

#include "base/result.h"
#include "base/target.h"

namespace lathe::api {

// `threads` 0: what the text says; else for this machine, cpu:host, as many as this process should
// use (base/processors.h), and one for any other target.
Result<Target> make_target(const std::string& text, int threads);
// How many threads the target that make_target() made of these has, and why: "2 threads: this
// process may use 2 physical cores".
std::string threads_sentence(const std::string& text, int threads, const Target& made);

// Of the back end that generates its code: times compare only between equal ones.
Result<int> codegen_version(const Target& target);

// Fails where programs for the target can be made, but not run here.
Status check_runs_here(const Target& target);
// Fails where they cannot be timed here, as this process may not use a processor for each thread.
Status check_timed_here(const Target& target);

}  // namespace lathe::api
