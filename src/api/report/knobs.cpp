#include "api/report/knobs.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <tuple>

namespace lathe::report {
namespace {

constexpr double kFastShare = 0.05;
// Configurations; with fewer, shares are chance
constexpr std::size_t kLeastFast = 5, kLeastAll = 20;
constexpr std::size_t kMostValues = 16;  // of a knob, that are shown one by one

std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : dump(value);
}

// One trial of each configuration, its fastest; the fastest configuration comes first.
std::vector<const Trial*> fastest_of_each(Trials trials) {
  std::vector<const Trial*> out;
  for (const Trial* trial : trials)
    if (std::isfinite(trial->seconds) && !trial->settings.empty()) out.push_back(trial);
  std::ranges::stable_sort(out, {},
                           [](const Trial* t) { return std::tie(t->settings, t->seconds); });
  const auto again = std::ranges::unique(out, {}, &Trial::settings);
  out.erase(again.begin(), again.end());
  std::ranges::stable_sort(out, {}, &Trial::seconds);
  return out;
}

struct Count {
  Json value;
  int fast = 0, all = 0;
};

// For each knob: the values that occur, and how often among the first `fast` programs and among
// all.
std::vector<std::vector<Count>> counts_of(std::span<const Trial* const> programs, std::size_t fast,
                                          const SettingTable& table) {
  std::vector<Count> of_setting;
  for (const auto& setting : table.settings()) of_setting.push_back({setting.value});
  for (std::size_t i = 0; i < programs.size(); ++i) {
    for (const int id : programs[i]->settings) {
      Count& count = of_setting[static_cast<std::size_t>(id)];
      ++count.all;
      count.fast += i < fast;
    }
  }
  std::vector<std::vector<Count>> of_knob(table.knobs().size());
  for (std::size_t id = 0; id < of_setting.size(); ++id)
    if (of_setting[id].all > 0)
      of_knob[static_cast<std::size_t>(table.settings()[id].knob)].push_back(
          std::move(of_setting[id]));
  return of_knob;
}

// Joins the numbers from 2^k to 2^(k+1) - 1, for k = bit_width - 1.
std::vector<KnobValue> joined_ranges(const std::vector<Count>& counts) {
  std::map<int, KnobValue> ranges;
  std::map<int, std::pair<std::int64_t, std::int64_t>> ends;
  for (const Count& count : counts) {
    const auto number = count.value.get<std::int64_t>();
    const int width =
        number < 1 ? 0 : static_cast<int>(std::bit_width(static_cast<std::uint64_t>(number)));
    auto [end, fresh] = ends.try_emplace(width, number, number);
    end->second = {std::min(end->second.first, number), std::max(end->second.second, number)};
    ranges[width].fast += count.fast;
    ranges[width].all += count.all;
  }
  std::vector<KnobValue> out;
  for (auto& [width, range] : ranges) {
    const auto [least, most] = ends[width];
    range.text = least == most ? std::to_string(least) : fmt::format("{} to {}", least, most);
    out.push_back(std::move(range));
  }
  return out;
}

// Keeps the most frequent of many labels and joins the rest.
std::vector<KnobValue> with_others(std::vector<Count> counts) {
  std::ranges::stable_sort(counts, std::greater(),
                           [](const Count& c) { return std::pair(c.fast, c.all); });
  std::vector<KnobValue> out;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (i < kMostValues) {
      out.push_back({text_of(counts[i].value), counts[i].fast, counts[i].all});
      continue;
    }
    if (i == kMostValues) out.push_back({"others", 0, 0});
    out.back().fast += counts[i].fast;
    out.back().all += counts[i].all;
  }
  return out;
}

std::vector<KnobValue> values_of(std::vector<Count> counts) {
  const bool numbers =
      std::ranges::all_of(counts, [](const Count& c) { return c.value.is_number_integer(); });
  if (counts.size() > kMostValues)
    return numbers ? joined_ranges(counts) : with_others(std::move(counts));
  std::ranges::stable_sort(counts, {}, &Count::value);
  std::vector<KnobValue> out;
  for (const Count& count : counts) out.push_back({text_of(count.value), count.fast, count.all});
  return out;
}

double distance_of(const std::vector<KnobValue>& values) {
  double fast = 0, all = 0, sum = 0;
  for (const KnobValue& value : values) {
    fast += value.fast;
    all += value.all;
  }
  if (fast == 0 || all == 0) return 0;
  for (const KnobValue& value : values) sum += std::abs(value.fast / fast - value.all / all);
  return sum / 2;
}

}  // namespace

std::vector<int> SettingTable::ids_of(const Json& config) {
  std::vector<int> ids;
  if (!config.is_object()) return ids;
  for (const auto& [name, value] : config.items()) {
    const auto [knob, new_knob] = knob_ids_.try_emplace(name, static_cast<int>(knobs_.size()));
    if (new_knob) knobs_.push_back(name);
    const auto [setting, new_setting] = setting_ids_.try_emplace(
        {knob->second, text_of(value)}, static_cast<int>(settings_.size()));
    if (new_setting) settings_.push_back({knob->second, value});
    ids.push_back(setting->second);
  }
  return ids;
}

Knobs shared_knobs(Trials trials, const SettingTable& table) {
  const std::vector<const Trial*> programs = fastest_of_each(trials);
  if (programs.size() < kLeastAll) return {};
  const auto share =
      static_cast<std::size_t>(std::lround(kFastShare * static_cast<double>(programs.size())));
  const std::size_t fast = std::max(kLeastFast, share);
  Knobs out{static_cast<int>(fast), static_cast<int>(programs.size()), {}};
  auto counts = counts_of(programs, fast, table);
  for (std::size_t knob = 0; knob < counts.size(); ++knob) {
    if (counts[knob].size() < 2) continue;
    Knob summary{table.knobs()[knob], 0, values_of(std::move(counts[knob]))};
    summary.distance = distance_of(summary.values);
    out.knobs.push_back(std::move(summary));
  }
  std::ranges::stable_sort(out.knobs, std::greater(), &Knob::distance);
  return out;
}

}  // namespace lathe::report
