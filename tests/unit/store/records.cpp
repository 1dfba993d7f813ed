#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>

#include "unit/store/fixture.h"

namespace lathe::store {
namespace {

TEST_F(StoreTest, EveryMemberComesBack) {
  store::Run run;
  {
    auto store = open();
    run = *store->open_run(a_run(0xffff'ffff'ffff'fff0U));
    std::vector<Record> records = {a_record(run, 0), a_failure(run, 1)};
    ASSERT_TRUE(store->add(records));
    EXPECT_GT(records[1].id, records[0].id);
  }
  auto store = open();
  const auto runs = *store->runs();
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].seed, 0xffff'ffff'ffff'fff0U);
  EXPECT_EQ(runs[0].model, "xgb-rank");
  EXPECT_EQ(runs[0].search, "annealing");
  EXPECT_EQ(runs[0].space, "default");
  EXPECT_EQ(runs[0].target, run.target);
  const auto records = all(*store);
  ASSERT_EQ(records.size(), 2U);
  // The JSON form holds every member.
  EXPECT_EQ(to_json(run, records[0]), to_json(run, a_record(run, 0)));
  EXPECT_EQ(to_json(run, records[1]), to_json(run, a_failure(run, 1)));
  EXPECT_EQ(records[0].run, run.id);
  EXPECT_EQ(records[0].visits[0].seconds, (std::vector<double>{1e-3, 1.5e-3}));
  EXPECT_FALSE(records[1].ok());
}

TEST_F(StoreTest, TheSameRunIsOpenedAgain) {
  auto store = open();
  const auto first = *store->open_run(a_run(1));
  EXPECT_EQ(store->open_run(a_run(1))->id, first.id);
  EXPECT_NE(store->open_run(a_run(2))->id, first.id);
  store::Run other = a_run(1);
  other.cache_mode = CacheMode::kCold;
  EXPECT_NE(store->open_run(other)->id, first.id);
}

TEST_F(StoreTest, OneAtATimeWorksOnARun) {
  auto store = open(), other = open();
  const auto run = *store->open_run(a_run(1)), another = *store->open_run(a_run(2));
  auto claim = store->claim(run);
  ASSERT_TRUE(claim);
  EXPECT_TRUE(other->claim(another));
  const auto refused = other->claim(run);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("another tuner is at work on this run"), std::string::npos)
      << refused.error().text();
  claim = nullptr;
  EXPECT_TRUE(other->claim(run)) << "it was given back";
}

TEST_F(StoreTest, ATrialIsNeverRecordedTwiceAndABatchIsAllOrNothing) {
  auto store = open();
  const auto run = *store->open_run(a_run());
  std::vector<Record> first = {a_record(run, 0)};
  ASSERT_TRUE(store->add(first));
  std::vector<Record> second = {a_record(run, 1), a_record(run, 0)};
  const auto status = store->add(second);
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message.find("already has trial 0"), std::string::npos)
      << status.error().text();
  EXPECT_EQ(*store->count({}), 1);
  std::vector<Record> orphan = {a_record(run, 5)};
  orphan[0].run = 99;
  EXPECT_EQ(store->add(orphan).error().message, "there is no run 99");
}

TEST_F(StoreTest, QueriesMatchTheirMembers) {
  auto store = open();
  const auto run = *store->open_run(a_run());
  store::Run cold = a_run();
  cold.cache_mode = CacheMode::kCold;
  cold = *store->open_run(cold);
  std::vector<Record> records = {a_record(run, 0), a_failure(run, 1), a_record(cold, 0)};
  records[0].cpu = "6/1/1";
  ASSERT_TRUE(store->add(records));
  EXPECT_EQ(*store->count({}), 3);
  EXPECT_EQ(*store->count({.ok = false}), 1);
  EXPECT_EQ(*store->count({.ok = true}), 2);
  EXPECT_EQ(*store->count({.cache_mode = CacheMode::kCold}), 1);
  EXPECT_EQ(*store->count({.run = run.id}), 2);
  EXPECT_EQ(*store->count({.cpu = "6/1/1"}), 1);
  EXPECT_EQ(*store->count({.workload = run.workload, .target = run.target}), 3);
  EXPECT_EQ(*store->count({.workload = "unknown"}), 0);
  int seen = 0;
  ASSERT_TRUE(store->each({}, [&](const Record&) { return ++seen < 2; }));
  EXPECT_EQ(seen, 2);
}

TEST_F(StoreTest, ASummaryHasAllButTracesAndVisits) {
  auto store = open();
  const auto run = *store->open_run(a_run());
  std::vector<Record> records = {a_record(run, 0), a_failure(run, 1)};
  ASSERT_TRUE(store->add(records));
  const auto summaries = all(*store, {.summary = true});
  ASSERT_EQ(summaries.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(summaries[i].trace.empty());
    EXPECT_TRUE(summaries[i].visits.empty());
    records[i].trace = Json::array();
    records[i].visits.clear();
    EXPECT_EQ(to_json(run, summaries[i]), to_json(run, records[i]));
  }
}

TEST_F(StoreTest, ACallbackMayAskForMore) {
  auto store = open();
  const auto run = *store->open_run(a_run());
  std::vector<Record> records = {a_record(run, 0)};
  ASSERT_TRUE(store->add(records));
  std::int64_t count = 0;
  ASSERT_TRUE(store->each({}, [&](const Record&) {
    count = *store->count({});
    return true;
  }));
  EXPECT_EQ(count, 1);
}

TEST_F(StoreTest, OddNumbersAndTexts) {
  auto store = open();
  const auto run = *store->open_run(a_run());
  std::vector<Record> records = {a_failure(run, 0)};
  records[0].numerical_error = std::numeric_limits<double>::quiet_NaN();
  records[0].error_message = std::string("bytes \xff\xfe and a 'quote'\n and \"more\"");
  records[0].error_place = "";
  records[0].trace = Json::array();
  records[0].time = "";
  ASSERT_TRUE(store->add(records));
  const auto back = all(*store);
  ASSERT_EQ(back.size(), 1U);
  EXPECT_TRUE(std::isinf(back[0].numerical_error));
  EXPECT_EQ(back[0].error_message, records[0].error_message);
  EXPECT_EQ(back[0].time.size(), std::string("2026-08-01T10:00:00.000Z").size()) << back[0].time;
}

TEST_F(StoreTest, NamedValues) {
  auto store = open();
  EXPECT_FALSE(store->get("peak")->has_value());
  ASSERT_TRUE(store->put("peak", "240e9"));
  ASSERT_TRUE(store->put("peak", "250e9"));
  EXPECT_EQ(**store->get("peak"), "250e9");
}

TEST_F(StoreTest, OnlyTheDataFolderIsMade) {
  const auto refused = open_sqlite(path("a/b/records.db"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().text(), path("a/b/records.db") + ": there is no folder " + path("a/b") +
                                        "; make it, or give another file with --db");
  EXPECT_FALSE(std::filesystem::exists(path("a")));
  setenv("XDG_DATA_HOME", path("data").c_str(), 1);
  EXPECT_TRUE(open_sqlite(path_in_data_folder()).has_value());
  EXPECT_TRUE(std::filesystem::exists(path("data/lathe/records.db")));
  unsetenv("XDG_DATA_HOME");
}

TEST_F(StoreTest, NamesMayHoldAnyCharacter) {
  EXPECT_TRUE(open_sqlite(path("odd %41?name#.db")).has_value());
  EXPECT_TRUE(std::filesystem::exists(path("odd %41?name#.db")));
}

TEST(DefaultPath, FollowsTheEnvironment) {
  setenv("LATHE_DB", "/x/y.db", 1);
  EXPECT_EQ(default_path(), "/x/y.db");
  unsetenv("LATHE_DB");
  setenv("XDG_DATA_HOME", "/data", 1);
  EXPECT_EQ(default_path(), "/data/lathe/records.db");
  unsetenv("XDG_DATA_HOME");
  setenv("HOME", "/home/me", 1);
  EXPECT_EQ(default_path(), "/home/me/.local/share/lathe/records.db");
}

}  // namespace
}  // namespace lathe::store
