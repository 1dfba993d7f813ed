#include "tuner/measure/track.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>

#include "base/statistics.h"

namespace lathe::measure {
namespace {

constexpr double kClear = 0.01;             // the lead of a clear winner, between quartiles
constexpr double kNear = 0.02;              // a racer further from the fastest will not win
constexpr double kErrors = 3;               // standard errors that chance does not explain
constexpr double kCertain = 0.0025;         // for a median: roughly twice its standard error
constexpr std::size_t kFewestSettled = 10;  // the laps that tell such an error
// The standard error of a ratio by one load; that of n loads is at least an n-th of it.
constexpr double kOneLoad = 0.02;

double median(std::vector<double> values) { return quantile(std::move(values), 0.5); }

// Half the interquartile range.
double spread_of(const std::vector<double>& values) {
  return (quantile(values, 0.75) - quantile(values, 0.25)) / 2;
}

// The standard error of a ratio by the loads: each has the median of its rounds.
double error_of_loads(const std::map<int, std::vector<double>>& ratios) {
  const auto loads = static_cast<double>(ratios.size());
  double sum = 0, squares = 0;
  for (const auto& [load, of_it] : ratios) sum += median(of_it);
  for (const auto& [load, of_it] : ratios) squares += std::pow(median(of_it) - sum / loads, 2);
  // Of few loads the deviation tells less than of many, so it counts for more.
  const double deviation = std::sqrt(squares / std::max(1.0, loads - 1));
  return std::max(deviation / std::sqrt(std::max(1.0, loads - 2)), kOneLoad / loads);
}

std::vector<double> ratios_of(const std::vector<Lap>& laps, const std::vector<Lap>& other) {
  std::vector<double> ratios;
  for (std::size_t round = 0; round < std::min(laps.size(), other.size()); ++round)
    ratios.push_back(laps[round].seconds / other[round].seconds);
  return ratios;
}

}  // namespace

Ratio ratio_of(const std::vector<Lap>& laps, const std::vector<Lap>& other) {
  const std::vector<double> ratios = ratios_of(laps, other);
  if (ratios.empty()) return {};
  std::map<int, std::vector<double>> by_load;
  for (std::size_t round = 0; round < ratios.size(); ++round)
    by_load[laps[round].load].push_back(ratios[round]);
  return {median(ratios),
          std::max(error_of_median(spread_of(ratios), ratios.size()), error_of_loads(by_load))};
}

bool Track::runs(std::size_t racer) const {
  return !failed_[racer] && !absent_[racer] && !retired_[racer];
}

void Track::fail(std::size_t racer) {
  runner_failed_ |= runs(racer);
  failed_[racer] = true;
}

bool Track::quiet(const Lap& lap, const Speed& known) const {
  return lap.counts && share_of(lap.speed, known) >= kSameSpeed;
}

Speed Track::fastest(const Speed& known) const {
  Speed fastest = known;
  std::vector<double> sentinels;
  for (const auto& laps : laps_)
    for (const Lap& lap : laps) {
      fastest.peak_flops = std::max(fastest.peak_flops, lap.speed.peak_flops);
      if (lap.speed.sentinel_seconds > 0) sentinels.push_back(lap.speed.sentinel_seconds);
    }
  // The least of many short times tells more about chance than about the machine.
  const double least = quantile(std::move(sentinels), 0.2);
  if (least < 1e300 && (fastest.sentinel_seconds == 0 || least < fastest.sentinel_seconds))
    fastest.sentinel_seconds = least;
  return fastest;
}

std::vector<double> Track::times(std::size_t racer, bool only_quiet, const Speed& known) const {
  std::vector<double> times;
  for (const Lap& lap : laps_[racer])
    if (!only_quiet || quiet(lap, known)) times.push_back(lap.seconds);
  return times;
}

bool Track::all_have(std::size_t laps, bool only_quiet, const Speed& known) const {
  for (std::size_t i = 0; i < laps_.size(); ++i)
    if (runs(i) && times(i, only_quiet, known).size() < laps) return false;
  return true;
}

// True if the fastest by medians leads the second so far that their middle halves do not meet.
bool Track::winner_is_clear(const Speed& known) const {
  std::vector<std::vector<double>> running;
  for (std::size_t i = 0; i < laps_.size(); ++i)
    if (runs(i)) running.push_back(times(i, true, known));
  if (running.size() < 2) return true;
  std::ranges::sort(running, {}, median);
  return quantile(running[0], 0.75) * (1 + kClear) < quantile(running[1], 0.25);
}

bool Track::defender_is_judged() const {
  const auto first = leader();
  if (!defender_ || !first || first == defender_) return true;
  if (failed_[*defender_] || absent_[*defender_]) return true;
  const Ratio over = ratio_of(laps_[*first], laps_[*defender_]);
  return over.value + kChance * over.error < 1;
}

bool Track::is_settled(const Speed& known) const {
  std::vector<std::vector<double>> running;
  double fastest = 1e300;
  for (std::size_t i = 0; i < laps_.size(); ++i) {
    if (!runs(i)) continue;
    running.push_back(times(i, true, known));
    fastest = std::min(fastest, median(running.back()));
  }
  return std::ranges::all_of(running, [fastest](const auto& of_one) {
    if (of_one.empty()) return false;
    const double middle = median(of_one);
    if (middle > fastest * (1 + kNear)) return true;
    return of_one.size() >= kFewestSettled &&
           4 * spread_of(of_one) / middle <
               kCertain * std::sqrt(static_cast<double>(of_one.size()));
  });
}

std::size_t Track::common_rounds() const {
  std::size_t rounds = SIZE_MAX;
  for (std::size_t i = 0; i < laps_.size(); ++i)
    if (runs(i)) rounds = std::min(rounds, laps_[i].size());
  return rounds == SIZE_MAX ? 0 : rounds;
}

std::vector<double> Track::undisturbed(std::size_t racer) const {
  const std::size_t rounds = std::min(common_rounds(), laps_[racer].size());
  std::vector<std::vector<double>> slower(rounds);
  for (std::size_t i = 0; i < laps_.size(); ++i) {
    if (!runs(i) || i == racer) continue;
    std::vector<double> times;
    for (std::size_t round = 0; round < rounds; ++round) times.push_back(laps_[i][round].seconds);
    const double middle = median(times);
    for (std::size_t round = 0; round < rounds; ++round)
      slower[round].push_back(times[round] / middle);
  }
  std::vector<double> times;
  for (std::size_t round = 0; round < rounds; ++round)
    times.push_back(laps_[racer][round].seconds /
                    (slower[round].empty() ? 1 : median(slower[round])));
  return times;
}

std::optional<std::size_t> Track::leader() const {
  std::optional<std::size_t> leader;
  double least = 0;
  for (std::size_t i = 0; i < laps_.size(); ++i) {
    if (!runs(i)) continue;
    const double of_it = median(undisturbed(i));
    if (!leader || of_it < least) {
      leader = i;
      least = of_it;
    }
  }
  return leader;
}

std::vector<double> Track::ratios(std::size_t racer, std::size_t other) const {
  return ratios_of(laps_[racer], laps_[other]);
}

bool Track::is_behind(std::size_t racer, std::size_t leader) const {
  if (racer == defender_) {
    const Ratio over = ratio_of(laps_[racer], laps_[leader]);
    return over.value - kErrors * over.error > 1 + kNear;
  }
  const auto over = ratios(racer, leader);
  return median(over) - kErrors * error_of_median(spread_of(over), over.size()) > 1 + kNear;
}

void Track::retire() {
  if (std::exchange(runner_failed_, false) && std::ranges::count(retired_, true) > 0) {
    retired_.assign(retired_.size(), false);
    // Rounds are compared by their place, so those that some were not in go.
    const std::size_t rounds = common_rounds();
    for (auto& laps : laps_) laps.resize(std::min(laps.size(), rounds));
    return;
  }
  const auto first = leader();
  if (!first || common_rounds() < kFewestRounds) return;
  std::vector<std::size_t> behind;
  for (std::size_t i = 0; i < laps_.size(); ++i) {
    if (runs(i) && i != *first && is_behind(i, *first)) behind.push_back(i);
  }
  for (const std::size_t i : behind) retired_[i] = true;
}

RaceOutcome Track::outcome(const Speed& before) const {
  const Speed known = fastest(before);
  RaceOutcome out;
  out.disturbed = !all_have(kFewestQuiet, true, known);
  const auto first = leader();
  const auto laps_of = [&](std::size_t i) {
    return out.disturbed ? undisturbed(i) : times(i, true, known);
  };
  const double leading = first ? median(laps_of(*first)) : 0;
  std::vector<double> peaks, sentinels;
  for (std::size_t i = 0; i < laps_.size(); ++i) {
    Racer racer;
    racer.failed = failed_[i];
    auto of_it = laps_of(i);
    const bool few = out.disturbed || of_it.size() < kFewestQuiet;
    if (retired_[i] && few && first) {
      of_it = ratios(i, *first);
      for (double& time : of_it) time *= leading;
    }
    racer.rounds = static_cast<int>(of_it.size());
    racer.ran = racer.failed || (!absent_[i] && of_it.size() >= kFewestQuiet);
    racer.seconds = racer.failed ? median({}) : median(of_it);
    if (racer.ran && !racer.failed) racer.spread = spread_of(of_it) / racer.seconds;
    if (defender_ && i != *defender_ && racer.ran && !racer.failed && !failed_[*defender_]) {
      const Ratio over = ratio_of(laps_[i], laps_[*defender_]);
      racer.over_defender = over.value;
      racer.over_defender_error = over.error;
    }
    out.racers.push_back(racer);
    for (const Lap& lap : laps_[i]) {
      if (!out.disturbed && !quiet(lap, known)) continue;
      if (lap.speed.peak_flops > 0) peaks.push_back(lap.speed.peak_flops);
      if (lap.speed.sentinel_seconds > 0) sentinels.push_back(lap.speed.sentinel_seconds);
    }
  }
  if (!peaks.empty()) out.speed.peak_flops = median(peaks);
  if (!sentinels.empty()) out.speed.sentinel_seconds = median(sentinels);
  return out;
}

}  // namespace lathe::measure
