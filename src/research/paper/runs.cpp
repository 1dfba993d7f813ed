#include "research/paper/runs.h"

#include <algorithm>
#include <set>

#include "research/experiment/run.h"

namespace lathe::paper {
namespace {

// Makes of a name one that a line of the raw rows can hold.
std::string in_a_column(std::string name) {
  std::ranges::replace_if(name, [](char c) { return c == ',' || c == '\n' || c == '\r'; }, '_');
  return name;
}

class Work {
 public:
  Work(const Settings& settings, int jobs, RawRows& rows, const Listener& listener,
       const std::function<bool()>& stop)
      : settings_(settings), jobs_(jobs), rows_(rows), listener_(listener), stop_(stop) {}

  Status perform(const std::vector<Sheet>& sheets) {
    count(sheets);
    return each(sheets, [this](const Sheet& sheet, const Cell& cell) {
      return stop_() || !cell.can_run ? Status{} : run(sheet, cell);
    });
  }

 private:
  static Status each(const std::vector<Sheet>& sheets,
                     const std::function<Status(const Sheet&, const Cell&)>& visit) {
    for (const Sheet& sheet : sheets)
      for (const PanelSet& set : sheet.sets)
        for (const Panel& panel : set.panels)
          for (const Cell& cell : panel.cells) LATHE_TRY_STATUS(visit(sheet, cell));
    return {};
  }

  // Counts the runs; those that figures share count once.
  void count(const std::vector<Sheet>& sheets) {
    std::set<RunKey> wanted;
    (void)each(sheets, [&](const Sheet&, const Cell& cell) {
      for (int seed = 0; cell.can_run && seed < cell.seeds; ++seed)
        wanted.insert(key_of(cell, settings_, static_cast<std::uint64_t>(seed)));
      return Status{};
    });
    progress_.wanted = static_cast<int>(wanted.size());
    progress_.resumed = static_cast<int>(std::ranges::count_if(
        wanted, [&](const RunKey& key) { return rows_.find(key) != nullptr; }));
    progress_.done = progress_.resumed;
  }

  Status run(const Sheet& sheet, const Cell& cell) {
    std::vector<std::uint64_t> missing;
    for (std::uint64_t seed = 0; seed < static_cast<std::uint64_t>(cell.seeds); ++seed)
      if (rows_.find(key_of(cell, settings_, seed)) == nullptr) missing.push_back(seed);
    if (missing.empty()) return {};
    const recorded::Recording& recording = cell.space->recording;
    progress_.now = fmt::format("{}, {}, {}", sheet.figure.name, recording.name, cell.label);
    listener_(progress_);
    experiment::RunOptions options{.trials = settings_.trials, .jobs = jobs_, .stop = stop_};
    if (cell.arm.transfers)
      options.begin_from = [&](std::uint64_t seed) { return global_for(cell, seed); };
    return experiment::run_seeds(
        recording, cell.arm, missing, options,
        [&](std::uint64_t seed, const experiment::Curve& curve) -> Status {
          LATHE_TRY_STATUS(rows_.add(key_of(cell, settings_, seed), curve));
          ++progress_.done;
          listener_(progress_);
          return {};
        });
  }

  Result<std::shared_ptr<const model::CostModel>> global_for(const Cell& cell,
                                                             std::uint64_t seed) const {
    std::vector<const recorded::Recording*> sources;
    for (const SpaceFile* source : cell.sources) sources.push_back(&source->recording);
    return experiment::global_for(cell.space->recording, cell.arm, sources, settings_.rows_a_source,
                                  seed);
  }

  const Settings& settings_;
  const int jobs_;
  RawRows& rows_;
  const Listener& listener_;
  const std::function<bool()>& stop_;
  Progress progress_;
};

}  // namespace

RunKey key_of(const Cell& cell, const Settings& settings, std::uint64_t seed) {
  return {in_a_column(cell.space->recording.name),
          cell.space->hash,
          cell.arm.name,
          cell.settings,
          settings.trials,
          seed};
}

std::vector<experiment::Curve> curves_of(const Cell& cell, const Settings& settings,
                                         const RawRows& rows) {
  std::vector<experiment::Curve> curves;
  for (int seed = 0; seed < cell.seeds; ++seed)
    if (const auto* curve = rows.find(key_of(cell, settings, static_cast<std::uint64_t>(seed))))
      curves.push_back(*curve);
  return curves;
}

Status perform(const std::vector<Sheet>& sheets, const Settings& settings, int jobs, RawRows& rows,
               const Listener& listener, const std::function<bool()>& stop) {
  return Work(settings, jobs, rows, listener, stop).perform(sheets);
}

}  // namespace lathe::paper
