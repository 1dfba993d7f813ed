#include "cli/application.h"

#include <cstdio>
#include <string>

#include <fmt/format.h>

#include "cli/command.h"

namespace lathe::cli {
namespace {

constexpr const char* kAbout = "Finds the fastest program for a tensor operator on this machine, by measuring candidates.";
constexpr const char* kFooter =
    "A workload is an expression ('C[i,j] = sum(k) A[k,i] * B[k,j]' with --shape A=64,32 --shape B=64,16), an operator with\n"
    "its flags (conv2d --input 1,64,56,56 --weight 64,64,3,3 --pad 1), or one of the paper's (C1 to C12, matmul-1024).\n"
    "Exit codes: 0 done, 1 failed, 2 wrong usage.";

// Wrong usage is what the caller wrote; everything else went wrong later.
int exit_code(ErrorKind kind) { return kind == ErrorKind::kInvalidArgument ? kWrongUsage : kFailed; }

// Names the subcommand whose help answers the question.
std::string help_of(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? "lathe --help" : "lathe " + chosen.front()->get_name() + " --help";
}

int wrong_usage(const CLI::App& app, const CLI::ParseError& error) {
  std::string message = error.what();
  while (!message.empty() && (message.back() == '\n' || message.back() == '.')) message.pop_back();
  fmt::print(stderr, "lathe: {}; see {}\n", message, help_of(app));
  return kWrongUsage;
}

int perform(const Work& work) {
  const auto code = work();
  if (code) return *code;
  fmt::print(stderr, "lathe: {}\n", code.error().text());
  return exit_code(code.error().kind);
}

}  // namespace

int run(int argc, const char* const* argv) {
  CLI::App app(kAbout, "lathe");
  app.footer(kFooter);
  app.require_subcommand(1);
  Work work;
  for (const auto add : {add_tune, add_best, add_trials, add_show, add_compile, add_bench, add_export, add_import})
    add(app, work);
  try {
    app.parse(argc, argv);
    return perform(work);
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    return wrong_usage(app, error);
  } catch (const InvariantError& broken) {
    fmt::print(stderr, "lathe: a bug of Lathe: {}; please report it with the command that shows it\n", broken.what());
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "lathe: there is not enough memory; use smaller shapes or fewer --jobs\n");
  }
  return kFailed;
}

}  // namespace lathe::cli
