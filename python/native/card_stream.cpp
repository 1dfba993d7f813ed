#include "card_stream.h"

#include "failure.h"
#include "view.h"

namespace nb = nanobind;

namespace lathe::python {
namespace {

void* handle_of(std::uintptr_t number) { return reinterpret_cast<void*>(number); }

// Null and no error where the object has no such attribute.
nb::object attribute(PyObject* object, const char* name) {
  nb::object value = nb::steal(PyObject_GetAttrString(object, name));
  if (!value.is_valid()) PyErr_Clear();
  return value;
}

// A number of Python as a handle.
bool take_number(PyObject* number, CardStream& stream) {
  const std::size_t value = PyLong_AsSize_t(number);
  if (PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    return false;
  }
  stream.handle = handle_of(value);
  return true;
}

// By the protocol __cuda_stream__, which returns its version and the handle.
bool take_by_protocol(PyObject* object, CardStream& stream) {
  const nb::object pair = nb::steal(PyObject_CallMethod(object, "__cuda_stream__", nullptr));
  const nb::object number =
      nb::steal(pair.is_valid() ? PySequence_GetItem(pair.ptr(), 1) : nullptr);
  PyErr_Clear();
  return number.is_valid() && take_number(number.ptr(), stream);
}

bool take_given(PyObject* given, CardStream& stream) {
  if (PyLong_Check(given) != 0 && take_number(given, stream)) return true;
  for (const char* name : {"cuda_stream", "ptr"})  // PyTorch's, CuPy's
    if (const nb::object number = attribute(given, name);
        number.is_valid() && take_number(number.ptr(), stream))
      return true;
  if (attribute(given, "__cuda_stream__").is_valid() && take_by_protocol(given, stream))
    return true;
  raise_invalid(
      "stream is none; give the number of a cudaStream_t, a stream of PyTorch or CuPy, or another "
      "object with __cuda_stream__");
  return false;
}

bool is_told_by_exchange(PyObject* array, CardStream& stream) {
  const Exchange* exchange = exchange_of(array);
  if (exchange == nullptr || exchange->stream_of == nullptr) return false;
  const DLDevice device = device_of(array);
  if (device.device_type != kDLCUDA) return false;
  if (exchange->stream_of(device.device_type, device.device_id, &stream.handle) == 0) return true;
  PyErr_Clear();
  return false;
}

// PyTorch's current stream, if it uses cards in this process.
void take_of_torch(CardStream& stream) {
  PyObject* modules = PyImport_GetModuleDict();
  PyObject* torch = PyDict_GetItemString(modules, "torch");
  if (torch == nullptr) return;
  const nb::object cuda = attribute(torch, "cuda");
  if (!cuda.is_valid()) return;
  const nb::object used = nb::steal(PyObject_CallMethod(cuda.ptr(), "is_initialized", nullptr));
  const bool is_used = used.is_valid() && PyObject_IsTrue(used.ptr()) == 1;
  const nb::object current =
      nb::steal(is_used ? PyObject_CallMethod(cuda.ptr(), "current_stream", nullptr) : nullptr);
  PyErr_Clear();
  if (!current.is_valid()) return;
  const nb::object number = attribute(current.ptr(), "cuda_stream");
  if (number.is_valid()) take_number(number.ptr(), stream);
}

}  // namespace

std::int64_t CardStream::number() const {
  constexpr std::int64_t kDefault = 1;
  return handle == nullptr ? kDefault : reinterpret_cast<std::intptr_t>(handle);
}

bool find_stream(PyObject* given, const Few<PyObject*>& arrays, CardStream& stream) {
  if (given != nullptr && given != Py_None) return take_given(given, stream);
  for (PyObject* array : arrays)
    if (array != nullptr && is_told_by_exchange(array, stream)) return true;
  take_of_torch(stream);
  return true;
}

}  // namespace lathe::python
