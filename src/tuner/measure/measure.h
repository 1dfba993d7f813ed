// Builders and runners: from a trace to verified, trustworthy times on the real machine.
//
// Builders (`lathe-builder`) and the runner (`lathe-runner`) are separate processes started by exec, spoken to over
// pipes. Whatever a candidate does (crash, hang, eat memory, write out of bounds, compute nonsense) costs that one trial.
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
  int tag = 0;                       // the caller's
  schedule::Trace trace;             // concrete
  std::vector<std::uint16_t> config; // values' numbers in the space it is of, where it is of one: replays look it up
};

struct Built {
  int tag = 0;
  std::optional<Error> error;
  std::vector<std::byte> library;    // shared object; empty if `known`
  bool known = false;                // the program was measured before in this session: not built
  std::vector<tensor::Border> inputs, outputs;  // as the candidate stores them
  std::string program_hash;          // of the flat program
  int spills = 0;
  std::int64_t code_bytes = 0;
  double lower_seconds = 0, codegen_seconds = 0, link_seconds = 0;
};

struct Visit {
  std::vector<double> seconds;       // one entry a timed call (a batch of calls where one is too short: its mean)
  double sentinel_seconds = 0;
};

struct Outcome {
  int tag = 0;
  std::optional<Error> error;        // of build, run or check; then there are no times
  std::vector<Visit> visits;
  double seconds = 0;                // robust estimate: median of the visits' lower quartiles, sentinel-gated
  bool dropped_early = false;        // slower than drop_factor times the best: visited once
  double numerical_error = 0;        // largest |got - want| over largest |want|
  std::string program_hash;
  std::string duplicate_of_hash;     // same program measured before in this session: times copied
  int spills = 0;
  double build_seconds = 0, run_seconds = 0;
};

enum class CacheMode { kWarm, kCold };

struct Options {
  int jobs = 2;                      // processes the tuner may keep busy, builders and runner together
  CacheMode cache = CacheMode::kWarm;
  double min_seconds = 0.008;        // timed, a visit
  int visits = 3;                    // spread over the batch; 0: candidates are run once and checked, not timed
  double drop_factor = 3;            // dropped early past this times the best
  double sentinel_tolerance = 0.03;  // a visit whose sentinel drifts further is repeated
  double timeout_seconds = 5;        // a candidate, all visits' first run included
  std::int64_t memory_bytes = 4LL << 30;  // address space a runner may take beyond its tensors
  std::uint64_t seed = 0;            // of the random inputs
  std::string reproducer_folder;     // where wrong answers leave workload, trace and library; empty: the temporary folder
  std::string cache_folder;          // of references; empty: $XDG_CACHE_HOME/lathe, else ~/.cache/lathe; "-": none
  // The helper programs; empty: beside this program, in $LATHE_LIBEXEC, or where they were installed.
  std::string builder, runner;
};

// Measures batches of one workload on one target. Results arrive through `done` as each is final, in any order; returns
// when all are. `best_seconds` is the best known so far (infinity: none), for early drop. Stops between candidates when
// `stop` says so.
class Measurer {
 public:
  virtual ~Measurer() = default;
  virtual Status measure(std::vector<Candidate> batch, double best_seconds, const std::function<void(Outcome)>& done,
                         const std::function<bool()>& stop) = 0;
  // Final race: candidates interleaved, round by round, until the winner is clear or `seconds` are spent. Returns the
  // median seconds of each, in order; infinity where one failed.
  virtual Result<std::vector<double>> race(const std::vector<Candidate>& candidates, CacheMode cache, double seconds) = 0;
  // Machine's peak of fused multiply-adds in f32, FLOP/s, for target.threads threads; measured once, cached.
  virtual Result<double> peak_flops() = 0;
};

Result<std::unique_ptr<Measurer>> make_measurer(const te::Program& program, const Target& target, const Options& options);

}  // namespace lathe::measure
