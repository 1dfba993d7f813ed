#include "runtime/runner/crash.h"

#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "runtime/runner/guarded.h"
#include "runtime/runner/protocol.h"

namespace lathe::runner {
namespace {

int reply_fd = -1;  // global, because a signal handler gets no argument that could carry it
alignas(64) char alternate_stack[64 * 1024];

int access_of([[maybe_unused]] const void* context) {
#if defined(__x86_64__)
  const auto* machine = static_cast<const ucontext_t*>(context);
  return (machine->uc_mcontext.gregs[REG_ERR] & 2) != 0 ? 2 : 1;
#else
  return 0;
#endif
}

void on_fatal_signal(int number, siginfo_t* info, void* context) {
  Crash crash;
  crash.signal = number;
  if (number == SIGSEGV || number == SIGBUS) {
    crash.address = reinterpret_cast<std::uint64_t>(info->si_addr);
    crash.access = access_of(context);
    if (const auto region = find_region(info->si_addr)) {
      crash.region = region->side;
      crash.distance = region->distance;
      std::strncpy(crash.buffer.data(), region->name, crash.buffer.size() - 1);
    }
  }
  const auto body = bytes_of(crash);
  const auto header = bytes_of(Header{
      .type = kSchema<Crash>.type, .length = body.size(), .version = kSchema<Crash>.version});
  std::array<char, header.size() + body.size()> message;
  std::ranges::copy(body, std::ranges::copy(header, message.begin()).out);
  const ssize_t written = ::write(reply_fd, message.data(), message.size());
  ::_exit(written == static_cast<ssize_t>(message.size()) ? 3 : 4);
}

}  // namespace

void install_crash_handlers(int channel_fd) {
  reply_fd = channel_fd;
  stack_t stack{};
  stack.ss_sp = alternate_stack;  // a stack that overflowed cannot run a handler
  stack.ss_size = sizeof alternate_stack;
  ::sigaltstack(&stack, nullptr);
  renew_crash_handlers();
}

void renew_crash_handlers() {
  if (reply_fd < 0) return;
  struct sigaction action{};
  action.sa_sigaction = on_fatal_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  for (const int number : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP})
    ::sigaction(number, &action, nullptr);
}

}  // namespace lathe::runner
