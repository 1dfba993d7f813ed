#include "api/checked.h"

#include <fstream>
#include <limits>
#include <optional>
#include <sstream>

#include "api/targets.h"
#include "base/hash.h"
#include "base/trust.h"
#include "compiler/backends/backends.h"
#include "tuner/measure/device.h"
#include "tuner/measure/measure.h"

namespace lathe::api {
namespace {

constexpr std::uint64_t kCheck = 3;  // it changes with what is checked
// For building and running once, in seconds: the naive loops may take long.
constexpr double kSeconds = 600;

// A file with a line "HASH ERROR" for each program that passed. If it cannot be read or written,
// programs are only checked again.
class PassedPrograms {
 public:
  PassedPrograms() : folder_(own_cache_folder()) {}

  // The largest error that the check found.
  std::optional<double> find(const std::string& hash) const {
    if (folder_.empty()) return std::nullopt;
    std::ifstream file(path());
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line);
      std::string known;
      double error = 0;
      if (words >> known >> error && known == hash) return error;
    }
    return std::nullopt;
  }
  void add(const std::string& hash, double error) const {
    if (folder_.empty()) return;
    // Written in one piece, so that lines of several processes do not mix.
    std::ofstream(path(), std::ios::app) << fmt::format("{} {}\n", hash, error) << std::flush;
  }

 private:
  std::string path() const { return folder_ + "/checked-programs"; }
  std::string folder_;
};

std::string hash_of_case(const te::Workload& workload, const Target& target,
                         std::span<const std::byte> library) {
  const std::string_view code(reinterpret_cast<const char*>(library.data()), library.size());
  return hex(Hasher()
                 .add(kCheck)
                 .add(te::workload_key(workload))
                 .add(target.text())
                 .add(measure::machine_for(target).text())
                 .add(code)
                 .value());
}

std::optional<Checked> without(const Target& target, Checking checking) {
  if (checking == Checking::kSkip)
    return Checked{.sentence = "was not checked, as was asked (--no-check)", .skipped = true};
  if (check_runs_here(target)) return std::nullopt;
  const std::string machine = measure::machine_for(target).name();
  return Checked{.sentence = fmt::format(
                     "was not checked: it is for {} and could not run where it was made ({})",
                     target.text(), machine.empty() ? "there is no such device" : machine)};
}

Checked passed(const te::Workload& workload, const Target& target, double error) {
  const double allowed = workload.contract.max_error;
  const std::string within =
      error <= allowed
          ? fmt::format(
                "the largest error is {:.2g} of the largest output, where "
                "{:.2g} was allowed",
                error, allowed)
          : fmt::format(
                "each is within the bound of its roundings, the furthest {:.2g} of the "
                "largest output away",
                error);
  return {.done = true,
          .sentence = fmt::format("was checked on {}: it ran on random inputs between {}, "
                                  "and its outputs agree with a reference made apart from it of "
                                  "the same expression; {}",
                                  measure::machine_for(target).name(),
                                  measure::device_of(target.kind()).watched, within)};
}

std::unexpected<Error> refused(Error error) {
  const bool faulty = error.kind == ErrorKind::kWrongAnswer || error.kind == ErrorKind::kRun;
  // What the caller wrote is not what is wrong.
  if (error.kind == ErrorKind::kInvalidArgument) error.kind = ErrorKind::kWrongAnswer;
  error.message = fmt::format(
      "the program is not given out, as its check failed: {}; {}", error.message,
      faulty ? "another schedule may be right" : "without the check (--no-check) it is given out");
  return std::unexpected(std::move(error));
}

// Returns the largest error.
Result<double> run_once(const te::Workload& workload, const schedule::Trace& trace,
                        const Target& target) {
  measure::Options options;
  options.jobs = 1;
  options.visits = 0;
  options.timeout_seconds = kSeconds;
  const auto measurer = LATHE_TRY(measure::make_measurer(te::canonical(workload), target, options));
  measure::Outcome outcome;
  outcome.error = Error{ErrorKind::kInternal, "nothing was run", {}};
  const auto done = [&](measure::Outcome finished) { outcome = std::move(finished); };
  LATHE_TRY_STATUS(
      measurer->measure({{0, trace}}, std::numeric_limits<double>::infinity(), done, {}));
  if (outcome.error) return std::unexpected(*outcome.error);
  return outcome.numerical_error;
}

}  // namespace

Result<Checked> check_library(const te::Workload& workload, const schedule::Trace& trace,
                              const Target& target, std::span<const std::byte> library,
                              Checking checking) {
  if (const auto none = without(target, checking)) return *none;
  const std::string hash = hash_of_case(workload, target, library);
  const PassedPrograms known;
  if (const auto error = known.find(hash)) return passed(workload, target, *error);
  const auto error = run_once(workload, trace, target);
  if (!error) return refused(error.error());
  known.add(hash, *error);
  return passed(workload, target, *error);
}

Result<Checked> check_program(const te::Workload& workload, const schedule::Trace& trace,
                              const Target& target, Checking checking) {
  if (const auto none = without(target, checking)) return *none;
  const auto built = LATHE_TRY(driver::build(te::canonical(workload), trace, target, backends()));
  return check_library(workload, trace, target, built.code.library, checking);
}

}  // namespace lathe::api
