#include "tuner/space/rules/cook_toom/cook_toom.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "compiler/te/naive_nest.h"
#include "compiler/te/saturation.h"
#include "tuner/space/rules/cook_toom/sketch.h"
#include "tuner/space/rules/cook_toom/start.h"
#include "tuner/space/rules/shared/axes.h"
#include "tuner/space/rules/shared/choices.h"
#include "tuner/space/rules/tile/free_layouts.h"

namespace lathe::space {
namespace {

using Values = std::vector<std::int64_t>;

using cook_toom::kMostTaps;
constexpr std::int64_t kTiles[] = {2, 3, 4, cook_toom::kLargestTile};

bool may_tile(const ImageAxis& axis, std::int64_t tile) {
  const std::int64_t taps = axis.residues().taps;
  return taps >= 2 && taps <= kMostTaps && tile <= axis.results() &&
         tile + taps - 1 <= cook_toom::kMostPositions;
}

std::vector<Algorithm> algorithms_of(const ImageSum& sum) {
  std::vector<Algorithm> out = {{}};
  const auto add = [&](std::vector<std::string> taps, Values tiles) {
    out.push_back({std::move(taps), std::move(tiles)});
  };
  for (const ImageAxis& axis : sum.axes)
    for (const std::int64_t n : kTiles)
      if (may_tile(axis, n)) add({axis.tap}, {n});
  if (sum.axes.size() < 2) return out;
  for (const std::int64_t m : kTiles)
    for (const std::int64_t n : kTiles)
      if (may_tile(sum.axes[0], m) && may_tile(sum.axes[1], n))
        add({sum.axes[0].tap, sum.axes[1].tap}, {m, n});
  return out;
}

bool is_accurate(const ImageSum& sum, const Algorithm& algorithm, double max_error) {
  double growth = 1;
  std::int64_t terms = sum.channel_extent;  // of a sum of products
  for (const ImageAxis& axis : sum.axes) {
    const auto found = std::ranges::find(algorithm.taps, axis.tap);
    const cook_toom::Residues residues = axis.residues();
    terms *= found == algorithm.taps.end() ? axis.taps : residues.count;
    if (found == algorithm.taps.end()) continue;
    const auto a = static_cast<std::size_t>(found - algorithm.taps.begin());
    growth *= cook_toom::error_growth(static_cast<int>(algorithm.tiles[a]),
                                      static_cast<int>(residues.taps));
  }
  return growth * cook_toom::direct_error(terms) <= max_error;
}

}  // namespace

bool Algorithm::transforms(const ImageAxis& axis) const {
  return std::ranges::find(taps, axis.tap) != taps.end();
}

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

std::string label_of(const Algorithm& algorithm) {
  if (algorithm.taps.empty()) return "direct";
  if (algorithm.taps.size() == 1)
    return fmt::format("F({}) along {}", algorithm.tiles[0], algorithm.taps[0]);
  return fmt::format("F({})", fmt::join(algorithm.tiles, "x"));
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

namespace {

// The word by which a contract names it: "direct", "F4", "F4x2".
std::string word_of(const Algorithm& algorithm) {
  return algorithm.taps.empty() ? "direct" : fmt::format("F{}", fmt::join(algorithm.tiles, "x"));
}
bool allows(const std::string& wanted, const Algorithm& algorithm) {
  if (algorithm.taps.empty() || wanted.empty()) return true;
  return wanted == "cook_toom" || wanted == word_of(algorithm);
}

// Why the sum has no algorithm of this word: the first of its tiles that an axis does not take.
std::string fault_of(const ImageSum& sum, const std::string& wanted) {
  const auto of_axis = [](const ImageAxis& axis, std::int64_t tile) -> std::string {
    const std::int64_t taps = axis.residues().taps;
    if (taps < 2)
      return fmt::format("a stride of {} leaves {} tap together along {}, and 2 are needed",
                         axis.stride, taps, axis.tap);
    if (taps > kMostTaps)
      return fmt::format("it has {} taps along {}, more than {}", taps, axis.tap, kMostTaps);
    if (std::ranges::find(kTiles, tile) == std::end(kTiles))
      return fmt::format("tiles are of {} results", fmt::join(kTiles, ", "));
    if (tile > axis.results())
      return fmt::format("it has {} results along {}, less than a tile of {}", axis.results(),
                         axis.iter, tile);
    if (tile + taps - 1 > cook_toom::kMostPositions)
      return fmt::format("a tile of {} and {} taps along {} are more than {} together", tile, taps,
                         axis.tap, cook_toom::kMostPositions + 1);
    return "";
  };
  if (wanted == "cook_toom") {
    for (const ImageAxis& axis : sum.axes)
      if (std::string fault = of_axis(axis, kTiles[0]); !fault.empty()) return fault;
    return "";
  }
  const auto x = wanted.find('x');
  Values tiles = {std::stoll(wanted.substr(1))};
  if (x != std::string::npos) tiles.push_back(std::stoll(wanted.substr(x + 1)));
  if (tiles.size() > sum.axes.size()) return "it has taps along one axis, not two";
  for (std::size_t a = 0; a < sum.axes.size(); ++a)
    if (std::string fault = of_axis(sum.axes[a], tiles[std::min(a, tiles.size() - 1)]);
        !fault.empty())
      return fault;
  return "";
}

std::string what_of(const std::string& wanted) {
  return wanted == "cook_toom" ? "Cook-Toom algorithm" : wanted;
}

std::unexpected<Error> no_such(const std::string& wanted, const std::string& why,
                               const std::vector<Algorithm>& all) {
  std::vector<std::string> known;
  for (const Algorithm& each : all)
    if (std::ranges::find(known, word_of(each)) == known.end()) known.push_back(word_of(each));
  if (known.empty()) known.emplace_back("direct");
  return fail_at("algorithm", ErrorKind::kInvalidArgument, "this workload has no {}: {}; it has {}",
                 what_of(wanted), why, fmt::join(known, ", "));
}

// Where there is no algorithm that the contract allows, but the sum is one over neighbours.
std::unexpected<Error> none_left(const std::string& wanted, const ImageSum& sum,
                                 const std::vector<Algorithm>& all, double max_error) {
  const auto is_wanted = [&](const Algorithm& each) {
    return !each.taps.empty() && allows(wanted, each);
  };
  if (std::ranges::none_of(all, is_wanted)) return no_such(wanted, fault_of(sum, wanted), all);
  return fail_at("algorithm", ErrorKind::kInvalidArgument,
                 "{} rounds too much for a largest error of {:g}; allow more with --max-error, or "
                 "name an algorithm with smaller tiles",
                 what_of(wanted), max_error);
}

}  // namespace

Result<std::optional<CookToomRule>> cook_toom_rule(const te::Workload& workload,
                                                   const CpuTarget& target,
                                                   const std::vector<schedule::Layout>& layouts) {
  const std::string& wanted = workload.contract.algorithm;
  const bool demanded = !workload.contract.may_be_direct();
  if (workload.contract.level() < te::Numerics::kLocal) return std::nullopt;
  // Errors are known beside the largest sum, which may be far larger than the largest output.
  if (!demanded && te::saturates(workload)) return std::nullopt;
  CookToomRule rule;
  rule.may_be_direct = !demanded;
  rule.prepared.nest = te::naive_nest(workload);
  rule.target = target;
  rule.layouts = layouts;
  inline_stages(rule.prepared, workload);
  reindex_constants(rule.prepared, workload, target);
  rule.prepared.view = view_of(rule.prepared.nest, workload);
  const te::Workload& view = rule.prepared.view;
  const te::Stage& stage = view.stages[static_cast<std::size_t>(main_stage(view))];
  auto sum = image_sum_of(view, stage);
  rule.lanes = std::max(1, target.lanes(size_of(stage.body->dtype)));
  const double max_error = workload.contract.max_error;
  if (sum && sum->vector_extent < rule.lanes)
    sum = std::unexpected(fmt::format("its {} results along {} fill no vector of {} lanes",
                                      sum->vector_extent, sum->vector, rule.lanes));
  if (!sum) {
    if (demanded) return no_such(wanted, sum.error(), {});
    return std::nullopt;
  }
  rule.sum = std::move(*sum);
  const std::vector<Algorithm> all = algorithms_of(rule.sum);
  for (const Algorithm& algorithm : all)
    if (allows(wanted, algorithm) && is_accurate(rule.sum, algorithm, max_error))
      rule.algorithms.push_back(algorithm);
  if (rule.algorithms.size() < 2) {
    if (demanded) return none_left(wanted, rule.sum, all, max_error);
    return std::nullopt;
  }
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

// Adds the knobs after those of before; the first is the algorithm.
void list_knobs(CookToomRule& rule, std::vector<Knob>& knobs) {
  const auto add = [&](const std::string& name, Values values, std::vector<std::string> labels) {
    Knob knob{name, std::move(values), std::move(labels), false};
    knob.structural = !knob.labels.empty();
    knobs.push_back(std::move(knob));
    return static_cast<int>(knobs.size()) - 1;
  };
  const auto choice = [&](const std::string& name, const auto& choices) {
    Values values;
    std::vector<std::string> labels;
    for (const auto& each : choices) {
      values.push_back(static_cast<std::int64_t>(values.size()));
      labels.push_back(label_of(each));
    }
    return add(name, std::move(values), std::move(labels));
  };
  const ImageSum& sum = rule.sum;
  const std::int64_t vectors = (sum.vector_extent + rule.lanes - 1) / rule.lanes;
  rule.at.algorithm = choice("algorithm", rule.algorithms);
  rule.at.place = choice("ct.input", rule.places);
  rule.at.copy = choice("ct.copy", rule.copies);
  if (rule.target.threads > 1) rule.at.share = choice("ct.parallel", rule.shares);
  rule.at.tile_v = add("ct.tile.v", up_to({1, 2, 3, 4, 6}, vectors), {});
  rule.at.tile_p0 =
      add("ct.tile.p0", up_to({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14}, sum.axes.back().extent), {});
  if (sum.axes.size() > 1)
    rule.at.tile_p1 = add("ct.tile.p1", up_to({1, 2, 3, 4, 7}, sum.axes[0].extent), {});
  Values rows = up_to({1, 2, 3, 4, 5, 7, 8, 10, 14, 16, 28, 32}, sum.axes[0].extent);
  if (rows.back() < sum.axes[0].extent) rows.push_back(sum.axes[0].extent);
  rule.at.block_t = add("ct.block.t", rows, {});
  if (rule.target.threads > 1 && sum.axes.size() > 1)
    rule.at.block_p0 = add("ct.block.p0", blocks_of(sum.axes[1].extent, rule.target.threads), {});
  if (vectors > 1) rule.at.block_v = add("ct.block.v", blocks_of(vectors, rule.target.threads), {});
  rule.at.unroll =
      add("ct.unroll.k", powers_and(std::min<std::int64_t>(sum.channel_extent, 4)), {});
  rule.at.prefetch = add("ct.prefetch", {0, 4096, 16384}, {});
}

void constrain_products(const CookToomRule& rule, Derived& derived) {
  ir::Sizes& s = derived.sizes;
  const auto size = [&](int knob) {
    return knob < 0 ? s.constant(1)
                    : s.knob(knob, derived.knobs[static_cast<std::size_t>(knob)].name);
  };
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
  auto found = LATHE_TRY(cook_toom_rule(workload, context.target, free_layouts_of(direct, axes)));
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
};

}  // namespace

std::span<const Meaning> cook_toom_meanings() { return kCookToomMeanings; }

}  // namespace lathe::space
