// The command's words and flags as data: what completions and the manual are made from.
#pragma once

#include <string>
#include <vector>

namespace lathe::cli {

struct FlagRow {
  std::vector<std::string> names;    // "-o", "--output"
  std::string form;                  // of its value, "FILE"; empty: it takes none
  std::vector<std::string> choices;  // where the value is one of these
  std::string help;
  bool in_help = true;  // of the subcommand; else of an operator: `lathe tune conv2d --help`
};

struct CommandRow {
  std::vector<std::string> words;  // "space", "record"; none: the command itself
  std::string help;
  std::vector<FlagRow> flags;
  std::vector<std::string> parts;  // one of them follows

  std::string text() const;  // "space record"
};

// A script for "bash", "zsh" or "fish".
std::string completion_for(const std::string& shell, const std::vector<CommandRow>& commands);
// The manual's page, in roff.
std::string manual_page(const std::vector<CommandRow>& commands, const std::string& about,
                        const std::string& version);

}  // namespace lathe::cli
