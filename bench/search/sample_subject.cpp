#include "search/sample_subject.h"

#include <algorithm>
#include <numeric>

namespace lathe::bench {
namespace {

constexpr std::size_t kNearest = 12;

int differences(const space::Config& a, const space::Config& b) {
  int count = 0;
  for (std::size_t k = 0; k < a.size(); ++k) count += a[k] != b[k] ? 1 : 0;
  return count;
}

}  // namespace

SampleSubject::SampleSubject(const Sample& sample, const tune::Subject& own, bool blended)
    : own_(own), blended_(blended), domain_(sample) {}

SampleSubject::Members::Members(const Sample& sample) : sample_(sample) {
  const auto& configs = sample.configs;
  for (std::size_t i = 0; i < configs.size(); ++i) places_.try_emplace(configs[i], i);
  std::vector<std::size_t> others(configs.size());
  for (const auto& config : configs) {
    std::iota(others.begin(), others.end(), 0);
    std::ranges::stable_sort(others, {},
                             [&](std::size_t i) { return differences(config, configs[i]); });
    std::erase_if(others, [&](std::size_t i) { return configs[i] == config; });
    nearest_.emplace_back(others.begin(), others.begin() + std::min(kNearest, others.size()));
    others.resize(configs.size());
  }
}

space::Config SampleSubject::Members::random(Rng& rng) const {
  return sample_.configs[rng.below(sample_.configs.size())];
}

space::Config SampleSubject::Members::neighbour(const space::Config& config, Rng& rng) const {
  const auto& near = nearest_[places_.at(config)];
  return near.empty() ? config : sample_.configs[near[rng.below(near.size())]];
}

double SampleSubject::Members::seconds(const space::Config& config) const {
  return sample_.seconds[places_.at(config)];
}

}  // namespace lathe::bench
