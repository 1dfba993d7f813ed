#include "tuner/space/rules/scan/scan_space.h"

#include <algorithm>

#include <fmt/format.h>

#include "compiler/algebra/algebra.h"
#include "tuner/space/rules/scan/scan_loops.h"
#include "tuner/space/rules/shared/choices.h"
#include "tuner/space/rules/shared/knob_list.h"
#include "tuner/space/rules/shared/plain_loops.h"
#include "tuner/space/rules/shared/prepare.h"

namespace lathe::space {
namespace {

constexpr std::int64_t kMostVectors = 1024;  // of a block of columns
// Elements of a part that a thread may have.
constexpr std::int64_t kShortestScanPart = 1 << 12;
// Vectors that add up the elements of a part.
constexpr std::int64_t kVectorsOfTotals = 8;

struct ScanRule {
  Prepared prepared;
  CpuTarget target;
  te::Workload workload;
  ScanLoops leading;
  std::int64_t lanes = 1;
  std::vector<std::int64_t> parts = {1};  // that the axis may be cut into
};

// The knobs of columns: whether they are unrolled, then how many there are.
enum : std::size_t { kState, kInLoop, kUnrolled };
// The knobs of rows: how many there are, and where the scan may go by vectors, whether it does and
// in how many parts.
enum : std::size_t { kRowsKnob, kAlong, kParts };

bool along_vectors(const ScanRule& rule, std::span<const std::int64_t> values) {
  return rule.leading.along_last() && values.size() > kAlong && values[kAlong] != 0;
}

std::string total_of(const ScanLoops& leading) { return leading.block + ".total"; }

// Cuts the axis of the leading scan for threads.
void cut(const ScanRule& rule, std::int64_t parts, Prepared& prepared, ScanLoops& leading) {
  const std::int64_t length = extent_of_loop(prepared.nest, leading.axis);
  const std::int64_t vectors = (length + rule.lanes - 1) / rule.lanes;
  const std::int64_t size = (vectors + parts - 1) / parts * rule.lanes;
  const schedule::CutScan step{leading.block, size, total_of(leading), leading.block + ".before"};
  if (!try_step(prepared.nest, prepared.steps, step, prepared.view.contract.free_layout)) return;
  prepared.view = view_of(prepared.nest, rule.workload);
  leading = scan_loops_of(prepared.nest, leading.block);
}

// Threads reduce the parts of a scan, each by several vectors.
void schedule_totals(const ScanRule& rule, const std::string& total, Sketch& sketch,
                     std::set<std::string>& placed) {
  const ir::BlockId id = sketch.nest.find_block(total);
  if (id < 0) return;
  std::vector<std::string> outer;
  for (const ir::LoopId loop : sketch.nest.loops_around(id))
    outer.push_back(sketch.nest.loops[loop].name);
  const std::string along = outer.back(), lanes = total + ".lanes";
  outer.pop_back();
  std::int64_t tasks = 1;
  for (const std::string& loop : outer) tasks *= extent_of_loop(sketch.nest, loop);
  const bool free_layout = rule.prepared.view.contract.free_layout;
  std::vector<schedule::Step> steps = {
      schedule::Split{along, rule.lanes * kVectorsOfTotals, along + ".o", along + ".i"},
      schedule::Rfactor{total, along + ".i", lanes}};
  // Where there are more threads, several of them reduce each part.
  const std::int64_t chunks = rule.target.threads / tasks;
  if (chunks > 1) {
    const std::int64_t all = rule.lanes * kVectorsOfTotals * chunks;
    steps.emplace_back(schedule::Split{along + ".o",
                                       (extent_of_loop(sketch.nest, along) + all - 1) / all,
                                       along + ".c", along + ".k"});
    steps.emplace_back(
        schedule::Rfactor{lanes, along + ".c", total + ".chunks", static_cast<int>(outer.size())});
    outer.push_back(along + ".c");
  }
  steps.emplace_back(schedule::Split{along + ".i", rule.lanes, along + ".u", along + ".l"});
  steps.emplace_back(schedule::Annotate{.loop = along + ".u", .kind = ir::LoopKind::kUnrolled});
  steps.emplace_back(schedule::Annotate{.loop = along + ".l", .kind = ir::LoopKind::kVectorized});
  for (const schedule::Step& step : steps)
    if (!try_step(sketch.nest, sketch.trace, step, free_layout)) return;
  share_loops(sketch.nest, sketch.trace, outer, rule.target.threads, free_layout);
  if (chunks > 1) placed.insert(total + ".chunks");
  placed.insert({total, lanes});
}

Result<Sketch> build_scans(const ScanRule& rule, const std::vector<Knob>& knobs,
                           std::span<const std::int64_t> values) {
  Prepared prepared = rule.prepared;
  ScanLoops leading = rule.leading;
  const bool rows = leading.along_last();
  if (rows && values.size() > kParts) cut(rule, rule.parts[values[kParts]], prepared, leading);
  Sketch sketch{prepared.nest, prepared.steps};
  const te::Workload& view = prepared.view;
  const bool free_layout = view.contract.free_layout;
  const bool unrolled = rows || values[kState] != 0;
  const std::size_t of_columns = unrolled ? kUnrolled : kInLoop;
  const std::size_t knob = rows ? kRowsKnob : of_columns;
  const ir::SizeId block = sketch.nest.sizes.knob(static_cast<int>(knob), knobs[knob].name);
  std::set<std::string> placed = companions_along(sketch.nest, leading.block);
  schedule_totals(rule, total_of(leading), sketch, placed);
  schedule_scan(leading, {block, unrolled, along_vectors(rule, values)}, rule.target, sketch.nest,
                sketch.trace, free_layout);
  for (const bool reduce : {true, false})
    for (const te::Stage& stage : view.stages)
      if ((stage.reduce != ir::ReduceOp::kNone) == reduce &&
          !placed.contains(view.tensors[static_cast<std::size_t>(stage.tensor)].name))
        schedule_plainly(view, stage, rule.target, sketch.nest, sketch.trace, placed);
  return sketch;
}

void list_knobs_of_rows(ScanRule& rule, const ScanBlock<std::int64_t>& usual, Derived& derived) {
  const ir::Nest& nest = rule.prepared.nest;
  KnobList list(derived.knobs);
  list.size("scan.rows", up_to({1, 2, 4, 8, 16, 32}, rows_of(nest, rule.leading)));
  const Knob& knob = derived.knobs[0];
  derived.starts = {{knob.values[knob.nearest(usual.size)]}};
  if (!may_go_by_vectors(nest, rule.leading, rule.target)) return;
  list.choice("scan.along", {"elements", "vectors"});
  derived.starts[0].push_back(usual.by_vectors ? 1 : 0);
  if (rule.target.threads < 2) return;
  const std::int64_t threads = rule.target.threads,
                     most = extent_of_loop(nest, rule.leading.axis) / kShortestScanPart;
  for (const std::int64_t parts : {std::int64_t{2}, threads, 2 * threads, 4 * threads})
    if (parts <= most && parts > rule.parts.back()) rule.parts.push_back(parts);
  if (rule.parts.size() < 2) return;
  std::vector<std::string> labels = {"whole"};
  for (std::size_t p = 1; p < rule.parts.size(); ++p)
    labels.push_back(fmt::format("{}", rule.parts[p]));
  list.choice("scan.parts", labels);
  const auto parts = std::ranges::find(rule.parts, usual_parts(nest, rule.leading, rule.target));
  derived.starts[0].push_back(parts == rule.parts.end() ? 0 : parts - rule.parts.begin());
}

void list_knobs_of_columns(std::int64_t vectors, const ScanBlock<std::int64_t>& usual,
                           Derived& derived) {
  KnobList list(derived.knobs);
  list.choice("scan.state", {"memory", "registers"});
  list.size("scan.columns", powers_and(std::min(kMostVectors, vectors)));
  list.size("scan.vectors", up_to({1, 2, 3, 4, 6, 8, 12, 16}, std::min(kMostUnrolled, vectors)));
  for (const std::size_t knob : {kInLoop, kUnrolled}) {
    derived.knobs[knob].under = kState;
    derived.knobs[knob].under_values = {static_cast<std::uint16_t>(knob - kInLoop)};
  }
  const std::size_t used = usual.unrolled ? kUnrolled : kInLoop;
  derived.starts = {first_values(derived.knobs)};
  derived.starts[0][kState] = usual.unrolled ? 1 : 0;
  derived.starts[0][used] = derived.knobs[used].values[derived.knobs[used].nearest(usual.size)];
}

}  // namespace

bool is_led_by_scan(const CpuContext& context) {
  if (!algebra::makes_scans(context.workload)) return false;
  const Prepared prepared = prepare_plainly(context.workload, context.target, context.repeated);
  return scan_leads(prepared.nest, view_of(prepared.nest, context.workload));
}

Result<Derived> derive_scans(const CpuContext& context) {
  auto rule = std::make_shared<ScanRule>(
      ScanRule{prepare(context.workload, context.target, context.repeated),
               context.target,
               context.workload,
               {},
               1,
               {1}});
  const te::Workload& view = rule->prepared.view;
  const te::Stage& stage = leading_scan(rule->prepared.nest, view);
  const ir::Nest& nest = rule->prepared.nest;
  rule->leading = scan_loops_of(nest, view.tensors[static_cast<std::size_t>(stage.tensor)].name);
  const auto usual = usual_block(nest, rule->leading, context.target);
  rule->lanes = std::max(1, context.target.lanes(size_of(stage.body->dtype)));
  Derived derived;
  if (rule->leading.along_last()) {
    list_knobs_of_rows(*rule, usual, derived);
  } else {
    list_knobs_of_columns(vectors_of(nest, rule->leading, rule->lanes), usual, derived);
  }
  derived.build = [rule, knobs = derived.knobs](std::span<const std::int64_t> values) {
    return build_scans(*rule, knobs, values.first(knobs.size()));
  };
  return derived;
}

namespace {

constexpr Meaning kScanMeanings[] = {
    {"scan.rows",
     "rows that go along the axis of the scan together, so that their operations are "
     "under way at a time"},
    {"scan.along",
     "of a scan along the last axis, in any order: an element at a time, or a vector, with lanes "
     "along the axis"},
    {"scan.parts",
     "of such a scan: threads have parts of a row, whose totals are computed first; whole: a "
     "thread has whole rows"},
    {"scan.state",
     "of a scan along another axis than the last: what goes on to the next element is read from "
     "memory, or stays in registers"},
    {"scan.columns",
     "vectors across the axis of the scan that are gone through before its next element"},
    {"scan.vectors", "vectors across the axis of the scan that stay in registers"},
};

}  // namespace

std::span<const Meaning> scan_meanings() { return kScanMeanings; }

}  // namespace lathe::space
