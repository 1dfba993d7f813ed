// Helpers that serve the runs of many workloads.
#include "api/session.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "api/targets.h"
#include "api/tuning.h"
#include "compiler/te/parse.h"
#include "support/temporary_folder.h"

namespace lathe::api {
namespace {

// The numbers of the builders and runners that this process has started and that live.
std::set<int> helpers() {
  std::set<int> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "stat");
    std::string number, name, state;
    int parent = 0;
    if (!(file >> number >> name >> state >> parent)) continue;
    if (parent == ::getpid() && name.starts_with("(lathe-")) found.insert(std::stoi(number));
  }
  return found;
}

class SessionTest : public testing::Test {
 protected:
  SessionTest() { ::setenv("XDG_CACHE_HOME", folder_.path().c_str(), 1); }

  // Of one trial, without a race, which has its runners load programs anew.
  Result<Tuned> tuned(int extent) {
    TuneRequest request;
    request.task.workload = *te::parse_workload(fmt::format("A: f32[{}]; B[i] = A[i] + 1", extent));
    request.target = *make_target("cpu:host", 1);
    request.database = folder_.at("records.db");
    request.options.run.trials = 1;
    request.options.run.jobs = jobs_;
    request.options.race.seconds = 0;
    if (session_)
      request.open_session = [this](const Target& target, const measure::Options& options) {
        return session_->impl()->open(target, options);
      };
    const auto note = [this](const tune::Progress&, double) { seen_.merge(helpers()); };
    auto result = run_tuning(request, note, {});
    seen_.merge(helpers());
    return result;
  }

  const test::TemporaryFolder folder_;
  std::optional<Session> session_;
  int jobs_ = 2;
  std::set<int> seen_;
};

TEST_F(SessionTest, StartsItsHelpersOnceForManyWorkloads) {
  session_.emplace();
  ASSERT_TRUE(tuned(5));
  const std::set<int> first = seen_;
  EXPECT_GE(first.size(), 2U) << "a builder and a runner";
  for (int extent = 6; extent < 25; ++extent) {
    const auto result = tuned(extent);
    ASSERT_TRUE(result) << result.error().text();
    EXPECT_EQ(result->summary.trials, 1);
    EXPECT_TRUE(result->summary.best.ok());
  }
  EXPECT_EQ(seen_, first) << "20 workloads, and each helper was started once";
  session_.reset();
  EXPECT_TRUE(helpers().empty()) << "they end with the session";
}

TEST_F(SessionTest, AnotherKindOfRunStartsOthers) {
  session_.emplace();
  ASSERT_TRUE(tuned(5));
  const std::set<int> first = helpers();
  jobs_ = 1;
  ASSERT_TRUE(tuned(6));
  const std::set<int> second = helpers();
  for (const int helper : second) EXPECT_FALSE(first.contains(helper));
  EXPECT_FALSE(second.empty());
}

TEST_F(SessionTest, WithoutOneARunEndsItsHelpers) {
  ASSERT_TRUE(tuned(5));
  EXPECT_FALSE(seen_.empty());
  EXPECT_TRUE(helpers().empty());
}

TEST_F(SessionTest, ServesOneRunAtATime) {
  Session session;
  const auto workload = Workload::parse("B[i] = A[i] + 1", {.shapes = {{"A", {7}}}});
  const std::unique_lock<std::mutex> other(session.impl()->at_work);
  const auto refused = workload->tune(
      {.trials = 1, .machine = {.database = folder_.at("records.db")}, .session = session});
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().message.starts_with("the session is at work on another workload"))
      << refused.error().text();
}

}  // namespace
}  // namespace lathe::api
