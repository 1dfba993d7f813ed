#include "tuner/space/rules/scan/scan_space.h"

#include <algorithm>

#include "compiler/te/scan.h"
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

Result<Sketch> build_scans(const ScanRule& rule, const std::vector<Knob>& knobs) {
  Sketch sketch{rule.prepared.nest, rule.prepared.steps};
  const te::Workload& view = rule.prepared.view;
  const bool free_layout = view.contract.free_layout;
  std::set<std::string> placed = {rule.leading.block};
  schedule_scan(rule.leading, sketch.nest.sizes.knob(0, knobs[0].name), rule.target, sketch.nest,
                sketch.trace, free_layout);
  for (const bool reduce : {true, false})
    for (const te::Stage& stage : view.stages)
      if ((stage.reduce != ir::ReduceOp::kNone) == reduce &&
          !placed.contains(view.tensors[static_cast<std::size_t>(stage.tensor)].name))
        schedule_plainly(view, stage, rule.target, sketch.nest, sketch.trace, placed);
  return sketch;
}

}  // namespace

bool is_led_by_scan(const CpuContext& context) {
  return te::has_scan(context.workload) &&
         scan_leads(
             view_of(prepare_plainly(context.workload, context.target).nest, context.workload));
}

Result<Derived> derive_scans(const CpuContext& context) {
  auto rule = std::make_shared<ScanRule>(
      ScanRule{prepare(context.workload, context.target), context.target, {}});
  const te::Workload& view = rule->prepared.view;
  const te::Stage& stage = leading_scan(view);
  const ir::Nest& nest = rule->prepared.nest;
  rule->leading = scan_loops_of(nest, view.tensors[static_cast<std::size_t>(stage.tensor)].name);
  Derived derived;
  KnobList list(derived.knobs);
  if (rule->leading.along_last()) {
    list.size("scan.rows", up_to({1, 2, 4, 8, 16, 32}, rows_of(nest, rule->leading)));
  } else {
    const std::int64_t lanes = context.target.lanes(size_of(stage.body->dtype));
    list.size("scan.columns",
              powers_and(std::min(kMostVectors, vectors_of(nest, rule->leading,
                                                           std::max<std::int64_t>(1, lanes)))));
  }
  const Knob& knob = derived.knobs[0];
  derived.starts = {{knob.values[knob.nearest(usual_block(nest, rule->leading, context.target))]}};
  derived.build = [rule, knobs = derived.knobs](std::span<const std::int64_t>) {
    return build_scans(*rule, knobs);
  };
  return derived;
}

namespace {

constexpr Meaning kScanMeanings[] = {
    {"scan.rows",
     "rows that go along the axis of the scan together, so that their operations are "
     "under way at a time"},
    {"scan.columns",
     "vectors across the axis of the scan that are gone through before its next element"},
};

}  // namespace

std::span<const Meaning> scan_meanings() { return kScanMeanings; }

}  // namespace lathe::space
