// include/lathe/lathe.h for Python: workloads and options.
#pragma once

#include <nanobind/nanobind.h>

namespace lathe::python {

void bind_workloads(nanobind::module_& module);

}  // namespace lathe::python
