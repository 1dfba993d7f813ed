#include "base/opencl_json.h"

#include <bit>

namespace lathe {
Json opencl_members(const OpenClTarget& device) {
  return {{"compute_units", device.compute_units},
          {"work_group_items", device.group_items},
          {"local_bytes", device.local_bytes},
          {"local_memory", device.local_is_real ? "real" : "emulated"},
          {"vector_width", device.vector_width},
          {"images", device.images},
          {"fp16", device.fp16},
          {"fp64", device.fp64}};
}

Status read_opencl_members(const Json& json, OpenClTarget& device) {
  constexpr std::int64_t kMostUnits = 1 << 20, kMostItems = 1 << 20, kMostLocal = 1LL << 40;
  device.compute_units =
      static_cast<int>(LATHE_TRY(json_int_between(json, "compute_units", 1, kMostUnits)));
  device.group_items = LATHE_TRY(json_int_between(json, "work_group_items", 1, kMostItems));
  device.local_bytes = LATHE_TRY(json_int_between(json, "local_bytes", 0, kMostLocal));
  const std::string local = LATHE_TRY(json_string(json, "local_memory"));
  if (local != "real" && local != "emulated")
    return fail(ErrorKind::kInvalidArgument,
                "local_memory is \"{}\"; it must be \"real\" or \"emulated\"", local);
  device.local_is_real = local == "real";
  const std::int64_t width = LATHE_TRY(json_int_between(json, "vector_width", 1, 16));
  if (!std::has_single_bit(static_cast<std::uint64_t>(width)))
    return fail(ErrorKind::kInvalidArgument, "vector_width is {}; it must be 1, 2, 4, 8 or 16",
                width);
  device.vector_width = static_cast<int>(width);
  device.images = LATHE_TRY(json_bool(json, "images"));
  device.fp16 = LATHE_TRY(json_bool(json, "fp16"));
  device.fp64 = LATHE_TRY(json_bool(json, "fp64"));
  return {};
}

}  // namespace lathe
