// `lathe-runner` loads, runs, times and checks candidates for the tuner that started it. It is not
// for people: it speaks binary messages over an inherited descriptor.
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>

#include "runtime/runner/crash.h"
#include "runtime/runner/server.h"

int main() {
  if (::fcntl(lathe::runner::kChannelFd, F_GETFD) < 0) {
    std::fputs("lathe-runner is started by lathe and has no use of its own\n", stderr);
    return 2;
  }
  ::fcntl(lathe::runner::kChannelFd, F_SETFD, FD_CLOEXEC);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // so that a busy candidate does not outlive its tuner
  ::signal(SIGINT, SIG_IGN);           // the tuner handles Ctrl-C
  lathe::runner::install_crash_handlers(lathe::runner::kChannelFd);
  lathe::runner::Channel channel(lathe::runner::Fd(lathe::runner::kChannelFd),
                                 lathe::runner::Patience::kEndless);
  lathe::runner::Server(channel).serve();
  return 0;
}
