#include "base/cache_mode.h"

namespace lathe {

std::string_view name_of(CacheMode mode) {
  switch (mode) {
    case CacheMode::kWarm: return "warm";
    case CacheMode::kCold: return "cold";
    case CacheMode::kFar: break;
  }
  return "far";
}

Result<CacheMode> cache_mode_named(std::string_view name) {
  for (const CacheMode mode : kCacheModes)
    if (name == name_of(mode)) return mode;
  return fail(ErrorKind::kInvalidArgument, "must be warm, cold or far, not \"{}\"", name);
}

void to_json(Json& json, CacheMode mode) { json = name_of(mode); }

Result<CacheMode> json_cache_mode(const Json& object, std::string_view member) {
  auto mode = cache_mode_named(LATHE_TRY(json_string(object, member)));
  if (!mode) mode.error().message = fmt::format("\"{}\" {}", member, mode.error().message);
  return mode;
}

}  // namespace lathe
