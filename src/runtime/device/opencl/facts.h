// What there is to know of a device of OpenCL before a program is made for it. Nothing of OpenCL
// itself is here, so whoever describes a target may include it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/target.h"

namespace lathe::opencl {

struct Facts {
  std::string platform;                  // "Portable Computing Language"
  std::string name, vendor, driver;      // of the device, and the version of its driver
  std::string version;                   // "OpenCL 3.0 CUDA"
  std::string kind;                      // "cpu", "gpu", "accelerator" or "other"
  int compute_units = 0;                 // work groups that run at one time are spread over these
  std::int64_t group_size = 0;           // the most work items of a group
  std::vector<std::int64_t> item_sizes;  // the most of them along x, y and z
  std::int64_t global_bytes = 0, local_bytes = 0, cache_bytes = 0;
  bool local_is_real = false;         // false: local memory lies in global memory
  std::int64_t allocation_bytes = 0;  // the largest buffer
  std::int64_t alignment = 0;         // bytes, of a part of a buffer
  int vector_floats = 0;              // the width of float vectors that it prefers
  int timer_nanoseconds = 0;          // the resolution of its times
  bool fp16 = false, fp64 = false;    // arithmetic of these types
  bool images = false;
  std::vector<std::string> extensions;  // sorted

  bool has(const std::string& extension) const;
  // Changes whenever a program built for the device may no longer fit it.
  std::string text() const;
  friend bool operator==(const Facts&, const Facts&) = default;
};

Fingerprint fingerprint_of(const Facts& facts);
Json to_json(const Facts& facts);
Result<Facts> facts_from_json(const Json& json);

}  // namespace lathe::opencl
