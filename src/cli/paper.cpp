// lathe paper: the experiments of the paper again, on recorded spaces.
#include <chrono>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <set>

#include "api/report/report.h"
#include "api/schedules.h"
#include "base/file.h"
#include "base/processors.h"
#include "cli/application.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/interrupt.h"
#include "cli/live_line.h"
#include "cli/progress_line.h"
#include "cli/results.h"
#include "research/paper/live.h"
#include "research/paper/page.h"
#include "research/paper/picture.h"
#include "research/paper/runs.h"
#include "research/paper/summary.h"

namespace lathe::cli {
namespace {

struct Flags {
  std::string figure, spaces = "bench/spaces", output = "bench/results/paper", database;
  paper::Settings settings;
  int jobs = usual_jobs().number;
};

// How far the runs are.
class Line {
 public:
  Line() : line_(stderr, [this](std::size_t) { return text(); }) {}
  void update(const paper::Progress& progress) {
    const std::lock_guard lock(mutex_);
    progress_ = progress;
  }
  void finish() { line_.finish(); }

 private:
  std::string text() {
    const std::lock_guard lock(mutex_);
    if (progress_.wanted == 0) return "starting";
    const double elapsed =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    const int fresh = progress_.done - progress_.resumed;
    std::string text = fmt::format("{}/{} runs", progress_.done, progress_.wanted);
    if (fresh > 0)
      text += fmt::format(" | {} left",
                          duration_text(elapsed / fresh * (progress_.wanted - progress_.done)));
    return text + " | " + (interrupted() ? "stopping" : progress_.now);
  }

  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::mutex mutex_;
  paper::Progress progress_;
  LiveLine line_;
};

paper::LiveRun live_run(const report::RunReport& report) {
  const store::Run& run = report.run;
  paper::LiveRun live{run.id, run.search == "annealing" ? run.model : run.search, {}};
  for (const report::Point& point : report.over_seconds) live.points.emplace_back(point.x, point.y);
  return live;
}

// An error where no run can be drawn.
Result<std::vector<paper::LiveWorkload>> live_workloads(const std::string& database) {
  const auto store = LATHE_TRY(api::open_existing(database));
  const auto report = LATHE_TRY(report::gather(*store));
  std::vector<paper::LiveWorkload> out;
  for (const report::WorkloadReport& workload : report.workloads) {
    if (!workload.work.arithmetic) continue;
    paper::LiveWorkload live{workload.title, workload.target, {}};
    for (const report::RunReport& run : workload.runs) live.runs.push_back(live_run(run));
    out.push_back(std::move(live));
  }
  if (out.empty())
    return fail_at(
        database, ErrorKind::kNotFound,
        "it has no run whose speed is in GFLOP/s; tune some workload, or name another with --db");
  return out;
}

class PaperRun {
 public:
  explicit PaperRun(const Flags& flags) : flags_(flags) {}

  Result<int> perform() {
    const auto figures = LATHE_TRY(paper::figures_named(flags_.figure));
    LATHE_TRY_STATUS(make_folder());
    if (wants_live()) LATHE_TRY_STATUS(live());
    const auto gnuplot = paper::find_gnuplot();
    if (gnuplot) gnuplot_ = *gnuplot;
    else note(gnuplot.error().text());
    if (live_) LATHE_TRY_STATUS(picture(live_->picture, paper::kLiveFigure));

    const auto spaces = paper::spaces_in(flags_.spaces);
    if (!spaces && figures.empty()) {  // fig10a needs none
      fmt::print("{}\n", file(paper::kLiveFigure) + ".csv");
      return kDone;
    }
    if (!spaces) return std::unexpected(spaces.error());
    auto rows = LATHE_TRY(paper::RawRows::open(file("raw.csv")));
    const auto sheets = LATHE_TRY(sheets_of(figures, *spaces));
    for (const std::string& sentence : missing_in(sheets)) note(sentence);
    LATHE_TRY_STATUS(run(sheets, rows));
    LATHE_TRY_STATUS(rows.sort());
    LATHE_TRY_STATUS(page(*spaces, rows));
    if (interrupted()) {
      complain(fmt::format("interrupted; {} shows what is finished, the same command goes on",
                           page_path()));
      return interrupted_code(kFailed);
    }
    fmt::print("{}\n", page_path());
    return kDone;
  }

 private:
  bool wants_live() const { return flags_.figure == paper::kLiveFigure || flags_.figure == "all"; }
  std::string file(const std::string& name) const {
    return (std::filesystem::path(flags_.output) / name).string();
  }
  std::filesystem::path folder() const {
    const auto path = std::filesystem::absolute(flags_.output).lexically_normal();
    return path.has_filename() ? path : path.parent_path();
  }
  std::string page_path() const { return folder().string() + ".md"; }

  Status make_folder() const {
    std::error_code error;
    std::filesystem::create_directories(flags_.output, error);
    if (error)
      return fail_at(flags_.output, ErrorKind::kIo,
                     "the folder cannot be made ({}); give another with -o", error.message());
    return {};
  }

  static void note(const std::string& sentence) { complain(sentence); }

  // What "all" cannot have is said, and left out.
  Status live() {
    const auto workloads = live_workloads(flags_.database);
    if (workloads) {
      live_ = paper::live_figure(*workloads);
      return write_whole(file(std::string(paper::kLiveFigure) + ".csv"), live_->csv);
    }
    if (flags_.figure != "all") return std::unexpected(workloads.error());
    left_out_live_ = fmt::format("{} needs a database of live runs: {}", paper::kLiveFigure,
                                 workloads.error().text());
    note(left_out_live_);
    return {};
  }

  Result<std::vector<paper::Sheet>> sheets_of(const std::vector<paper::Figure>& figures,
                                              const std::vector<paper::SpaceFile>& spaces) const {
    std::vector<paper::Sheet> sheets;
    for (const paper::Figure& figure : figures)
      sheets.push_back(LATHE_TRY(paper::sheet_for(figure, spaces, flags_.settings)));
    return sheets;
  }

  Status run(const std::vector<paper::Sheet>& sheets, paper::RawRows& rows) const {
    catch_interrupts();
    Line line;
    const auto status = paper::perform(
        sheets, flags_.settings, flags_.jobs, rows,
        [&](const paper::Progress& progress) { line.update(progress); }, interrupted);
    line.finish();
    return status;
  }

  static std::set<std::string> missing_in(const std::vector<paper::Sheet>& sheets) {
    std::set<std::string> sentences;
    for (const paper::Sheet& sheet : sheets) {
      sentences.insert(sheet.left_out.begin(), sheet.left_out.end());
      if (!sheet.cannot_run.empty()) sentences.insert(sheet.cannot_run);
    }
    return sentences;
  }

  Status picture(const paper::Picture& picture, const std::string& name) {
    if (gnuplot_.empty()) return {};
    pictures_.push_back(name);
    return paper::draw(picture, gnuplot_, file(name));
  }

  // Of all figures, and of what the rows hold for these very flags: pictures, numbers and words are
  // never of different runs.
  Status page(const std::vector<paper::SpaceFile>& spaces, const paper::RawRows& rows) {
    const auto sheets = LATHE_TRY(sheets_of(LATHE_TRY(paper::figures_named("all")), spaces));
    for (const paper::Sheet& sheet : sheets)
      if (const paper::Picture drawn = paper::picture_of(sheet, flags_.settings, rows);
          has_curves(drawn))
        LATHE_TRY_STATUS(picture(drawn, sheet.figure.name));
    std::error_code none;
    if (!live_ && std::filesystem::exists(file(std::string(paper::kLiveFigure) + ".svg"), none))
      pictures_.push_back(paper::kLiveFigure);
    paper::PageInfo info{command(), folder().filename().string(), pictures_, {}};
    if (std::ranges::count(pictures_, paper::kLiveFigure) > 0)
      info.live.push_back(
          fmt::format("Of the runs in a database, by `lathe paper {0} --db FILE`; the numbers are "
                      "in [{1}/{0}.csv]({1}/{0}.csv)",
                      paper::kLiveFigure, info.folder));
    else
      info.live.push_back(left_out_live_.empty()
                              ? "Not made yet: `lathe paper fig10a --db FILE` makes it"
                              : left_out_live_);
    return write_whole(page_path(), paper::page_text(sheets, spaces, flags_.settings, rows, info));
  }
  static bool has_curves(const paper::Picture& picture) {
    return std::ranges::any_of(picture.panels, [](const paper::DrawnPanel& panel) {
      return std::ranges::any_of(
          panel.curves, [](const paper::DrawnCurve& curve) { return !curve.points.empty(); });
    });
  }
  std::string command() const {
    return fmt::format(
        "lathe paper all --spaces {} -o {} --seeds {} --treegru-seeds {} --trials {}",
        flags_.spaces, flags_.output, flags_.settings.seeds, flags_.settings.treegru_seeds,
        flags_.settings.trials);
  }

  const Flags& flags_;
  std::optional<paper::LiveFigure> live_;
  std::string left_out_live_, gnuplot_;
  std::vector<std::string> pictures_;  // drawn by this command, or, of live runs, by one before
};

}  // namespace

Command paper_command() {
  return {"paper", "run the paper's experiments on recorded spaces, and draw its figures",
          [](FlagSet& set) -> Work {
            auto flags = std::make_shared<Flags>();
            set.positional(
                "FIGURE", flags->figure,
                "fig4 (and 13), fig5 (14), fig6 (15), fig7 (16), fig8, fig9, fig10a or all", true);
            set.text("--spaces", flags->spaces, "FOLDER",
                     "recordings, as lathe space record makes them");
            set.text("-o,--output", flags->output, "FOLDER",
                     "where pictures and raw rows go; runs that are finished there are not made "
                     "again; the page is FOLDER.md");
            set.whole("--seeds", flags->settings.seeds, 1, 10000, "runs of every search");
            set.whole("--treegru-seeds", flags->settings.treegru_seeds, 0, 10000,
                      "runs of every TreeGRU; 0 leaves them out");
            set.whole("--trials", flags->settings.trials, 1, 1000000, "trials of a run");
            set.whole("--jobs", flags->jobs, 1, 1024, "runs at a time");
            add_database_flag(set, flags->database);
            return [flags] { return PaperRun(*flags).perform(); };
          }};
}

}  // namespace lathe::cli
