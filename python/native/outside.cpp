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

thread_local int depth = 0;  // works of this thread that are within each other: a callback's

void register_fork() {
  // The other threads of the parent are not there in a forked child.
  static const int registered = pthread_atfork(nullptr, nullptr, [] {
    works = depth;
    ending = false;
  });
  static_cast<void>(registered);
}

// Whether this thread is another one than that which ends the interpreter, and has nothing outside
// that is waited for.
bool is_late() { return depth == 0 && ending && pthread_equal(pthread_self(), ender) == 0; }
// As newer Pythons keep such threads: what they would do or print finds half an interpreter.
void stay_outside() {
  while (true) pause();
}

}  // namespace

bool is_ending() { return ending; }

PyThreadState* begin_outside() {
  register_fork();
  if (is_late()) {
    PyEval_SaveThread();
    stay_outside();
  }
  ++depth;
  works.fetch_add(1, std::memory_order_relaxed);
  return PyEval_SaveThread();
}

void end_outside(PyThreadState* state) {
  --depth;
  if (is_late()) {
    works.fetch_sub(1, std::memory_order_relaxed);
    stay_outside();
  }
  PyEval_RestoreThread(state);
  works.fetch_sub(1, std::memory_order_relaxed);
  if (is_late()) {
    PyEval_SaveThread();
    stay_outside();
  }
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
