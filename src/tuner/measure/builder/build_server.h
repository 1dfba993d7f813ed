// The builder's answers to requests.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/target.h"
#include "compiler/driver/driver.h"
#include "compiler/te/workload.h"
#include "runtime/runner/channel.h"
#include "tuner/measure/build_protocol.h"
#include "tuner/measure/device.h"

namespace lathe::builder {

// Builds a program in the caller's own process, as the builder does on request.
Result<measure::Built> build(const te::Workload& workload, const schedule::Trace& trace,
                             const Target& target, driver::Backends backends);

class BuildServer {
 public:
  BuildServer(runner::Channel& channel, driver::Backends backends)
      : channel_(channel), backends_(backends) {}
  // Answers until the tuner closes its end.
  void serve();

 private:
  using Reply = runner::Packet;
  Result<Reply> answer(const runner::Message& message);
  Result<Reply> set_up(const runner::Message& message);
  Result<Reply> build_candidate(const runner::Message& message);
  Result<Reply> build_reference(const runner::Message& message);
  Result<Reply> build_peak();
  Result<Reply> build_stream(const runner::Message& message);

  runner::Channel& channel_;
  driver::Backends backends_;
  std::optional<te::Workload> workload_;
  Target target_;
  std::unique_ptr<measure::Assembler> assembler_;
  std::set<std::string> known_;  // the workload's programs that need not be built again
};

}  // namespace lathe::builder
