#include "cli/report/charts.h"

#include <algorithm>
#include <cmath>

#include "cli/report/html.h"
#include "cli/report/parts.h"

namespace lathe::cli {
namespace {

constexpr std::size_t kMostBars = 12;  // most runs that get a bar each
// The peak is drawn, too, if the best program reaches this share of it
constexpr double kPeakInSight = 0.3;

// Keeps five digits: no chart shows more.
Json number(double x) { return Json::parse(fmt::format("{:.5g}", std::isfinite(x) ? x : 0)); }

std::string figure(const std::string& kind, const std::string& caption, const std::string& label,
                   const Json& spec, const std::string& box = "class=\"plot\"") {
  return fmt::format(
      "<figure data-chart=\"{}\"><figcaption>{}</figcaption>\n<div {}><canvas role=\"img\" "
      "aria-label=\"{}\"></canvas></div>\n"
      "<script type=\"application/json\">{}</script></figure>\n",
      kind, caption, box, escaped(label), embedded(spec));
}

Json points_of(const std::vector<report::Point>& points) {
  Json out = Json::array();
  for (const report::Point& point : points) out.push_back({number(point.x), number(point.y)});
  return out;
}

struct Axis {
  std::string title, unit;
  double most = 0;  // 0: the numbers decide
};
Json to_json(const Axis& axis) {
  Json json = {{"title", axis.title}, {"unit", axis.unit}, {"least", 0}};
  if (axis.most > 0) json["most"] = axis.most;
  return json;
}

// Lines of runs; those of a kind have one colour. A run without `points` has no line.
class Lines {
 public:
  Lines(const report::WorkloadReport& workload, const Axis& x, const Axis& y, bool stepped)
      : workload_(workload) {
    spec_ = {{"x", to_json(x)},         {"y", to_json(y)},        {"series", Json::array()},
             {"groups", Json::array()}, {"marks", Json::array()}, {"stepped", stepped}};
  }
  void add(const report::RunReport& run, const std::vector<report::Point>& points) {
    if (points.empty()) return;
    const std::string kind = kind_of(run, workload_);
    const auto known = std::ranges::find(kinds_, kind);
    const auto group = known - kinds_.begin();
    if (known == kinds_.end()) {
      kinds_.push_back(kind);
      spec_["groups"].push_back(kind);
    }
    spec_["series"].push_back({{"label", fmt::format("run {}", run.run.id)},
                               {"group", group},
                               {"points", points_of(points)}});
  }
  void mark(const std::string& label, double y) {
    spec_["marks"].push_back({{"label", label}, {"y", number(y)}});
  }
  std::string html(const std::string& caption, const std::string& label) const {
    return kinds_.empty() ? "" : figure("lines", caption, label, spec_);
  }

 private:
  const report::WorkloadReport& workload_;
  std::vector<std::string> kinds_;
  Json spec_;
};

// The peak, for work that is arithmetic; 0 where it would press the curves to the ground.
double peak_in_sight(const report::WorkloadReport& w) {
  return w.best && w.peak_share(w.best->seconds()) >= kPeakInSight ? w.peak_flops / 1e9 : 0;
}

struct Bar {
  std::string label;
  report::Spent spent;
};

std::vector<Bar> bars_of(const report::WorkloadReport& w) {
  std::vector<Bar> bars;
  for (const report::RunReport& run : w.runs) {
    const bool each = w.runs.size() <= kMostBars;
    const std::string label = each ? fmt::format("run {}", run.run.id) : kind_of(run, w);
    auto bar = std::ranges::find(bars, label, &Bar::label);
    if (bar == bars.end()) bar = bars.insert(bar, {label, {}});
    bar->spent += run.spent;
  }
  return bars;
}

}  // namespace

std::string kind_of(const report::RunReport& run, const report::WorkloadReport& workload) {
  std::string out = run.run.search + ", " + run.run.model;
  if (run.run.space != "default") out += ", " + run.run.space + " space";
  const int latest =
      std::ranges::max(workload.runs, {}, &report::RunReport::codegen_version).codegen_version;
  if (run.codegen_version != latest) out += fmt::format(", code generator {}", run.codegen_version);
  return out;
}

std::string progress_charts(const report::WorkloadReport& w) {
  Lines trials(w, {"trials", "trials"}, {w.work.unit, w.work.unit}, true);
  Lines seconds(w, {"seconds at work", "s"}, {w.work.unit, w.work.unit}, true);
  for (const report::RunReport& run : latest_runs(w)) {
    trials.add(run, run.over_trials);
    seconds.add(run, run.over_seconds);
  }
  if (const double peak = peak_in_sight(w); peak > 0) {
    trials.mark("measured peak", peak);
    seconds.mark("measured peak", peak);
  }
  return trials.html(
             "Best so far, over trials",
             "Speed of the best program so far over trials; the table of runs has the numbers") +
         seconds.html(
             "Best so far, over time",
             "Speed of the best program so far over time; the table of runs has the numbers");
}

std::string knob_chart(const report::Knob& knob, const report::Knobs& of) {
  Json labels = Json::array(), fast = Json::array(), all = Json::array();
  for (const report::KnobValue& value : knob.values) {
    labels.push_back(value.text);
    fast.push_back(number(static_cast<double>(value.fast) / of.fast));
    all.push_back(number(static_cast<double>(value.all) / of.all));
  }
  const Json spec = {{"labels", labels},
                     {"unit", "%"},
                     {"series",
                      {{{"label", "fastest"}, {"colour", 0}, {"values", fast}},
                       {{"label", "all"}, {"colour", 7}, {"values", all}}}}};
  return figure("bars", escaped(knob.name),
                fmt::format("Values of {} among the fastest programs and among all", knob.name),
                spec);
}

std::string quality_chart(const report::WorkloadReport& w) {
  Lines lines(w, {"trials", "trials"}, {"pairs in order", "%", 1}, false);
  for (const report::RunReport& run : latest_runs(w)) {
    std::vector<report::Point> points;
    for (const report::Quality& q : run.quality)
      points.push_back({static_cast<double>(q.trials), q.pairwise_accuracy});
    lines.add(run, points);
  }
  lines.mark("chance", 0.5);
  return lines.html(
      "Pairs of each batch in the right order, by the scores they were proposed with",
      "Share of pairs in the right order over trials; the table below has the numbers");
}

std::string spent_chart(const report::WorkloadReport& w) {
  const std::pair<const char*, double report::Spent::*> parts[] = {
      {"build", &report::Spent::build},
      {"run", &report::Spent::run},
      {"model", &report::Spent::model},
      {"search", &report::Spent::search}};
  const std::vector<Bar> bars = bars_of(w);
  Json labels = Json::array(), series = Json::array();
  for (const Bar& bar : bars) labels.push_back(bar.label);
  for (const auto& [label, member] : parts) {
    Json values = Json::array();
    for (const Bar& bar : bars) values.push_back(number(bar.spent.*member));
    series.push_back({{"label", label}, {"colour", series.size()}, {"values", std::move(values)}});
  }
  return figure(
      "stacked", "Seconds of processes",
      "Seconds of processes that built, ran, learned and searched; the table below has the numbers",
      {{"labels", labels}, {"unit", "s"}, {"title", "seconds"}, {"series", series}},
      fmt::format("class=\"plot rows\" style=\"--rows: {}\"", bars.size()));
}

}  // namespace lathe::cli
