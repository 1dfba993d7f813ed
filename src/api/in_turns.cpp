#include "api/in_turns.h"

#include <sched.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/clock.h"
#include "base/statistics.h"

namespace lathe::api {
namespace {

constexpr int kFewestCalls = 5;
constexpr std::size_t kMostTimes = 4'000'000;  // that are kept

// Keeps the calling thread where it is.
class OnOneProcessor {
 public:
  OnOneProcessor() {
    const int cpu = ::sched_getcpu();
    if (cpu < 0 || cpu >= CPU_SETSIZE || ::sched_getaffinity(0, sizeof before_, &before_) != 0)
      return;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(cpu), &set);
    pinned_ = ::sched_setaffinity(0, sizeof set, &set) == 0;  // a container may refuse
  }
  ~OnOneProcessor() {
    if (pinned_) ::sched_setaffinity(0, sizeof before_, &before_);
  }
  OnOneProcessor(const OnOneProcessor&) = delete;
  OnOneProcessor& operator=(const OnOneProcessor&) = delete;

 private:
  cpu_set_t before_;
  bool pinned_ = false;
};

// Seconds that reading the clock adds to what is timed.
double clock_cost() {
  std::vector<double> times;
  for (int i = 0; i < 101; ++i) {
    const double begin = seconds_now();
    times.push_back(seconds_now() - begin);
  }
  return quantile(std::move(times), 0.5);
}

using Times = std::vector<double>;

struct RegionTimes {
  struct Phase {
    lathe_body body = nullptr;
    std::int64_t parts = 0;
    std::vector<Times> slices;  // by thread; empty where it has no part
  };
  std::vector<Phase> phases;
};

// The runtime of a program whose slices take turns. The regions of a call come in the same order
// each time.
class TurnsRuntime {
 public:
  explicit TurnsRuntime(int threads) : threads_(threads) {}

  void call(LoadedProgram& program) {
    const lathe_runtime runtime{run_region_entry, this};
    next_ = 0;
    began_alone_ = seconds_now();
    program.call(runtime);
    end_alone(next_);
    ++calls_;
  }
  void forget() {
    regions_.clear();
    alone_.clear();
    calls_ = 0;
  }

  int calls() const { return calls_; }
  std::size_t times_of_call() const {
    std::size_t count = alone_.size();
    for (const RegionTimes& region : regions_)
      for (const auto& phase : region.phases)
        count += static_cast<std::size_t>(std::min<std::int64_t>(threads_, phase.parts));
    return count;
  }
  const std::vector<RegionTimes>& regions() const { return regions_; }
  const std::vector<Times>& alone() const { return alone_; }  // before each region, and at the end

 private:
  static void run_region_entry(void* self, const lathe_phase* phases, std::int64_t count,
                               void* context) {
    static_cast<TurnsRuntime*>(self)->run_region({phases, static_cast<std::size_t>(count)},
                                                 context);
  }

  void run_region(std::span<const lathe_phase> phases, void* context) {
    end_alone(next_);
    if (next_ == regions_.size()) regions_.emplace_back();
    RegionTimes& region = regions_[next_++];
    region.phases.resize(phases.size());
    for (std::size_t p = 0; p < phases.size(); ++p) run_phase(phases[p], region.phases[p], context);
    began_alone_ = seconds_now();
  }

  // Gives out the slices as the pool does.
  void run_phase(const lathe_phase& phase, RegionTimes::Phase& times, void* context) const {
    times.body = phase.body;
    times.parts = phase.count;
    times.slices.resize(static_cast<std::size_t>(threads_));
    for (std::int64_t t = 0; t < threads_; ++t) {
      const std::int64_t begin = phase.count * t / threads_, end = phase.count * (t + 1) / threads_;
      if (begin >= end) continue;
      const double before = seconds_now();
      phase.body(context, begin, end, t);
      times.slices[static_cast<std::size_t>(t)].push_back(seconds_now() - before);
    }
  }

  void end_alone(std::size_t place) {
    if (place >= alone_.size()) alone_.resize(place + 1);
    alone_[place].push_back(seconds_now() - began_alone_);
  }

  int threads_;
  std::size_t next_ = 0;  // region of the call
  double began_alone_ = 0;
  int calls_ = 0;
  std::vector<RegionTimes> regions_;
  std::vector<Times> alone_;
};

// Of one region that ran; phases that have one body are one.
class PhaseSums {
 public:
  PhaseSums(int threads, double clock) : threads_(threads), clock_(clock) {}

  void add(const RegionTimes& region) {
    const auto [first, fresh] = first_phase_.try_emplace(region.phases[0].body, out_.phases.size());
    for (std::size_t p = 0; p < region.phases.size(); ++p) {
      if (fresh)
        out_.phases.push_back(
            {.region = static_cast<int>(first_phase_.size()), .number = static_cast<int>(p) + 1});
      add(region.phases[p], out_.phases[first->second + p]);
    }
  }
  void add_alone(const Times& times) {
    const double seconds = median(times);
    out_.alone += seconds;
    out_.seconds += seconds;
    out_.all += seconds;
  }
  InTurns result(int calls) {
    out_.calls = calls;
    return std::move(out_);
  }

 private:
  double median(const Times& times) const { return std::max(0.0, quantile(times, 0.5) - clock_); }
  void add(const RegionTimes::Phase& times, PhaseTurns& phase) {
    double slowest = 0, all = 0;
    int threads = 0;
    for (const Times& slice : times.slices) {
      if (slice.empty()) continue;
      const double seconds = median(slice);
      slowest = std::max(slowest, seconds);
      all += seconds;
      ++threads;
    }
    ++phase.runs;
    phase.parts = std::max(phase.parts, times.parts);
    phase.threads = std::max(phase.threads, threads);
    phase.slowest += slowest;
    phase.mean += all / threads_;
    out_.seconds += slowest;
    out_.all += all;
  }

  int threads_;
  double clock_;
  std::map<lathe_body, std::size_t> first_phase_;  // of a region, by the code of its first phase
  InTurns out_;
};

}  // namespace

InTurns time_in_turns(LoadedProgram& program, int threads, double seconds) {
  const OnOneProcessor pinned;
  TurnsRuntime runtime(threads);
  runtime.call(program);  // the first call touches its memory
  const std::size_t most = kMostTimes / std::max<std::size_t>(1, runtime.times_of_call());
  runtime.forget();
  const double end = seconds_now() + seconds;
  while (runtime.calls() < kFewestCalls ||
         (seconds_now() < end && static_cast<std::size_t>(runtime.calls()) < most))
    runtime.call(program);
  PhaseSums sums(threads, clock_cost());
  for (const Times& times : runtime.alone()) sums.add_alone(times);
  for (const RegionTimes& region : runtime.regions())
    if (!region.phases.empty()) sums.add(region);
  return sums.result(runtime.calls());
}

}  // namespace lathe::api
