// Rows together as a knob of the space, with knobs of the tiles inside.
#include <algorithm>
#include <map>
#include <memory>
#include <mutex>

#include "tuner/space/rules/axes.h"
#include "tuner/space/rules/row_group.h"
#include "tuner/space/rules/tile_knobs.h"

namespace lathe::space {
namespace {

using Values = std::vector<std::int64_t>;

// Less than this stays in the first cache, or nearly so, between one stage and the next.
constexpr double kWorthAKnob = 64 << 10;

std::int64_t blocks_along(const std::string& loop, const ir::Nest& nest) {
  const auto id = static_cast<std::size_t>(nest.find_loop(loop));
  return nest.sizes.constant_value(nest.loops[id].extent);
}

// The axis whose blocks the threads share where they share one: the outermost that has enough of
// them, or else the longest.
std::string shared_axis(const std::vector<std::string>& loops, int threads, const ir::Nest& nest) {
  std::string longest;
  std::int64_t most = 0;
  for (const std::string& loop : loops) {
    const std::int64_t blocks = blocks_along(loop, nest);
    if (blocks >= kBlocksPerThread * threads) return loop;
    if (blocks > most) {
      most = blocks;
      longest = loop;
    }
  }
  return longest;
}

// Makes axes parallel that run as one, outermost first, until they have enough blocks.
bool share_axes(const std::vector<std::string>& loops, int threads, ir::Nest& nest,
                schedule::Trace& trace) {
  std::int64_t blocks = 1;
  for (const std::string& loop : loops) {
    if (blocks >= kBlocksPerThread * threads) break;
    blocks *= blocks_along(loop, nest);
    if (!try_step(nest, trace, schedule::Annotate{.loop = loop, .kind = ir::LoopKind::kParallel},
                  false))
      return false;
  }
  return true;
}

// A group with its knob.
struct RowKnob {
  RowGroup group;
  std::vector<std::int64_t> blocks;  // of rows that go together, where the knob is 1, 2, ...
  std::vector<Tiling> tilings;       // for each of these, with the other groups' rows apart
  std::int64_t start = 0;            // its value in the analytic default
  int number = -1;                   // in the space
};

// The groups of a program, whose rows go together or apart.
class RowKnobs {
 public:
  RowKnobs(const te::Workload& workload, const CpuTarget& target, Flavour flavour,
           const Under& direct)
      : workload_(workload), target_(target), flavour_(flavour), direct_(direct) {}

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

  void add_to(const Tiling& apart, Derived& derived) {
    for (RowKnob& group : groups_) {
      group.number = static_cast<int>(derived.knobs.size());
      put_under(apart.main, group, derived.knobs);
      for (const TiledStage& stage : apart.companions) put_under(stage, group, derived.knobs);
      add_knob(apart, group, derived);
      fill_starts(derived);
    }
    knobs_ = derived.knobs;
    add_starts(apart.prepared.view, derived);
  }

  // The sketch for the values of the space's knobs. Several threads may ask.
  Result<Sketch> build(std::span<const std::int64_t> values) const {
    Values chosen;
    std::vector<Rows> rows;
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

  bool are_apart(std::span<const std::int64_t> values) const {
    if (direct_.knob >= 0 && values[static_cast<std::size_t>(direct_.knob)] != 0) return true;
    return std::ranges::all_of(groups_, [&](const RowKnob& group) {
      return values[static_cast<std::size_t>(group.number)] == 0;
    });
  }

 private:
  static bool has(const RowKnob& group, const TiledStage& stage) {
    const te::Workload& view = stage.rule.workload;
    const te::Stage& own = view.stages[static_cast<std::size_t>(stage.rule.axes[0].stage)];
    return group.group.names.contains(view.tensors[static_cast<std::size_t>(own.tensor)].name);
  }

  Result<Tiling> tile(const std::vector<Rows>& rows) const {
    Grouped grouped = LATHE_TRY(prepare_grouped(workload_, target_, rows));
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

  // The knobs of a tile of the group have an effect where its rows are apart.
  static void put_under(const TiledStage& stage, const RowKnob& group, std::vector<Knob>& knobs) {
    if (!has(group, stage)) return;
    for (const int number : stage.numbers) {
      if (number < 0) continue;
      knobs[static_cast<std::size_t>(number)].under = group.number;
      knobs[static_cast<std::size_t>(number)].under_values = {0};
    }
  }

  // Adds how many rows go together, and the knobs of the tiles inside.
  void add_knob(const Tiling& apart, RowKnob& group, Derived& derived) {
    const bool plain = groups_.size() == 1 || has(group, apart.main);
    Knob knob{plain ? "rows" : group.group.last + ".rows", {0}, {"apart"}, true};
    knob.under = direct_.knob;
    knob.under_values = direct_.values;
    Under under{group.number, {}};
    std::vector<const Tiling*> tilings;
    for (std::size_t b = 0; b < group.blocks.size(); ++b) {
      knob.values.push_back(static_cast<std::int64_t>(b) + 1);
      knob.labels.push_back(std::to_string(group.blocks[b]));
      under.values.push_back(static_cast<std::uint16_t>(b + 1));
      tilings.push_back(&group.tilings[b]);
    }
    derived.knobs.push_back(std::move(knob));
    add_knobs(tilings, flavour_, under, true, derived.knobs);
    for (Tiling& tiling : group.tilings) {
      find_knobs(tiling, derived.knobs);
      if (flavour_ == Flavour::kDefault) constrain(tiling, derived);
    }
  }

  // A start with everything as it is written.
  Values direct_start(const Derived& derived) const {
    if (direct_.knob < 0) return derived.start;
    const auto at = static_cast<std::size_t>(direct_.knob);
    const auto found = std::ranges::find_if(derived.other_starts,
                                            [&](const Values& start) { return start[at] == 0; });
    Values start =
        derived.start[at] == 0 || found == derived.other_starts.end() ? derived.start : *found;
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
        std::swap(derived.start, starts[0]);
      for (Values& start : starts)
        if (derived.other_starts.size() < kMostOthers)
          derived.other_starts.push_back(std::move(start));
    }
  }

  te::Workload workload_;
  CpuTarget target_;
  Flavour flavour_;
  Under direct_;
  std::vector<RowKnob> groups_;
  std::vector<Knob> knobs_;  // of the space
  mutable std::mutex mutex_;
  // By the values of the groups' knobs.
  mutable std::map<Values, std::unique_ptr<Result<Tiling>>> tilings_;
};

}  // namespace

void join_rows(const std::vector<std::vector<std::string>>& loops, int threads, ir::Nest& nest,
               schedule::Trace& trace) {
  std::vector<std::string> joined;
  for (const std::vector<std::string>& axis : loops) {
    schedule::Join join;
    for (const std::string& loop : axis)  // stages that run inside others have none left
      if (nest.find_loop(loop) >= 0) join.loops.push_back(loop);
    // Steps may have changed the order of stages.
    std::ranges::stable_sort(join.loops, {}, [&](const std::string& loop) {
      const ir::LoopId id = nest.find_loop(loop);
      const auto& siblings = nest.children(nest.loops[static_cast<std::size_t>(id)].parent);
      return std::ranges::find(siblings, ir::Item{ir::Item::Kind::kLoop, id}) - siblings.begin();
    });
    joined.push_back(join.loops.at(0));
    if (join.loops.size() < 2) continue;
    if (auto done = schedule::apply(nest, join); !done) throw StepRefused{done.error()};
    trace.push_back(std::move(join));
  }
  if (joined.empty() || threads < 2) return;
  const ir::Nest before = nest;
  const std::size_t steps = trace.size();
  if (share_axes(joined, threads, nest, trace)) return;
  nest = before;
  trace.resize(steps);
  share_axes({shared_axis(joined, threads, nest)}, threads, nest, trace);
}

void add_row_groups(const te::Workload& workload, const CpuTarget& target, const Tiling& apart,
                    Flavour flavour, const Under& direct, Derived& derived) {
  if (workload.contract.free_layout) return;
  const auto rows = std::make_shared<RowKnobs>(workload, target, flavour, direct);
  if (!rows->find(apart.prepared.view)) return;
  rows->add_to(apart, derived);
  derived.build = [rows, build = std::move(derived.build)](
                      std::span<const std::int64_t> values) -> Result<Sketch> {
    return rows->are_apart(values) ? build(values) : rows->build(values);
  };
}

}  // namespace lathe::space
