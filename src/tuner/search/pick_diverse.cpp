// Equation 3 by lazy greedy choice. Gains only shrink as pairs get covered (the objective is
// submodular), so an earlier gain is an upper bound. A candidate that still tops the heap after its
// gain was refreshed is the best of all.
#include <algorithm>
#include <cmath>
#include <queue>

#include "tuner/search/scale.h"
#include "tuner/search/search.h"

namespace lathe::search {
namespace {

struct Entry {
  double gain;
  int candidate;
  int round;  // how many picks had been made when the gain was computed
  bool operator<(const Entry& other) const {
    return gain != other.gain ? gain < other.gain : candidate > other.candidate;
  }
};

// Which (knob, value) pairs are covered, as a row of flags for each knob.
class Cover {
 public:
  explicit Cover(std::span<const space::Config> candidates) {
    for (const auto& config : candidates) {
      rows_.resize(std::max(rows_.size(), config.size()));
      for (std::size_t knob = 0; knob < config.size(); ++knob)
        if (rows_[knob].size() <= config[knob]) rows_[knob].resize(config[knob] + std::size_t{1});
    }
  }
  int fresh(const space::Config& config) const {
    int count = 0;
    for (std::size_t knob = 0; knob < config.size(); ++knob) count += !rows_[knob][config[knob]];
    return count;
  }
  void add(const space::Config& config) {
    for (std::size_t knob = 0; knob < config.size(); ++knob) rows_[knob][config[knob]] = true;
  }

 private:
  std::vector<std::vector<bool>> rows_;
};

}  // namespace

std::vector<int> pick_diverse(std::span<const space::Config> candidates,
                              std::span<const double> scores, int count, double alpha) {
  const Scale scale = scale_of(scores);
  Cover cover(candidates);
  std::priority_queue<Entry> heap;
  for (int i = 0; i < static_cast<int>(candidates.size()); ++i)
    heap.push({scale.of(scores[i]) + alpha * cover.fresh(candidates[i]), i, 0});

  std::vector<int> picked;
  while (static_cast<int>(picked.size()) < count && !heap.empty()) {
    Entry top = heap.top();
    heap.pop();
    const int round = static_cast<int>(picked.size());
    if (top.round != round) {
      top.gain = scale.of(scores[top.candidate]) + alpha * cover.fresh(candidates[top.candidate]);
      top.round = round;
      heap.push(top);
      continue;
    }
    picked.push_back(top.candidate);
    cover.add(candidates[top.candidate]);
  }
  return picked;
}

}  // namespace lathe::search
