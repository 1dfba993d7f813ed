// The line protocol with which a benchmark drives a contestant (docs/benchmarks.md); a contestant
// computes in its turn only.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>

namespace lathe::cli {

// Answers "run SECONDS" with the seconds of a call, which `time` returns, and anything unknown with
// "error WHY". It ends with "quit" or the end of the input. `detail` follows "ready".
void serve(std::istream& in, std::ostream& out, const std::string& detail,
           const std::function<double(double)>& time);

}  // namespace lathe::cli
