// lathe reproduce: measures the program of a wrong answer again.
#include <memory>

#include "cli/application.h"
#include "cli/command.h"
#include "tuner/measure/reproduce.h"

namespace lathe::cli {
namespace {

Result<int> reproduce(const std::string& folder) {
  auto outcome = measure::reproduce(folder, {.cache_folder = "-"});
  if (!outcome && outcome.error().kind == ErrorKind::kNotFound)
    outcome.error().message += "; give the folder that a wrong answer left behind";
  // The reference itself is wrong.
  if (!outcome && outcome.error().kind == ErrorKind::kWrongAnswer) {
    fmt::print("{}\n", outcome.error().text());
    return kFailed;
  }
  if (!outcome) return std::unexpected(outcome.error());
  if (outcome->error) {
    fmt::print("{}\n", outcome->error->text());
    return kFailed;
  }
  fmt::print("right: the error is {:.3g} of the largest output\n", outcome->numerical_error);
  return kDone;
}

}  // namespace

Command reproduce_command() {
  return {"reproduce",
          "compute again what went wrong; exit code 0: it is right now, 1: it is still wrong",
          [](FlagSet& set) -> Work {
            auto folder = std::make_shared<std::string>();
            set.positional("FOLDER", *folder,
                           "what a wrong answer left behind; `lathe trials --failed` names it",
                           true);
            return [folder] { return reproduce(*folder); };
          }};
}

}  // namespace lathe::cli
