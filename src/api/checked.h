// Programs are checked before they are given out. They run once on random inputs between guard
// pages, as every trial does, and their outputs are compared with the reference. Each program is
// checked once on a machine: what passed is remembered.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/result.h"
#include "base/target.h"
#include "compiler/schedule/step.h"
#include "compiler/te/workload.h"

namespace lathe::api {

enum class Checking { kOnce, kSkip };

struct Checked {
  bool done = false;
  // Follows "the program": "was checked on ...", "was not checked: ...".
  std::string sentence;
  bool skipped = false;  // as the caller wanted
};

// `library` is the program's code as a candidate has it; the program is remembered by it. Fails
// with kWrongAnswer and a reproducer, or with kRun, kTimeout ... of the program or of the check
// itself; then the program must not be given out. A program for another machine cannot be checked;
// that is no error.
Result<Checked> check_library(const te::Workload& workload, const schedule::Trace& trace,
                              const Target& target, std::span<const std::byte> library,
                              Checking checking);
// The same for a program that is not built yet.
Result<Checked> check_program(const te::Workload& workload, const schedule::Trace& trace,
                              const Target& target, Checking checking);

}  // namespace lathe::api
