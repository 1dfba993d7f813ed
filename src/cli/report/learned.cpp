// What was learned: by people, which knob values fast programs share; by the model, how to tell
// fast programs from slow ones.
#include <algorithm>
#include <cmath>

#include "base/statistics.h"
#include "cli/report/charts.h"
#include "cli/report/html.h"
#include "cli/report/parts.h"
#include "cli/results.h"

namespace lathe::cli {
namespace {

constexpr std::size_t kKnobCharts = 6;
constexpr std::size_t kTellingKnobs = 3;  // most knobs that the text names
// The text names a value if its shares differ by more than this.
constexpr double kTelling = 0.15;

// The value whose share among the fast programs exceeds its share among all by most.
const report::KnobValue& favoured(const report::Knob& knob, const report::Knobs& of) {
  return *std::ranges::max_element(knob.values, {}, [&](const report::KnobValue& value) {
    return static_cast<double>(value.fast) / of.fast - static_cast<double>(value.all) / of.all;
  });
}

// The mean over points from `begin` thirds to `end` thirds of all; NaN if there are none.
template <class Member>
double mean_quality(const std::vector<report::Quality>& points, std::size_t begin, std::size_t end,
                    Member member) {
  double sum = 0, weight = 0;
  for (std::size_t i = points.size() * begin / 3; i < points.size() * end / 3; ++i) {
    sum += points[i].judged * (points[i].*member);
    weight += points[i].judged;
  }
  return weight > 0 ? sum / weight : std::nan("");
}

void add_share(Table& table, double share) {
  table.number(share, std::isfinite(share) ? percent_text(share) : "–");
}

}  // namespace

std::string knobs_text(const report::Knobs& knobs) {
  if (knobs.all == 0) return "Too few programs worked to tell.";
  std::string out = fmt::format(
      "<span class=\"swatch s0\"></span>The fastest {} (5 %) against <span class=\"swatch "
      "s7\"></span>all {} different programs that were "
      "measured, knobs with the clearest difference first.",
      knobs.fast, knobs.all);
  if (static_cast<double>(knobs.fast) / knobs.all > 0.075)
    out = out.replace(out.find(" (5 %)"), 6, "");
  std::size_t named = 0;
  for (const report::Knob& knob : knobs.knobs) {
    const report::KnobValue& value = favoured(knob, knobs);
    const double fast = static_cast<double>(value.fast) / knobs.fast,
                 all = static_cast<double>(value.all) / knobs.all;
    if (fast - all < kTelling || ++named > kTellingKnobs) break;
    out +=
        fmt::format(" <code>{} = {}</code> is in {} of the fast ones and in {} of all.",
                    escaped(knob.name), escaped(value.text), percent_text(fast), percent_text(all));
  }
  return out;
}

std::string knob_charts(const report::Knobs& knobs) {
  std::string out;
  for (std::size_t i = 0; i < std::min(kKnobCharts, knobs.knobs.size()); ++i)
    out += knob_chart(knobs.knobs[i], knobs);
  return out;
}

std::string knobs_table(const report::Knobs& knobs) {
  if (knobs.knobs.empty()) return "";
  Table table({{"Knob"},
               {"Value the fast favour"},
               {"Of the fast", true},
               {"Of all", true},
               {"Difference", true}});
  for (const report::Knob& knob : knobs.knobs) {
    const report::KnobValue& value = favoured(knob, knobs);
    table.text(escaped(knob.name));
    table.words(escaped(value.text));
    table.number(value.fast, share_text(value.fast, knobs.fast));
    table.number(value.all, share_text(value.all, knobs.all));
    table.number(knob.distance, percent_text(knob.distance));
  }
  return folded(counted(static_cast<std::int64_t>(knobs.knobs.size()), "knob") + " as a table",
                table.html(false, true));
}

std::string quality_text(const report::WorkloadReport& w) {
  std::vector<double> late;
  for (const report::RunReport& run : w.runs)
    if (const double mean = mean_quality(run.quality, 2, 3, &report::Quality::pairwise_accuracy);
        std::isfinite(mean))
      late.push_back(mean);
  if (late.empty())
    return "There is nothing to judge by: no batch was scored by a model, or all its programs were "
           "equally fast.";
  return fmt::format(
      "In the last third of its batches the model had {}{} of the pairs in the right order before "
      "they were measured; chance gives 50 %.",
      late.size() > 1 ? "in the median run " : "", percent_text(quantile(late, 0.5)));
}

std::string quality_table(const report::WorkloadReport& w) {
  Table table({{"Run"},
               {"Search, model"},
               {"Trials scored", true},
               {"Pairs in order", true},
               {"First third", true},
               {"Second", true},
               {"Last", true},
               {"Rank correlation", true}});
  bool any = false;
  for (const report::RunReport& run : latest_runs(w)) {
    if (run.quality.empty()) continue;
    any = true;
    int judged = 0;
    for (const report::Quality& q : run.quality) judged += q.judged;
    table.text(std::to_string(run.run.id));
    table.words(escaped(kind_of(run, w)));
    table.number(judged, std::to_string(judged));
    const auto accuracy = &report::Quality::pairwise_accuracy;
    add_share(table, mean_quality(run.quality, 0, 3, accuracy));
    for (std::size_t third = 0; third < 3; ++third)
      add_share(table, mean_quality(run.quality, third, third + 1, accuracy));
    const double rank = mean_quality(run.quality, 0, 3, &report::Quality::rank_correlation);
    table.number(rank, fmt::format("{:.2f}", rank));
  }
  return any ? folded("The model's order as a table", table.html(false, true)) : "";
}

}  // namespace lathe::cli
