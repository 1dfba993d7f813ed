#include "cli/interrupt.h"

#include <csignal>
#include <initializer_list>

namespace lathe::cli {
namespace {

// The number of the signal that came. A signal handler can reach nothing else.
volatile std::sig_atomic_t g_interrupted = 0;

void on_signal(int signal) {
  g_interrupted = signal;
  std::signal(signal, SIG_DFL);
}

}  // namespace

void catch_interrupts() {
  // Who reads the progress may end before the work does.
  std::signal(SIGPIPE, SIG_IGN);
  struct sigaction action{};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before{};
    const bool ignored = sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_IGN;
    if (!ignored) sigaction(signal, &action, nullptr);
  }
}

bool interrupted() { return g_interrupted != 0; }
int interrupted_code(int otherwise) { return interrupted() ? 128 + g_interrupted : otherwise; }

}  // namespace lathe::cli
