// `lathe-runner` as a measurer sees it: what it has been told, and which candidates it holds.
#pragma once

#include <functional>
#include <list>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/runner/protocol.h"
#include "tuner/measure/helper.h"
#include "tuner/measure/measure.h"

namespace lathe::measure {

// A file that runners keep, so that it is sent once to each process of one.
struct Asset {
  std::string name;  // of what is in it
  std::int64_t bytes = 0;
  runner::Fd file;
  static Result<Asset> of(runner::Fd file);
};

// What a runner is told of a workload.
struct RunnerTask {
  runner::RunnerSetup setup;  // without what is the runner's: processors, shift
  Asset inputs;
  std::optional<Asset> reference;  // later loads are checked with it
  double max_error = 0;            // as ReferenceInfo has it
};

class RunnerClient {
 public:
  template <class T>
  using Then = Helper::Then<T>;

  // Programs run on these processors; empty: on those of the runner.
  RunnerClient(std::string program, std::vector<int> cpus, bool spare = false);
  // Elsewhere, where a runner serves at HOST:PORT.
  explicit RunnerClient(std::string address);

  // Runs programs of this task until another is taken, or until it leaves. It must stay where it
  // is.
  void take(const RunnerTask& task);
  void leave(const RunnerTask& task);

  Helper& helper() { return helper_; }
  bool busy() const { return helper_.busy(); }

  // The device's fingerprint.
  void describe(double seconds, const Then<Fingerprint>& then);
  // Each call concerns one candidate and ends in one call of `then`. A candidate that the runner
  // dropped is loaded again.
  void load(std::int64_t id, const Built& built, double seconds, const Then<runner::Loaded>& then);
  void visit(const Built& built, const runner::VisitRequest& visit, double seconds,
             const Then<runner::Visited>& then);
  // Runs as often as `how` says, on these tensors.
  void execute(const Built& built, const runner::Fd& inputs, const runner::Fd& outputs,
               runner::Execute how, double seconds, const Then<runner::Executed>& then);
  // Ends the process. The next has all that it is asked for in other memory, where a caller's
  // tensors are shifted by so many bytes.
  void move(std::int64_t shift);
  // Ends the process. The threads of the next run on these processors: one on each in this order,
  // or as those of any program.
  void place(std::vector<int> cpus, bool pinned);
  // The candidate is final, so others may have its memory.
  void forget(std::int64_t id);

 private:
  void prepare(const std::function<void(Status)>& then);
  // Tells something that the process has to know once, calls `told`, and prepares on.
  template <class Message>
  void tell(const Message& message, const std::vector<int>& fds, const std::function<void()>& told,
            const std::function<void(Status)>& then);
  void keep(const Asset& asset, const std::function<void(Status)>& then);
  Error unprepared(const Error& error) const;
  void begin_anew();  // as the runner does after a setup
  void send_load(std::int64_t id, const Built& built, bool check, double seconds,
                 const Then<runner::Loaded>& then);
  std::vector<std::int64_t> make_room();
  bool holds(std::int64_t id) const;

  Helper helper_;
  std::string address_;  // of one elsewhere
  std::vector<int> cpus_;
  bool pinned_ = true;
  std::int64_t shift_ = 0;
  const RunnerTask* task_ = nullptr;
  // Of the process of generation `told_`: what it was told of the task, and the assets that it
  // keeps.
  int told_ = 0;
  bool told_setup_ = false, told_reference_ = false;
  std::set<std::string> kept_;
  std::vector<std::string> assets_to_drop_;
  struct Held {
    std::int64_t id, bytes;
  };
  std::list<Held> held_;  // ordered by the last load or visit, oldest first
  std::vector<std::int64_t> to_drop_;
};

}  // namespace lathe::measure
