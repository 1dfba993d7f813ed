// The race: candidates take turns round by round, so that a disturbance hits all of them alike.
// Every round also measures the machine's own speed.
#include <algorithm>
#include <iterator>
#include <numeric>
#include <thread>
#include <utility>

#include "base/log.h"
#include "base/statistics.h"
#include "tuner/measure/track.h"

namespace lathe::measure {
namespace {

constexpr double kRoundSeconds = 0.004;  // timed, for each candidate and round
constexpr int kProbes = 10;              // runs of the peak kernel in a round
constexpr int kRoundsALoad = 3;          // after which all are loaded anew
// How far the tensors are shifted in loads, in turn. A caller's begin anywhere: at a page, 16 bytes
// behind it as malloc leaves them, or at a multiple of 64.
constexpr std::int64_t kShifts[] = {0, 4080, 4032, 1360};
constexpr int kShortPauses = 15, kLongPauses = 7;
constexpr double kNap = 0.05;         // seconds between two looks at a stop flag
constexpr double kLongestRest = 0.4;  // seconds between two rounds on a disturbed machine

double race_seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Entrant {
  const Candidate* candidate = nullptr;
  Built built;
  std::int64_t id = 0;
  double limit = 0;
  int builds = 0, runs = 0;   // that ended with the death of a helper
  double wall = 0, lost = 0;  // seconds of all calls, and what the scheduler took of them
  double after_1ms = 0, after_20ms = 0;
  Called called() const { return {after_1ms, after_20ms, wall > 0 ? lost / wall : 0}; }
};

class Race {
 public:
  Race(Task& task, const std::vector<Candidate>& candidates, const RaceOptions& options)
      : task_(task),
        options_(options),
        loop_(task.loop()),
        entrants_(candidates.size()),
        track_(candidates.size(), options.defender) {
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      entrants_[i].candidate = &candidates[i];
      entrants_[i].id = task.session->next_id++;
      entrants_[i].limit = task.session->options.timeout_seconds;
    }
    known_ = options.known;
    if (known_.sentinel_seconds == 0) known_.sentinel_seconds = task.first().sentinel.fastest();
  }

  RaceOutcome run() {
    build_all();
    run_as_a_program(true);
    for (std::size_t i = 0; i < entrants_.size() && !stopped(); ++i) load(i);
    if (!stopped()) race();
    measure_pauses();
    if (load_ > 0) task_.first().runner->move(0);
    run_as_a_program(false);
    RaceOutcome out = track_.outcome(known_);
    for (std::size_t i = 0; i < entrants_.size(); ++i) {
      out.racers[i].loads_per_multiply = entrants_[i].built.loads_per_multiply;
      out.racers[i].called = entrants_[i].called();
      task_.first().runner->forget(entrants_[i].id);
    }
    return out;
  }

 private:
  bool stopped() {
    if (!stopped_ && options_.stop && options_.stop()) stopped_ = true;
    return stopped_;
  }

  void finish(Helper& helper) {
    loop_.finish(helper, [this] { return stopped(); });
  }

  // What is told last is what a caller gets: several threads share the machine with what else runs
  // on it, as those of a program do. One is pinned to keep the noise away, which slows none.
  void run_as_a_program(bool begins) {
    if (task_.session->target.threads() < 2 || task_.first().elsewhere) return;
    std::vector<int> cpus = task_.session->gate.timed;
    if (begins)
      cpus.insert(cpus.end(), task_.session->gate.others.begin(), task_.session->gate.others.end());
    task_.first().runner->place(std::move(cpus), !begins);
  }

  void build_all() {
    std::vector<std::size_t> waiting(entrants_.size());
    std::iota(waiting.rbegin(), waiting.rend(), 0);
    for (;;) {
      bool busy = false;
      for (BuilderClient* builder : task_.session->all_builders()) {
        if (!builder->busy() && !waiting.empty()) {
          build(*builder, waiting.back(), waiting);
          waiting.pop_back();
        }
        busy |= builder->busy();
      }
      const bool late = options_.limit > 0 && race_seconds_since(start_) > options_.limit / 2;
      if ((!busy && waiting.empty()) || late || stopped()) break;
      loop_.wait(kNap);
    }
    for (BuilderClient* builder : task_.session->all_builders())
      if (builder->busy()) builder->helper().stop();
    for (std::size_t i = 0; i < entrants_.size(); ++i)
      if (entrants_[i].built.library.empty()) track_.leave_out(i);
  }

  void build(BuilderClient& builder, std::size_t i, std::vector<std::size_t>& waiting) {
    Entrant& entrant = entrants_[i];
    builder.build_anew(schedule::to_json(entrant.candidate->trace).dump(), entrant.limit,
                       [=, &entrant, &builder, &waiting, this](Result<Built> built) {
                         if (built) {
                           entrant.built = std::move(*built);
                           return;
                         }
                         const bool died = !builder.helper().running();
                         if (died && entrant.builds++ == 0) waiting.push_back(i);
                         else take_out(i, built.error());
                       });
  }

  void take_out(std::size_t i, const Error& error) {
    if (is_of_environment(error)) track_.leave_out(i);
    else track_.fail(i);
  }

  void load(std::size_t i) {
    Entrant& entrant = entrants_[i];
    if (!track_.runs(i)) return;
    bool again = false;
    task_.first().runner->load(entrant.id, entrant.built, entrant.limit,
                               [&](Result<runner::Loaded> loaded) {
                                 again = !loaded && may_run_again(i, loaded.error());
                                 if (!loaded && !again) take_out(i, loaded.error());
                                 if (loaded && loaded->wrong) track_.fail(i);
                                 if (loaded) entrant.limit += 4 * loaded->first_seconds;
                               });
    finish(task_.first().runner->helper());
    if (again) load(i);
  }

  // The death of a runner may have other reasons than the program in it: it counts the second time.
  bool may_run_again(std::size_t i, const Error& error) {
    const bool died = !task_.first().runner->helper().running();
    return died && error.kind != ErrorKind::kTimeout && entrants_[i].runs++ == 0;
  }

  void visit(std::size_t i, double peak) {
    Entrant& entrant = entrants_[i];
    if (!track_.runs(i)) return;
    const runner::VisitRequest visit{
        .id = entrant.id, .min_seconds = kRoundSeconds, .cache = options_.cache};
    bool again = false;
    task_.first().runner->visit(entrant.built, visit, entrant.limit,
                                [this, i, peak, &again](const Result<runner::Visited>& visited) {
                                  if (visited) keep(i, peak, *visited);
                                  else if (may_run_again(i, visited.error())) again = true;
                                  else take_out(i, visited.error());
                                });
    finish(task_.first().runner->helper());
    if (again) this->visit(i, peak);
  }

  void keep(std::size_t i, double peak, const runner::Visited& visited) {
    const bool counts = !visited.seconds.empty();
    if (!counts && visited.disturbed.empty()) return track_.fail(i);
    const double sentinel = std::min(visited.sentinel_before, visited.sentinel_after);
    log(LogLevel::kDebug,
        "race: entrant {}: {} calls count, sentinel {:.2f} then {:.2f} of {:.2f} us", i,
        visited.seconds.size(), visited.sentinel_before * 1e6, visited.sentinel_after * 1e6,
        known_.sentinel_seconds * 1e6);
    entrants_[i].wall += visited.wall_seconds;
    entrants_[i].lost += visited.lost_seconds;
    track_.add(i, {.seconds = quantile(counts ? visited.seconds : visited.disturbed, 0.5),
                   .counts = counts,
                   .speed = {peak, sentinel},
                   .load = load_});
  }

  // Of those that may have won: the fastest, and the defender.
  void measure_pauses() {
    const RaceOutcome so_far = track_.outcome(known_);
    std::optional<std::size_t> fastest;
    for (std::size_t i = 0; i < entrants_.size(); ++i) {
      const Racer& racer = so_far.racers[i];
      if (!racer.ran || racer.failed) continue;
      if (!fastest || racer.seconds < so_far.racers[*fastest].seconds) fastest = i;
    }
    for (const auto& i : {fastest, options_.defender == fastest ? std::nullopt : options_.defender})
      if (i && track_.runs(*i)) {
        entrants_[*i].after_1ms = after_pauses(*i, 1e-3, kShortPauses);
        entrants_[*i].after_20ms = after_pauses(*i, 20e-3, kLongPauses);
      }
  }

  double after_pauses(std::size_t i, double pause, int count) {
    const Entrant& entrant = entrants_[i];
    const double limit = count * pause + entrant.limit;
    if (stopped() ||
        (options_.limit > 0 && race_seconds_since(start_) + count * pause > options_.limit))
      return 0;
    const runner::VisitRequest visit{
        .id = entrant.id, .cache = options_.cache, .pause_seconds = pause, .pauses = count};
    double seconds = 0;
    task_.first().runner->visit(entrant.built, visit, limit,
                                [&](const Result<runner::Visited>& visited) {
                                  if (visited && !visited->seconds.empty())
                                    seconds = quantile(visited->seconds, 0.5);
                                });
    finish(task_.first().runner->helper());
    return seconds;
  }

  // The next visit of each finds a runner that has neither its code nor the inputs, and loads it
  // into other memory.
  void load_anew() {
    task_.first().runner->move(kShifts[static_cast<std::size_t>(++load_) % std::size(kShifts)]);
    rounds_of_load_ = 0;
  }

  // Whether a winner can be told: a program that is fast in one piece of memory need not be so in
  // another.
  bool has_loads() const {
    const bool last_counts = rounds_of_load_ == kRoundsALoad;
    return entrants_.size() < 2 ||
           static_cast<std::size_t>(load_ + (last_counts ? 1 : 0)) >= kFewestLoads;
  }

  // The peak in FLOP/s; 0 where it cannot be measured, which is not tried again.
  double probe() {
    if (peak_unknown_) return 0;
    const auto peak = measure_peak(task_, kProbes, [this] { return stopped(); });
    peak_unknown_ = !peak;
    return peak.value_or(0);
  }

  void race() {
    const auto start = Clock::now();
    double before = 0;
    std::vector<std::size_t> order(entrants_.size());
    std::iota(order.begin(), order.end(), 0);
    for (double rest = kNap; !stopped();) {
      if (rounds_of_load_ == kRoundsALoad && entrants_.size() > 1) load_anew();
      shuffle(order, task_.rng);
      const auto begin = Clock::now();
      const double peak = probe();
      for (const std::size_t i : order)
        if (!stopped()) visit(i, peak);
      const double visits = race_seconds_since(begin);
      ++rounds_of_load_;
      track_.retire();
      const Speed known = track_.fastest(known_);
      log(LogLevel::kDebug, "race: a round ended after {:.2f} s, peak {:.1f} GFLOP/s of {:.1f}",
          race_seconds_since(start), peak / 1e9, known.peak_flops / 1e9);
      const double past = race_seconds_since(start);
      const double round = past - std::exchange(before, past);
      if (options_.limit > 0 && race_seconds_since(start_) + round > options_.limit) return;
      if (track_.all_have(kFewestRounds, true, known)) {
        const bool clear = track_.winner_is_clear(known) || track_.is_settled(known);
        const bool certain = clear && has_loads() && track_.defender_is_judged();
        if (past >= options_.seconds || certain) return;
      } else if (track_.all_have(kFewestRounds, false, known)) {
        if (past >= std::max(options_.seconds, options_.patience)) return;
        // To wait costs the neighbours less than to race for nothing. But all rounds may be what
        // counts in the end.
        for (double rested = 0; rested < std::min(rest, visits) && !stopped(); rested += kNap)
          std::this_thread::sleep_for(std::chrono::duration<double>(kNap));
        rest = std::min(kLongestRest, 2 * rest);
      }
    }
  }

  Task& task_;
  const RaceOptions& options_;
  EventLoop loop_;
  std::vector<Entrant> entrants_;
  Track track_;
  Speed known_;
  const Clock::time_point start_ = Clock::now();
  int load_ = 0, rounds_of_load_ = 0;
  bool stopped_ = false, peak_unknown_ = false;
};

}  // namespace

Result<RaceOutcome> race(Task& task, const std::vector<Candidate>& candidates,
                         const RaceOptions& options) {
  if (candidates.empty()) return RaceOutcome{};
  if (!LATHE_TRY(ensure_reference(task, options.stop)))
    return RaceOutcome{.racers = std::vector<Racer>(candidates.size())};
  const KeepOff keep_off(task.session->gate);
  return Race(task, candidates, options).run();
}

}  // namespace lathe::measure
