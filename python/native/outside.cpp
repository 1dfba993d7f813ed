#include "outside.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace lathe::python {
namespace {

std::atomic<bool> ending = false;
std::atomic<int> works = 0;  // outside just now
pthread_t ender;

void register_fork() {
  // The other threads of the parent are not there in a forked child.
  static const int registered = pthread_atfork(nullptr, nullptr, [] { works = 0; });
  static_cast<void>(registered);
}

}  // namespace

bool is_ending() { return ending; }

PyThreadState* begin_outside() {
  register_fork();
  if (ending && pthread_equal(pthread_self(), ender) == 0) {
    PyEval_SaveThread();
    while (true) pause();  // as newer Pythons keep such threads
  }
  works.fetch_add(1, std::memory_order_relaxed);
  return PyEval_SaveThread();
}

void end_outside(PyThreadState* state) {
  PyEval_RestoreThread(state);
  works.fetch_sub(1, std::memory_order_relaxed);
}

void wait_for_outside() {
  ender = pthread_self();
  ending = true;
  PyThreadState* state = PyEval_SaveThread();
  constexpr auto kPause = std::chrono::milliseconds(1);
  while (works.load(std::memory_order_relaxed) > 0) std::this_thread::sleep_for(kPause);
  PyEval_RestoreThread(state);
}

}  // namespace lathe::python
