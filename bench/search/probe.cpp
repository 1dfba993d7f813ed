#include "search/probe.h"

#include <algorithm>
#include <chrono>

#include "api/workload.h"

namespace lathe::bench {

Result<std::vector<Workload>> workloads() {
  std::vector<Workload> out;
  for (const auto& [name, layout] : {std::pair{"C6", "free"}, {"matmul-1024", "plain"}}) {
    api::WorkloadRequest request;
    request.text = name;
    request.layout = layout;
    const auto workload = LATHE_TRY(api::make_workload(request));
    out.push_back({name, te::canonical(workload.program)});
  }
  return out;
}

double share(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1) + 0.5)];
}

double median(std::vector<double> values) { return share(std::move(values), 0.5); }

double median_seconds(int rounds, const std::function<void()>& work) {
  std::vector<double> seconds;
  for (int r = 0; r < rounds; ++r) {
    const auto start = std::chrono::steady_clock::now();
    work();
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return median(std::move(seconds));
}

}  // namespace lathe::bench
