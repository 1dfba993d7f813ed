// The command's words and flags as data, from which completions and the manual are made.
#pragma once

#include <string>
#include <vector>

namespace lathe::cli {

struct FlagRow {
  std::vector<std::string> names;    // "-o", "--output"
  std::string form;                  // of its value, "FILE"; empty: it takes no value
  std::vector<std::string> choices;  // if not empty, the value is one of these
  std::string help;
  // In the subcommand's help; else in an operator's: `lathe tune conv2d --help`
  bool in_help = true;
};

struct CommandRow {
  std::vector<std::string> words;  // "space", "record"; empty: the command itself
  std::string help;
  std::vector<FlagRow> flags;
  std::vector<std::string> parts;  // one of them follows

  std::string text() const;  // "space record"
};

// Makes a script for "bash", "zsh" or "fish".
std::string completion_for(const std::string& shell, const std::vector<CommandRow>& commands);
// Makes the page of the manual, in roff.
std::string manual_page(const std::vector<CommandRow>& commands, const std::string& about,
                        const std::string& version);

}  // namespace lathe::cli
