#include "running.h"

#include <pthread.h>

#include <thread>
#include <utility>

namespace nb = nanobind;

namespace lathe::python {
namespace {

using std::chrono::steady_clock;

std::atomic<bool> ending = false;
std::atomic<int> runs = 0;

}  // namespace

Running::Running(nb::object listener) : listener_(std::move(listener)) {
  // The threads of its runs are not there in a forked child.
  static const int at_fork = pthread_atfork(nullptr, nullptr, [] { runs = 0; });
  (void)at_fork;
  ++runs;
}

Running::~Running() {
  Py_DecRef(error_);
  --runs;
}

// With the GIL held and Python's error set. Ctrl-C may be pressed while the listener runs.
void Running::keep_error() {
  stops_ = true;
  if (PyErr_ExceptionMatches(PyExc_KeyboardInterrupt) != 0) {
    PyErr_Clear();
    signalled_ = true;
    return;
  }
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (trace != nullptr) PyException_SetTraceback(value, trace);
  Py_DecRef(type);
  Py_DecRef(trace);
  Py_DecRef(std::exchange(error_, value));
}

void Running::hear(const TuneProgress& progress) {
  if (listener_.is_none() || stops_ || ending) return;
  const nb::gil_scoped_acquire acquired;
  PyObject* said = PyObject_CallFunction(
      listener_.ptr(), "iiddds", progress.trials, progress.failed, progress.best_seconds,
      progress.elapsed_seconds, progress.left_seconds, progress.phase.c_str());
  if (said == nullptr) keep_error();
  Py_DecRef(said);
}

bool Running::stops() {
  if (stops_ || ending) return true;
  constexpr auto kPause = std::chrono::milliseconds(50);
  const auto now = steady_clock::now();
  if (now - looked_ < kPause) return false;
  looked_ = now;
  const nb::gil_scoped_acquire acquired;
  if (PyErr_CheckSignals() == 0) return false;
  keep_error();
  return true;
}

void Running::raise_pending() {
  if (error_ == nullptr) return;
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error_)), error_);
  throw nb::python_error();
}

void end_runs() {
  ending = true;
  const nb::gil_scoped_release released;
  constexpr auto kPause = std::chrono::milliseconds(10);
  while (runs > 0) std::this_thread::sleep_for(kPause);
}

}  // namespace lathe::python
