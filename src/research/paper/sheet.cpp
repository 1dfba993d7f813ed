#include "research/paper/sheet.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include <fmt/ranges.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "tuner/feature/version.h"
#include "tuner/treegru/trainer.h"

namespace lathe::paper {
namespace {

constexpr const char* kEnding = ".json.zst";

using Spaces = std::vector<const SpaceFile*>;

model::TargetClass target_of(const SpaceFile& space) {
  return model::class_of(space.recording.target);
}

Spaces named(const Spaces& among, const std::vector<std::string>& names) {
  Spaces out;
  for (const SpaceFile* space : among)
    if (names.empty() || std::ranges::count(names, space->recording.name) > 0) out.push_back(space);
  return out;
}

// The hash of all options that decide what a search finds in this cell.
std::string settings_hash(const Cell& cell, const Settings& settings) {
  const tune::Options& o = cell.arm.options;
  const search::Options& e = o.search.exploration;
  Json told = {experiment::version_of(cell.arm),
               feature::kVersion,
               o.search.batch,
               o.search.first_batch,
               o.search.name,
               o.model.name,
               o.model.acquisition,
               o.search.default_first,
               o.model.prior,
               o.model.features,
               o.model.global_trials,
               e.chains,
               e.steps,
               e.epsilon,
               e.lambda,
               e.alpha,
               e.temperature,
               e.patience,
               e.elite,
               cell.arm.measurements_a_trial};
  if (!cell.sources.empty()) told.push_back(settings.rows_a_source);
  for (const SpaceFile* source : cell.sources) told.push_back(source->hash);
  return hex(hash_of(told.dump()));
}

class SheetMaker {
 public:
  SheetMaker(const Figure& figure, const std::vector<SpaceFile>& spaces, const Settings& settings)
      : settings_(settings) {
    sheet_.figure = figure;
    const model::TargetClass usual = usual_target(spaces);
    for (const SpaceFile& space : spaces)
      (target_of(space) == usual ? here_ : elsewhere_).push_back(&space);
  }

  Result<Sheet> sheet() {
    for (const Setting& setting : sheet_.figure.settings) LATHE_TRY_STATUS(add(setting));
    return sheet_;
  }

 private:
  Status add(const Setting& setting) {
    const Spaces& teachers = setting.other_target ? elsewhere_ : here_;
    const std::string second = setting.other_target ? " on a second target" : "";
    const Spaces& home = setting.on_other_target ? elsewhere_ : here_;
    const Spaces targets = named(home, setting.targets);
    const Spaces sources = setting.sources.empty() ? Spaces{} : named(teachers, setting.sources);
    if (targets.empty() && setting.targets.empty())
      return leave_out(setting, "a recording of another target");
    if (targets.empty())
      return leave_out(setting,
                       fmt::format("a recording of {}", fmt::join(setting.targets, " or ")));
    if (!setting.sources.empty() && sources.empty())
      return leave_out(setting, fmt::format("a recording of {}{} to learn from",
                                            fmt::join(setting.sources, " or "), second));
    miss(setting, setting.targets, home, "");
    miss(setting, setting.sources, teachers, second + " to learn from");
    PanelSet set{setting, {}};
    for (const SpaceFile* target : targets)
      set.panels.push_back(LATHE_TRY(panel(setting, *target, sources)));
    sheet_.sets.push_back(std::move(set));
    return {};
  }

  std::string name_of(const Setting& setting) const {
    return sheet_.figure.name + (setting.title.empty() ? "" : ", " + setting.title + ",");
  }
  Status leave_out(const Setting& setting, const std::string& missing) {
    sheet_.left_out.push_back(
        fmt::format("{} needs {}, made with lathe space record", name_of(setting), missing));
    return {};
  }
  // Notes what a figure has to do without.
  void miss(const Setting& setting, const std::vector<std::string>& wanted, const Spaces& among,
            const std::string& what_for) {
    std::vector<std::string> missing;
    for (const std::string& name : wanted)
      if (named(among, {name}).empty()) missing.push_back(name);
    if (!missing.empty())
      sheet_.left_out.push_back(fmt::format("{} does without {}{}: no recording", name_of(setting),
                                            fmt::join(missing, ", "), what_for));
  }

  Result<Panel> panel(const Setting& setting, const SpaceFile& target, const Spaces& sources) {
    Panel panel{setting.title.empty() ? target.recording.name
                                      : fmt::format("{}: {}", target.recording.name, setting.title),
                &target,
                {}};
    for (const Series& series : setting.series) {
      Cell cell{.space = &target,
                .arm = LATHE_TRY(experiment::arm_named(series.arm)),
                .label = series.label,
                .seeds = settings_.seeds};
      if (cell.arm.transfers) cell.sources = sources;
      if (tune::learns_from_trees(cell.arm.options)) as_treegru(cell);
      cell.settings = settings_hash(cell, settings_);
      if (cell.seeds > 0) panel.cells.push_back(std::move(cell));
    }
    return panel;
  }

  void as_treegru(Cell& cell) {
    cell.seeds = std::min(settings_.treegru_seeds, settings_.seeds);
    const auto able = treegru::check_trainer();
    cell.can_run = able.has_value();
    if (!able && cell.seeds > 0) sheet_.cannot_run = able.error().text();
  }

  const Settings settings_;
  Spaces here_, elsewhere_;
  Sheet sheet_;
};

}  // namespace

model::TargetClass usual_target(const std::vector<SpaceFile>& spaces) {
  std::map<model::TargetClass, int> count;
  model::TargetClass most;
  for (const SpaceFile& space : spaces) ++count[target_of(space)];
  for (const SpaceFile& space : spaces)  // the first of equals
    if (count[target_of(space)] > count[most]) most = target_of(space);
  return most;
}

Result<std::vector<SpaceFile>> spaces_in(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code none;
  std::filesystem::recursive_directory_iterator at(folder, none), end;
  for (; !none && at != end; at.increment(none))
    if (at->path().string().ends_with(kEnding)) files.push_back(at->path().string());
  if (files.empty())
    return fail_at(
        folder, ErrorKind::kNotFound,
        "there are no recordings here; make some with lathe space record, or name their folder");
  std::ranges::sort(files);
  std::vector<SpaceFile> spaces;
  for (const std::string& file : files)
    spaces.push_back({hex(hash_of(LATHE_TRY(read_file(file)))), LATHE_TRY(recorded::load(file))});
  return spaces;
}

Result<Sheet> sheet_for(const Figure& figure, const std::vector<SpaceFile>& spaces,
                        const Settings& settings) {
  return SheetMaker(figure, spaces, settings).sheet();
}

}  // namespace lathe::paper
