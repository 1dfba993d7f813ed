#include "tuner/space/rules/scan/scan_loops.h"

#include <algorithm>

#include "compiler/analysis/recurrences.h"
#include "compiler/analysis/scans.h"
#include "compiler/te/scan.h"
#include "tuner/space/rules/shared/axes.h"
#include "tuner/space/rules/shared/plain_loops.h"
#include "tuner/space/rules/shared/prepare.h"

namespace lathe::space {
namespace {

// Rows whose operations are under way together: each waits for its last one.
constexpr std::int64_t kRows = 8;
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
  out.last = name(last.digits.at(0).loop);
  return out;
}

std::int64_t rows_of(const ir::Nest& nest, const ScanLoops& loops) {
  const std::string row = row_loop(nest, loops);
  return row.empty() ? 0 : extent_of_loop(nest, row);
}

std::int64_t vectors_of(const ir::Nest& nest, const ScanLoops& loops, std::int64_t lanes) {
  return (extent_of_loop(nest, loops.last) + lanes - 1) / lanes;
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
    return {rows == 0 ? 1 : shared(rows, same_places ? kFewRows : kRows)};
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

  void rows(ir::SizeId block) {
    std::vector<std::string> order = loops_.others;
    const std::string row = row_loop(nest_, loops_);
    if (row.empty()) return;
    split(row, block, row + ".o", row + ".u");
    std::ranges::replace(order, row, row + ".o");
    const std::vector<std::string> outer = order;
    order.push_back(loops_.axis);
    order.push_back(row + ".u");
    step(schedule::Reorder{order});
    kind(row + ".u", ir::LoopKind::kUnrolled);
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
  if (loops.along_last()) builder.rows(block.size);
  else builder.columns(block.size, block.unrolled);
}

void schedule_scan(const te::Workload& view, const te::Stage& stage, const CpuTarget& target,
                   ir::Nest& nest, schedule::Trace& trace) {
  const ScanLoops loops =
      scan_loops_of(nest, view.tensors[static_cast<std::size_t>(stage.tensor)].name);
  const auto usual = usual_block(nest, loops, target);
  schedule_scan(loops, {nest.sizes.constant(usual.size), usual.unrolled}, target, nest, trace,
                view.contract.free_layout);
}

}  // namespace lathe::space
