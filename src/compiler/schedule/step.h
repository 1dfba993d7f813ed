// Schedule steps: the few transformations that make every program. A step is a plain struct, and a
// trace is a vector of steps. It prints, goes to JSON and back, and applies to the naive nest of
// its workload without the space that made it.
//
// Steps name loops, blocks and buffers by their names in the nest, which are unique and
// deterministic: the naive nest's loops are "TENSOR.iterator" (te/naive_nest.h), and steps that
// make loops name the new ones.
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

// A size in a step: a number or, while a rule builds a nest with open sizes, an entry of that
// nest's table. concretize() turns entries into numbers; only concrete steps are stored.
using Size = std::variant<std::int64_t, ir::SizeId>;

// Splits a loop into an outer loop of ceildiv(extent, factor) and an inner loop of factor
// iterations, for any factor >= 1. The inner loop gets `tail`.
struct Split {
  std::string loop;
  Size factor;
  std::string outer, inner;
  ir::Tail tail = ir::Tail::kPeel;
};
// Makes one loop of directly nested loops (the second is the only child of the first, and so on);
// the first is the slowest.
struct Fuse {
  std::vector<std::string> loops;
  std::string fused;
};
// Gives loops on one path, anywhere in it, this order from outside in. Loops between them that are
// not named stay where they are.
struct Reorder {
  std::vector<std::string> loops;
};
// Moves the block that computes a buffer into `loop`, before the consumer there; it computes the
// box that one iteration needs. New loops are named BLOCK.iterator + "@" + loop.
struct ComputeAt {
  std::string block, loop;
};
// Moves a consumer into `loop` of its producer, behind the producer; it computes what one iteration
// has completed.
struct ReverseComputeAt {
  std::string block, loop;
};
// Puts the body of an element-wise block (no reduction) into all its readers and removes the block.
struct Inline {
  std::string block;
};
struct LayoutItem {
  int dim;
  Size weight;
};
// Makes a copy of `buffer` named `name`, kept in `scope` for one iteration of `loop` (empty: for
// the whole program) and stored in `layout` (empty: row-major). Every block inside `loop`, or the
// block `reader` alone, uses it in place of the buffer. A block named `name` copies (what is read)
// or writes back (what is written), in loops named NAME.d0, NAME.d1 ... in layout order, one for
// each layout digit. A cached reduction result in registers is the accumulator tile: it starts from
// zero in the first iteration of the outer reduction loops and is reloaded in later ones; blocks at
// the same loop that consume it run in the last one only.
struct Cache {
  std::string buffer, name, loop;
  ir::Scope scope = ir::Scope::kMemory;
  std::vector<LayoutItem> layout;
  std::string reader = {};  // empty: all
};
// Changes the storage layout of a buffer: a cache, an intermediate or, where the layout is free, an
// input or output.
struct Layout {
  std::string buffer;
  std::vector<LayoutItem> layout;
  std::int64_t pad_stride = 0;
};
// Splits the reduction of the block over a reduction `loop`. A buffer `name` with one more
// dimension holds partial results: the block accumulates into it, and a new block with the old
// one's name reduces it. The new dimension is number `dim` of the buffer; -1: the last.
struct Rfactor {
  std::string block, loop, name;
  int dim = -1;
};
// Replaces the loops from `loop` inwards by an intrinsic (schedule/intrinsic.h) that computes the
// same.
struct Tensorize {
  std::string loop;
  ir::Intrinsic intrinsic = ir::Intrinsic::kNone;  // a step names one
};
// Sets an attribute of a loop.
struct Annotate {
  std::string loop;
  enum class What : std::uint8_t { kKind, kTail, kPrefetch } what = What::kKind;
  // kKind: vectorize, unroll, parallel, serial, or a GPU binding.
  ir::LoopKind kind = ir::LoopKind::kSerial;
  ir::Tail tail = ir::Tail::kPeel;  // kTail
  std::string buffer;               // kPrefetch: for this buffer's reads inside the loop,
  Size bytes = std::int64_t{0};     // this many bytes ahead; 0 turns it off
};

using Step = std::variant<Split, Fuse, Reorder, ComputeAt, ReverseComputeAt, Inline, Cache, Layout,
                          Rfactor, Tensorize, Annotate>;
using Trace = std::vector<Step>;

// Why a step cannot be applied. A search meets refusals all the time, so words are made only in
// text().
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

// Applies one step in place. Where it refuses, the nest stays as it was.
StepResult<void> apply(ir::Nest& nest, const Step& step, bool free_layout = false);
// Applies all steps in turn; the error carries the position.
StepResult<void> apply(ir::Nest& nest, const Trace& trace, bool free_layout = false);

// Replaces every table entry in `trace` by its value.
Trace concretize(const Trace& trace, const ir::SizedNest& sizes);

std::string print(const Step& step);    // "split C.i by 14 into io, ii, tail peel"
std::string print(const Trace& trace);  // one line for each step
// An array of objects {"step": "split", ...}; for concrete traces only.
Json to_json(const Trace& trace);
Result<Trace> trace_from_json(const Json& json);  // the error's place is "step N"
// The same with open sizes (ir/nest/sizes_json.h). They are read into the table of the nest that
// the trace is for.
Json to_json(const Trace& trace, const ir::Sizes& sizes);
Result<Trace> trace_from_json(const Json& json, ir::Sizes& sizes, const ir::KnobSize& knob);

}  // namespace lathe::schedule
