// What bench_search can measure, a probe a file. A probe answers with rows; printing them is
// main's.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/target.h"
#include "compiler/te/program.h"

namespace lathe::bench {

struct Row {
  std::string workload, what;
  double value = 0;
  std::string unit;
};

struct Settings {
  int configs = 0;  // how many a workload; 0: what suits the probe
  int jobs = 2, rounds = 7;
  std::string lathe;              // the command: the one beside bench_search unless told
  std::vector<std::string> tune;  // words after `lathe tune`; none: C6 with a free layout
};

struct Workload {
  std::string name;
  te::Program program;
};
// The vectors and registers of AVX-512; the space is the same on every machine.
Target bench_target();
// The figures are about a convolution; a matmul beside it.
Result<std::vector<Workload>> workloads();

// Calls work(begin, count) for a share of `total` on each of `jobs` threads.
void on_threads(int jobs, std::size_t total,
                const std::function<void(std::size_t begin, std::size_t count)>& work);

double median(std::vector<double> values);
double median_seconds(int rounds, const std::function<void()>& work);

using Probe = Result<std::vector<Row>> (*)(const Settings&);
Result<std::vector<Row>> propose(const Settings& settings);
Result<std::vector<Row>> treegru(const Settings& settings);
Result<std::vector<Row>> build(const Settings& settings);
Result<std::vector<Row>> lookup(const Settings& settings);
Result<std::vector<Row>> tuning(const Settings& settings);
Result<std::vector<Row>> memory(const Settings& settings);

}  // namespace lathe::bench
