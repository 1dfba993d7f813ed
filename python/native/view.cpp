#include "view.h"

#include <array>
#include <cstring>
#include <limits>
#include <optional>

#include "failure.h"

namespace nb = nanobind;

namespace lathe::python {
namespace {

constexpr int kBool = 6;  // of newer versions of DLPack

// The element type that a buffer's format names; none where DLPack has no name for it.
std::optional<DLDataType> type_of(const char* format, Py_ssize_t size) {
  if (*format == '@' || *format == '=' || *format == '<') ++format;
  if (format[0] == '\0' || format[1] != '\0') return std::nullopt;
  const auto bits = static_cast<std::uint8_t>(size * 8);
  if (std::strchr("efd", *format) != nullptr) return DLDataType{kDLFloat, bits, 1};
  if (std::strchr("bhilq", *format) != nullptr) return DLDataType{kDLInt, bits, 1};
  if (std::strchr("BHILQ", *format) != nullptr) return DLDataType{kDLUInt, bits, 1};
  if (*format == '?') return DLDataType{kBool, bits, 1};
  return std::nullopt;
}

std::string quoted(const char* name) { return std::string("tensor \"") + name + "\" "; }

std::string type_name(PyObject* object) {
  const nb::object name = nb::steal(PyType_GetName(Py_TYPE(object)));
  const char* text = name.is_valid() ? PyUnicode_AsUTF8AndSize(name.ptr(), nullptr) : nullptr;
  return text != nullptr ? text : "?";
}

// What Python's error says, which is cleared; frameworks add their stack in further lines.
std::string first_line_of_error() {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  const nb::object text = nb::steal(value != nullptr ? PyObject_Str(value) : nullptr);
  const char* words = text.is_valid() ? PyUnicode_AsUTF8AndSize(text.ptr(), nullptr) : nullptr;
  const std::string all = words != nullptr ? words : "it has no data";
  for (PyObject* object : {type, value, trace}) Py_DecRef(object);
  PyErr_Clear();
  return all.substr(0, all.find('\n'));
}

// Whether an attribute of a tensor is true, or a method without arguments answers so.
bool is_true(PyObject* object, PyObject* name, bool calls) {
  nb::object value = nb::steal(PyObject_GetAttr(object, name));
  if (value.is_valid() && calls) value = nb::steal(PyObject_CallNoArgs(value.ptr()));
  const bool answer = value.is_valid() && PyObject_IsTrue(value.ptr()) == 1;
  PyErr_Clear();
  return answer;
}

// What a tensor of PyTorch has beside its memory, and Lathe does not look at; null: nothing.
const char* hidden_state(PyObject* object) {
  // Made once, under the GIL: three tensors are asked in each call.
  static PyObject* is_neg = PyUnicode_InternFromString("is_neg");
  static PyObject* requires_grad = PyUnicode_InternFromString("requires_grad");
  static PyObject* is_grad_enabled = PyUnicode_InternFromString("is_grad_enabled");
  if (is_true(object, is_neg, true))
    return "stands for its negative; call .resolve_neg() of it first";
  if (!is_true(object, requires_grad, false)) return nullptr;
  const nb::object torch = nb::steal(PyImport_ImportModule("torch"));
  if (!torch.is_valid() || is_true(torch.ptr(), is_grad_enabled, true))
    return "requires a gradient, which Lathe does not compute; call .detach() of it, or use "
           "torch.no_grad()";
  return nullptr;
}

const Exchange* look_up(PyTypeObject* type) {
  PyObject* capsule =
      PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "__dlpack_c_exchange_api__");
  if (capsule == nullptr) {
    PyErr_Clear();
    return nullptr;
  }
  auto* header = static_cast<ExchangeHeader*>(PyCapsule_GetPointer(capsule, "dlpack_exchange_api"));
  PyErr_Clear();
  Py_DecRef(capsule);  // the table lives as long as the process
  while (header != nullptr && header->version.major != kDlpackMajor) header = header->previous;
  const auto* exchange = reinterpret_cast<const Exchange*>(header);
  return exchange != nullptr && exchange->view_of != nullptr ? exchange : nullptr;
}

// Calls the method; where it does not know max_version, without it. A stream is given for arrays
// on cards.
PyObject* capsule_of(PyObject* object, const std::int64_t* stream) {
  const nb::object method = nb::steal(PyObject_GetAttrString(object, "__dlpack__"));
  if (!method.is_valid()) return nullptr;
  const nb::object empty = nb::steal(PyTuple_New(0)), named = nb::steal(PyDict_New());
  if (stream != nullptr) {
    const nb::object number = nb::steal(PyLong_FromLongLong(*stream));
    PyDict_SetItemString(named.ptr(), "stream", number.ptr());
  }
  const nb::object with_version = nb::steal(PyDict_Copy(named.ptr()));
  const nb::object version = nb::steal(Py_BuildValue("(ii)", int{kDlpackMajor}, 0));
  PyDict_SetItemString(with_version.ptr(), "max_version", version.ptr());
  PyObject* capsule = PyObject_Call(method.ptr(), empty.ptr(), with_version.ptr());
  if (capsule != nullptr || PyErr_ExceptionMatches(PyExc_TypeError) == 0) return capsule;
  PyErr_Clear();
  return PyObject_Call(method.ptr(), empty.ptr(), named.ptr());
}

}  // namespace

DLDevice device_of(PyObject* object) {
  const nb::object device = nb::steal(PyObject_CallMethod(object, "__dlpack_device__", nullptr));
  int kind = kDLCPU, id = 0;
  if (!device.is_valid() || PyArg_ParseTuple(device.ptr(), "ii", &kind, &id) == 0) {
    PyErr_Clear();
    return {kDLCPU, 0};
  }
  return {static_cast<DLDeviceType>(kind), id};
}

namespace {

// What is known of a type.
struct Facts {
  PyTypeObject* type = nullptr;
  const Exchange* exchange = nullptr;
  bool masked = false;  // as numpy.ma's arrays: memory is not all that counts
};

const Facts& facts_of(PyObject* object) {
  // Types that were asked for last. They are kept alive, so that none takes the place of another.
  static std::array<Facts, 8> known;
  static std::size_t next = 0;
  PyTypeObject* type = Py_TYPE(object);
  for (const Facts& facts : known)
    if (facts.type == type) return facts;
  auto* as_object = reinterpret_cast<PyObject*>(type);
  Py_IncRef(as_object);
  const Exchange* exchange = look_up(type);
  const bool masked = PyObject_HasAttrString(as_object, "mask") != 0 &&
                      PyObject_HasAttrString(as_object, "filled") != 0;
  Facts& place = known[next++ % known.size()];
  PyTypeObject* gone = place.type;
  place = {type, exchange, masked};
  Py_DecRef(reinterpret_cast<PyObject*>(gone));
  return place;
}

}  // namespace

const Exchange* exchange_of(PyObject* object) { return facts_of(object).exchange; }

View::~View() {
  if (has_buffer_) PyBuffer_Release(&buffer_);
  Py_DecRef(capsule_);
}

bool View::look(PyObject* object, const char* name, bool writes, const std::int64_t* stream) {
  if (facts_of(object).masked) {
    raise_invalid(quoted(name) + "is masked, and masks are not looked at; call .filled() of it");
    return false;
  }
  if (PyObject_CheckBuffer(object) != 0) return look_at_buffer(object, name, writes);
  if (const Exchange* exchange = exchange_of(object))
    return look_by_exchange(*exchange, object, name);
  if (PyObject_HasAttrString(object, "__dlpack__") != 0)
    return look_at_capsule(object, name, writes, stream);
  raise_invalid(quoted(name) + "is given as " + type_name(object) +
                "; give an array: NumPy's, PyTorch's, or any with __dlpack__ or a buffer");
  return false;
}

bool View::look_at_buffer(PyObject* object, const char* name, bool writes) {
  if (PyObject_GetBuffer(object, &buffer_, writes ? PyBUF_FULL : PyBUF_FULL_RO) == 0) {
    has_buffer_ = true;
    return take_buffer(name);
  }
  const bool readable = PyObject_GetBuffer(object, &buffer_, PyBUF_FULL_RO) == 0;
  PyErr_Clear();
  if (readable) PyBuffer_Release(&buffer_);
  raise_invalid(quoted(name) +
                (readable ? "is read-only, and outputs are written; give another array"
                          : "has elements of a type that Lathe does not know; convert it"));
  return false;
}

bool View::take_buffer(const char* name) {
  const char* format = buffer_.format != nullptr ? buffer_.format : "B";
  const auto type = type_of(format, buffer_.itemsize);
  if (!type) {
    const bool swapped = *format == '>' || *format == '!';
    raise_invalid(quoted(name) + (swapped ? "has its bytes in the other order; convert it, as by "
                                            "a.astype(a.dtype.newbyteorder())"
                                          : std::string("has elements of format \"") + format +
                                                "\", which Lathe does not know; convert it"));
    return false;
  }
  // Buffers of ctypes leave the strides out where there are no gaps.
  tensor_ = {buffer_.buf,
             {kDLCPU, 0},
             buffer_.ndim,
             *type,
             shape_,
             buffer_.strides != nullptr ? strides_ : nullptr,
             0};
  for (int d = 0; d < buffer_.ndim && d < kDimensions; ++d) {
    shape_[d] = buffer_.shape != nullptr ? buffer_.shape[d] : buffer_.len / buffer_.itemsize;
    if (buffer_.strides == nullptr) continue;
    // A stride that is no whole number of elements is that of no row-major tensor.
    strides_[d] = buffer_.strides[d] % buffer_.itemsize == 0
                      ? buffer_.strides[d] / buffer_.itemsize
                      : std::numeric_limits<std::int64_t>::min();
  }
  return true;
}

bool View::look_by_exchange(const Exchange& exchange, PyObject* object, const char* name) {
  if (const char* why = hidden_state(object)) {
    raise_invalid(quoted(name) + why);
    return false;
  }
  if (exchange.view_of(object, &tensor_) == 0) return true;
  raise_invalid(quoted(name) + "cannot be looked at: " + first_line_of_error());
  return false;
}

bool View::look_at_capsule(PyObject* object, const char* name, bool writes,
                           const std::int64_t* stream) {
  const DLDeviceType kind = device_of(object).device_type;
  const bool on_card = kind == kDLCUDA;
  if (kind != kDLCPU && kind != kDLCUDAHost && !(on_card && stream != nullptr)) {
    raise_invalid(quoted(name) + (stream == nullptr ? "is not in the processor's memory"
                                                    : "is not on a card of NVIDIA"));
    return false;
  }
  capsule_ = capsule_of(object, on_card ? stream : nullptr);
  if (capsule_ == nullptr) {
    raise_invalid(quoted(name) + "cannot be looked at: " + first_line_of_error());
    return false;
  }
  if (PyCapsule_IsValid(capsule_, "dltensor") != 0) {
    tensor_ = *static_cast<DLTensor*>(PyCapsule_GetPointer(capsule_, "dltensor"));
    return true;
  }
  auto* managed =
      static_cast<VersionedTensor*>(PyCapsule_GetPointer(capsule_, "dltensor_versioned"));
  if (managed == nullptr) return false;
  if (managed->version.major != kDlpackMajor) {
    raise_invalid(quoted(name) + "comes by a version of DLPack that Lathe does not know");
    return false;
  }
  if (writes && (managed->flags & kDlpackReadOnly) != 0) {
    raise_invalid(quoted(name) + "is read-only, and outputs are written; give another array");
    return false;
  }
  tensor_ = managed->tensor;
  return true;
}

}  // namespace lathe::python
