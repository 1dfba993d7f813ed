// A synthetic store, and what the report makes of it.
#include "api/report/report.h"

#include <algorithm>

#include "unit/store/fixture.h"

namespace lathe::report {
namespace {

constexpr const char* kMatmul =
    "A: f32[64,32]; B: f32[64,16]; output C: f32[32,16]; C[i:32,j:16] = sum(k:64) A[k,i] * B[k,j]; "
    "layout plain; max_error 2e-05";
constexpr const char* kCopy =
    "A: f32[31]; output B: f32[31]; B[i:31] = A[i]; layout plain; max_error 2e-05";

class Gather : public store::StoreTest {
 protected:
  // A run of `count` trials of 2 ms, 1.99 ms ..., every tenth failed; scored rightly.
  store::Run fill(store::Store& store, store::Run run, int count,
                  const std::function<void(store::Record&)>& change = {}) {
    run = *store.open_run(run);
    std::vector<store::Record> records;
    for (int i = 0; i < count; ++i) {
      records.push_back(i % 10 == 9 ? store::a_failure(run, i) : store::a_record(run, i));
      store::Record& r = records.back();
      r.batch = i / 16;
      if (r.ok()) r.seconds = 2e-3 - i * 1e-5;
      r.predicted_score = r.ok() ? i : -1;
      r.config = {{"tile.p", i % 4}, {"id", i}};
      r.trace = Json::array();
      r.time = fmt::format("2026-08-01T10:{:02}:{:02}.500Z", i / 60, i % 60);
      if (change) change(r);
    }
    EXPECT_TRUE(store.add(records));
    return run;
  }
  static store::Run run_of(const std::string& workload, std::uint64_t seed = 0) {
    store::Run run = store::a_run(seed);
    run.workload = workload;
    return run;
  }
};

TEST_F(Gather, NothingIsSaidOfAnEmptyStore) {
  auto store = open();
  ASSERT_FALSE(gather(*store));
  EXPECT_EQ(gather(*store).error().message,
            "the database holds no trials yet; run lathe tune first");
  ASSERT_TRUE(store->open_run(store::a_run()));
  EXPECT_FALSE(gather(*store)) << "a run without trials";
}

TEST_F(Gather, OneRun) {
  auto store = open();
  const auto run = fill(*store, run_of(kMatmul), 100);
  const auto report = *gather(*store);
  ASSERT_EQ(report.workloads.size(), 1U);
  const WorkloadReport& w = report.workloads[0];
  EXPECT_EQ(w.title, "C[i,j] = sum(k) A[k,i] * B[k,j]");
  EXPECT_EQ(w.shapes, "f32 A 64x32, B 64x16, C 32x16, numerics local");
  EXPECT_EQ(w.work.unit, "GFLOP/s");
  EXPECT_NEAR(w.work.speed(1e-3), 2.0 * 64 * 32 * 16 / 1e-3 / 1e9, 1e-9);
  EXPECT_EQ(w.trials, 100);
  EXPECT_EQ(w.failed, 10);
  EXPECT_EQ(w.latest, "2026-08-01T10:01:39.500Z");
  EXPECT_EQ(w.peak_flops, 0);
  EXPECT_EQ(w.peak_share(1e-3), 0);
  EXPECT_DOUBLE_EQ(w.first_seconds, 2e-3);
  ASSERT_TRUE(w.best);
  EXPECT_EQ(w.best->record.index, 98);
  EXPECT_DOUBLE_EQ(w.best->seconds(), 2e-3 - 98e-5);
  EXPECT_EQ(w.best->problem, "");
  EXPECT_NE(w.best->program.find("C.i"), std::string::npos) << w.best->program;
  EXPECT_GT(w.best->spread, 0) << "the best is read with its visits";
  ASSERT_EQ(w.runs.size(), 1U);
  const RunReport& r = w.runs[0];
  EXPECT_EQ(r.run.id, run.id);
  EXPECT_EQ(r.trials, 100);
  EXPECT_EQ(r.failed, 10);
  EXPECT_EQ(r.trials_to_95, 94) << "the first of at most 1.05 times 1.02 ms";
  EXPECT_NEAR(r.seconds, 99.03, 1e-6);
  EXPECT_NEAR(r.spent.build, 1, 1e-9);
  EXPECT_NEAR(r.spent.sum(), 10, 1e-9);
  EXPECT_EQ(r.over_trials.size(), 91U);
  EXPECT_EQ(r.over_trials.size(), r.over_seconds.size());
  ASSERT_EQ(r.quality.size(), 7U);
  EXPECT_DOUBLE_EQ(r.quality[0].pairwise_accuracy, 1);
  EXPECT_EQ(w.knobs.all, 90);
  EXPECT_EQ(w.failures.size(), 1U);
  EXPECT_EQ(w.failures[0].count, 10);
}

TEST_F(Gather, TimesOfDifferentMachinesAndCodeGeneratorsAreKeptApart) {
  auto store = open();
  fill(*store, run_of(kMatmul, 1), 30);
  fill(*store, run_of(kMatmul, 2), 30, [](store::Record& r) { r.codegen_version = 6; });
  fill(*store, run_of(kMatmul, 3), 30,
       [](store::Record& r) { r.cpu = "6/1/1", r.fingerprint = "another machine"; });
  fill(*store, run_of(kMatmul, 4), 40,
       [](store::Record& r) { r.codegen_version = r.index < 10 ? 5 : 6; });
  const auto report = *gather(*store);
  ASSERT_EQ(report.workloads.size(), 2U);
  const auto here = std::ranges::find(report.workloads, "26/2/1", &WorkloadReport::cpu);
  const auto there = std::ranges::find(report.workloads, "6/1/1", &WorkloadReport::cpu);
  ASSERT_TRUE(here != report.workloads.end() && there != report.workloads.end());
  EXPECT_EQ(there->trials, 30);
  EXPECT_EQ(there->fingerprint, "another machine");
  ASSERT_EQ(here->runs.size(), 4U) << "one of the runs was gone on with by another code generator";
  EXPECT_EQ(here->runs[2].trials, 10);
  EXPECT_EQ(here->runs[3].trials, 30);
  EXPECT_EQ(here->knobs.all, 36) << "27 and 27 of the latest code generator, 18 of them the same";
}

TEST_F(Gather, TheWinnerOfARaceIsTheBest) {
  auto store = open();
  fill(*store, run_of(kMatmul), 30);
  std::int64_t slow = 0;
  for (const auto& record : all(*store))
    if (record.index == 3) slow = record.id;
  ASSERT_TRUE(store->set_race({{slow, 1e-3}}));
  const auto report = *gather(*store);
  const Best& best = *report.workloads[0].best;
  EXPECT_EQ(best.record.index, 3);
  EXPECT_TRUE(best.record.raced);
  EXPECT_EQ(best.seconds(), 1e-3);
}

TEST_F(Gather, AnEarlierRaceThatWasFasterIsTheStory) {
  auto store = open();
  fill(*store, run_of(kMatmul), 30);
  const auto records = all(*store);
  ASSERT_TRUE(store->set_race({{records[3].id, 1e-3}, {records[4].id, 1.1e-3}}));
  ASSERT_TRUE(
      store->set_race({{records[3].id, 2.4e-3}, {records[5].id, 2.5e-3}}, {.disturbed = true}));
  const auto report = *gather(*store);
  const Best& best = *report.workloads[0].best;
  EXPECT_EQ(best.record.id, records[3].id);
  EXPECT_EQ(best.seconds(), 1e-3);
  EXPECT_FALSE(best.record.race.disturbed);
}

TEST_F(Gather, SharesAreOfWhatIsDoneAndOfWhatIsMoved) {
  auto store = open();
  const std::string padded =
      "A: f32[9]; B: f32[3]; output C: f32[9]; C[i:9] = sum(k:3) A[i + k - 1 else 0] * B[k]; "
      "layout plain; max_error 2e-05";
  fill(*store, run_of(padded), 5);
  const std::string machine = store::a_record({}, 0).fingerprint, target = store::a_run().target;
  ASSERT_TRUE(store::note_speed(*store, machine, target, {1e9, 0}));
  ASSERT_TRUE(store::note_bandwidth(*store, machine, target, "warm/48/36", 1e9));
  const WorkloadReport w = gather(*store)->workloads[0];
  EXPECT_NEAR(w.peak_share(1e-6), 2.0 * 25 / 1e-6 / 1e9, 1e-9)
      << "25 products of 27 are no padding";
  EXPECT_NEAR(w.bandwidth_share(1e-6), 84 / 1e-6 / 1e9, 1e-9);
  EXPECT_NEAR(w.bandwidth_share(1e-8), 1, 1e-9) << "what a program reaches, the machine can";
}

TEST_F(Gather, TunedLastComesFirst) {
  auto store = open();
  fill(*store, run_of(kMatmul), 5);
  fill(*store, run_of(kCopy), 5, [](store::Record& r) { r.time = "2026-09-01T00:00:00Z"; });
  const auto report = *gather(*store);
  ASSERT_EQ(report.workloads.size(), 2U);
  EXPECT_EQ(report.workloads[0].key, kCopy);
  EXPECT_EQ(report.workloads[0].work.unit, "GB/s");
}

TEST_F(Gather, ThePaperHasNames) {
  auto store = open();
  const std::string matmul =
      "A: f32[1024,1024]; const B: f32[1024,1024]; output C: f32[1024,1024]; C[i:1024,j:1024] = "
      "sum(k:1024) A[k,i] * B[k,j]; layout free; "
      "max_error 0.001";
  fill(*store, run_of(matmul), 5);
  const auto report = *gather(*store);
  EXPECT_EQ(report.workloads[0].title, "matmul-1024");
  EXPECT_EQ(report.workloads[0].shapes,
            "f32 A 1024x1024, const B 1024x1024, C 1024x1024, free layout, numerics local");
}

TEST_F(Gather, WhatCannotBeReadIsShownAsItIs) {
  auto store = open();
  const std::string key = "</script><b>not a program";
  fill(*store, run_of(key), 5, [](store::Record& r) {
    r.time = "a while ago";
    r.trace = {{{"step", "frobnicate"}}};
    r.config = "?";
  });
  const auto report = *gather(*store);
  const WorkloadReport& w = report.workloads[0];
  EXPECT_EQ(w.title, key);
  EXPECT_EQ(w.work.unit, "calls/s");
  EXPECT_EQ(w.latest, "a while ago");
  ASSERT_TRUE(w.best);
  EXPECT_EQ(w.best->program, "");
  EXPECT_NE(w.best->problem, "");
  EXPECT_EQ(w.knobs.all, 0);
}

TEST_F(Gather, NothingWorked) {
  auto store = open();
  const auto run = *store->open_run(run_of(kMatmul));
  std::vector<store::Record> records = {store::a_failure(run, 0), store::a_failure(run, 1)};
  records[1].error_kind = "wrong-answer";
  ASSERT_TRUE(store->add(records));
  const auto report = *gather(*store);
  const WorkloadReport& w = report.workloads[0];
  EXPECT_FALSE(w.best);
  EXPECT_EQ(w.wrong, 1);
  EXPECT_EQ(w.first_seconds, 0);
  EXPECT_EQ(w.runs[0].best_seconds, 0);
  EXPECT_EQ(w.runs[0].trials_to_95, 0);
  EXPECT_TRUE(w.runs[0].over_trials.empty());
}

TEST_F(Gather, ADamagedRecordIsSaid) {
  {
    auto store = open();
    fill(*store, run_of(kMatmul), 5);
  }
  ASSERT_EQ(
      std::system(
          ("sqlite3 '" + path() + "' \"UPDATE records SET config = '{' WHERE idx = 2\"").c_str()),
      0);
  const auto report = gather(*open());
  ASSERT_FALSE(report);
  EXPECT_NE(report.error().message.find("is damaged"), std::string::npos) << report.error().text();
}

TEST_F(Gather, ManyTrialsMakeALittleReport) {
  auto store = open();
  fill(*store, run_of(kMatmul), 20'000, [](store::Record& r) {
    if (r.ok()) r.seconds = 1.0 / (1 + r.index);
    r.config = {{"tile.p", r.index % 1000}, {"order", fmt::format("O{}", r.index)}};
    r.error_message = fmt::format("failure {}", r.index);
  });
  const auto report = *gather(*store);
  const WorkloadReport& w = report.workloads[0];
  EXPECT_LT(w.runs[0].over_trials.size(), 500U);
  EXPECT_LE(w.runs[0].quality.size(), 100U);
  for (const Knob& knob : w.knobs.knobs) EXPECT_LE(knob.values.size(), 20U);
  for (const Failure& failure : w.failures) EXPECT_LE(failure.reasons.size(), 5U);
}

}  // namespace
}  // namespace lathe::report
