// include/lathe/search.h for Python.
#pragma once

#include <nanobind/nanobind.h>

namespace lathe::python {

void bind_searches(nanobind::module_& module);

}  // namespace lathe::python
