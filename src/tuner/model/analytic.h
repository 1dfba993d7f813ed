// A cost model without data: cycles from arithmetic, load ports, caches, memory and balance, of the
// same footprints the features are made of. What a search ranks by before anything is measured; it
// knows no constants of the one machine beyond what `Machine` says.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/target.h"
#include "compiler/analysis/footprint.h"
#include "compiler/ir/nest/nest.h"
#include "tuner/search/search.h"
#include "tuner/space/space.h"

namespace lathe::model {

// One core, in cycles, and its share of what is behind it. The defaults are those of a wide core of
// the 2020s; only their ratios matter for a ranking.
struct Machine {
  int vector_bytes = 32;
  int registers = 16;
  int threads = 1;
  double operations_per_cycle = 2;  // vector FMAs
  double latency = 4;               // of an FMA
  double loads_per_cycle = 2;
  double l1_bytes = 32.0 * 1024, l2_bytes = 1024.0 * 1024, l3_bytes = 32.0 * 1024 * 1024;
  double l2_rate = 64, l3_rate = 20, memory_rate = 7;  // bytes a cycle
  double start_cycles = 4000;                          // of a parallel region
};

// Target and fingerprint where they know, else the defaults.
Machine machine_of(const Target& target, const Fingerprint& fingerprint);

// Of one nest. Thread-safe.
class AnalyticModel {
 public:
  AnalyticModel(const ir::Nest& nest, const Machine& machine);
  // `values` are the nest's sizes, evaluated.
  double cycles(std::span<const std::int64_t> values) const;

 private:
  struct Part {
    analysis::FootprintPlan plan;
    bool reduces;
  };
  double core_cycles(const Part& part, const analysis::Footprint& f) const;
  double memory_cycles(const Part& part, const analysis::Footprint& f, double core) const;

  Machine machine_;
  std::vector<Part> parts_;  // blocks that run with the program
};

// Scores of a space's configurations, -log2 cycles: ready from the start.
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

}  // namespace lathe::model
