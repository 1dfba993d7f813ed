#include "search/probe.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "api/workload.h"
#include "base/statistics.h"

namespace lathe::bench {

Result<std::vector<BenchWorkload>> workloads() {
  std::vector<BenchWorkload> out;
  for (const auto& [name, layout] : {std::pair{"C6", "free"}, {"matmul-1024", "plain"}}) {
    api::WorkloadRequest request;
    request.text = name;
    request.layout = layout;
    const auto workload = LATHE_TRY(api::make_workload(request));
    out.push_back({name, te::canonical(workload.definition)});
  }
  return out;
}

Target bench_target() {
  Target target;
  target.as_cpu().mcpu = "x86-64-v4";
  target.as_cpu().vector_bits = 512;
  target.as_cpu().vector_registers = 32;
  target.as_cpu().has_fma = true;
  return target;
}

void on_threads(int jobs, std::size_t total,
                const std::function<void(std::size_t, std::size_t)>& work) {
  const std::size_t share =
      (total + static_cast<std::size_t>(jobs) - 1) / static_cast<std::size_t>(jobs);
  std::vector<std::jthread> threads;
  for (std::size_t begin = 0; begin < total; begin += share)
    threads.emplace_back(work, begin, std::min(share, total - begin));
}

double median(std::vector<double> values) { return quantile(std::move(values), 0.5); }

double median_seconds(int rounds, const std::function<void()>& work) {
  std::vector<double> seconds;
  for (int r = 0; r < rounds; ++r) {
    const auto start = std::chrono::steady_clock::now();
    work();
    seconds.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return median(std::move(seconds));
}

}  // namespace lathe::bench
