// The scheduled loop program, with open sizes: scheduled once, instantiated many times
// (docs/nest.md works an example through).
//
// A Nest is a small arena of plain structs: a tree of loops whose leaves are blocks. A block
// computes one element of one buffer for given values of its iterators; an iterator's value is
//     offset + sum over digits of  weight * ((loop / div) % mod)
// so split replaces a digit by two, fuse gives one loop several digits, reorder permutes the tree,
// and no div or mod is left to simplify: div and mod appear only for fused loops. Blocks run in
// tree order. Iterations where an iterator lies outside [0, extent) do not run (that is what a tail
// is); how lowering removes them is the loop's tail attribute.
//
// Buffers are addressed in the coordinates of the tensor they hold, also caches: where a cache
// lives and how it is laid out is only storage (Buffer::scope, at, layout).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "compiler/ir/expr/expr.h"
#include "compiler/ir/nest/sizes.h"

namespace lathe::ir {

using LoopId = int;  // index into Nest::loops; kRoot is the place outside every loop
using BlockId = int;
using BufferId = int;
inline constexpr LoopId kRoot = -1;

enum class LoopKind : std::uint8_t {
  kSerial,
  kVectorized,
  kUnrolled,
  kParallel,
  // GPU bindings: in the data structures from the start, refused by CPU back ends.
  kBlockX,
  kBlockY,
  kBlockZ,
  kThreadX,
  kThreadY,
  kThreadZ,
};
inline constexpr int kLoopKinds = 10;
// "serial", "vectorize", "unroll", "parallel", "blockIdx.x" ...
const char* name_of(LoopKind kind);

// What happens to the iterations of a split that lie beyond the extent, and to reads that leave a
// tensor.
enum class Tail : std::uint8_t {
  // a second copy of the code for the tail, with static sizes; borders of padded reads likewise
  kPeel,
  kMask,   // every iteration is guarded (vector lanes are masked)
  kShift,  // the last tile starts earlier and recomputes some elements
  kPad,    // the tail is computed: every buffer touched is padded, only stores are guarded
};
const char* name_of(Tail tail);  // "peel"

struct Item {  // a child in the tree
  enum class Kind : std::uint8_t { kLoop, kBlock } kind;
  int id;
  friend bool operator==(const Item&, const Item&) = default;
};

struct Prefetch {
  BufferId buffer;
  // how far ahead of the read, in bytes of the buffer's storage; a knob may make it 0: off
  SizeId bytes;
};

struct Loop {
  std::string name;  // unique among live loops
  SizeId extent = SizeId::kNone;
  LoopId parent = kRoot;
  std::vector<Item> body;
  LoopKind kind = LoopKind::kSerial;
  Tail tail = Tail::kPeel;
  std::vector<Prefetch> prefetch;
  // tensorize: the subtree is done by this intrinsic; empty if not
  std::string intrinsic;
  bool dead = false;  // replaced by a step; ids stay stable
};

struct Digit {
  LoopId loop;
  SizeId weight;
  SizeId div = SizeId::kNone;  // kNone: 1
  SizeId mod = SizeId::kNone;  // kNone: no wrap
};

enum class IterKind : std::uint8_t { kSpatial, kReduce };
struct BlockIter {
  std::string name;
  SizeId extent = SizeId::kNone;  // of the domain, before any split
  IterKind kind = IterKind::kSpatial;
  std::vector<Digit> digits;  // loops this block is inside of; most significant first
  // kNone: 0. A computed-at block starts where its consumer's box starts
  SizeId offset = SizeId::kNone;
  // A guard is in no index and no body; it only keeps iterations out. Splitting a loop of 14 that
  // is not the most significant digit of its iterator by 4 makes iterations 14 and 15 that are
  // inside the iterator's domain but belong to the next iteration of an outer loop: a guard with
  // extent 14 and the two new digits removes them.
  bool guard = false;
};

// A reduction block initialises its element before the first of its reduction iterations and then
// accumulates. Its reduction loops are those that drive a reduction iterator of it and no spatial
// one (is_reduction_loop). A block that reads, directly or through other blocks, the result of a
// reduction block whose reduction loops are around both, runs in the last iteration of those loops
// only; a write-back (is_write_back) runs in every one.
struct Block {
  std::string name;
  std::vector<BlockIter> iters;
  BufferId writes = -1;
  std::vector<Affine> index;  // element written, affine in iters
  ReduceOp reduce = ReduceOp::kNone;
  Expr body;  // Read.tensor is a BufferId; iterators index `iters`
  LoopId parent = kRoot;
  bool dead = false;
};

enum class Scope : std::uint8_t {
  kInput,
  kOutput,   // the caller's tensors
  kLiteral,  // a table in the code
  kMemory,   // an intermediate, lives from its first write to its last read
  // SSA values; every index inside `at` must be unrolled or vectorized
  kRegister,
  kShared,
  kLocal,  // GPU
};
const char* name_of(Scope scope);

// One digit of a storage layout: (coordinate[dim] / weight) % (next larger weight of that dim).
// Listed from the outermost in memory to the innermost; weights of a dim divide each other; the
// innermost weight of each dim is 1. The outermost digit of a dim has extent ceildiv(size, weight):
// the storage is padded up to it.
struct LayoutDigit {
  int dim;
  SizeId weight;
};

struct Buffer {
  std::string name;
  Dtype dtype = Dtype::kF32;
  std::vector<SizeId> shape;  // of the tensor, not of the storage
  Scope scope = Scope::kMemory;
  bool constant = false;  // input known when prepare() runs, or computed from such alone
  std::vector<double> literal;
  // storage holds what one iteration of this loop touches (kRoot: everything)
  LoopId at = kRoot;
  std::vector<LayoutDigit> layout;  // empty: row-major
  // elements added to every row of the outermost storage digit but one
  std::int64_t pad_stride = 0;
  BufferId cache_of = -1;  // for caches: the buffer cached
};

struct Nest {
  Sizes sizes;
  std::vector<Loop> loops;
  std::vector<Block> blocks;
  std::vector<Buffer> buffers;
  std::vector<Item> root;  // top of the tree, in order

  const std::vector<Item>& children(LoopId parent) const {
    return parent == kRoot ? root : loops[parent].body;
  }
  std::vector<Item>& children(LoopId parent) { return parent == kRoot ? root : loops[parent].body; }
  LoopId parent_of(Item item) const {
    return item.kind == Item::Kind::kLoop ? loops[item.id].parent : blocks[item.id].parent;
  }
  void set_parent(Item item, LoopId parent) {
    (item.kind == Item::Kind::kLoop ? loops[item.id].parent : blocks[item.id].parent) = parent;
  }

  // -1 if there is none alive with this name.
  LoopId find_loop(std::string_view name) const;
  BlockId find_block(std::string_view name) const;
  BufferId find_buffer(std::string_view name) const;

  // also if ancestor is kRoot; a loop is inside itself
  bool is_inside(Item item, LoopId ancestor) const;
  std::vector<LoopId> loops_around(BlockId block) const;  // outermost first
  // outermost first, `loop` last; empty for kRoot
  std::vector<LoopId> path_to(LoopId loop) const;
  std::vector<BlockId> blocks_in(LoopId loop) const;  // tree order
  std::vector<BlockId> blocks_in_order() const { return blocks_in(kRoot); }
  // the block that computes it: behind a write-back, the one that computes the cache; -1 if none
  BlockId writer_of(BufferId buffer) const;
  // copies a cache into the buffer it caches
  bool is_write_back(BlockId block) const;
  bool is_reduction_loop(BlockId block, LoopId loop) const;
};

// A nest with its sizes filled in: what lowering and features read.
struct SizedNest {
  const Nest* nest;
  std::vector<std::int64_t> values;  // of nest->sizes

  SizedNest(const Nest& n, std::span<const std::int64_t> knobs) : nest(&n) {
    n.sizes.evaluate(knobs, values);
  }
  std::int64_t operator[](SizeId id) const { return values[static_cast<std::size_t>(id)]; }
  std::int64_t or_else(SizeId id, std::int64_t absent) const {
    return id == SizeId::kNone ? absent : (*this)[id];
  }
  std::int64_t extent(LoopId loop) const { return (*this)[nest->loops[loop].extent]; }
};

// The program as text, for people and goldens; with sizes, numbers instead of formulas.
std::string print(const Nest& nest);
std::string print(const SizedNest& nest);

// The tree's and the tables' own rules (links both ways, names unique, digits of live enclosing
// loops, shapes of indices). An error here is a bug in a step.
Status verify(const Nest& nest);

}  // namespace lathe::ir
