#include "runtime/runner/cpu_engine.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <span>
#include <utility>

#include "base/processors.h"
#include "runtime/pool/pool.h"
#include "runtime/runner/candidate.h"
#include "runtime/runner/clock.h"

namespace lathe::runner {
namespace {

Status limit_memory([[maybe_unused]] std::int64_t bytes) {
#if !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)  // sanitizers reserve terabytes of address space
  std::ifstream statm("/proc/self/statm");
  std::int64_t pages = 0;
  rlimit limit{};
  if (!(statm >> pages) || ::getrlimit(RLIMIT_AS, &limit) != 0) return {};
  const auto wanted = static_cast<rlim_t>(pages * ::sysconf(_SC_PAGESIZE) + bytes);
  limit.rlim_cur = bytes <= 0 ? limit.rlim_max : std::min(wanted, limit.rlim_max);
  if (::setrlimit(RLIMIT_AS, &limit) != 0)
    return fail(ErrorKind::kIo, "cannot limit the runner's memory: {}", std::strerror(errno));
#endif
  return {};
}

// What all candidates share, and on which tensors one runs.
struct Tensors {
  Inputs inputs;
  Scratch scratch;
};

class CpuRunnable final : public Runnable {
 public:
  // `own` is null where the tensors are the workload's.
  CpuRunnable(std::unique_ptr<Candidate> candidate, Tensors& tensors, std::unique_ptr<Tensors> own,
              LostTime& lost)
      : own_(std::move(own)),
        tensors_(own_ ? *own_ : tensors),
        lost_(lost),
        candidate_(std::move(candidate)) {}

  Status begin(bool checked) override {
    Scratch& scratch = tensors_.scratch;
    LATHE_TRY_STATUS(candidate_->bind(scratch));
    for (GuardedBuffer& buffer : tensors_.inputs.data)
      LATHE_TRY_STATUS(buffer.set_guarded(checked));
    LATHE_TRY_STATUS(candidate_->set_guarded(scratch, checked));
    if (checked) candidate_->fill_scratch(scratch);
    return {};
  }

  bool empties(CacheMode cache) const override { return candidate_->empties(cache); }
  Result<Sample> call(int calls, CacheMode cache) override {
    if (candidate_->empties(cache)) candidate_->flush(cache, tensors_.scratch);
    lost_.start();
    const double start = now_seconds();
    for (int i = 0; i < calls; ++i) candidate_->run();
    const double wall = now_seconds() - start;
    const double lost = lost_.since(wall);
    const bool disturbed = LostTime::matters(lost, wall);
    return Sample{(disturbed ? wall - lost : wall) / calls, disturbed, wall, lost};
  }

  Status warm() override {
    candidate_->warm(tensors_.scratch);
    return {};
  }

  Status check_memory() override {
    if (const auto damage = candidate_->damage(tensors_.scratch))
      return fail(ErrorKind::kRun, "the candidate wrote out of bounds: {}", *damage);
    return {};
  }

  Result<const std::byte*> output(std::size_t number) override {
    return tensors_.scratch.outputs[number].data();
  }
  std::int64_t resident_bytes() const override { return candidate_->resident_bytes(); }
  double prepare_seconds() const override { return candidate_->prepare_seconds(); }

 private:
  std::unique_ptr<Tensors> own_;
  Tensors& tensors_;
  LostTime& lost_;
  std::unique_ptr<Candidate> candidate_;
};

class CpuEngine final : public Engine {
 public:
  Result<Fingerprint> machine() override { return host_fingerprint(); }
  Status set_up(const RunnerSetup& setup, int inputs) override {
    LATHE_TRY_STATUS(limit_memory(0));
    tensors_.inputs = LATHE_TRY(read_inputs(setup.inputs, inputs, setup.shift));
    use_threads(setup.threads, setup.cpus, setup.pinned);
    std::int64_t outputs = 0;
    for (const auto& border : setup.outputs) outputs += 20 * border.elements() + 8 * border.bytes();
    return setup.memory_bytes > 0 ? limit_memory(setup.memory_bytes + outputs) : Status();
  }

  Result<std::unique_ptr<Runnable>> open(Fd code, const std::vector<tensor::Border>& inputs,
                                         const std::vector<tensor::Border>& outputs,
                                         const Fd* own_inputs) override {
    std::unique_ptr<Tensors> own;
    if (own_inputs != nullptr) {
      own = std::make_unique<Tensors>();
      own->inputs = LATHE_TRY(read_inputs(inputs, own_inputs->get()));
    }
    auto candidate = LATHE_TRY(Candidate::open(std::move(code), inputs, outputs,
                                               own ? own->inputs : tensors_.inputs, *pool_));
    return std::make_unique<CpuRunnable>(std::move(candidate), tensors_, std::move(own), *lost_);
  }

  double sentinel() override { return sentinel_.run(); }

 private:
  void use_threads(int threads, const std::vector<int>& cpus, bool pinned) {
    if (pool_ && threads == threads_ && cpus == cpus_ && pinned == pinned_) return;
    pool_.reset();
    pinned_ = pinned;
    const bool pins = pinned && static_cast<int>(cpus.size()) >= threads;
    keep_to(pinned && !cpus.empty() ? std::span(cpus).first(1) : std::span(cpus));
    pool_ = std::make_unique<pool::Pool>(
        pool::Options{.threads = threads, .cpus = pins ? cpus.data() : nullptr});
    threads_ = threads;
    cpus_ = cpus;
    pool_->threads_now();  // starts those whose time is watched
    lost_ = std::make_unique<LostTime>(threads);
  }

  std::unique_ptr<pool::Pool> pool_;
  int threads_ = 0;
  std::unique_ptr<LostTime> lost_;  // of the pool's threads
  std::vector<int> cpus_;
  bool pinned_ = true;
  Tensors tensors_;
  Sentinel sentinel_;
};

}  // namespace

std::unique_ptr<Engine> make_cpu_engine() { return std::make_unique<CpuEngine>(); }

}  // namespace lathe::runner
