// What is known of a device that runs OpenCL, as members of a JSON object: in stored targets, and
// in the files that describe devices.
#pragma once

#include "base/json.h"
#include "base/target.h"

namespace lathe {

// {"compute_units": 8, "work_group_items": 256, "local_bytes": 32768, "local_memory": "real",
//  "vector_width": 4, "images": true, "fp16": false, "fp64": true}
Json opencl_members(const OpenClTarget& device);

// Fails with kInvalidArgument where a member is missing or cannot be true; the sentence names it.
Status read_opencl_members(const Json& json, OpenClTarget& device);

}  // namespace lathe
