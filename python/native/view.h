// Arrays of Python seen as DLPack's tensors, without a copy: by the buffer protocol, by a type's
// __dlpack_c_exchange_api__, or by __dlpack__.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <iterator>
#include <list>
#include <string>

#include "exchange.h"

namespace lathe::python {

// The exchange functions of an object's type; null where it has none. Looked up once a type.
const Exchange* exchange_of(PyObject* object);

// The device that an array tells of by __dlpack_device__; the processor where it does not tell.
DLDevice device_of(PyObject* object);

// A view holds what it looks at until it is destroyed. It cannot be moved: tensor points into it.
class View {
 public:
  View() = default;
  View(const View&) = delete;
  View& operator=(const View&) = delete;
  ~View();

  // Looks at an array. `name` is the tensor's, for the sentence; `writes` asks for one that can be
  // written. `stream` is that of a card, as DLPack numbers them: an array on a card is to be ready
  // for it; null: arrays on cards are not looked at. False with Python's error set if it is none
  // that can be looked at.
  bool look(PyObject* object, const char* name, bool writes, const std::int64_t* stream = nullptr);
  DLTensor& tensor() { return tensor_; }
  static constexpr int kDimensions = 16;  // of tensors with more, shape and strides are not told

 private:
  bool look_at_buffer(PyObject* object, const char* name, bool writes);
  bool take_buffer(const char* name);
  bool look_by_exchange(const Exchange& exchange, PyObject* object, const char* name);
  bool look_at_capsule(PyObject* object, const char* name, bool writes, const std::int64_t* stream);

  DLTensor tensor_{};
  std::int64_t shape_[kDimensions], strides_[kDimensions];
  Py_buffer buffer_;
  bool has_buffer_ = false;
  PyObject* capsule_ = nullptr;
};

// Those of a call: they stay where they are, and the first need no memory of their own.
class Views {
 public:
  View& add() { return used_ < std::size(few_) ? few_[used_++] : more_.emplace_back(); }
  std::size_t size() const { return used_ + more_.size(); }
  View& operator[](std::size_t i) {
    if (i < used_) return few_[i];
    return *std::next(more_.begin(), static_cast<std::ptrdiff_t>(i - used_));
  }

 private:
  View few_[4];
  std::size_t used_ = 0;
  std::list<View> more_;
};

}  // namespace lathe::python
