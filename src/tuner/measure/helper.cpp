#include "tuner/measure/helper.h"

#include <poll.h>
#include <sys/wait.h>

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace lathe::measure {
namespace {

constexpr double kStarvedFactor = 4;
constexpr double kBusyShare = 0.5;
constexpr int kPatienceMs = 200;  // for the end of a process that has closed its channel

Clock::duration seconds(double s) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(s));
}

}  // namespace

bool is_of_environment(const Error& error) {
  return error.kind == ErrorKind::kIo || error.kind == ErrorKind::kNotFound ||
         error.kind == ErrorKind::kDataLoss;
}

Status Helper::start() {
  if (process_) return {};
  process_ = std::exchange(spare_, std::nullopt);
  if (!process_)
    process_ = LATHE_TRY(role_.elsewhere ? Process::connect(role_.program)
                                         : Process::start(role_.program));
  // Where the spare cannot be started, the process will say why when it is due.
  if (role_.spare)
    if (auto spare = Process::start(role_.program)) spare_ = std::move(*spare);
  ++generation_;
  greeted_ = false;
  return {};
}

void Helper::stop() {
  process_.reset();
  continue_ = nullptr;
  unsent_.reset();
}

int Helper::fd() { return process_ ? process_->channel().fd() : -1; }

void Helper::request(const runner::Packet& packet, const std::vector<int>& fds, double limit,
                     Continue then) {
  LATHE_CHECK(!busy(), "{} is asked while it is busy", role_.name);
  continue_ = std::move(then);
  limit_ = limit;
  deadline_ = Clock::now() + seconds(limit);
  last_deadline_ = Clock::now() + seconds(kStarvedFactor * limit);
  Status status = start();
  cpu_at_request_ = process_ && process_->is_child() ? process_->cpu_seconds() : 0;
  if (status) status = process_->channel().send(packet, fds);
  // on_event() reports it, like every other failure.
  if (!status) {
    unsent_ = status.error();
    deadline_ = Clock::now();
  }
}

Error Helper::death(const Error& channel_error) {
  const bool nonsense = channel_error.kind == ErrorKind::kDataLoss;
  if (!process_) return channel_error;
  const Process::End end = process_->stop(nonsense ? 0 : kPatienceMs);
  process_.reset();
  if (nonsense)
    return {ErrorKind::kInternal,
            fmt::format("the {} sent something that is not a message", role_.name),
            {}};
  if (end.killed_by_system)
    return {ErrorKind::kOutOfMemory,
            fmt::format("the {} was killed; where nobody did it, the machine has too little memory",
                        role_.name),
            {}};
  if (end.status > 0 && WIFEXITED(end.status) &&
      WEXITSTATUS(end.status) == runner::kOutOfMemoryStatus)
    return {ErrorKind::kOutOfMemory, fmt::format("the {} had no memory left", role_.name), {}};
  return {role_.crash_kind, fmt::format("the {} died: {}", role_.name, end.text), {}};
}

Helper::Reply Helper::take_reply(bool& finished) {
  finished = true;
  if (unsent_) return std::unexpected(death(*std::exchange(unsent_, std::nullopt)));
  for (;;) {
    auto message = process_->channel().poll_message();
    if (!message) return std::unexpected(death(message.error()));
    if (!*message) break;
    if (runner::is<runner::Greeting>(**message)) {
      const auto greeting = runner::decode<runner::Greeting>(**message);
      if (greeting && *greeting == role_.greeting && !std::exchange(greeted_, true)) continue;
      process_.reset();
      return fail(ErrorKind::kDataLoss,
                  "the {} is of another version of Lathe; install both together", role_.name);
    }
    if (runner::is<Error>(**message)) {
      auto error = runner::decode<Error>(**message);
      return std::unexpected(error ? *error : death(error.error()));
    }
    if (runner::is<runner::Broken>(**message)) {
      const auto broken = runner::decode<runner::Broken>(**message);
      process_.reset();
      return std::unexpected(broken ? broken->error : broken.error());
    }
    if (runner::is<runner::Crash>(**message)) {
      const auto crash = runner::decode<runner::Crash>(**message);
      process_.reset();
      return std::unexpected(crash ? crash->error() : crash.error());
    }
    return std::move(**message);
  }
  if (Clock::now() >= deadline_ && !starved()) {
    process_.reset();
    return fail(ErrorKind::kTimeout, "the {} took too long and was stopped", role_.name);
  }
  finished = false;
  return runner::Message{};
}

// The deadline has passed: tells whether to wait on, and moves the deadline.
bool Helper::starved() {
  if (!process_->is_child()) return false;
  const double used = process_->cpu_seconds() - cpu_at_request_;
  if (used > kBusyShare * limit_ || Clock::now() >= last_deadline_) return false;
  deadline_ = std::min(last_deadline_, Clock::now() + seconds(limit_ / 4));
  return true;
}

void Helper::on_event() {
  if (!busy()) return;
  bool finished = false;
  Reply reply = take_reply(finished);
  if (finished) finish(std::move(reply));
}

void Helper::finish(Reply reply) {
  if (!reply) log(LogLevel::kDebug, "{}: {}", role_.name, reply.error().text());
  const Continue then = std::exchange(continue_, nullptr);
  then(std::move(reply));
}

void EventLoop::wait(double most_seconds) {
  std::vector<pollfd> entries;
  std::vector<Helper*> polled;
  auto until = Clock::now() + seconds(most_seconds);
  for (Helper* helper : helpers_) {
    if (!helper->busy()) continue;
    entries.push_back({helper->fd(), POLLIN, 0});
    polled.push_back(helper);
    until = std::min(until, helper->deadline());
  }
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
  const int timeout = static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
  // A signal came: the caller looks at its stop flag.
  if (::poll(entries.data(), entries.size(), timeout) < 0) return;
  for (std::size_t i = 0; i < polled.size(); ++i)
    if (entries[i].revents != 0 || Clock::now() >= polled[i]->deadline()) polled[i]->on_event();
}

void EventLoop::finish(Helper& helper, const std::function<bool()>& stop) {
  constexpr double kLook = 0.05;  // seconds between two looks at a stop flag
  while (helper.busy() && !(stop && stop())) wait(stop ? kLook : 1);
  if (helper.busy()) helper.stop();
}

}  // namespace lathe::measure
