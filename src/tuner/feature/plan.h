// Features of one nest. Everything that does not depend on a configuration is computed once, in a
// plan; a row is then arithmetic on the values of the nest's sizes, without allocation.
//
// A context row describes kLoops loops around the main block (analysis/footprint.h), aligned at the
// innermost, and then some globals. Of more loops, the outermost are left out; fewer loops are
// preceded by loops of length one, to which they are equivalent. loop_context.h tells what
// describes a loop. The globals are what kernels were seen to depend on besides loops: registers,
// code size, cache traffic, balance, waste, copies.
//
// A relation row is R (paper, section 4). For each buffer and threshold beta_t it looks at the
// loops with a touch count below beta_t, and holds their largest log2 reuse ratio and their largest
// -log2 top-down; kNoLoop where there are no such loops. (Top-down falls from loop to loop outwards
// while touch counts rise, so its own maximum would always be the innermost loop's. The negative
// tells how often the largest working set below beta_t is brought in.)
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compiler/analysis/footprint.h"
#include "compiler/ir/nest/nest.h"
#include "tuner/feature/loop_context.h"

namespace lathe::feature {

inline constexpr int kLoops = 16;
inline constexpr int kThresholds = 18;  // beta_t = 2^(1.5 t), t = 1 ...
inline constexpr double kThresholdStep = 1.5;
inline constexpr float kNoLoop = -64;  // below every -log2 top-down

// Working sets are compared with these caches and not with the machine's own, so that a stored
// model means the same everywhere.
inline constexpr double kCacheBytes[] = {32.0 * 1024, 1024.0 * 1024, 32.0 * 1024 * 1024};

class Plan {
 public:
  explicit Plan(const ir::Nest& nest);            // of the main block, beside the others
  Plan(const ir::Nest& nest, ir::BlockId block);  // of this one alone: others have no work

  const analysis::FootprintPlan& footprint_plan() const { return main_; }
  void globals(const analysis::Footprint& f, std::span<const std::int64_t> values,
               float* out) const;

 private:
  friend void context_row(const Plan&, std::span<const std::int64_t>, float*);
  friend void relation_row(const Plan&, std::span<const std::int64_t>, float*);
  double work(const std::vector<std::vector<ir::SizeId>>& blocks,
              std::span<const std::int64_t> values) const;

  analysis::FootprintPlan main_;
  // Extents of the loops around blocks that pack or pad in a run.
  std::vector<std::vector<ir::SizeId>> copies_;
  std::vector<std::vector<ir::SizeId>> others_;  // the same for all other blocks but the main block
  std::vector<int> held_at_;  // for each slot: loops inside the place of its copy; -1: no copy
  std::vector<ir::SizeId> prefetch_;  // bytes ahead
  // Of the traffic of a program that stores nothing past the caches: such a store does not read
  // what it overwrites.
  double traffic_left_;
};

// Writes the context of the `loops` innermost loops, from the outermost of them on.
void context_loops(const analysis::FootprintPlan& plan, const analysis::Footprint& f, int loops,
                   float* out);
std::vector<std::string> context_loop_names(int loops);
int globals_width();
std::vector<std::string> global_names();

int context_width();
int relation_width();
std::vector<std::string> context_names();
std::vector<std::string> relation_names();

// `values` are the values of the sizes of the plan's nest; out has room for the width.
void context_row(const Plan& plan, std::span<const std::int64_t> values, float* out);
void relation_row(const Plan& plan, std::span<const std::int64_t> values, float* out);

}  // namespace lathe::feature
