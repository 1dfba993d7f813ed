#include "research/paper/page.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/ranges.h>

#include "research/paper/figures.h"
#include "research/recorded/difficulty.h"
#include "tuner/learn/global.h"

namespace lathe::paper {
namespace {

std::string trials_text(double trials, int most) {
  return std::isfinite(trials) ? fmt::format("{:.0f}", trials) : fmt::format("> {}", most);
}

class Page {
 public:
  Page(const std::vector<SpaceFile>& spaces, const Settings& settings, const RawRows& rows,
       const PageInfo& info)
      : spaces_(spaces), settings_(settings), rows_(rows), info_(info) {}

  std::string text(const std::vector<Sheet>& sheets) {
    head();
    known_beforehand();
    for (const Sheet& sheet : sheets) figure(sheet);
    live();
    return std::move(text_);
  }

 private:
  template <class... Args>
  void say(fmt::format_string<Args...> format, Args&&... args) {
    text_ += fmt::format(format, std::forward<Args>(args)...);
  }

  void head() {
    say("# The paper's experiments\n\n`{}` makes this page; all but figure 10a follows from "
        "[{}/raw.csv]({}/raw.csv), a finished run a line.\n\n",
        info_.command, info_.folder, info_.folder);
    say("{} seeds a search ({} where it is a TreeGRU), {} trials, on recorded spaces: parts of the "
        "whole spaces, of some thousand "
        "configurations, each of them measured, the fastest again in races, so that a search is "
        "replayed without hardware. The paper's "
        "own spaces are far larger. Curves are medians over the seeds, bands their quartiles. "
        "Searches are as in the paper: no "
        "prior model, batches of 64 from the first. \"Lathe's default\" has a prior and batches "
        "that grow, and begins blind as all others do.\n\n",
        settings_.seeds, std::min(settings_.seeds, settings_.treegru_seeds), settings_.trials);
    std::map<std::string, std::string> machines;  // and what was recorded there
    for (const auto& space : spaces_) {
      std::string& names = machines[fmt::format("{}; {}", space.recording.machine.text(),
                                                space.recording.target.text())];
      names += (names.empty() ? "" : ", ") + space.recording.name;
    }
    say("Recorded on:\n\n");
    for (const auto& [machine, names] : machines) say("- {}: {}\n", machine, names);
    say("\nSearches run on the recordings for {}; those of other targets are searched or learnt "
        "from where a figure says so.\n",
        usual_target(spaces_).text());
    say("\nWhether a finding holds is decided by this rule. {}\n", kRule);
  }

  // Says what is known beforehand, so that nobody takes it for learnt.
  void known_beforehand() {
    say("\n## What was known before the first trial\n\nThe lists of these spaces were chosen by "
        "looking at samples and at whole "
        "recordings: most keep one register tile that wins and many that lose. On many of them the "
        "analytic default, a schedule that "
        "is worked out from the shapes and the registers alone, has that tile. \"Lathe's default\" "
        "begins with an analytic model, so "
        "where the default is fast its first trials tell nothing of learning: \"XGBoost, rank\" "
        "and all other searches here begin "
        "with nothing. Where the default is slow, a search has to find out.\n\n"
        "| space | target | analytic default, speed as a share of the best | its place among all "
        "|\n|---|---|---:|---:|\n");
    for (const auto& space : spaces_) {
      const recorded::Difficulty known = recorded::difficulty_of(space.recording);
      say("| {} | {} | {:.3f} | {} of {} |\n", space.recording.name,
          model::class_of(space.recording.target).text(), known.default_share, known.default_place,
          known.configs);
    }
  }

  void picture(const std::string& name, const std::string& title) {
    if (std::ranges::count(info_.pictures, name) > 0)
      say("![{}]({}/{}.svg)\n\n", title, info_.folder, name);
  }

  void figure(const Sheet& sheet) {
    say("\n## {}\n\nThe paper: {}.\n\n", sheet.figure.title, sheet.figure.finding);
    picture(sheet.figure.name, sheet.figure.title);
    for (const PanelSet& set : sheet.sets) sources(set);
    unfinished(sheet);
    findings(sheet);
    numbers(sheet);
    for (const std::string& sentence : sheet.left_out) say("Left out: {}.\n\n", sentence);
  }

  void unfinished(const Sheet& sheet) {
    std::size_t wanted = 0, finished = 0;
    for (const PanelSet& set : sheet.sets)
      for (const Panel& panel : set.panels)
        for (const Cell& cell : panel.cells) {
          wanted += static_cast<std::size_t>(cell.seeds);
          finished += curves_of(cell, settings_, rows_).size();
        }
    if (finished > 0 && finished < wanted)
      say("{} of its {} runs are finished.\n\n", finished, wanted);
  }

  void sources(const PanelSet& set) {
    std::set<std::string> names;
    for (const Panel& panel : set.panels)
      for (const Cell& cell : panel.cells)
        for (const SpaceFile* source : cell.sources) names.insert(source->recording.name);
    if (!names.empty())
      say("{}Searches with transfer learnt from {} random configurations each of {} before; every "
          "seed drew its own.\n\n",
          set.setting.title.empty() ? "" : set.setting.title + ": ", settings_.rows_a_source,
          fmt::join(names, ", "));
  }

  void findings(const Sheet& sheet) {
    std::string rows;
    for (const PanelSet& set : sheet.sets)
      for (const Judged& one : judged(set, settings_, rows_)) {
        std::string outcomes;
        for (const auto& [space, outcome] : one.outcomes)
          outcomes +=
              fmt::format("{}{}: {}", outcomes.empty() ? "" : ", ", space, text_of(outcome));
        rows += fmt::format("| {}{} {} {} | **{}** | {} |\n",
                            one.setting.empty() ? "" : one.setting + ": ", one.arm,
                            text_of(one.expected), one.against, text_of(one.verdict), outcomes);
      }
    if (!rows.empty())
      say("| the paper's finding | here | trials to 95 %, space by space |\n|---|---|---|\n{}\n",
          rows);
  }

  void numbers(const Sheet& sheet) {
    std::string rows;
    for (const PanelSet& set : sheet.sets)
      for (const Panel& panel : set.panels)
        for (const ArmNumbers& n : numbers_of(panel, settings_, rows_))
          rows += fmt::format(
              "| {} | {} | {} | {} | {} to {} | {} | {:.0f} % |\n", n.space, n.label,
              n.runs < n.wanted ? fmt::format("{} of {}", n.runs, n.wanted)
                                : fmt::format("{}", n.runs),
              trials_text(n.median, settings_.trials), trials_text(n.low, settings_.trials),
              trials_text(n.high, settings_.trials), n.reached, 100 * n.share_at_end);
    if (!rows.empty())
      say("| space | search | runs | trials to 95 %, median | quartiles | runs that got there | "
          "speed at the end, of the best |\n"
          "|---|---|---:|---:|---:|---:|---:|\n{}\n",
          rows);
    else say("No run of it is finished.\n\n");
  }

  void live() {
    say("\n## Figure 10a: speed over time of live runs\n\n");
    picture(kLiveFigure, "Figure 10a");
    for (const std::string& sentence : info_.live) say("{}.\n\n", sentence);
  }

  const std::vector<SpaceFile>& spaces_;
  const Settings& settings_;
  const RawRows& rows_;
  const PageInfo& info_;
  std::string text_;
};

}  // namespace

std::string page_text(const std::vector<Sheet>& sheets, const std::vector<SpaceFile>& spaces,
                      const Settings& settings, const RawRows& rows, const PageInfo& info) {
  return Page(spaces, settings, rows, info).text(sheets);
}

}  // namespace lathe::paper
