#include <cmath>
#include <limits>
#include <unordered_set>

#include "tuner/space/space.h"

namespace lathe::space {
namespace {

constexpr double kMostCounted = 1 << 19;                      // configurations: about a second
constexpr int kFewestSamples = 1'000, kMostSamples = 20'000;  // half a second a thousand
constexpr double kCloseEnough = 0.1;
constexpr double kTwoSided95 = 1.96;

bool stands_for_itself(const Space& space, const Config& config) {
  return space.valid(config) && space.canonical(config) == config;
}

}  // namespace

ProgramCount count_programs(const Space& space) {
  ProgramCount count;
  if (combinations(space) <= kMostCounted) {
    std::unordered_set<std::uint64_t> programs;
    for (const Config& config : all_configs(space)) programs.insert(space.program_number(config));
    count.programs = static_cast<double>(programs.size());
    return count;
  }
  Rng rng(1);
  int met = 0, samples = 0;
  const auto uncertainty = [&] {
    const double share = static_cast<double>(met) / samples;
    return met == 0 ? std::numeric_limits<double>::infinity()
                    : kTwoSided95 * std::sqrt((1 - share) / (share * samples));
  };
  do {
    met += stands_for_itself(space, space.draw(rng)) ? 1 : 0;
    ++samples;
  } while (samples < kFewestSamples || (samples < kMostSamples && uncertainty() > kCloseEnough));
  count.programs = space.size() * met / samples;
  count.samples = samples;
  count.uncertainty = uncertainty();
  return count;
}

}  // namespace lathe::space
