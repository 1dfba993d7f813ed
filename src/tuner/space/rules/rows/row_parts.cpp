#include "tuner/space/rules/rows/row_parts.h"

#include <algorithm>
#include <set>

#include "compiler/analysis/dependence.h"
#include "compiler/analysis/scans.h"
#include "tuner/space/costs.h"
#include "tuner/space/rules/shared/axes.h"
#include "tuner/space/rules/shared/reductions.h"
#include "tuner/space/rules/tile/register_tile.h"
#include "tuner/space/rules/tile/tile_sketch.h"

namespace lathe::space {
namespace {

// Sizes of parts: of the first cache, the second, and more.
constexpr std::int64_t kFirstPart = 1 << 12;
constexpr std::int64_t kPartSizes[] = {1 << 8, kFirstPart, 1 << 14, 1 << 16};
constexpr std::int64_t kStartPart = 1 << 14;
constexpr std::int64_t kLargerPart = 4;    // of a part, where less of the row cannot be taken
constexpr std::int64_t kFewestTerms = 16;  // of a partial result, which is written and read again

// How a reduction goes through the largest tensor that it reads.
struct Pass {
  std::string block;
  ir::BufferId source = -1;
  // By dimension of the source: the block's loop, and the dimension of the result; -1: reduced.
  std::vector<std::string> loops;
  std::vector<int> dims;
  std::vector<std::int64_t> extents;
};

// Reductions that go through one tensor in the same way.
struct Passes {
  Prepared prepared;
  bool again = false;  // a map is computed several times
  std::vector<Pass> list;
};

std::int64_t elements_in(const ir::Nest& nest, ir::BufferId id) {
  std::int64_t out = 1;
  for (const ir::SizeId size : nest.buffers[id].shape) out *= nest.sizes.constant_value(size);
  return out;
}

// The pass, if the block reads the elements of its source one by one, each once.
std::optional<Pass> pass_of(const ir::Nest& nest, ir::BlockId id) {
  const ir::Block& block = nest.blocks[id];
  if (block.reduce == ir::ReduceOp::kNone || nest.buffers[block.writes].constant)
    return std::nullopt;
  const ir::Read* source = nullptr;
  for (const ir::Read* read : ir::reads_of(block.body))
    if (source == nullptr || elements_in(nest, read->tensor) > elements_in(nest, source->tensor))
      source = read;
  if (source == nullptr || source->pad || !all_plain(source->index)) return std::nullopt;
  Pass pass;
  pass.block = block.name;
  pass.source = source->tensor;
  std::set<int> seen;
  for (const ir::Affine& row : source->index) {
    const int i = row.terms[0].iter;
    const ir::BlockIter& iter = block.iters[static_cast<std::size_t>(i)];
    if (row.offset != 0 || iter.guard || iter.digits.size() != 1 || !seen.insert(i).second)
      return std::nullopt;
    pass.loops.push_back(nest.loops[iter.digits[0].loop].name);
    pass.extents.push_back(nest.sizes.constant_value(iter.extent));
    pass.dims.push_back(iter.kind == ir::IterKind::kReduce ? -1 : plain_dim(block.index, i));
    if (iter.kind == ir::IterKind::kSpatial && pass.dims.back() < 0) return std::nullopt;
  }
  for (int i = 0; i < static_cast<int>(block.iters.size()); ++i)
    if (!seen.contains(i) &&
        nest.sizes.constant_value(block.iters[static_cast<std::size_t>(i)].extent) > 1)
      return std::nullopt;
  return pass;
}

// The dimension of the source that is cut in parts, and how: the outermost that makes parts of at
// most so many elements, or else the one that makes the smallest.
struct Cut {
  std::size_t dim = 0;
  std::int64_t each = 0;  // of this dimension; 0: none
  std::int64_t parts = 1;
};
Cut cut_of(const Pass& pass, std::int64_t elements) {
  Cut best;
  std::int64_t least = kLargerPart * elements + 1;
  for (std::size_t d = 0; d < pass.dims.size() && least > elements; ++d) {
    if (pass.dims[d] >= 0) continue;
    std::int64_t inside = 1, terms = 1;
    for (std::size_t e = 0; e < pass.dims.size(); ++e) {
      if (e != d && (e > d || pass.dims[e] < 0)) inside *= pass.extents[e];
      if (e != d && pass.dims[e] < 0) terms *= pass.extents[e];
    }
    const std::int64_t each = std::max<std::int64_t>(1, elements / inside);
    if (each >= pass.extents[d] || each * inside >= least || each * terms < kFewestTerms) continue;
    least = each * inside;
    best = {d, each, (pass.extents[d] + each - 1) / each};
  }
  return best;
}

double row_bytes(const ir::Nest& nest, const Pass& pass, const Cut& cut) {
  double bytes = size_of(nest.buffers[pass.source].dtype);
  for (std::size_t d = 0; d < pass.dims.size(); ++d)
    if (d >= cut.dim || pass.dims[d] < 0) bytes *= static_cast<double>(pass.extents[d]);
  return bytes;
}

// True if the block needs one of these, directly or through other blocks.
bool needs(const ir::Nest& nest, ir::BlockId id, const std::set<ir::BufferId>& buffers) {
  std::set<ir::BufferId> seen;
  std::vector<ir::BlockId> open = {id};
  while (!open.empty()) {
    const ir::Block& block = nest.blocks[open.back()];
    open.pop_back();
    for (const ir::BufferId read : ir::tensors_of(block.body)) {
      if (buffers.contains(read)) return true;
      if (!seen.insert(read).second) continue;
      for (const ir::BlockId writer : analysis::writers_of(nest, read)) open.push_back(writer);
    }
  }
  return false;
}

// Maps of what a reduction makes, as exponentials of differences from the maximum, are computed
// where they are read, so that the reduction shows in its readers. True if one is then computed
// several times.
bool inline_dependent_maps(Prepared& prepared, const te::Workload& workload) {
  ir::Nest& nest = prepared.nest;
  bool again = false;
  std::set<ir::BufferId> reduced;
  for (const ir::BlockId id : nest.blocks_in_order()) {
    const ir::Block block = nest.blocks[id];
    if (block.reduce != ir::ReduceOp::kNone) reduced.insert(block.writes);
    const auto readers = analysis::readers_of(nest, block.writes);
    if (block.reduce == ir::ReduceOp::kNone && needs(nest, id, reduced) &&
        std::ranges::any_of(
            readers, [&](ir::BlockId r) { return nest.blocks[r].reduce != ir::ReduceOp::kNone; }) &&
        try_step(nest, prepared.steps, schedule::Inline{block.name}, workload.contract.free_layout))
      again = again || readers.size() > 1;
  }
  return again;
}

std::string parts_name(const Pass& pass) { return pass.block + ".parts"; }

// Cuts the pass in parts and, if it depends on others, makes it relative to their parts. Leaves
// everything as it was where that cannot be.
bool add_pass(Passes& passes, const Pass& pass, const Cut& cut) {
  ir::Nest nest = passes.prepared.nest;
  schedule::Trace steps = passes.prepared.steps;
  const std::string& loop = pass.loops[cut.dim];
  const bool split =
      try_step(nest, steps,
               schedule::Split{loop, cut.each, loop + ".p", loop + ".e", ir::Tail::kPeel}, false) &&
      try_step(nest, steps, schedule::Rfactor{pass.block, loop + ".p", parts_name(pass), 0}, false);
  if (!split) return false;
  std::set<ir::BufferId> earlier;
  for (const Pass& other : passes.list) {
    const ir::BufferId result = nest.find_buffer(other.block);
    earlier.insert(result);
    const ir::Block& parts = nest.blocks[nest.find_block(parts_name(pass))];
    if (analysis::reads(parts, result) &&
        !try_step(nest, steps, schedule::Rescale{pass.block, other.block}, false))
      return false;
  }
  if (needs(nest, nest.find_block(parts_name(pass)), earlier)) return false;
  passes.prepared.nest = std::move(nest);
  passes.prepared.steps = std::move(steps);
  passes.list.push_back(pass);
  return true;
}

// The most reductions that can go through one tensor together, cut in parts.
Passes find_passes(const CpuContext& context, std::int64_t elements) {
  Prepared prepared = prepare_plainly(context.workload, context.target, context.repeated);
  const bool again = inline_dependent_maps(prepared, context.workload);
  std::vector<Pass> all;
  for (const ir::BlockId id : prepared.nest.blocks_in_order())
    if (auto pass = pass_of(prepared.nest, id)) all.push_back(std::move(*pass));
  Passes best;
  std::set<std::pair<ir::BufferId, std::vector<int>>> tried;
  for (const Pass& first : all) {
    if (!tried.emplace(first.source, first.dims).second) continue;
    const Cut cut = cut_of(first, elements);
    if (cut.each == 0) continue;
    Passes passes{prepared, again, {}};
    for (const Pass& pass : all)
      if (pass.source == first.source && pass.dims == first.dims) add_pass(passes, pass, cut);
    if (passes.list.size() > std::max<std::size_t>(1, best.list.size())) best = std::move(passes);
  }
  return best;
}

// Of a tensor with partial results of a part: dimensions before that of the part, which long sums
// have (reductions.cpp). -1: it is another tensor.
int dims_before(const Passes& passes, const te::Workload& view, int tensor) {
  const std::string& name = view.tensors[static_cast<std::size_t>(tensor)].name;
  const auto rank = [&](const std::string& of) {
    const auto found = std::ranges::find(view.tensors, of, &te::Tensor::name);
    return found == view.tensors.end() ? 0 : static_cast<int>(found->shape.size());
  };
  for (const Pass& pass : passes.list) {
    const std::string parts = parts_name(pass);
    if (name == parts) return 0;
    if (!name.starts_with(parts + ".")) continue;
    if (!name.starts_with(parts + ".part")) return 0;
    return rank(name) - std::max({rank(parts), rank(parts + ".lanes"), rank(parts + ".vectors")});
  }
  return -1;
}

// The parts of all passes, and the rows outside them, as rows that go together.
RowGroup group_of(const Passes& passes, const Cut& cut, const te::Workload& view) {
  std::vector<int> dims;  // of the partial results
  const Pass& pass = passes.list[0];
  for (std::size_t d = 0; d < cut.dim; ++d)
    if (pass.dims[d] >= 0 && pass.extents[d] > 1) dims.push_back(pass.dims[d] + 1);
  dims.push_back(0);
  RowGroup group;
  group.axes.resize(dims.size());
  for (const te::Stage& stage : view.stages) {
    const int before = dims_before(passes, view, stage.tensor);
    group.axes.back().extent = cut.parts;
    for (std::size_t a = 0; a < dims.size(); ++a)
      group.axes[a].iters.push_back(before < 0 ? -1 : before + dims[a]);
  }
  return group;
}

}  // namespace

RowParts find_row_parts(const CpuContext& context, bool only_long) {
  RowParts out;
  if (std::ranges::count_if(context.workload.stages, [](const te::Stage& stage) {
        return stage.reduce != ir::ReduceOp::kNone;
      }) < 2)
    return out;
  for (const std::int64_t elements : kPartSizes) {
    if (only_long && elements < kFirstPart) continue;
    const Passes passes = find_passes(context, elements);
    if (passes.list.empty()) continue;
    const Cut cut = cut_of(passes.list[0], elements);
    const bool is_long = row_bytes(passes.prepared.nest, passes.list[0], cut) > kL2;
    if (only_long && !is_long) continue;
    out.sizes.push_back(elements);
    // exp again for each element takes as long as memory does to bring it.
    if (elements == kStartPart && is_long && !passes.again) out.start = elements;
  }
  return out;
}

namespace {

Result<Grouped> prepare_parts(const CpuContext& context, std::int64_t elements) {
  const te::Workload& workload = context.workload;
  Passes passes = find_passes(context, elements);
  if (passes.list.empty())
    return fail(ErrorKind::kIllegalSchedule, "no reductions go through the same elements");
  const Cut cut = cut_of(passes.list[0], elements);
  Grouped out;
  out.prepared = std::move(passes.prepared);
  double rows = static_cast<double>(cut.parts);
  for (std::size_t d = 0; d < cut.dim; ++d)
    if (passes.list[0].dims[d] >= 0) rows *= static_cast<double>(passes.list[0].extents[d]);
  RowShares shares;
  for (const Pass& pass : passes.list) shares[parts_name(pass)] = 1 / rows;
  split_reductions(out.prepared, workload, context.target, shares);
  out.prepared.view = view_of(out.prepared.nest, workload);
  const RowGroup group = group_of(passes, cut, out.prepared.view);
  std::set<std::string> outer;
  LATHE_TRY_STATUS(split_rows(out, {&group, 1}, group, outer));
  out.prepared.view = view_of(out.prepared.nest, workload, outer);
  return out;
}

Result<Sketch> build_parts(const CpuContext& context, std::int64_t elements) {
  const CpuTarget& target = context.target;
  Grouped grouped = LATHE_TRY(prepare_parts(context, elements));
  Tiling tiling;
  tiling.prepared = std::move(grouped.prepared);
  tiling.joined = std::move(grouped.loops);
  tiling.grouped = std::move(grouped.tensors);
  tiling.target = target;
  const te::Workload& view = tiling.prepared.view;
  const int main = main_stage(view);
  CpuTarget own = target;
  if (tiling.grouped.contains(view.stages[static_cast<std::size_t>(main)].tensor)) own.threads = 1;
  TileRule rule = tile_rule_for(view, main, own, Flavour::kDefault);
  if (rule.axes.empty())
    return fail(ErrorKind::kIllegalSchedule, "a part of a row has no axis but reductions");
  note_rows(rule, grouped.same);
  tiling.main = tiled(std::move(rule));
  tiling.companions = companions_of(view, main, target, view, grouped.same, tiling.grouped);
  return build_tile_sketch(tiling, {});
}

class RowPartsAlternatives : public Alternatives {
 public:
  RowPartsAlternatives(const CpuContext& context, RowParts found)
      : context_(context), found_(std::move(found)) {}

  std::vector<Choice> choices(const std::vector<Knob>& before) override {
    at_ = before.size();
    Knob knob{"row.parts", {0}, {"whole"}, true};
    for (const std::int64_t size : found_.sizes) {
      knob.values.push_back(std::ssize(knob.values));
      knob.labels.push_back(std::to_string(size));
    }
    return {{std::move(knob), std::nullopt, {}}};
  }
  void add_limits_and_starts(Derived& derived) override {
    const auto found = std::ranges::find(found_.sizes, found_.start);
    // What a stage needs as a whole may stand between its parts and those of the stage before.
    const bool first = found != found_.sizes.end() && build_parts(context_, found_.start);
    std::vector<std::int64_t> other = derived.starts[0];
    derived.starts[0][at_] = first ? found - found_.sizes.begin() + 1 : 0;
    other[at_] = first ? 0 : 1;
    if (derived.starts.size() == kMostStarts) derived.starts.pop_back();
    derived.starts.push_back(std::move(other));
  }
  Result<Sketch> build(std::span<const std::int64_t> values, const Build&) const override {
    const auto choice = static_cast<std::size_t>(values[at_]);
    return build_parts(context_, found_.sizes[choice - 1]);
  }

 private:
  CpuContext context_;
  RowParts found_;
  std::size_t at_ = 0;  // the number of the knob
};

}  // namespace

Result<std::unique_ptr<Alternatives>> offer_row_parts(const CpuContext& context) {
  if (context.workload.contract.free_layout || analysis::has_scan(context.direct->prepared.nest))
    return nullptr;
  RowParts found = find_row_parts(context, context.flavour == Flavour::kDefault);
  if (found.sizes.empty()) return nullptr;
  return std::make_unique<RowPartsAlternatives>(context, std::move(found));
}

namespace {

constexpr Meaning kRowPartMeanings[] = {
    {"row.parts",
     "of reductions over the same elements: whole, one after the other; a number: they go through "
     "so many elements together, before the next ones"},
};

}  // namespace

std::span<const Meaning> row_part_meanings() { return kRowPartMeanings; }

}  // namespace lathe::space
