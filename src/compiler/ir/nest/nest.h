// The scheduled loop program with open sizes: it is scheduled once and instantiated many times
// (docs/nest.md works through an example).
//
// A Nest is a small arena of plain structs: a tree of loops whose leaves are blocks. A block
// computes one element of one buffer for given values of its iterators. The value of an iterator is
//     offset + sum over digits of  weight * ((loop / div) % mod)
// So a split replaces a digit by two, a fuse gives one loop several digits, and a reorder permutes
// the tree. Div and mod appear for fused loops only; elsewhere none is left to simplify. Blocks run
// in tree order. Iterations where an iterator lies outside [0, extent) do not run: that is what a
// tail is. The tail attribute of a loop says how lowering removes them.
//
// Buffers, also caches, are addressed in the coordinates of the tensor they hold. Where a cache
// lives and how it is laid out concerns only its storage (Buffer::scope, at, layout).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "compiler/ir/expr/expr.h"
#include "compiler/ir/intrinsics/intrinsic.h"
#include "compiler/ir/nest/sizes.h"

namespace lathe::ir {

using LoopId = int;  // an index into Nest::loops; kRoot is the place outside every loop
using BlockId = int;
using BufferId = int;
inline constexpr LoopId kRoot = -1;

enum class LoopKind : std::uint8_t {
  kSerial,
  kVectorized,
  kUnrolled,
  kParallel,
  // For devices whose kernels run on grids; back ends for CPUs refuse them.
  kBlockX,
  kBlockY,
  kBlockZ,
  kThreadX,
  kThreadY,
  kThreadZ,
  // All items of a group take turns: iteration i is for item i, or i less a multiple of their
  // number. Items are counted along x first, then y, then z.
  kItems,
};
inline constexpr int kLoopKinds = 11;
// True for loops whose iterations run at the same time, in no order.
constexpr bool is_concurrent(LoopKind kind) {
  return kind == LoopKind::kParallel || kind >= LoopKind::kBlockX;
}
// True for loops that are shared out among the items of a group.
constexpr bool is_of_items(LoopKind kind) { return kind >= LoopKind::kThreadX; }
// "serial", "vectorize", "unroll", "parallel", "blockIdx.x" ..., "threadIdx"
const char* name_of(LoopKind kind);

// How lowering treats the iterations of a split that lie beyond the extent, and reads that leave
// their tensor.
enum class Tail : std::uint8_t {
  // A second copy of the code runs the tail, with static sizes; edges of padded reads likewise.
  kPeel,
  kMask,   // every iteration is guarded; lanes of vectors are masked
  kShift,  // the last tile starts earlier and recomputes some elements
  kPad,    // the tail is computed into padded buffers; only stores are guarded
};
const char* name_of(Tail tail);  // "peel"

struct Item {  // a child in the tree
  enum class Kind : std::uint8_t { kLoop, kBlock } kind;
  int id;
  friend bool operator==(const Item&, const Item&) = default;
};

struct Prefetch {
  BufferId buffer;
  // How far ahead of the read, in bytes of the buffer's storage. A knob may make it 0: no prefetch.
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
  IntrinsicId intrinsic = IntrinsicId::kNone;  // does the work of the subtree (tensorize)
  bool dead = false;                           // a step replaced it; ids stay stable
};

// One digit of an iterator's value: weight * ((loop / div) % mod).
struct LoopDigit {
  LoopId loop;
  SizeId weight;
  SizeId div = SizeId::kNone;  // kNone: 1
  SizeId mod = SizeId::kNone;  // kNone: no mod
};

enum class IterKind : std::uint8_t { kSpatial, kReduce };
struct BlockIter {
  std::string name;
  SizeId extent = SizeId::kNone;  // of the domain, before any split
  IterKind kind = IterKind::kSpatial;
  std::vector<LoopDigit> digits;  // of loops around this block; most significant first
  // kNone: 0. A computed-at block starts where the box of its consumer starts.
  SizeId offset = SizeId::kNone;
  // A guard appears in no index and no body: it only keeps iterations out. Say a loop of 14 is not
  // the most significant digit of its iterator, and is split by 4. Then iterations 14 and 15 lie
  // inside the iterator's domain, but belong to the next iteration of an outer loop. A guard with
  // extent 14 and the two new digits removes them.
  bool guard = false;
};

// A reduction block initialises its element before the first of its reduction iterations and then
// accumulates. Its reduction loops are the loops that drive a reduction iterator of it but no
// spatial one (is_reduction_loop). Another block may read the result of a reduction block, directly
// or through further blocks, inside the reduction loops of that block. It then runs only in the
// last iteration of those loops; a write-back (is_write_back) runs in every one.
//
// A block that reads the buffer that it writes is a scan (analysis/scans.h): each element needs
// those before it along one axis, so the loops along it run in order.
struct Block {
  std::string name;
  std::vector<BlockIter> iters;
  BufferId writes = -1;
  std::vector<Affine> index;  // the element written, affine in iters
  ReduceOp reduce = ReduceOp::kNone;
  Expr body;  // Read.tensor is a BufferId; iterators index `iters`
  LoopId parent = kRoot;
  bool dead = false;
};

enum class Scope : std::uint8_t {
  kInput,
  kOutput,   // the caller's tensors
  kLiteral,  // a table in the code
  kMemory,   // an intermediate; it lives from its first write to its last read
  // SSA values: every index inside `at` must be unrolled or vectorized.
  kRegister,
  // Memory of a work group of a grid: its items fill it together. It holds what all of them touch
  // in one iteration of `at`, whatever loops of items are around that: these have no part in where
  // its box begins.
  kGroup,
  // Registers of a group's items: each has the elements whose places along threadIdx.x, y and z are
  // its own. Sums over the place along x exchange them in a warp.
  kLanes,
};
const char* name_of(Scope scope);

// One digit of a storage layout: (coordinate[dim] / weight) % (next larger weight of that dim).
// Digits are listed from the outermost in memory to the innermost. The weights of a dim divide each
// other, and the innermost is 1. The outermost digit of a dim has extent ceildiv(size, weight): the
// storage is padded up to it.
struct LayoutDigit {
  int dim;
  SizeId weight;
};

struct Buffer {
  std::string name;
  Dtype dtype = Dtype::kF32;
  std::vector<SizeId> shape;  // of the tensor, not of the storage
  Scope scope = Scope::kMemory;
  bool constant = false;  // an input known when prepare() runs, or computed from such inputs alone
  std::vector<double> literal;
  bool sparse = false;  // of a literal: its zeros stand for no term, whatever they multiply
  // The storage holds what one iteration of this loop touches (kRoot: everything).
  LoopId at = kRoot;
  std::vector<LayoutDigit> layout;  // empty: row-major
  // Elements added to every row of the innermost storage digit.
  std::int64_t pad_stride = 0;
  BufferId cache_of = -1;  // of a cache: the buffer that it caches
  // Of a copy in a group's memory: how many iterations of `at` have a place there at a time. With 2
  // or more, the copies for later iterations begin before the work of this one.
  int stages = 1;
  bool streaming = false;  // of an output: what is stored there goes past the processor's caches
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

  // -1 if nothing alive has this name.
  LoopId find_loop(std::string_view name) const;
  BlockId find_block(std::string_view name) const;
  BufferId find_buffer(std::string_view name) const;

  // Always true where ancestor is kRoot; a loop is inside itself.
  bool is_inside(Item item, LoopId ancestor) const;
  std::vector<LoopId> loops_around(BlockId block) const;  // outermost first
  // Outermost first, `loop` last; empty for kRoot.
  std::vector<LoopId> path_to(LoopId loop) const;
  std::vector<BlockId> blocks_in(LoopId loop) const;  // in tree order
  std::vector<BlockId> blocks_in_order() const { return blocks_in(kRoot); }
  // The block that computes the buffer; where a write-back fills it, the block that computes the
  // cache; -1 if there is none.
  BlockId writer_of(BufferId buffer) const;
  // True if the block copies a cache into the buffer that it caches.
  bool is_write_back(BlockId block) const;
  bool is_reduction_loop(BlockId block, LoopId loop) const;
};

// A nest with its sizes filled in. Lowering and features read it.
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

// The nest as text, for people and tests; a SizedNest shows numbers instead of formulas.
std::string print(const Nest& nest);
std::string print(const SizedNest& nest);

// Checks the rules of the tree and the tables: links both ways, unique names, digits of live
// enclosing loops, shapes of indices. An error here is a bug in a step.
Status verify(const Nest& nest);

}  // namespace lathe::ir
