#include "tuner/search/unseen.h"

#include <utility>

namespace lathe::search {
namespace {

constexpr double kEnumerable = 1 << 18;  // configurations, valid or not
// After so many rejections in a row, a small space is listed.
constexpr int kTriesBeforeListing = 200;
constexpr int kTriesBeforeWalking = 2000;  // after so many, a large one is walked
constexpr int kWalks = 64;
constexpr int kWalkLength = 500;

}  // namespace

bool Unseen::small_space() const { return space::combinations(domain_) <= kEnumerable; }

std::optional<space::Config> Unseen::by_rejection(int tries, Rng& rng) {
  for (int i = 0; i < tries; ++i) {
    space::Config config = domain_.random(rng);
    if (mark(config)) return config;
  }
  return std::nullopt;
}

void Unseen::enumerate(Rng& rng) {
  enumerated_ = true;
  space::Config config(static_cast<std::size_t>(domain_.knobs()), 0);
  for (bool more = true; more;) {
    if (domain_.valid(config) && domain_.canonical(config) == config && !contains(config))
      remaining_.push_back(config);
    more = false;
    for (std::size_t knob = 0; knob < config.size() && !more; ++knob) {
      more = ++config[knob] < domain_.values(static_cast<int>(knob));
      if (!more) config[knob] = 0;
    }
  }
  shuffle(remaining_, rng);
}

std::optional<space::Config> Unseen::from_remaining() {
  while (!remaining_.empty()) {
    space::Config config = std::move(remaining_.back());
    remaining_.pop_back();
    if (mark(config)) return config;
  }
  return std::nullopt;
}

std::optional<space::Config> Unseen::by_walking(Rng& rng) {
  for (int walk = 0; walk < kWalks; ++walk) {
    space::Config config = domain_.random(rng);
    for (int step = 0; step < kWalkLength; ++step) {
      config = domain_.neighbour(config, rng);
      if (mark(config)) return config;
    }
  }
  return std::nullopt;
}

std::optional<space::Config> Unseen::draw(Rng& rng) {
  if (enumerated_) return from_remaining();
  if (auto config = by_rejection(kTriesBeforeListing, rng)) return config;
  if (small_space()) {
    enumerate(rng);
    return from_remaining();
  }
  if (auto config = by_rejection(kTriesBeforeWalking, rng)) return config;
  return by_walking(rng);
}

std::vector<space::Config> Unseen::draw(int wanted, Rng& rng) {
  std::vector<space::Config> out;
  while (static_cast<int>(out.size()) < wanted) {
    auto config = draw(rng);
    if (!config) break;
    out.push_back(std::move(*config));
  }
  return out;
}

}  // namespace lathe::search
