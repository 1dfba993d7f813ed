// lathe import: reads records from JSON lines.
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>

#include "base/file.h"
#include "cli/application.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/results.h"

namespace lathe::cli {
namespace {

struct Flags {
  std::string file, database;
};

Result<store::ImportCount> import_file(const Flags& flags) {
  std::ifstream file;
  std::error_code ignored;
  if (std::filesystem::is_directory(flags.file, ignored))
    return fail_at(flags.file, ErrorKind::kIo,
                   "this is a folder; give a file of JSON lines, or - for standard input");
  if (flags.file != "-") {
    LATHE_TRY_STATUS(check_readable(flags.file));
    file.open(flags.file);
    if (!file)
      return fail_at(flags.file, ErrorKind::kNotFound,
                     "the file cannot be read ({}); give another one, or - for standard input",
                     std::strerror(errno));
  }
  const auto store = LATHE_TRY(store::open_sqlite(flags.database));
  auto count = store::import_lines(*store, flags.file == "-" ? std::cin : file, api::check_trial);
  if (count) return *count;
  Error error = count.error();
  // The line is wrong in the file; nothing is wrong with what was typed.
  if (error.place.starts_with("line "))
    error = {ErrorKind::kDataLoss, error.message,
             (flags.file == "-" ? "standard input" : flags.file) + ", " + error.place};
  return std::unexpected(std::move(error));
}

Result<int> perform(const Flags& flags) {
  const auto count = LATHE_TRY(import_file(flags));
  fmt::print("{} imported, {} were already there\n", counted(count.added, "trial"),
             count.already_there);
  return kDone;
}

}  // namespace

Command import_command() {
  return {"import", "add records from JSON lines", [](FlagSet& set) -> Work {
            auto flags = std::make_shared<Flags>();
            set.positional("FILE", flags->file, "what lathe export wrote; - for standard input",
                           true);
            add_database_flag(set, flags->database);
            return [flags] { return perform(*flags); };
          }};
}

}  // namespace lathe::cli
