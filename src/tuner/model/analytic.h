// A cost model without data: cycles from arithmetic, load ports, caches, memory and balance, from
// the same footprints as the features. A search ranks by it before anything is measured. Of the
// machine it knows only what `Machine` tells.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/target.h"
#include "compiler/analysis/footprint.h"
#include "compiler/ir/nest/nest.h"
#include "tuner/search/search.h"
#include "tuner/space/space.h"

namespace lathe::model {

// One core, in cycles, with its share of what all cores have. The defaults are a wide core of the
// 2020s; only their ratios matter for a ranking.
struct Machine {
  int vector_bytes = 32;
  int registers = 16;
  int threads = 1;
  double operations_per_cycle = 2;  // vector FMAs
  double latency = 4;               // of an FMA, in cycles
  double loads_per_cycle = 2;
  double l1_bytes = 32.0 * 1024, l2_bytes = 1024.0 * 1024, l3_bytes = 32.0 * 1024 * 1024;
  double l2_rate = 64, l3_rate = 20, memory_rate = 7;  // bytes a cycle
  double start_cycles = 4000;                          // of a parallel region
};

// Of a processor: from the target and the fingerprint where they know, else the defaults.
Machine machine_of(const Target& target, const Fingerprint& fingerprint);

// The model of one nest. Thread-safe.
class AnalyticModel {
 public:
  AnalyticModel(const ir::Nest& nest, const Machine& machine);
  // `values` are the values of the nest's sizes.
  double cycles(std::span<const std::int64_t> values) const;

 private:
  struct Part {
    analysis::FootprintPlan plan;
    bool reduces;
  };
  double core_cycles(const Part& part, const analysis::Footprint& f) const;
  double memory_cycles(const Part& part, const analysis::Footprint& f, double core) const;

  Machine machine_;
  std::vector<Part> parts_;  // blocks that run with the program, not in prepare()
};

// Scores a space's configurations by -log2 cycles; ready from the start.
class AnalyticScorer final : public search::Scorer {
 public:
  AnalyticScorer(const space::Space& space, const Machine& machine);
  ~AnalyticScorer() override;
  bool ready() const override { return true; }
  void score(std::span<const space::Config> configs, std::span<double> scores) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The analytic model of the target's kind of device, with what the fingerprint tells of it. Fails
// where there is none for such devices.
Result<std::unique_ptr<search::Scorer>> analytic_scorer(const space::Space& space,
                                                        const Target& target,
                                                        const Fingerprint& fingerprint);

}  // namespace lathe::model
