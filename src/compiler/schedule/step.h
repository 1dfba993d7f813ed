// Schedule steps: the few transformations every program is made of. A step is a plain struct; a
// trace is a vector of steps: it prints, round-trips through JSON, and replays on the naive nest of
// its workload without the space that made it.
//
// Steps name loops, blocks and buffers by their names in the nest, which are unique and
// deterministic: the naive nest's loops are "TENSOR.iterator" (te/naive_nest.h), and steps that
// make loops say what the new ones are called.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "compiler/ir/nest/nest.h"
#include "compiler/ir/nest/sizes_json.h"

namespace lathe::schedule {

// A size in a step: a number, or, while a rule builds a nest with open sizes, an entry of that
// nest's table. concretize() turns the second into the first; only concrete steps are stored.
using Size = std::variant<std::int64_t, ir::SizeId>;

// loop -> outer of ceildiv(extent, factor), inner of factor iterations. Any factor >= 1. The inner
// loop gets `tail`.
struct Split {
  std::string loop;
  Size factor;
  std::string outer, inner;
  ir::Tail tail = ir::Tail::kPeel;
};
// Directly nested loops (the second the only child of the first ...) -> one loop, the first
// slowest.
struct Fuse {
  std::vector<std::string> loops;
  std::string fused;
};
// Loops on one path, anywhere in it, get this order from outside in; loops between them that are
// not named stay put.
struct Reorder {
  std::vector<std::string> loops;
};
// Moves the block that computes a buffer into `loop` (before the consumer there), computing the box
// that one iteration needs. New loops are named BLOCK.iterator + "@" + loop.
struct ComputeAt {
  std::string block, loop;
};
// Moves a consumer into `loop` of its producer, after it, computing what one iteration has
// completed.
struct ReverseComputeAt {
  std::string block, loop;
};
// Substitutes an element-wise (not reducing) block into all its readers and removes it.
struct Inline {
  std::string block;
};
struct LayoutItem {
  int dim;
  Size weight;
};
// A copy of `buffer` named `name`, kept in `scope` for one iteration of `loop` (empty: for the
// whole program), stored in `layout` (empty: row-major), used in place of the buffer by every block
// inside `loop`, or by the block `reader` alone. A block named `name` copies (when read) or writes
// back (when written), in loops named NAME.d0, NAME.d1 ... in layout order, one a layout digit. A
// cached reduction result in registers is the accumulator tile: zero in the first block of the
// outer reduction loops, reloaded in later ones; blocks placed at the same loop that consume it run
// in the last one only.
struct Cache {
  std::string buffer, name, loop;
  ir::Scope scope = ir::Scope::kMemory;
  std::vector<LayoutItem> layout;
  std::string reader = {};  // empty: all
};
// Another storage layout for a buffer that is not a plain border: a cache, an intermediate, or, in
// the free layout mode, an input or output.
struct Layout {
  std::string buffer;
  std::vector<LayoutItem> layout;
  std::int64_t pad_stride = 0;
};
// Splits the reduction of the block over a reduction `loop`: a buffer `name` with one more
// dimension holds partial results, the block accumulates into it, a block named like the old one
// reduces it. The new dimension is number `dim` of the buffer; -1: the last.
struct Rfactor {
  std::string block, loop, name;
  int dim = -1;
};
// The loops from `loop` inwards are replaced by an intrinsic (lower/intrinsics.h) that computes the
// same.
struct Tensorize {
  std::string loop, intrinsic;
};
// Sets a loop's attributes.
struct Annotate {
  std::string loop;
  enum class What : std::uint8_t { kKind, kTail, kPrefetch } what = What::kKind;
  // kKind: vectorize, unroll, parallel, serial, GPU bindings
  ir::LoopKind kind = ir::LoopKind::kSerial;
  ir::Tail tail = ir::Tail::kPeel;  // kTail
  std::string buffer;               // kPrefetch: of this buffer's reads inside the loop,
  Size bytes = std::int64_t{0};     // this many bytes ahead; 0 turns it off
};

using Step = std::variant<Split, Fuse, Reorder, ComputeAt, ReverseComputeAt, Inline, Cache, Layout,
                          Rfactor, Tensorize, Annotate>;
using Trace = std::vector<Step>;

// Why a step cannot be applied. A search meets these all day, so nothing is rendered until text()
// is called.
enum class Refusal : std::uint8_t {
  kNoSuchLoop,
  kNoSuchBlock,
  kNoSuchBuffer,
  kNameTaken,
  kBadFactor,
  kNotNested,
  kNotOnOnePath,
  kFusesKinds,
  kBreaksDependence,
  kNotAReduction,
  kIsAReduction,
  kNotElementwise,
  kIsOutput,
  kNotUsedThere,
  kPlainBorder,
  kBadLayout,
  kReductionInParallel,
  kAlreadyBound,
  kShiftRepeatsReduction,
  kPadNeedsOwnStorage,
  kNoSuchIntrinsic,
  kIntrinsicMismatch,
  kNotInnermost,
  kBadScope,
  kMultipleConsumers,
  kBadValue,
};
struct StepError {
  Refusal refusal;
  int step = -1;             // position in the trace
  std::string subject;       // the loop, block or buffer it is about
  std::string text() const;  // one sentence: what, where, and what would be legal
};
template <class T>
using StepResult = std::expected<T, StepError>;

// Applies one step in place. On refusal the nest is as it was.
StepResult<void> apply(ir::Nest& nest, const Step& step, bool free_layout = false);
// All steps in turn; the error carries the position.
StepResult<void> apply(ir::Nest& nest, const Trace& trace, bool free_layout = false);

// `trace` with every table entry replaced by its value.
Trace concretize(const Trace& trace, const ir::SizedNest& sizes);

std::string print(const Step& step);    // "split C.i by 14 into io, ii, tail peel"
std::string print(const Trace& trace);  // a line a step
// an array of objects {"step": "split", ...}; concrete traces only
Json to_json(const Trace& trace);
Result<Trace> trace_from_json(const Json& json);  // the error's place is "step N"
// The same with open sizes (ir/nest/sizes_json.h), which are read into the table of the nest that
// the trace is for.
Json to_json(const Trace& trace, const ir::Sizes& sizes);
Result<Trace> trace_from_json(const Json& json, ir::Sizes& sizes, const ir::KnobSize& knob);

}  // namespace lathe::schedule
