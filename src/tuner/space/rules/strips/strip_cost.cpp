#include "tuner/space/rules/strips/strip_cost.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "compiler/ir/expr/effort.h"
#include "tuner/space/costs.h"
#include "tuner/space/rules/shared/axes.h"

namespace lathe::space {
namespace {

// Of a vector: an operation, of which two start in a cycle; a function such as exp; a load or
// store.
constexpr double kOneOperation = 0.5, kOneFunction = 12, kOneAccess = 0.5;
// A vector whose elements do not lie side by side.
constexpr double kApart = 4;
// Of the loops around a tile, for each stage that has one.
constexpr double kTileCycles = 4;
// A vector is used over this share of a tile, and then leaves its register to another.
constexpr double kHeldShare = 0.5;
// Of the first cache, for what a strip keeps: the rest is for inputs and outputs.
constexpr double kL1Share = 0.5;
// Of the time of what comes from the caches, which goes on while tiles compute; and bytes a cycle
// from the first.
constexpr double kBesideWork = 0.5, kL1Rate = 64;
// Inputs and outputs come slower by this where strips are narrower than rows and go through more
// rows at a time than a processor follows.
constexpr double kShortRuns = 1.5;
constexpr std::int64_t kFollowed = 8;
// Registers that a tile needs beside its sums.
constexpr double kBesideSums = 4;

// Cycles of the operations of a body, without its reads. What appears twice is computed once.
double operations_in(const ir::Expr& body) {
  double operations = 0;
  std::vector<ir::Expr> seen;
  ir::for_each_node(body, [&](const ir::Expr& e) {
    if (std::ranges::any_of(seen, [&](const ir::Expr& other) { return ir::equal(e, other); }))
      return;
    seen.push_back(e);
    if (const auto* unary = std::get_if<ir::Unary>(&e->value))
      operations += ir::effort_of(unary->op) == ir::Effort::kShort ? kOneOperation : kOneFunction;
    if (std::holds_alternative<ir::Binary>(e->value) ||
        std::holds_alternative<ir::Select>(e->value))
      operations += kOneOperation;
  });
  return operations;
}

// Of bytes that come from, or go to, where so many are kept.
double cycles_of_bytes(double bytes, double kept, int threads) {
  if (kept <= kL1) return 0;
  if (kept <= kL2) return bytes / kL2Rate;
  if (kept <= kL3) return bytes / (kL3Rate * share_of_l3(threads));
  return bytes / (kMemoryRate * share_of_memory(threads));
}

const te::Tensor& tensor_at(const te::Workload& view, int tensor) {
  return view.tensors[static_cast<std::size_t>(tensor)];
}

// Of a tile: what it loads or stores, how many different places there are, and how often it uses
// them.
struct Loads {
  double cycles = 0, places = 0, uses = 0;
};

// How a block goes through a tensor, by the loops that are written out.
class Accesses {
 public:
  Accesses(const ir::SizedNest& nest, ir::BlockId block, int lanes)
      : nest_(nest), block_(nest.nest->blocks[block]), lanes_(lanes) {
    const int bytes = lanes * size_of(nest.nest->buffers[block_.writes].dtype);
    across_ = 1 + std::min(1.0, static_cast<double>(bytes) / kLine);
    for (const ir::LoopId loop : nest.nest->loops_around(block)) {
      const ir::LoopKind kind = nest.nest->loops[loop].kind;
      const auto extent = static_cast<double>(nest.extent(loop));
      if (kind == ir::LoopKind::kUnrolled) {
        unrolled_.push_back(loop);
        copies_ *= extent;
        if (!nest.nest->is_reduction_loop(block, loop)) results_ *= extent;
      } else if (kind == ir::LoopKind::kVectorized) {
        vector_ = loop;
      } else {
        times_ *= extent;
      }
    }
  }

  double times() const { return times_; }      // that the tile runs
  double copies() const { return copies_; }    // of the body in it
  double results() const { return results_; }  // of these, that are not of one sum

  // Adds the loads or stores of vectors at these places, each once in a tile. What is the same for
  // all lanes is no vector.
  void add(const std::vector<ir::Affine>& index, std::set<std::vector<std::int64_t>>& seen,
           Loads& vectors, Loads& others) const {
    double factor = 1;
    bool moves = false;
    for (std::size_t d = 0; vector_ >= 0 && d < index.size(); ++d) {
      const std::int64_t step = std::abs(moved_by(index[d], vector_));
      moves = moves || step > 0;
      if (step > 1 || (step == 1 && d + 1 < index.size())) factor = kApart;
    }
    Loads& loads = moves ? vectors : others;
    loads.uses += copies_;
    std::vector<std::int64_t> at(unrolled_.size(), 0);
    for (bool more = true; more;) {
      std::vector<std::int64_t> place;
      for (const ir::Affine& row : index) {
        std::int64_t value = row.offset;
        for (std::size_t l = 0; l < at.size(); ++l) value += at[l] * moved_by(row, unrolled_[l]);
        place.push_back(value);
      }
      const bool aligned = place.empty() || place.back() % lanes_ == 0;
      if (seen.insert(std::move(place)).second) {
        loads.places += 1;
        loads.cycles += kOneAccess * std::max(factor, aligned || !moves ? 1 : across_);
      }
      more = false;
      for (std::size_t l = at.size(); l-- > 0 && !more;) {
        more = ++at[l] < nest_.extent(unrolled_[l]);
        if (!more) at[l] = 0;
      }
    }
  }

 private:
  std::int64_t moved_by(const ir::Affine& row, ir::LoopId loop) const {
    std::int64_t step = 0;
    for (const ir::AffineTerm& term : row.terms)
      for (const ir::LoopDigit& digit : block_.iters[static_cast<std::size_t>(term.iter)].digits)
        if (digit.loop == loop) step += term.coef * nest_[digit.weight];
    return step;
  }

  const ir::SizedNest& nest_;
  const ir::Block& block_;
  int lanes_;
  std::vector<ir::LoopId> unrolled_;
  ir::LoopId vector_ = -1;
  double times_ = 1, copies_ = 1, results_ = 1;
  double across_ = 1;  // lines in which a vector lies that may begin anywhere
};

// True for what a tile has in registers, or in its code.
bool is_at_hand(const ir::Buffer& buffer) {
  return buffer.scope == ir::Scope::kRegister || buffer.scope == ir::Scope::kLiteral;
}

// How many times what registers would hold is loaded where they do not hold all of it.
double times_loaded(const Loads& vectors, double registers) {
  if (vectors.places <= registers || vectors.uses <= vectors.places) return 1;
  const double again = (vectors.uses - vectors.places) * (1 - registers / vectors.places);
  return (vectors.places + again) / vectors.places;
}

// Cycles of a block, with its data in the first cache.
double cycles_of_block(const ir::SizedNest& nest, ir::BlockId id, const Stencils& pipeline) {
  const Accesses accesses(nest, id, pipeline.lanes);
  const ir::Block& block = nest.nest->blocks[id];
  const auto& buffers = nest.nest->buffers;
  const bool reduces = block.reduce != ir::ReduceOp::kNone;
  Loads vectors, others, stores;
  std::map<int, std::set<std::vector<std::int64_t>>> seen;
  for (const ir::Read* read : ir::reads_of(block.body))
    if (!is_at_hand(buffers[static_cast<std::size_t>(read->tensor)]))
      accesses.add(read->index, seen[read->tensor], vectors, others);
  if (!is_at_hand(buffers[static_cast<std::size_t>(block.writes)]))
    accesses.add(block.index, seen[block.writes], stores, stores);
  const double registers = pipeline.target.vector_registers / kHeldShare - kBesideSums -
                           (reduces ? accesses.results() : 0);
  const double memory =
      vectors.cycles * times_loaded(vectors, std::max(0.0, registers)) + others.cycles +
      stores.cycles +
      kOneAccess * accesses.copies() * static_cast<double>(ir::lookups_of(block.body).size());
  double work = operations_in(block.body);
  // A product is added up by the instruction that makes it.
  if (reduces) work = std::max(work, kOneOperation);
  return accesses.times() * (beside(work * accesses.copies(), memory) + kTileCycles);
}

// Cycles for sums that registers do not hold.
double cycles_of_spills(const ir::SizedNest& nest, const Stencils& pipeline) {
  std::map<ir::LoopId, double> sums, tiles;
  for (const ir::BlockId id : nest.nest->blocks_in_order()) {
    const ir::Block& block = nest.nest->blocks[id];
    const ir::Buffer& written = nest.nest->buffers[block.writes];
    if (written.scope != ir::Scope::kRegister) continue;
    double registers = 1, times = 1;
    for (const ir::LoopId loop : nest.nest->loops_around(id)) {
      const auto extent = static_cast<double>(nest.extent(loop));
      const ir::LoopKind kind = nest.nest->loops[loop].kind;
      if (kind == ir::LoopKind::kUnrolled) {
        if (!nest.nest->is_reduction_loop(id, loop)) registers *= extent;
      } else if (kind != ir::LoopKind::kVectorized) {
        times *= extent;
      }
    }
    sums[written.at] += registers;
    tiles[written.at] = std::max(tiles[written.at], times);
  }
  double cycles = 0;
  for (const auto& [loop, registers] : sums)
    cycles += 2 * kOneAccess * tiles[loop] *
              std::max(0.0, registers + kBesideSums - pipeline.target.vector_registers);
  return cycles;
}

// How large a strip is, along each iterator of the output.
std::vector<std::int64_t> size_of_strip(const Stencils& pipeline, const StripChoice& choice) {
  std::vector<std::int64_t> strip;
  for (int axis = 0; axis < std::ssize(pipeline.stage(pipeline.output).iters); ++axis) {
    std::int64_t size = pipeline.extent(axis);
    if (std::ranges::count(pipeline.batch, axis) > 0) size = 1;
    else if (axis == pipeline.lane && choice.width > 0) size = std::min(size, choice.width);
    else if (axis == pipeline.rows.back()) size = std::min(size, choice.rows);
    else if (std::ranges::count(pipeline.rows, axis) > 0) size = std::min(size, choice.depth);
    strip.push_back(size);
  }
  return strip;
}

// Bytes of what stages outside of registers leave for each other in a strip: of all, and at most at
// a time.
struct Kept {
  double all = 0, together = 0;
};

Kept kept_of_strip(const Stencils& pipeline, const ir::Nest& nest,
                   const std::vector<std::int64_t>& strip) {
  const te::Workload& view = pipeline.prepared.view;
  const auto needed = needed_of(pipeline, strip);
  std::vector<double> alive(view.stages.size(), 0);  // while each stage runs
  Kept kept;
  for (const int s : pipeline.moved) {
    const te::Stage& stage = pipeline.stage(s);
    const ir::Buffer& buffer = nest.buffers[nest.find_buffer(pipeline.name(s))];
    const int sums = nest.find_buffer(pipeline.name(s) + ".acc");
    const bool whole = buffer.at == ir::kRoot;
    if (!whole && sums >= 0 && nest.buffers[sums].at == buffer.at) continue;
    double bytes = size_of(buffer.dtype);
    for (std::size_t i = 0; i < stage.iters.size(); ++i)
      if (stage.iters[i].kind == te::IterKind::kSpatial)
        bytes *= static_cast<double>(whole ? stage.iters[i].extent
                                           : needed[static_cast<std::size_t>(s)][i]);
    kept.all += bytes;
    auto last = static_cast<std::size_t>(s);
    for (std::size_t r = last + 1; r < view.stages.size(); ++r)
      if (std::ranges::count(ir::tensors_of(view.stages[r].body), stage.tensor) > 0) last = r;
    for (auto at = static_cast<std::size_t>(s); at <= last; ++at) alive[at] += bytes;
  }
  kept.together = std::ranges::max(alive);
  return kept;
}

}  // namespace

namespace {

// Cycles of the loads of a vector of the stage, each of several alike counted once. What is the
// same for all elements of a tile is loaded once for it.
double loads_of(const te::Stage& stage) {
  double cycles = 0;
  int lane = -1;
  for (int i = 0; i < std::ssize(stage.iters); ++i)
    if (stage.iters[static_cast<std::size_t>(i)].kind == te::IterKind::kSpatial) lane = i;
  const auto moves = [&](const ir::Read& read) {
    for (int i = 0; i <= lane; ++i)
      if (touches(read.index, i)) return true;
    return false;
  };
  std::vector<const ir::Read*> seen;
  for (const ir::Read* read : ir::reads_of(stage.body)) {
    if (!moves(*read) || std::ranges::any_of(seen, [&](const ir::Read* other) {
          return other->tensor == read->tensor && other->index == read->index;
        }))
      continue;
    seen.push_back(read);
    double factor = 1;
    for (std::size_t d = 0; d < read->index.size(); ++d) {
      const std::int64_t step = std::abs(read->index[d].coef_of(lane));
      if (step > 1 || (step == 1 && d + 1 < read->index.size())) factor = kApart;
    }
    cycles += kOneAccess * factor;
  }
  return cycles;
}

}  // namespace

// What is written is read before, too. Code of a stage waits for much of that.
double cycles_apart(const te::Workload& view, int lanes, int threads) {
  double cycles = 0;
  for (const te::Stage& stage : view.stages) {
    if (tensor_at(view, stage.tensor).constant) continue;
    const bool reduces = stage.reduce != ir::ReduceOp::kNone;
    double vectors = 1;
    for (const te::Iterator& it : stage.iters) vectors *= static_cast<double>(it.extent);
    vectors /= lanes;
    double memory = loads_of(stage), work = operations_in(stage.body);
    if (reduces) work = std::max(work, kOneOperation);
    else memory += kOneAccess;
    double all = vectors * beside(work, memory);
    if (reduces) all += 2 * kOneAccess * vectors / te::terms_of(stage);
    const double written = bytes_of(tensor_at(view, stage.tensor));
    double read = 0;
    for (const int tensor : ir::tensors_of(stage.body)) read += bytes_of(tensor_at(view, tensor));
    cycles += (all + cycles_of_bytes(2 * written + read, written + read, threads)) / threads +
              start_cycles(threads);
  }
  return cycles;
}

double cycles_in_strips(const Stencils& pipeline, const StripChoice& choice, const Sketch& sketch) {
  const te::Workload& view = pipeline.prepared.view;
  const ir::SizedNest nest(sketch.nest, {});
  double work = cycles_of_spills(nest, pipeline);
  for (const ir::BlockId id : sketch.nest.blocks_in_order()) {
    const ir::Block& block = sketch.nest.blocks[id];
    if (!sketch.nest.buffers[block.writes].constant) work += cycles_of_block(nest, id, pipeline);
  }
  const std::vector<std::int64_t> strip = size_of_strip(pipeline, choice);
  double strips = 1;
  for (int axis = 0; axis < std::ssize(strip); ++axis) {
    const std::int64_t size = strip[static_cast<std::size_t>(axis)];
    const std::int64_t along = (pipeline.extent(axis) + size - 1) / size;
    strips *= static_cast<double>(along);
  }
  const Kept kept = kept_of_strip(pipeline, sketch.nest, strip);
  double written = 0;
  for (const int s : pipeline.outputs)
    written += bytes_of(tensor_at(view, pipeline.stage(s).tensor));
  double outside = written;
  for (const te::Tensor& tensor : view.tensors)
    if (tensor.role == te::TensorRole::kInput && !tensor.constant) outside += bytes_of(tensor);
  const int threads = pipeline.target.threads;
  const double moved = 3 * kept.all * strips;
  if (kept.together <= kL1Share * kL1) work += kBesideWork * moved / kL1Rate;
  else if (kept.together <= kL2) work += kBesideWork * moved / kL2Rate;
  else work += kBesideWork * cycles_of_bytes(moved, kept.together, threads);
  const bool runs_are_short = choice.width > 0 && choice.rows > kFollowed;
  work += (runs_are_short ? kShortRuns : 1) * cycles_of_bytes(written + outside, outside, threads) +
          kBlockCycles * strips;
  return work / strips * std::ceil(strips / threads) + start_cycles(threads);
}

}  // namespace lathe::space
