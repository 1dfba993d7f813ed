// The plan of a nest: what is known before any code is emitted, and does not change afterwards.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
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

// Thrown inside this folder for what lower() returns as an error.
struct Refused {
  Error error;
};
template <class... Args>
[[noreturn]] void refuse(ErrorKind kind, fmt::format_string<Args...> format, Args&&... args) {
  throw Refused{{kind, fmt::format(format, std::forward<Args>(args)...), {}}};
}

// weight * ((loop / div) % mod), now with numbers; mod 0: none.
struct LoopDigit {
  LoopId loop;
  std::int64_t weight, div, mod;
  bool plain() const { return div == 1 && mod == 0; }
};

struct Iter {
  std::vector<LoopDigit> digits;
  std::int64_t offset = 0, extent = 0;
  bool reduce = false, guard = false;
};

// The node of an ir::PaddedRead: a padded read, or the Select that inlining made of one.
using PaddedRead = const void*;

struct Constraint {
  enum class Kind {
    kDomain,  // an iterator is inside its domain; else the iteration does not run
    // A padded read is inside its tensor; else the iteration adds the reduction's identity, so it
    // is skipped.
    kKill,
    kSelect,  // a padded read is inside its tensor; else it has the pad value
  } kind;
  int iter = -1;                               // kDomain
  PaddedRead read = nullptr;                   // kKill, kSelect
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

struct LayoutDigit {
  int dim;
  // In coordinates; 0 for the outermost digit of its dim.
  std::int64_t weight, modulus, stride;
};
struct Storage {
  bool is_register = false;
  int buffer = -1;  // of the flat program
  struct Start {
    std::vector<LoopDigit> digits;
    std::int64_t offset = 0;
  };
  std::vector<Start> start;          // for each dim: the coordinate of the first element held
  std::vector<std::int64_t> extent;  // for each dim
  std::vector<LayoutDigit> digits;   // outermost first
  std::int64_t size = 0;             // elements, of all stages
  std::int64_t stage = 0;            // elements of one stage
};

// Of a buffer in registers of a group's items: along the dimension, item i of an axis has the
// elements whose coordinate / weight is i, less a multiple of `count`.
struct SpreadDigit {
  int dim;
  ir::LoopKind axis;  // kThreadX, kThreadY or kThreadZ
  std::int64_t weight, count;
  friend bool operator==(const SpreadDigit&, const SpreadDigit&) = default;
};

struct Plan {
  const ir::SizedNest& sized;
  const ir::Nest& nest;
  std::vector<BlockPlan> blocks;
  std::vector<Storage> storage;                  // by buffer
  std::vector<std::vector<SpreadDigit>> spread;  // by buffer
  std::vector<std::vector<BlockId>> blocks_in;   // by loop
  std::vector<char> prepared;                    // by buffer: prepare() fills it
  std::vector<BufferId> lies_in;                 // by buffer: the output that holds it; -1: none
  // By loop: its first and last iterations have duties, so none may be skipped.
  std::vector<char> keeps_iterations;
  std::optional<Grids> grids;  // none: kernels run on threads, which share the work of regions

  bool inside(LoopId loop, LoopId ancestor) const;  // strictly
  bool in_parallel(LoopId loop) const;              // or in one that is bound to a grid
  bool is_cache_of(BufferId cache, BufferId buffer) const;
  // True if loops of items are in the same kernel as this loop: a group has several items.
  bool has_items(LoopId loop) const;
  bool is_of_group(BufferId buffer) const {
    return nest.buffers[buffer].scope == ir::Scope::kGroup;
  }
  // The loops that share out the block's work among the points of a grid, outermost first. What a
  // block does for memory of a group it does for all items, whatever loops of items are around that
  // memory.
  std::vector<LoopId> bound_over(BlockId block) const;
  bool is_of_lanes(BufferId buffer) const {
    return nest.buffers[buffer].scope == ir::Scope::kLanes;
  }
  // True if several items of a group have a part of the buffer each, in registers.
  bool is_spread(BufferId buffer) const { return !spread[buffer].empty(); }
  // The block alone in the loop that sums up what the items of a warp have, where the loop goes
  // through these; -1: none.
  BlockId sum_of_lanes(LoopId loop) const;
  // True if items exchange registers inside the loop.
  bool items_exchange_in(LoopId loop) const;
  // True if items of a group may have to meet inside the loop: a block there fills memory of the
  // group, and another one touches it.
  bool items_meet_in(LoopId loop) const;
  // Into how many places in turn the iterations of the loop copy what they stage; 1: into one.
  int stages_of(LoopId loop) const;
  // True if the item in the loop's body does nothing but such copies.
  bool fills_stage(const ir::Item& item, LoopId loop) const;
  bool reduces_over(BlockId block, LoopId loop) const;
  bool involves(const BlockPlan& block, const Constraint& c, LoopId loop) const;
  std::vector<BlockId> blocks_of(const ir::Item& item) const;
  Range free_range(const LoopDigit& digit) const;  // of weight * digit, with the loop unbound
  // The (div, mod) of each digit that the blocks inside take of the loop.
  std::vector<std::pair<std::int64_t, std::int64_t>> fused_digits(LoopId loop) const;
  bool has_fused_digit(LoopId loop) const;
};

struct Planned {
  Plan plan;
  flat::Program frame;  // without code: buffers, borders and the sizes of the scratch areas
};
// Throws Refused.
Planned make_plan(const ir::SizedNest& nest, const Limits& limits,
                  const std::optional<Grids>& grids);

}  // namespace lathe::lower
