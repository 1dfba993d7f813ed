#include "api/report/progress.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>

namespace lathe::report {
namespace {

// In seconds. A run that finished no trial for this long was not at work, as far as the clock can
// tell.
constexpr double kPause = 120;
// A curve has fewer pixels than this.
constexpr std::size_t kMostPoints = 400;

std::vector<Point> without_small_steps(const std::vector<Point>& points) {
  if (points.size() <= kMostPoints) return points;
  const double least = (points.back().y - points.front().y) / static_cast<double>(kMostPoints);
  std::vector<Point> out = {points.front()};
  for (const Point& point : points)
    if (point.y - out.back().y >= least) out.push_back(point);
  if (out.back().x < points.back().x) out.push_back(points.back());
  return out;
}

}  // namespace

double clock_of(const std::string& time) {
  int year = 0;
  unsigned month = 0, day = 0, hour = 0, minute = 0;
  double second = 0;
  char zone = 0;
  const int read = std::sscanf(time.c_str(), "%4d-%2u-%2uT%2u:%2u:%9lf%c", &year, &month, &day,
                               &hour, &minute, &second, &zone);
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month),
                                         std::chrono::day(day)};
  if (read != 7 || zone != 'Z' || !date.ok() || hour > 23 || minute > 59 ||
      !(second >= 0 && second < 61))
    return std::numeric_limits<double>::quiet_NaN();
  const auto days = std::chrono::sys_days(date).time_since_epoch().count();
  return static_cast<double>(days) * 86400 + hour * 3600 + minute * 60 + second;
}

std::vector<double> seconds_at_work(Trials trials) {
  std::vector<double> out;
  double sum = 0, before = std::numeric_limits<double>::quiet_NaN();
  for (const Trial* trial : trials) {
    const double gap = trial->clock - before;
    const double own = trial->spent.build + trial->spent.run;
    // The first trial, a pause, or no clock: takes the trial's own time.
    sum += gap >= 0 && gap <= kPause ? gap : own;
    before = trial->clock;
    out.push_back(sum);
  }
  return out;
}

std::vector<Point> best_so_far(Trials trials, std::span<const double> x, const Work& work) {
  std::vector<Point> points;
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (!(trials[i]->seconds < best)) continue;
    best = trials[i]->seconds;
    points.push_back({x[i], work.speed(best)});
  }
  if (points.empty()) return points;
  points = without_small_steps(points);
  if (points.back().x < x.back()) points.push_back({x.back(), work.speed(best)});
  return points;
}

int trials_until(Trials trials, double seconds) {
  const auto found =
      std::ranges::find_if(trials, [&](const Trial* trial) { return trial->seconds <= seconds; });
  return found == trials.end() ? 0 : static_cast<int>(found - trials.begin()) + 1;
}

}  // namespace lathe::report
