#include "research/experiment/curve.h"

#include <charconv>
#include <cmath>
#include <limits>

namespace lathe::experiment {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

template <class Number>
bool read(const char*& at, const char* end, Number& value) {
  const auto [next, error] = std::from_chars(at, end, value);
  at = next;
  return error == std::errc{};
}

}  // namespace

double trials_to(const Curve& curve, double best, double share) {
  for (const Improvement& point : curve)
    if (best >= share * point.seconds) return point.trial;
  return kNever;
}

double best_after(const Curve& curve, double trials) {
  double seconds = kNever;
  for (const Improvement& point : curve)
    if (point.trial <= trials) seconds = point.seconds;
  return seconds;
}

std::string text_of(const Curve& curve) {
  std::string out;
  for (const Improvement& point : curve)
    out += fmt::format("{}{}:{}", out.empty() ? "" : " ", point.trial, point.seconds);
  return out;
}

Result<Curve> parse_curve(const std::string& text) {
  Curve curve;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    Improvement point;
    const bool right = (curve.empty() || *at++ == ' ') && read(at, end, point.trial) && at != end &&
                       *at++ == ':' && read(at, end, point.seconds) &&
                       std::isfinite(point.seconds) && point.seconds > 0 && point.trial > 0;
    const bool improves = curve.empty() || (point.trial >= curve.back().trial &&
                                            point.seconds < curve.back().seconds);
    if (!right || !improves)
      return fail(ErrorKind::kDataLoss, "\"{}\" is no curve of trials and falling seconds", text);
    curve.push_back(point);
  }
  return curve;
}

}  // namespace lathe::experiment
