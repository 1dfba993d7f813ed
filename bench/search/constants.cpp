// Fits the analytic model's constants to recorded spaces: how well each value orders their
// programs, and what the best values of the other spaces are worth on a space that they have not
// seen.
#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <numeric>

#include "base/rng.h"
#include "research/recorded/recording.h"
#include "search/probe.h"
#include "tuner/model/analytic.h"
#include "tuner/model/metrics.h"

namespace lathe::bench {
namespace {

using model::Core;

struct Constant {
  const char* name;
  double Core::* member;
};
constexpr Constant kConstants[] = {
    {"operations_per_cycle", &Core::operations_per_cycle},
    {"latency", &Core::latency},
    {"loads_per_cycle", &Core::loads_per_cycle},
    {"l2_rate", &Core::l2_rate},
    {"l3_rate", &Core::l3_rate},
    {"memory_rate", &Core::memory_rate},
    {"entry_cycles", &Core::entry_cycles},
    {"exit_cycles", &Core::exit_cycles},
    {"hidden_share", &Core::hidden_share},
};
constexpr std::array kFactors = {0.25, 0.5, 0.71, 1.0, 1.41, 2.0, 4.0};
constexpr std::size_t kPresent = 3;  // the factor 1
constexpr int kSample = 500;         // configurations a space, and as many of its fastest tenth
constexpr int kPasses = 3;           // of the search over the constants

// For each constant, which factor its value is multiplied by.
using Choice = std::array<std::size_t, std::size(kConstants)>;

Choice present() {
  Choice choice;
  choice.fill(kPresent);
  return choice;
}

// A recording's configurations by which constants are judged.
class Judge {
 public:
  explicit Judge(recorded::Recording recording) : recording_(std::move(recording)) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < recording_.configs().size(); ++i)
      if (std::isfinite(recording_.seconds(i))) order.push_back(i);
    Rng rng(1);
    take(order, rng, any_);
    std::ranges::sort(order, {}, [&](std::size_t i) { return recording_.seconds(i); });
    order.resize(order.size() / 10);
    take(order, rng, fast_);
  }
  const std::string& name() const { return recording_.name; }

  // The mean share of pairs in the right order, of all programs and of the fastest tenth.
  double order(const Choice& choice) {
    const auto found = known_.try_emplace(choice, 0.0);
    if (found.second) {
      model::AnalyticScorer scorer(*recording_.space, core_with(choice));
      found.first->second = (share(scorer, any_) + share(scorer, fast_)) / 2;
    }
    return found.first->second;
  }

  // The speed of the configuration that is best by these constants, as a share of the best.
  double speed(const Choice& choice) const {
    model::AnalyticScorer scorer(*recording_.space, core_with(choice));
    std::vector<double> scores(recording_.configs().size());
    scorer.score(recording_.configs(), scores);
    const auto best = std::ranges::max_element(scores) - scores.begin();
    return recording_.best_seconds() / recording_.seconds(static_cast<std::size_t>(best));
  }

 private:
  struct Sample {
    std::vector<space::Config> configs;
    std::vector<double> seconds;
  };

  void take(std::vector<std::size_t>& from, Rng& rng, Sample& sample) const {
    for (std::size_t i = 0; i < std::min<std::size_t>(kSample, from.size()); ++i) {
      const auto last = static_cast<std::int64_t>(from.size()) - 1;
      std::swap(from[i],
                from[static_cast<std::size_t>(rng.between(static_cast<std::int64_t>(i), last))]);
      sample.configs.push_back(recording_.configs()[from[i]]);
      sample.seconds.push_back(recording_.seconds(from[i]));
    }
  }

  Core core_with(const Choice& choice) const {
    Core core = model::core_of(recording_.target, recording_.machine);
    for (std::size_t i = 0; i < choice.size(); ++i)
      core.*kConstants[i].member *= kFactors[choice[i]];
    return core;
  }

  static double share(model::AnalyticScorer& scorer, const Sample& sample) {
    std::vector<double> scores(sample.configs.size());
    scorer.score(sample.configs, scores);
    const std::vector<float> narrow(scores.begin(), scores.end());
    return model::pairwise_accuracy(narrow, sample.seconds);
  }

  const recorded::Recording recording_;
  Sample any_, fast_;
  std::map<Choice, double> known_;
};

// Their mean over the spaces but number `without`; -1: over all.
double mean_order(std::vector<Judge>& judges, const Choice& choice, int without = -1) {
  double sum = 0;
  for (std::size_t i = 0; i < judges.size(); ++i)
    if (static_cast<int>(i) != without) sum += judges[i].order(choice);
  return sum / static_cast<double>(judges.size() - (without < 0 ? 0 : 1));
}

// Changes one constant after the other to its best value, until none is left to change.
Choice fitted(std::vector<Judge>& judges, int without = -1) {
  Choice choice = present();
  double best = mean_order(judges, choice, without);
  for (int pass = 0; pass < kPasses; ++pass) {
    const Choice before = choice;
    for (std::size_t& factor : choice) {
      std::size_t chosen = factor;
      for (std::size_t f = 0; f < kFactors.size(); ++f) {
        factor = f;
        const double order = mean_order(judges, choice, without);
        if (order > best) best = order, chosen = f;
      }
      factor = chosen;
    }
    if (choice == before) break;
  }
  return choice;
}

Result<std::vector<Judge>> judges_of(const std::vector<std::string>& files) {
  std::vector<Judge> judges;
  for (const std::string& file : files) judges.emplace_back(LATHE_TRY(recorded::load(file)));
  return judges;
}

std::vector<std::string> all_recordings() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator("bench/spaces"))
    if (entry.path().string().ends_with(".json.zst")) files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

// What each constant does alone, the others as they are.
void add_alone(std::vector<Judge>& judges, std::vector<Row>& rows) {
  for (std::size_t i = 0; i < std::size(kConstants); ++i)
    for (std::size_t f = 0; f < kFactors.size(); ++f) {
      Choice choice = present();
      choice[i] = f;
      rows.push_back({"all", fmt::format("order, {} times {}", kConstants[i].name, kFactors[f]),
                      mean_order(judges, choice), ""});
    }
}

void add_held_out(std::vector<Judge>& judges, std::vector<Row>& rows) {
  double now = 0, then = 0, speed_now = 0, speed_then = 0;
  for (std::size_t i = 0; i < judges.size(); ++i) {
    const Choice choice = fitted(judges, static_cast<int>(i));
    const double values[] = {judges[i].order(present()), judges[i].order(choice),
                             judges[i].speed(present()), judges[i].speed(choice)};
    rows.push_back({judges[i].name(), "order, present constants", values[0], ""});
    rows.push_back({judges[i].name(), "order, fitted to the other spaces", values[1], ""});
    rows.push_back({judges[i].name(), "speed of the first choice, present", values[2], ""});
    rows.push_back({judges[i].name(), "speed of the first choice, fitted", values[3], ""});
    now += values[0], then += values[1], speed_now += values[2], speed_then += values[3];
  }
  const auto count = static_cast<double>(judges.size());
  rows.push_back({"all", "order, present constants", now / count, ""});
  rows.push_back({"all", "order, fitted to the other spaces", then / count, ""});
  rows.push_back({"all", "speed of the first choice, present", speed_now / count, ""});
  rows.push_back({"all", "speed of the first choice, fitted", speed_then / count, ""});
}

}  // namespace

Result<std::vector<Row>> constants(const Settings& settings) {
  auto judges = LATHE_TRY(judges_of(settings.tune.empty() ? all_recordings() : settings.tune));
  if (judges.size() < 2)
    return fail(ErrorKind::kInvalidArgument,
                "at least two recordings are needed; run it where bench/spaces is, or name them "
                "behind --");
  std::vector<Row> rows;
  add_alone(judges, rows);
  const Choice best = fitted(judges);
  for (std::size_t i = 0; i < std::size(kConstants); ++i)
    rows.push_back({"all", fmt::format("fitted, times the present {}", kConstants[i].name),
                    kFactors[best[i]], ""});
  add_held_out(judges, rows);
  return rows;
}

}  // namespace lathe::bench
