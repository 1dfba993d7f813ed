// How well programs for cards are ordered before any of them is measured: by the model of a card,
// and by trees that were trained on other workloads.
#include <algorithm>
#include <cmath>
#include <map>

#include "base/statistics.h"
#include "search/card_samples.h"
#include "tuner/model/metrics.h"
#include "tuner/model/prior.h"

namespace lathe::bench {
namespace {

constexpr double kNoise = 0.02;  // times that differ by less are the same
constexpr int kPicks[] = {1, 4, 16};

// How many times as long as the sample's best the best of the first n picks takes.
double slowness(const std::vector<float>& scores, const std::vector<double>& seconds, int n) {
  return 1 / model::peak_at_k(scores, seconds, std::min<int>(n, static_cast<int>(seconds.size())));
}

void judge(const std::string& workload, const std::string& by, const std::vector<float>& scores,
           const std::vector<double>& seconds, std::vector<Row>& rows) {
  rows.push_back(
      {workload, "pairs in order, " + by, model::pairwise_accuracy(scores, seconds, kNoise), ""});
  for (const int n : kPicks)
    rows.push_back({workload, fmt::format("best of the first {}, {}", n, by),
                    slowness(scores, seconds, n), "times the sample's best"});
}

std::vector<float> by_model(const Sample& sample, const Target& card) {
  std::vector<double> scores(sample.configs.size());
  model::make_prior(*sample.space, card, {})->score(sample.configs, scores);
  return {scores.begin(), scores.end()};
}

// How many configurations a thread scores by the model, and makes rows of features of, in a second.
Status add_rates(const std::string& name, const Sample& sample, const Target& card, int rounds,
                 std::vector<Row>& rows) {
  const auto count = static_cast<double>(sample.configs.size());
  std::vector<double> scores(sample.configs.size());
  const auto prior = model::make_prior(*sample.space, card, {});
  prior->score(sample.configs, scores);  // makes what sketches share
  const double scoring = median_seconds(rounds, [&] { prior->score(sample.configs, scores); });
  const feature::Extractor extractor(LATHE_TRY(feature::features_for("context", card)),
                                     *sample.space);
  std::vector<float> table(sample.configs.size() * static_cast<std::size_t>(extractor.width()));
  extractor.rows(sample.configs, table, 1);
  const double extracting =
      median_seconds(rounds, [&] { extractor.rows(sample.configs, table, 1); });
  rows.push_back({name, "scored by the model, one thread", count / scoring, "a second"});
  rows.push_back({name, "rows of features, one thread", count / extracting, "a second"});
  return {};
}

Result<std::vector<float>> by_trees(const Samples& samples, const SampleRows& rows,
                                    const std::string& without,
                                    const model::XgboostOptions& options) {
  const auto trees = LATHE_TRY(trees_of_others(samples, rows, without, {}, options));
  std::vector<float> scores(samples.at(without).configs.size());
  LATHE_TRY_STATUS(trees->predict(rows.features.at(without), rows.width, scores));
  return scores;
}

}  // namespace

Result<std::vector<Row>> cards(const Settings& settings) {
  const Samples samples = LATHE_TRY(card_samples(settings));
  const Target card = sampled_card();
  const SampleRows table = LATHE_TRY(rows_of(samples, settings.jobs));
  const model::XgboostOptions alone{.threads = settings.jobs};
  const model::XgboostOptions over{.threads = settings.jobs, .over_cycles = true};
  std::vector<Row> rows;
  for (const auto& [name, sample] : samples) {
    rows.push_back({name, "judged", static_cast<double>(sample.configs.size()), "configurations"});
    rows.push_back({name, "left out", static_cast<double>(sample.left_out), "configurations"});
    LATHE_TRY_STATUS(add_rates(name, sample, card, settings.rounds, rows));
    judge(name, "model of a card", by_model(sample, card), sample.seconds, rows);
    judge(name, "trees of the others", LATHE_TRY(by_trees(samples, table, name, alone)),
          sample.seconds, rows);
    judge(name, "these trees over the model", LATHE_TRY(by_trees(samples, table, name, over)),
          sample.seconds, rows);
  }
  add_means(rows);
  return rows;
}

}  // namespace lathe::bench
