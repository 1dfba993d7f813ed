#include "runtime/device/opencl/facts.h"

#include <algorithm>

namespace lathe::opencl {

bool Facts::has(const std::string& extension) const {
  return std::ranges::binary_search(extensions, extension);
}

std::string Facts::text() const {
  return fmt::format("{}; {}; {}; {}; {}", platform, vendor, name, version, driver);
}

Fingerprint fingerprint_of(const Facts& facts) {
  return {OpenClFingerprint{facts.platform, facts.name, facts.driver}};
}

Json to_json(const Facts& f) {
  return {{"platform", f.platform},
          {"name", f.name},
          {"vendor", f.vendor},
          {"driver", f.driver},
          {"version", f.version},
          {"kind", f.kind},
          {"compute_units", f.compute_units},
          {"group_size", f.group_size},
          {"item_sizes", f.item_sizes},
          {"global_bytes", f.global_bytes},
          {"local_bytes", f.local_bytes},
          {"cache_bytes", f.cache_bytes},
          {"local_is_real", f.local_is_real},
          {"allocation_bytes", f.allocation_bytes},
          {"alignment", f.alignment},
          {"vector_floats", f.vector_floats},
          {"timer_nanoseconds", f.timer_nanoseconds},
          {"fp16", f.fp16},
          {"fp64", f.fp64},
          {"images", f.images},
          {"extensions", f.extensions}};
}

Result<Facts> facts_from_json(const Json& json) {
  Facts f;
  for (const auto& [member, text] : {std::pair{"platform", &f.platform},
                                     {"name", &f.name},
                                     {"vendor", &f.vendor},
                                     {"driver", &f.driver},
                                     {"version", &f.version},
                                     {"kind", &f.kind}})
    *text = LATHE_TRY(json_string(json, member));
  for (const auto& [member, number] : {std::pair{"group_size", &f.group_size},
                                       {"global_bytes", &f.global_bytes},
                                       {"local_bytes", &f.local_bytes},
                                       {"cache_bytes", &f.cache_bytes},
                                       {"allocation_bytes", &f.allocation_bytes},
                                       {"alignment", &f.alignment}})
    *number = LATHE_TRY(json_int(json, member));
  for (const auto& [member, number] : {std::pair{"compute_units", &f.compute_units},
                                       {"vector_floats", &f.vector_floats},
                                       {"timer_nanoseconds", &f.timer_nanoseconds}})
    *number = static_cast<int>(LATHE_TRY(json_int(json, member)));
  for (const auto& [member, flag] : {std::pair{"local_is_real", &f.local_is_real},
                                     {"fp16", &f.fp16},
                                     {"fp64", &f.fp64},
                                     {"images", &f.images}})
    *flag = LATHE_TRY(json_bool(json, member));
  for (const Json& size : LATHE_TRY(json_array(json, "item_sizes"))) {
    if (!size.is_number_integer())
      return fail(ErrorKind::kInvalidArgument, "an item size of the device is no number");
    f.item_sizes.push_back(size.get<std::int64_t>());
  }
  for (const Json& extension : LATHE_TRY(json_array(json, "extensions"))) {
    if (!extension.is_string())
      return fail(ErrorKind::kInvalidArgument, "an extension of the device is no text");
    f.extensions.push_back(extension.get<std::string>());
  }
  std::ranges::sort(f.extensions);
  return f;
}

}  // namespace lathe::opencl
