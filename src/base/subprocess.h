// Runs other executables to their end.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace lathe {

struct Finished {
  int status = 0;      // as waitpid gives it; 0: it exited with success
  std::string errors;  // what it wrote to its standard error
};

// Runs `command`, whose first word is a path or the name of a program on the PATH (helper_path.h),
// and waits for its end. Its output is thrown away; its errors go into the file `errors`, which
// stays. kNotFound: there is no such executable.
Result<Finished> run_to_end(std::vector<std::string> command, const std::string& errors);

}  // namespace lathe
