// include/lathe/lathe.h for Python: workloads, options, the search.
#pragma once

#include <nanobind/nanobind.h>

namespace lathe::python {

void bind_workloads(nanobind::module_& module);

}  // namespace lathe::python
