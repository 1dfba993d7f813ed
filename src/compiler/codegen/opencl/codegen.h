// Flat program -> OpenCL C 1.2 and what is launched of it (runtime/device/opencl/image.h).
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/target.h"
#include "compiler/codegen/backend.h"
#include "compiler/ir/flat/flat.h"
#include "runtime/device/opencl/image.h"

namespace lathe::codegen {

// Its objects are the bytes of an image, and so is what it links of them.
const Backend& opencl_backend();

// Fails with kUnsupported for what the device lacks (f64), or cannot do (regions).
Result<opencl::Image> opencl_image(const flat::Program& program, const OpenClTarget& target);

// "generic" is known; "host" and other names that are no files are asked of the device query; else
// the name is the path of a JSON file with the members of base/opencl_json.h. Fails with
// kInvalidArgument where that has a line that is missing, unknown or impossible: the sentence names
// it, and the place is the file.
Result<OpenClTarget> opencl_device(const std::string& name);

// What the driver of this machine tells of its device of this name; of "host": the one that the
// runner opens. kNotFound: there is none.
Result<OpenClTarget> query_opencl_device(std::string_view name);

}  // namespace lathe::codegen
