// Builders and runners: from a trace to verified, trustworthy times on the real machine.
//
// Builders (`lathe-builder`) and the runner (`lathe-runner`) are separate processes started by
// exec, spoken to over pipes. Whatever a candidate does (crash, hang, eat memory, write out of
// bounds, compute nonsense) costs that one trial.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/target.h"
#include "compiler/schedule/step.h"
#include "compiler/te/program.h"
#include "runtime/tensor/layout.h"

namespace lathe::measure {

struct Candidate {
  int tag = 0;            // the caller's
  schedule::Trace trace;  // concrete
  // values' numbers in the space it is of, where it is of one: replays look it up
  std::vector<std::uint16_t> config;
};

struct Built {
  int tag = 0;
  std::optional<Error> error;
  std::vector<std::byte> library;  // shared object; empty if `known`
  bool known = false;              // the program was measured before in this session: not built
  std::vector<tensor::Border> inputs, outputs;  // as the candidate stores them
  std::string program_hash;                     // of the flat program
  int spills = 0;
  double loads_per_multiply = 0;  // of vectors, in all of the program; 0: it does not multiply
  std::int64_t code_bytes = 0;
  double lower_seconds = 0, codegen_seconds = 0, link_seconds = 0;
};

struct Visit {
  // one entry a timed call (a batch of calls where one is too short: its mean)
  std::vector<double> seconds;
  double sentinel_seconds = 0;
  // Of calls that the scheduler disturbed, without the time that they did not run. They do not
  // count.
  std::vector<double> disturbed;
};

struct Outcome {
  int tag = 0;
  Fingerprint machine;         // that measured it; its sentinel is with the visits
  std::optional<Error> error;  // of build, run or check; then there are no times
  std::vector<Visit> visits;
  // robust estimate: median of the visits' lower quartiles, sentinel-gated
  double seconds = 0;
  bool dropped_early = false;  // slower than drop_factor times the best: visited once
  double numerical_error = 0;  // largest |got - want| over largest |want|
  std::string program_hash;
  std::string duplicate_of_hash;  // same program measured before in this session: times copied
  int spills = 0;
  double build_seconds = 0, run_seconds = 0;
};

enum class CacheMode { kWarm, kCold };

// How fast the machine is, or was beside a race; 0: not known. A neighbour on the same machine
// slows both without a trace in the scheduler.
struct Speed {
  double peak_flops = 0;        // multiply-adds in f32, FLOP/s, on the target's threads
  double sentinel_seconds = 0;  // of the sentinel kernel
};
// Of the speed `known`, at most 1: what the slower of the two kernels says.
double share_of(const Speed& now, const Speed& known);
inline constexpr double kSameSpeed = 0.95;  // a smaller share is a disturbed machine

struct RaceOptions {
  CacheMode cache = CacheMode::kWarm;
  double seconds = 3;  // until the winner is clear, or so long
  // longest where the machine is disturbed: waits for it, races again
  double patience = 0;
  // for all of it; who is not built after half of that does not take part; 0: none
  double limit = 0;
  // the fastest that this machine was seen; 0: what it is while it races
  Speed known;
  std::function<bool()> stop;  // ends it at once, with what it knows
};
struct Racer {
  // often enough to say something, or it failed; else it was not built in time, or stopped
  bool ran = false;
  bool failed = false;
  double seconds = 0;             // median of its rounds; infinity where it failed
  double spread = 0;              // half of their interquartile range, over that
  double loads_per_multiply = 0;  // as Built has it
};
struct RaceOutcome {
  std::vector<Racer> racers;  // in the order of the candidates
  Speed speed;                // beside the rounds that count
  bool disturbed = false;     // there were too few quiet rounds, so all of them count
};

struct Options {
  // processes the tuner may keep busy, builders and runner together
  int jobs = 2;
  CacheMode cache = CacheMode::kWarm;
  double min_seconds = 0.008;  // timed, a visit
  // at most, but for repeated ones, spread over the batch; 0: candidates are run once and checked,
  // not timed
  int visits = 3;
  double drop_factor = 3;            // dropped early past this times the best
  double enough_factor = 1.5;        // past this times the best, one undisturbed visit tells enough
  double sentinel_tolerance = 0.03;  // a visit whose sentinel drifts further is repeated
  double timeout_seconds = 5;        // a candidate, all visits' first run included
  std::int64_t memory_bytes = 4LL << 30;  // address space a runner may take beyond its tensors
  std::uint64_t seed = 0;                 // of the random inputs
  // where wrong answers leave workload, trace and library; empty: the temporary folder
  std::string reproducer_folder;
  // of references; empty: $XDG_CACHE_HOME/lathe, else ~/.cache/lathe; "-": none
  std::string cache_folder;
  // The helper programs; empty: beside this program, in $LATHE_LIBEXEC, or where they were
  // installed.
  std::string builder, runner;
};

// Measures batches of one workload on one target. Results arrive through `done` as each is final,
// in any order; returns when all are. `best_seconds` is the best known so far (infinity: none), for
// early drop. Stops between candidates when `stop` says so.
class Measurer {
 public:
  virtual ~Measurer() = default;
  // Whose times it tells: those of other machines do not compare with them.
  virtual Fingerprint machine() const = 0;
  virtual Status measure(std::vector<Candidate> batch, double best_seconds,
                         const std::function<void(Outcome)>& done,
                         const std::function<bool()>& stop) = 0;
  // Final race: candidates interleaved, round by round. Peak and sentinel are measured in every
  // round: one in which the machine is disturbed does not count, as long as time is left for
  // others.
  virtual Result<RaceOutcome> race(const std::vector<Candidate>& candidates,
                                   const RaceOptions& options) = 0;
  // Machine's peak of fused multiply-adds in f32, FLOP/s, for target.threads threads, as it is now.
  virtual Result<double> peak_flops() = 0;
  // Bytes a second that the machine moves on target.threads threads when it only reads as much as
  // the workload's inputs and writes as much as its outputs, once each; warm or cold as the options
  // say, as it is now. 0: not known.
  virtual Result<double> bandwidth() { return 0.0; }
};

Result<std::unique_ptr<Measurer>> make_measurer(const te::Program& program, const Target& target,
                                                const Options& options);

}  // namespace lathe::measure
