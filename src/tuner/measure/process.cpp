#include "tuner/measure/process.h"

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/runner/protocol.h"

namespace lathe::measure {
namespace {

// Holds the two objects that posix_spawn needs, and releases them.
struct SpawnSetup {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  explicit SpawnSetup(int channel_end) {
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawnattr_init(&attributes);
    // This clears close-on-exec, even where the descriptor already has that number.
    ::posix_spawn_file_actions_adddup2(&files, channel_end, runner::kChannelFd);
    ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setsigdefault(&attributes, &all);
    ::posix_spawnattr_setpgroup(&attributes, 0);
    ::posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  ~SpawnSetup() {
    ::posix_spawn_file_actions_destroy(&files);
    ::posix_spawnattr_destroy(&attributes);
  }
};

// Waits some milliseconds for the child; returns true when it is over.
bool reap(pid_t pid, int patience_ms, int& status) {
  for (int waited = 0;; ++waited) {
    const pid_t got = ::waitpid(pid, &status, WNOHANG);
    if (got == pid || (got < 0 && errno != EINTR)) return true;
    if (waited >= patience_ms) return false;
    ::usleep(1000);
  }
}

// Returns errno's number, 0 if it is connected. A machine that is switched off does not answer.
int connect_to(int end, const addrinfo& to) {
  constexpr int kMostMs = 2000;
  const int flags = ::fcntl(end, F_GETFL);
  ::fcntl(end, F_SETFL, flags | O_NONBLOCK);
  int error = ::connect(end, to.ai_addr, to.ai_addrlen) == 0 ? 0 : errno;
  if (error == EINPROGRESS) {
    pollfd entry{end, POLLOUT, 0};
    socklen_t size = sizeof error;
    if (::poll(&entry, 1, kMostMs) <= 0) return ETIMEDOUT;
    ::getsockopt(end, SOL_SOCKET, SO_ERROR, &error, &size);
  }
  ::fcntl(end, F_SETFL, flags);
  return error;
}

}  // namespace

Result<Process> Process::start(const std::string& path) {
  auto ends = LATHE_TRY(runner::make_pair_of_ends());
  const SpawnSetup setup(ends.second.get());
  char* arguments[] = {const_cast<char*>(path.c_str()), nullptr};
  pid_t pid = -1;
  const int error =
      ::posix_spawn(&pid, path.c_str(), &setup.files, &setup.attributes, arguments, environ);
  if (error != 0) return fail_at(path, ErrorKind::kIo, "cannot start it: {}", std::strerror(error));
  return Process(runner::Channel(std::move(ends.first)), pid);
}

Result<Process> Process::connect(const std::string& address) {
  const auto colon = address.rfind(':');
  if (colon == std::string::npos)
    return fail_at(address, ErrorKind::kInvalidArgument,
                   "write the address of a helper as HOST:PORT");
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(address.substr(0, colon).c_str(),
                                  address.substr(colon + 1).c_str(), &hints, &found);
  if (error != 0)
    return fail_at(address, ErrorKind::kIo, "cannot find it: {}", ::gai_strerror(error));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(found, ::freeaddrinfo);
  int last_error = 0;
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    runner::Fd end(::socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol));
    last_error = end ? connect_to(end.get(), *at) : errno;
    if (last_error == 0) return Process(runner::Channel(std::move(end)), -1);
  }
  return fail_at(address, ErrorKind::kIo, "cannot reach it: {}", std::strerror(last_error));
}

Process::Process(Process&& other) noexcept
    : channel_(std::move(other.channel_)), pid_(std::exchange(other.pid_, -1)) {}

Process& Process::operator=(Process&& other) noexcept {
  std::swap(channel_, other.channel_);
  std::swap(pid_, other.pid_);
  return *this;
}

Process::~Process() { stop(); }

double Process::cpu_seconds() const {
  clockid_t clock;
  timespec time{};
  if (::clock_getcpuclockid(pid_, &clock) != 0 || ::clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

Process::End Process::stop(int patience_ms) {
  End end{.text = "its connection ended"};
  if (pid_ < 0) return end;
  int status = 0;
  // If it ended by itself, that tells why.
  const bool over = reap(pid_, patience_ms, status);
  ::kill(-pid_, SIGKILL);  // and whatever it started
  if (!over) {
    int ignored = 0;
    while (::waitpid(pid_, &ignored, 0) < 0 && errno == EINTR) {
    }
    end.status = -1;
    end.text = "it was stopped";
  } else if (WIFSIGNALED(status)) {
    end.status = status;
    end.killed_by_system = WTERMSIG(status) == SIGKILL;
    const char* name = ::sigabbrev_np(WTERMSIG(status));
    end.text = fmt::format("SIG{} ended it", name != nullptr ? name : "?");
  } else {
    end.status = status;
    end.text = fmt::format("it exited with status {}", WEXITSTATUS(status));
  }
  pid_ = -1;
  return end;
}

}  // namespace lathe::measure
