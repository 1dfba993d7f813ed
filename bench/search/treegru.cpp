// What TreeGRU costs: an update, a prediction, and planning a round at worst (paper, appendix: 500
// steps of 128 chains). Untrained weights score as fast as trained ones, so only training needs
// libtorch.
#include <algorithm>
#include <cmath>

#include "search/probe.h"
#include "tuner/feature/feature.h"
#include "tuner/model/model.h"
#include "tuner/space/space.h"
#include "tuner/treegru/network.h"
#include "tuner/treegru/trainer.h"

namespace lathe::bench {
namespace {

constexpr std::size_t kChains = 128, kSteps = 500;
constexpr int kTrainingRows[] = {512, 4096};

class TreeGruCosts {
 public:
  TreeGruCosts(const BenchWorkload& workload, const Settings& settings, const space::Space& space)
      : name_(workload.name),
        settings_(settings),
        extractor_({feature::Kind::kTree, DeviceKind::kCpu}, space),
        width_(static_cast<std::size_t>(extractor_.width())) {
    Rng rng(1);
    while (configs_.size() < kTrainingRows[1]) configs_.push_back(space.random(rng));
    features_.resize(configs_.size() * width_);
  }

  Result<std::vector<Row>> rows() {
    const double seconds = median_seconds(settings_.rounds, [&] { extract(configs_, features_); });
    add("configurations to tree features", static_cast<double>(configs_.size()) / seconds, "/s");
    for (const auto& [variant, called] : {std::pair{treegru::Variant::kContext, "context-encoded"},
                                          {treegru::Variant::kVanilla, "vanilla"}}) {
      scoring({.variant = variant}, called);
      LATHE_TRY_STATUS(training({.variant = variant}, called));
    }
    return rows_;
  }

 private:
  void add(const std::string& what, double value, const char* unit) {
    rows_.push_back({name_, what, value, unit});
  }

  void extract(std::span<const space::Config> configs, std::span<float> out) const {
    on_threads(settings_.jobs, configs.size(), [&](std::size_t begin, std::size_t count) {
      extractor_.rows(configs.subspan(begin, count), out.subspan(begin * width_, count * width_),
                      1);
    });
  }
  void score(const treegru::Network& network, std::span<const float> features,
             std::span<float> out) const {
    on_threads(settings_.jobs, out.size(), [&](std::size_t begin, std::size_t count) {
      network.score(features.subspan(begin * width_, count * width_), out.subspan(begin, count));
    });
  }

  void scoring(const treegru::Shape& shape, const std::string& called) {
    Rng rng(2);
    const treegru::Network network(treegru::random_weights(shape, features_, rng));
    std::vector<float> scores(configs_.size());
    const std::span chains = std::span(configs_).first(kChains);
    const std::span rows = std::span(features_).first(kChains * width_),
                    out = std::span(scores).first(kChains);
    add(called + ", 128 chains predicted",
        1e3 * median_seconds(settings_.rounds, [&] { score(network, rows, out); }), "ms");
    add(called + ", all predicted",
        static_cast<double>(scores.size()) /
            median_seconds(settings_.rounds, [&] { score(network, features_, scores); }),
        "/s");
    const double step = median_seconds(settings_.rounds, [&] {
      for (int i = 0; i < 10; ++i) {
        extract(chains, rows);
        score(network, rows, out);
      }
    });
    add(called + ", a round planned", step / 10 * kSteps, "s");
  }

  Status training(const treegru::Shape& shape, const std::string& called) {
    if (!treegru::check_trainer()) return {};
    for (const int count : kTrainingRows) {
      const auto model = model::make_treegru({.shape = shape, .threads = settings_.jobs});
      const model::Rows rows = training_rows(count);
      Status status;
      add(fmt::format("{}, trained on {} rows", called, count),
          median_seconds(3, [&] { status = model->train(rows); }), "s");
      LATHE_TRY_STATUS(status);
      add(fmt::format("{}, updated on {} rows", called, count),
          median_seconds(3, [&] { status = model->update(rows); }), "s");
      LATHE_TRY_STATUS(status);
    }
    return {};
  }

  // Makes up times that follow from the features.
  model::Rows training_rows(int count) const {
    model::Rows rows;
    rows.width = extractor_.width();
    rows.features.assign(
        features_.begin(),
        features_.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(count) * width_));
    Rng rng(3);
    for (int i = 0; i < count; ++i) {
      double log_time = 0.05 * rng.normal();
      for (std::size_t f = 2; f < width_; f += 11)
        log_time += 0.02 * rows.features[static_cast<std::size_t>(i) * width_ + f];
      rows.seconds.push_back(std::exp(log_time));
      rows.workload.push_back(0);
    }
    return rows;
  }

  const std::string name_;
  const Settings& settings_;
  const feature::Extractor extractor_;
  const std::size_t width_;
  std::vector<space::Config> configs_;
  std::vector<float> features_;
  std::vector<Row> rows_;
};

}  // namespace

Result<std::vector<Row>> treegru(const Settings& settings) {
  std::vector<Row> rows;
  for (const BenchWorkload& workload : LATHE_TRY(workloads())) {
    const auto space = LATHE_TRY(
        space::derive_space(workload.definition, bench_target(), space::Flavour::kDefault));
    const auto own = LATHE_TRY(TreeGruCosts(workload, settings, *space).rows());
    rows.insert(rows.end(), own.begin(), own.end());
  }
  return rows;
}

}  // namespace lathe::bench
