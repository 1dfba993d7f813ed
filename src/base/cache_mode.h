// The state of the caches when a program is timed.
#pragma once

#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace lathe {

enum class CacheMode { kWarm, kCold };
inline constexpr CacheMode kCacheModes[] = {CacheMode::kWarm, CacheMode::kCold};

std::string_view name_of(CacheMode mode);  // "warm", "cold"
Result<CacheMode> cache_mode_named(std::string_view name);
void to_json(Json& json, CacheMode mode);  // its name
// The member of an object; the error names it.
Result<CacheMode> json_cache_mode(const Json& object, std::string_view member);

}  // namespace lathe
