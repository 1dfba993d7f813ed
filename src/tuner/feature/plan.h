// Features of one nest: everything that does not depend on a configuration is worked out once, in a
// plan; a row is then arithmetic on the nest's evaluated sizes, without allocation.
//
// A context row is kLoops loops of the longest chain (analysis/footprint.h), aligned at the
// innermost, then globals. A longer chain loses its outermost loops; a shorter one is preceded by
// loops of length one, which is what those would be. A loop is what loop_context.h says. The
// globals are what kernels were seen to depend on beyond loops: registers, code size, cache
// traffic, balance, waste, copies.
//
// A relation row is R (paper, section 4), per buffer and threshold beta_t, over loops with touch
// count below beta_t: the largest log2 reuse ratio, and the largest -log2 top-down. (Top-down falls
// from loop to loop outwards while touch counts rise, so its own maximum would be the innermost
// loop's throughout; the negative says how often the largest working set below beta_t is brought
// in.) kNoLoop where no loop qualifies.
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

// Working sets are held against these, not against the machine's own: a stored model means the same
// everywhere.
inline constexpr double kCacheBytes[] = {32.0 * 1024, 1024.0 * 1024, 32.0 * 1024 * 1024};

class Plan {
 public:
  explicit Plan(const ir::Nest& nest);

 private:
  friend void context_row(const Plan&, std::span<const std::int64_t>, float*);
  friend void relation_row(const Plan&, std::span<const std::int64_t>, float*);
  void globals(const analysis::Footprint& f, std::span<const std::int64_t> values,
               float* out) const;
  double work(const std::vector<std::vector<ir::SizeId>>& blocks,
              std::span<const std::int64_t> values) const;

  analysis::FootprintPlan main_;
  std::vector<std::vector<ir::SizeId>>
      copies_;  // extents of the loops around blocks that pack or pad at run time
  std::vector<std::vector<ir::SizeId>> others_;  // and around all others but the main block
  std::vector<int> held_at_;          // of the slots: loops inside the place of a copy; -1: no copy
  std::vector<ir::SizeId> prefetch_;  // bytes ahead
};

int context_width();
int relation_width();
std::vector<std::string> context_names();
std::vector<std::string> relation_names();

// `values` are the sizes of the plan's nest, evaluated; out has room for the width.
void context_row(const Plan& plan, std::span<const std::int64_t> values, float* out);
void relation_row(const Plan& plan, std::span<const std::int64_t> values, float* out);

}  // namespace lathe::feature
