// A run of the tuner that Python waits for: what it hears, and what ends it early.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <chrono>

#include "lathe/lathe.h"

namespace lathe::python {

// Made and destroyed with the GIL held.
class Running {
 public:
  explicit Running(nanobind::object listener);
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running();

  // Both are called without the GIL, from any thread, one at a time.
  void hear(const TuneProgress& progress);
  // True once Ctrl-C was pressed, the listener raised, or the interpreter ends.
  bool stops();

  bool was_signalled() const { return signalled_; }
  // With the GIL held: throws what the listener or the handler of a signal raised.
  void raise_pending();

 private:
  void keep_error();

  nanobind::object listener_;
  PyObject* error_ = nullptr;
  std::atomic<bool> stops_ = false, signalled_ = false;
  std::chrono::steady_clock::time_point looked_{};  // for signals
};

}  // namespace lathe::python
