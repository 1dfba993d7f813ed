// Emits blocks: what one iteration computes, reads and writes at its place of the code.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/ir/expr/index_range.h"
#include "compiler/ir/flat/flat.h"
#include "compiler/lower/expand/code.h"
#include "compiler/lower/expand/place.h"
#include "compiler/lower/lower.h"

namespace lathe::lower {

struct Instance {  // a block at one place in the code
  BlockId id;
  const BlockPlan* plan;
  int lanes = 1;
  flat::Expr mask;  // lanes that run; null: all
  // Lanes among these that have a term of the reduction; null: all.
  flat::Expr adding;
  flat::Expr condition;  // a scalar; null: always true
  // A scalar. What is computed where it is false is never stored, but must not be loaded.
  flat::Expr loads_condition;
  std::map<PaddedRead, flat::Expr> read_conditions;  // of padded reads that may leave their tensor
  // Inside a Select: where its value is used; null: everywhere.
  flat::Expr reached;
  // The lanes are iterations of its reduction.
  bool across = false;
  // What a padded read has outside its tensor is a term like any other; else such an iteration is
  // left out of its sum.
  bool keeps_pads = false;
};

struct Address {
  flat::Expr index;                        // a scalar; a vector where lanes are not consecutive
  bool is_vector = false, uniform = true;  // uniform: the same element in every lane
  std::optional<std::int64_t> fixed;       // the element of lane 0, if known
  bool inside = true;                      // every lane is known to lie inside the storage
  std::int64_t multiple = 1;               // divides the element of lane 0; 0: that is 0
};

class BlockEmitter {
 public:
  BlockEmitter(const Plan& plan, const Place& place, Code& code, const Limits& limits)
      : plan_(plan), nest_(plan.nest), place_(place), code_(code), limits_(limits) {}

  // Nothing where the block does not run here.
  void emit_block(BlockId id);

  // While a loop's body is emitted, accesses to the buffer prefetch what lies so far ahead. A loop
  // that reads the same part of it in each iteration shares the lines among these.
  struct ActivePrefetch {
    BufferId buffer;
    std::int64_t elements;
    LoopId again = ir::kRoot;  // that loop
    std::vector<flat::Expr> done = {};
  };
  std::vector<ActivePrefetch>& prefetches() { return state_.prefetches; }

  struct State {  // what emitting code changes
    std::map<std::pair<BufferId, std::int64_t>, int> registers;
    std::vector<ActivePrefetch> prefetches;
    std::int64_t accesses = 0;  // in the code so far
  };
  // How blocks fill memory of a group: at once; into registers, from which the same code stores it
  // later; by asynchronous copies, where these can do it, and at once elsewhere; or by such copies
  // and elsewhere into registers, from which the same code, without its copies, stores it later.
  enum class Filling : std::uint8_t { kAtOnce, kHold, kRelease, kCopy, kCopyOrHold, kReleaseRest };
  void set_filling(Filling filling) {
    filling_ = filling;
    released_ = 0;
    if (filling == Filling::kHold || filling == Filling::kCopyOrHold) held_.clear();
  }
  Filling filling() const { return filling_; }
  bool copies() const { return filling_ == Filling::kCopy || filling_ == Filling::kCopyOrHold; }
  bool holds() const { return !held_.empty(); }

  const State& state() const { return state_; }
  void set_state(State state) { state_ = std::move(state); }
  std::int64_t accesses() const { return state_.accesses; }

  // before (op) the block's body.
  flat::Expr accumulated(const Instance& at, const flat::Expr& before);
  flat::Expr read_element(const Instance& at, BufferId buffer, const std::vector<ir::Affine>& index,
                          const flat::Expr& condition, double pad);
  void emit_write(const Instance& at, BufferId buffer, flat::Expr value);
  // The element of a literal that the block reads, where every loop that moves it is a number; 0
  // where the literal has no such element.
  double literal_element(BlockId id, const ir::Read& read) const;
  // Finds lanes, masks and conditions. Returns false where the block does not run.
  bool prepare_instance(Instance& at) const;
  void emit_guarded(const Instance& at, const flat::Stmt& stmt);
  flat::Expr translate(const Instance& at, const ir::Expr& e);

  static flat::BinaryOp operation_of(const ir::Block& block);  // of a reduction

 private:
  // blocks.cpp
  void emit_init(BlockId id);
  static flat::Expr stored_lanes(const Instance& at);
  void emit_accumulate(const Instance& at);
  bool emit_scanned_lanes(const Instance& at);
  bool starts_here(const Instance& at) const;
  flat::Expr across_lanes(const Instance& at);
  flat::Expr condition_of(const BlockPlan& plan, const Constraint& c, int lanes) const;
  flat::Expr chosen(const Instance& at, const ir::Select& choice);

  // access.cpp
  struct DigitValue {  // of a coordinate: one of these, or neither
    std::optional<Lin> lin;
    flat::Expr expr;
    std::int64_t values = 0;  // that the expression takes, from 0 on
  };
  DigitValue digit_value(const Lin& coordinate, const LayoutDigit& digit, int lanes) const;
  // `rests`: by dimension, what is added to the affine index; none, or null: nothing.
  Address address(const Instance& at, BufferId buffer, const std::vector<ir::Affine>& index,
                  const std::vector<flat::Expr>& rests = {}) const;
  flat::Expr load_element(const Instance& at, BufferId buffer, const Address& where,
                          const flat::Expr& condition, double pad);
  flat::Expr place_or_another(const Instance& at, BufferId buffer,
                              const std::vector<ir::Affine>& index, const Address& where,
                              const flat::Expr& condition) const;
  void count_access();  // fails beyond the limit
  std::int64_t fixed_element(BufferId buffer, const Address& where) const;  // of a register tile
  int register_of(BufferId buffer, std::int64_t offset, flat::Type type);
  flat::Expr held_or_released(flat::Expr value);
  bool emit_copy(const Instance& at);
  flat::Expr lower_mask(const Instance& at, BufferId buffer, const Address& address,
                        const flat::Expr& condition) const;

  // prefetches.cpp
  void emit_prefetch(BufferId buffer, const Address& address);
  void share_prefetches(const Instance& at, BufferId buffer, const std::vector<ir::Affine>& index,
                        const Address& address);

  // lookups.cpp
  struct Row;  // of an index
  Row row_of(const Instance& at, const ir::Expr& index, std::int64_t size);
  ir::IndexRange range_here(const BlockPlan& plan, const ir::Expr& e) const;
  void join_row(const Instance& at, Row& row) const;
  void keep_inside(const Instance& at, Row& row) const;
  flat::Expr is_inside(const Instance& at, const Row& row) const;
  flat::Expr lookup_element(const Instance& at, const ir::Lookup& lookup);

  const Plan& plan_;
  const ir::Nest& nest_;
  const Place& place_;
  Code& code_;
  const Limits& limits_;
  State state_;
  Filling filling_ = Filling::kAtOnce;
  std::vector<int> held_;  // registers, in the order in which they are written
  std::size_t released_ = 0;
};

}  // namespace lathe::lower
