#include "tuner/space/rules/scan/steps_grid.h"

#include <algorithm>
#include <vector>

#include "compiler/analysis/recurrences.h"
#include "compiler/te/recurrence.h"
#include "tuner/space/rules/opencl/item_space.h"
#include "tuner/space/rules/scan/scan_grid.h"
#include "tuner/space/rules/scan/scan_loops.h"
#include "tuner/space/rules/shared/choices.h"
#include "tuner/space/rules/shared/knob_list.h"

namespace lathe::space {
namespace {

constexpr std::int64_t kItemsAtStart = 64;

// The loop over steps around a block: the outermost one.
ir::LoopId loop_of_steps(const ir::Nest& nest, ir::BlockId block) {
  for (const ir::LoopId loop : analysis::step_loops(nest))
    if (nest.is_inside({ir::Item::Kind::kBlock, block}, loop)) return nest.path_to(loop).front();
  return ir::kRoot;
}

// Of each block in a loop over steps: an iterator along which each element needs only those of the
// same iteration. Empty: that of the first block is none.
class RowSearch {
 public:
  RowSearch(const ir::Nest& nest, ir::LoopId steps) : nest_(nest), blocks_(nest.blocks_in(steps)) {}

  std::vector<std::string> loops_from(int iter) {
    rows_.assign(blocks_.size(), -1);
    rows_[0] = iter;
    for (bool more = true; more;) {
      more = false;
      for (std::size_t p = 0; p < blocks_.size(); ++p)
        if (!spread(p, more)) return {};
    }
    std::vector<std::string> loops;
    for (std::size_t p = 0; p < blocks_.size(); ++p) {
      if (rows_[p] < 0) return {};
      const ir::BlockIter& row = block(p).iters[static_cast<std::size_t>(rows_[p])];
      if (row.digits.size() != 1 || row.guard || row.kind != ir::IterKind::kSpatial) return {};
      loops.push_back(nest_.loops[static_cast<std::size_t>(row.digits[0].loop)].name);
      if (extent_of_loop(nest_, loops.back()) != extent_of_loop(nest_, loops[0])) return {};
    }
    return loops;
  }
  int iterators() const { return static_cast<int>(block(0).iters.size()); }

 private:
  const ir::Block& block(std::size_t p) const {
    return nest_.blocks[static_cast<std::size_t>(blocks_[p])];
  }
  bool spread(std::size_t p, bool& more) {
    for (std::size_t q = 0; q < blocks_.size(); ++q) {
      if (ir::looks_up(block(p).body, block(q).writes)) return false;
      for (const ir::Read* read : ir::reads_of(block(p).body))
        if (read->tensor == block(q).writes && !spread(p, q, *read, more)) return false;
    }
    return true;
  }
  bool spread(std::size_t p, std::size_t q, const ir::Read& read, bool& more) {
    const std::vector<ir::Affine>& written = block(q).index;
    if (rows_[q] >= 0) {
      const auto at = std::ranges::find(written, ir::Affine::iter(rows_[q]));
      if (at == written.end()) return false;
      const ir::Affine& row = read.index[static_cast<std::size_t>(at - written.begin())];
      if (row.terms.size() != 1 || row != ir::Affine::iter(row.terms[0].iter)) return false;
      if (rows_[p] >= 0) return rows_[p] == row.terms[0].iter;
      rows_[p] = row.terms[0].iter;
      return more = true;
    }
    if (rows_[p] < 0) return true;
    const auto at = std::ranges::find(read.index, ir::Affine::iter(rows_[p]));
    if (at == read.index.end()) return false;
    const ir::Affine& row = written[static_cast<std::size_t>(at - read.index.begin())];
    if (row.terms.size() != 1 || row != ir::Affine::iter(row.terms[0].iter)) return false;
    rows_[q] = row.terms[0].iter;
    return more = true;
  }

  const ir::Nest& nest_;
  std::vector<ir::BlockId> blocks_;
  std::vector<int> rows_;  // by block
};

// By axis, the loops over rows of all blocks in the loop over steps.
std::vector<std::vector<std::string>> row_loops(const ir::Nest& nest, ir::LoopId steps) {
  RowSearch search(nest, steps);
  std::vector<std::vector<std::string>> out;
  for (int i = 0; i < search.iterators(); ++i)
    if (auto loops = search.loops_from(i); !loops.empty()) out.push_back(std::move(loops));
  return out;
}

class GridSteps {
 public:
  GridSteps(ir::Nest& nest, schedule::Trace& trace) : nest_(nest), trace_(trace) {}

  void run(ir::LoopId steps, ir::SizeId items) {
    const std::string along = name_of(steps);
    std::vector<std::string> rows;
    for (const std::vector<std::string>& loops : row_loops(nest_, steps))
      if (take_outside(loops, along)) rows.push_back(loops[0]);
    if (rows.empty()) return;
    std::string all = rows[0];
    if (rows.size() > 1) {
      all = along + ".rows";
      if (!may(schedule::Fuse{rows, all})) return;
    }
    if (!may(schedule::Split{all, items, all + ".g", all + ".i", ir::Tail::kPeel})) return;
    may(schedule::Annotate{.loop = all + ".g", .kind = ir::LoopKind::kBlockX});
    may(schedule::Annotate{.loop = all + ".i", .kind = ir::LoopKind::kThreadX});
  }

 private:
  const std::string& name_of(ir::LoopId loop) const {
    return nest_.loops[static_cast<std::size_t>(loop)].name;
  }
  bool may(schedule::Step step) { return try_step(nest_, trace_, std::move(step), false); }

  // Makes the rows of all blocks one loop around that over the steps, or leaves all as it is.
  bool take_outside(const std::vector<std::string>& loops, const std::string& along) {
    const ir::Nest before = nest_;
    const std::size_t steps = trace_.size();
    if (bring_together(loops, along)) return true;
    nest_ = before;
    trace_.resize(steps);
    return false;
  }
  bool bring_together(const std::vector<std::string>& loops, const std::string& along) {
    for (const std::string& loop : loops) {
      const ir::LoopId id = nest_.find_loop(loop);
      const std::vector<ir::LoopId> path = nest_.path_to(id);
      const auto steps = std::ranges::find(path, nest_.find_loop(along));
      if (steps == path.end()) return false;
      std::vector<std::string> order = {loop};
      for (auto inner = steps + 1; inner != path.end(); ++inner)
        if (*inner != id) order.push_back(name_of(*inner));
      if (order.size() > 1 && !may(schedule::Reorder{order})) return false;
    }
    if (loops.size() > 1 && !may(schedule::Join{loops})) return false;
    return may(schedule::Reorder{{loops[0], along}});
  }

  ir::Nest& nest_;
  schedule::Trace& trace_;
};

std::int64_t most_rows(const ir::Nest& nest) {
  std::int64_t most = 1;
  for (const ir::LoopId loop : analysis::step_loops(nest)) {
    if (nest.path_to(loop).size() > 1) continue;
    std::int64_t rows = 1;
    for (const auto& loops : row_loops(nest, loop)) rows *= extent_of_loop(nest, loops[0]);
    most = std::max(most, rows);
  }
  return most;
}

}  // namespace

void put_steps_on_grid(const std::string& tensor, ir::SizeId items, ir::Nest& nest,
                       schedule::Trace& trace) {
  const ir::LoopId steps = loop_of_steps(nest, nest.find_block(tensor));
  if (steps != ir::kRoot) GridSteps(nest, trace).run(steps, items);
}

std::set<std::string> companions_in_steps(const ir::Nest& nest, const std::string& tensor) {
  std::set<std::string> out = {tensor};
  const ir::LoopId steps = loop_of_steps(nest, nest.find_block(tensor));
  if (steps == ir::kRoot) return out;
  for (const ir::BlockId block : nest.blocks_in(steps))
    out.insert(nest.blocks[static_cast<std::size_t>(block)].name);
  return out;
}

bool is_led_by_steps(const GridContext& context) {
  return te::has_recurrence(context.workload) && !is_led_by_scan(context);
}

namespace {

// All recurrences with sums, with groups of so many items.
void put_all_steps_on_grid(const te::Workload& view, ir::SizeId items, Sketch& sketch,
                           std::set<std::string>& placed) {
  for (const te::Stage& stage : view.stages) {
    const std::string& tensor = view.tensors[static_cast<std::size_t>(stage.tensor)].name;
    const ir::BlockId block = sketch.nest.find_block(tensor);
    if (placed.contains(tensor) || !analysis::is_in_steps(sketch.nest, block) ||
        analysis::goes_along_axis(sketch.nest, block))
      continue;
    placed.merge(companions_in_steps(sketch.nest, tensor));
    put_steps_on_grid(tensor, items, sketch.nest, sketch.trace);
  }
}

}  // namespace

Result<Derived> derive_steps(const GridContext& context) {
  const auto prepared = std::make_shared<const Prepared>(prepare_for_grid(context.workload, false));
  Derived derived;
  const std::int64_t most = std::min(context.grids.most_items, most_rows(prepared->nest));
  KnobList(derived.knobs).size("steps.items", up_to({1, 2, 4, 8, 16, 32, 64, 128, 256}, most));
  const Knob& knob = derived.knobs[0];
  derived.starts = {{knob.values[knob.nearest(kItemsAtStart)]}};
  derived.build = [prepared, grids = context.grids,
                   name = knob.name](std::span<const std::int64_t>) {
    return sketch_on_grid(*prepared, grids, [&](Sketch& sketch, std::set<std::string>& placed) {
      put_all_steps_on_grid(prepared->view, sketch.nest.sizes.knob(0, name), sketch, placed);
    });
  };
  return derived;
}

namespace {

constexpr Meaning kGridStepMeanings[] = {
    {"steps.items",
     "items of a group, each of which goes through all steps of a recurrence for a row"},
};

}  // namespace

std::span<const Meaning> grid_step_meanings() { return kGridStepMeanings; }

}  // namespace lathe::space
