// Synthetic spaces and landscapes: what a searcher is tested on instead of hardware.
#pragma once

#include <cmath>
#include <vector>

#include "tuner/search/search.h"

namespace lathe::search {

// A mixed-radix space with one constraint: the digits' sum is at most `limit`.
class Synthetic final : public space::Domain {
 public:
  explicit Synthetic(std::vector<int> radix, int limit = 1 << 20)
      : radix_(std::move(radix)), limit_(limit) {}

  int knobs() const override { return static_cast<int>(radix_.size()); }
  int values(int knob) const override { return radix_[static_cast<std::size_t>(knob)]; }
  bool valid(const space::Config& config) const override {
    if (config.size() != radix_.size()) return false;
    int sum = 0;
    for (std::size_t i = 0; i < config.size(); ++i) {
      if (config[i] >= radix_[i]) return false;
      sum += config[i];
    }
    return sum <= limit_;
  }
  space::Config random(Rng& rng) const override {
    for (;;) {
      space::Config config;
      for (const int n : radix_)
        config.push_back(static_cast<std::uint16_t>(rng.below(static_cast<std::uint64_t>(n))));
      if (valid(config)) return config;
    }
  }
  space::Config neighbour(const space::Config& config, Rng& rng) const override {
    for (int attempt = 0; attempt < 50; ++attempt) {
      space::Config other = config;
      const std::size_t knob = rng.below(radix_.size());
      other[knob] = static_cast<std::uint16_t>(rng.below(static_cast<std::uint64_t>(radix_[knob])));
      if (other != config && valid(other)) return other;
    }
    return config;
  }
  int count_valid() const {
    space::Config config(radix_.size(), 0);
    return count_from(config, 0);
  }

 private:
  int count_from(space::Config& config, std::size_t knob) const {
    if (knob == config.size()) return valid(config) ? 1 : 0;
    int count = 0;
    for (int value = 0; value < radix_[knob]; ++value) {
      config[knob] = static_cast<std::uint16_t>(value);
      count += count_from(config, knob + 1);
    }
    return count;
  }

  std::vector<int> radix_;
  int limit_;
};

// Seconds of a configuration: smooth in each knob, with ties between neighbouring knobs, like cache
// and register tiles.
inline double structured_seconds(const space::Config& config) {
  double cost = 1;
  for (std::size_t i = 0; i < config.size(); ++i) {
    const double wanted = 3 + static_cast<double>(i % 4) * 2;
    const double off = (config[i] - wanted) / 4;
    cost += off * off;
    if (i > 0) cost += 0.5 * std::abs(std::sin(0.7 * config[i] + config[i - 1]));
  }
  return cost * 1e-3;
}

// A perfect model of that landscape: the score is the negative logarithm of the time, shifted at
// will.
class Oracle final : public Scorer {
 public:
  explicit Oracle(double shift = 0) : shift_(shift) {}
  bool ready() const override { return trained; }
  void score(std::span<const space::Config> configs, std::span<double> scores) override {
    ++calls;
    scored += configs.size();
    for (std::size_t i = 0; i < configs.size(); ++i)
      scores[i] = shift_ - std::log(structured_seconds(configs[i]));
  }
  bool trained = true;
  std::size_t calls = 0, scored = 0;

 private:
  double shift_;
};

}  // namespace lathe::search
