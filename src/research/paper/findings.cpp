#include "research/paper/findings.h"

#include <algorithm>
#include <cmath>

#include "base/statistics.h"

namespace lathe::paper {
namespace {

constexpr std::size_t kLeastRuns = 5;
constexpr double kDifference = 0.05;

// How often a value of `a` is below a value of `b`, less how often it is above.
long balance(const std::vector<double>& a, const std::vector<double>& b) {
  long below = 0;
  for (const double x : a)
    for (const double y : b) below += static_cast<long>(x < y) - static_cast<long>(x > y);
  return below;
}

}  // namespace

Outcome compare(const std::vector<double>& arm, const std::vector<double>& against) {
  const auto arrives = [](double trials) { return std::isfinite(trials); };
  if (std::min(arm.size(), against.size()) < kLeastRuns) return Outcome::kUndecided;
  if (std::ranges::none_of(arm, arrives) && std::ranges::none_of(against, arrives))
    return Outcome::kUndecided;
  if (mann_whitney(arm, against) >= kDifference) return Outcome::kSame;
  return balance(arm, against) > 0 ? Outcome::kFewer : Outcome::kMore;
}

Verdict judge(Expected expected, const std::vector<Outcome>& outcomes) {
  const auto count = [&](Outcome outcome) { return std::ranges::count(outcomes, outcome); };
  const auto spaces = std::ssize(outcomes), decided = spaces - count(Outcome::kUndecided);
  const auto fewer = count(Outcome::kFewer), more = count(Outcome::kMore),
             same = count(Outcome::kSame);
  const auto verdict = [](bool holds, bool in_part) {
    return holds ? Verdict::kHolds : in_part ? Verdict::kInPart : Verdict::kFails;
  };
  if (decided == 0 || 2 * decided < spaces) return Verdict::kUndecided;
  switch (expected) {
    case Expected::kFewer: return verdict(2 * fewer > spaces && more == 0, fewer > more);
    case Expected::kNotMore: return verdict(more == 0, 2 * more < spaces);
    case Expected::kSame: return verdict(2 * same > spaces, same > 0);
  }
  return Verdict::kUndecided;
}

std::string_view text_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::kFewer: return "fewer";
    case Outcome::kMore: return "more";
    case Outcome::kSame: return "no difference";
    case Outcome::kUndecided: return "not decided";
  }
  return "";
}

std::string_view text_of(Expected expected) {
  switch (expected) {
    case Expected::kFewer: return "fewer trials than";
    case Expected::kNotMore: return "not more trials than";
    case Expected::kSame: return "no difference to";
  }
  return "";
}

std::string_view text_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kHolds: return "holds";
    case Verdict::kInPart: return "holds in part";
    case Verdict::kFails: return "does not hold";
    case Verdict::kUndecided: return "not decided";
  }
  return "";
}

}  // namespace lathe::paper
