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

// A new array on a device, of the framework whose functions these are; where there are none, of
// NumPy, which has no device but the processor. Null with Python's error set if there is none.
PyObject* new_array(const lathe_artifact_tensor& tensor, const Exchange* exchange,
                    DLDevice device = {kDLCPU, 0});

}  // namespace lathe::python
