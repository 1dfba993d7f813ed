// Scores a space's configurations by what a model without data tells of their nests.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <vector>

#include "tuner/search/search.h"
#include "tuner/space/space.h"

namespace lathe::model {

// `Model` is made of a nest and a `Machine`, once for each sketch, and has cycles(values of the
// nest's sizes). Scores are -log2 cycles; it is ready from the start. Thread-safe where Model is.
template <class Model, class Machine>
class NestScorer final : public search::Scorer {
 public:
  NestScorer(const space::Space& space, const Machine& machine)
      : space_(space), machine_(machine) {}
  bool ready() const override { return true; }
  void score(std::span<const space::Config> configs, std::span<double> scores) override {
    LATHE_CHECK(configs.size() == scores.size());
    std::vector<std::int64_t> knobs, sizes;
    for (std::size_t i = 0; i < configs.size(); ++i) {
      const space::Sketch& sketch = space_.sketch(configs[i]);
      space_.knob_values(configs[i], knobs);
      sketch.nest.sizes.evaluate(knobs, sizes);
      scores[i] = -std::log2(model_of(sketch).cycles(sizes));
    }
  }

 private:
  const Model& model_of(const space::Sketch& sketch) {
    const std::lock_guard lock(mutex_);
    return models_.try_emplace(&sketch, sketch.nest, machine_).first->second;
  }

  const space::Space& space_;
  const Machine machine_;
  std::mutex mutex_;
  std::map<const space::Sketch*, Model> models_;
};

}  // namespace lathe::model
