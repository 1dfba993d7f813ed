// Sums over windows as products with a copy of what the windows read: im2col.
#include <algorithm>
#include <memory>

#include "tuner/space/rules/register_tile.h"
#include "tuner/space/rules/tile_knobs.h"

namespace lathe::space {
namespace {

using WindowValues = std::vector<std::int64_t>;

bool is_reduced(const te::Stage& stage, int iter) {
  return stage.iters[static_cast<std::size_t>(iter)].kind == te::IterKind::kReduce;
}

// True for a dimension that is walked through by a result and a term of its sum together. Of an
// index without the sum's parts.
bool slides_along(const te::Stage& stage, const ir::Affine& row) {
  const auto of_kind = [&](bool reduced) {
    return std::ranges::any_of(row.terms, [&](const ir::AffineTerm& t) {
      return is_reduced(stage, t.iter) == reduced &&
             stage.iters[static_cast<std::size_t>(t.iter)].extent > 1;
    });
  };
  return of_kind(true) && of_kind(false);
}

// The only read of the sum that is by windows; null if there are none or several.
const ir::Read* window_of(const te::Workload& view, const te::Stage& stage, const Axes& axes) {
  const ir::Read* found = nullptr;
  if (stage.reduce == ir::ReduceOp::kNone) return nullptr;
  for (const ir::Read* read : ir::reads_of(stage.body)) {
    const te::Tensor& tensor = view.tensors[static_cast<std::size_t>(read->tensor)];
    if (std::ranges::none_of(without_parts(axes, read->index),
                             [&](const ir::Affine& row) { return slides_along(stage, row); }))
      continue;
    if (found != nullptr || tensor.constant || tensor.role == te::TensorRole::kLiteral)
      return nullptr;
    found = read;
  }
  return found;
}

// True if what lies side by side in the source are terms of the sum alone.
bool has_channels_inside(const ir::Nest& nest, const te::Stage& stage, const ir::Read& read) {
  const auto& layout = nest.buffers[static_cast<std::size_t>(read.tensor)].layout;
  const std::size_t dim =
      layout.empty() ? read.index.size() - 1 : static_cast<std::size_t>(layout.back().dim);
  return std::ranges::all_of(read.index[dim].terms,
                             [&](const ir::AffineTerm& t) { return is_reduced(stage, t.iter); });
}

// The program with the copy; null where the copy is no operand of a product.
std::shared_ptr<Tiling> tile_windows(const CpuTarget& target, Flavour flavour,
                                     const Tiling& direct) {
  const te::Workload& before = direct.main.rule.workload;
  const Axes& axes = direct.main.rule.axes[0];
  const te::Stage& sum = before.stages[static_cast<std::size_t>(axes.stage)];
  const ir::Read* read = window_of(before, sum, axes);
  if (read == nullptr) return nullptr;
  const std::string& name = before.tensors[static_cast<std::size_t>(read->tensor)].name;
  const std::string& block = before.tensors[static_cast<std::size_t>(sum.tensor)].name;
  auto out = std::make_shared<Tiling>();
  out->prepared = direct.prepared;
  Prepared& prepared = out->prepared;
  const bool free = before.contract.free_layout;
  for (schedule::Layout& layout : free_layouts_of(direct.main.rule, direct.main.rule.axes[0]))
    if (!try_step(prepared.nest, prepared.steps, std::move(layout), free)) return nullptr;
  if (!try_step(prepared.nest, prepared.steps, schedule::Reindex{name, name + ".windows", block},
                free))
    return nullptr;
  prepared.view = view_of(prepared.nest, before);
  const te::Workload& view = prepared.view;
  const auto stage = static_cast<int>(
      std::ranges::find(view.stages, sum.tensor, &te::Stage::tensor) - view.stages.begin());
  if (!has_reuse(view.stages[static_cast<std::size_t>(stage)])) return nullptr;
  TileRule rule =
      window_rule_for(view, stage, target, flavour, prepared.nest.find_buffer(name + ".windows"),
                      has_channels_inside(prepared.nest, sum, *read));
  if (rule.axes.empty()) return nullptr;
  const auto lanes_along = [](const TileRule& rule) {
    const Axes& axes = rule.axes[0];
    return rule.workload.stages[static_cast<std::size_t>(axes.stage)]
        .iters[static_cast<std::size_t>(axes.vector)]
        .name;
  };
  if (free && lanes_along(rule) != lanes_along(direct.main.rule)) return nullptr;
  out->target = target;
  out->main = tiled(std::move(rule));
  for (const TiledStage& stage : direct.companions) out->companions.push_back(tiled(stage.rule));
  name_knobs(*out, "im2col.");
  return out;
}

// True if lanes along the vector axis read what lies apart, of operands that are not laid out for
// them.
bool reads_apart(const TileRule& rule) {
  const Axes& axes = rule.axes[0];
  const te::Stage& stage = rule.workload.stages[static_cast<std::size_t>(axes.stage)];
  return std::ranges::any_of(ir::reads_of(stage.body), [&](const ir::Read* read) {
    return touches(read->index, axes.vector) && !layout_is_free(rule.workload, read->tensor) &&
           read->index.back().coef_of(axes.vector) != 1;
  });
}

// Where strides would leave lanes apart, a copy brings together what is used so often that this
// pays: with 64 filters that change from call to call, im2col takes 0.77 to 0.89 of the time of
// 11x11 windows with stride 4, 7x7 and 3x3 with stride 2; with 8, or with 32 in a line, 1.2 to 1.4.
bool is_worth_copying(const TileRule& direct, const TileRule& product) {
  constexpr double kUses = 64;
  const te::Stage& stage = product.workload.stages[static_cast<std::size_t>(product.axes[0].stage)];
  double uses = 1;
  for (const ir::Read* read : ir::reads_of(stage.body))
    for (int i = 0; read->tensor == product.windows && i < static_cast<int>(stage.iters.size());
         ++i)
      if (!is_reduced(stage, i) && !touches(read->index, i))
        uses *= static_cast<double>(stage.iters[static_cast<std::size_t>(i)].extent);
  return uses >= kUses && reads_apart(direct) && !reads_apart(product);
}

// The number of the knob that chooses the algorithm, which is made where there is none.
int algorithm_knob(Derived& derived) {
  const int found = number_of(derived.knobs, "algorithm");
  if (found >= 0) return found;
  const std::size_t own = derived.knobs.size();
  const auto at = static_cast<int>(own);
  put_under({at, {0}}, own, derived.knobs);
  derived.knobs.push_back({"algorithm", {0}, {"direct"}, true});
  fill_starts(derived);
  return at;
}

}  // namespace

Status add_windows(const te::Workload& workload, const CpuTarget& target, Flavour flavour,
                   const Tiling& direct, Derived& derived) {
  const std::string& wanted = workload.contract.algorithm;
  const bool demanded = wanted == "im2col";
  if (!wanted.empty() && !demanded) return {};
  const auto tiling = tile_windows(target, flavour, direct);
  if (!tiling || !build_tile_sketch(*tiling, {})) {
    if (!demanded) return {};
    return fail_at("algorithm", ErrorKind::kInvalidArgument,
                   "this workload has no im2col: its main sum reads no one tensor by windows that "
                   "slide over it, or uses nothing of these again; it has direct");
  }
  const int at = algorithm_knob(derived);
  Knob& algorithm = derived.knobs[static_cast<std::size_t>(at)];
  const auto number = static_cast<std::int64_t>(algorithm.values.size());
  algorithm.values.push_back(number);
  algorithm.labels.emplace_back("im2col");
  add_tile_knobs(*tiling, flavour, {at, {static_cast<std::uint16_t>(number)}}, derived);
  fill_starts(derived);
  WindowValues other;
  for (const Knob& knob : derived.knobs) other.push_back(knob.values[0]);
  other[static_cast<std::size_t>(at)] = number;
  set_start(*tiling, derived.knobs, other);
  if (derived.other_starts.size() == kMostOthers) derived.other_starts.pop_back();
  const bool worth_it = derived.start[static_cast<std::size_t>(at)] == 0 &&
                        is_worth_copying(direct.main.rule, tiling->main.rule);
  if (worth_it || demanded) std::swap(derived.start, other);
  if (demanded) derived.other_starts.clear();
  else derived.other_starts.push_back(std::move(other));
  derived.build =
      [tiling = std::shared_ptr<const Tiling>(tiling), at, number, demanded,
       build = std::move(derived.build)](std::span<const std::int64_t> values) -> Result<Sketch> {
    if (values[static_cast<std::size_t>(at)] == number) return build_tile_sketch(*tiling, values);
    return demanded ? not_direct() : build(values);
  };
  return {};
}

}  // namespace lathe::space
