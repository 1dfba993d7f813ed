// A rule derives the space of one kind of workload: knobs, constraints on them, and the sketch for
// given structural choices.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/target.h"
#include "compiler/te/workload.h"
#include "tuner/space/space.h"

namespace lathe::space {

// Demands size <= most, for a size that depends on knobs.
struct Constraint {
  std::string why;
  ir::SizeId size;
  std::int64_t most;
};

// A knob, and its values under which others have an effect. -1: they always have.
struct Under {
  int knob = -1;
  std::vector<std::uint16_t> values;
};

// Starts beside the default: a batch in all.
inline constexpr std::size_t kMostOthers = 7;

struct Derived {
  std::vector<Knob> knobs;
  ir::Sizes sizes;  // of the constraints; knob k in it is knobs[k]
  std::vector<Constraint> constraints;
  std::vector<std::int64_t> start;  // knob values of the analytic default
  // Of algorithms that may be as good, the most promising first.
  std::vector<std::vector<std::int64_t>> other_starts;
  // Makes the sketch for these knob values, looking at structural ones only. Fails if these choices
  // do not go together.
  std::function<Result<Sketch>(std::span<const std::int64_t>)> build;
};

// Of a direct sum, where the contract demands another algorithm.
inline std::unexpected<Error> not_direct() {
  return fail(ErrorKind::kInvalidArgument, "the workload demands an algorithm that is not direct");
}

// Multi-level tiling around a register tile: every workload with a spatial axis.
Result<Derived> derive_register_tile(const te::Workload& workload, const CpuTarget& target,
                                     Flavour flavour);

}  // namespace lathe::space
