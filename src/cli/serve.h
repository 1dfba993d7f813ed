// The line protocol by which a benchmark drives a contestant (bench/README.md): it computes only in
// its turn.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>

namespace lathe::cli {

// "run SECONDS" is answered with the seconds a call that `time` returns, anything unknown with
// "error WHY"; ends with "quit" or the input. `detail` goes after "ready".
void serve(std::istream& in, std::ostream& out, const std::string& detail,
           const std::function<double(double)>& time);

}  // namespace lathe::cli
