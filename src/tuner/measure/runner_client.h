// `lathe-runner` as a measurer sees it: what it has been told, and which candidates it holds.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <string>

#include "base/result.h"
#include "runtime/runner/protocol.h"
#include "tuner/measure/helper.h"
#include "tuner/measure/measure.h"

namespace lathe::measure {

class RunnerClient {
 public:
  template <class T>
  using Then = Helper::Then<T>;

  RunnerClient(std::string program, runner::RunnerSetup setup, runner::Fd inputs);

  Helper& helper() { return helper_; }
  bool busy() const { return helper_.busy(); }
  // Later loads are checked with this reference; every new process is told about it.
  void set_reference(runner::Fd file, double max_error);
  bool has_reference() const { return static_cast<bool>(reference_); }

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
  // Tells something that every process of the runner has to know once, and prepares on.
  template <class Message>
  void tell(const Message& message, const runner::Fd& file, int& told,
            const std::function<void(Status)>& then);
  void send_load(std::int64_t id, const Built& built, bool check, double seconds,
                 const Then<runner::Loaded>& then);
  std::vector<std::int64_t> make_room();
  bool holds(std::int64_t id) const;

  Helper helper_;
  runner::RunnerSetup setup_;
  runner::Fd inputs_, reference_;
  double max_error_ = 0;
  int told_setup_ = 0, told_reference_ = 0;  // the generations that know them
  struct Held {
    std::int64_t id, bytes;
  };
  std::list<Held> held_;  // ordered by the last load or visit, oldest first
  int held_by_ = 0;       // the generation that holds them
  std::vector<std::int64_t> to_drop_;
};

}  // namespace lathe::measure
