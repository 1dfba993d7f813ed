// lathe completion and lathe manual, made from the same table of flags as the help.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/shell.h"
#include "cli/flag_table.h"

namespace lathe::cli {
namespace {

// Commands and their flags for bash. zsh reads the same script.
constexpr const char* kBash = R"(# Completion of lathe, made by `lathe completion --shell bash`.
_lathe_words() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} words=
  local command=${{COMP_WORDS[1]}} first=2
  case $command in
    {groups}) command="$command ${{COMP_WORDS[2]}}" first=3 ;;
  esac
  if [ "$COMP_CWORD" -lt "$first" ]; then
    case ${{COMP_WORDS[1]}}:$COMP_CWORD in
      *:1) words={names} ;;
{parts}    esac
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
    return
  fi
  case "$command $prev" in
{choices}  esac
  if [ -n "$words" ]; then
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
    return
  fi
  case $command in
{flags}  esac
  case $cur in
    -*) COMPREPLY=($(compgen -W "$words" -- "$cur")) ;;
    *) COMPREPLY=($(compgen -f -- "$cur")) ;;
  esac
}}
complete -o filenames -F _lathe_words lathe
)";

std::string joined(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

std::vector<std::string> names_of(const std::vector<FlagRow>& flags) {
  std::vector<std::string> out;
  for (const FlagRow& flag : flags) out.insert(out.end(), flag.names.begin(), flag.names.end());
  return out;
}

std::string bash(const std::vector<CommandRow>& commands) {
  std::string groups, parts, choices, flags, names;
  for (const CommandRow& row : commands) {
    if (row.words.empty())
      names = shell_word(joined(row.parts) + " " + joined(names_of(row.flags)));
    if (row.words.empty()) continue;
    if (!row.parts.empty()) {
      groups += (groups.empty() ? "" : "|") + row.text();
      parts += fmt::format("      {}:2) words={} ;;\n", row.text(), shell_word(joined(row.parts)));
    }
    flags += fmt::format("    {}) words={} ;;\n", shell_word(row.text()),
                         shell_word(joined(names_of(row.flags))));
    for (const FlagRow& flag : row.flags)
      for (const std::string& name : flag.names)
        if (!flag.choices.empty())
          choices += fmt::format("    {}) words={} ;;\n", shell_word(row.text() + " " + name),
                                 shell_word(joined(flag.choices)));
  }
  return fmt::format(kBash, fmt::arg("groups", groups.empty() ? "''" : groups),
                     fmt::arg("names", names), fmt::arg("parts", parts),
                     fmt::arg("choices", choices), fmt::arg("flags", flags));
}

// zsh reads this file when it first completes lathe; the script then answers at once.
std::string zsh(const std::vector<CommandRow>& commands) {
  return "#compdef lathe\nautoload -U +X bashcompinit && bashcompinit\n" + bash(commands) +
         "(( ${+compstate} )) && _bash_complete -o filenames -F _lathe_words\n";
}

// Writes "-l output -s o".
std::string fish_names(const FlagRow& flag) {
  std::string out;
  for (const std::string& name : flag.names)
    out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  return out;
}

std::string fish(const std::vector<CommandRow>& commands) {
  std::string out = "# Completion of lathe, made by `lathe completion --shell fish`.\n";
  for (const CommandRow& row : commands) {
    std::string here = "__fish_use_subcommand";
    for (std::size_t i = 0; i < row.words.size(); ++i)
      here = (i == 0 ? "" : here + "; and ") + "__fish_seen_subcommand_from " + row.words[i];
    const std::string begin = "complete -c lathe -n " + shell_word(here);
    for (const CommandRow& part : commands)
      if (part.words.size() == row.words.size() + 1 &&
          std::equal(row.words.begin(), row.words.end(), part.words.begin()))
        out += fmt::format("{} -f -a {} -d {}\n", begin, part.words.back(), shell_word(part.help));
    for (const FlagRow& flag : row.flags) {
      out += begin + fish_names(flag);
      if (!flag.choices.empty()) out += " -x -a " + shell_word(joined(flag.choices));
      else if (!flag.form.empty()) out += " -r";
      out += " -d " + shell_word(flag.help) + "\n";
    }
  }
  return out;
}

// Escapes a line of text for roff, where a backslash, and a dot or a quote at the beginning, have a
// meaning.
std::string roff(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') out += "\\e";
    else if (c == '-') out += "\\-";
    else if (c == '\n') out += ' ';
    else out += c;
  }
  if (out.starts_with('.') || out.starts_with('\'')) out = "\\&" + out;
  return out;
}

std::string manual_of(const FlagRow& flag) {
  const std::string form = flag.form.empty() ? "" : " \\fI" + roff(flag.form) + "\\fR";
  return fmt::format(".TP\n\\fB{}\\fR{}\n{}\n",
                     roff(fmt::format("{}", fmt::join(flag.names, ", "))), form, roff(flag.help));
}

}  // namespace

std::string CommandRow::text() const { return joined(words); }

std::string completion_for(const std::string& shell, const std::vector<CommandRow>& commands) {
  if (shell == "fish") return fish(commands);
  return shell == "zsh" ? zsh(commands) : bash(commands);
}

std::string manual_page(const std::vector<CommandRow>& commands, const std::string& about,
                        const std::string& version) {
  std::string out = fmt::format(".TH LATHE 1 \"\" \"{}\"\n.SH NAME\nlathe \\- {}\n", version,
                                roff("searches for the fastest programs of tensor operators"));
  out += ".SH SYNOPSIS\n.B lathe\n.I subcommand\n.RI [ flags ]\n.SH DESCRIPTION\n" + roff(about) +
         "\n.SH SUBCOMMANDS\n";
  for (const CommandRow& row : commands) {
    if (row.words.empty() || !row.parts.empty()) continue;
    out += fmt::format(".SS lathe {}\n{}\n", roff(row.text()), roff(row.help));
    for (const FlagRow& flag : row.flags)
      if (flag.in_help) out += manual_of(flag);
  }
  return out;
}

}  // namespace lathe::cli
