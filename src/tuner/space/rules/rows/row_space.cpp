#include "tuner/space/rules/rows/row_space.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "compiler/analysis/scans.h"
#include "tuner/space/rules/rows/row_group.h"
#include "tuner/space/rules/shared/axes.h"
#include "tuner/space/rules/shared/knob_list.h"
#include "tuner/space/rules/tile/tile_knobs.h"
#include "tuner/space/rules/tile/tile_sketch.h"

namespace lathe::space {
namespace {

using Values = std::vector<std::int64_t>;

// Less than this stays in the first cache, or nearly so, between one stage and the next.
constexpr double kWorthAKnob = 64 << 10;

// A group with its knob.
struct RowKnob {
  RowGroup group;
  std::vector<std::int64_t> blocks;  // of rows that go together, where the knob is 1, 2, ...
  std::vector<Tiling> tilings;       // for each of these, with the other groups' rows apart
  std::int64_t start = 0;            // its value in the analytic default
  int number = -1;                   // in the space
};

// The groups of a program, whose rows go together or apart.
class RowKnobs : public Alternatives {
 public:
  explicit RowKnobs(const CpuContext& context)
      : workload_(context.workload),
        target_(context.target),
        flavour_(context.flavour),
        repeated_(context.repeated),
        apart_(context.direct) {}

  // Returns false if there are none that are worth a knob.
  bool find(const te::Workload& view) {
    const std::size_t own = workload_.tensors.size();
    for (RowGroup& group : find_row_groups(view, own)) {
      const double kept = kept_bytes(view, group, own);
      if (kept < kWorthAKnob && flavour_ == Flavour::kDefault) continue;
      RowKnob knob;
      const std::int64_t start = rows_at_start(group, kept, target_);
      std::vector<std::int64_t> blocks = blocks_of_rows(group);
      if (start > 0 && std::ranges::find(blocks, start) == blocks.end())
        blocks.insert(std::ranges::lower_bound(blocks, start), start);
      for (const std::int64_t block : blocks) {
        auto tiling = tile({{&group, block}});
        // What a stage copies as a whole may stand between its rows and those of the stage before.
        if (!tiling || !build_tile_sketch(*tiling, {})) continue;
        knob.blocks.push_back(block);
        knob.tilings.push_back(std::move(*tiling));
      }
      if (knob.blocks.empty()) continue;
      const auto found = std::ranges::find(knob.blocks, start);
      if (found != knob.blocks.end()) knob.start = found - knob.blocks.begin() + 1;
      knob.group = std::move(group);
      groups_.push_back(std::move(knob));
    }
    return !groups_.empty();
  }

  std::vector<Choice> choices(const std::vector<Knob>& before) override {
    std::vector<Choice> out;
    std::vector<Knob> knobs = before;
    for (RowKnob& group : groups_) {
      Choice choice = choice_for(group, knobs);
      knobs.push_back(choice.above);
      knobs.insert(knobs.end(), choice.own.begin(), choice.own.end());
      out.push_back(std::move(choice));
    }
    return out;
  }

  void add_limits_and_starts(Derived& derived) override {
    knobs_ = derived.knobs;
    direct_ = {derived.knobs[static_cast<std::size_t>(groups_[0].number)].under, {0}};
    for (RowKnob& group : groups_)
      for (Tiling& tiling : group.tilings) {
        find_knobs(tiling, derived.knobs);
        if (flavour_ == Flavour::kDefault) constrain(tiling, derived);
      }
    add_starts(apart_->prepared.view, derived);
  }

  // Several threads may ask.
  Result<Sketch> build(std::span<const std::int64_t> values, const Build&) const override {
    Values chosen;
    std::vector<RowBlocks> rows;
    for (const RowKnob& group : groups_) {
      chosen.push_back(values[static_cast<std::size_t>(group.number)]);
      if (chosen.back() > 0)
        rows.push_back({&group.group, group.blocks[static_cast<std::size_t>(chosen.back()) - 1]});
    }
    const std::lock_guard lock(mutex_);
    auto& made = tilings_[chosen];
    if (!made) {
      made = std::make_unique<Result<Tiling>>(tile(rows));
      if (*made) find_knobs(**made, knobs_);
    }
    if (!*made) return std::unexpected(made->error());
    return build_tile_sketch(**made, values);
  }

 private:
  static bool has(const RowKnob& group, const TiledStage& stage) {
    const te::Workload& view = stage.rule.workload;
    const te::Stage& own = view.stages[static_cast<std::size_t>(stage.rule.axes[0].stage)];
    return group.group.names.contains(view.tensors[static_cast<std::size_t>(own.tensor)].name);
  }

  Result<Tiling> tile(const std::vector<RowBlocks>& rows) const {
    Grouped grouped = LATHE_TRY(prepare_grouped(workload_, target_, repeated_, rows));
    Tiling tiling;
    tiling.prepared = std::move(grouped.prepared);
    tiling.sizes = std::move(grouped.sizes);
    tiling.joined = std::move(grouped.loops);
    tiling.grouped = std::move(grouped.tensors);
    tiling.target = target_;
    const te::Workload& view = tiling.prepared.view;
    const int main = main_stage(tiling.sizes);
    const bool inside = tiling.grouped.contains(view.stages[static_cast<std::size_t>(main)].tensor);
    CpuTarget own = target_;
    if (inside) own.threads = 1;
    TileRule rule = tile_rule_for(view, main, own, inside ? Flavour::kDefault : flavour_);
    if (rule.axes.empty())
      return fail(ErrorKind::kIllegalSchedule, "a block of rows has no axis but reductions");
    if (inside) note_rows(rule, grouped.same);
    if (inside && flavour_ == Flavour::kDefault) keep_few_orders(rule);
    tiling.main = tiled(std::move(rule));
    tiling.companions =
        companions_of(view, main, target_, tiling.sizes, grouped.same, tiling.grouped);
    name_knobs(tiling, "");
    return tiling;
  }

  // The knobs of the tiles of the group, which have an effect where its rows are apart.
  std::vector<int> knobs_apart(const RowKnob& group) const {
    std::vector<int> out;
    const auto add = [&](const TiledStage& stage) {
      if (!has(group, stage)) return;
      for (const int number : stage.numbers)
        if (number >= 0) out.push_back(number);
    };
    add(apart_->main);
    std::ranges::for_each(apart_->companions, add);
    return out;
  }

  // How many rows go together, and the knobs of the tiles inside.
  Choice choice_for(RowKnob& group, std::vector<Knob> knobs) const {
    group.number = static_cast<int>(knobs.size());
    const bool plain = groups_.size() == 1 || has(group, apart_->main);
    std::vector<std::string> labels = {"apart"};
    std::vector<const Tiling*> tilings;
    for (std::size_t b = 0; b < group.blocks.size(); ++b) {
      labels.push_back(std::to_string(group.blocks[b]));
      tilings.push_back(&group.tilings[b]);
    }
    KnobList(knobs).choice(plain ? "rows" : group.group.last + ".rows", std::move(labels));
    list_knobs_of(tilings, flavour_, true, knobs);
    Choice choice = choice_of(std::move(knobs), static_cast<std::size_t>(group.number));
    choice.hides = knobs_apart(group);
    return choice;
  }

  // A start with everything as it is written.
  Values direct_start(const Derived& derived) const {
    if (direct_.knob < 0) return derived.starts[0];
    const auto at = static_cast<std::size_t>(direct_.knob);
    const auto found =
        std::ranges::find_if(derived.starts, [&](const Values& start) { return start[at] == 0; });
    Values start = found == derived.starts.end() ? derived.starts[0] : *found;
    start[at] = 0;
    return start;
  }

  // Each block of rows, the most promising first.
  std::vector<Values> starts_of(const RowKnob& group, const Values& apart) const {
    std::vector<Values> starts;
    for (std::size_t b = 0; b < group.blocks.size(); ++b) {
      Values start = apart;
      start[static_cast<std::size_t>(group.number)] = static_cast<std::int64_t>(b) + 1;
      set_start(group.tilings[b], knobs_, start);
      starts.push_back(std::move(start));
    }
    if (group.start > 0)
      std::rotate(starts.begin(), starts.begin() + group.start - 1, starts.begin() + group.start);
    return starts;
  }

  // Rows are together at first if those of all stages may be, and there is no other algorithm: of
  // the rest not enough was measured.
  void add_starts(const te::Workload& view, Derived& derived) const {
    const auto runs =
        static_cast<std::size_t>(std::ranges::count_if(view.stages, [&](const te::Stage& stage) {
          return !view.tensors[static_cast<std::size_t>(stage.tensor)].constant;
        }));
    const Values apart = direct_start(derived);
    for (const RowKnob& group : groups_) {
      std::vector<Values> starts = starts_of(group, apart);
      if (direct_.knob < 0 && group.start > 0 && group.group.names.size() == runs)
        std::swap(derived.starts[0], starts[0]);
      for (Values& start : starts)
        if (derived.starts.size() < kMostStarts) derived.starts.push_back(std::move(start));
    }
  }

  te::Workload workload_;
  CpuTarget target_;
  Flavour flavour_;
  algebra::Repeated repeated_;
  std::shared_ptr<const Tiling> apart_;
  Under direct_;  // where the sum is computed as it is written
  std::vector<RowKnob> groups_;
  std::vector<Knob> knobs_;  // of the space
  mutable std::mutex mutex_;
  // By the values of the groups' knobs.
  mutable std::map<Values, std::unique_ptr<Result<Tiling>>> tilings_;
};

}  // namespace

Result<std::unique_ptr<Alternatives>> offer_rows(const CpuContext& context) {
  if (context.workload.contract.free_layout || analysis::has_scan(context.direct->prepared.nest))
    return nullptr;
  auto rows = std::make_unique<RowKnobs>(context);
  if (!rows->find(context.direct->prepared.view)) return nullptr;
  return rows;
}

namespace {

constexpr Meaning kRowMeanings[] = {
    {"rows",
     "apart: each stage does all rows before the next one begins; a number: the stages of a group "
     "do so many rows together, before the next ones. Where they do, the knobs rows.* say how"},
};

}  // namespace

std::span<const Meaning> row_meanings() { return kRowMeanings; }

}  // namespace lathe::space
