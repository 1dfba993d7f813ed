// A helper process as the tuner sees it: it works on one request at a time, and whatever goes wrong
// is an error of that request.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "runtime/runner/protocol.h"
#include "tuner/measure/process.h"

namespace lathe::measure {

// For the first messages, which copy inputs and the reference.
inline constexpr double kSetupSeconds = 60;

using Clock = std::chrono::steady_clock;

// True for an error that says nothing of the program: a file that cannot be written, a process that
// cannot be started, a linker that is missing, a helper of another version.
bool is_of_environment(const Error& error);

// How to name a failure of the process itself.
struct Role {
  std::string name;      // "builder", "runner"
  std::string program;   // path; or where it serves, if elsewhere
  ErrorKind crash_kind;  // of a candidate that ends the process
  // What it has to send first; another means another version of Lathe.
  runner::Greeting greeting = {};
  bool elsewhere = false;  // `program` is HOST:PORT
  bool spare = false;      // a second process stands ready for when the first one ends
};

class Helper {
 public:
  using Reply = Result<runner::Message>;
  using Continue = std::function<void(Reply)>;
  template <class Message>
  using Then = std::function<void(Result<Message>)>;

  explicit Helper(Role role) : role_(std::move(role)) {}

  // Starts the process if it does not run. A new generation knows nothing that the last one was
  // told.
  Status start();
  void stop();
  bool running() const { return process_.has_value(); }
  int generation() const { return generation_; }
  bool busy() const { return static_cast<bool>(continue_); }
  int fd();  // to poll while it is busy
  Clock::time_point deadline() const { return deadline_; }

  // Sends a request. on_event() passes the reply to `then`, or the error that stands for it. After
  // an error the process runs on only if it sent that error itself. `seconds` suffices for a
  // process with a processor to itself; one that got less than half of a processor may take up to
  // four times as long.
  template <class Answer, class Request>
  void ask(const Request& message, const std::vector<int>& fds, double seconds, Then<Answer> then) {
    request(runner::encode(message), fds, seconds, [then = std::move(then)](const Reply& reply) {
      if (!reply) return then(std::unexpected(reply.error()));
      then(runner::decode<Answer>(*reply));
    });
  }
  void request(const runner::Packet& packet, const std::vector<int>& fds, double seconds,
               Continue then);
  // Call it when the descriptor is readable or the deadline has passed.
  void on_event();

 private:
  bool starved();
  Reply take_reply(bool& finished);
  Error death(const Error& channel_error);
  void finish(Reply reply);

  Role role_;
  std::optional<Process> process_, spare_;
  int generation_ = 0;
  bool greeted_ = false;
  Clock::time_point deadline_{}, last_deadline_{};
  double limit_ = 0, cpu_at_request_ = 0;
  Continue continue_;
  std::optional<Error> unsent_;
};

// Waits for events of helpers and passes them on.
class EventLoop {
 public:
  explicit EventLoop(std::vector<Helper*> helpers) : helpers_(std::move(helpers)) {}
  // Waits until something happens, but `most_seconds` at most.
  void wait(double most_seconds);
  // Waits until `helper` has finished its request; gives up what it does when `stop` returns true.
  void finish(Helper& helper, const std::function<bool()>& stop = {});

 private:
  std::vector<Helper*> helpers_;
};

}  // namespace lathe::measure
