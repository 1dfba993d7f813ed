// A place of the code: how the loops around are bound there, and what follows for constraints.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/lower/expand/lin.h"
#include "compiler/lower/expand/plan.h"

namespace lathe::lower {

struct Binding {
  enum class Kind { kUnbound, kStatic, kDynamic, kLane } kind = Kind::kUnbound;
  std::int64_t value = 0;  // kStatic
  // kStatic: an iterator with weight shift_weight starts `shift` elements later.
  std::int64_t shift = 0, shift_weight = 1;
  int var = -1;     // kDynamic
  struct Derived {  // kDynamic, fused: (var / div) % mod
    std::int64_t div, mod;
    int var;  // -1: the digit is known to be `value`
    std::int64_t value;
  };
  std::vector<Derived> derived;
};

enum class Status { kAlways, kNever, kSometimes };

// The emitter binds loops on its way down and undoes it on its way up.
struct Place {
  explicit Place(const Plan& plan);

  const Plan& plan;
  std::vector<Binding> bound;  // by loop
  std::vector<Range> ranges;   // by variable of the flat program
  // By block and constraint: the loops around make sure that it holds.
  std::vector<std::vector<char>> proven;
  // By block and constraint: a loop around was not cut for it, for that would make too much code.
  // Further inside, the code asks once whether it holds.
  std::vector<std::vector<char>> deferred;
  // By loop: the place that its iteration has in memory of the group with several stages.
  std::vector<Lin> stage;
  int lanes = 1;  // of the vectorized loop around
  // Above 0 in code for iterations of which padding may leave some out.
  int guarded = 0;
  std::optional<BlockId> init_of;  // set while only the initialisation of this block is emitted

  Range digit_range(const LoopDigit& digit) const;
  Range iter_range(const BlockPlan& block, int iter, bool clipped) const;
  Range constraint_range(const BlockPlan& block, const Constraint& c) const;
  Status status(const BlockPlan& block, int constraint) const;
  bool always_runs(BlockId id) const;  // no constraint of the block can fail here
  bool may_skip(BlockId id, const Constraint& c, LoopId loop) const;
  bool never_runs(BlockId id, LoopId at) const;
  bool none_runs(LoopId loop, LoopId at) const;  // of the blocks inside `loop`
  std::vector<BlockId> blocks_in_view(LoopId loop) const;
  Lin digit_lin(const LoopDigit& digit) const;
  // Where all digits of a loop's number stand in the form as in a multiple of it, that multiple
  // takes their place.
  void join_digits(Lin& lin) const;
  Lin iter_lin(const BlockPlan& block, int iter) const;
  Lin affine_lin(const BlockPlan& block, const std::vector<ir::AffineTerm>& terms,
                 std::int64_t offset) const;
};

}  // namespace lathe::lower
