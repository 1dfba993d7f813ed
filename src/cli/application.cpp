#include "cli/application.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <string>
#include <system_error>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "api/version.h"
#include "base/known_names.h"
#include "cli/command.h"
#include "cli/flag_table.h"
#include "cli/results.h"

namespace lathe::cli {
namespace {

constexpr const char* kAbout =
    "Finds the fastest program for a tensor operator on this machine, by measuring candidates.";
constexpr const char* kFooter =
    "A workload is an expression ('C[i,j] = sum(k) A[k,i] * B[k,j]' with --shape A=64,32 --shape "
    "B=64,16), an operator with\n"
    "its flags (conv2d --input 1,64,56,56 --weight 64,64,3,3 --pad 1), or one of the paper's (C1 "
    "to C12, matmul-1024).\n"
    "Exit codes: 0 done, 1 failed, 2 wrong usage; 130, 143 and 129 where SIGINT, SIGTERM or SIGHUP "
    "ended a run early.";

// Wrong usage is what the caller wrote; everything else went wrong later.
int exit_code(ErrorKind kind) {
  return kind == ErrorKind::kInvalidArgument ? kWrongUsage : kFailed;
}

// The subcommand that was given, or the part of it.
const CLI::App& chosen_of(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app : chosen_of(*chosen.front());
}

// The words of the subcommand whose help answers the question.
std::string help_of(const CLI::App& app) {
  std::string words;
  for (const auto* at = &chosen_of(app); at != nullptr; at = at->get_parent())
    words = at->get_name() + " " + words;
  return words + "--help";
}

std::string known_subcommands(const CLI::App& app) {
  std::string names;
  for (const auto* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names += (names.empty() ? "" : ", ") + command->get_name();
  return names;
}

std::string left_over(const CLI::App& command, const std::string& word) {
  std::string dashes = word.substr(0, word.find('='));
  std::ranges::replace(dashes, '_', '-');
  if (word.starts_with("--") && command.get_option_no_throw(dashes) != nullptr)
    return fmt::format("nothing here is called {}, but {} is", word, dashes);
  if (word.find('=') != std::string::npos && !word.starts_with('-'))
    return fmt::format(
        "{} belongs to no flag; give its flag again, as in --shape A=8,8 --shape B=8,8", word);
  if (!word.starts_with('-'))
    return fmt::format("nothing here is called {}; quote an expression that has spaces", word);
  std::vector<std::string> flags;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  return fmt::format("nothing here is called {}{}", word, did_you_mean(flags, dashes));
}

// Puts what CLI11 found wrong into our words.
std::string sentence_of(const CLI::App& app, const CLI::ParseError& error) {
  const auto* chosen = &chosen_of(app);
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr && !chosen->remaining().empty())
    return left_over(*chosen, chosen->remaining().front());
  std::string message = error.what();
  // "--time: 1 required SECONDS missing"
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr)
    return message.substr(0, message.find(':')) + ": its value is missing";
  // "Could not convert: --json = frob"
  if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr)
    return message.substr(message.find(": ") + 2) + ": it takes no value";
  if (const std::size_t at = message.find(" excludes ");
      dynamic_cast<const CLI::ExcludesError*>(&error) != nullptr)
    return message.substr(0, at) + ": contradicts " + message.substr(at + 10) +
           "; give one of them";
  while (!message.empty() && (message.back() == '\n' || message.back() == '.')) message.pop_back();
  return message;
}

int wrong_usage(const std::string& sentence, const std::string& help) {
  complain(fmt::format("{}; see {}", sentence, help));
  return kWrongUsage;
}

int unwritable_output(int error) {
  complain(
      fmt::format("standard output cannot be written ({}); send it elsewhere, no trial is lost",
                  std::strerror(error)));
  return kFailed;
}

// Fails where the output could not be written: the exit code must not say that all went well.
int with_output(int code) {
  std::cout.flush();
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  return code == kDone ? unwritable_output(errno) : code;
}

void add(CLI::App& app, const Command& command, Work& work) {
  auto* subcommand = app.add_subcommand(command.name, command.help);
  for (const auto& part : command.parts) add(*subcommand, part, work);
  if (!command.parts.empty()) {
    subcommand->require_subcommand(1);
    return;
  }
  FlagSet flags(*subcommand);
  subcommand->callback([&work, chosen = command.declare(flags)] { work = chosen; });
}

// Tells what is wrong with the words that name a subcommand, and its part where it has parts;
// empty: nothing.
std::string wrong_name(const CLI::App& app, int argc, const char* const* argv, int at) {
  const std::string known = known_subcommands(app);
  if (known.empty()) return "";
  if (at >= argc) return "a subcommand is missing, one of " + known;
  const std::string word = argv[at];
  if (word.starts_with('-')) return "";
  const auto named =
      app.get_subcommands([&](const CLI::App* command) { return command->get_name() == word; });
  if (named.empty())
    return fmt::format("unknown subcommand \"{}\"; known are {}", word, known_names(known, word));
  return wrong_name(*named.front(), argc, argv, at + 1);
}

std::vector<std::string> parts_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const auto* part : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(part->get_name());
  return names;
}

// The values of a flag whose form is like "annealing|genetic|random".
std::vector<std::string> choices_in(const std::string& form) {
  if (form.find('|') == std::string::npos) return {};
  return CLI::detail::split(form, '|');
}

FlagRow row_of(const CLI::Option& option) {
  FlagRow row;
  for (const std::string& name : option.get_snames()) row.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) row.names.push_back("--" + name);
  if (option.get_items_expected_max() > 0) row.form = option.get_type_name();
  row.choices = choices_in(row.form);
  row.help = option.get_description();
  row.in_help = !option.get_group().empty();
  return row;
}

void add_rows(const CLI::App& app, std::vector<std::string> words, std::vector<CommandRow>& out) {
  CommandRow row{words, app.get_description(), {}, parts_of(app)};
  for (const auto* option :
       app.get_options([](const CLI::Option* o) { return o->nonpositional(); }))
    row.flags.push_back(row_of(*option));
  out.push_back(std::move(row));
  for (const auto* part : app.get_subcommands([](const CLI::App*) { return true; })) {
    words.push_back(part->get_name());
    add_rows(*part, words, out);
    words.pop_back();
  }
}

// The commands that write something about the command itself.
std::vector<Command> commands_about(const CLI::App& app) {
  const auto table = [&app] {
    std::vector<CommandRow> rows;
    add_rows(app, {}, rows);
    return rows;
  };
  const auto completion = [table](FlagSet& set) -> Work {
    auto shell = std::make_shared<std::string>("bash");
    set.choice("--shell", *shell, {"bash", "zsh", "fish"}, "whose script is written");
    return [table, shell]() -> Result<int> {
      fmt::print("{}", completion_for(*shell, table()));
      return kDone;
    };
  };
  const auto manual = [table](FlagSet&) -> Work {
    return [table]() -> Result<int> {
      fmt::print("{}", manual_page(table(), kAbout, api::version_text()));
      return kDone;
    };
  };
  return {{"completion", "write a script that completes words in a shell", completion},
          {"manual", "write the manual's page, for man -l", manual}};
}

int perform(const Work& work) {
  const auto code = work();
  if (code) return *code;
  complain(code.error().text());
  return exit_code(code.error().kind);
}

}  // namespace

std::string complaint(const std::string& sentence) { return "lathe: " + printable(sentence); }

void complain(const std::string& sentence) {
  std::fputs((complaint(sentence) + "\n").c_str(), stderr);
}

void complain_unless_alone(const TimingClaim& claim) {
  if (!claim.alone())
    complain(
        "another lathe times programs on this machine: each disturbs the other's times, run one "
        "after the other");
}

int run(int argc, const char* const* argv) {
  CLI::App app(kAbout, "lathe");
  app.footer(kFooter);
  app.set_version_flag("--version", api::version_text, "versions of Lathe, LLVM and XGBoost");
  app.require_subcommand(1);
  Work work;
  for (const auto& command :
       {tune_command(), race_command(), best_command(), trials_command(), show_command(),
        compile_command(), bench_command(), run_command(), model_command(), space_command(),
        report_command(), paper_command(), export_command(), import_command(), reproduce_command(),
        doctor_command()})
    add(app, command, work);
  for (const auto& command : commands_about(app)) add(app, command, work);
  if (const std::string wrong = wrong_name(app, argc, argv, 1); !wrong.empty())
    return wrong_usage(wrong, "lathe --help");
  try {
    app.parse(argc, argv);
    return with_output(perform(work));
  } catch (const CLI::Success& help) {
    return with_output(app.exit(help));
  } catch (const CLI::ParseError& error) {
    return wrong_usage(sentence_of(app, error), help_of(app));
  } catch (const InvariantError& broken) {
    complain(fmt::format("a bug of Lathe: {}; please report it with the command that shows it",
                         broken.what()));
  } catch (const std::bad_alloc&) {
    complain("there is not enough memory; use smaller shapes or fewer --jobs");
  } catch (const std::system_error& failure) {
    // fmt throws this where it prints.
    if (std::ferror(stdout) != 0) return unwritable_output(failure.code().value());
    complain(fmt::format(
        "the system refused what is needed ({}); end other programs or raise its limits",
        failure.what()));
  } catch (const std::exception& other) {
    complain(fmt::format("a bug of Lathe: {}; please report it with the command that shows it",
                         other.what()));
  }
  return kFailed;
}

}  // namespace lathe::cli
