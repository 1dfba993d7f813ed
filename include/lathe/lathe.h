// Lathe as a library: from an index expression to the fastest program on this machine.
//
//   auto workload = lathe::Workload::parse("C[i,j] = sum(k) A[k,i] * B[k,j]",
//                                          {.shapes = {{"A", {256, 256}}, {"B", {256, 256}}}});
//   auto found = workload->tune({.trials = 128});
//   auto program = workload->compile();
//   program->run(inputs, outputs);
//
// Everything that can fail returns Expected. Nothing prints. Objects may be used from one thread at
// a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace lathe {

struct Failure {
  std::string kind;     // stable: "invalid-argument", "not-found", "timeout" ...
  std::string message;  // one sentence: what is wrong and what to do
  std::string place;    // where; may be empty
  std::string text() const { return place.empty() ? message : place + ": " + message; }
};
template <class T>
using Expected = std::expected<T, Failure>;

// What a workload needs to know besides the text of its expression.
struct Inputs {
  std::map<std::string, std::vector<std::int64_t>> shapes;
  std::map<std::string, std::string> dtypes;  // "f32" where none is given
  std::vector<std::string> constants;         // known beforehand, e.g. weights
  // The schedule may choose how inputs and outputs are stored, as with `layout free` in the text.
  bool free_layout = false;
  // Largest error allowed, relative to the largest output; 0: what the text says, else 2e-5.
  double max_error = 0;
  // How the main sum is computed: "direct", "cook_toom", "F4x4" and the like, or
  // "strassen"; "": what the text says, else as the schedule chooses.
  std::string algorithm;
  // How far roundings, NaN and infinity may spread: "componentwise": not at all, every order of a
  // sum as it is written; "local": within a tile of neighbouring results (Cook-Toom algorithms);
  // "normwise": over whole rows and matrices (Strassen's). "": what the text says, else what the
  // algorithm needs, or "local".
  std::string numerics;
  // Between which numbers inputs lie, as with `in 0..1` in the text: checks draw from it.
  std::map<std::string, std::pair<double, double>> ranges;
};

struct TensorInfo {
  std::string name, dtype;
  std::vector<std::int64_t> shape;  // as callers see it
  bool constant = false;
  // As the expression has it: `shape` merges neighbours of these dimensions.
  std::vector<std::int64_t> inner_shape = {};
};

// The machine a program is for, and where records are kept.
struct Machine {
  std::string target = "cpu:host";
  // 0: as many as the target says; else, for cpu:host, as many as the process should use: physical
  // cores of one NUMA node that it may run on, fewer where OMP_NUM_THREADS or the quota of its
  // control group says less; else one. Where nothing is recorded for so many, records for fewer
  // serve, and their programs run with fewer.
  int threads = 0;
  std::string database;     // empty: $LATHE_DB, else the user's data folder
  bool cold_cache = false;  // programs are timed with cold caches

  // How many threads 0 stands for with cpu:host, and why: "this process may use 2 physical cores".
  static std::pair<int, std::string> usual_threads();
};

// Processes that build and time programs, for the runs of many workloads: the first that needs them
// starts them, and they end with the last copy of this. A run for another target, with other caches
// or with another number of jobs starts others in their place. One run at a time may use a session;
// a forked child needs one of its own.
class Session {
 public:
  Session();

  struct Impl;
  const std::shared_ptr<Impl>& impl() const { return impl_; }

 private:
  std::shared_ptr<Impl> impl_;
};

struct TuneOptions {
  int trials = 512;    // of the run in all: a second call goes on where the first ended
  double seconds = 0;  // 0: no limit
  // Processes that build and check programs; 0: one for each processor that this one may use, fewer
  // where OMP_NUM_THREADS or a quota says less.
  int jobs = 0;
  std::uint64_t seed = 0;
  std::string search = "annealing";  // annealing, genetic, random
  // xgb-rank, xgb-reg, xgb-ensemble, treegru-rank ... (lathe tune --help lists all)
  std::string model = "xgb-rank";
  // What the model sees of a program: context, blocks, relation, configuration.
  std::string features = "context";
  std::string acquisition = "mean";  // how xgb-ensemble scores: mean, ei, ucb
  // Parameters of the paper's Algorithm 1 (batch, chains, steps, epsilon) and equation 3 (lambda).
  int batch = 64, chains = 128, steps = 500;
  double epsilon = 0.05, lambda = 2, alpha = 0.5, temperature = 1;
  // What Lathe adds; lathe tune --help says what each means.
  double global_trials = 16, elite = 0.125, thrift = 0.25;
  std::string space = "default";  // default, wide
  bool fresh = false;             // learn nothing from other runs
  // Begin with what records of other workloads of this operator teach.
  bool transfer = true;
  bool prior = true;         // begin from the analytic model, which needs no measurement
  std::string global_model;  // file of `lathe model train` to begin with instead
  Machine machine;
  std::optional<Session> session;  // none: the run starts processes of its own
};
struct TuneProgress {
  int trials = 0, failed = 0;
  double best_seconds = 0;  // 0: none yet
  double elapsed_seconds = 0, left_seconds = 0;
  std::string phase;
};
struct Schedule {
  double seconds = 0, gflops = 0;  // as measured
  // JSON. It can be applied without the space; its names are those of Workload::key().
  std::string trace;
  std::string config;  // JSON
  int threads = 1;     // of the program, as it was measured
};
struct TuneResult {
  int trials = 0, failed = 0;
  double seconds = 0;
  bool interrupted = false, exhausted = false;
  std::optional<Schedule> best;  // none: no trial succeeded
  // The time ended before the reference was there that trials are compared with.
  bool unverified = false;
};

// A compiled program in this process. A forked child may use it, too.
class Program {
 public:
  // Tensors are row-major and in the workload's order. Only prepare() reads constant inputs; run()
  // ignores them. Where a workload has some, call prepare() first; after one that failed, run()
  // refuses until another succeeds.
  Expected<void> prepare(std::span<const void* const> inputs);
  Expected<void> run(std::span<const void* const> inputs, std::span<void* const> outputs);

  struct Impl;
  explicit Program(std::unique_ptr<Impl> impl);
  Program(Program&&) noexcept;
  Program& operator=(Program&&) noexcept;
  ~Program();

 private:
  std::unique_ptr<Impl> impl_;
};

// Whether a program is checked before it is given out. The check runs it on random inputs between
// guard pages, in processes of its own (lathe-builder, lathe-runner), and compares its outputs with
// a reference answer. kOnce checks each program once on a machine: $XDG_CACHE_HOME/lathe
// (~/.cache/lathe) remembers what passed. A program that fails is not given out: the error's kind
// is "wrong-answer", or tells what kept the check from finishing.
enum class Check { kOnce, kSkip };

struct Composition;
struct Composed;

// What to compute, with every shape known.
class Workload {
 public:
  static Expected<Workload> parse(const std::string& expression, const Inputs& inputs = {});
  // An operator with its flags ("conv2d", {{"input", "1,64,56,56"}, ...}) or a workload of the
  // paper ("C6", {}).
  static Expected<Workload> named(const std::string& name,
                                  const std::map<std::string, std::string>& flags = {},
                                  const Inputs& inputs = {});
  // Several put together: what one computes takes the place of another's input. Programs fuse what
  // they can of it.
  static Expected<Composed> compose(const Composition& whole);
  // The same with these inputs constant, and no others.
  Expected<Workload> with_constants(const std::vector<std::string>& names) const;
  const std::string& key() const;  // canonical: equal for equal work
  std::string numerics() const;    // its level, as Inputs::numerics names it
  double flops() const;
  std::vector<TensorInfo> inputs() const;  // in the order programs take them
  std::vector<TensorInfo> outputs() const;

  // Returns when the trials, the time or the space are used up, or when `stop` returns true.
  // `listener` is called at least twice a second, not always on the caller's thread, and must not
  // throw.
  Expected<TuneResult> tune(const TuneOptions& options = {},
                            const std::function<void(const TuneProgress&)>& listener = {},
                            const std::function<bool()>& stop = {}) const;
  // The fastest schedule on record; none if nothing is recorded. A database that is named must
  // exist.
  Expected<std::optional<Schedule>> best(const Machine& machine = {}) const;
  // The trace, as JSON, that a name of a schedule stands for, in compile() and below.
  Expected<std::string> trace(const std::string& schedule = "best",
                              const Machine& machine = {}) const;
  // `schedule` is "best" (on record), "predicted" (unmeasured: the models' choice, or the default
  // where they choose badly), "default", "naive", or the JSON of a trace. The machine must be this
  // one.
  Expected<Program> compile(const std::string& schedule = "best", const Machine& machine = {},
                            Check check = Check::kOnce) const;
  // Writes a shared library with a C header and an example beside it: STEM.so, STEM.h,
  // STEM_example.c. The header says whether the program was checked. A program for another machine
  // is written without a check, for it cannot run here.
  Expected<void> write_library(const std::string& path, const std::string& schedule = "best",
                               const Machine& machine = {}, Check check = Check::kOnce) const;
  // The generated code alone, for those who call it from other languages: a shared object that
  // imports nothing and exports `lathe_module`, as src/runtime/module/abi.h describes it.
  Expected<std::vector<std::byte>> module(const std::string& schedule = "best",
                                          const Machine& machine = {},
                                          Check check = Check::kOnce) const;
  // The workload's trials on record for the machine's target and caches, a line of JSON each, as
  // `lathe export` writes them; empty if there are none.
  Expected<std::string> records(const Machine& machine = {}) const;

  struct Impl;
  explicit Workload(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  const Impl& impl() const { return *impl_; }

 private:
  std::shared_ptr<const Impl> impl_;
};

// A tensor of one of several workloads, which are numbered from 0.
struct PartTensor {
  int part = 0;
  std::string tensor;
};

struct Composition {
  std::vector<Workload> parts;
  // An output, and the input whose place it takes: of equal type, and of equal shape as callers see
  // both. An output may take several places.
  std::vector<std::pair<PartTensor, PartTensor>> edges;
  // Two inputs that are one of the whole. It is constant where one of them is.
  std::vector<std::pair<PartTensor, PartTensor>> alike;
  // The outputs of the whole, in this order; empty: those of all parts that take no place.
  std::vector<PartTensor> outputs;
};

struct Composed {
  Workload workload;
  // By part, what its tensors are called in the whole.
  std::vector<std::map<std::string, std::string>> names;
};

}  // namespace lathe
