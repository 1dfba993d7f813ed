#include "tuner/space/rules/cook_toom/cook_toom.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "compiler/te/saturation.h"
#include "tuner/space/costs.h"
#include "tuner/space/rules/cook_toom/sketch.h"
#include "tuner/space/rules/cook_toom/start.h"
#include "tuner/space/rules/shared/axes.h"
#include "tuner/space/rules/shared/choices.h"
#include "tuner/space/rules/shared/knob_list.h"
#include "tuner/space/rules/tile/free_layouts.h"

namespace lathe::space {
using Values = std::vector<std::int64_t>;

ProductDims product_dims(const ImageSum& sum, const Algorithm& algorithm) {
  ProductDims dims;
  int d = 0;
  for (const std::string& iter : sum.result) {
    const auto axis = std::ranges::find(sum.axes, iter, &ImageAxis::iter);
    if (axis != sum.axes.end()) {
      const int tiles = d++;
      if (algorithm.transforms(*axis)) {
        if (axis->strands().several()) dims.tiles.push_back(d++);
        dims.positions.push_back(d++);
      }
      dims.tiles.push_back(tiles);
    } else if (iter == sum.vector) {
      dims.vector = d++;
    } else {
      dims.outer.push_back(d++);
    }
  }
  return dims;
}

std::string label_of(InputPlace place) { return place == InputPlace::kBlock ? "block" : "whole"; }
std::string label_of(InputCopy copy) {
  return copy == InputCopy::kNone ? "none" : copy == InputCopy::kBlock ? "block" : "row";
}
std::string label_of(TileShare share) {
  switch (share) {
    case TileShare::kTiles: return "tiles";
    case TileShare::kResults: return "results";
    case TileShare::kResultsAndTiles: return "results x tiles";
    case TileShare::kBatchAndTiles: return "batch x tiles";
    case TileShare::kBatchAndResults: return "batch x results";
    case TileShare::kAll: return "batch x results x tiles";
    case TileShare::kPositions: return "positions";
  }
  LATHE_CHECK(false, "a way to share has no label");
}

Result<std::optional<CookToomRule>> cook_toom_rule(const CpuContext& context,
                                                   const std::vector<schedule::Layout>& layouts) {
  const te::Workload& workload = context.workload;
  const CpuTarget& target = context.target;
  const bool demanded = !workload.contract.may_be_direct();
  if (workload.contract.level() < te::Numerics::kLocal) return std::nullopt;
  // Errors are known beside the largest sum, which may be far larger than the largest output.
  if (!demanded && te::saturates(workload, te::Saturated::kSums)) return std::nullopt;
  CookToomRule rule;
  rule.may_be_direct = !demanded;
  rule.prepared = begin(workload, context.repeated);
  rule.target = target;
  rule.layouts = layouts;
  reindex_constants(rule.prepared, workload, target);
  rule.prepared.view = view_of(rule.prepared.nest, workload);
  const te::Workload& view = rule.prepared.view;
  const te::Stage& stage = view.stages[static_cast<std::size_t>(main_stage(view))];
  auto sum = image_sum_of(view, stage);
  rule.lanes = std::max(1, target.lanes(size_of(stage.body->dtype)));
  if (sum && sum->vector_extent < rule.lanes)
    sum = std::unexpected(fmt::format("its {} results along {} fill no vector of {} lanes",
                                      sum->vector_extent, sum->vector, rule.lanes));
  auto found = LATHE_TRY(algorithms_for(workload.contract, sum));
  if (found.size() < 2) return std::nullopt;
  rule.sum = std::move(*sum);
  rule.algorithms = std::move(found);
  rule.places = {InputPlace::kBlock, InputPlace::kWhole};
  rule.copies = {InputCopy::kNone, InputCopy::kBlock, InputCopy::kRow};
  using enum TileShare;
  rule.shares = {kTiles, kResults, kResultsAndTiles};
  if (rule.sum.outer_extent > 1)
    rule.shares.insert(rule.shares.end(), {kBatchAndTiles, kBatchAndResults, kAll});
  rule.shares.push_back(kPositions);
  return rule;
}

namespace {

// As it is, not transformed.
double bytes_of_filter(const CookToomRule& rule) {
  const te::Workload& view = rule.prepared.view;
  const int tensor = view.find(rule.sum.block);
  double bytes = size_of(view.tensors[static_cast<std::size_t>(tensor)].dtype) *
                 static_cast<double>(rule.sum.vector_extent * rule.sum.channel_extent);
  for (const ImageAxis& axis : rule.sum.axes) bytes *= static_cast<double>(axis.taps);
  return bytes;
}

// Adds the knobs after those of before; the first is the algorithm.
void list_knobs(CookToomRule& rule, std::vector<Knob>& knobs) {
  KnobList list(knobs);
  const ImageSum& sum = rule.sum;
  const std::int64_t vectors = (sum.vector_extent + rule.lanes - 1) / rule.lanes;
  rule.at.algorithm = list.choice("algorithm", rule.algorithms);
  rule.at.place = list.choice("ct.input", rule.places);
  rule.at.copy = list.choice("ct.copy", rule.copies);
  if (rule.target.threads > 1) rule.at.share = list.choice("ct.parallel", rule.shares);
  rule.at.tile_v = list.size("ct.tile.v", up_to({1, 2, 3, 4, 6}, vectors));
  rule.at.tile_p0 = list.size(
      "ct.tile.p0", up_to({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14}, sum.axes.back().extent));
  if (sum.axes.size() > 1)
    rule.at.tile_p1 = list.size("ct.tile.p1", up_to({1, 2, 3, 4, 7}, sum.axes[0].extent));
  Values rows = up_to({1, 2, 3, 4, 5, 7, 8, 10, 14, 16, 28, 32}, sum.axes[0].extent);
  if (rows.back() < sum.axes[0].extent) rows.push_back(sum.axes[0].extent);
  rule.at.block_t = list.size("ct.block.t", rows);
  if (rule.target.threads > 1 && sum.axes.size() > 1)
    rule.at.block_p0 = list.size("ct.block.p0", blocks_of(sum.axes[1].extent, rule.target.threads));
  if (vectors > 1)
    rule.at.block_v = list.size("ct.block.v", blocks_of(vectors, rule.target.threads));
  rule.at.unroll =
      list.size("ct.unroll.k", powers_and(std::min<std::int64_t>(sum.channel_extent, 4)));
  const bool far = bytes_of_filter(rule) > kFarWeights;
  rule.at.prefetch = list.size("ct.prefetch", far ? Values{0} : Values{0, 4096, 16384});
  if (far) rule.at.next_panels = list.size("ct.prefetch.panels", {0, 1});
}

void constrain_products(const CookToomRule& rule, Derived& derived) {
  ir::Sizes& s = derived.sizes;
  const auto size = [&](int knob) { return size_given(knob, derived); };
  const ir::SizeId pixels = s.mul(size(rule.at.tile_p0), size(rule.at.tile_p1));
  const ir::SizeId v = size(rule.at.tile_v);
  derived.constraints.push_back({"the register tile of products spills",
                                 s.add(s.add(s.mul(pixels, v), v), s.constant(1)),
                                 rule.target.vector_registers});
}

class CookToomAlternatives : public Alternatives {
 public:
  explicit CookToomAlternatives(CookToomRule rule) : rule_(std::move(rule)) {}

  std::vector<Choice> choices(const std::vector<Knob>& before) override {
    std::vector<Knob> knobs = before;
    list_knobs(rule_, knobs);
    return {choice_of(std::move(knobs), before.size())};
  }
  void add_limits_and_starts(Derived& derived) override {
    constrain_products(rule_, derived);
    set_starts(rule_, derived);
    knobs_ = derived.knobs;
  }
  Result<Sketch> build(std::span<const std::int64_t> values, const Build&) const override {
    return build_cook_toom_sketch(rule_, knobs_, values);
  }

 private:
  CookToomRule rule_;
  std::vector<Knob> knobs_;  // of the space
};

}  // namespace

Result<std::unique_ptr<Alternatives>> offer_cook_toom(const CpuContext& context) {
  const TileRule& direct = context.direct->main.rule;
  const Axes& axes = direct.axes[0];
  const te::Workload& workload = context.workload;
  auto found = LATHE_TRY(cook_toom_rule(context, free_layouts_of(direct, axes)));
  if (!found) return nullptr;
  // Layouts that the schedule chooses have the tile's vector axis inside.
  const std::string& vector = direct.workload.stages[axes.stage].iters[axes.vector].name;
  if (workload.contract.free_layout && vector != found->sum.block + "." + found->sum.vector) {
    if (found->may_be_direct) return nullptr;
    return fail_at(
        "algorithm", ErrorKind::kInvalidArgument,
        "{} needs lanes along {}, which the free layouts of this workload have not; name "
        "direct, or plain layouts",
        workload.contract.algorithm, found->sum.vector);
  }
  found->direct_cycles = context.direct->main.cost.cycles - context.direct->main.cost.rest;
  return std::make_unique<CookToomAlternatives>(std::move(*found));
}

namespace {

constexpr Meaning kCookToomMeanings[] = {
    {"ct.input", "where the transformed input is made: for each block of tiles, or whole before"},
    {"ct.copy",
     "whether a copy of the input is transformed, with zeros around and channels side by side: of "
     "what a block of tiles needs, or a row of tiles at a time"},
    {"ct.parallel",
     "what threads share: blocks of tiles, or of results, or several loops together; positions: "
     "the products of the whole input, position by position, and then the results"},
    {"ct.tile.v", "width of the products' register tile along the vector axis, in vectors"},
    {"ct.tile.p0", "height of it along the innermost pixel axis, in tiles of results"},
    {"ct.tile.p1", "height of it along the next pixel axis, in tiles of results"},
    {"ct.block.t", "tiles along the outermost pixel axis that are transformed together"},
    {"ct.block.p0", "tiles along the innermost pixel axis that are transformed together"},
    {"ct.block.v", "vectors of results whose products are kept until they are transformed"},
    {"ct.unroll.k", "steps of the products' reduction that the innermost loop writes out"},
    {"ct.prefetch", "how far ahead the transformed weights are fetched into the cache, in bytes"},
    {"ct.prefetch.panels",
     "how many panels of the transformed weights ahead are fetched while all tiles read one, a "
     "share each; 0: not at all"},
};

}  // namespace

std::span<const Meaning> cook_toom_meanings() { return kCookToomMeanings; }

}  // namespace lathe::space
