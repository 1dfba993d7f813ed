// The top of the page: what was tuned, and how fast it became.
#include "cli/live_line.h"
#include "cli/report/html.h"
#include "cli/report/parts.h"
#include "cli/results.h"

namespace lathe::cli {
namespace {

constexpr std::size_t kDate = std::string_view("2026-08-01").size();

// Lets the line break after every feature of a target, which is one long word.
std::string breakable(const std::string& target) {
  std::string out = escaped(target);
  for (std::size_t at = 0; (at = out.find(',', at)) != std::string::npos; at += 6)
    out.insert(at + 1, "<wbr>");
  return out;
}

void add_result(Table& table, const report::WorkloadReport& w) {
  if (!w.best) {
    table.number(0, "–<small>nothing worked</small>");
    for (int i = 0; i < 2; ++i) table.number(0, "–");
    return;
  }
  const double seconds = w.best->seconds();
  const char* standing = w.best->record.race.disturbed ? "raced, disturbed"
                         : w.best->record.raced        ? "raced"
                                                       : "measured";
  table.number(w.work.speed(seconds),
               fmt::format("{}<small>{}</small>", speed_text(w.work, seconds), standing));
  table.number(seconds, time_text(seconds));
  // Algorithms that multiply less go beyond the peak, of which a share then says nothing.
  const double reached = w.peak_share(seconds), share = reached > kMostShare ? 0 : reached;
  const double moved = w.bandwidth_share(seconds);
  const std::string memory =
      moved > 0 ? fmt::format("<small>{} of bandwidth</small>", percent_text(moved)) : "";
  table.number(share, (share > 0 ? percent_text(share) : "–") + memory);
}

}  // namespace

std::string workloads_table(const report::Report& report, std::size_t sections) {
  Table table({{"Workload"},
               {"Speed", true},
               {"A call", true},
               {"Of peak", true},
               {"Trials", true},
               {"Failed", true},
               {"Target, caches"},
               {"Last tuned"}});
  for (std::size_t i = 0; i < report.workloads.size(); ++i) {
    const report::WorkloadReport& w = report.workloads[i];
    const std::string title = i < sections
                                  ? fmt::format("<a href=\"#w{}\">{}</a>", i, escaped(w.title))
                                  : escaped(w.title);
    table.words(title + "<small>" + escaped(w.shapes) + "</small>");
    add_result(table, w);
    table.number(w.trials, std::to_string(w.trials));
    table.number(w.failed, std::to_string(w.failed));
    table.words(fmt::format("{}<small>{}, {}</small>", breakable(w.target), name_of(w.cache_mode),
                            escaped(machine_text(w.target, w.cpu))));
    table.text(escaped(cut(date_text(w.latest), kDate)));
  }
  return table.html(true, true);
}

}  // namespace lathe::cli
