#include "cli/interrupt.h"

#include <csignal>
#include <initializer_list>

namespace lathe::cli {
namespace {

// A signal handler can reach nothing else.
volatile std::sig_atomic_t g_interrupted = 0;

void on_signal(int signal) {
  g_interrupted = 1;
  std::signal(signal, SIG_DFL);
}

}  // namespace

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  for (const int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
}

bool interrupted() { return g_interrupted != 0; }

}  // namespace lathe::cli
