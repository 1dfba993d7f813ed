#include "tuner/space/rules/shared/prepare.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "compiler/analysis/dependence.h"
#include "compiler/analysis/recurrences.h"
#include "compiler/ir/expr/effort.h"
#include "compiler/te/naive_nest.h"
#include "tuner/space/rules/shared/axes.h"
#include "tuner/space/rules/shared/places.h"
#include "tuner/space/rules/shared/reductions.h"

namespace lathe::space {
namespace {

constexpr int kLargestBody = 200;  // nodes of an expression, with all that was inlined into it

// From here on any operation in a sum's body costs more than a pass that keeps its values: a sum of
// products of reads takes one operation a term.
constexpr double kOftenInASum = 8;

int nodes_in(const ir::Expr& e) {
  int nodes = 0;
  ir::for_each_node(e, [&](const ir::Expr&) { ++nodes; });
  return nodes;
}

// True if computing it again costs more than a load.
bool is_dear(const ir::Expr& body) {
  bool dear = false;
  ir::for_each_node(body, [&](const ir::Expr& e) {
    if (const auto* u = std::get_if<ir::Unary>(&e->value))
      dear |= ir::effort_of(u->op) != ir::Effort::kShort;
    if (const auto* b = std::get_if<ir::Binary>(&e->value))
      dear |=
          b->op == ir::BinaryOp::kDiv || b->op == ir::BinaryOp::kMod || b->op == ir::BinaryOp::kPow;
  });
  return dear;
}

double iterations_of(const ir::Nest& nest, ir::BlockId id) {
  double product = 1;
  for (const ir::LoopId loop : nest.loops_around(id))
    product *= static_cast<double>(nest.sizes.constant_value(nest.loops[loop].extent));
  return product;
}

// True if its readers are maps that may as well compute what they read of it, once for each place.
bool may_be_computed_again(const ir::Nest& nest, ir::BlockId id) {
  const ir::Block& block = nest.blocks[id];
  double evaluations = 0;
  for (const ir::BlockId reader : analysis::readers_of(nest, block.writes)) {
    std::vector<std::vector<ir::Affine>> places;
    for (const ir::Read* read : ir::reads_of(nest.blocks[reader].body))
      if (read->tensor == block.writes && std::ranges::count(places, read->index) == 0)
        places.push_back(read->index);
    if (nest.blocks[reader].reduce != ir::ReduceOp::kNone ||
        ir::looks_up(nest.blocks[reader].body, block.writes))
      return false;
    evaluations += static_cast<double>(places.size()) * iterations_of(nest, reader);
  }
  return algebra::may_be_computed_again(algebra::operations_of(block.body), evaluations,
                                        iterations_of(nest, id));
}

bool is_worth_inlining(const ir::Nest& nest, ir::BlockId id, algebra::Repeated repeated) {
  const ir::Block& block = nest.blocks[id];
  const int nodes = nodes_in(block.body);
  double evaluations = 0;
  bool in_sum = false;  // that computes what it reads anew for several of its results
  for (const ir::BlockId reader : analysis::readers_of(nest, block.writes)) {
    const auto reads = ir::reads_of(nest.blocks[reader].body);
    const auto lookups = ir::lookups_of(nest.blocks[reader].body);
    const auto tensor = [](const auto* access) { return access->tensor; };
    const auto times = static_cast<int>(std::ranges::count(reads, block.writes, tensor) +
                                        std::ranges::count(lookups, block.writes, tensor));
    evaluations += times * iterations_of(nest, reader);
    in_sum |= nest.blocks[reader].reduce == ir::ReduceOp::kSum;
    if (nodes_in(nest.blocks[reader].body) + times * nodes > kLargestBody) return false;
  }
  const double values = iterations_of(nest, id);
  if (in_sum && evaluations >= kOftenInASum * values && algebra::operations_of(block.body) >= 1)
    return false;
  return !is_dear(block.body) || evaluations <= values ||
         (repeated == algebra::Repeated::kAgain && may_be_computed_again(nest, id));
}

te::Tensor tensor_of(const ir::Nest& nest, ir::BufferId id, const te::Workload& workload) {
  const ir::Buffer& buffer = nest.buffers[id];
  te::Tensor tensor{buffer.name, buffer.dtype, {}, te::TensorRole::kIntermediate, buffer.constant,
                    {}};
  if (id < static_cast<int>(workload.tensors.size())) {
    tensor = workload.tensors[id];
    tensor.constant = buffer.constant && tensor.role != te::TensorRole::kLiteral;
  }
  tensor.shape.clear();
  for (const ir::SizeId size : buffer.shape)
    tensor.shape.push_back(nest.sizes.constant_value(size));
  return tensor;
}

bool moves(const ir::Expr& index, int iter) {
  bool found = false;
  ir::for_each_node(index, [&](const ir::Expr& e) {
    if (const auto* value = std::get_if<ir::IterValue>(&e->value)) found |= value->iter == iter;
    if (const auto* read = std::get_if<ir::Read>(&e->value)) found |= touches(read->index, iter);
  });
  return found;
}

// Of a lookup as "T[I[n],j]" or "T[n,I[n] + j]": the iterator that goes along its rows one by one.
// Else -1.
int along_rows(const ir::Lookup& lookup) {
  const ir::AffineAndRest last = ir::affine_and_rest(lookup.index.back());
  if (last.affine.terms.size() != 1 || last.affine.terms[0].coef != 1) return -1;
  const int along = last.affine.terms[0].iter;
  if (last.rest && moves(last.rest, along)) return -1;
  const bool alone = std::none_of(lookup.index.begin(), lookup.index.end() - 1,
                                  [&](const ir::Expr& index) { return moves(index, along); });
  return alone ? along : -1;
}

bool comes_from_data(const ir::Lookup& lookup) {
  return std::ranges::any_of(lookup.index,
                             [](const ir::Expr& e) { return !ir::tensors_of(e).empty(); });
}

// True of a map that reads elements of a row wherever data says, as "Y[i,n] = T[i,I[n]]".
bool picks_in_row(const ir::Block& block, const ir::Lookup& lookup) {
  if (block.reduce != ir::ReduceOp::kNone || block.index.empty()) return false;
  const std::vector<ir::Affine> rows = ir::rough_rows(lookup);
  const std::vector<ir::AffineTerm>& last = block.index.back().terms;
  if (ir::tensors_of(lookup.index.back()).empty() || last.empty()) return false;
  for (std::size_t d = 0; d + 1 < rows.size(); ++d)
    if (ir::affine_and_rest(lookup.index[d]).rest || rows[d].coef_of(last[0].iter) != 0)
      return false;
  return rows.back().coef_of(last[0].iter) != 0;
}

// What rules see of an element that is read at a computed place (is_anywhere). It shows along which
// iterator rows lie that data chooses: of a map that copies them (copies_rows), and of a reduction
// that goes along them; and in which row a map picks elements.
ir::Expr read_anywhere(const ir::Nest& nest, const ir::Block& block, const ir::Lookup& lookup,
                       Dtype dtype, const std::vector<ir::Affine>& of_iter) {
  std::vector<ir::Affine> index(nest.buffers[lookup.tensor].shape.size());
  const int along = along_rows(lookup);
  const bool reduced = along >= 0 && block.iters[along].kind == ir::IterKind::kReduce;
  const bool copied = along >= 0 && block.reduce == ir::ReduceOp::kNone && comes_from_data(lookup);
  if (copied || reduced) index.back() = ir::substitute(ir::Affine::iter(along), of_iter);
  if (reduced) {
    const std::vector<ir::Affine> rows = ir::rough_rows(lookup);
    for (std::size_t d = 0; d + 1 < index.size(); ++d) index[d] = ir::substitute(rows[d], of_iter);
  }
  if (along < 0 && picks_in_row(block, lookup))
    for (std::size_t d = 0; d + 1 < index.size(); ++d)
      index[d] = ir::substitute(ir::affine_and_rest(lookup.index[d]).affine, of_iter);
  return ir::read(lookup.tensor, std::move(index), dtype, std::numeric_limits<double>::quiet_NaN());
}

te::Stage stage_of(const ir::Nest& nest, ir::BlockId id, const std::set<std::string>& outer) {
  const ir::Block& block = nest.blocks[id];
  te::Stage stage;
  stage.tensor = block.writes;
  stage.reduce = block.reduce;
  stage.accumulator = block.body->dtype;
  std::vector<ir::LoopId> loops;
  const auto add = [&](ir::LoopId loop, te::IterKind kind) {
    const ir::Loop& l = nest.loops[loop];
    stage.iters.push_back({l.name, nest.sizes.constant_value(l.extent), kind});
    loops.push_back(loop);
  };
  const auto is_outer = [&](ir::LoopId loop) { return outer.contains(nest.loops[loop].name); };
  const auto add_axis = [&](const ir::AffineTerm& term) {
    for (const ir::LoopDigit& digit : block.iters[term.iter].digits)
      if (!is_outer(digit.loop)) add(digit.loop, te::IterKind::kSpatial);
  };
  for (const ir::Affine& row : block.index) {
    std::vector<ir::AffineTerm> terms = row.terms;  // the slowest first
    std::ranges::stable_sort(terms, std::greater{}, &ir::AffineTerm::coef);
    std::ranges::for_each(terms, add_axis);
  }
  for (const ir::LoopId loop : nest.loops_around(id))
    if (std::ranges::find(loops, loop) == loops.end() && !is_outer(loop))
      add(loop, te::IterKind::kReduce);
  std::vector<ir::Affine> of_iter;
  for (const ir::BlockIter& iter : block.iters) {
    ir::Affine value;
    for (const ir::LoopDigit& digit : iter.digits) {
      if (is_outer(digit.loop)) continue;
      const auto position = static_cast<int>(std::ranges::find(loops, digit.loop) - loops.begin());
      value = value + ir::Affine::iter(position, nest.sizes.constant_value(digit.weight));
    }
    of_iter.push_back(std::move(value));
  }
  stage.body = ir::rewrite_leaves(block.body, [&](const ir::Expr& leaf) -> ir::Expr {
    if (const auto* lookup = std::get_if<ir::Lookup>(&leaf->value))
      return read_anywhere(nest, block, *lookup, leaf->dtype, of_iter);
    const auto* read = std::get_if<ir::Read>(&leaf->value);
    if (read == nullptr) return leaf;
    std::vector<ir::Affine> index;
    for (const ir::Affine& row : read->index) index.push_back(ir::substitute(row, of_iter));
    return ir::read(read->tensor, std::move(index), leaf->dtype, read->pad);
  });
  return stage;
}

}  // namespace

bool try_step(ir::Nest& nest, schedule::Trace& trace, schedule::Step step, bool free_layout) {
  if (!schedule::apply(nest, step, free_layout)) return false;
  trace.push_back(std::move(step));
  return true;
}

te::Workload view_of(const ir::Nest& nest, const te::Workload& workload,
                     const std::set<std::string>& outer) {
  te::Workload view;
  view.contract = workload.contract;
  view.name = workload.name;
  for (ir::BufferId id = 0; id < static_cast<int>(nest.buffers.size()); ++id)
    view.tensors.push_back(tensor_of(nest, id, workload));
  for (const ir::BlockId id : nest.blocks_in_order())
    view.stages.push_back(stage_of(nest, id, outer));
  return view;
}

namespace {

void inline_stages(Prepared& prepared, const te::Workload& workload, algebra::Repeated repeated) {
  ir::Nest& nest = prepared.nest;
  for (const te::Stage& stage : workload.stages) {
    const te::Tensor& tensor = workload.tensors[stage.tensor];
    if (stage.reduce != ir::ReduceOp::kNone || tensor.role != te::TensorRole::kIntermediate)
      continue;
    if (nest.buffers[stage.tensor].constant ||
        !is_worth_inlining(nest, nest.find_block(tensor.name), repeated))
      continue;
    try_step(nest, prepared.steps, schedule::Inline{tensor.name}, workload.contract.free_layout);
  }
}

// The most elements of a constant's copy for each of its own: taps beyond it are 0.
constexpr double kMostGrowth = 4;

// True if a dimension is walked through by several iterators, or not one by one from 0.
bool is_odd(const ir::Affine& row) {
  return row.terms.size() > 1 ||
         (row.terms.size() == 1 && (row.terms[0].coef != 1 || row.offset != 0));
}

// True if lanes can run along an axis of the result that the read has and no other read.
bool has_lanes(const ir::Nest& nest, const ir::Block& block, const ir::Read& read,
               std::int64_t lanes) {
  const auto reads = ir::reads_of(block.body);
  for (int i = 0; i < static_cast<int>(block.iters.size()); ++i) {
    const ir::BlockIter& iter = block.iters[i];
    const bool others = std::ranges::any_of(reads, [&](const ir::Read* other) {
      return other->tensor != read.tensor && touches(other->index, i);
    });
    if (iter.kind == ir::IterKind::kSpatial && !others && touches(read.index, i) &&
        nest.sizes.constant_value(iter.extent) >= lanes)
      return true;
  }
  return false;
}

bool is_worth_reindexing(const ir::Nest& nest, const ir::Block& block, const ir::Read& read,
                         std::int64_t lanes) {
  const ir::Buffer& buffer = nest.buffers[read.tensor];
  if (!buffer.constant || buffer.scope == ir::Scope::kLiteral ||
      std::ranges::none_of(read.index, is_odd) || !has_lanes(nest, block, read, lanes))
    return false;
  double own = 1, copied = 1;
  for (const ir::SizeId size : buffer.shape)
    own *= static_cast<double>(nest.sizes.constant_value(size));
  for (int i = 0; i < static_cast<int>(block.iters.size()); ++i)
    if (touches(read.index, i))
      copied *= static_cast<double>(nest.sizes.constant_value(block.iters[i].extent));
  return copied <= kMostGrowth * own;
}

}  // namespace

void reindex_constants(Prepared& prepared, const te::Workload& workload, const CpuTarget& target) {
  ir::Nest& nest = prepared.nest;
  for (const ir::BlockId id : nest.blocks_in_order()) {
    const ir::Block block = nest.blocks[id];
    if (block.reduce == ir::ReduceOp::kNone || nest.buffers[block.writes].constant) continue;
    const std::int64_t lanes = target.lanes(size_of(block.body->dtype));
    for (const ir::Read* read : ir::reads_of(block.body)) {
      if (!is_worth_reindexing(nest, block, *read, lanes)) continue;
      const std::string& name = nest.buffers[read->tensor].name;
      try_step(nest, prepared.steps,
               schedule::Reindex{name, name + ".by." + block.name, block.name},
               workload.contract.free_layout);
    }
  }
}

namespace {

// The first two neighbouring dimensions that some access goes through loop by loop and that become
// one; false if there are none.
bool merge_some(Prepared& prepared) {
  const ir::Nest& nest = prepared.nest;
  for (const ir::BlockId id : nest.blocks_in_order()) {
    const ir::Block& block = nest.blocks[id];
    const auto loop_of = [&](const ir::Affine& row) -> std::string {
      for (const ir::AffineTerm& term : row.terms) {
        const ir::BlockIter& iter = block.iters[term.iter];
        if (nest.sizes.constant_value(iter.extent) > 1 && iter.digits.size() == 1)
          return nest.loops[iter.digits[0].loop].name;
      }
      return "";
    };
    std::vector<std::vector<ir::Affine>> accesses = {block.index};
    for (const ir::Read* read : ir::reads_of(block.body)) accesses.push_back(read->index);
    for (const auto& index : accesses)
      for (std::size_t d = 0; d + 1 < index.size(); ++d) {
        const std::string outer = loop_of(index[d]), inner = loop_of(index[d + 1]);
        if (!outer.empty() && !inner.empty() && outer != inner &&
            try_step(prepared.nest, prepared.steps, schedule::Merge{{outer, inner}}, false))
          return true;
      }
  }
  return false;
}

}  // namespace

void merge_axes(Prepared& prepared, const te::Workload& workload) {
  if (workload.contract.free_layout) return;
  while (merge_some(prepared)) {
  }
}

namespace {

// Of the axes that loops over steps go along: the loops inside of those.
std::set<std::string> loops_in(const ir::Nest& nest, const std::set<std::string>& steps) {
  std::set<std::string> out;
  for (const ir::Block& block : nest.blocks)
    for (const ir::BlockIter& iter : block.iters) {
      const auto name = [&](const ir::LoopDigit& digit) { return nest.loops[digit.loop].name; };
      const auto is_step = [&](const ir::LoopDigit& digit) { return steps.contains(name(digit)); };
      if (std::ranges::none_of(iter.digits, is_step)) continue;
      for (const ir::LoopDigit& digit : iter.digits)
        if (!is_step(digit)) out.insert(name(digit));
    }
  return out;
}

}  // namespace

Prepared begin(const te::Workload& workload, algebra::Repeated repeated) {
  Prepared prepared{te::naive_nest(workload), {}, {}, {}};
  algebra::rewrite(prepared.nest, prepared.steps, workload.contract.free_layout, repeated);
  inline_stages(prepared, workload, repeated);
  return prepared;
}

Prepared prepare_plainly(const te::Workload& workload, const CpuTarget& target,
                         algebra::Repeated repeated) {
  Prepared prepared = begin(workload, repeated);
  reindex_constants(prepared, workload, target);
  merge_axes(prepared, workload);
  return prepared;
}

Prepared prepare(const te::Workload& workload, const CpuTarget& target, algebra::Repeated repeated,
                 const RowShares& shares) {
  Prepared prepared = prepare_plainly(workload, target, repeated);
  std::set<std::string> steps;
  for (const ir::LoopId loop : analysis::step_loops(prepared.nest))
    steps.insert(prepared.nest.loops[loop].name);
  if (!steps.empty()) {
    prepared.view = view_of(prepared.nest, workload, steps);
    prepared.in_steps = loops_in(prepared.nest, steps);
    // No layout is chosen for what goes on step by step; a plain one is always allowed.
    prepared.view.contract.free_layout = false;
    return prepared;
  }
  locate_in_parts(prepared, workload, target);
  split_reductions(prepared, workload, target, shares);
  prepared.view = view_of(prepared.nest, workload);
  return prepared;
}

}  // namespace lathe::space
