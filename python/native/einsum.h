// The short way of einsum: calls that are like an earlier one go straight to its kernel.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "kernel.h"

namespace lathe::python {

class Einsum {
 public:
  // `otherwise` is called with the same arguments where no call like this one is known.
  explicit Einsum(nanobind::object otherwise) : otherwise_(std::move(otherwise)) {}

  PyObject* call(PyObject* arguments, PyObject* keywords);
  // Calls with this level of numerics and this number of threads, or None for either, whose
  // operands have these shapes, types and strides, go to the kernel. An order tells which
  // dimensions of an operand the kernel's input has; the others have length 1.
  void remember(const nanobind::str& subscripts, const nanobind::tuple& operands,
                const nanobind::object& numerics, const nanobind::object& kernel,
                const std::vector<std::vector<int>>& orders, const nanobind::object& threads);
  void forget() { known_.clear(); }

 private:
  struct Known {
    nanobind::object kernel;
    std::vector<std::vector<int>> orders;
  };
  // What a call is told by keyword; borrowed, null: nothing.
  struct Told {
    PyObject *out = nullptr, *numerics = nullptr, *threads = nullptr;
  };
  // An operand's dimensions in the order of the kernel's input.
  struct Ordered {
    std::vector<std::int64_t> shape, strides;
  };

  static bool take(PyObject* keywords, Told& told);
  static bool describe(PyObject* arguments, const Told& told, Views& views, std::string& key);
  static void reorder(DLTensor& tensor, const std::vector<int>& order, Ordered& ordered);

  nanobind::object otherwise_;
  std::unordered_map<std::string, Known> known_;
};

void bind_einsum(nanobind::module_& module);

}  // namespace lathe::python
