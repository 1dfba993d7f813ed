// The page of `lathe report`: whatever a database holds stays text.
#include <algorithm>

#include <gtest/gtest.h>

#include "cli/report/charts.h"
#include "cli/report/html.h"
#include "cli/report/model.h"
#include "cli/report/page.h"
#include "cli/report/parts.h"

namespace lathe::cli {
namespace {

constexpr const char* kHostile = "</script><script>alert('1')</script>\"&<!--\n\xff{{css}}";

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

// Every text is hostile.
report::Report hostile_report() {
  report::WorkloadReport w;
  w.key = w.target = w.cpu = w.fingerprint = w.title = w.expression = w.shapes = w.latest =
      kHostile;
  w.work = {1, "GFLOP/s", true, 0.8, 0.05};
  w.bandwidth = 1e11;
  w.peak_flops = 3e12;
  w.trials = 10;
  w.failed = 3;
  w.wrong = 1;
  w.first_seconds = 2e-3;
  w.failures = {{kHostile, 3, {{kHostile, kHostile, 2}}}};
  w.knobs = {5, 20, {{kHostile, 0.7, {{kHostile, 5, 6}, {"other", 0, 14}}}}};
  w.best.emplace();
  w.best->record.config = {{kHostile, kHostile}};
  w.best->record.time = kHostile;
  w.best->record.seconds = 1e-3;
  w.best->trace = w.best->program = kHostile;
  report::RunReport run;
  run.run.search = run.run.model = run.run.space = kHostile;
  run.trials = 10;
  run.best_seconds = 1e-3;
  run.over_trials = run.over_seconds = {{1, 500}, {10, 1000}};
  run.quality = {{10, 10, 0.7, 0.5}};
  w.runs = {run};
  report::WorkloadReport broken = w;
  broken.best->program.clear();
  broken.best->problem = kHostile;
  report::WorkloadReport nothing = w;
  nothing.best.reset();
  nothing.knobs = {};
  nothing.runs[0].over_trials.clear();
  nothing.runs[0].over_seconds.clear();
  nothing.runs[0].quality.clear();
  return {{w, broken, nothing}};
}

// Two nodes of one task, which is on record and exchanged, and one whose time is guessed.
report::ModelReport hostile_model() {
  report::ModelReport model;
  model.name = model.target = kHostile;
  model.inputs = model.outputs = {kHostile};
  model.nodes.resize(3, {0, kHostile, kHostile, kHostile, {kHostile}, {kHostile}, kHostile});
  model.nodes[1].task = 1;
  model.tasks.resize(2);
  model.tasks[0].nodes = {0, 2};
  model.tasks[1].nodes = {1};
  for (report::ModelTask& task : model.tasks) task.key = task.label = kHostile;
  model.tasks[0].seconds = 3e-3;
  model.tasks[1].seconds = 1e-3;
  model.tasks[0].flops = 1e9;
  model.tasks[0].elsewhere = true;
  model.tasks[0].recorded.emplace();
  model.tasks[0].recorded->note = kHostile;
  model.tasks[0].recorded->exchanged = {.gain = 0.25, .seconds = 3e-3};
  model.tasks[0].recorded->record.emplace();
  model.tasks[0].recorded->record->fingerprint = model.tasks[0].recorded->record->time = kHostile;
  model.lanes = {{kHostile, {0}, {2, 4}, 0}, {kHostile, {1, 2}, {3}, 40}};
  model.columns = 41;
  model.next = {true, false, true, true, false};
  model.seconds = 7e-3;
  model.recorded_seconds = 6e-3;
  return model;
}

TEST(Html, Escapes) {
  EXPECT_EQ(escaped("a<b>&\"'c"), "a&lt;b&gt;&amp;&quot;&#39;c");
  EXPECT_EQ(escaped(std::string_view("a\0b", 3)),
            "a\xef\xbf\xbd"
            "b");
  EXPECT_EQ(embedded({{"a", "</script>\xff"}}), "{\"a\":\"\\u003c/script>\xef\xbf\xbd\"}");
}

TEST(Html, Fills) {
  EXPECT_EQ(filled("{{a}}-{{b}}{{a}}", {{"a", "{{b}}"}, {"b", "2"}}), "{{b}}-2{{b}}");
  EXPECT_EQ(filled("", {}), "");
  EXPECT_THROW(filled("{{c}}", {}), InvariantError);
}

TEST(Html, TablesAreWhole) {
  Table table({{"A"}, {"B", true}});
  table.text("x");
  EXPECT_THROW(table.html(), InvariantError);
  table.number(std::nan(""), "–");
  EXPECT_NE(table.html().find("<td class=\"number\" data-value=\"0\">–</td>"), std::string::npos);
}

TEST(ReportPage, TextsOfADatabaseStayTexts) {
  const report::Report report = hostile_report();
  const std::string page = report_page(report, {kHostile, kHostile});
  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
  // Two charts of progress, one each of knobs, quality and time; the last workload has but the one
  // of time.
  const std::size_t charts = 5 + 5 + 1;
  EXPECT_EQ(count(page, "<figure data-chart="), charts);
  EXPECT_EQ(count(page, "<canvas "), charts);
  EXPECT_EQ(count(page, "</script>"), charts + 2);
  EXPECT_EQ(count(page, "<script"), count(page, "</script>"));
}

TEST(ReportPage, ShowsAModel) {
  const report::ModelReport model = hostile_model();
  const report::Report report = hostile_report();
  const std::string page = report_page(report, {kHostile, kHostile}, kMostSections, &model);
  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
  EXPECT_EQ(count(page, "<script"), count(page, "</script>"));
  EXPECT_EQ(count(page, "<a class=\"node\""), 2U);
  EXPECT_EQ(count(page, "<a class=\"node guessed\""), 1U);
  EXPECT_EQ(count(page, "class=\"node border\""), 2U) << "an input and an output";
  EXPECT_EQ(count(page, "<path class=\"lane\""), 2U);
  EXPECT_EQ(count(page, "<div class=\"detail\" id=\"n"), 3U);
  // Each node and its line in the list lead to what is told of it, and that to the workload.
  EXPECT_EQ(count(page, "href=\"#n0\""), 2U);
  EXPECT_EQ(count(page, "<a href=\"#w0\">Its runs"), 3U);
  EXPECT_NE(page.find("1 of them are on record, with 86\u00a0% of that"), std::string::npos);
  EXPECT_EQ(count(page, "that saved 25\u00a0% of a run"), 2U);
  EXPECT_EQ(count(page, "raced"), count(report_page(report, {kHostile, kHostile}), "raced"));
  EXPECT_EQ(count(page, "measured, elsewhere, exchanged"), 1U);
  EXPECT_EQ(count(page, "≈ 1 ms"), 3U) << "the box, the list, what is told";
  for (const std::string name :
       {"table", "tr", "td", "div",  "dl", "dd", "dt",  "section", "p",     "code", "pre",
        "small", "a",  "b",  "span", "ol", "li", "svg", "path",    "title", "time", "h4"}) {
    const std::string section = model_section(model, {{kHostile, "w0"}});
    EXPECT_EQ(count(section, "<" + name + " ") + count(section, "<" + name + ">"),
              count(section, "</" + name + ">"))
        << name;
  }
}

TEST(ReportPage, AModelLeadsToWorkloadsOfItsTarget) {
  report::ModelReport model = hostile_model();
  model.target = "cpu:here";
  report::Report report = hostile_report();
  report.workloads[0].target = "cpu:elsewhere";
  report.workloads[1].target = report.workloads[2].target = "cpu:here";
  report.workloads[1].cache_mode = CacheMode::kCold;
  const std::string page = report_page(report, {"records.db", "today"}, kMostSections, &model);
  EXPECT_EQ(count(page, "<a href=\"#w2\">Its runs"), 3U);
}

TEST(ReportPage, MarksFloorsOfAModel) {
  report::ModelReport model = hostile_model();
  EXPECT_EQ(count(model_section(model, {}), "loor"), 0U);
  model.tasks[0].floor = {.arithmetic = 1.5e-3, .memory = 1e-3};
  model.tasks[1].floor = {.arithmetic = 1e-3, .memory = 4e-3};  // beyond all bars
  const std::string section = model_section(model, {});
  EXPECT_EQ(count(section, "<i style=\"left: 50.00%\"></i>"), 2U);
  EXPECT_EQ(count(section, "<i style=\"left: 100.00%\"></i>"), 1U);
  EXPECT_EQ(count(section, ", floor 1.5 ms by arithmetic"), 2U);
  EXPECT_EQ(count(section, ", floor 4 ms by memory"), 1U);
  EXPECT_EQ(count(section, ">Floor<"), 1U);
  EXPECT_EQ(count(section, "Strokes mark"), 1U);
}

TEST(ReportPage, AModelNeedsNoRecords) {
  report::ModelReport model = hostile_model();
  model.tasks[0].recorded.reset();
  const std::string page = report_page({}, {"records.db", "today"}, kMostSections, &model);
  EXPECT_NE(page.find("records.db: no trials of this model."), std::string::npos);
  EXPECT_NE(page.find("none of them is on record"), std::string::npos);
  EXPECT_EQ(count(page, "id=\"workloads\""), 0U);
  EXPECT_EQ(count(page, "<a class=\"node guessed\""), 3U);
}

TEST(ReportPage, EveryChartIsJson) {
  const std::string page = report_page(hostile_report(), {"records.db", "today"});
  const std::string begin = "<script type=\"application/json\">";
  for (std::size_t at = page.find(begin); at != std::string::npos; at = page.find(begin, at + 1)) {
    const std::size_t from = at + begin.size();
    const auto json = parse_json(page.substr(from, page.find("</script>", from) - from));
    ASSERT_TRUE(json.has_value()) << json.error().text();
    EXPECT_TRUE(json->contains("series"));
  }
}

TEST(ReportPage, ElementsAreClosed) {
  const report::Report report = hostile_report();
  const std::string parts = workloads_table(report, report.workloads.size()) +
                            failures_overview(report) +
                            workload_section(report.workloads[0], 0, {"db", "now"}) +
                            workload_section(report.workloads[1], 1, {"db", "now"}) +
                            workload_section(report.workloads[2], 2, {"db", "now"});
  for (const std::string name : {"table", "tr", "td", "th", "div", "figure", "details", "dl", "dd",
                                 "dt", "section", "p", "code", "pre", "small", "a"})
    EXPECT_EQ(count(parts, "<" + name + " ") + count(parts, "<" + name + ">"),
              count(parts, "</" + name + ">"))
        << name;
}

TEST(ReportPage, NeedsNothingElse) {
  const std::string page = report_page(hostile_report(), {"records.db", "today"});
  for (const std::string part : {" src=", "@import", "url(", "<link rel=\"stylesheet\""})
    EXPECT_EQ(count(page.substr(0, page.find("<script>")), part), 0U) << part;
}

TEST(ReportPage, HasSectionsUntilTheyAreTooMuch) {
  const report::Report report = hostile_report();
  const PageInfo info{"records.db", "today"};
  const auto sections = [](const std::string& page) {
    return count(page, "<section class=\"workload\"");
  };
  const std::string whole = report_page(report, info), one = report_page(report, info, 1);
  EXPECT_EQ(sections(whole), report.workloads.size());
  EXPECT_EQ(count(whole, "--only TEXT"), 0U);
  EXPECT_EQ(sections(one), 1U);
  EXPECT_EQ(count(one, "href=\"#w0\""), 1U);
  EXPECT_EQ(count(one, "href=\"#w1\""), 0U);
  EXPECT_NE(one.find("sections of the 1 workload tuned last"), std::string::npos);
}

TEST(ReportPage, ShowsTheLatestRuns) {
  report::WorkloadReport w = hostile_report().workloads[0];
  w.runs.resize(1, w.runs[0]);
  const std::string lone = runs_table(w);
  const report::RunReport run = w.runs[0];
  for (std::int64_t id = 1; id < 250; ++id) {
    w.runs.push_back(run);
    w.runs.back().run.id = 1000 + id;
  }
  const std::string table = runs_table(w);
  EXPECT_EQ(count(table, "<tr>"), 101U);
  EXPECT_NE(table.find("the latest 100 of 250 runs as a table"), std::string::npos);
  EXPECT_EQ(table.find("<td>1149</td>"), std::string::npos);
  EXPECT_NE(table.find("<td>1150</td>"), std::string::npos);
  EXPECT_EQ(count(progress_charts(w), "\"run 1249\""), 2U);
}

TEST(ReportPage, NoFailuresNoTable) {
  report::Report report = hostile_report();
  for (auto& w : report.workloads) w.failures.clear();
  EXPECT_EQ(failures_overview(report), "");
}

TEST(ReportPage, TellsSharesOfWhatIsDoneAndMoved) {
  // 1000 GFLOP/s of 3000, a fifth of it padding; 50 GB/s of 100
  report::WorkloadReport w = hostile_report().workloads[0];
  EXPECT_NEAR(w.peak_share(1e-3), 0.8 / 3, 1e-12);
  EXPECT_NEAR(w.bandwidth_share(1e-3), 0.5, 1e-12);
  const std::string figures = result_html(w);
  EXPECT_NE(figures.find("of the peak of 3000 GFLOP/s, padding not counted"), std::string::npos)
      << figures;
  EXPECT_NE(figures.find("50.0 GB/s"), std::string::npos) << figures;
  EXPECT_NE(figures.find("50\u00a0% of the 100.0 GB/s that reading and writing as much reaches"),
            std::string::npos)
      << figures;
  EXPECT_EQ(figures.find("disturbed"), std::string::npos);
  w.best->record.raced = w.best->record.race.disturbed = true;
  w.best->record.race_seconds = 1e-3;
  EXPECT_NE(result_html(w).find("won a final race on a disturbed machine"), std::string::npos)
      << result_html(w);
  EXPECT_NE(workloads_table({{w}}, 1).find("raced, disturbed"), std::string::npos);
  w.bandwidth = 0;
  EXPECT_NE(result_html(w).find("of inputs and outputs<"), std::string::npos) << result_html(w);
}

TEST(ReportPage, Words) {
  EXPECT_EQ(percent_text(0), "0\u00a0%");
  EXPECT_EQ(percent_text(0.004), "0.4\u00a0%");
  EXPECT_EQ(percent_text(1), "100\u00a0%");
  EXPECT_EQ(date_text("2026-08-01T10:20:30Z"), "2026-08-01 10:20 UTC");
  EXPECT_EQ(date_text("2026-08-01T10:20:30.125Z"), "2026-08-01 10:20 UTC");
  EXPECT_EQ(date_text("then"), "then");
  EXPECT_EQ(speed_text({2, "GFLOP/s", true}, 0.01), "200.0 GFLOP/s");
  EXPECT_EQ(speed_text({2e-3, "GB/s"}, 0.01), "0.2 GB/s");
}

}  // namespace
}  // namespace lathe::cli
