// A cost model without data: cycles from arithmetic, load ports, caches, memory and balance, from
// the same footprints as the features. A search ranks by it before anything is measured. Of the
// machine it knows only what `Core` tells.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/target.h"
#include "compiler/analysis/footprint.h"
#include "compiler/ir/nest/nest.h"
#include "tuner/model/nest_scorer.h"

namespace lathe::model {

// One core, in cycles, with its share of what all cores have. The defaults are a wide core of the
// 2020s; only their ratios matter for a ranking. `bench_search constants` fits those that no
// fingerprint tells to the recorded spaces. Values fitted to the other spaces order 0.734 of a
// space's pairs rightly, these 0.704, but what they would choose first is no faster in the mean
// (0.864 of the best, both) and 0.58 to 0.70 where these choose the best. They are no machine's
// either: 8 FMAs a cycle, 0.6 of the time hidden. So these stand.
struct Core {
  int vector_bytes = 32;
  int registers = 16;
  int threads = 1;
  // Two vector FMAs of 4 cycles start in one, and two loads: so says `llvm-mca -instruction-info`
  // of LLVM 19 for skylake-avx512, icelake-server, znver3 and znver4.
  double operations_per_cycle = 2;
  double latency = 4;
  double loads_per_cycle = 2;
  double l1_bytes = 32.0 * 1024, l2_bytes = 1024.0 * 1024, l3_bytes = 32.0 * 1024 * 1024;
  // Bytes a cycle: from L2 the peak of Skylake in Intel's optimization reference manual, whose
  // table of caches tells of 29 that are sustained. From L3 and memory what a core gets of a
  // server's mesh and channels varies; the recorded spaces, which lie in L2, hardly tell. Of one
  // thread alone: tuner/space/costs.h tells what several leave each other.
  double l2_rate = 64, l3_rate = 20, memory_rate = 7;
  // What these figures leave out, chosen so that programs of hand-made structures come out in the
  // order of their measured times (tests/unit/model/analytic_test.cpp).
  double entry_cycles = 2;  // around each run of a body: counters, addresses, a branch
  double exit_cycles = 8;   // the last branch of a loop is often guessed wrong
  // Share of the time that should overlap with the slowest part but does not.
  double hidden_share = 0.15;
};

// From the target and the fingerprint where they know, else the defaults.
Core core_of(const Target& target, const Fingerprint& fingerprint);

// The model of one nest. Thread-safe.
class AnalyticModel {
 public:
  AnalyticModel(const ir::Nest& nest, const Core& core);
  // `values` are the values of the nest's sizes.
  double cycles(std::span<const std::int64_t> values) const;

 private:
  struct BlockWork {
    analysis::FootprintPlan plan;
    bool reduces;
    // Of a sum by a sparse literal, for each iteration: what lowering leaves of the operations, and
    // loads and stores. 0: no such sum.
    double operations = 0, accesses = 0;
    double stored = 0;       // bytes of the output that it writes
    bool streaming = false;  // past the caches
  };
  double core_cycles(const BlockWork& part, const analysis::Footprint& f) const;
  double sparse_cycles(const BlockWork& part, const analysis::Footprint& f) const;
  double memory_cycles(const BlockWork& part, const analysis::Footprint& f, double core) const;

  Core core_;
  double touched_ = 0;            // bytes of all inputs and outputs
  std::vector<BlockWork> parts_;  // blocks that run with the program, not in prepare()
};

using AnalyticScorer = NestScorer<AnalyticModel, Core>;

}  // namespace lathe::model
