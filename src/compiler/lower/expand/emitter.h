// Emits the code of a planned nest, from its loops down to its blocks ("partial evaluation").
//
// On the way down each loop is bound to a number (unrolled, an iteration of an edge), to a variable
// of the flat program, or to the lanes of a vector. Loops are narrowed, cut into edges and an
// interior, or left alone, until at a block every constraint is known to hold, known to fail, or
// has become a mask.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/flat/flat.h"
#include "compiler/lower/expand/block_emitter.h"
#include "compiler/lower/expand/code.h"
#include "compiler/lower/expand/partition.h"
#include "compiler/lower/expand/place.h"
#include "compiler/lower/expand/plan.h"

namespace lathe::lower {

// A block that sums multiples of the same values, written out: each result is a row of a literal.
struct LinearMap {
  BlockId block;
  std::vector<LoopId> terms;    // the reduction
  std::vector<LoopId> results;  // which multiples; they do not move the values
  std::vector<LoopId> single;   // of one iteration
  LoopId lanes = ir::kRoot;     // kRoot: bound outside, or there are none
  const ir::Read* factors;      // of the literal
  ir::Expr value;
};

class Emitter {
 public:
  // `frame` is the planned program without code.
  Emitter(const Plan& plan, flat::Program frame, const Limits& limits);
  flat::Program run();

 private:
  // grids.cpp
  flat::Program run_on_grids();
  std::vector<LoopId> bound_loops_of(const ir::Item& item) const;
  void check_all_hold(const std::vector<BlockId>& blocks, const std::vector<LoopId>& loops) const;
  void check_writes(BlockId id, const std::vector<LoopId>& around) const;
  flat::Grid grid_of(const std::vector<LoopId>& loops);
  void emit_bound(LoopId loop);
  void emit_bound_to(LoopId loop, int var);
  void emit_bound_digit(LoopId loop, std::size_t digit);
  void emit_body_in_domain(LoopId loop);

  // groups.cpp
  bool is_private(BufferId buffer) const;
  void check_group(const std::vector<BlockId>& blocks, const std::vector<LoopId>& loops) const;
  void check_filled(BlockId id) const;
  void check_reader(BlockId writer, BlockId reader, const std::vector<LoopId>& loops) const;
  void find_idle_axes(const ir::Item& item, const flat::Grid& grid);
  bool emit_for_some_items(const ir::Item& item);
  flat::Expr tests_put_off(const std::vector<BlockId>& blocks);
  flat::Expr test_of_first(const std::vector<BlockId>& blocks);
  flat::Expr item_number() const;
  void fill_warps(flat::Grid& grid);
  void emit_sum_of_lanes(LoopId loop, BlockId sum);
  int exchanged_sum(const ir::Block& block, flat::Expr own, std::int64_t parts);
  void emit_in_turns(LoopId loop);
  void emit_turn(LoopId loop, flat::Expr value, Range range);

  // loops.cpp
  void emit_items(const std::vector<ir::Item>& items);
  void emit_item(const ir::Item& item);
  void emit_loop(LoopId loop);
  void emit_inits_before(LoopId loop);
  bool starts_with_lanes(LoopId loop, BlockId id) const;
  void emit_unrolled(LoopId loop);
  bool not_worth_unrolling(LoopId loop) const;
  void emit_vectorized(LoopId loop);
  bool acts_vectorized(LoopId loop) const;
  bool stays_a_loop(LoopId loop) const;
  void emit_dynamic(LoopId loop);
  using MakeLoop = decltype(flat::for_loop)*;
  void emit_uncut(LoopId loop, MakeLoop make);
  std::vector<LoopId> shared_with(LoopId loop) const;
  void emit_shared(LoopId loop);
  void emit_parts(LoopId loop, const Bounds& bounds, const std::vector<Pending>& pending);
  void emit_narrowed(LoopId loop, const Bounds& bounds, const std::vector<Pending>& pending);
  bool emit_cut(LoopId loop, const std::vector<Part>& parts, const std::vector<Pending>& pending,
                std::int64_t most);
  void emit_static_iteration(LoopId loop, std::int64_t value, const std::vector<Pending>& pending);
  void emit_body(LoopId loop);
  int new_var(const std::string& hint, Range range);

  // chains.cpp
  void derive_digits(LoopId loop);
  void emit_guarded_body(LoopId loop);
  void emit_chain(LoopId loop, std::size_t digit);
  bool emit_cases(LoopId loop, std::size_t digit, const std::vector<Part>& parts,
                  std::int64_t most);

  // deferred.cpp
  struct Checkpoint {
    std::size_t statements, vars, regs;
    BlockEmitter::State leaf;
    std::int64_t edge_accesses;
  };
  struct Edges {  // of one loop
    Edges(const std::vector<Part>& parts, std::int64_t most_accesses);
    std::int64_t most;      // accesses of all edges of the program
    std::int64_t left = 0;  // iterations that have no code yet
    std::int64_t accesses = 0;
  };
  bool emit_edge(Edges& edges, const std::function<void()>& emit);
  Checkpoint checkpoint() const;
  void go_back(const Checkpoint& to);
  bool emit_if_small(LoopId loop, const std::vector<Part>& parts,
                     const std::vector<Pending>& wanted,
                     const std::function<bool(std::int64_t)>& emit);
  void emit_whole(const std::vector<Part>& parts, const std::vector<Pending>& wanted,
                  const std::function<void()>& emit);
  bool emit_decided(LoopId loop);
  void emit_either(const flat::Expr& all_inside, const std::vector<BlockConstraint>& proven,
                   const std::function<void()>& emit);

  // stages.cpp
  using Filling = BlockEmitter::Filling;
  bool only_copies(const ir::Item& item) const;
  std::size_t emit_copies(std::span<const ir::Item> items);
  bool emit_staged(LoopId loop);
  void bind_step(LoopId loop, const Binding& binding, Lin stage);
  bool copies_own_work(LoopId loop) const;
  void emit_fills(LoopId loop, Filling filling);
  std::vector<flat::Stmt> loads_ahead(LoopId loop, std::vector<flat::Stmt>& stores);
  void emit_staged_body(LoopId loop, int var, std::int64_t ahead);
  void emit_work(LoopId loop);
  bool can_copy() const;
  void commit_copies();
  void await_copies(std::int64_t pending);

  // linear_map.cpp
  std::optional<LinearMap> linear_map_at(LoopId loop) const;
  void emit_linear_map(const LinearMap& map);

  // intrinsics.cpp
  std::vector<LoopId> loops_of_intrinsic(LoopId loop, BlockId id,
                                         const ir::Intrinsic& intrinsic) const;
  void emit_intrinsic(LoopId loop);
  void emit_register_tile(LoopId loop, BlockId id, const ir::Intrinsic& intrinsic);

  const Plan& plan_;
  const ir::SizedNest& sized_;
  const ir::Nest& nest_;
  Code code_;
  Place place_;
  Partitioner parts_;
  BlockEmitter leaf_;
  const Limits& limits_;
  // By loop: the variable that stands for it where threads share its iterations with those of the
  // parallel loops around it, or where it is bound to a grid; else -1.
  std::vector<int> shared_;
  // Of the kernel on a grid that is being made: its grid; by block, as bits, the axes along which
  // only the first item does its work, for no loop shares it out; those of which this is so here.
  flat::Grid grid_;
  std::vector<unsigned> idle_axes_;
  unsigned first_items_ = 0;
  // Tests whether a loop has an iteration for this item, made where no items meet inside.
  struct PutOff {
    LoopId loop;
    flat::Expr inside;
  };
  std::vector<PutOff> put_off_;
  // Above 0 in code for an edge: it runs for few iterations and should stay small.
  int edges_ = 0;
  // In the code of iterations at edges so far, without that of the outermost one that is not
  // finished; before that began there were so many accesses in all.
  std::int64_t edge_accesses_ = 0;
  std::optional<std::int64_t> edge_start_;
};

}  // namespace lathe::lower
