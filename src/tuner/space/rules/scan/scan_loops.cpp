#include "tuner/space/rules/scan/scan_loops.h"

#include <algorithm>
#include <cmath>

#include "compiler/algebra/algebra.h"
#include "compiler/analysis/recurrences.h"
#include "compiler/analysis/scans.h"
#include "compiler/te/scan.h"
#include "tuner/space/costs.h"
#include "tuner/space/rules/shared/axes.h"
#include "tuner/space/rules/shared/plain_loops.h"
#include "tuner/space/rules/shared/prepare.h"

namespace lathe::space {
namespace {

// Rows whose operations are under way together: each waits for its last one.
constexpr std::int64_t kRows = 8;
// The same by vectors, each of which has other operations besides that one.
constexpr std::int64_t kRowsOfVectors = 1;
// So many vectors along the axis are worth going by.
constexpr std::int64_t kFewestVectors = 2;
// Rows that begin so many bytes apart share their places in the first cache, which has few of each.
constexpr std::int64_t kSamePlaces = 2048, kFewRows = 4;
// Bytes of a row that are gone through at a time across the axis: rows of several tensors stay in
// the first cache.
constexpr std::int64_t kRowBytes = 4096;

// So many vectors across the axis are unrolled.
constexpr std::int64_t kFewVectors = 8;

int bytes_of_element(const ir::Nest& nest, const ScanLoops& loops) {
  return size_of(nest.buffers[nest.blocks[nest.find_block(loops.block)].writes].dtype);
}

// The innermost of the other loops with several iterations; empty: there is none.
std::string row_loop(const ir::Nest& nest, const ScanLoops& loops) {
  for (auto loop = loops.others.rbegin(); loop != loops.others.rend(); ++loop)
    if (extent_of_loop(nest, *loop) > 1) return *loop;
  return "";
}

}  // namespace

std::int64_t extent_of_loop(const ir::Nest& nest, const std::string& loop) {
  return nest.sizes.constant_value(nest.loops[nest.find_loop(loop)].extent);
}

namespace {

bool goes_along(const ir::Nest& nest, const te::Workload& view, const te::Stage& stage) {
  return analysis::goes_along_axis(
      nest, nest.find_block(view.tensors[static_cast<std::size_t>(stage.tensor)].name));
}

}  // namespace

bool scan_leads(const ir::Nest& nest, const te::Workload& view) {
  double scans = 0, others = 0;
  for (const te::Stage& stage : view.stages) {
    if (view.tensors[static_cast<std::size_t>(stage.tensor)].constant) continue;
    double& most = goes_along(nest, view, stage) ? scans : others;
    most = std::max(most, work_of(stage));
  }
  return scans > 0 && scans >= others;
}

const te::Stage& leading_scan(const ir::Nest& nest, const te::Workload& view) {
  const te::Stage* best = nullptr;
  for (const te::Stage& stage : view.stages)
    if (goes_along(nest, view, stage) && (best == nullptr || work_of(stage) > work_of(*best)))
      best = &stage;
  LATHE_CHECK(best != nullptr, "no stage is a scan");
  return *best;
}

std::set<std::string> companions_along(const ir::Nest& nest, const std::string& tensor) {
  std::set<std::string> out = {tensor};
  const ir::BlockId id = nest.find_block(tensor);
  if (!analysis::is_in_steps(nest, id)) return out;
  for (const ir::Item& item : nest.children(nest.blocks[id].parent))
    if (item.kind == ir::Item::Kind::kBlock) out.insert(nest.blocks[item.id].name);
  return out;
}

ScanLoops scan_loops_of(const ir::Nest& nest, const std::string& tensor) {
  const ir::BlockId id = nest.find_block(tensor);
  const ir::Block& block = nest.blocks[id];
  ScanLoops out;
  out.block = tensor;
  const std::vector<ir::LoopId> steps = analysis::step_loops(nest);
  const auto name = [&](ir::LoopId loop) { return nest.loops[loop].name; };
  for (const ir::LoopId loop : nest.loops_around(id)) {
    if (analysis::is_scan_loop(block, loop) || std::ranges::count(steps, loop) > 0)
      out.axis = name(loop);
    else out.others.push_back(name(loop));
  }
  const ir::BlockIter& last = block.iters[block.index.back().terms.at(0).iter];
  out.last = name(last.digits.back().loop);
  return out;
}

std::int64_t rows_of(const ir::Nest& nest, const ScanLoops& loops) {
  const std::string row = row_loop(nest, loops);
  return row.empty() ? 0 : extent_of_loop(nest, row);
}

std::int64_t vectors_of(const ir::Nest& nest, const ScanLoops& loops, std::int64_t lanes) {
  return (extent_of_loop(nest, loops.last) + lanes - 1) / lanes;
}

bool may_go_by_vectors(const ir::Nest& nest, const ScanLoops& loops, const CpuTarget& target) {
  const ir::BlockId id = nest.find_block(loops.block);
  const ir::Block& block = nest.blocks[id];
  const std::int64_t lanes = target.lanes(bytes_of_element(nest, loops));
  const auto scan = analysis::any_order_scan(block);
  if (!scan || !loops.along_last() || analysis::is_in_steps(nest, id)) return false;
  const bool forward = block.index.back().coef_of(scan->axis) == 1;
  return forward && lanes >= 4 && (lanes & (lanes - 1)) == 0 &&
         extent_of_loop(nest, loops.axis) >= kFewestVectors * lanes;
}

namespace {

// Cycles for an element of one row after the other, where so many go along together.
double cycles_by_elements(std::int64_t rows) { return kLatency / static_cast<double>(rows); }
// The same by vectors: log2(lanes) times an operation and two that bring lanes to their places, and
// what each vector has besides. Two of these begin in a cycle.
double cycles_by_vectors(std::int64_t lanes) {
  const auto each = static_cast<double>(lanes);
  return (3 * std::log2(each) + 4) / 2 / each;
}
// Cycles that the terms of an element take, by themselves; two operations begin in a cycle.
double cycles_of_terms(const ir::Nest& nest, const ScanLoops& loops) {
  const auto scan = analysis::any_order_scan(nest.blocks[nest.find_block(loops.block)]);
  return scan ? algebra::operations_of(scan->terms) / 2 : 0;
}

}  // namespace

std::int64_t usual_parts(const ir::Nest& nest, const ScanLoops& loops, const CpuTarget& target) {
  std::int64_t outside = 1;
  for (const std::string& loop : loops.others) outside *= extent_of_loop(nest, loop);
  if (outside >= target.threads || !may_go_by_vectors(nest, loops, target)) return 1;
  const std::int64_t parts = target.threads / outside;
  const int bytes = bytes_of_element(nest, loops);
  const double elements = static_cast<double>(extent_of_loop(nest, loops.axis));
  const double once = cycles_by_vectors(target.lanes(bytes)), total = bytes / kL3Rate;
  const double cut =
      elements * (once + total) / static_cast<double>(parts) + 2 * start_cycles(target.threads);
  return cut * kOtherChoice < elements * once ? parts : 1;
}

ScanBlock<std::int64_t> usual_block(const ir::Nest& nest, const ScanLoops& loops,
                                    const CpuTarget& target) {
  const int bytes = bytes_of_element(nest, loops);
  // Threads have a block each, where there is enough.
  const auto shared = [&](std::int64_t all, std::int64_t most) {
    std::int64_t outside = 1;
    for (const std::string& loop : loops.others)
      if (loop != loops.last && loop != row_loop(nest, loops))
        outside *= extent_of_loop(nest, loop);
    const std::int64_t threads = std::max<std::int64_t>(1, target.threads / outside);
    return std::clamp<std::int64_t>((all + threads - 1) / threads, 1, most);
  };
  if (loops.along_last()) {
    const std::int64_t rows = rows_of(nest, loops);
    const bool same_places = extent_of_loop(nest, loops.axis) * bytes % kSamePlaces == 0;
    const std::int64_t together = rows == 0 ? 1 : shared(rows, same_places ? kFewRows : kRows);
    const auto lanes = static_cast<double>(std::max(1, target.lanes(bytes)));
    const double terms = cycles_of_terms(nest, loops);
    if (may_go_by_vectors(nest, loops, target) &&
        cycles_by_vectors(target.lanes(bytes)) + terms / lanes <
            cycles_by_elements(together) + terms)
      return {std::min(together, kRowsOfVectors), true, true};
    return {together};
  }
  const std::int64_t lanes = std::max(1, target.lanes(bytes));
  const std::int64_t vectors =
      shared(vectors_of(nest, loops, lanes), std::max<std::int64_t>(1, kRowBytes / bytes / lanes));
  return {vectors, vectors <= kFewVectors};
}

namespace {

// Throws nothing: steps that are refused are left out.
class ScanBuilder {
 public:
  ScanBuilder(const ScanLoops& loops, const CpuTarget& target, ir::Nest& nest,
              schedule::Trace& trace, bool free_layout)
      : loops_(loops), target_(target), nest_(nest), trace_(trace), free_layout_(free_layout) {}

  void rows(ir::SizeId block, bool by_vectors) {
    std::vector<std::string> order = loops_.others;
    const std::string row = row_loop(nest_, loops_), axis = loops_.axis;
    if (row.empty() && !by_vectors) return;
    const std::int64_t lanes = std::max(1, target_.lanes(bytes_of_element(nest_, loops_)));
    if (by_vectors) split(axis, nest_.sizes.constant(lanes), axis + ".v", axis + ".l");
    if (!row.empty()) split(row, block, row + ".o", row + ".u");
    std::ranges::replace(order, row, row + ".o");
    const std::vector<std::string> outer = order;
    order.push_back(by_vectors ? axis + ".v" : axis);
    if (!row.empty()) order.push_back(row + ".u");
    if (by_vectors) order.push_back(axis + ".l");
    step(schedule::Reorder{order});
    if (!row.empty()) kind(row + ".u", ir::LoopKind::kUnrolled);
    if (by_vectors) kind(axis + ".l", ir::LoopKind::kVectorized);
    share_loops(nest_, trace_, outer, target_.threads, free_layout_);
  }

  void columns(ir::SizeId block, bool unrolled) {
    const std::string& last = loops_.last;
    const std::int64_t lanes = std::max(1, target_.lanes(bytes_of_element(nest_, loops_)));
    std::vector<std::string> order = loops_.others;
    split(last, nest_.sizes.mul(block, nest_.sizes.constant(lanes)), last + ".c", last + ".r");
    split(last + ".r", nest_.sizes.constant(lanes), last + ".v", last + ".l");
    std::ranges::replace(order, last, last + ".c");
    const std::vector<std::string> outer = order;
    for (const std::string& loop : {loops_.axis, last + ".v", last + ".l"}) order.push_back(loop);
    step(schedule::Reorder{order});
    kind(last + ".l", ir::LoopKind::kVectorized);
    if (unrolled) kind(last + ".v", ir::LoopKind::kUnrolled);
    share_loops(nest_, trace_, outer, target_.threads, free_layout_);
  }

 private:
  void step(schedule::Step s) { try_step(nest_, trace_, std::move(s), free_layout_); }
  void split(const std::string& loop, ir::SizeId factor, const std::string& outer,
             const std::string& inner) {
    step(schedule::Split{loop, factor, outer, inner, ir::Tail::kPeel});
  }
  void kind(const std::string& loop, ir::LoopKind k) {
    step(schedule::Annotate{.loop = loop, .kind = k});
  }

  const ScanLoops& loops_;
  const CpuTarget& target_;
  ir::Nest& nest_;
  schedule::Trace& trace_;
  bool free_layout_;
};

}  // namespace

void schedule_scan(const ScanLoops& loops, ScanBlock<ir::SizeId> block, const CpuTarget& target,
                   ir::Nest& nest, schedule::Trace& trace, bool free_layout) {
  ScanBuilder builder(loops, target, nest, trace, free_layout);
  if (loops.along_last()) builder.rows(block.size, block.by_vectors);
  else builder.columns(block.size, block.unrolled);
}

void schedule_scan(const te::Workload& view, const te::Stage& stage, const CpuTarget& target,
                   ir::Nest& nest, schedule::Trace& trace) {
  const ScanLoops loops =
      scan_loops_of(nest, view.tensors[static_cast<std::size_t>(stage.tensor)].name);
  const auto usual = usual_block(nest, loops, target);
  schedule_scan(loops, {nest.sizes.constant(usual.size), usual.unrolled, usual.by_vectors}, target,
                nest, trace, view.contract.free_layout);
}

}  // namespace lathe::space
