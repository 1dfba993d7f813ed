// Algorithm 1 of the paper as a resumable run over the store.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/target.h"
#include "tuner/measure/measure.h"
#include "tuner/model/model.h"
#include "tuner/search/search.h"
#include "tuner/space/space.h"
#include "tuner/store/store.h"
#include "tuner/tune/options.h"
#include "tuner/tune/race.h"

namespace lathe::tune {

// What a run does. A summary lists its phases in this order.
enum class Phase { kMeasuring, kRacing, kSearching, kStarting, kTraining };
std::string_view name_of(Phase phase);  // "measuring"

// What progress lines, logs and reports subscribe to.
struct Progress {
  int trials = 0, failed = 0, resumed = 0;  // resumed: found finished in the store
  int wanted = 0;                           // RunOptions::trials
  std::string main_failure;                 // most frequent reason, "" if none failed
  double best_seconds = 0;                  // 0: none yet
  double trials_per_second = 0, elapsed_seconds = 0, left_seconds = 0;
  Phase phase = Phase::kStarting;
  std::string doing;  // in words, where the phase's name does not tell all
  std::string shown() const { return doing.empty() ? std::string(name_of(phase)) : doing; }
};
// Called at least twice a second, from one thread at a time, not always the caller's; not after
// tune() returned.
using Listener = std::function<void(const Progress&)>;

struct Summary {
  std::string workload, target;
  std::int64_t run = 0;
  int trials = 0, failed = 0, wrong = 0, resumed = 0;
  std::string main_failure;
  double seconds = 0;  // wall
  double flops = 0;
  // As the store has it in the end, where several tuners may be at work: ok() false if nothing
  // worked.
  store::Record best;
  std::optional<RaceStory> race;  // this command's, where it came to an end
  bool interrupted = false, exhausted = false;
  // The time ended before there was a reference, so that no trial of this command was verified.
  bool unverified = false;
  // by all processes together
  struct {
    double build = 0, run = 0, model = 0, search = 0;
  } spent;
  std::map<Phase, double> phases;  // their shares of `seconds`
  // The time to believe: of the final race where there was one. 0 if nothing worked.
  double best_seconds() const {
    return !best.ok() ? 0 : best.raced ? best.race_seconds : best.seconds;
  }
};

// What is tuned, as Algorithm 1 sees it: a domain, and for a configuration its trace, its JSON and
// its features.
class Subject {
 public:
  virtual ~Subject() = default;
  virtual const space::Domain& domain() const = 0;
  virtual std::string workload() const = 0;  // canonical key
  virtual double flops() const = 0;
  virtual std::string space_hash() const = 0;  // hex
  // Where a search begins, at least one; the first is what a person would start from.
  virtual std::vector<space::Config> starts() const = 0;
  virtual schedule::Trace trace(const space::Config& config) const = 0;
  virtual Json trace_json(const space::Config& config) const = 0;
  virtual Json to_json(const space::Config& config) const = 0;
  // in its form (space::Domain::canonical)
  virtual Result<space::Config> from_json(const Json& json) const = 0;
  virtual int feature_width() const = 0;
  virtual void features(std::span<const space::Config> configs, std::span<float> out,
                        int jobs) const = 0;
  // Scores that need no measurement, thread-safe; null if there are none.
  virtual search::Scorer* prior() const { return nullptr; }
  // Whether the features' last column tells the same as prior(): feature::tells_cycles.
  virtual bool tells_cycles() const { return false; }
};
std::vector<std::string> known_features();
// With the features that the model of the options sees; the machine's caches are what the analytic
// prior reckons with.
Result<std::unique_ptr<Subject>> make_subject(const space::Space& space, const Options& options,
                                              const Target& target, const Fingerprint& machine);

// The parts of a run by name; the error lists the known names. Null for "none" and "analytic",
// which do not learn.
std::vector<std::string> known_searchers();
std::vector<std::string> known_models();
std::vector<std::string> known_acquisitions();
using SearcherMaker = std::function<std::unique_ptr<search::Searcher>(
    const space::Domain&, search::Scorer&, std::uint64_t seed)>;
Result<SearcherMaker> searcher_named(const std::string& name, const search::Options& options);
Result<SearcherMaker> searcher_of(const Options& options);  // with the jobs of the run
// `tells_cycles`: as of the subject. Then a model that ranks begins from what the features tell,
// and learns what that leaves over.
Result<std::unique_ptr<model::CostModel>> model_of(const Options& options, bool tells_cycles);
// Whether the options' model begins so.
bool begins_from_cycles(const Options& options, bool tells_cycles);
bool learns_from_trees(const Options& options);  // its model is a TreeGRU
// What the model of these options sees of a program: ModelOptions::features, or "tree" where it
// learns from trees.
std::string features_of(const Options& options);
// Of the model that learns; none where none does.
std::optional<model::Objective> objective_of(const Options& options);

// Runs until the trials, the time or the space are used up, or stop() says so. Every finished trial
// is in the store before the next batch is proposed; what was proposed and not finished is measured
// first when the run goes on.
Result<Summary> tune(const Subject& subject, measure::Measurer& measurer, store::Store& store,
                     const Target& target, const Options& options,
                     const SearcherMaker& make_searcher, model::CostModel* model,
                     const Listener& listener, const std::function<bool()>& stop);

// What is best without measuring anything: of what a search finds by the model's scores, and the
// default configuration. That one where nothing scores: a model that learns knows nothing without
// `options.model.global` or `options.model.prior`.
Result<space::Config> predict(const Subject& subject, const Options& options);

// The same over a derived space, with the parts that `options` names.
Result<Summary> tune(const space::Space& space, measure::Measurer& measurer, store::Store& store,
                     const Target& target, const Options& options, const Listener& listener,
                     const std::function<bool()>& stop);

}  // namespace lathe::tune
