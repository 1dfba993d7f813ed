// The space of a workload on a processor: tiles around its sums, and what else there is to choose.
#include <memory>

#include "tuner/space/rules/cook_toom.h"
#include "tuner/space/rules/matrices.h"
#include "tuner/space/rules/row_group.h"
#include "tuner/space/rules/row_parts.h"
#include "tuner/space/rules/strassen.h"
#include "tuner/space/rules/tile_knobs.h"

namespace lathe::space {
namespace {

// Makes the algorithm a knob, under which either the tile's knobs have an effect or its own.
template <class Rule>
void add_algorithm(std::shared_ptr<Rule> rule,
                   Result<Sketch> (*build_other)(const Rule&, const std::vector<Knob>&,
                                                 std::span<const std::int64_t>),
                   Derived& derived) {
  const std::size_t own = derived.knobs.size();
  list_knobs(*rule, derived.knobs);
  put_under({rule->at.algorithm, {0}}, own, derived.knobs);
  list_constraints(*rule, derived);
  fill_starts(derived);
  set_starts(*rule, derived);
  const auto knobs = std::make_shared<const std::vector<Knob>>(derived.knobs);
  derived.build = [rule, knobs, build_other, build = std::move(derived.build)](
                      std::span<const std::int64_t> values) -> Result<Sketch> {
    if (values[static_cast<std::size_t>(rule->at.algorithm)] == 0) {
      if (rule->may_be_direct) return build(values);
      return not_direct();
    }
    return build_other(*rule, *knobs, values);
  };
}

// False if there is only one algorithm.
Result<bool> add_algorithms(const te::Workload& workload, const TiledStage& main, Flavour flavour,
                            Derived& derived) {
  const TileRule& direct = main.rule;
  const Axes& axes = direct.axes[0];
  const std::vector<schedule::Layout> layouts = free_layouts_of(direct, axes);
  if (auto found = LATHE_TRY(strassen_rule(workload, direct.target, flavour, layouts))) {
    add_algorithm(std::make_shared<StrassenRule>(std::move(*found)), build_strassen_sketch,
                  derived);
    return true;
  }
  auto found = LATHE_TRY(cook_toom_rule(workload, direct.target, layouts));
  if (!found) return false;
  // Layouts that the schedule chooses have the tile's vector axis inside.
  const std::string& vector = direct.workload.stages[axes.stage].iters[axes.vector].name;
  if (workload.contract.free_layout && vector != found->sum.block + "." + found->sum.vector) {
    if (found->may_be_direct) return false;
    return fail_at(
        "algorithm", ErrorKind::kInvalidArgument,
        "{} needs lanes along {}, which the free layouts of this workload have not; name "
        "direct, or plain layouts",
        workload.contract.algorithm, found->sum.vector);
  }
  found->direct_cycles = main.cost.cycles - main.cost.rest;
  add_algorithm(std::make_shared<CookToomRule>(std::move(*found)), build_cook_toom_sketch, derived);
  return true;
}

}  // namespace

Result<Derived> derive_register_tile(const te::Workload& workload, const CpuTarget& target,
                                     Flavour flavour) {
  if (workload.stages.empty())
    return fail(ErrorKind::kInvalidArgument, "the workload computes nothing");
  auto tiling = std::make_shared<Tiling>();
  tiling->prepared = prepare(workload, target);
  const te::Workload& view = tiling->prepared.view;
  const int stage = main_stage(view);
  TileRule rule = tile_rule_for(view, stage, target, flavour);
  if (rule.axes.empty())
    return fail(ErrorKind::kUnsupported,
                "{} has no axis but reductions: give it a dimension of size 1", workload.name);
  tiling->target = target;
  set_main(*tiling, std::move(rule));
  tiling->companions = companions_of(view, stage, target, view);
  Derived derived;
  name_knobs(*tiling, "");
  add_tile_knobs(*tiling, flavour, {}, derived);
  fill_starts(derived);
  set_start(*tiling, derived.knobs, derived.start);
  derived.build = [tiling](std::span<const std::int64_t> values) {
    return build_tile_sketch(*tiling, values);
  };
  const std::string& wanted = workload.contract.algorithm;
  const bool may_be_direct = wanted.empty() || wanted == "direct";
  if (!LATHE_TRY(add_algorithms(workload, tiling->main, flavour, derived)) && may_be_direct)
    add_matrices(workload, target, flavour, tiling->main, derived);
  // What has an effect where the sum is computed as it is written.
  Under direct{number_of(derived.knobs, "operands"), {0}};
  if (direct.knob < 0) direct.knob = number_of(derived.knobs, "algorithm");
  if (!may_be_direct) return derived;
  add_row_groups(workload, target, *tiling, flavour, direct, derived);
  if (direct.knob < 0) add_row_parts(workload, target, flavour, derived);
  return derived;
}

}  // namespace lathe::space
