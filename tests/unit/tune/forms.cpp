// Stored configurations are read in their form: what an older Lathe measured under another name is
// not measured again.
#include <gtest/gtest.h>

#include "compiler/te/parse.h"
#include "support/targets.h"
#include "tuner/tune/tune.h"

namespace lathe::tune {
namespace {

TEST(SpaceSubject, ReadsConfigurationsInTheirForm) {
  const auto workload =
      te::parse_workload("A: f32[32,64]; B: f32[64,48]; C[i,j] = sum(k) A[i,k] * B[k,j]");
  ASSERT_TRUE(workload) << workload.error().text();
  const Target target = test::avx512();
  const auto space = space::derive_space(*workload, target, space::Flavour::kDefault);
  ASSERT_TRUE(space) << space.error().text();
  const auto subject = make_subject(**space, {}, target, {});
  ASSERT_TRUE(subject) << subject.error().text();
  Json stored = (*space)->to_json((*space)->default_config());
  stored["pack.weights"] = "none";
  stored["prefetch"] = 4096;  // of packed weights, which there are none of
  const auto read = (*subject)->from_json(stored);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ((*subject)->to_json(*read)["prefetch"], 0);
  EXPECT_EQ((*subject)->from_json((*subject)->to_json(*read)), *read);
}

}  // namespace
}  // namespace lathe::tune
