// The section of one workload: a text, a chart and a table for each question.
#include <algorithm>

#include "base/embed.h"
#include "base/shell.h"
#include "cli/report/charts.h"
#include "cli/report/html.h"
#include "cli/report/parts.h"
#include "cli/results.h"

LATHE_EMBED(lathe_report_workload, LATHE_REPORT_FOLDER "/workload.html")

namespace lathe::cli {
namespace {

std::string where_text(const report::WorkloadReport& w) {
  return fmt::format("{}, {} caches, on {}", escaped(w.target), name_of(w.cache_mode),
                     escaped(w.fingerprint));
}

std::string figure(const std::string& value, const std::string& name) {
  return fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", name, value);
}

// Below this share of operations that must be done, the page tells so
constexpr double kPadded = 0.995;

// Bytes a second and their share. For work without arithmetic, the rate alone is its speed.
std::string memory_figure(const report::WorkloadReport& w, double seconds) {
  if (w.work.gigabytes <= 0) return "";
  const double share = w.bandwidth_share(seconds);
  const std::string of = fmt::format("of the {:.1f} GB/s that reading and writing as much reaches",
                                     w.reached_bandwidth(seconds) / 1e9);
  if (!w.work.arithmetic) return share > 0 ? figure(percent_text(share), of) : "";
  return figure(
      fmt::format("{:.1f} GB/s", w.work.gigabytes / seconds),
      "of inputs and outputs" + (share > 0 ? fmt::format(", {} {}", percent_text(share), of) : ""));
}

std::string sureness_text(const report::Best& best) {
  std::string out =
      best.record.raced
          ? "The best program won a final race"
          : "The best program was measured but not raced, so part of its speed may be luck";
  if (best.record.race.disturbed)
    out += " on a disturbed machine, so it may be faster (<code>lathe race</code> repeats it)";
  if (best.spread > 0)
    out += fmt::format("; its times varied by {} between visits",
                       percent_text(std::max(best.spread, 0.001)));
  if (best.record.race.after_20ms > 0)
    out +=
        fmt::format("; single calls take {} after a pause of 1 ms, {} after 20 ms",
                    time_text(best.record.race.after_1ms), time_text(best.record.race.after_20ms));
  return out + fmt::format(
                   ". Its largest error was {:.2g} of the largest output. Trial {} of run {}, {}.",
                   best.record.numerical_error, best.record.index, best.record.run,
                   escaped(date_text(best.record.time)));
}

std::string command_text(const report::WorkloadReport& w, const PageInfo& info) {
  return fmt::format("lathe compile {} --target {} --cache {} --db {} -o kernel.so",
                     shell_word(w.key), shell_word(w.target),
                     shell_word(std::string(name_of(w.cache_mode))), shell_word(info.path));
}

}  // namespace

std::string result_html(const report::WorkloadReport& w) {
  std::string out;
  if (w.wrong > 0)
    out += fmt::format(
        "<p class=\"bad\">{} computed a wrong answer: a bug of Lathe; please report it with the "
        "reproducer that is named under "
        "Failures.</p>\n",
        counted(w.wrong, "program"));
  if (!w.best)
    return out + fmt::format("<p class=\"bad\">Nothing worked: all of {} failed.</p>\n",
                             counted(w.trials, "trial"));
  const double seconds = w.best->seconds();
  out += "<dl class=\"figures\">\n" + figure(speed_text(w.work, seconds), "speed") +
         figure(time_text(seconds), "a call");
  if (const double share = w.peak_share(seconds); share > 0 && share <= kMostShare)
    out += figure(percent_text(share),
                  fmt::format("of the peak of {:.0f} GFLOP/s{}", w.peak_flops / 1e9,
                              w.work.done < kPadded ? ", padding not counted" : ""));
  out += memory_figure(w, seconds);
  // Both as measured when tuning: a race is another situation.
  if (w.first_seconds > 0)
    out += figure(fmt::format("{:.2f} ×", w.first_seconds / w.best->record.seconds),
                  "as fast as the first trial, the default");
  out += figure(std::to_string(w.trials),
                w.failed == 0 ? "trials, none failed" : fmt::format("trials, {} failed", w.failed));
  return out + "</dl>\n<p>" + sureness_text(*w.best) + "</p>\n";
}

std::string program_html(const report::WorkloadReport& w, const PageInfo& info) {
  if (!w.best) return "<p>Nothing worked.</p>\n";
  const report::Best& best = *w.best;
  std::string out =
      fmt::format("<p><code>{}</code></p>\n", escaped(schedule_text(best.record.config)));
  out += "<p>As a library with a C header:</p>\n<pre class=\"command\">" +
         escaped(command_text(w, info)) + "</pre>\n";
  const auto steps = std::ranges::count(best.trace, '\n');
  if (!best.trace.empty())
    out += folded(fmt::format("Schedule, {}", counted(steps, "step")),
                  "<pre>" + escaped(best.trace) + "</pre>\n");
  if (!best.program.empty())
    return out + folded("Program as it is scheduled", "<pre>" + escaped(best.program) + "</pre>\n");
  return out +
         fmt::format(
             "<p class=\"bad\">The schedule does not apply to this Lathe's programs: {}</p>\n",
             escaped(best.problem));
}

std::string workload_section(const report::WorkloadReport& w, std::size_t number,
                             const PageInfo& info) {
  const std::string_view page(
      reinterpret_cast<const char*>(lathe_report_workload_begin),
      static_cast<std::size_t>(lathe_report_workload_end - lathe_report_workload_begin));
  return filled(page, {{"id", fmt::format("w{}", number)},
                       {"title", escaped(w.title)},
                       {"expression", escaped(w.expression)},
                       {"shapes", escaped(w.shapes)},
                       {"where", where_text(w)},
                       {"result", result_html(w)},
                       {"progress_text", progress_text(w)},
                       {"progress_charts", progress_charts(w)},
                       {"runs", runs_table(w)},
                       {"knobs_text", knobs_text(w.knobs)},
                       {"knob_charts", knob_charts(w.knobs)},
                       {"knobs", knobs_table(w.knobs)},
                       {"quality_text", quality_text(w)},
                       {"quality_chart", quality_chart(w)},
                       {"quality", quality_table(w)},
                       {"spent_text", spent_text(w)},
                       {"spent_chart", spent_chart(w)},
                       {"spent", spent_table(w)},
                       {"failures_text", failures_text(w)},
                       {"failures", failures_table(w)},
                       {"program", program_html(w, info)}});
}

}  // namespace lathe::cli
