#include "base/cache_mode.h"

#include <gtest/gtest.h>

namespace lathe {
namespace {

TEST(CacheMode, IsKnownByItsName) {
  for (const CacheMode mode : kCacheModes) EXPECT_EQ(cache_mode_named(name_of(mode)), mode);
  EXPECT_EQ(name_of(CacheMode::kCold), "cold");
  EXPECT_EQ(name_of(CacheMode::kFar), "far");
  for (const char* name : {"", "Warm", "tepid"})
    EXPECT_EQ(cache_mode_named(name).error().message,
              fmt::format("must be warm, cold or far, not \"{}\"", name));
}

TEST(CacheMode, IsATextInJson) {
  const Json json = {{"cache", CacheMode::kCold}};
  EXPECT_EQ(dump(json), R"({"cache":"cold"})");
  EXPECT_EQ(json_cache_mode(json, "cache"), CacheMode::kCold);
  EXPECT_EQ(json_cache_mode({{"cache", "hot"}}, "cache").error().text(),
            "\"cache\" must be warm, cold or far, not \"hot\"");
  EXPECT_FALSE(json_cache_mode({{"cache", 1}}, "cache"));
  EXPECT_FALSE(json_cache_mode({}, "cache"));
}

}  // namespace
}  // namespace lathe
