// What bench_search can measure, with a file for each probe. A probe returns rows; main.cpp prints
// them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/target.h"
#include "compiler/te/workload.h"

namespace lathe::bench {

struct Row {
  std::string workload, what;
  double value = 0;
  std::string unit;
};

struct Settings {
  int configs = 0;  // for each workload; 0: what suits the probe
  int jobs = 2, rounds = 7;
  std::string lathe;     // the command; by default the one beside bench_search
  std::string database;  // to make and keep; empty: one that goes with the probe
  // Words after `lathe tune`; by default C6 with a free layout. On one thread, unless they say
  // more.
  std::vector<std::string> tune;
};

struct BenchWorkload {
  std::string name;
  te::Workload definition;
};
// The vectors and registers of AVX-512, so that the space is the same on every machine.
Target bench_target();
// A convolution, which the figures of bench/results are about, and a matmul beside it.
Result<std::vector<BenchWorkload>> workloads();

// Calls work(begin, count) on each of `jobs` threads, for its share of `total`.
void on_threads(int jobs, std::size_t total,
                const std::function<void(std::size_t begin, std::size_t count)>& work);

double median(std::vector<double> values);
double median_seconds(int rounds, const std::function<void()>& work);

using Probe = Result<std::vector<Row>> (*)(const Settings&);
Result<std::vector<Row>> propose(const Settings& settings);
Result<std::vector<Row>> treegru(const Settings& settings);
Result<std::vector<Row>> build(const Settings& settings);
Result<std::vector<Row>> lookup(const Settings& settings);
Result<std::vector<Row>> storing(const Settings& settings);
Result<std::vector<Row>> tuning(const Settings& settings);
Result<std::vector<Row>> memory(const Settings& settings);
Result<std::vector<Row>> constants(const Settings& settings);
Result<std::vector<Row>> cards(const Settings& settings);
Result<std::vector<Row>> card_trials(const Settings& settings);
Result<std::vector<Row>> card_records(const Settings& settings);

}  // namespace lathe::bench
