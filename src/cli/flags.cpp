#include "cli/flags.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/ranges.h>

#include "tuner/store/store.h"

namespace lathe::cli {

CLI::Validator whole_number(std::int64_t least, std::int64_t most) {
  return CLI::Validator(
      [=](std::string& text) -> std::string {
        std::int64_t value = 0;
        const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (code == std::errc() && end == text.data() + text.size() && value >= least && value <= most) return "";
        return fmt::format("must be a whole number from {} to {}, not \"{}\"", least, most, text);
      },
      "N");
}

CLI::Validator number_above_zero() {
  return CLI::Validator(
      [](std::string& text) -> std::string {
        double value = 0;
        const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (code == std::errc() && end == text.data() + text.size() && value > 0 && std::isfinite(value)) return "";
        return fmt::format("must be a number above 0, not \"{}\"", text);
      },
      "X");
}

CLI::Validator one_of(std::vector<std::string> names) {
  const std::string list = fmt::format("{}", fmt::join(names, ", "));
  return CLI::Validator(
      [names = std::move(names), list](std::string& text) -> std::string {
        if (std::ranges::find(names, text) != names.end()) return "";
        return fmt::format("must be one of {}, not \"{}\"", list, text);
      },
      list);
}

void add_workload_flags(CLI::App& command, WorkloadFlags& flags, bool required) {
  auto& request = flags.request;
  auto* text = command.add_option("workload", request.text, "an expression, an operator or a workload of the paper");
  if (required) text->required();
  const auto repeated = [&](const char* name, std::vector<std::string>& values, const char* form, const char* help) {
    command.add_option(name, values, help)->type_name(form)->allow_extra_args(false)->group("Workload");
  };
  repeated("--shape", request.shapes, "NAME=SIZES", "shape of an expression's input, e.g. A=1024,1024; once for each");
  repeated("--dtype", request.dtypes, "[NAME=]TYPE", "element type, of one input or of all (default f32)");
  repeated("--const", request.constants, "NAME", "input known beforehand, e.g. weights: packed once, not in every call");
  command.add_option("--layout", request.layout, "borders keep their layouts, or the schedule may choose them")
      ->check(one_of({"plain", "free"}))->capture_default_str()->group("Workload");
  command.add_option("--max-error", request.max_error, "largest error that passes, of the largest output")
      ->check(number_above_zero())->capture_default_str()->group("Workload");
  for (const auto& flag : api::operator_flags()) {
    if (flag.name == "dtype") continue;  // the one above
    const auto set = [&request, name = flag.name](const std::string& value) { request.flags[name] = value; };
    if (flag.takes_value)
      command.add_option_function<std::string>("--" + flag.name, set, flag.help)->type_name("")->group("Operator");
    else
      command.add_flag_callback("--" + flag.name, [set] { set("true"); }, flag.help)->group("Operator");
  }
}

void add_database_flag(CLI::App& command, std::string& database) {
  database = store::default_path();
  command.add_option("--db", database, "database of records (or set LATHE_DB)")->type_name("FILE")->capture_default_str();
}

void add_target_flags(CLI::App& command, MachineFlags& flags) {
  command.add_option("--target", flags.target, "cpu:MCPU[,+feature...][;threads=N]")->type_name("TARGET")->capture_default_str();
  command.add_option("--threads", flags.threads, "threads of the program (default 1)")->check(whole_number(1, 1024));
}

void add_cache_flag(CLI::App& command, MachineFlags& flags) {
  command.add_option("--cache", flags.cache, "state of the caches when a program is timed")
      ->check(one_of({"warm", "cold"}))->capture_default_str();
}

void add_space_flag(CLI::App& command, MachineFlags& flags) {
  command.add_option("--space", flags.space, "schedules to consider; wide has no constraints, for experiments")
      ->check(one_of({"default", "wide"}))->capture_default_str();
}

void add_schedule_flag(CLI::App& command, std::string& schedule) {
  command.add_option("--schedule", schedule, "the best on record, the analytic default, or the loops as written")
      ->check(one_of({"best", "default", "naive"}))->capture_default_str();
}

Result<api::ScheduleRequest> schedule_request(const std::string& which, const MachineFlags& flags) {
  return api::ScheduleRequest{which, flags.database, flags.cache, LATHE_TRY(api::flavour_named(flags.space))};
}

}  // namespace lathe::cli
