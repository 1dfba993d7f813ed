// What a database of records tells people, as numbers: the contents of `lathe report`, before any
// of it is drawn. Its size follows from what can be seen, not from the number of trials.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "tuner/store/store.h"

namespace lathe::report {

struct Point {
  double x = 0, y = 0;
};

// Seconds of processes, which may work at once: their sum can exceed what the clock says.
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

// How well successive batches were ordered by the scores they were proposed with, before they were
// measured.
struct Quality {
  int trials = 0;  // of the run until the last of these batches
  int judged = 0;  // trials that were scored
  // share of pairs of a batch in the right order, times at least 5 % apart; 0.5: chance
  double pairwise_accuracy = 0;
  double rank_correlation = 0;  // 1: perfect, 0: chance
};

// Trials of one run whose times compare: of one machine and one code generator.
struct RunReport {
  store::Run run;
  int codegen_version = 0;
  int trials = 0, failed = 0;
  double best_seconds = 0;  // measured, not raced; 0: nothing worked
  // until a program within 5 % of the fastest of all comparable runs; 0: there was none
  int trials_to_95 = 0;
  // at work, by the clock: pauses between two commands are left out
  double seconds = 0;
  Spent spent;
  // Speed (Work) of the fastest program so far, over trials and over `seconds`: a point where it
  // rose, one at the end.
  std::vector<Point> over_trials, over_seconds;
  std::vector<Quality> quality;  // empty: the trials were not scored
};

// A knob's values among the fastest programs and among all.
struct KnobValue {
  std::string text;
  int fast = 0, all = 0;  // programs; those without the knob have no value
};
struct Knob {
  std::string name;
  // between the two distributions: half the sum of |differences|, 0 (equal) to 1 (apart)
  double distance = 0;
  std::vector<KnobValue> values;  // in their own order; many sizes are joined to ranges
};
struct Knobs {
  int fast = 0, all = 0;    // different configurations that worked; 0: too few to tell
  std::vector<Knob> knobs;  // of more than one value, the most telling first
};

struct Reason {
  std::string message, place;  // place: of the first
  int count = 0;
};
struct Failure {
  std::string kind;  // name_of(ErrorKind)
  int count = 0;
  std::vector<Reason> reasons;  // the most frequent, these first; others are in `count` only
};

// What a call computes, in a unit that fits: speed is amount / seconds.
struct Work {
  double amount = 0;
  // "GFLOP/s", "GB/s" where nothing is computed, "calls/s" for a key that is no program
  std::string unit;
  bool arithmetic = false;  // amount is in GFLOP
  // share of the arithmetic that has to be done: padding is not multiplied
  double done = 1;
  double gigabytes = 0;  // inputs read once, outputs written once; 0: not known
  double speed(double seconds) const { return seconds > 0 ? amount / seconds : 0; }
};

struct Best {
  store::Record record;
  double spread = 0;  // learn::spread_of
  // the schedule's steps, and the program as `lathe show --what scheduled` prints it
  std::string trace, program;
  // why the schedule does not apply any more; then `program` is empty
  std::string problem;
  double seconds() const { return record.raced ? record.race_seconds : record.seconds; }
};

// A workload on a target and machine, with warm or cold caches.
struct Workload {
  std::string key, target, cache_mode, cpu;
  std::string fingerprint;  // of the machine, as last recorded
  // "C6" where the paper names it, else the expression without sizes
  std::string title;
  // without iterators' sizes: "C[i,j] = ...", "f32 A 31x37, const B 31x29 ..."
  std::string expression, shapes;
  Work work;
  // of the machine on the target's threads, as measured; 0: unknown
  double peak_flops = 0;
  // bytes a second that it moves when it only reads and writes so much; 0: unknown
  double bandwidth = 0;
  int trials = 0, failed = 0, wrong = 0;
  std::string latest;        // time of the last trial
  std::optional<Best> best;  // none: nothing worked
  // of the first trial, the default schedule; 0: it failed or is not known
  double first_seconds = 0;
  std::vector<RunReport> runs;    // in the order they began
  Knobs knobs;                    // of the latest code generator's trials
  std::vector<Failure> failures;  // most frequent first

  // Of the peak, by the operations that have to be done; 0 where that is not known or nothing is
  // computed.
  double peak_share(double seconds) const {
    return work.arithmetic && peak_flops > 0 ? work.speed(seconds) * work.done * 1e9 / peak_flops
                                             : 0;
  }
  // What a program reaches, the machine can.
  double reached_bandwidth(double seconds) const {
    return std::max(bandwidth, work.gigabytes * 1e9 / seconds);
  }
  // Of the bandwidth; 0 where that is not known.
  double bandwidth_share(double seconds) const {
    return bandwidth > 0 && seconds > 0
               ? work.gigabytes * 1e9 / seconds / reached_bandwidth(seconds)
               : 0;
  }
};

struct Report {
  std::vector<Workload> workloads;  // tuned last, first
};

// The error says why there is nothing to tell: no trials, a damaged database.
Result<Report> gather(store::Store& store);

}  // namespace lathe::report
