#include "cli/report/page.h"

#include <map>
#include <set>

#include "base/embed.h"
#include "cli/progress_line.h"
#include "cli/report/html.h"
#include "cli/report/model.h"
#include "cli/report/parts.h"
#include "cli/results.h"

LATHE_EMBED(lathe_report_page, LATHE_REPORT_FOLDER "/page.html")
LATHE_EMBED(lathe_report_css, LATHE_REPORT_FOLDER "/page.css")
LATHE_EMBED(lathe_report_js, LATHE_REPORT_FOLDER "/page.js")
LATHE_EMBED(lathe_report_chart_js, LATHE_CHART_JS)

namespace lathe::cli {
namespace {

std::string_view text_between(const std::byte* begin, const std::byte* end) {
  return {reinterpret_cast<const char*>(begin), static_cast<std::size_t>(end - begin)};
}

std::string summary_text(const report::Report& report, const PageInfo& info) {
  if (report.workloads.empty())
    return fmt::format("{}: no trials of this model.", escaped(info.database));
  std::int64_t trials = 0, failed = 0;
  double seconds = 0;
  std::set<std::string> machines;
  for (const report::WorkloadReport& w : report.workloads) {
    trials += w.trials;
    failed += w.failed;
    machines.insert(w.fingerprint);
    for (const report::RunReport& run : w.runs) seconds += run.seconds;
  }
  std::string out =
      fmt::format("{}: {} in {}, {} failed, {} at work", escaped(info.database),
                  counted(static_cast<std::int64_t>(report.workloads.size()), "workload"),
                  counted(trials, "trial"), failed == 0 ? "none" : std::to_string(failed),
                  duration_text(seconds));
  if (machines.size() == 1) return out + ", on " + escaped(*machines.begin()) + ".";
  return out + fmt::format(", on {} machines.", machines.size());
}

std::string rest_text(const report::Report& report, std::size_t shown) {
  if (shown == report.workloads.size()) return "";
  return fmt::format(
      "<p>Below are sections of the {} tuned last, so that this page stays small. <code>lathe "
      "report --only TEXT</code> writes the page of those that contain a text.</p>\n",
      counted(static_cast<std::int64_t>(shown), "workload"));
}

// Of the first `shown` sections: those of this target with warm caches come before others, and the
// last one tuned before earlier ones.
std::map<std::string, std::string> ids_by_key(const report::Report& report, std::size_t shown,
                                              const std::string& target) {
  std::map<std::string, std::string> ids;
  for (const bool any : {false, true})
    for (std::size_t i = 0; i < shown; ++i) {
      const report::WorkloadReport& w = report.workloads[i];
      if (any || (w.target == target && w.cache_mode == CacheMode::kWarm))
        ids.emplace(w.key, fmt::format("w{}", i));
    }
  return ids;
}

// Of a model of which nothing is on record there is none.
std::string workloads_section(const report::Report& report, std::size_t shown) {
  if (report.workloads.empty()) return "";
  return fmt::format(
      "<section aria-labelledby=\"workloads\">\n<h2 id=\"workloads\">Workloads</h2>\n{}{}\n"
      "</section>\n",
      workloads_table(report, shown), rest_text(report, shown));
}

}  // namespace

std::string report_page(const report::Report& report, const PageInfo& info,
                        std::size_t most_sections, const report::ModelReport* model) {
  std::string sections;
  std::size_t shown = 0;
  for (; shown < report.workloads.size(); ++shown) {
    const std::string section = workload_section(report.workloads[shown], shown, info);
    if (shown > 0 && sections.size() + section.size() > most_sections) break;
    sections += section;
  }
  return filled(
      text_between(lathe_report_page_begin, lathe_report_page_end),
      {{"css", std::string(text_between(lathe_report_css_begin, lathe_report_css_end))},
       {"chart_js",
        std::string(text_between(lathe_report_chart_js_begin, lathe_report_chart_js_end))},
       {"js", std::string(text_between(lathe_report_js_begin, lathe_report_js_end))},
       {"database", escaped(info.database)},
       {"written", escaped(info.written)},
       {"summary", summary_text(report, info)},
       {"model",
        model != nullptr ? model_section(*model, ids_by_key(report, shown, model->target)) : ""},
       {"workloads", workloads_section(report, shown)},
       {"failures", failures_overview(report)},
       {"sections", sections}});
}

std::string speed_text(const report::Work& work, double seconds) {
  const double speed = work.speed(seconds);
  return speed >= 10 ? fmt::format("{:.1f} {}", speed, work.unit)
                     : fmt::format("{:.3g} {}", speed, work.unit);
}

std::string percent_text(double share) {
  const double percent = 100 * share;
  // The number and its sign stay on one line.
  return fmt::format("{:.{}f}\u00a0%", percent, percent > 0 && percent < 1 ? 1 : 0);
}

std::string share_text(int part, int whole) {
  return percent_text(static_cast<double>(part) / whole);
}

std::string date_text(const std::string& time) {
  const bool usual = time.size() >= 20 && time[10] == 'T' && time.back() == 'Z';
  return usual ? time.substr(0, 10) + " " + time.substr(11, 5) + " UTC" : time;
}

}  // namespace lathe::cli
