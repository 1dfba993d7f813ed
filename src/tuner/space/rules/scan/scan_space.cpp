#include "tuner/space/rules/scan/scan_space.h"

#include <algorithm>

#include "compiler/algebra/algebra.h"
#include "tuner/space/rules/scan/scan_loops.h"
#include "tuner/space/rules/shared/choices.h"
#include "tuner/space/rules/shared/knob_list.h"
#include "tuner/space/rules/shared/plain_loops.h"
#include "tuner/space/rules/shared/prepare.h"

namespace lathe::space {
namespace {

constexpr std::int64_t kMostVectors = 1024;  // of a block of columns

struct ScanRule {
  Prepared prepared;
  CpuTarget target;
  ScanLoops leading;
};

// The knobs: of rows one, of columns first whether they are unrolled, then how many there are.
enum : std::size_t { kState, kInLoop, kUnrolled };

Result<Sketch> build_scans(const ScanRule& rule, const std::vector<Knob>& knobs,
                           std::span<const std::int64_t> values) {
  Sketch sketch{rule.prepared.nest, rule.prepared.steps};
  const te::Workload& view = rule.prepared.view;
  const bool free_layout = view.contract.free_layout;
  const bool unrolled = rule.leading.along_last() || values[kState] != 0;
  const std::size_t of_columns = unrolled ? kUnrolled : kInLoop;
  const std::size_t knob = rule.leading.along_last() ? 0 : of_columns;
  const ir::SizeId block = sketch.nest.sizes.knob(static_cast<int>(knob), knobs[knob].name);
  std::set<std::string> placed = companions_along(sketch.nest, rule.leading.block);
  schedule_scan(rule.leading, {block, unrolled}, rule.target, sketch.nest, sketch.trace,
                free_layout);
  for (const bool reduce : {true, false})
    for (const te::Stage& stage : view.stages)
      if ((stage.reduce != ir::ReduceOp::kNone) == reduce &&
          !placed.contains(view.tensors[static_cast<std::size_t>(stage.tensor)].name))
        schedule_plainly(view, stage, rule.target, sketch.nest, sketch.trace, placed);
  return sketch;
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
  const Prepared prepared = prepare_plainly(context.workload, context.target);
  return scan_leads(prepared.nest, view_of(prepared.nest, context.workload));
}

Result<Derived> derive_scans(const CpuContext& context) {
  auto rule = std::make_shared<ScanRule>(
      ScanRule{prepare(context.workload, context.target), context.target, {}});
  const te::Workload& view = rule->prepared.view;
  const te::Stage& stage = leading_scan(rule->prepared.nest, view);
  const ir::Nest& nest = rule->prepared.nest;
  rule->leading = scan_loops_of(nest, view.tensors[static_cast<std::size_t>(stage.tensor)].name);
  const auto usual = usual_block(nest, rule->leading, context.target);
  Derived derived;
  if (rule->leading.along_last()) {
    KnobList(derived.knobs)
        .size("scan.rows", up_to({1, 2, 4, 8, 16, 32}, rows_of(nest, rule->leading)));
    const Knob& knob = derived.knobs[0];
    derived.starts = {{knob.values[knob.nearest(usual.size)]}};
  } else {
    const std::int64_t lanes =
        std::max<std::int64_t>(1, context.target.lanes(size_of(stage.body->dtype)));
    list_knobs_of_columns(vectors_of(nest, rule->leading, lanes), usual, derived);
  }
  derived.build = [rule, knobs = derived.knobs](std::span<const std::int64_t> values) {
    return build_scans(*rule, knobs, values);
  };
  return derived;
}

namespace {

constexpr Meaning kScanMeanings[] = {
    {"scan.rows",
     "rows that go along the axis of the scan together, so that their operations are "
     "under way at a time"},
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
