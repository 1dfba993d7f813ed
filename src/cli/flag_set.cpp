#include "cli/flag_set.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "base/known_names.h"

namespace lathe::cli {
namespace {

template <class T>
bool parse(const std::string& text, T& value) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  return code == std::errc() && end == text.data() + text.size();
}

CLI::Validator whole_number(std::int64_t least, std::int64_t most) {
  return CLI::Validator(
      [=](std::string& text) -> std::string {
        std::int64_t value = 0;
        if (parse(text, value) && value >= least && value <= most) return "";
        return fmt::format("must be a whole number from {} to {}, not \"{}\"", least, most, text);
      },
      "");
}

// CLI11 would take 010 for 8.
CLI::Validator without_leading_zeros() {
  return CLI::Validator(
      [](std::string& text) -> std::string {
        const std::size_t sign = text.starts_with('-') ? 1 : 0;
        const std::size_t first = text.find_first_not_of('0', sign);
        const bool digit = first != std::string::npos && text[first] >= '0' && text[first] <= '9';
        if (digit) text.erase(sign, first - sign);
        return "";
      },
      "");
}

CLI::Validator number_above_zero() {
  return CLI::Validator(
      [](std::string& text) -> std::string {
        double value = 0;
        if (parse(text, value) && value > 0 && std::isfinite(value)) return "";
        return fmt::format("must be a number above 0, not \"{}\"", text);
      },
      "");
}

CLI::Validator number_between(double least, double most) {
  return CLI::Validator(
      [=](std::string& text) -> std::string {
        double value = 0;
        if (parse(text, value) && value >= least && value <= most) return "";
        return fmt::format("must be a number from {:g} to {:g}, not \"{}\"", least, most, text);
      },
      "");
}

CLI::Validator one_of(const std::vector<std::string>& names) {
  const std::string list = fmt::format("{}", fmt::join(names, ", "));
  return CLI::Validator(
      [names, list](std::string& text) -> std::string {
        if (std::ranges::find(names, text) != names.end()) return "";
        return fmt::format("must be one of {}, not \"{}\"{}", list, text,
                           did_you_mean(names, text));
      },
      "");
}

// What the help calls the names of files and folders.
bool is_file(const std::string& form) {
  static const std::string forms[] = {"FILE", "FILE.json", "FOLDER", "DB", "LIST"};
  return std::ranges::find(forms, form) != std::end(forms);
}

// A script whose variable is empty means a file all the same, and not what is usual.
CLI::Validator named_file(const std::string& form) {
  const std::string what = form == "FOLDER" ? "folder" : "file";
  return CLI::Validator(
      [what](std::string& text) -> std::string {
        if (!text.empty()) return "";
        return fmt::format("names no {}, as its value is empty", what);
      },
      "");
}

void expect_name(CLI::Option& option, const std::string& form) {
  if (is_file(form)) option.check(named_file(form));
}

void place(CLI::Option& option, const std::string& group) {
  if (!group.empty()) option.group(group);
}

// Where a flag is given twice, the last one counts: one's own flags can follow those of a script.
CLI::Option& once(CLI::Option* option) {
  return *option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

}  // namespace

void FlagSet::positional(const std::string& name, std::string& value, const std::string& help,
                         bool required) {
  expect_name(*command_.add_option(name, value, help)->required(required), name);
}

const std::string& FlagSet::command() const { return command_.get_name(); }

void FlagSet::footer(const std::string& text) { command_.footer(text); }

void FlagSet::footer(const std::string& positional,
                     std::function<std::string(const std::string&)> text) {
  command_.footer([option = command_.get_option(positional), text = std::move(text)] {
    return text(option->count() == 0 ? "" : option->results().front());
  });
}

void FlagSet::text(const std::string& name, std::string& value, const std::string& form,
                   const std::string& help) {
  auto* option =
      once(command_.add_option(name, value, help)).type_name(form)->capture_default_str();
  expect_name(*option, form);
  place(*option, group_);
}

void FlagSet::required_text(const std::string& name, std::string& value, const std::string& form,
                            const std::string& help) {
  auto* option = once(command_.add_option(name, value, help)).type_name(form)->required();
  expect_name(*option, form);
  place(*option, group_);
}

void FlagSet::repeated(const std::string& name, std::vector<std::string>& values,
                       const std::string& form, const std::string& help) {
  auto* option = command_.add_option(name, values, help)->type_name(form)->allow_extra_args(false);
  expect_name(*option, form);
  place(*option, group_);
}

void FlagSet::choice(const std::string& name, std::string& value,
                     const std::vector<std::string>& known, const std::string& help) {
  place(*once(command_.add_option(name, value, help))
             .type_name(fmt::format("{}", fmt::join(known, "|")))
             ->check(one_of(known))
             ->capture_default_str(),
        group_);
}

void FlagSet::choose(const std::string& name, const std::string& usual,
                     const std::vector<std::string>& known, const std::string& help,
                     const std::function<void(std::size_t)>& hear) {
  const auto take = [known, hear](const std::string& given) {
    hear(static_cast<std::size_t>(std::ranges::find(known, given) - known.begin()));
  };
  place(*once(command_.add_option_function<std::string>(name, take, help))
             .type_name(fmt::format("{}", fmt::join(known, "|")))
             ->check(one_of(known))
             ->default_str(usual),
        group_);
}

void FlagSet::whole(const std::string& name, int& value, std::int64_t least, std::int64_t most,
                    const std::string& help) {
  auto* option = once(command_.add_option(name, value, help))
                     .type_name("N")
                     ->check(whole_number(least, most))
                     ->transform(without_leading_zeros());
  if (value >= least) option->capture_default_str();
  place(*option, group_);
}

void FlagSet::whole(const std::string& name, std::uint64_t& value, const std::string& help) {
  place(*once(command_.add_option(name, value, help))
             .type_name("N")
             ->check(whole_number(0, INT64_MAX))
             ->transform(without_leading_zeros())
             ->capture_default_str(),
        group_);
}

void FlagSet::number(const std::string& name, double& value, const std::string& form,
                     const std::string& help) {
  auto* option =
      once(command_.add_option(name, value, help)).type_name(form)->check(number_above_zero());
  if (value > 0) option->capture_default_str();
  place(*option, group_);
}

void FlagSet::number(const std::string& name, double& value, double least, double most,
                     const std::string& help) {
  place(*once(command_.add_option(name, value, help))
             .type_name("X")
             ->check(number_between(least, most))
             ->capture_default_str(),
        group_);
}

void FlagSet::flag(const std::string& name, bool& value, const std::string& help) {
  place(*command_.add_flag(name, value, help), group_);
}

void FlagSet::clear(const std::string& name, bool& value, const std::string& help) {
  place(*command_.add_flag_callback(name, [&value] { value = false; }, help), group_);
}

void FlagSet::contradict(const std::string& name, const std::vector<std::string>& others) {
  for (const std::string& other : others)
    command_.get_option(name)->excludes(command_.get_option(other));
}

void FlagSet::on_text(const std::string& name,
                      const std::function<void(const std::string&)>& hear) {
  once(command_.add_option_function<std::string>(name, hear)).group("");
}

void FlagSet::on_text(const std::string& name, const std::string& form, const std::string& help,
                      const std::function<void(const std::string&)>& hear) {
  auto* option = once(command_.add_option_function<std::string>(name, hear, help)).type_name(form);
  expect_name(*option, form);
  place(*option, group_);
}

void FlagSet::on_flag(const std::string& name, std::function<void()> hear) {
  command_.add_flag_callback(name, std::move(hear))->group("");
}

}  // namespace lathe::cli
