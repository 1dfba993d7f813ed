// What building a candidate costs on one core: lowering and code generation of random
// configurations of the default space, by the functions that builder processes call. The times are
// the processor's own, so neighbours hardly matter.
#include <ctime>

#include "api/targets.h"
#include "api/workload.h"
#include "base/statistics.h"
#include "compiler/backends/backends.h"
#include "search/probe.h"
#include "tuner/measure/builder/build_server.h"
#include "tuner/space/space.h"

namespace lathe::bench {
namespace {

constexpr int kConfigs = 200;

double processor_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

Result<std::vector<Row>> build(const BenchWorkload& workload, const Target& target, int configs) {
  const auto space =
      LATHE_TRY(space::derive_space(workload.definition, target, space::Flavour::kDefault));
  std::vector<double> all, lower, bytes;
  int failed = 0;
  Rng rng(1);
  for (int i = 0; i < configs; ++i) {
    const auto trace = space->trace(space->random(rng));
    const double start = processor_seconds();
    // The linker is a process of its own.
    const auto built = builder::build(workload.definition, trace, target, backends());
    const double seconds = processor_seconds() - start;
    if (!built) {
      ++failed;
      continue;
    }
    all.push_back(1e3 * seconds);
    lower.push_back(1e3 * built->lower_seconds);
    bytes.push_back(static_cast<double>(built->code_bytes) / 1024);
  }
  return std::vector<Row>{
      {workload.name, "lowering and code generation, median", median(all), "ms"},
      {workload.name, "lowering and code generation, nine in ten below", quantile(all, 0.9), "ms"},
      {workload.name, "lowering and code generation, largest", quantile(all, 1), "ms"},
      {workload.name, "lowering, median of wall times", median(lower), "ms"},
      {workload.name, "code, median", median(bytes), "KiB"},
      {workload.name, fmt::format("refused, of {}", configs), static_cast<double>(failed), ""}};
}

// Names of workloads follow --, with the command's default layouts; without any names, takes the
// usual ones.
Result<std::vector<BenchWorkload>> chosen(const Settings& settings) {
  if (settings.tune.empty()) return workloads();
  std::vector<BenchWorkload> out;
  for (const std::string& name : settings.tune) {
    api::WorkloadRequest request;
    request.text = name;
    const auto workload = LATHE_TRY(api::make_workload(request));
    out.push_back({name, te::canonical(workload.definition)});
  }
  return out;
}

}  // namespace

Result<std::vector<Row>> build(const Settings& settings) {
  const Target target = LATHE_TRY(api::make_target("cpu:host", 1));
  std::vector<Row> rows;
  for (const BenchWorkload& workload : LATHE_TRY(chosen(settings))) {
    const auto own =
        LATHE_TRY(build(workload, target, settings.configs > 0 ? settings.configs : kConfigs));
    rows.insert(rows.end(), own.begin(), own.end());
  }
  return rows;
}

}  // namespace lathe::bench
