// How well programs for cards are ordered before any of them is measured: by the model of a card,
// and by trees that were trained on other workloads. bench/gpu/generated.jsonl.zst holds the times:
// each line is a workload, a configuration of its space, microseconds on an H200, and registers of
// a thread. They are of CUDA C that was generated in the structure of the configuration, drawn
// evenly, not of Lathe's own programs.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <numeric>

#include "api/targets.h"
#include "api/workload.h"
#include "base/statistics.h"
#include "research/recorded/compression.h"
#include "search/probe.h"
#include "tuner/feature/feature.h"
#include "tuner/model/metrics.h"
#include "tuner/model/model.h"
#include "tuner/model/prior.h"

namespace lathe::bench {
namespace {

constexpr const char* kFile = "bench/gpu/generated.jsonl.zst";
constexpr const char* kCard = "cuda:H200";
constexpr double kNoise = 0.02;  // times that differ by less are the same
constexpr int kPicks[] = {1, 4, 16};

struct Sample {
  std::shared_ptr<const space::Space> space;
  std::vector<space::Config> configs;
  std::vector<double> seconds;
  int left_out = 0;  // configurations that the space does not have
};
using Samples = std::map<std::string, Sample>;

Result<std::shared_ptr<const space::Space>> space_of(const std::string& name) {
  api::WorkloadRequest request;
  request.text = name;
  const auto workload = LATHE_TRY(api::make_workload(request));
  const Target card = LATHE_TRY(api::make_target(kCard, 0));
  return LATHE_TRY(space::derive_space(workload.definition, card, space::Flavour::kWide));
}

// Knobs that the line does not name have the value of the analytic default.
Result<space::Config> config_of(const space::Space& space, const Json& knobs) {
  Json all = space.to_json(space.default_config());
  const auto has = [&](const std::string& knob) {
    return std::ranges::find(space.knob_list(), knob, &space::Knob::name) !=
           space.knob_list().end();
  };
  for (const auto& [knob, value] : knobs.items()) all[knob] = value;
  if (has("algorithm")) all["algorithm"] = "direct";
  return space.from_json(all);
}

Status add_line(const std::string& line, Samples& samples) {
  const Json json = LATHE_TRY(parse_json(line));
  const auto name = LATHE_TRY(json_string(json, "workload"));
  const Json knobs = LATHE_TRY(json_member(json, "knobs"));
  Sample& sample = samples[name];
  if (!sample.space) sample.space = LATHE_TRY(space_of(name));
  const auto config = config_of(*sample.space, knobs);
  if (!config || !sample.space->valid(*config)) {
    ++sample.left_out;
    return {};
  }
  constexpr double kMicrosecond = 1e-6;
  sample.configs.push_back(sample.space->canonical(*config));
  sample.seconds.push_back(LATHE_TRY(json_number(json, "us")) * kMicrosecond);
  return {};
}

Result<Samples> read_samples(const std::string& path) {
  constexpr std::size_t kMost = std::size_t{64} << 20;
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail(ErrorKind::kIo, "there is no {}; run it where bench is", path);
  const std::string packed((std::istreambuf_iterator<char>(file)), {});
  auto text = recorded::decompress(packed, kMost);
  if (!text) return fail_at(path, text.error().kind, "{}", text.error().message);
  std::istringstream lines(std::move(*text));
  Samples samples;
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (const Status added = add_line(line, samples); !added)
      return fail_at(fmt::format("{}:{}", path, number), added.error().kind, "{}",
                     added.error().text());
  }
  return samples;
}

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

// The model of a card under trees that rank, by the rows' last column, which tells its cycles. Of
// two programs that it tells apart by d in log2 cycles, the first is faster with the odds exp(kOdds
// * d), on these times.
class CardScores final : public model::CostModel {
 public:
  bool trained() const override { return true; }
  Status predict(std::span<const float> features, int width,
                 std::span<float> scores) const override {
    constexpr float kOdds = 4.2F;
    const auto columns = static_cast<std::size_t>(width);
    for (std::size_t row = 0; row < scores.size(); ++row)
      scores[row] = -kOdds * features[row * columns + columns - 1];
    return {};
  }
  Status train(const model::Rows&) override { return fixed(); }
  Status load(const std::string&) override { return fixed(); }
  Result<std::string> save() const override { return std::unexpected(fixed().error()); }

 private:
  static Status fixed() { return fail(ErrorKind::kUnsupported, "it is not trained"); }
};

struct Table {
  int width = 0;
  std::map<std::string, std::vector<float>> features;
};
Result<Table> table_of(const Samples& samples, const Target& card, int jobs) {
  Table table;
  for (const auto& [name, sample] : samples) {
    const auto features = LATHE_TRY(feature::features_for("context", card));
    const feature::Extractor extractor(features, *sample.space);
    table.width = extractor.width();
    auto& rows = table.features[name];
    rows.resize(sample.configs.size() * static_cast<std::size_t>(table.width));
    extractor.rows(sample.configs, rows, jobs);
  }
  return table;
}

// The scores of trees that have seen all samples but this one, over `global` if there is one.
Result<std::vector<float>> by_trees(const Samples& samples, const Table& table,
                                    const std::string& without, int jobs,
                                    std::shared_ptr<const model::CostModel> global) {
  model::Rows rows{
      .width = table.width, .features = {}, .seconds = {}, .workload = {}, .spread = {}};
  int number = 0;
  for (const auto& [name, sample] : samples) {
    ++number;
    if (name == without) continue;
    std::ranges::copy(table.features.at(name), std::back_inserter(rows.features));
    std::ranges::copy(sample.seconds, std::back_inserter(rows.seconds));
    rows.workload.insert(rows.workload.end(), sample.seconds.size(), number);
  }
  const auto trees = model::make_xgboost({.threads = jobs, .global = std::move(global)});
  LATHE_TRY_STATUS(trees->train(rows));
  std::vector<float> scores(samples.at(without).configs.size());
  LATHE_TRY_STATUS(trees->predict(table.features.at(without), table.width, scores));
  return scores;
}

// Means of what the rows tell of each workload; of ratios geometric ones.
void add_means(std::vector<Row>& rows) {
  std::map<std::string, std::vector<double>> values;
  std::map<std::string, std::string> units;
  for (const Row& row : rows) values[row.what].push_back(row.value), units[row.what] = row.unit;
  for (const auto& [what, all] : values) {
    const bool ratio = !units[what].empty() && units[what] != "configurations";
    double sum = 0;
    for (const double value : all) sum += ratio ? std::log(value) : value;
    const double mean = sum / static_cast<double>(all.size());
    rows.push_back({"all", what, ratio ? std::exp(mean) : mean, units[what]});
  }
}

}  // namespace

Result<std::vector<Row>> cards(const Settings& settings) {
  const std::string path = settings.tune.empty() ? kFile : settings.tune[0];
  const Samples samples = LATHE_TRY(read_samples(path));
  const Target card = LATHE_TRY(api::make_target(kCard, 0));
  const Table table = LATHE_TRY(table_of(samples, card, settings.jobs));
  std::vector<Row> rows;
  for (const auto& [name, sample] : samples) {
    rows.push_back({name, "judged", static_cast<double>(sample.configs.size()), "configurations"});
    rows.push_back({name, "left out", static_cast<double>(sample.left_out), "configurations"});
    LATHE_TRY_STATUS(add_rates(name, sample, card, settings.rounds, rows));
    judge(name, "model of a card", by_model(sample, card), sample.seconds, rows);
    judge(name, "trees of the others",
          LATHE_TRY(by_trees(samples, table, name, settings.jobs, nullptr)), sample.seconds, rows);
    judge(name, "these trees over the model",
          LATHE_TRY(by_trees(samples, table, name, settings.jobs, std::make_shared<CardScores>())),
          sample.seconds, rows);
  }
  add_means(rows);
  return rows;
}

}  // namespace lathe::bench
