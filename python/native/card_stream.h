// The stream of a card that a call is given to.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include "few.h"

namespace lathe::python {

struct CardStream {
  void* handle = nullptr;  // CUstream; null: the default one
  // As DLPack numbers streams: the handle, but 1 for the default one.
  std::int64_t number() const;
};

// `given` is what the caller gives as stream: a number, a stream of PyTorch or CuPy, or another
// object with __cuda_stream__. Null or None: the current stream of the framework that one of the
// arrays comes from, where it tells that by DLPack's exchange functions; else PyTorch's, if PyTorch
// uses cards in this process; else the default one. False with Python's error set if something does
// not fit.
bool find_stream(PyObject* given, const Few<PyObject*>& arrays, CardStream& stream);

}  // namespace lathe::python
