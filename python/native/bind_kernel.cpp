// Kernels and libraries as Python sees them.
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "failure.h"
#include "kernel.h"
#include "new_array.h"

namespace nb = nanobind;

namespace lathe::python {
namespace {

PyObject* call_kernel(PyObject* self, PyObject* arguments, PyObject* keywords) {
  if (!nb::inst_ready(self)) {
    raise_invalid("the kernel was not made; kernels come from tune(), compile() and load()");
    return nullptr;
  }
  return guarded_call([&] { return nb::inst_ptr<Kernel>(self)->call(arguments, keywords); });
}

std::vector<std::byte> bytes_of(const nb::bytes& bytes) {
  const auto* data = reinterpret_cast<const std::byte*>(bytes.c_str());
  return {data, data + bytes.size()};
}

// As tensors_of() gives them.
std::vector<TensorInfo> infos_of(const nb::list& tensors) {
  std::vector<TensorInfo> out;
  for (const nb::handle tensor : tensors)
    out.push_back({nb::cast<std::string>(tensor[0]), nb::cast<std::string>(tensor[1]),
                   nb::cast<std::vector<std::int64_t>>(tensor[2]), nb::cast<bool>(tensor[3])});
  return out;
}

nb::list tensors_of(const Library& library, std::size_t begin, std::size_t end) {
  nb::list out;
  for (std::size_t i = begin; i < end; ++i) {
    const lathe_artifact_tensor& t = library.artifact().tensors[i];
    out.append(nb::make_tuple(t.name, dtype_name(t), nb::steal(shape_of(t)), t.constant != 0));
  }
  return out;
}

nb::dict constants_of(Kernel& kernel) {
  nb::dict out;
  for (const auto& [input, bytes] : kernel.constants())
    out[nb::int_(input)] = nb::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return out;
}

void restore_constants(Kernel& kernel, const nb::dict& constants) {
  std::map<std::size_t, std::vector<std::byte>> given;
  for (const auto& [input, bytes] : constants)
    given[nb::cast<std::size_t>(input)] = bytes_of(nb::cast<nb::bytes>(bytes));
  kernel.restore(given);
}

}  // namespace

void bind_kernel(nb::module_& module) {
  static PyType_Slot slots[] = {{Py_tp_call, reinterpret_cast<void*>(call_kernel)}, {0, nullptr}};
  nb::class_<Library>(module, "Library")
      .def_static("open", [](const std::string& path) { return value_of(Library::open(path)); })
      .def_static(
          "of_bytes",
          [](const nb::bytes& bytes) { return value_of(Library::open(bytes_of(bytes), "")); })
      .def_static(
          "of_module",
          [](const nb::bytes& bytes, const nb::list& inputs, const nb::list& outputs, int threads) {
            return value_of(
                Library::of_module(bytes_of(bytes), infos_of(inputs), infos_of(outputs), threads));
          })
      .def_prop_ro("is_module", &Library::is_module)
      .def_prop_ro("on_card", &Library::is_for_card)
      .def_prop_ro("weights", &Library::weights)
      .def_prop_ro("name", [](const Library& l) { return l.artifact().name; })
      .def_prop_ro("threads", [](const Library& l) { return l.artifact().threads; })
      .def_prop_ro("inputs", [](const Library& l) { return tensors_of(l, 0, l.inputs()); })
      .def_prop_ro(
          "outputs",
          [](const Library& l) { return tensors_of(l, l.inputs(), l.inputs() + l.outputs()); })
      .def_prop_ro("data", [](const Library& l) {
        return nb::bytes(reinterpret_cast<const char*>(l.bytes().data()), l.bytes().size());
      });
  nb::class_<Kernel>(module, "Kernel", nb::type_slots(slots))
      .def(nb::init<std::shared_ptr<Library>>())
      .def("prepare",
           [](Kernel& k, const nb::kwargs& constants) { k.give_constants(constants.ptr()); })
      .def("_constants", constants_of)
      .def("_use_threads_of_torch", &Kernel::use_threads_of_torch)
      .def("_restore", restore_constants)
      .def("_time", [](Kernel& k, const nb::tuple& inputs, double seconds) {
        return k.time(inputs.ptr(), seconds);
      });
}

}  // namespace lathe::python
