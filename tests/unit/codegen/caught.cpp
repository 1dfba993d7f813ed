#include "unit/codegen/caught.h"

#include <setjmp.h>
#include <signal.h>
#include <ucontext.h>

#include <array>
#include <cstring>

#include <fmt/format.h>

#include "runtime/runner/guarded.h"

namespace lathe::testing {
namespace {

constexpr std::array kFatal = {SIGSEGV, SIGBUS, SIGILL, SIGFPE};

// Global, because a signal handler gets no argument that could carry them.
sigjmp_buf before;
siginfo_t last;
bool last_wrote;

void on_fatal_signal(int, siginfo_t* info, [[maybe_unused]] void* context) {
  last = *info;
#if defined(__x86_64__)
  last_wrote = (static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & 2) != 0;
#endif
  siglongjmp(before, 1);
}

std::string described() {
  const auto region = runner::find_region(last.si_addr);
  if (!region || (last.si_signo != SIGSEGV && last.si_signo != SIGBUS))
    return fmt::format("it got {}", ::strsignal(last.si_signo));
  const char* side = region->side == 1 ? "before" : region->side == 2 ? "inside" : "behind";
  return fmt::format("it {} {} bytes {} {}", last_wrote ? "wrote" : "read", region->distance, side,
                     region->name);
}

}  // namespace

std::optional<std::string> caught(const std::function<void()>& run) {
  struct sigaction action{};
  std::array<struct sigaction, kFatal.size()> old{};
  action.sa_sigaction = on_fatal_signal;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < kFatal.size(); ++i) ::sigaction(kFatal[i], &action, &old[i]);
  volatile bool fatal = true;
  if (sigsetjmp(before, 1) == 0) {
    run();
    fatal = false;
  }
  for (std::size_t i = 0; i < kFatal.size(); ++i) ::sigaction(kFatal[i], &old[i], nullptr);
  if (!fatal) return std::nullopt;
  return described();
}

}  // namespace lathe::testing
