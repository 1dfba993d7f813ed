#include "failure.h"

#include <nanobind/nanobind.h>

namespace lathe::python {

void raise(const Failure& failure) {
  PyObject* module = PyImport_ImportModule("lathe._errors");
  if (module == nullptr) return;
  PyObject* error = PyObject_CallMethod(module, "error_of", "sss", failure.kind.c_str(),
                                        failure.message.c_str(), failure.place.c_str());
  Py_DecRef(module);
  if (error == nullptr) return;
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error)), error);
  Py_DecRef(error);
}

void raise_invalid(std::string message) { raise({"invalid-argument", std::move(message), ""}); }

}  // namespace lathe::python
