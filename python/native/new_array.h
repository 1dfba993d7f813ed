// Arrays of Python for the tensors of a program.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "exchange.h"
#include "runtime/artifact/artifact.h"

namespace lathe::python {

const char* dtype_name(const lathe_artifact_tensor& tensor);  // "f32"
std::string quoted(const lathe_artifact_tensor& tensor);      // tensor "A"
PyObject* shape_of(const lathe_artifact_tensor& tensor);      // a tuple; a new reference

// Makes arrays for a tensor, which lives as long.
class NewArrays {
 public:
  explicit NewArrays(const lathe_artifact_tensor& tensor) : tensor_(&tensor) {}
  // One on a device, of the framework whose functions these are; where there are none, of NumPy,
  // which has no device but the processor. Null with Python's error set if there is none.
  PyObject* make(const Exchange* exchange, DLDevice device);

 private:
  PyObject* numpy_empty();

  const lathe_artifact_tensor* tensor_;
  nanobind::object arguments_;  // of numpy.empty, once it was called
};

}  // namespace lathe::python
