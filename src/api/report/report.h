// What a database of records tells people, as numbers: the contents of `lathe report`, before any
// of it is drawn. Its size depends on what can be seen, not on the number of trials.
#pragma once

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "tuner/store/store.h"

namespace lathe::report {

struct Point {
  double x = 0, y = 0;
};

// Seconds of processes. Several may work at once, so their sum can exceed the time by the clock.
struct Spent {
  double build = 0, run = 0, model = 0, search = 0;
  double sum() const { return build + run + model + search; }
  Spent& operator+=(const Spent& other) {
    build += other.build;
    run += other.run;
    model += other.model;
    search += other.search;
    return *this;
  }
};

// How well successive batches were ordered by the scores with which they were proposed, before they
// were measured.
struct Quality {
  int trials = 0;  // of the run, until the last of these batches
  int judged = 0;  // trials that were scored
  // The share of the pairs in a batch that were in the right order, among those whose times are at
  // least 5 % apart; 0.5 is chance.
  double pairwise_accuracy = 0;
  double rank_correlation = 0;  // 1: perfect, 0: chance
};

// Trials of one run whose times compare: they are of one machine and one code generator.
struct RunReport {
  store::Run run;
  int codegen_version = 0;
  int trials = 0, failed = 0;
  double best_seconds = 0;  // as measured, not raced; 0: no trial succeeded
  // Trials until a program within 5 % of the fastest of all comparable runs; 0: there was none.
  int trials_to_95 = 0;
  // By the clock; pauses between two commands do not count.
  double seconds = 0;
  Spent spent;
  // Speed (Work) of the fastest program so far, over trials and over `seconds`: one point wherever
  // it rose, and one at the end.
  std::vector<Point> over_trials, over_seconds;
  std::vector<Quality> quality;  // empty: the trials were not scored
};

// Tells how often a knob has a value, among the fastest programs and among all.
struct KnobValue {
  std::string text;
  int fast = 0, all = 0;  // programs; those without the knob count nowhere
};
struct Knob {
  std::string name;
  // Between the two distributions: half the sum of |differences|, from 0 (equal) to 1 (apart).
  double distance = 0;
  std::vector<KnobValue> values;  // in their own order; many sizes are joined to ranges
};
struct Knobs {
  int fast = 0, all = 0;    // different configurations that succeeded; 0: too few to tell
  std::vector<Knob> knobs;  // those with more than one value, the most telling first
};

struct Reason {
  std::string message, place;  // place: that of the first
  int count = 0;
};
struct Failure {
  std::string kind;  // name_of(ErrorKind)
  int count = 0;
  // The most frequent ones, most frequent first; `count` includes others
  std::vector<Reason> reasons;
};

// What a call computes, in a unit that fits. Its speed is amount / seconds.
struct Work {
  double amount = 0;
  // "GFLOP/s"; "GB/s" if nothing is computed; "calls/s" for a key that cannot be read.
  std::string unit;
  bool arithmetic = false;  // amount is in GFLOP
  // Share of the arithmetic that must be done: padding is not multiplied.
  double done = 1;
  double gigabytes = 0;  // inputs read once, outputs written once; 0: not known
  double speed(double seconds) const { return seconds > 0 ? amount / seconds : 0; }
};

struct Best {
  store::Record record;
  double spread = 0;  // learn::spread_of
  // The schedule's steps, and the program as `lathe show --what scheduled` prints it.
  std::string trace, program;
  // Why the schedule does not apply any more; `program` is then empty.
  std::string problem;
  double seconds() const { return record.raced ? record.race_seconds : record.seconds; }
};

// A workload on a target and machine, with caches in one state.
struct WorkloadReport {
  std::string key, target, cpu;
  CacheMode cache_mode = CacheMode::kWarm;
  std::string fingerprint;  // of the machine, as last recorded
  // "C6" if the paper names it, else the expression without sizes.
  std::string title;
  // Without the sizes of iterators: "C[i,j] = ...", "f32 A 31x37, const B 31x29 ...".
  std::string expression, shapes;
  Work work;
  // Of the machine on the target's threads, as measured; 0: unknown.
  double peak_flops = 0;
  // The bytes a second that the machine moves when it only reads and writes as much; 0: unknown.
  double bandwidth = 0;
  int trials = 0, failed = 0, wrong = 0;
  std::string latest;        // time of the last trial
  std::optional<Best> best;  // none: no trial succeeded
  // Of the first trial, with the default schedule; 0: it failed or is not known.
  double first_seconds = 0;
  std::vector<RunReport> runs;    // in the order they began
  Knobs knobs;                    // of the latest code generator's trials
  std::vector<Failure> failures;  // most frequent first

  // Share of the peak, by the operations that must be done; 0 if the peak is not known or nothing
  // is computed.
  double peak_share(double seconds) const {
    return work.arithmetic && peak_flops > 0 ? work.speed(seconds) * work.done * 1e9 / peak_flops
                                             : 0;
  }
  // The machine reaches at least what a program reaches.
  double reached_bandwidth(double seconds) const {
    return std::max(bandwidth, work.gigabytes * 1e9 / seconds);
  }
  // Share of the bandwidth; 0 if that is not known.
  double bandwidth_share(double seconds) const {
    return bandwidth > 0 && seconds > 0
               ? work.gigabytes * 1e9 / seconds / reached_bandwidth(seconds)
               : 0;
  }
};

struct Report {
  std::vector<WorkloadReport> workloads;  // the last one tuned comes first
};

// The error tells why there is nothing to report: no trials, or a damaged database. `wanted`: only
// workloads with these keys, and none of them is no error.
Result<Report> gather(store::Store& store, const std::set<std::string>* wanted = nullptr);

}  // namespace lathe::report
