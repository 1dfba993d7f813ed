// Decides which iterations of a loop matter, and cuts the loop into edges and an interior where
// some read outside a tensor. This is where a tail is found; the emitter gives each part its code.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "compiler/ir/flat/flat.h"
#include "compiler/lower/expand/place.h"

namespace lathe::lower {

struct Pending {  // a constraint in which a loop takes part
  BlockId block;
  int constraint;
  std::int64_t weight;  // of the loop in it; 0 if it is not linear in the loop
  bool inner;           // unbound loops inside still add to it
};

using BlockConstraint = std::pair<BlockId, int>;

struct Bounds {  // of a loop after narrowing
  std::int64_t begin, end;
  flat::Expr dynamic_begin, dynamic_end;  // null: the numbers
  std::vector<BlockConstraint> proven;
  bool dynamic() const { return dynamic_begin || dynamic_end; }
};

struct Part {  // a piece of a loop's iterations
  std::int64_t begin, end;
  bool written_out;  // each iteration gets its own code
};
bool has_interior(const std::vector<Part>& parts);

class Partitioner {
 public:
  Partitioner(const Plan& plan, Place& place)
      : plan_(plan), sized_(plan.sized), nest_(plan.nest), place_(place) {}

  std::vector<Pending> pending_at(LoopId loop, std::int64_t div, std::int64_t mod) const;
  std::vector<Pending> wanted(LoopId loop, std::int64_t div, std::int64_t mod,
                              const std::vector<Pending>& pending) const;
  Bounds narrow(LoopId loop, const std::vector<Pending>& pending) const;
  void leave_out_idle(LoopId loop, Bounds& bounds);
  // `bind` binds the loop to a number; it stays bound.
  std::vector<Part> parts_of(std::int64_t begin, std::int64_t end,
                             const std::vector<Pending>& wanted,
                             const std::function<void(std::int64_t)>& bind) const;
  flat::Expr guard_of(LoopId loop, const std::vector<Pending>& pending,
                      std::vector<BlockConstraint>& proven) const;
  // Whether the loop need not be cut where that would make too much code.
  bool may_stay_whole(LoopId loop, const std::vector<Part>& parts,
                      const std::vector<Pending>& wanted) const;
  // Whether one of them belongs to a sum that needs a mask for each of its terms.
  bool is_of_sum(const std::vector<Pending>& wanted) const;
  // Whether a loop around was not cut for these blocks: cutting this one would make much code, too.
  bool joins_deferred(const std::vector<Part>& parts, const std::vector<Pending>& wanted) const;
  // The deferred constraints of blocks inside the loop, where one test at this place decides all
  // that the code inside asks about them; else nothing.
  std::vector<BlockConstraint> decided_at(LoopId loop) const;
  // A condition under which these hold in all iterations inside; null: there is none.
  flat::Expr test_of(const std::vector<BlockConstraint>& constraints,
                     std::vector<BlockConstraint>& proven) const;
  std::int64_t shift_of(LoopId loop, const Pending& p) const;

 private:
  bool rest_is_static(const BlockPlan& plan, const Constraint& c, LoopId loop, std::int64_t div,
                      std::int64_t mod) const;
  bool wants_partition(LoopId loop, const Pending& p) const;
  bool can_guard(LoopId loop, const Pending& p) const;
  bool is_guarded_inside(LoopId loop, const Pending& p) const;
  bool is_written_out(LoopId loop) const;
  void add_test(const BlockConstraint& constraint, flat::Expr& all,
                std::vector<BlockConstraint>& proven) const;

  const Plan& plan_;
  const ir::SizedNest& sized_;
  const ir::Nest& nest_;
  Place& place_;
};

}  // namespace lathe::lower
