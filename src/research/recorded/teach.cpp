#include "research/recorded/teach.h"

#include <algorithm>

#include "base/hash.h"
#include "base/rng.h"
#include "compiler/te/workload.h"
#include "tuner/feature/feature.h"

namespace lathe::recorded {
namespace {

std::vector<std::size_t> some(std::size_t all, std::size_t wanted, std::uint64_t seed) {
  std::vector<std::size_t> numbers(all);
  for (std::size_t i = 0; i < all; ++i) numbers[i] = i;
  Rng rng(seed);
  for (std::size_t i = 0; i < std::min(wanted, all); ++i)
    std::swap(numbers[i], numbers[i + rng.below(all - i)]);
  numbers.resize(std::min(wanted, all));
  return numbers;
}

}  // namespace

Status add_rows(const Recording& recording, const std::string& features, int rows,
                std::uint64_t seed, learn::History& history) {
  const auto known = LATHE_TRY(feature::features_for(features, recording.target));
  if (known.kind == feature::Kind::kConfiguration)
    return fail(
        ErrorKind::kInvalidArgument,
        "configuration features mean another thing in every space; use context or relation");
  const auto chosen = some(recording.configs().size(), static_cast<std::size_t>(rows), seed);
  std::vector<space::Config> configs;
  for (const std::size_t place : chosen) configs.push_back(recording.configs()[place]);
  model::Rows& all = history.rows;
  const feature::Extractor extractor(known, *recording.space);
  LATHE_CHECK(all.count() == 0 || all.width == extractor.width(), "rows of other features");
  all.width = extractor.width();
  const std::size_t before = all.features.size();
  all.features.resize(before + configs.size() * static_cast<std::size_t>(all.width));
  extractor.rows(configs, std::span(all.features).subspan(before), 1);
  for (const std::size_t place : chosen) {
    all.seconds.push_back(recording.seconds(place));
    all.spread.push_back(recording.trials()[place].spread);
    all.workload.push_back(static_cast<int>(history.groups.size()));
    history.programs.push_back(Hasher().add(recording.name).add(place).value());
  }
  history.groups.push_back({te::workload_key(recording.space->workload()), recording.target.text(),
                            recording.cache_mode, recording.machine.cpu(),
                            recording.codegen_version});
  return {};
}

}  // namespace lathe::recorded
