// Races of what is on record, that are stopped.
#include "api/racing.h"

#include <algorithm>
#include <cstdlib>

#include <gtest/gtest.h>

#include "api/targets.h"
#include "api/workload.h"
#include "base/processors.h"
#include "lathe/lathe.h"
#include "support/temporary_folder.h"

namespace lathe::api {
namespace {

class Racing : public testing::Test {
 protected:
  Racing() {
    setenv("LATHE_LIBEXEC", LATHE_HELPERS, 1);
    setenv("XDG_CACHE_HOME", folder_.path().c_str(), 1);
    WorkloadRequest workload;
    workload.text = kText;
    workload.shapes = {"A=11,13", "B=11,17"};
    request_.workload = make_workload(workload)->definition;
    request_.target = *make_target("cpu:host", 1);
    request_.database = folder_.at("records.db");
    request_.seconds = 3600;
  }

  static constexpr const char* kText = "C[i,j] = sum(k) A[k,i] * B[k,j]";
  const test::TemporaryFolder folder_;
  RaceRequest request_;
};

TEST_F(Racing, AreStoppedAtOnceAndKeepNothing) {
  const auto tuned =
      lathe::Workload::parse(kText, {.shapes = {{"A", {11, 13}}, {"B", {11, 17}}}})
          ->tune({.trials = 8, .machine = {.threads = 1, .database = request_.database}});
  ASSERT_TRUE(tuned) << tuned.error().text();
  bool racing = false;
  const auto raced = race_best(
      request_, [&](const std::string& phase) { racing = phase.starts_with("racing"); },
      [&] { return racing; });
  ASSERT_TRUE(raced) << raced.error().text();
  EXPECT_TRUE(racing);
  EXPECT_FALSE(raced->story.finished);
  EXPECT_TRUE(raced->story.racers.empty());
  EXPECT_FALSE(raced->records.empty());

  // Where there is none for more threads, these race.
  EXPECT_EQ(*racing_target(request_), request_.target);
  const Target one = request_.target;
  request_.target.set_threads(2);
  const auto target = racing_target(request_);
  if (allowed_processors().size() >= 2) EXPECT_EQ(*target, one);
  else EXPECT_EQ(target.error().place, "--threads");
}

// However slow it was when it was measured: it defends its place, as at the end of a run.
TEST_F(Racing, TheDefaultScheduleIsAmongThem) {
  const auto tuned =
      lathe::Workload::parse(kText, {.shapes = {{"A", {11, 13}}, {"B", {11, 17}}}})
          ->tune({.trials = 24, .machine = {.threads = 1, .database = request_.database}});
  ASSERT_TRUE(tuned) << tuned.error().text();
  const auto space = space_of_key(request_.workload, request_.target, space::Flavour::kDefault);
  ASSERT_TRUE(space) << space.error().text();
  const Json start = (*space)->to_json((*space)->default_config());
  request_.count = 2;
  const auto raced = race_best(request_, [](const std::string&) {}, [] { return true; });
  ASSERT_TRUE(raced) << raced.error().text();
  EXPECT_EQ(raced->records.size(), 2U);
  EXPECT_EQ(std::ranges::count(raced->records, start, &store::Record::config), 1);
}

}  // namespace
}  // namespace lathe::api
