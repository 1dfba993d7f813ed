// Work outside of Python: without the GIL, so that other threads go on meanwhile.
#pragma once

#include <Python.h>

#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

#include "failure.h"

namespace lathe::python {

// True once the interpreter is about to end: then nothing outside may wait for the GIL again.
bool is_ending();
// Begin and end of work outside; the caller holds the GIL. Once the interpreter is about to end,
// threads other than the one that ends it return from neither.
PyThreadState* begin_outside();
void end_outside(PyThreadState* state);
// Waits, without the GIL, until no work is outside. Called when the interpreter is about to end,
// by the thread that ends it.
void wait_for_outside();

template <class Work>
auto outside(Work&& work) {
  using Result = std::invoke_result_t<Work>;
  std::exception_ptr thrown;
  PyThreadState* state = begin_outside();
  if constexpr (std::is_void_v<Result>) {
    try {
      work();
    } catch (...) {
      thrown = std::current_exception();
    }
    end_outside(state);
    if (thrown) std::rethrow_exception(thrown);
  } else {
    std::optional<Result> result;
    try {
      result.emplace(work());
    } catch (...) {
      thrown = std::current_exception();
    }
    end_outside(state);
    if (thrown) std::rethrow_exception(thrown);
    return std::move(*result);
  }
}

// The value of work outside that may fail.
template <class Work>
auto released(Work&& work) {
  return value_of(outside(std::forward<Work>(work)));
}

}  // namespace lathe::python
