#include "einsum.h"

#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>

#include "failure.h"

namespace nb = nanobind;

namespace lathe::python {
namespace {

template <class T>
void add(std::string& key, const T& value) {
  key.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void add_numbers(std::string& key, const std::int64_t* numbers, int count) {
  if (numbers == nullptr) add(key, std::int64_t{-1});
  else key.append(reinterpret_cast<const char*>(numbers), sizeof *numbers * count);
}

bool is_aligned(const DLTensor& tensor) {
  const auto address = reinterpret_cast<std::uintptr_t>(tensor.data) + tensor.byte_offset;
  return address % std::max(1, tensor.dtype.bits / 8) == 0;
}

bool is_row_major(const DLTensor& tensor) {
  if (tensor.ndim > View::kDimensions) return false;
  std::int64_t stride = 1;
  for (int d = tensor.ndim; tensor.strides != nullptr && d-- > 0; stride *= tensor.shape[d])
    if (tensor.shape[d] != 1 && tensor.strides[d] != stride) return false;
  return true;
}

bool is_taken(PyObject* out) {
  View view;
  return out != Py_None && view.look(out, "", true) && is_row_major(view.tensor());
}

// Appends a text and its length. False if it is no text.
bool add_text(std::string& key, PyObject* text) {
  if (text == nullptr || PyUnicode_Check(text) == 0) return false;
  Py_ssize_t length = 0;
  const char* characters = PyUnicode_AsUTF8AndSize(text, &length);
  if (characters == nullptr) return false;
  key.append(characters, static_cast<std::size_t>(length));
  add(key, length);
  return true;
}

bool is_given(PyObject* value) { return value != nullptr && value != Py_None; }

// Appends a number of threads, 0 where none is given. False if it is no number.
bool add_threads(std::string& key, PyObject* threads) {
  std::int64_t number = 0;
  if (is_given(threads)) {
    if (!PyLong_CheckExact(threads)) return false;
    number = PyLong_AsLongLong(threads);
    if (number <= 0) return false;
  }
  add(key, number);
  return true;
}

}  // namespace

// What may be told by keyword: an output, the level of numerics, and threads. False if there is
// another keyword, or an output that is copied to.
bool Einsum::take(PyObject* keywords, Told& told) {
  const Py_ssize_t size = keywords == nullptr ? 0 : PyDict_Size(keywords);
  if (size == 0) return true;
  const std::pair<const char*, PyObject**> taken[] = {
      {"out", &told.out}, {"numerics", &told.numerics}, {"threads", &told.threads}};
  Py_ssize_t known = 0;
  for (const auto& [name, value] : taken) {
    if (known == size) break;
    *value = PyDict_GetItemString(keywords, name);
    if (*value != nullptr) ++known;
  }
  return size == known && (told.out == nullptr || is_taken(told.out));
}

// False where a call is not of the kind that has a key: the long way tells what is wrong with it.
bool Einsum::describe(PyObject* arguments, const Told& told, Views& views, std::string& key) {
  const Py_ssize_t count = PyTuple_Size(arguments);
  if (!add_text(key, count > 1 ? PyTuple_GetItem(arguments, 0) : nullptr)) return false;
  if (!add_threads(key, told.threads)) return false;
  if (is_given(told.numerics) && !add_text(key, told.numerics)) return false;
  for (Py_ssize_t i = 1; i < count; ++i) {
    View& view = views.add();
    if (!view.look(PyTuple_GetItem(arguments, i), "", false)) return false;
    const DLTensor& tensor = view.tensor();
    if (tensor.ndim > View::kDimensions || !is_aligned(tensor)) return false;
    add(key, tensor.ndim);
    add(key, tensor.dtype);
    add(key, tensor.device.device_type);
    add_numbers(key, tensor.shape, tensor.ndim);
    add_numbers(key, tensor.strides, tensor.ndim);
  }
  return true;
}

void Einsum::reorder(DLTensor& tensor, const std::vector<int>& order, Ordered& ordered) {
  for (const int d : order) {
    ordered.shape.push_back(tensor.shape[d]);
    if (tensor.strides != nullptr) ordered.strides.push_back(tensor.strides[d]);
  }
  if (order.empty()) ordered.shape.push_back(1), ordered.strides.push_back(1);
  tensor.ndim = static_cast<int>(ordered.shape.size());
  tensor.shape = ordered.shape.data();
  tensor.strides = ordered.strides.empty() ? nullptr : ordered.strides.data();
}

PyObject* Einsum::call(PyObject* arguments, PyObject* keywords) {
  Views views;
  Told told;
  std::string key;
  if (!known_.empty() && take(keywords, told) && describe(arguments, told, views, key)) {
    if (const auto found = known_.find(key); found != known_.end()) {
      const nb::object kernel = found->second.kernel;  // held, should all be forgotten meanwhile
      std::vector<Ordered> ordered(views.size());
      Kernel::Given given;
      Kernel::Looked looked;
      for (std::size_t i = 0; i < views.size(); ++i) {
        reorder(views[i].tensor(), found->second.orders[i], ordered[i]);
        looked.inputs.push_back(&views[i].tensor());
        given.inputs.push_back(PyTuple_GetItem(arguments, static_cast<Py_ssize_t>(i) + 1));
      }
      given.out = told.out;
      PyObject* result = nb::inst_ptr<Kernel>(kernel)->finish(given, looked);
      if (result != nullptr || told.out == nullptr) return result;  // else the long way may copy
    }
  }
  PyErr_Clear();
  return PyObject_Call(otherwise_.ptr(), arguments, keywords);
}

void Einsum::remember(const nb::str& subscripts, const nb::tuple& operands,
                      const nb::object& numerics, const nb::object& kernel,
                      const std::vector<std::vector<int>>& orders, const nb::object& threads) {
  constexpr std::size_t kMost = 4096;
  if (known_.size() >= kMost) known_.clear();
  Views views;
  std::string key;
  const nb::object first = nb::steal(PyTuple_Pack(1, subscripts.ptr()));
  const nb::object all = nb::steal(PySequence_Concat(first.ptr(), operands.ptr()));
  if (all.is_valid() && nb::isinstance<Kernel>(kernel) && orders.size() == operands.size() &&
      describe(all.ptr(), {.numerics = numerics.ptr(), .threads = threads.ptr()}, views, key))
    known_[key] = {kernel, orders};
  PyErr_Clear();
}

namespace {

PyObject* call_einsum(PyObject* self, PyObject* arguments, PyObject* keywords) {
  return guarded_call([&] { return nb::inst_ptr<Einsum>(self)->call(arguments, keywords); });
}

}  // namespace

void bind_einsum(nb::module_& module) {
  static PyType_Slot slots[] = {{Py_tp_call, reinterpret_cast<void*>(call_einsum)}, {0, nullptr}};
  nb::class_<Einsum>(module, "Einsum", nb::type_slots(slots))
      .def(nb::init<nb::object>())
      .def("remember", &Einsum::remember, nb::arg(), nb::arg(), nb::arg().none(), nb::arg(),
           nb::arg(), nb::arg().none() = nb::none())
      .def("forget", &Einsum::forget);
}

}  // namespace lathe::python
