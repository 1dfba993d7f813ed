#include "base/timing_claim.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

#include <gtest/gtest.h>

#include "base/environment.h"
#include "support/temporary_folder.h"

namespace lathe {
namespace {

TEST(TimingClaim, IsHeldByOneAtATime) {
  const test::TemporaryFolder folder;
  setenv("XDG_CACHE_HOME", folder.at("new").c_str(), 1);
  EXPECT_EQ(cache_folder(), folder.at("new/lathe"));
  {
    const TimingClaim first;
    EXPECT_TRUE(first.alone());
    const TimingClaim second;
    EXPECT_FALSE(second.alone());
  }
  EXPECT_TRUE(TimingClaim().alone()) << "the others are gone";
  auto first = std::make_unique<TimingClaim>();
  const TimingClaim second;
  first.reset();
  EXPECT_FALSE(TimingClaim().alone()) << "the second is still there";
}

TEST(TimingClaim, NobodyKnowsWhereThereCanBeNoFile) {
  const test::TemporaryFolder folder;
  std::ofstream(folder.at("file")) << "no folder";
  setenv("XDG_CACHE_HOME", folder.at("file").c_str(), 1);
  const TimingClaim first, second;
  EXPECT_TRUE(second.alone());
}

}  // namespace
}  // namespace lathe
