#include "api/sharing_view.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

namespace lathe::api {
namespace {

using sharing::Phase;
using sharing::Sharing;
using sharing::Totals;
using sharing::Unit;
using sharing::Work;

// "950", "28.9 M"
std::string short_count(double count) {
  constexpr const char* kSuffixes[] = {"", " k", " M", " G", " T", " P"};
  std::size_t s = 0;
  for (; count >= 9999.5 && s + 1 < std::size(kSuffixes); ++s) count /= 1000;
  if (s == 0) return fmt::format("{:.0f}", count);
  return fmt::format("{:.{}f}{}", count, count < 99.95 ? 2 : count < 999.5 ? 1 : 0, kSuffixes[s]);
}
std::string short_count(std::int64_t count) { return short_count(static_cast<double>(count)); }

using Row = std::vector<std::string>;

std::string amount_text(const Work& work, Unit unit) {
  return short_count(amount_of(work, unit)) + (unit == Unit::kBytes ? " B" : "");
}

Row row_of(const Phase& phase, const Sharing& sharing) {
  const Unit unit = unit_of(phase.all, sharing.vector_bytes);
  return {fmt::format("{}.{}", phase.region, phase.number),
          phase.loop,
          std::to_string(phase.runs),
          std::to_string(phase.parts),
          std::to_string(phase.threads),
          amount_text(phase.all, unit),
          amount_text(phase.busiest, unit),
          fmt::format("{:.2f}", share_of(phase, sharing.threads, sharing.vector_bytes)),
          short_count(phase.all.multiply_adds),
          short_count(phase.repeats.copied_bytes) + " B",
          short_count(phase.repeats.copied_again_bytes) + " B",
          short_count(phase.repeats.computed_again.operations)};
}

std::string table(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths(rows[0].size());
  for (const Row& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string out;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i)
      line += i < 2 ? fmt::format("  {:<{}}", row[i], widths[i])
                    : fmt::format("  {:>{}}", row[i], widths[i]);
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return out;
}

std::string totals_text(const Sharing& sharing, const Totals& totals) {
  std::string out = fmt::format("  all: {} of {} threads have work, {:.3f} of their time",
                                totals.threads, sharing.threads, totals.share);
  if (totals.threads < sharing.threads)
    out += fmt::format(", {:.3f} of that of all {}", totals.share_of_offered, sharing.threads);
  if (totals.busiest > 0)
    out +=
        fmt::format("; at most {:.2f} times as fast as one thread", totals.work / totals.busiest);
  out += fmt::format("; {} barrier{}\n", totals.barriers, totals.barriers == 1 ? "" : "s");
  return out;
}

std::string part_text(const Sharing& sharing, bool prepares) {
  std::vector<Row> rows = {{"phase", "loop", "runs", "parts", "threads", "work", "busiest", "share",
                            "multiply-adds", "copied", "copied again", "computed again"}};
  for (const auto& kernel : sharing.kernels) {
    if (kernel.prepares != prepares) continue;
    for (const Phase& phase : kernel.phases) rows.push_back(row_of(phase, sharing));
    const Unit unit = unit_of(kernel.alone, sharing.vector_bytes);
    if (amount_of(kernel.alone, unit) > 0)
      rows.push_back({"", "the caller alone", "1", "1", "1", amount_text(kernel.alone, unit),
                      amount_text(kernel.alone, unit), fmt::format("{:.2f}", 1.0 / sharing.threads),
                      short_count(kernel.alone.multiply_adds), "", "", ""});
  }
  return (prepares ? "prepare:\n" : "call:\n") + table(rows) +
         totals_text(sharing, totals_of(sharing, prepares));
}

Json work_json(const Work& work) {
  return {{"operations", work.operations},
          {"multiply_adds", work.multiply_adds},
          {"bytes", work.bytes}};
}

Json phase_json(const Phase& phase, const Sharing& sharing) {
  const Unit unit = unit_of(phase.all, sharing.vector_bytes);
  return {{"region", phase.region},
          {"phase", phase.number},
          {"loop", phase.loop},
          {"runs", phase.runs},
          {"parts", phase.parts},
          {"threads", phase.threads},
          {"unit", name_of(unit)},
          {"work", amount_of(phase.all, unit)},
          {"busiest", amount_of(phase.busiest, unit)},
          {"share", share_of(phase, sharing.threads, sharing.vector_bytes)},
          {"all", work_json(phase.all)},
          {"copied_bytes", phase.repeats.copied_bytes},
          {"copied_again_bytes", phase.repeats.copied_again_bytes},
          {"computed_again", work_json(phase.repeats.computed_again)}};
}

Json part_json(const Sharing& sharing, bool prepares) {
  Json phases = Json::array();
  Work alone;
  for (const auto& kernel : sharing.kernels) {
    if (kernel.prepares != prepares) continue;
    for (const Phase& phase : kernel.phases) phases.push_back(phase_json(phase, sharing));
    alone += kernel.alone;
  }
  const Totals totals = totals_of(sharing, prepares);
  return {{"phases", std::move(phases)},
          {"alone", work_json(alone)},
          {"threads", totals.threads},
          {"work", totals.work},
          {"busiest", totals.busiest},
          {"share", totals.share},
          {"share_of_offered", totals.share_of_offered},
          {"barriers", totals.barriers},
          {"multiply_adds", totals.multiply_adds},
          {"copied_bytes", totals.repeats.copied_bytes},
          {"copied_again_bytes", totals.repeats.copied_again_bytes},
          {"computed_again", work_json(totals.repeats.computed_again)}};
}

bool has_part(const Sharing& sharing, bool prepares) {
  return std::ranges::any_of(sharing.kernels,
                             [&](const auto& kernel) { return kernel.prepares == prepares; });
}

}  // namespace

std::string sharing_text(const Sharing& sharing) {
  std::string out = fmt::format(
      "{} thread{}; work is counted in operations of {} bytes, or in bytes moved where these take "
      "more\n",
      sharing.threads, sharing.threads == 1 ? "" : "s", sharing.vector_bytes);
  if (has_part(sharing, true)) out += part_text(sharing, true);
  return out + part_text(sharing, false);
}

Json sharing_json(const Sharing& sharing) {
  return {{"threads", sharing.threads},
          {"vector_bytes", sharing.vector_bytes},
          {"prepare", has_part(sharing, true) ? part_json(sharing, true) : Json()},
          {"call", part_json(sharing, false)}};
}

}  // namespace lathe::api
