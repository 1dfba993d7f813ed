// Models: read, tuned as a whole, made a library of.
#pragma once

#include <nanobind/nanobind.h>

namespace lathe::python {

void bind_models(nanobind::module_& module);

}  // namespace lathe::python
