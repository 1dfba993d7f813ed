// What building a candidate costs on one core: lowering, code generation and linking of random configurations of the
// default space, with the function that the builder processes call.
#include "api/workload.h"
#include "base/statistics.h"
#include "search/probe.h"
#include "tuner/measure/builder/build_server.h"
#include "tuner/space/space.h"

namespace lathe::bench {
namespace {

constexpr int kConfigs = 200;

Result<std::vector<Row>> build(const Workload& workload, const Target& target, int configs) {
  const auto space = LATHE_TRY(space::derive_space(workload.program, target, space::Flavour::kDefault));
  std::vector<double> lower, codegen, link, both;
  int failed = 0;
  Rng rng(1);
  for (int i = 0; i < configs; ++i) {
    const auto built = builder::build(workload.program, space->trace(space->random(rng)), target);
    if (!built) {
      ++failed;
      continue;
    }
    lower.push_back(1e3 * built->lower_seconds);
    codegen.push_back(1e3 * built->codegen_seconds);
    link.push_back(1e3 * built->link_seconds);
    both.push_back(lower.back() + codegen.back());
  }
  return std::vector<Row>{{workload.name, "lowering and code generation, median", median(both), "ms"},
                          {workload.name, "lowering and code generation, nine in ten below", quantile(both, 0.9), "ms"},
                          {workload.name, "lowering, median", median(lower), "ms"},
                          {workload.name, "code generation, median", median(codegen), "ms"},
                          {workload.name, "linking, median", median(link), "ms"},
                          {workload.name, fmt::format("refused, of {}", configs), static_cast<double>(failed), ""}};
}

}  // namespace

Result<std::vector<Row>> build(const Settings& settings) {
  const Target target = LATHE_TRY(api::make_target("cpu:host", 1));
  std::vector<Row> rows;
  for (const Workload& workload : LATHE_TRY(workloads())) {
    const auto own = LATHE_TRY(build(workload, target, settings.configs > 0 ? settings.configs : kConfigs));
    rows.insert(rows.end(), own.begin(), own.end());
  }
  return rows;
}

}  // namespace lathe::bench
