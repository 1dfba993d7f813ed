#include "tuner/space/rules/matrices/matrix_space.h"

#include <algorithm>

#include "tuner/space/rules/matrices/matrices.h"
#include "tuner/space/rules/shared/knob_list.h"
#include "tuner/space/rules/tile/register_tile.h"
#include "tuner/space/rules/tile/sum_parts.h"
#include "tuner/space/rules/tile/tile_knobs.h"
#include "tuner/space/rules/tile/tile_sketch.h"

namespace lathe::space {
namespace {

// The share of the vectors' lanes that a tile of the start fills.
double filled(const TileRule& rule, const std::vector<std::int64_t>& start) {
  const Axes& axes = rule.axes[0];
  const auto share = [](std::int64_t extent, std::int64_t tile) {
    const std::int64_t covered = (extent + tile - 1) / tile * tile;
    return static_cast<double>(extent) / static_cast<double>(covered);
  };
  const auto tile = [&](int knob) {
    return knob < 0 ? std::int64_t{1} : start[static_cast<std::size_t>(knob)];
  };
  const std::int64_t lanes = rule.lanes;
  return share(extent_of(rule, axes, axes.vector), lanes * tile(rule.at.tile_v)) *
         share(extent_of(rule, axes, pixel_axis(axes, 0)), tile(rule.at.tile_p0)) *
         share(extent_of(rule, axes, pixel_axis(axes, 1)), tile(rule.at.tile_p1));
}

// Elements that the copies bring into another order.
double copied(const te::Workload& view) {
  double elements = 0;
  for (const te::Stage& stage : view.stages)
    if (is_copy(stage) && !view.tensors[stage.tensor].constant) elements += 2 * work_of(stage);
  return elements;
}

// An element that is copied costs as much as so many multiply-adds of full vectors.
constexpr double kCopyCost = 8;
// Copies of a short sum have no vectors to speak of: of 720 multiply-adds they take 20 times as
// long as the sum.
constexpr double kShortSum = 1 << 15;

bool is_worth_it(const TiledStage& as_it_lies, const Tiling& matrices) {
  const te::Workload& view = as_it_lies.rule.workload;
  const double work = work_of(view.stages[static_cast<std::size_t>(as_it_lies.rule.axes[0].stage)]);
  if (work < kShortSum) return false;
  const double before = work / filled(as_it_lies.rule, as_it_lies.start);
  const double after = work / filled(matrices.main.rule, matrices.main.start);
  return after + kCopyCost * copied(matrices.prepared.view) < before;
}

class MatricesAlternatives : public Alternatives {
 public:
  MatricesAlternatives(Tiling tiling, const CpuContext& context)
      : tiling_(std::move(tiling)), direct_(context.direct), flavour_(context.flavour) {}

  std::vector<Choice> choices(const std::vector<Knob>& before) override {
    at_ = before.size();
    std::vector<Knob> knobs = before;
    KnobList(knobs).choice("operands", {"as they lie", "as matrices"});
    name_knobs(tiling_, "matrix.");
    const Tiling* only[] = {&tiling_};
    list_knobs_of(only, flavour_, false, knobs);
    return {choice_of(std::move(knobs), at_)};
  }
  void add_limits_and_starts(Derived& derived) override {
    find_knobs(tiling_, derived.knobs);
    if (flavour_ == Flavour::kDefault) constrain(tiling_, derived);
    std::vector<std::int64_t> other = first_values(derived.knobs);
    other[at_] = 1;
    set_start(tiling_, derived.knobs, other);
    const bool first = is_worth_it(direct_->main, tiling_);
    derived.starts.insert(derived.starts.begin() + (first ? 0 : 1), std::move(other));
  }
  Result<Sketch> build(std::span<const std::int64_t> values, const Build&) const override {
    return build_tile_sketch(tiling_, values);
  }

 private:
  Tiling tiling_;
  std::shared_ptr<const Tiling> direct_;
  Flavour flavour_;
  std::size_t at_ = 0;  // the number of the knob
};

}  // namespace

Result<std::unique_ptr<Alternatives>> offer_matrices(const CpuContext& context) {
  if (!context.workload.contract.may_be_direct()) return nullptr;
  auto prepared = prepare_as_matrices(context.workload, context.target, context.repeated);
  if (!prepared) return nullptr;
  Tiling tiling;
  tiling.prepared = std::move(*prepared);
  const te::Workload& view = tiling.prepared.view;
  const int stage = main_stage(view);
  TileRule rule = tile_rule_for(view, stage, context.target, context.flavour);
  if (rule.axes.empty()) return nullptr;
  tiling.target = context.target;
  set_main(tiling, std::move(rule));
  tiling.companions = companions_of(view, stage, context.target, view);
  return std::make_unique<MatricesAlternatives>(std::move(tiling), context);
}

namespace {

constexpr Meaning kMatrixMeanings[] = {
    {"operands",
     "as they lie: the sum reads its operands in place, or copies blocks of them; as matrices: it "
     "first lays them out anew, with rows, columns and terms side by side. The knobs matrix.* are "
     "those of the product of these, the others those of the sum as it is written"},
};

}  // namespace

std::span<const Meaning> matrix_meanings() { return kMatrixMeanings; }

}  // namespace lathe::space
