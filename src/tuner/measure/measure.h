// Builders and runners turn a trace into verified, trustworthy times on the real machine.
//
// Builders (`lathe-builder`) and the runner (`lathe-runner`) are separate processes. Whatever a
// candidate does (it may crash, hang, eat memory, write out of bounds, compute nonsense), it costs
// only that trial.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/cache_mode.h"
#include "base/result.h"
#include "base/target.h"
#include "compiler/schedule/step.h"
#include "compiler/te/workload.h"
#include "runtime/tensor/layout.h"

namespace lathe::measure {

struct Candidate {
  int tag = 0;            // the caller's own number
  schedule::Trace trace;  // concrete
  // Indices of its knobs' values, if it comes from a space: a recording looks it up by these.
  std::vector<std::uint16_t> config;
};

struct Built {
  int tag = 0;
  std::optional<Error> error;
  std::vector<std::byte> library;  // shared object; empty if `known`
  bool known = false;  // this session has measured the program before, so it was not built
  std::vector<tensor::Border> inputs, outputs;  // as the candidate stores them
  std::string program_hash;                     // hash of the flat program
  int spills = 0;
  // What an assembler told, the most of all kernels; 0: there was none.
  int registers = 0;              // of a thread
  std::int64_t shared_bytes = 0;  // of a block
  // Loads of vectors in the whole program for each multiplication; 0: it does not multiply
  double loads_per_multiply = 0;
  std::int64_t code_bytes = 0;
  double lower_seconds = 0, codegen_seconds = 0, link_seconds = 0;
};

// One visit: a candidate is timed for a few milliseconds, among visits of others.
struct Visit {
  // One entry for each timed call; where a call is too short, for a group of calls: their mean.
  std::vector<double> seconds;
  double sentinel_seconds = 0;
  // Calls that the scheduler disturbed, without the time in which they did not run. They do not
  // count.
  std::vector<double> disturbed;
};

struct Outcome {
  int tag = 0;
  Fingerprint machine;         // that measured it; the visits have its sentinel
  std::optional<Error> error;  // of building, running or checking; if set, there are no times
  std::vector<Visit> visits;
  // The estimate: the median of the visits' lower quartiles, without visits that the sentinel rules
  // out.
  double seconds = 0;
  bool dropped_early = false;  // slower than drop_factor times the best, so visited only once
  double numerical_error = 0;  // largest |got - want| over largest |want|
  std::string program_hash;
  // This session has measured the program before: its times were copied
  std::string duplicate_of_hash;
  int spills = 0, registers = 0;  // as Built has them
  std::int64_t shared_bytes = 0;
  double build_seconds = 0, run_seconds = 0;
};

// How fast the machine is, or was during a race; 0: not known. A neighbour on the same machine
// slows both kernels, and the scheduler shows no trace of it.
struct Speed {
  double peak_flops = 0;        // of multiply-adds in f32 on the target's threads, FLOP/s
  double sentinel_seconds = 0;  // of the sentinel kernel
};
// The share of the speed `known`, at most 1: the slower of the two kernels decides.
double share_of(const Speed& now, const Speed& known);
inline constexpr double kSameSpeed = 0.95;  // a smaller share means a disturbed machine
// Standard errors beyond which chance does not explain that a racer is faster than the defender.
inline constexpr double kChance = 2;

struct RaceOptions {
  CacheMode cache = CacheMode::kWarm;
  double seconds = 3;  // until the winner is clear, but no longer than this
  // The longest time to wait for a disturbed machine and to race again, in seconds.
  double patience = 0;
  // Limit for the whole race, in seconds; 0: none. A candidate that is not built after half of it
  // takes no part.
  double limit = 0;
  // The fastest that this machine has been seen; 0: it counts as fast as it is during the race.
  Speed known;
  std::optional<std::size_t> defender;  // the candidate with which all others are compared
  std::function<bool()> stop;           // ends the race at once, with what is known
};
// What a program gets that does not call again at once, on a machine where others run, too.
struct Called {
  // Median seconds of single calls after pauses, with what the scheduler took; 0: not measured.
  double after_1ms = 0, after_20ms = 0;
  double lost = 0;  // the share of all calls' time that the scheduler took, back to back
};
struct Racer {
  // True if it ran often enough to tell something, or failed; else it was not built in time, or
  // stopped.
  bool ran = false;
  bool failed = false;
  // Median of its rounds; infinity if it failed. In a disturbed race each of them counts over
  // how much longer the others took in that round than in their middle one.
  double seconds = 0;
  double spread = 0;  // half the interquartile range of its rounds, over that median
  int rounds = 0;     // that count
  // How many times as long as the defender it took, the median of the rounds of both, and the
  // standard error of that, by rounds and by loads; 0: there is no defender, or no round of both.
  double over_defender = 0, over_defender_error = 0;
  double loads_per_multiply = 0;  // as Built has it
  Called called;
};
struct RaceOutcome {
  std::vector<Racer> racers;  // in the order of the candidates
  Speed speed;                // during the rounds that count
  bool disturbed = false;     // there were too few quiet rounds, so all of them count
};

struct Options {
  // Processes that the tuner may keep busy: builders and runner together.
  int jobs = 2;
  CacheMode cache = CacheMode::kWarm;
  double min_seconds = 0.008;  // timed in each visit
  // The most visits that a candidate gets, spread over the batch; repeated ones are extra. 0:
  // candidates run once and are checked, but not timed.
  int visits = 3;
  double drop_factor = 3;      // a candidate slower than this many times the best is dropped early
  double enough_factor = 1.5;  // beyond this many times the best, one undisturbed visit is enough
  double sentinel_tolerance = 0.03;  // a visit whose sentinel drifts further is repeated
  // To build a candidate, or to load and check it; a visit has its own time beyond this.
  double timeout_seconds = 5;
  std::int64_t memory_bytes = 4LL << 30;  // address space a runner may take beyond its tensors
  std::uint64_t seed = 0;                 // for the random inputs
  // Where wrong answers leave workload, trace and library; empty: in the temporary folder.
  std::string reproducer_folder;
  // For references; empty: $XDG_CACHE_HOME/lathe, else ~/.cache/lathe; "-": none.
  std::string cache_folder;
  // Which devices of the target's kind measure: this machine's, and those whose runners serve at
  // these addresses, HOST:PORT. Whoever listens there gets code and tensors in the clear, and is
  // believed; it starts a runner for each connection, and ends it with that.
  bool here = true;
  std::vector<std::string> elsewhere;
  // Paths of the helpers. Empty: they are beside this executable, in $LATHE_LIBEXEC, or where they
  // were installed.
  std::string builder, runner;
};

// Measures batches of one workload on one target. `done` gets each result as soon as it is final,
// in any order; measure() returns when all are. `best_seconds` is the best time known so far
// (infinity: none), for early drops. It stops between candidates when `stop` returns true.
class Measurer {
 public:
  virtual ~Measurer() = default;
  // The machine whose times it tells; those of other machines do not compare with them.
  virtual Fingerprint machine() const = 0;
  virtual Status measure(std::vector<Candidate> batch, double best_seconds,
                         const std::function<void(Outcome)>& done,
                         const std::function<bool()>& stop) = 0;
  // True from when the reference is begun until it is there, that is also after a measurement that
  // was stopped before: without one nothing can be verified.
  virtual bool awaits_reference() const { return false; }
  // The race: candidates take turns, round by round, and after some rounds all are loaded anew by a
  // new process: what memory a program got does not make it the fastest. Every round also measures
  // the peak and the sentinel; one in which the machine is disturbed does not count, as long as
  // there is time for others.
  virtual Result<RaceOutcome> race(const std::vector<Candidate>& candidates,
                                   const RaceOptions& options) = 0;
  // The machine's peak as it is now: fused multiply-adds in f32 on the target's threads, in FLOP/s.
  virtual Result<double> peak_flops() = 0;
  // The bytes a second that the machine moves now on the target's threads, when it only reads as
  // much as the workload's inputs and writes as much as its outputs, once each. Caches are warm or
  // cold as the options say. 0: not known.
  virtual Result<double> bandwidth() { return 0.0; }
};

// Helper processes and devices, for any number of workloads on one target.
struct Session;
// Starts the helpers. They live until the session and all its measurers are gone.
// kIo: a device elsewhere cannot be reached.
Result<std::shared_ptr<Session>> open_session(const Target& target, const Options& options);
// The measurers of a session work one at a time: one call of one of them ends before the next
// begins. Devices with one fingerprint share the candidates of a batch; where they differ, each
// measurer has one fingerprint, and measurers get them in turn.
Result<std::unique_ptr<Measurer>> make_measurer(const std::shared_ptr<Session>& session,
                                                const te::Workload& workload);
// With a session of its own.
Result<std::unique_ptr<Measurer>> make_measurer(const te::Workload& workload, const Target& target,
                                                const Options& options);

}  // namespace lathe::measure
