// The top of the page: what was tuned, and how fast it got.
#include "cli/live_line.h"
#include "cli/report/html.h"
#include "cli/report/parts.h"
#include "cli/results.h"

namespace lathe::cli {
namespace {

constexpr std::size_t kDate = std::string_view("2026-08-01").size();

void add_result(Table& table, const report::Workload& w) {
  if (!w.best) {
    for (int i = 0; i < 3; ++i) table.number(0, "–");
    table.text("nothing worked");
    return;
  }
  const double seconds = w.best->seconds();
  table.number(w.work.speed(seconds), speed_text(w.work, seconds));
  table.number(seconds, time_text(seconds));
  const double share = w.peak_share(seconds);
  table.number(share, share > 0 ? percent_text(share) : "–");
  table.text(w.best->record.raced ? "raced" : "measured");
}

}  // namespace

std::string workloads_table(const report::Report& report) {
  Table table({{"Workload"}, {"Speed", true}, {"A call", true}, {"Of peak", true}, {"Standing"}, {"Trials", true}, {"Failed", true},
               {"Target, caches"}, {"Last tuned"}});
  for (std::size_t i = 0; i < report.workloads.size(); ++i) {
    const report::Workload& w = report.workloads[i];
    table.words(fmt::format("<a href=\"#w{}\">{}</a><small>{}</small>", i, escaped(w.title), escaped(w.shapes)));
    add_result(table, w);
    table.number(w.trials, std::to_string(w.trials));
    table.number(w.failed, std::to_string(w.failed));
    table.text(fmt::format("{}<small>{}, CPU {}</small>", escaped(w.target), escaped(w.cache_mode), escaped(w.cpu)));
    table.text(escaped(cut(date_text(w.latest), kDate)));
  }
  return table.html(true, true);
}

}  // namespace lathe::cli
