// D of Algorithm 1 in the store: what this run and earlier ones measured, and what was proposed and
// not finished. Internal to this room.
#pragma once

#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tuner/tune/known.h"
#include "tuner/tune/tune.h"

namespace lathe::tune {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A proposed candidate with its place in the run.
struct Proposal {
  int index = 0;
  space::Config config;
  double predicted_score = 0;
};

// A batch as it was proposed. Kept in the store until the next one replaces it, so that a killed
// run measures the rest of it first.
struct Batch {
  int number = 0;
  std::vector<Proposal> proposals;
  double search_seconds = 0, model_seconds = 0;  // spent on proposing it
};

class State {
 public:
  // `machine`: whose times the run's are.
  State(const Subject& subject, store::Store& store, const Target& target,
        const Fingerprint& machine, const Options& options, bool learns);

  // Opens the run and reads everything that concerns it. `resumed` is called for each finished
  // trial of the run.
  Status load(const std::function<void(const store::Record&)>& resumed);

  const store::Run& run() const { return run_; }
  int trials() const { return trials_; }
  const Fingerprint& fingerprint() const { return fingerprint_; }
  // What of the last batch is not finished; empty if all is.
  const Batch& pending() const { return pending_; }
  // Of this run's trials, then of earlier runs'.
  Known& known() { return known_; }
  // Whether its time compares with this run's: of the same machine and code generator.
  bool comparable(const store::Record& record) const;
  // Fastest working record whose time compares with this run's: here, now, same code generator.
  // Null if none.
  const store::Record* best() const;
  // What the store calls best, whoever measured it: of this workload, target and cache mode here,
  // by this code generator. Of this run alone where the options are fresh.
  Result<std::optional<store::Record>> best_on_record() const;
  // The best on record, where it is of this space, the first of the subject's starts, then the
  // fastest measured, at most `count`, one a configuration; after these two none that took more
  // than `hopeless` times as long as the fastest, as on a machine at its quickest.
  Result<std::vector<store::Record>> finalists(int count, double hopeless) const;
  // The first of the subject's starts: what there is without tuning.
  const Json& start() const { return start_; }
  store::Store& store() { return store_; }

  // Numbers a batch, gives its proposals their indices and makes it durable.
  Status propose(Batch& batch);
  // A finished trial: durable when it returns.
  Status add(store::Record& record);
  // Adds the batch's results to what is known, in order of index, whatever order they were measured
  // in.
  void learn(std::vector<store::Record>& finished);

 private:
  Status load_run(const std::function<void(const store::Record&)>& resumed);
  Status load_history();
  Status load_pending();
  void remember(const store::Record& record);
  int group_of(const store::Record& record);

  const Subject& subject_;
  store::Store& store_;
  const Target& target_;
  const Options& options_;
  const Fingerprint fingerprint_;
  store::Run run_;
  std::shared_ptr<const void> claim_;  // of the run
  int trials_ = 0, next_index_ = 0, next_batch_ = 0;
  std::set<int> taken_;  // indices of the run's records, comparable or not
  Batch pending_;
  Json start_;
  std::vector<store::Record> fastest_;  // comparable, working, by standing; a few
  Known known_;
  std::map<std::string, int> groups_;  // times compare within one: cpu and code generator
};

}  // namespace lathe::tune
