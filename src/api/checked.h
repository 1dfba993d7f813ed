// Programs are checked before they are given out: run once, as every trial of a run is, on random
// inputs between guard pages, their outputs compared with the reference answer. Once for each
// program and machine: what passed is remembered.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/result.h"
#include "base/target.h"
#include "compiler/schedule/step.h"
#include "compiler/te/program.h"

namespace lathe::api {

enum class Checking { kOnce, kSkip };

struct Checked {
  bool done = false;
  // what follows "the program": "was checked on ...", "was not checked: ..."
  std::string sentence;
  bool skipped = false;  // as the caller wanted
};

// `library` is the program's code as a candidate has it: what it is remembered by. Errors:
// kWrongAnswer, with a reproducer, kRun, kTimeout ..., of the program, or of the check itself; the
// program must not be given out then. One for another machine cannot be checked, and that is no
// error.
Result<Checked> check_library(const te::Program& program, const schedule::Trace& trace,
                              const Target& target, std::span<const std::byte> library,
                              Checking checking);
// The same of a program that is not built yet.
Result<Checked> check_program(const te::Program& program, const schedule::Trace& trace,
                              const Target& target, Checking checking);

}  // namespace lathe::api
