#include "api/doctor.h"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "api/schedules.h"
#include "base/environment.h"
#include "base/processors.h"
#include "base/statistics.h"
#include "base/trust.h"
#include "compiler/te/parse.h"
#include "runtime/runner/clock.h"
#include "tuner/measure/measure.h"
#include "tuner/store/store.h"

namespace lathe::api {
namespace {

using State = Check::State;

constexpr double kMostLoad = 0.3;     // of a core, by other processes
constexpr double kMostSpread = 0.03;  // of the sentinel's runs: as much as a visit may drift
constexpr double kLeastMemory = 2.0;  // GiB
constexpr int kSentinelRuns = 400;

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string size_text(std::int64_t bytes) {
  if (bytes <= 0) return "unknown";
  return bytes < (1 << 20) ? fmt::format("{} KiB", bytes >> 10)
                           : fmt::format("{:.3g} MiB", static_cast<double>(bytes) / (1 << 20));
}

Check processor(const CpuFingerprint& machine) {
  return {"processor",
          State::kFine,
          fmt::format("{} ({}), caches: {} and {} a core, {} in all", machine.cpu_name,
                      machine.cpu(), size_text(machine.l1d_bytes), size_text(machine.l2_bytes),
                      size_text(machine.l3_bytes)),
          {}};
}

Check cores(const CpuFingerprint& machine, const Target& target, const std::string& threads) {
  const int allowed = static_cast<int>(allowed_processors().size());
  const double quota = processor_quota();
  Check check{
      "cores", State::kFine, fmt::format("{} of {} may be used", allowed, machine.cores), {}};
  if (quota < allowed) {
    check.state = State::kDoubtful;
    check.finding += fmt::format(", a quota allows {:.2g} of them at a time", quota);
    check.advice = "a quota stops programs in the middle of a call; run without one";
  }
  if (allowed < target.threads()) {
    check.state = State::kBroken;
    check.advice = fmt::format("the target has {} threads: allow as many cores, or give --threads",
                               target.threads());
  } else if (allowed == target.threads() && check.state == State::kFine) {
    check.finding += "; building and timing take turns";
  }
  if (check.state == State::kFine && usual_threads().ignores) {
    check.state = State::kDoubtful;
    check.advice = "give OMP_NUM_THREADS a number from 1, or unset it";
  }
  check.finding += "; " + threads;
  return check;
}

Check governor() {
  const std::string cpu = "/sys/devices/system/cpu/";
  const std::string name = first_line(cpu + "cpu0/cpufreq/scaling_governor");
  if (name.empty()) return {"governor", State::kFine, "the system does not tell", {}};
  if (name == "performance") return {"governor", State::kFine, name, {}};
  return {"governor", State::kDoubtful, name,
          "the clock changes with the load; as root: cpupower frequency-set -g performance"};
}

Check turbo() {
  const std::string cpu = "/sys/devices/system/cpu/";
  const std::string no_turbo = first_line(cpu + "intel_pstate/no_turbo");
  const std::string boost = first_line(cpu + "cpufreq/boost");
  if (no_turbo.empty() && boost.empty())
    return {"turbo", State::kFine, "the system does not tell", {}};
  if (no_turbo == "1" || boost == "0") return {"turbo", State::kFine, "off", {}};
  return {"turbo", State::kFine, "on: a hot or busy processor runs slower", {}};
}

Check load() {
  double minute = 0;
  if (::getloadavg(&minute, 1) != 1)
    return {"other load", State::kFine, "the system does not tell", {}};
  Check check{"other load",
              State::kFine,
              fmt::format("{:.2f} programs ran at a time in the last minute", minute),
              {}};
  if (minute > kMostLoad) {
    check.state = State::kDoubtful;
    check.advice = "what runs beside a program slows it; wait for the others, or stop them";
  }
  return check;
}

Check timer() {
  runner::Sentinel sentinel;
  std::vector<double> seconds;
  for (int i = 0; i < kSentinelRuns; ++i) seconds.push_back(sentinel.run());
  const double median = quantile(seconds, 0.5), late = quantile(seconds, 0.9);
  Check check{"steady times",
              State::kFine,
              fmt::format("the same work takes {:.1f} us, nine times in ten below {:.1f}",
                          1e6 * median, 1e6 * late),
              {}};
  if (late > median * (1 + kMostSpread)) {
    check.state = State::kDoubtful;
    check.advice = "something disturbs the machine: visits are repeated, and races take longer";
  }
  return check;
}

// What programs can get, caches of files included, which the kernel gives up for them.
double available_bytes() {
  std::ifstream in("/proc/meminfo");
  for (std::string name, unit; in >> name;) {
    double kibibytes = 0;
    in >> kibibytes;
    if (name == "MemAvailable:") return 1024 * kibibytes;
    std::getline(in, unit);
  }
  return static_cast<double>(::sysconf(_SC_AVPHYS_PAGES)) *
         static_cast<double>(::sysconf(_SC_PAGESIZE));
}

Check memory() {
  const double gib = available_bytes() / (1 << 30);
  Check check{"memory", State::kFine, fmt::format("{:.1f} GiB free", gib), {}};
  if (gib < kLeastMemory) {
    check.state = State::kDoubtful;
    check.advice = "builders take some 200 MB each, a runner the tensors several times";
  }
  return check;
}

// Checks builder, linker, runner, and the pages between which the runner runs a program.
Check pipeline(const Target& target) {
  const auto workload = te::parse_workload("A: f32[64]; B[i] = A[i] + 1");
  measure::Options options;
  options.cache_folder = "-";
  Check check{"building", State::kBroken, {}, {}};
  const auto measurer = measure::make_measurer(*workload, target, options);
  const auto peak = measurer ? (*measurer)->peak_flops() : std::unexpected(measurer.error());
  if (!peak) {
    check.finding = peak.error().text();
    check.advice = "no program can be built or run";
    return check;
  }
  check.state = State::kFine;
  check.finding = fmt::format("a program was built, linked and run: {:.0f} GFLOP/s on {}",
                              *peak / 1e9, target.text());
  return check;
}

Check cache() {
  const std::string folder = cache_folder();
  const Status own = make_private_folder(folder);
  if (!folder.empty() && own && ::access(folder.c_str(), W_OK) == 0)
    return {"cache", State::kFine, folder, {}};
  return {"cache", State::kDoubtful,
          folder.empty() ? "no home folder"
          : own          ? folder + " is not writable"
                         : own.error().text(),
          "references are computed again by every command; set XDG_CACHE_HOME"};
}

Check records(const std::string& database) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!fs::exists(database, error))
    return {"database", State::kFine, database + " is not there yet", {}};
  const auto store = open_existing(database);
  if (!store) return {"database", State::kBroken, store.error().text(), {}};
  if (::access(database.c_str(), W_OK) != 0)
    return {"database", State::kBroken, database + " cannot be written", "give another with --db"};
  return {"database",
          State::kFine,
          fmt::format("{}, {:.1f} MB", database,
                      static_cast<double>(fs::file_size(database, error)) / 1e6),
          {}};
}

}  // namespace

std::vector<Check> examine(const Target& target, const std::string& threads,
                           const std::string& database) {
  const CpuFingerprint machine = host_cpu();
  return {processor(machine),
          cores(machine, target, threads),
          governor(),
          turbo(),
          load(),
          timer(),
          memory(),
          pipeline(target),
          cache(),
          records(database)};
}

}  // namespace lathe::api
