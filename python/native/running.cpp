#include "running.h"

#include <utility>

#include "outside.h"

namespace nb = nanobind;

namespace lathe::python {

using std::chrono::steady_clock;

Running::Running(nb::object listener) : listener_(std::move(listener)) {}

Running::~Running() { Py_DecRef(error_); }

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
  if (listener_.is_none() || stops_ || is_ending()) return;
  const nb::gil_scoped_acquire acquired;
  PyObject* said = PyObject_CallFunction(
      listener_.ptr(), "iiddds", progress.trials, progress.failed, progress.best_seconds,
      progress.elapsed_seconds, progress.left_seconds, progress.phase.c_str());
  if (said == nullptr) keep_error();
  Py_DecRef(said);
}

bool Running::stops() {
  if (stops_ || is_ending()) return true;
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

}  // namespace lathe::python
