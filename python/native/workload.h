// include/lathe/lathe.h for Python: workloads and options.
#pragma once

#include <nanobind/nanobind.h>

#include <vector>

#include "lathe/lathe.h"

namespace lathe::python {

// (name, type, shape, constant), with shapes as callers see them.
nanobind::list tensors_of(const std::vector<TensorInfo>& infos);

void bind_workloads(nanobind::module_& module);

}  // namespace lathe::python
