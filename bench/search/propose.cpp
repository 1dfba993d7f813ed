// How fast configurations are proposed: the rates of valid configurations, of features and of
// scores, and what training costs. Rates are those of the whole process with `jobs` threads, the
// median of several rounds.
#include <algorithm>

#include "search/probe.h"
#include "tuner/feature/feature.h"
#include "tuner/model/analytic.h"
#include "tuner/model/model.h"
#include "tuner/space/space.h"

namespace lathe::bench {
namespace {

constexpr int kConfigs = 20'000;
constexpr int kTrainingRows = 4096;

auto new_space(const BenchWorkload& workload) {
  return space::derive_space(workload.definition, bench_target(), space::Flavour::kDefault);
}

class Proposing {
 public:
  Proposing(const BenchWorkload& workload, const Settings& settings, const space::Space& space)
      : name_(workload.name),
        workload_(workload),
        settings_(settings),
        space_(space),
        configs_(static_cast<std::size_t>(settings.configs > 0 ? settings.configs : kConfigs)) {}

  Result<std::vector<Row>> rows() {
    configurations();
    LATHE_TRY_STATUS(first_round());
    features();
    LATHE_TRY_STATUS(scores());
    return rows_;
  }

 private:
  void rate(const std::string& what, const std::function<void()>& work) {
    rows_.push_back({name_, what,
                     static_cast<double>(configs_.size()) / median_seconds(settings_.rounds, work),
                     "/s"});
  }

  void configurations() {
    const auto fill = [&](std::size_t begin, std::size_t count) {
      Rng rng(begin + 1);
      for (std::size_t i = begin; i < begin + count; ++i) configs_[i] = space_.random(rng);
    };
    const auto step = [&](std::size_t begin, std::size_t count) {
      Rng rng(begin + 1);
      for (std::size_t i = begin; i < begin + count; ++i) (void)space_.neighbour(configs_[i], rng);
    };
    // Sketches are derived once, so they are no part of the rate.
    on_threads(settings_.jobs, configs_.size(), fill);
    rate("random configurations", [&] { on_threads(settings_.jobs, configs_.size(), fill); });
    rate("neighbours", [&] { on_threads(settings_.jobs, configs_.size(), step); });
  }

  void features() {
    for (const auto& [name, kind] : {std::pair{"configuration", feature::Kind::kConfiguration},
                                     {"relation", feature::Kind::kRelation},
                                     {"context", feature::Kind::kContext}}) {
      const feature::Extractor extractor({kind, DeviceKind::kCpu}, space_);
      features_.resize(configs_.size() * static_cast<std::size_t>(extractor.width()));
      rate(fmt::format("configurations to {} features ({} wide)", name, extractor.width()),
           [&] { extractor.rows(configs_, features_, settings_.jobs); });
    }
  }

  // As in the first round of a search: every sketch, and every form, is met for the first time.
  Status first_round() {
    Status status;
    rate("random configurations of a space that is new", [&] {
      const auto fresh = new_space(workload_);
      if (!fresh) status = std::unexpected(fresh.error());
      Rng rng(1);
      for (std::size_t i = 0; fresh && i < configs_.size(); ++i) (void)(*fresh)->random(rng);
    });
    return status;
  }

  // Makes up times that follow from the features, so that trees get their usual depth.
  model::Rows training_rows(int width) const {
    model::Rows rows;
    rows.width = width;
    const int count = std::min(static_cast<int>(configs_.size()), kTrainingRows);
    rows.features.assign(features_.begin(),
                         features_.begin() + static_cast<std::ptrdiff_t>(count) * width);
    Rng rng(1);
    for (int i = 0; i < count; ++i) {
      double time = 20;
      for (int f = 0; f < width; f += 7)
        time += 0.1 * rows.features[static_cast<std::size_t>(i * width + f)];
      rows.seconds.push_back(std::max(1.0, time) * (1 + 0.05 * rng.uniform()));
      rows.workload.push_back(0);
    }
    return rows;
  }

  // Scores by context features as a search asks for them: features and prediction, block by block.
  Status scores() {
    const feature::Extractor extractor({feature::Kind::kContext, DeviceKind::kCpu}, space_);
    const auto width = static_cast<std::size_t>(extractor.width());
    const auto model = model::make_xgboost({});
    const model::Rows training = training_rows(extractor.width());
    Status status;
    const auto keep = [&](Status now) {
      if (!now) status = std::move(now);
    };
    rows_.push_back({name_, fmt::format("XGBoost trained on {} rows", training.count()),
                     1e3 * median_seconds(3, [&] { keep(model->train(training)); }), "ms"});
    LATHE_TRY_STATUS(status);
    std::vector<float> out(configs_.size());
    rate("features to XGBoost scores", [&] {
      on_threads(settings_.jobs, configs_.size(), [&](std::size_t begin, std::size_t count) {
        (void)model->predict({features_.data() + begin * width, count * width}, extractor.width(),
                             {out.data() + begin, count});
      });
    });
    rate("configurations to XGBoost scores", [&] {
      on_threads(settings_.jobs, configs_.size(), [&](std::size_t begin, std::size_t count) {
        constexpr std::size_t kBlock = 64;
        std::vector<float> block(kBlock * width);
        for (std::size_t at = begin; at < begin + count; at += kBlock) {
          const std::size_t n = std::min(kBlock, begin + count - at);
          extractor.rows({configs_.data() + at, n}, {block.data(), n * width}, 1);
          (void)model->predict({block.data(), n * width}, extractor.width(), {out.data() + at, n});
        }
      });
    });
    model::AnalyticScorer analytic(space_, model::core_of(bench_target(), host_fingerprint()));
    std::vector<double> analytic_out(configs_.size());
    rate("configurations to analytic scores (1 thread)",
         [&] { analytic.score(configs_, analytic_out); });
    return {};
  }

  const std::string name_;
  const BenchWorkload& workload_;
  const Settings& settings_;
  const space::Space& space_;
  std::vector<space::Config> configs_;
  std::vector<float> features_;  // context features at the end
  std::vector<Row> rows_;
};

}  // namespace

Result<std::vector<Row>> propose(const Settings& settings) {
  std::vector<Row> rows;
  for (const BenchWorkload& workload : LATHE_TRY(workloads())) {
    const auto space = LATHE_TRY(new_space(workload));
    const auto own = LATHE_TRY(Proposing(workload, settings, *space).rows());
    rows.insert(rows.end(), own.begin(), own.end());
  }
  return rows;
}

}  // namespace lathe::bench
