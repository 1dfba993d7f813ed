// The state of the caches when a program is timed.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace lathe {

// kFar: what is constant comes from memory and the rest is in the caches, as in a model whose
// weights exceed them.
enum class CacheMode : std::uint8_t { kWarm, kCold, kFar };
inline constexpr CacheMode kCacheModes[] = {CacheMode::kWarm, CacheMode::kCold, CacheMode::kFar};

std::string_view name_of(CacheMode mode);  // "warm", "cold", "far"
Result<CacheMode> cache_mode_named(std::string_view name);
void to_json(Json& json, CacheMode mode);  // its name
// The member of an object; the error names it.
Result<CacheMode> json_cache_mode(const Json& object, std::string_view member);

}  // namespace lathe
