// Makes the flat program: walks over the nest and emits code for what is known at each place
// ("partial evaluation").
//
// A loop variable is bound to a number (unrolled, a peeled tail, an edge), to a variable of the
// flat program, or to the lanes of a vector. Everything that can go wrong in an iteration (a tail,
// a read that leaves its tensor) is a Constraint: a bound on a sum of loop digits. On the way down,
// loops are narrowed, partitioned into edges and an interior, or left alone. At a block, every
// constraint then is known to hold, is known to fail, or has become a mask.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/target.h"
#include "compiler/ir/flat/flat.h"
#include "compiler/ir/nest/nest.h"
#include "compiler/lower/expand/lin.h"
#include "compiler/lower/lower.h"

namespace lathe::lower {

using ir::BlockId;
using ir::BufferId;
using ir::LoopId;

// Thrown and caught in this folder only; lower() returns it as an error.
struct Refused {
  Error error;
};
template <class... Args>
[[noreturn]] void refuse(ErrorKind kind, fmt::format_string<Args...> format, Args&&... args) {
  throw Refused{{kind, fmt::format(format, std::forward<Args>(args)...), {}}};
}

// weight * ((loop / div) % mod), now with numbers; mod 0: none.
struct Digit {
  LoopId loop;
  std::int64_t weight, div, mod;
  bool plain() const { return div == 1 && mod == 0; }
};

struct Iter {
  std::vector<Digit> digits;
  std::int64_t offset = 0, extent = 0;
  bool reduce = false, guard = false;
};

// The node of an ir::Border: a padded read, or the Select that inlining made of one.
using Border = const void*;

struct Constraint {
  enum class Kind {
    kDomain,  // an iterator is inside its domain; else the iteration does not run
    // A padded read is inside its tensor; else the iteration adds the reduction's identity, so it
    // is skipped.
    kKill,
    kSelect,  // a padded read is inside its tensor; else it has the pad value
  } kind;
  int iter = -1;                               // kDomain
  Border border = nullptr;                     // kKill, kSelect
  std::vector<ir::AffineTerm> terms;           // over the block's iterators
  std::int64_t offset = 0, low = 0, high = 0;  // low <= value < high
  bool beyond_domain = false;                  // holds for iterations outside the domain, too
};

struct BlockPlan {
  std::vector<Iter> iters;
  std::vector<Constraint> constraints;
  std::vector<LoopId> path;  // loops around the block, outermost first
  bool live = true;          // false: a write-back whose result nobody reads
  // The first reduction loop inside the storage of the result; kRoot: none.
  LoopId init_loop = ir::kRoot;
  // Reduction loops outside that storage: accumulators are reloaded there.
  std::vector<LoopId> resumed_over;
  struct Progress {  // how far the reduction of `producer` is, over these of its loops
    BlockId producer = -1;
    std::vector<LoopId> loops;
  };
  // The block waits until each of these is in its last iteration.
  std::vector<Progress> only_in_last;
  // A write-back is needed only while this goes on; no loops: always.
  Progress never_in_last;
};

struct StorageDigit {
  int dim;
  // In coordinates; 0 for the outermost digit of its dim.
  std::int64_t weight, modulus, stride;
};
struct Storage {
  bool is_register = false;
  int buffer = -1;  // of the flat program
  struct Start {
    std::vector<Digit> digits;
    std::int64_t offset = 0;
  };
  std::vector<Start> start;          // for each dim: the coordinate of the first element held
  std::vector<std::int64_t> extent;  // for each dim
  std::vector<StorageDigit> digits;  // outermost first
  std::int64_t size = 0;             // elements
};

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

class Expander {
 public:
  Expander(const ir::SizedNest& nest, const Target& target, const Limits& limits);
  flat::Program run();

 private:
  // plan.cpp: fixes what it can before emission starts.
  void plan_blocks();
  void add_borders(BlockId id);
  void plan_reductions(BlockId id);
  bool leaves_out_terms(BlockId id, LoopId loop) const;
  void plan_consumers(BlockId id);
  void inherit_waits(BlockId id);
  void drop_dead_write_backs();
  void plan_storage(BufferId id);
  void plan_layout(BufferId id, Storage& storage);
  void fill_padding(BlockId id);
  void plan_borders();
  std::vector<BlockId> blocks_of(const ir::Item& item) const;
  void plan_prepare();
  void allocate();
  bool inside(LoopId loop, LoopId ancestor) const;  // strictly
  bool in_parallel(LoopId loop) const;
  bool is_cache_of(BufferId cache, BufferId buffer) const;
  Range free_range(const Digit& digit) const;  // of weight * digit while the loop is unbound

  // constraints.cpp
  Range digit_range(const Digit& digit) const;
  Range iter_range(const BlockPlan& block, int iter, bool clipped) const;
  Range constraint_range(const BlockPlan& block, const Constraint& c) const;
  Status status(const BlockPlan& block, int constraint) const;
  bool involves(const BlockPlan& block, const Constraint& c, LoopId loop) const;
  bool may_skip(BlockId id, const Constraint& c, LoopId loop) const;
  bool never_runs(BlockId id, LoopId at) const;
  Lin digit_lin(const Digit& digit) const;
  Lin iter_lin(const BlockPlan& block, int iter) const;
  Lin affine_lin(const BlockPlan& block, const std::vector<ir::AffineTerm>& terms,
                 std::int64_t offset) const;

  // loops.cpp
  struct Pending {  // a constraint in which a loop takes part
    BlockId block;
    int constraint;
    std::int64_t weight;  // of the loop in the constraint; 0: not linear in the loop
    bool inner;           // unbound loops inside add to it, too
  };
  void emit_items(const std::vector<ir::Item>& items);
  void emit_loop(LoopId loop);
  void emit_inits_before(LoopId loop);
  void emit_unrolled(LoopId loop);
  bool not_worth_unrolling(LoopId loop) const;
  void emit_vectorized(LoopId loop);
  void emit_dynamic(LoopId loop);
  std::int64_t shift_of(LoopId loop, const Pending& p) const;
  void emit_static_iteration(LoopId loop, std::int64_t value, const std::vector<Pending>& pending);
  void emit_body(LoopId loop);
  void emit_guarded_body(LoopId loop);
  void emit_chain(LoopId loop, std::size_t digit);
  bool acts_vectorized(LoopId loop) const;
  bool stays_a_loop(LoopId loop) const;
  struct Bounds {  // of a loop, after narrowing
    std::int64_t begin, end;
    flat::Expr dynamic_begin, dynamic_end;  // null: the numbers hold
    std::vector<std::pair<BlockId, int>> proven;
  };
  void emit_narrowed(LoopId loop, const Bounds& bounds, const std::vector<Pending>& pending);
  std::vector<BlockId> blocks_in_view(LoopId loop) const;
  bool reduces_over(BlockId block, LoopId loop) const;
  bool has_fused_digit(LoopId loop) const;
  std::vector<std::pair<std::int64_t, std::int64_t>> fused_digits(LoopId loop) const;
  int new_var(const std::string& hint, Range range);
  // The statements that `emit` makes, as one
  flat::Stmt capture(const std::function<void()>& emit);

  // partition.cpp
  struct Part {  // a piece of a loop's iterations
    std::int64_t begin, end;
    bool written_out;  // each iteration gets its own code
  };
  std::vector<Pending> pending_at(LoopId loop, std::int64_t div, std::int64_t mod) const;
  bool wants_partition(LoopId loop, const Pending& p) const;
  bool can_guard(LoopId loop, const Pending& p) const;
  bool is_guarded_inside(LoopId loop, const Pending& p) const;
  flat::Expr guard_of(LoopId loop, const std::vector<Pending>& pending,
                      std::vector<std::pair<BlockId, int>>& proven) const;
  void emit_either(LoopId loop, const flat::Expr& all_inside,
                   const std::vector<std::pair<BlockId, int>>& proven);
  void leave_out_idle(LoopId loop, Bounds& bounds);
  Bounds narrow(LoopId loop, const std::vector<Pending>& pending) const;
  bool rest_is_static(const BlockPlan& plan, const Constraint& c, LoopId loop, std::int64_t div,
                      std::int64_t mod) const;
  std::vector<Part> parts_of(std::int64_t begin, std::int64_t end,
                             const std::vector<Pending>& wanted,
                             const std::function<void(std::int64_t)>& bind) const;

  // leaf.cpp
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
    std::map<Border, flat::Expr> border_conditions;  // of padded reads that may leave their tensor
    // Inside a Select: where its value is used; null: everywhere.
    flat::Expr reached;
  };
  void emit_block(BlockId id);
  void emit_init(BlockId id);
  bool prepare_instance(Instance& at) const;
  void emit_guarded(const Instance& at, const flat::Stmt& stmt);
  static flat::Expr stored_lanes(const Instance& at);
  void emit_accumulate(const Instance& at);
  flat::Expr accumulated(const Instance& at, const flat::Expr& before);
  void emit_write(const Instance& at, BufferId buffer, flat::Expr value);
  flat::Expr condition_of(const BlockPlan& plan, const Constraint& c, int lanes) const;
  struct Test {  // known, or a condition to test at run time
    std::optional<bool> known;
    flat::Expr condition;
  };
  Test first_test(const BlockPlan::Progress& progress) const;
  Test last_test(const BlockPlan::Progress& progress) const;
  Test at_least(const Lin& a, std::int64_t b) const;
  flat::Expr translate(const Instance& at, const ir::Expr& e);
  flat::Expr chosen(const Instance& at, const ir::Select& choice);
  flat::Expr read_element(const Instance& at, BufferId buffer, const std::vector<ir::Affine>& index,
                          const flat::Expr& condition, double pad);
  struct Address {
    flat::Expr index;                        // a scalar; a vector where lanes are not consecutive
    bool is_vector = false, uniform = true;  // uniform: the same element in every lane
    std::optional<std::int64_t> fixed;       // the element of lane 0, if known
    bool inside = true;                      // every lane is known to lie inside the storage
  };
  Address address(const Instance& at, BufferId buffer, const std::vector<ir::Affine>& index) const;
  bool separate(const Lin& coordinate, const StorageDigit& digit, int lanes, Lin& out) const;
  void count_access();  // fails beyond the limit
  // An element of a register tile
  std::int64_t fixed_element(BufferId buffer, const Address& where) const;
  int register_of(BufferId buffer, std::int64_t offset, flat::Type type);
  void emit_prefetch(BufferId buffer, const Address& address);
  flat::Expr lower_mask(const Instance& at, const Address& address,
                        const flat::Expr& condition) const;

  // intrinsics.cpp
  struct GemmLoops {
    LoopId rows = -1, lanes = -1, reduction = -1;
  };
  GemmLoops gemm_loops(LoopId loop, BlockId id) const;
  void emit_intrinsic(LoopId loop);

  const ir::SizedNest& sized_;
  const ir::Nest& nest_;
  const Target& target_;
  Limits limits_;
  flat::Program program_;
  std::vector<BlockPlan> blocks_;
  std::vector<Storage> storage_;
  std::vector<std::vector<BlockId>> blocks_in_;  // by loop
  std::vector<char> prepared_;                   // by buffer: prepare() fills it
  // By block and constraint: the loops around make sure that it holds.
  std::vector<std::vector<char>> proven_;
  // By loop: its first and last iterations have duties, so none may be skipped.
  std::vector<char> keeps_iterations_;
  std::vector<Binding> bound_;  // by loop
  std::vector<Range> ranges_;   // by variable
  std::vector<flat::Stmt>* out_ = nullptr;
  int lanes_ = 1;  // of the vectorized loop around
  // Above 0 in code for an edge: it runs for few iterations and should stay small.
  int borders_ = 0;
  // Above 0 in code for iterations of which padding may leave some out.
  int guarded_ = 0;
  std::optional<BlockId> init_of_;  // set while only the initialisation of this block is emitted
  std::map<std::pair<BufferId, std::int64_t>, int> registers_;
  struct ActivePrefetch {
    BufferId buffer;
    std::int64_t elements;
    std::vector<flat::Expr> done;
  };
  std::vector<ActivePrefetch> prefetches_;
  std::int64_t accesses_ = 0;
};

}  // namespace lathe::lower
