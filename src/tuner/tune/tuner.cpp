// Around Algorithm 1 (explorer.h): the store, the measurer, the time.
#include "tuner/tune/tuner.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <utility>

#include "tuner/tune/explorer.h"
#include "tuner/tune/final_race.h"
#include "tuner/tune/reporter.h"
#include "tuner/tune/state.h"

namespace lathe::tune {
namespace {

// Seconds beyond the time of a run. Short times end before any reference is there.
constexpr double kPatienceForReference = 3;

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

class BatchTuner final : public Tuner {
 public:
  BatchTuner(const Subject& subject, measure::Measurer& measurer, store::Store& store,
             const Target& target, const Options& options, model::CostModel* model,
             const Listener& listener, const std::function<bool()>& stop)
      : subject_(subject),
        measurer_(measurer),
        store_(store),
        target_(target),
        options_(options),
        model_(model),
        listener_(listener),
        stop_(stop),
        reporter_(options_, listener_),
        state_(subject, store, target_, measurer.machine(), options_, model != nullptr) {}

  Status begin(const SearcherMaker& make_searcher) {
    LATHE_TRY_STATUS(state_.load([this](const store::Record& record) { count(record, true); }));
    report_best();
    explorer_ = std::make_unique<Explorer>(subject_, model_, state_.known(), options_,
                                           make_searcher, state_.trials());
    explorer_->stop_when([this] { return stopped() || left() < left_to_measure_; });
    explorer_->tell();
    begun_ = state_.pending();
    for (const auto& proposal : begun_.proposals) explorer_->exclude({&proposal.config, 1});
    return {};
  }

  bool more() const override { return !used_up() && !late() && !stopped(); }

  Status step(int most, double seconds) override {
    most_ = most;
    end_of_step_ = reporter_.elapsed() + seconds;
    const Status done = take_step();
    end_of_step_ = kInfinity;
    return done;
  }

  Status race(double seconds) override {
    if (options_.run.seconds > 0)
      seconds = std::min(seconds, options_.run.seconds - reporter_.elapsed());
    if (!stopped())
      summary_.race = LATHE_TRY(final_race(state_, subject_, measurer_, options_, reporter_,
                                           seconds, [this] { return stopped(); }));
    return {};
  }

  Result<Summary> summary() override {
    summary_.interrupted = stopped();
    LATHE_TRY_STATUS(store_.still_there());
    return summarize();
  }

 private:
  Status take_step() {
    if (used_up()) return {};
    Batch batch = std::exchange(begun_, {});
    if (batch.proposals.empty()) batch = LATHE_TRY(propose());
    if (stopped() || (batch.proposals.empty() && late())) return {};
    summary_.exhausted = batch.proposals.empty();
    if (summary_.exhausted) return {};
    auto results = LATHE_TRY(measure(batch));
    in_first_batch_ = false;
    state_.learn(results);
    explorer_->tell();
    report_best();
    return {};
  }

  // Once stopped it stays so, whatever the callback says next.
  bool stopped() const {
    if (!stopped_ && stop_ && stop_()) stopped_ = true;
    return stopped_;
  }
  bool used_up() const { return summary_.exhausted || state_.trials() >= options_.run.trials; }
  // Seconds of the step, and before the race. It is part of the time, but gets no more than a fifth
  // of it.
  double left() const {
    const double seconds = options_.run.seconds;
    double end = end_of_step_;
    if (seconds > 0)
      end = std::min(end, seconds - std::min(race_time(options_, seconds), seconds / 5));
    return end - reporter_.elapsed();
  }

  // However little time there is, one program is found: the first batch goes on until one ran. But
  // what computes the reference may be at work for minutes, and is not waited for.
  bool late() const {
    if (left() > 0) return false;
    const bool in_vain = measurer_.awaits_reference() &&
                         reporter_.elapsed() > options_.run.seconds + kPatienceForReference;
    return fastest_so_far_ > 0 || !in_first_batch_ || in_vain;
  }

  // Trials that a step may still make.
  int room() const { return std::min(most_, options_.run.trials - state_.trials()); }

  // Batches grow with what is known, up to b.
  int batch_size() const {
    const int grown = std::max(options_.search.first_batch, state_.trials() / 2);
    return std::min({options_.search.batch, grown, room()});
  }

  Result<Batch> propose() {
    const double model_seconds = LATHE_TRY(train());
    if (stopped() || late()) return Batch{};
    reporter_.phase(Phase::kSearching);
    const Stopwatch watch;
    Batch batch;
    std::vector<space::Config> configs = first_candidates();
    left_to_measure_ = left() / 2;  // a search takes no more than what it leaves
    if (configs.empty()) configs = LATHE_TRY(explorer_->ask(batch_size()));
    const std::vector<double> scores = LATHE_TRY(explorer_->scores(configs));
    for (std::size_t i = 0; i < configs.size(); ++i)
      batch.proposals.push_back(
          {0, std::move(configs[i]), std::isfinite(scores[i]) ? scores[i] : 0.0});
    batch.search_seconds = watch.seconds();
    batch.model_seconds = model_seconds;
    summary_.spent.search += batch.search_seconds;
    // A search that was interrupted is begun anew by the run that goes on.
    if (!batch.proposals.empty() && !stopped()) LATHE_TRY_STATUS(state_.propose(batch));
    return batch;
  }

  // The first trial of a run is the configuration a person would start from. Others that may be as
  // good follow, for a model cannot rank what it never saw. They are the first batch, since they
  // need no search.
  std::vector<space::Config> first_candidates() {
    if (state_.trials() > 0 || !options_.search.default_first) return {};
    std::vector<space::Config> starts = subject_.starts();
    std::erase_if(starts, [&](const space::Config& config) {
      const auto& measured = state_.known().measured;
      return std::ranges::find(measured, config, &search::Measured::config) != measured.end();
    });
    const int most = std::max(1, std::min(batch_size(), options_.search.first_batch / 2));
    if (std::cmp_greater(starts.size(), most)) starts.resize(static_cast<std::size_t>(most));
    explorer_->exclude(starts);
    return starts;
  }

  // Seconds spent.
  Result<double> train() {
    if (!explorer_->outdated()) return 0.0;
    reporter_.phase(Phase::kTraining);
    const Stopwatch watch;
    LATHE_TRY_STATUS(explorer_->train());
    summary_.spent.model += watch.seconds();
    return watch.seconds();
  }

  // Measures a batch; each trial is in the store before the next one is heard of. Less than all
  // comes back when stopped.
  Result<std::vector<store::Record>> measure(const Batch& batch) {
    reporter_.phase(Phase::kMeasuring);
    std::map<int, const Proposal*> by_tag;
    std::vector<measure::Candidate> candidates;
    for (const auto& proposal : batch.proposals) {
      if (static_cast<int>(candidates.size()) == room()) break;
      by_tag[proposal.index] = &proposal;
      candidates.push_back({proposal.index, subject_.trace(proposal.config), proposal.config});
    }
    std::mutex mutex;
    std::vector<store::Record> results;
    Status stored;
    const auto done = [&](const measure::Outcome& outcome) {
      const std::lock_guard lock(mutex);
      const auto proposal = by_tag.find(outcome.tag);
      LATHE_CHECK(proposal != by_tag.end(),
                  "the measurer answered about a candidate it was not given");
      store::Record record = record_of(outcome, *proposal->second, batch);
      by_tag.erase(proposal);
      if (!stored) return;
      stored = state_.add(record);
      if (!stored) return;
      count(record, false);
      results.push_back(std::move(record));
    };
    const auto halt = [&] {
      const std::lock_guard lock(mutex);
      return !stored || stopped() || late();
    };
    const double best = state_.best() == nullptr ? kInfinity : state_.best()->seconds;
    const auto halt_and_tell = [&] {
      reporter_.await_reference(measurer_.awaits_reference());
      return halt();
    };
    LATHE_TRY_STATUS(measurer_.measure(std::move(candidates), best, done, halt_and_tell));
    summary_.unverified = measurer_.awaits_reference() && !stopped();
    LATHE_TRY_STATUS(stored);
    if (!by_tag.empty() && !halt())
      return fail(ErrorKind::kInternal,
                  "the measurer lost {} candidates; run the same command again", by_tag.size());
    return results;
  }

  store::Record record_of(const measure::Outcome& outcome, const Proposal& proposal,
                          const Batch& batch) const {
    store::Record r;
    const double size = static_cast<double>(batch.proposals.size());
    r.run = state_.run().id;
    r.batch = batch.number;
    r.index = proposal.index;
    r.workload = state_.run().workload;
    r.target = state_.run().target;
    r.cache_mode = state_.run().cache_mode;
    r.fingerprint = outcome.machine.text();
    r.cpu = outcome.machine.cpu();
    r.trace = subject_.trace_json(proposal.config);
    r.config = subject_.to_json(proposal.config);
    r.space_hash = state_.run().space_hash;
    r.codegen_version = options_.run.codegen_version;
    r.program_hash = outcome.program_hash;
    for (const auto& visit : outcome.visits)
      r.visits.push_back({static_cast<int>(r.visits.size()), visit.seconds, visit.sentinel_seconds,
                          visit.disturbed});
    r.dropped_early = outcome.dropped_early;
    r.spills = outcome.spills;
    r.registers = outcome.registers;
    r.shared_bytes = outcome.shared_bytes;
    r.numerical_error = outcome.numerical_error;
    r.predicted_score = proposal.predicted_score;
    r.build_seconds = outcome.build_seconds;
    r.run_seconds = outcome.run_seconds;
    r.model_seconds = batch.model_seconds / size;
    r.search_seconds = batch.search_seconds / size;
    if (outcome.error) {
      r.error_kind = name_of(outcome.error->kind);
      r.error_message = outcome.error->message;
      r.error_place = outcome.error->place;
    } else {
      r.seconds = outcome.seconds;
      LATHE_CHECK(r.seconds > 0 && std::isfinite(r.seconds),
                  "the measurer answered with no time and no error");
    }
    return r;
  }

  void count(const store::Record& record, bool resumed) {
    reporter_.trial(record, resumed);
    summary_.wrong += record.error_kind == name_of(ErrorKind::kWrongAnswer);
    if (resumed) return;
    summary_.spent.build += record.build_seconds;
    summary_.spent.run += record.run_seconds;
    if (record.ok() && state_.comparable(record) &&
        (fastest_so_far_ == 0 || record.seconds < fastest_so_far_)) {
      fastest_so_far_ = record.seconds;
      reporter_.best(fastest_so_far_);
    }
  }

  void report_best() {
    const store::Record* best = state_.best();
    if (best == nullptr) return;
    fastest_so_far_ = best->raced ? best->race_seconds : best->seconds;
    reporter_.best(fastest_so_far_);
  }

  Result<Summary> summarize() {
    const auto best = LATHE_TRY(state_.best_on_record());
    if (best) summary_.best = *best;
    else summary_.best.error_kind = name_of(ErrorKind::kNotFound);
    if (best) reporter_.best(summary_.best_seconds());
    const Progress progress = reporter_.now();
    summary_.workload = state_.run().workload;
    summary_.target = state_.run().target;
    summary_.run = state_.run().id;
    summary_.trials = progress.trials;
    summary_.failed = progress.failed;
    summary_.resumed = progress.resumed;
    summary_.main_failure = progress.main_failure;
    summary_.seconds = progress.elapsed_seconds;
    summary_.phases = reporter_.phases();
    summary_.flops = subject_.flops();
    return summary_;
  }

  const Subject& subject_;
  measure::Measurer& measurer_;
  store::Store& store_;
  const Target target_;
  const Options options_;
  model::CostModel* model_;
  const Listener listener_;
  const std::function<bool()> stop_;
  mutable std::atomic<bool> stopped_ = false;
  Reporter reporter_;
  int most_ = 0;                    // trials of the step
  double end_of_step_ = kInfinity;  // seconds of the run
  State state_;
  std::unique_ptr<Explorer> explorer_;
  double left_to_measure_ = 0;  // seconds, when a search has to end
  Batch begun_;                 // by an earlier process, and to be measured first
  Summary summary_;
  bool in_first_batch_ = true;  // of this process
  double fastest_so_far_ = 0;   // seconds; 0: nothing has run yet
};

}  // namespace

Result<std::unique_ptr<Tuner>> Tuner::make(const Subject& subject, measure::Measurer& measurer,
                                           store::Store& store, const Target& target,
                                           const Options& options,
                                           const SearcherMaker& make_searcher,
                                           model::CostModel* model, const Listener& listener,
                                           const std::function<bool()>& stop) {
  LATHE_TRY_STATUS(check(options));
  auto tuner = std::make_unique<BatchTuner>(subject, measurer, store, target, options, model,
                                            listener, stop);
  LATHE_TRY_STATUS(tuner->begin(make_searcher));
  return tuner;
}

}  // namespace lathe::tune
