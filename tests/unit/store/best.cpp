#include <limits>

#include "tuner/store/queries.h"
#include "unit/store/fixture.h"

namespace lathe::store {
namespace {

TEST_F(StoreTest, BestIsTheFastestThatWorked) {
  auto store = open();
  const auto run = *store->open_run(a_run());
  const Query query = {
      .workload = run.workload, .target = run.target, .cache_mode = CacheMode::kWarm};
  EXPECT_FALSE(store->best(query)->has_value());
  std::vector<Record> records = {a_record(run, 0), a_record(run, 1), a_record(run, 2),
                                 a_failure(run, 3)};
  records[0].seconds = 3e-3;
  records[1].seconds = 1e-3;
  records[2].seconds = 2e-3;
  records[1].cpu = "other";
  ASSERT_TRUE(store->add(records));
  EXPECT_EQ((*store->best(query))->index, 1);
  Query here = query;
  here.cpu = "26/2/1";
  EXPECT_EQ((*store->best(here))->index, 2);
  here.cache_mode = CacheMode::kCold;
  EXPECT_FALSE(store->best(here)->has_value());
  EXPECT_FALSE(store->best({.workload = "unknown"})->has_value());
}

TEST_F(StoreTest, ARaceCountsMoreThanALuckyTime) {
  auto store = open();
  const auto run = *store->open_run(a_run());
  std::vector<Record> records = {a_record(run, 0), a_record(run, 1)};
  records[0].seconds = 1.00e-3;  // lucky
  records[1].seconds = 1.02e-3;
  ASSERT_TRUE(store->add(records));
  ASSERT_TRUE(store->set_race({{records[1].id, 1.05e-3}}));
  auto best = *store->best({.workload = run.workload});
  EXPECT_EQ(best->index, 1);
  EXPECT_TRUE(best->raced);
  EXPECT_DOUBLE_EQ(best->race_seconds, 1.05e-3);
  EXPECT_DOUBLE_EQ(best->seconds, 1.02e-3);
  // ... but not against one that is faster by more than luck.
  std::vector<Record> faster = {a_record(run, 2)};
  faster[0].seconds = 0.5e-3;
  ASSERT_TRUE(store->add(faster));
  EXPECT_EQ((*store->best({.workload = run.workload}))->index, 2);
}

TEST_F(StoreTest, WhoDidNotReachTheRaceStandsBehindWhoDid) {
  auto store = open();
  const auto run = *store->open_run(a_run());
  std::vector<Record> records = {a_record(run, 0), a_record(run, 1), a_record(run, 2),
                                 a_record(run, 3)};
  for (int i = 0; i < 4; ++i) records[i].seconds = (1 + 0.01 * i) * 1e-3;
  records[3].cpu = "another";
  ASSERT_TRUE(store->add(records));
  // The machine was half as fast in the race.
  ASSERT_TRUE(store->set_race({{records[0].id, 2.1e-3}, {records[1].id, 2.0e-3}}));
  const Query here = {.workload = run.workload, .cpu = "26/2/1"};
  EXPECT_EQ((*store->best(here))->index, 1);
  EXPECT_DOUBLE_EQ((*store->best(here))->standing, 2.0e-3);
  EXPECT_EQ((*store->best({.workload = run.workload, .cpu = "another"}))->index, 3);
  // What failed in a race is best of nothing.
  ASSERT_TRUE(store->set_race(
      {{records[1].id, std::numeric_limits<double>::infinity()}, {records[0].id, 2.1e-3}}));
  EXPECT_EQ((*store->best(here))->index, 0);
}

// 100,000 records, and the look-up reads one entry of an index.
TEST_F(StoreTest, BestIsAnIndexedLookUp) {
  auto store = open();
  Rng rng(1);
  double fastest = 1;
  constexpr int kWorkloads = 10, kEach = 2000;
  for (int workload = 0; workload < kWorkloads; ++workload) {
    store::Run run = a_run();
    run.workload = "workload " + std::to_string(workload);
    run = *store->open_run(run);
    std::vector<Record> records;
    for (int i = 0; i < kEach; ++i) {
      Record r = i % 50 == 0 ? a_failure(run, i) : a_record(run, i);
      if (r.ok()) r.seconds = 1e-3 * (1 + rng.uniform());
      if (r.ok() && workload == 4) fastest = std::min(fastest, r.seconds);
      records.push_back(std::move(r));
    }
    ASSERT_TRUE(store->add(records));
  }
  const Query query = {.workload = "workload 4",
                       .target = a_run().target,
                       .cache_mode = CacheMode::kWarm,
                       .cpu = "26/2/1"};
  EXPECT_DOUBLE_EQ((*store->best(query))->seconds, fastest);
  EXPECT_EQ(*store->count({}), kWorkloads * kEach);

  auto database = *Database::open(path(), 1);
  for (Query asked : {query, Query{query.workload, query.target, query.cache_mode}}) {
    asked.ok = true;
    const Where where = where_of(asked);
    auto plan = *database.prepare("EXPLAIN QUERY PLAN " + by_standing_sql(where));
    bind(plan, where);
    std::string text;
    while (*plan.step()) text += plan.text(3) + "\n";
    const char* index = asked.cpu.empty() ? "best_anywhere" : "best_on_cpu";
    EXPECT_NE(text.find(std::string("SEARCH r USING INDEX ") + index), std::string::npos) << text;
    EXPECT_EQ(text.find("SCAN"), std::string::npos) << text;
    EXPECT_EQ(text.find("TEMP B-TREE"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace lathe::store
