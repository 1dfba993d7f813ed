// Helper processes: started by exec, and never left behind.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"
#include "runtime/runner/channel.h"

namespace lathe::measure {

// A running process at the other end of a channel. A child is its own process group (Ctrl-C does
// not reach it). When this object goes it is killed with everything that it started; it also dies
// with its parent. One elsewhere only sees that the channel ends.
class Process {
 public:
  static Result<Process> start(const std::string& path);
  // One that serves at an address, HOST:PORT. kIo: nobody answers there.
  static Result<Process> connect(const std::string& address);
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;
  ~Process();

  runner::Channel& channel() { return channel_; }
  bool is_child() const { return pid_ >= 0; }
  double cpu_seconds() const;  // that a child has used so far
  // How the process ended, if it was over already: "it exited with status 3", "SIGKILL ended it".
  struct End {
    std::string text;
    bool killed_by_system = false;  // SIGKILL that was not ours: the machine ran out of memory
    int status = 0;                 // as wait gives it; -1 if it still ran
  };
  // Ends the process; first waits `patience_ms` in case it is ending by itself.
  End stop(int patience_ms = 0);

 private:
  Process(runner::Channel channel, pid_t pid) : channel_(std::move(channel)), pid_(pid) {}
  runner::Channel channel_;
  pid_t pid_ = -1;
};

}  // namespace lathe::measure
