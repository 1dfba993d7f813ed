#include "new_array.h"

#include <string>

#include "failure.h"

namespace nb = nanobind;

namespace lathe::python {

const char* dtype_name(const lathe_artifact_tensor& t) {
  constexpr int kBool = 6;
  if (t.type_code == kDLFloat) return t.type_bits == 64 ? "f64" : t.type_bits == 32 ? "f32" : "f16";
  if (t.type_code == kDLBfloat) return "bf16";
  if (t.type_code == kBool) return "bool";
  if (t.type_code == kDLUInt) return t.type_bits == 32 ? "u32" : t.type_bits == 16 ? "u16" : "u8";
  return t.type_bits == 64 ? "i64" : t.type_bits == 32 ? "i32" : t.type_bits == 16 ? "i16" : "i8";
}

std::string quoted(const lathe_artifact_tensor& t) {
  return std::string("tensor \"") + t.name + "\"";
}

PyObject* shape_of(const lathe_artifact_tensor& t) {
  PyObject* shape = PyTuple_New(t.ndim);
  for (Py_ssize_t d = 0; shape != nullptr && d < t.ndim; ++d)
    PyTuple_SetItem(shape, d, PyLong_FromLongLong(t.shape[d]));
  return shape;
}

namespace {

// What NumPy calls it; null where it has no such type.
const char* numpy_name(const lathe_artifact_tensor& t) {
  const std::string name = dtype_name(t);
  if (name == "bf16") return nullptr;
  if (name == "bool") return "?";
  return name == "f64"   ? "f8"
         : name == "f32" ? "f4"
         : name == "f16" ? "f2"
         : name == "u8"  ? "u1"
         : name == "u16" ? "u2"
         : name == "u32" ? "u4"
         : name == "i16" ? "i2"
         : name == "i64" ? "i8"
         : name == "i32" ? "i4"
                         : "i1";
}

// What numpy.empty takes.
PyObject* empty_arguments(const lathe_artifact_tensor& t) {
  const char* type = numpy_name(t);
  if (type == nullptr) {
    raise_invalid(quoted(t) +
                  " is of bf16, which NumPy does not have; give an array for it as out");
    return nullptr;
  }
  const nb::object numpy = nb::steal(PyImport_ImportModule("numpy"));
  if (!numpy.is_valid()) return nullptr;
  const nb::object dtype = nb::steal(PyObject_CallMethod(numpy.ptr(), "dtype", "s", type)),
                   shape = nb::steal(shape_of(t));
  if (!dtype.is_valid() || !shape.is_valid()) return nullptr;
  return PyTuple_Pack(2, shape.ptr(), dtype.ptr());
}

void set_error(void*, const char* kind, const char* message) {
  PyErr_Format(PyExc_RuntimeError, "%s: %s", kind, message);
}

}  // namespace

PyObject* NewArrays::numpy_empty() {
  // Filled under the GIL, which an import may let go of: then two find the same.
  static PyObject* empty = nullptr;
  if (empty == nullptr) {
    const nb::object numpy = nb::steal(PyImport_ImportModule("numpy"));
    if (!numpy.is_valid()) return nullptr;
    empty = PyObject_GetAttrString(numpy.ptr(), "empty");
  }
  if (!arguments_.is_valid()) arguments_ = nb::steal(empty_arguments(*tensor_));
  if (empty == nullptr || !arguments_.is_valid()) return nullptr;
  return PyObject_Call(empty, arguments_.ptr(), nullptr);
}

PyObject* NewArrays::make(const Exchange* exchange, DLDevice device) {
  const lathe_artifact_tensor& want = *tensor_;
  if (exchange == nullptr && device.device_type != kDLCPU) {
    raise_invalid(quoted(want) +
                  " is made on a card, where Lathe makes no arrays for this framework; give one "
                  "for it as out, as cupy.empty(shape, dtype)");
    return nullptr;
  }
  if (exchange == nullptr) return numpy_empty();
  DLTensor prototype{};
  prototype.device = device;
  prototype.ndim = static_cast<int>(want.ndim);
  prototype.dtype = {static_cast<std::uint8_t>(want.type_code),
                     static_cast<std::uint8_t>(want.type_bits), 1};
  prototype.shape = const_cast<std::int64_t*>(want.shape);
  VersionedTensor* made = nullptr;
  if (exchange->allocate(&prototype, &made, nullptr, set_error) != 0) return nullptr;
  void* object = nullptr;
  if (exchange->object_of(made, &object) != 0) return nullptr;
  return static_cast<PyObject*>(object);
}

}  // namespace lathe::python
