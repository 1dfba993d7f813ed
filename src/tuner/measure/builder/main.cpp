// `lathe-builder`: turns traces into shared objects for the tuner that started it. Not for people:
// it speaks binary messages over an inherited descriptor.
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <new>

#include "compiler/backends/backends.h"
#include "runtime/runner/protocol.h"
#include "tuner/measure/builder/build_server.h"

int main(int, char**) {
  if (::fcntl(lathe::runner::kChannelFd, F_GETFD) < 0) {
    std::fputs("lathe-builder is started by lathe and has no use of its own\n", stderr);
    return 2;
  }
  ::fcntl(lathe::runner::kChannelFd, F_SETFD, FD_CLOEXEC);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::signal(SIGINT, SIG_IGN);  // Ctrl-C is the tuner's to handle
  std::set_new_handler([] { ::_exit(lathe::runner::kOutOfMemoryStatus); });
  lathe::runner::Channel channel(lathe::runner::Fd(lathe::runner::kChannelFd),
                                 lathe::runner::Patience::kEndless);
  lathe::builder::BuildServer(channel, lathe::backends()).serve();
  return 0;
}
