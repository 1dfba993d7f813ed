#include "search/card_samples.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <sstream>

#include "api/targets.h"
#include "api/workload.h"
#include "base/json.h"
#include "compiler/te/workload.h"
#include "research/recorded/compression.h"

namespace lathe::bench {
namespace {

constexpr const char* kFile = "bench/gpu/generated.jsonl.zst";
constexpr const char* kCard = "cuda:H200";

Result<std::shared_ptr<const space::Space>> space_of(const std::string& name) {
  api::WorkloadRequest request;
  request.text = name;
  const auto workload = LATHE_TRY(api::make_workload(request));
  const Target card = LATHE_TRY(api::make_target(kCard, 0));
  return LATHE_TRY(
      space::derive_space(te::canonical(workload.definition), card, space::Flavour::kWide));
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

}  // namespace

Target sampled_card() { return *api::make_target(kCard, 0); }

Result<Samples> card_samples(const Settings& settings) {
  return read_samples(settings.tune.empty() ? kFile : settings.tune[0]);
}

Result<SampleRows> rows_of(const Samples& samples, int jobs) {
  SampleRows rows;
  const auto features = LATHE_TRY(feature::features_for("context", sampled_card()));
  for (const auto& [name, sample] : samples) {
    const feature::Extractor extractor(features, *sample.space);
    rows.width = extractor.width();
    auto& own = rows.features[name];
    own.resize(sample.configs.size() * static_cast<std::size_t>(rows.width));
    extractor.rows(sample.configs, own, jobs);
  }
  return rows;
}

Result<std::shared_ptr<const model::CostModel>> trees_of_others(
    const Samples& samples, const SampleRows& rows, const std::string& without,
    const std::vector<learn::Relation>& unrelated, const model::XgboostOptions& options) {
  const std::string key = te::workload_key(samples.at(without).space->workload());
  model::Rows others{
      .width = rows.width, .features = {}, .seconds = {}, .workload = {}, .spread = {}};
  int number = 0;
  for (const auto& [name, sample] : samples) {
    ++number;
    const std::string other = te::workload_key(sample.space->workload());
    const bool related = std::ranges::any_of(unrelated, [&](learn::Relation relation) {
      return learn::relatives_of(other, relation) == learn::relatives_of(key, relation);
    });
    if (name == without || related) continue;
    std::ranges::copy(rows.features.at(name), std::back_inserter(others.features));
    std::ranges::copy(sample.seconds, std::back_inserter(others.seconds));
    others.workload.insert(others.workload.end(), sample.seconds.size(), number);
  }
  std::shared_ptr<model::CostModel> trees = model::make_xgboost(options);
  LATHE_TRY_STATUS(trees->train(others));
  return trees;
}

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

}  // namespace lathe::bench
