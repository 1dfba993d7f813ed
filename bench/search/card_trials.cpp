// How many trials a search needs among programs for a card whose times are known: in a sample that
// was drawn evenly (card_samples.h), with what each search may know beforehand.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/statistics.h"
#include "search/card_samples.h"
#include "search/sample_subject.h"
#include "tuner/tune/proposer.h"

namespace lathe::bench {
namespace {

constexpr double kNear = 1.05;  // times the sample's best
constexpr int kBatch = 16;

struct Arm {
  const char* name;
  std::string search = "annealing", model = "xgb-rank";
  bool blended = false;  // the model of a card stands beside the trees, with a share that fades
  enum class From { kNothing, kOthers, kUnrelated } from = From::kNothing;  // whose trees it has
  bool over_cycles = true;                                                  // those trees
};

std::vector<Arm> arms() {
  return {{.name = "blind", .search = "random", .model = "none"},
          {.name = "model of a card alone", .model = "analytic"},
          {.name = "trees beside the model", .blended = true},
          {.name = "trees over the model"},
          {.name = "trees of others beside the model",
           .blended = true,
           .from = Arm::From::kOthers,
           .over_cycles = false},
          {.name = "trees of others over the model", .from = Arm::From::kOthers},
          {.name = "of others of another image and operator", .from = Arm::From::kUnrelated}};
}

// What a search found: after each trial, the best time so far, as a multiple of the sample's best.
using Path = std::vector<double>;

Result<Path> path_of(const SampleSubject& subject, tune::Options options, double best, int trials) {
  const auto proposer = LATHE_TRY(tune::Proposer::make(subject, options));
  Path path;
  double least = std::numeric_limits<double>::infinity();
  while (static_cast<int>(path.size()) < trials && least > best) {
    std::vector<search::Measured> told;
    for (auto& config : LATHE_TRY(proposer->ask(kBatch))) {
      const double seconds = subject.seconds(config);
      least = std::min(least, seconds);
      path.push_back(least / best);
      told.push_back({std::move(config), seconds});
    }
    if (told.empty()) break;
    LATHE_TRY_STATUS(proposer->tell(told));
  }
  return path;
}

int trials_to(const Path& path, double enough) {
  const auto found = std::ranges::find_if(path, [&](double value) { return value <= enough; });
  return static_cast<int>(found - path.begin()) + 1;
}

Status add_arm(const std::string& name, const SampleSubject& subject, const Arm& arm,
               const tune::Options& options, double best, int seeds, std::vector<Row>& rows) {
  std::vector<double> near, whole, after;
  for (int seed = 0; seed < seeds; ++seed) {
    tune::Options own = options;
    own.run.seed = static_cast<std::uint64_t>(seed);
    const Path path = LATHE_TRY(path_of(subject, own, best, 1 << 20));
    near.push_back(trials_to(path, kNear));
    whole.push_back(trials_to(path, 1));
    after.push_back(path[std::min<std::size_t>(path.size(), kBatch) - 1]);
  }
  rows.push_back({name, fmt::format("to within 5 %, {}", arm.name), median(near), "trials"});
  rows.push_back({name, fmt::format("to the best, {}", arm.name), median(whole), "trials"});
  rows.push_back({name, fmt::format("after {} trials, {}", kBatch, arm.name), median(after),
                  "times the sample's best"});
  return {};
}

Result<std::shared_ptr<const model::CostModel>> begun_from(const Samples& samples,
                                                           const SampleRows& table,
                                                           const std::string& name, const Arm& arm,
                                                           int jobs) {
  using enum learn::Relation;
  const bool strangers = arm.from == Arm::From::kUnrelated;
  return trees_of_others(
      samples, table, name,
      strangers ? std::vector{kImage, kOperator} : std::vector<learn::Relation>{},
      {.threads = jobs, .over_cycles = arm.over_cycles});
}

}  // namespace

Result<std::vector<Row>> card_trials(const Settings& settings) {
  const Samples samples = LATHE_TRY(card_samples(settings));
  const SampleRows table = LATHE_TRY(rows_of(samples, settings.jobs));
  std::vector<Row> rows;
  for (const auto& [name, sample] : samples) {
    const double best = std::ranges::min(sample.seconds);
    for (const Arm& arm : arms()) {
      tune::Options options;
      options.run.jobs = settings.jobs;
      options.search.name = arm.search;
      options.model.name = arm.model;
      if (arm.from != Arm::From::kNothing)
        options.model.global = LATHE_TRY(begun_from(samples, table, name, arm, settings.jobs));
      const auto own = LATHE_TRY(tune::make_subject(*sample.space, options, sampled_card(), {}));
      const SampleSubject subject(sample, *own, arm.blended);
      LATHE_TRY_STATUS(add_arm(name, subject, arm, options, best, settings.rounds, rows));
    }
  }
  add_means(rows);
  return rows;
}

}  // namespace lathe::bench
