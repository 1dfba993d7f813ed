// What the file of a subcommand provides: its name, its flags and its work.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/flag_set.h"

namespace lathe::cli {

// Returns an exit code.
using Work = std::function<Result<int>()>;

struct Command {
  std::string name, help;
  // Declares the flags; the work reads what they were given.
  std::function<Work(FlagSet& flags)> declare;
  // Where a command has parts, one of them follows the name, and `declare` is not called.
  std::vector<Command> parts;
};

Command tune_command();
Command race_command();
Command best_command();
Command trials_command();
Command show_command();
Command compile_command();
Command bench_command();
Command run_command();
Command export_command();
Command import_command();
Command reproduce_command();
Command model_command();
Command space_command();
Command report_command();
Command paper_command();
Command doctor_command();

}  // namespace lathe::cli
