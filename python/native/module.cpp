// lathe._native: what the package lathe stands on.
#include <nanobind/nanobind.h>

#include "einsum.h"
#include "failure.h"
#include "kernel.h"
#include "model.h"
#include "outside.h"
#include "search.h"
#include "workload.h"

namespace nb = nanobind;

NB_MODULE(_native, module) {
  nb::set_leak_warnings(false);  // what is alive when the interpreter ends needs no report
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const lathe::python::Raised& raised) {
      lathe::python::raise(raised.failure);
    }
  });
  lathe::python::bind_workloads(module);
  lathe::python::bind_models(module);
  lathe::python::bind_searches(module);
  lathe::python::bind_kernel(module);
  lathe::python::bind_einsum(module);
  module.def("end_runs", lathe::python::wait_for_outside);
}
