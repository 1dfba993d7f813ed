#include "tuner/space/rules/tile/tile_knobs.h"

#include <algorithm>

#include "tuner/space/rules/tile/tile_start.h"

namespace lathe::space {
namespace {

using Values = std::vector<std::int64_t>;

// A contraction with less than 1/8 of the work of the main stage has no knobs of its own.
constexpr double kWorthKnobs = 8;
// Every choice of structural knobs is a nest that is derived and kept while a search goes on.
constexpr double kMostNests = 512;

const te::Stage& tiled_stage(const TiledStage& tiled) {
  return tiled.rule.workload.stages[static_cast<std::size_t>(tiled.rule.axes[0].stage)];
}

bool is_grouped(const Tiling& tiling, const TiledStage& stage) {
  return tiling.grouped.contains(tiled_stage(stage).tensor);
}

bool is_worth_knobs(const Tiling& tiling, const TiledStage& companion) {
  const te::Workload& sizes = tiling.sizes.stages.empty() ? tiling.prepared.view : tiling.sizes;
  // Views differ in the stages that they have, so stages go by names.
  const auto work = [&](const TiledStage& stage) {
    const auto& tensors = stage.rule.workload.tensors;
    const int tensor =
        sizes.find(tensors[static_cast<std::size_t>(tiled_stage(stage).tensor)].name);
    const auto found = std::ranges::find(sizes.stages, tensor, &te::Stage::tensor);
    return work_of(found == sizes.stages.end() ? tiled_stage(stage) : *found);
  };
  return has_reuse(tiled_stage(companion)) && kWorthKnobs * work(companion) >= work(tiling.main);
}

// Whether a companion's knob is one of the space: a second axis of vectors, and which loop threads
// share, change little.
bool is_open(const TiledStage& companion, int knob, Flavour flavour) {
  const TileKnobs& at = companion.rule.at;
  if (knob == at.vector || knob == at.parallel) return false;
  return flavour == Flavour::kWide || (knob != at.taps && knob != at.prefetch);
}

// Knobs that tiles share.
class Shared {
 public:
  explicit Shared(const std::vector<Knob>& known) : known_(known) {}

  void add(const TiledStage& stage, int knob, bool companion) {
    const Knob& own = stage.rule.knobs[static_cast<std::size_t>(knob)];
    const std::string name = stage.prefix + own.name;
    auto found = std::ranges::find(knobs_, name, &Knob::name);
    if (found == knobs_.end()) {
      if (std::ranges::find(known_, name, &Knob::name) != known_.end()) return;
      knobs_.push_back(own);
      knobs_.back().name = name;
      of_companion_.push_back(companion);
      return;
    }
    for (std::size_t v = 0; v < own.values.size(); ++v) {
      if (!own.structural) {
        found->values.push_back(own.values[v]);
      } else if (std::ranges::find(found->labels, own.labels[v]) == found->labels.end()) {
        found->values.push_back(std::ssize(found->values));
        found->labels.push_back(own.labels[v]);
      }
    }
    std::ranges::sort(found->values);
    found->values.erase(std::ranges::unique(found->values).begin(), found->values.end());
  }

  // Of companions those that choose something, as long as there are not too many nests.
  void append(std::vector<Knob>& knobs) const {
    std::vector<bool> kept;
    double nests = 1;
    for (std::size_t k = 0; k < knobs_.size(); ++k) {
      kept.push_back(!of_companion_[k] || (!knobs_[k].structural && knobs_[k].values.size() > 1));
      if (knobs_[k].structural && kept[k]) nests *= static_cast<double>(knobs_[k].values.size());
    }
    for (const char* most : {"pack.weights", "pack.input", ""})  // copies change most
      for (std::size_t k = 0; k < knobs_.size(); ++k) {
        const auto values = static_cast<double>(knobs_[k].values.size());
        if (kept[k] || values < 2 || !knobs_[k].structural || !knobs_[k].name.ends_with(most) ||
            nests * values > kMostNests)
          continue;
        kept[k] = true;
        nests *= values;
      }
    for (std::size_t k = 0; k < knobs_.size(); ++k)
      if (kept[k]) knobs.push_back(knobs_[k]);
  }

 private:
  const std::vector<Knob>& known_;
  std::vector<Knob> knobs_;
  std::vector<bool> of_companion_;
};

void find_knobs_of(TiledStage& stage, const std::vector<Knob>& knobs) {
  for (std::size_t k = 0; k < stage.rule.knobs.size(); ++k) {
    const Knob& own = stage.rule.knobs[k];
    stage.numbers[k] = number_of(knobs, stage.prefix + own.name);
    if (stage.numbers[k] < 0) continue;
    const Knob& found = knobs[static_cast<std::size_t>(stage.numbers[k])];
    stage.shared[k] = !own.structural && found.values.back() > own.values.back();
    stage.choices[k].clear();
    for (const std::string& label : found.labels) {
      const auto here = std::ranges::find(own.labels, label);
      stage.choices[k].push_back(here == own.labels.end() ? stage.start[k]
                                                          : here - own.labels.begin());
    }
  }
}

void set_start_of(const TiledStage& stage, const std::vector<Knob>& knobs, Values& start) {
  for (std::size_t k = 0; k < stage.rule.knobs.size(); ++k) {
    if (stage.numbers[k] < 0) continue;
    const auto number = static_cast<std::size_t>(stage.numbers[k]);
    const Knob& own = stage.rule.knobs[k];
    start[number] = stage.start[k];
    if (!own.structural) continue;
    const std::string& label = own.labels[static_cast<std::size_t>(stage.start[k])];
    start[number] = std::ranges::find(knobs[number].labels, label) - knobs[number].labels.begin();
  }
}

}  // namespace

std::int64_t TiledStage::choice(int knob, std::span<const std::int64_t> values) const {
  const auto k = static_cast<std::size_t>(knob);
  if (numbers[k] < 0) return start[k];
  return choices[k].at(static_cast<std::size_t>(values[static_cast<std::size_t>(numbers[k])]));
}

TiledStage tiled(TileRule rule) {
  TiledStage stage;
  TileStart start = settled_start(rule);
  stage.start = std::move(start.values);
  stage.cost = start.cost;
  stage.numbers.assign(rule.knobs.size(), -1);
  stage.shared.assign(rule.knobs.size(), false);
  stage.choices.resize(rule.knobs.size());
  stage.rule = std::move(rule);
  return stage;
}

void keep_few_orders(TileRule& rule) {
  using enum TileAxis;
  const LoopOrder few[] = {{{kVector, kPixels, kReduction}, {kVector, kPixels}},
                           {{kPixels, kVector, kReduction}, {kVector, kPixels}},
                           {{kVector, kReduction, kPixels}, {kVector, kPixels}}};
  if (rule.orders.size() <= std::size(few)) return;
  const auto kept = [&](const LoopOrder& order) { return std::ranges::find(few, order); };
  std::vector<LoopOrder> orders;
  for (const LoopOrder& order : rule.orders)
    if (kept(order) != std::end(few)) orders.push_back(order);
  if (orders.empty()) return;
  rule.orders = std::move(orders);
  Knob& knob = rule.knobs[static_cast<std::size_t>(rule.at.order)];
  knob.values.resize(rule.orders.size());
  knob.labels.clear();
  for (const LoopOrder& order : rule.orders) knob.labels.push_back(label_of(order));
}

void name_knobs(Tiling& tiling, const std::string& prefix) {
  const auto before = [&](const TiledStage& stage) {
    return prefix + (is_grouped(tiling, stage) ? "rows." : "");
  };
  tiling.main.prefix = before(tiling.main);
  for (TiledStage& stage : tiling.companions) {
    const auto tensor = static_cast<std::size_t>(tiled_stage(stage).tensor);
    stage.prefix = before(stage) + stage.rule.workload.tensors[tensor].name + ".";
  }
}

void list_knobs_of(std::span<const Tiling* const> tilings, Flavour flavour, bool grouped,
                   std::vector<Knob>& knobs) {
  Shared shared(knobs);
  for (const Tiling* tiling : tilings) {
    const auto has_knobs = [&](const TiledStage& stage) {
      return is_grouped(*tiling, stage) == grouped;
    };
    if (has_knobs(tiling->main))
      for (int k = 0; k < static_cast<int>(tiling->main.rule.knobs.size()); ++k)
        shared.add(tiling->main, k, false);
    for (const TiledStage& stage : tiling->companions)
      if (has_knobs(stage) && is_worth_knobs(*tiling, stage))
        for (int k = 0; k < static_cast<int>(stage.rule.knobs.size()); ++k)
          if (is_open(stage, k, flavour)) shared.add(stage, k, true);
  }
  shared.append(knobs);
}

void find_knobs(Tiling& tiling, const std::vector<Knob>& knobs) {
  find_knobs_of(tiling.main, knobs);
  for (TiledStage& stage : tiling.companions) find_knobs_of(stage, knobs);
}

void set_start(const Tiling& tiling, const std::vector<Knob>& knobs, Values& start) {
  set_start_of(tiling.main, knobs, start);
  for (const TiledStage& stage : tiling.companions) set_start_of(stage, knobs, start);
}

void constrain(const Tiling& tiling, Derived& derived) {
  const auto has_tile = [](const TiledStage& stage) {
    const int v = stage.rule.at.tile_v;
    return v >= 0 && std::ranges::any_of(stage.numbers, [](int number) { return number >= 0; });
  };
  if (has_tile(tiling.main)) add_constraints(tiling.main, derived);
  for (const TiledStage& stage : tiling.companions)
    if (has_tile(stage)) add_constraints(stage, derived);
}

}  // namespace lathe::space
