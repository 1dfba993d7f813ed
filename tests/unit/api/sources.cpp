// What is tuned, and where a workload's schedule comes from.
#include <cstdlib>
#include <fstream>

#include <gtest/gtest.h>

#include "api/schedules.h"
#include "api/targets.h"
#include "api/tuning.h"
#include "api/workload.h"
#include "base/processors.h"
#include "compiler/te/parse.h"
#include "support/temporary_folder.h"

namespace lathe::api {
namespace {

class Sources : public testing::Test {
 protected:
  Sources() {
    setenv("LATHE_LIBEXEC", LATHE_HELPERS, 1);
    setenv("XDG_CACHE_HOME", folder_.path().c_str(), 1);
    WorkloadRequest workload;
    workload.text = "C[i,j] = sum(k) A[k,i] * B[k,j]";
    workload.shapes = {"A=11,13", "B=11,17"};
    task_.workload = make_workload(workload)->definition;
    target_ = *make_target("cpu:host", 1);
  }

  ScheduleRequest request(const std::string& which) const {
    return {.which = which, .database = folder_.at("records.db")};
  }
  Result<Chosen> choose(const std::string& which) const {
    return LATHE_TRY(schedule_source(request(which)))(task_.workload, target_);
  }
  static Json json_of(const Chosen& chosen) { return schedule::to_json(chosen.trace); }

  const test::TemporaryFolder folder_;
  tune::Task task_;
  Target target_;
};

TEST_F(Sources, NeedNoRecordsButForTheBest) {
  EXPECT_TRUE(choose("naive")->trace.empty());
  const auto space =
      *space::derive_space(te::canonical(task_.workload), target_, space::Flavour::kDefault);
  EXPECT_EQ(json_of(*choose("default")), schedule::to_json(space->trace(space->default_config())));
  EXPECT_FALSE(choose("predicted")->trace.empty());
  EXPECT_EQ(choose("best").error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(choose("luck").error().text(),
            "--schedule: unknown schedule \"luck\"; known are best, predicted, default, naive, and "
            "files .json with a trace");
}

TEST_F(Sources, PredictWhatModelsChooseWell) {
  const auto predicts = [&](const std::string& text) {
    task_.workload = *te::parse_workload(text);
    return json_of(*choose("predicted")) != json_of(*choose("default"));
  };
  // Contractions of one algorithm, some of which must be predicted anew; not the others.
  EXPECT_TRUE(predicts("x: f32[16,512]; const w: f32[13,512]; y[i,o] = sum(k) x[i,k] * w[o,k]") ||
              predicts("x: f32[40,77]; y[i,j] = sum(k) x[i,k] * x[j,k]"));
  EXPECT_FALSE(predicts("x: f32[96,128]; y[i] = sum(k) x[i,k] * x[i,k]"));
  EXPECT_FALSE(predicts("x: f32[64,48]; y[j,i] = x[i,j]"));
  EXPECT_FALSE(predicts("x: f32[64,48]; z: f32[64,48]; y[i] = sum(k) (x[i,k] + z[i,k])"));
  EXPECT_FALSE(
      predicts("x: f32[1,32,14,14]; const w: f32[32,32,3,3]; "
               "y[n:1,o,p:14,q:14] = sum(c,r,s) x[n,c,p+r-1,q+s-1 else 0] * w[o,c,r,s]"));
}

// Spaces are of keys, whose names nobody wrote.
TEST_F(Sources, ErrorsSpeakOfTheNamesThatWereWritten) {
  task_.workload = *te::parse_workload(
      "algorithm F2; picture: f32[3,9]; weights: f32[40,3,3]; "
      "sums[to,at:7] = sum(from,tap) picture[from,at+tap] * weights[to,from,tap]");
  for (const char* which : {"default", "predicted"}) {
    const auto chosen = choose(which);
    ASSERT_FALSE(chosen);
    EXPECT_NE(chosen.error().message.find("of the factors of sums none is constant"),
              std::string::npos)
        << chosen.error().text();
  }
}

TEST_F(Sources, MayBeAFile) {
  const std::string path = folder_.at("steps.json");
  const auto write = [&](const std::string& text) { std::ofstream(path) << text; };
  write(R"([{"step": "annotate", "loop": "C.j", "kind": "vectorize"}])");
  const auto chosen = choose(path);
  ASSERT_TRUE(chosen) << chosen.error().text();
  EXPECT_EQ(json_of(*chosen).size(), 1U);
  write(R"([{"step": "jump"}])");
  EXPECT_TRUE(choose(path).error().text().starts_with(path + ", step 0: \"jump\" is no step"))
      << choose(path).error().text();
  write("[");
  EXPECT_TRUE(choose(path).error().text().starts_with(path)) << choose(path).error().text();
  const std::string nowhere = folder_.at("nowhere.json");
  EXPECT_NE(choose(nowhere).error().text().find(nowhere), std::string::npos);
}

TEST_F(Sources, OfOneRequestServeManyWorkloads) {
  const auto source = *schedule_source(request("default"));
  WorkloadRequest other;
  other.text = "Y[i,j] = max(X[i,j], 0)";
  other.shapes = {"X=7,13"};
  const auto first = source(task_.workload, target_);
  const auto second = source(make_workload(other)->definition, target_);
  ASSERT_TRUE(first && second);
  EXPECT_NE(json_of(*first), json_of(*second));
}

TEST_F(Sources, TellTheBestOfATunedTask) {
  TuneRequest tuning;
  tuning.task = task_;
  tuning.task.weight = 3;
  tuning.target = target_;
  tuning.database = folder_.at("records.db");
  tuning.options.run.trials = 4;
  const auto tuned = run_tuning(tuning, {}, {});
  ASSERT_TRUE(tuned) << tuned.error().text();
  ASSERT_GT(tuned->summary.best_seconds(), 0);
  EXPECT_DOUBLE_EQ(tuned->graph_seconds(), 3 * tuned->summary.best_seconds());
  EXPECT_EQ(te::workload_key(tuned->task.workload), tuned->summary.workload);
  for (const auto& chosen :
       {choose("best"), recorded_schedules(request("best"))(task_.workload, target_)}) {
    ASSERT_TRUE(chosen) << chosen.error().text();
    ASSERT_TRUE(chosen->record);
    EXPECT_EQ(chosen->record->id, tuned->summary.best.id);
    EXPECT_EQ(json_of(*chosen), tuned->summary.best.trace);
  }
}

// A record as tuning leaves it, but for its trace and time.
store::Record recorded(const te::Workload& workload, const Target& target, int index,
                       const Json& trace, double seconds) {
  store::Record record;
  record.index = index;
  record.workload = te::workload_key(workload);
  record.target = target.text();
  record.cpu = record.fingerprint = host_fingerprint().cpu();
  record.codegen_version = *codegen_version(target);
  record.trace = trace;
  record.config = Json::object();
  record.seconds = seconds;
  return record;
}

TEST_F(Sources, PassOverRecordsThatDoNotApply) {
  const auto path = folder_.at("records.db");
  const auto store = *store::open_sqlite(path);
  const auto run = *store->open_run(
      {.workload = te::workload_key(task_.workload), .target = target_.text(), .space = "default"});
  const auto add = [&](int index, const std::string& trace, double seconds) {
    std::vector<store::Record> records = {
        recorded(task_.workload, target_, index, Json::parse(trace), seconds)};
    records[0].run = run.id;
    ASSERT_TRUE(store->add(records));
  };
  add(0, R"([{"step": "annotate", "loop": "C.nowhere", "kind": "vectorize"}])", 1e-6);
  const auto none = choose("best");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::kNotFound);
  EXPECT_NE(none.error().message.find("none of 1 recorded programs of this workload applies any "
                                      "more, the fastest being trial 0 of run 1 (step 0: "),
            std::string::npos)
      << none.error().text();
  add(1, R"([{"step": "jump"}])", 2e-6);
  add(2, "[]", 3e-6);
  add(3, R"([{"step": "annotate", "loop": "C.j", "kind": "vectorize"}])", 4e-6);
  for (const auto& chosen :
       {choose("best"), recorded_schedules(request("best"))(task_.workload, target_)}) {
    ASSERT_TRUE(chosen) << chosen.error().text();
    EXPECT_EQ(chosen->record->index, 2);
    EXPECT_TRUE(chosen->trace.empty());
    EXPECT_TRUE(chosen->note.starts_with("trial 0 of run 1 (step 0: ")) << chosen->note;
    EXPECT_TRUE(chosen->note.ends_with(
        "), the fastest on record, does not apply any more; the next that does is taken, trial 2 "
        "of run 1"))
        << chosen->note;
  }
}

// Records of so many threads, each with a program of one step that tells them apart.
class FewerThreads : public Sources {
 protected:
  void add(int threads, double seconds, const char* trace, const char* cpu = "") {
    const auto store = *store::open_sqlite(folder_.at("records.db"));
    const Target target = with(threads);
    const auto run = *store->open_run({.workload = te::workload_key(task_.workload),
                                       .target = target.text(),
                                       .space = "default"});
    std::vector<store::Record> records = {
        recorded(task_.workload, target, added_++, Json::parse(trace), seconds)};
    records[0].run = run.id;
    if (*cpu != '\0') records[0].cpu = records[0].fingerprint = cpu;
    ASSERT_TRUE(store->add(records));
  }
  Target with(int threads) const {
    Target target = target_;
    target.set_threads(threads);
    return target;
  }
  Result<Chosen> best(int threads) const {
    return recorded_schedules(request("best"))(task_.workload, with(threads));
  }
  static constexpr const char* kVector =
      R"([{"step": "annotate", "loop": "C.j", "kind": "vectorize"}])";
  static constexpr const char* kNowhere =
      R"([{"step": "annotate", "loop": "C.nowhere", "kind": "vectorize"}])";
  int added_ = 0;
};

TEST_F(FewerThreads, ServeWhereThereAreNoneForSoMany) {
  add(1, 1e-6, "[]");
  add(3, 9e-6, kVector);
  add(7, 5e-6, "[]");
  for (const auto& [asked, taken] :
       {std::pair(1, 1), {2, 1}, {3, 3}, {4, 3}, {6, 3}, {7, 7}, {8, 7}, {1024, 7}}) {
    const auto chosen = best(asked);
    ASSERT_TRUE(chosen) << chosen.error().text();
    EXPECT_EQ(chosen->target, with(taken)) << asked;
    EXPECT_EQ(chosen->record->target, with(taken).text()) << asked;
    EXPECT_EQ(chosen->note.empty(), asked == taken) << chosen->note;
  }
  EXPECT_EQ(best(2)->note,
            "nothing for 2 threads is on record; the best for 1 is taken, and runs with 1; lathe "
            "tune with --threads 2 finds one for 2, on as many processors");
  EXPECT_FALSE(best(5)->trace.empty());
  // What is not of records is for all threads.
  for (const char* which : {"default", "predicted", "naive"})
    EXPECT_EQ((*schedule_source(request(which)))(task_.workload, with(2))->target, with(2));
}

TEST_F(FewerThreads, MoreThreadsAreNeverTaken) {
  add(4, 1e-6, "[]");
  const auto none = best(3);
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find(", but one is with --threads 4;"), std::string::npos)
      << none.error().text();
  add(2, 1e-6, "[]");
  EXPECT_EQ(best(3)->target, with(2));
  EXPECT_FALSE(best(1));
}

TEST_F(FewerThreads, OfThisMachineFirstThenTheFastestThatApplies) {
  add(1, 1e-6, "[]");
  add(2, 2e-6, "[]", "other");
  add(2, 4e-6, kVector);
  add(2, 3e-6, kNowhere);
  const auto chosen = best(3);
  ASSERT_TRUE(chosen) << chosen.error().text();
  EXPECT_EQ(chosen->target, with(2));
  EXPECT_EQ(chosen->record->index, 2);
  EXPECT_TRUE(chosen->note.starts_with("trial 3 of run")) << chosen->note;
  EXPECT_TRUE(chosen->note.ends_with("finds one for 3, on as many processors")) << chosen->note;
}

TEST_F(FewerThreads, AlsoWhereThoseForSoManyApplyNoMore) {
  add(2, 1e-6, kNowhere);
  ASSERT_FALSE(best(2));
  add(1, 1e-6, "[]");
  const auto chosen = best(2);
  ASSERT_TRUE(chosen) << chosen.error().text();
  EXPECT_EQ(chosen->target, with(1));
}

TEST_F(FewerThreads, OtherFlagsDoNotNameThem) {
  add(1, 1e-6, "[]");
  const auto store = *store::open_sqlite(folder_.at("records.db"));
  te::Workload free = task_.workload;
  free.contract.free_layout = true;
  EXPECT_EQ(*other_flags(*store, free, with(2), CacheMode::kCold), "--layout plain --cache warm");
  const store::Query query = {.workload = te::workload_key(task_.workload),
                              .cache_mode = CacheMode::kWarm};
  EXPECT_EQ(*recorded_target(*store, query, with(5)), with(1));
  EXPECT_EQ(*recorded_target(*store, query, with(1)), with(1));
  store::Query cold = query;
  cold.cache_mode = CacheMode::kCold;
  EXPECT_EQ(*recorded_target(*store, cold, with(5)), with(5));
}

// How many threads a target has that names none.
TEST(MakeTarget, ThreadsAreTheProcessors) {
  const auto threads = [](const char* text, int given) {
    const auto target = make_target(text, given);
    EXPECT_TRUE(target) << text;
    return std::pair(target->threads(), threads_sentence(text, given, *target));
  };
  const auto said = [&](const char* text, int given) { return threads(text, given).second; };
  unsetenv("OMP_NUM_THREADS");
  const ReasonedCount usual = usual_threads();
  EXPECT_EQ(threads("cpu:host", 0), std::pair(usual.number, threads_text(usual)));
  EXPECT_EQ(said("cpu:host", 3), "3 threads: as --threads says");
  EXPECT_EQ(said("cpu:host;threads=5", 0), "5 threads: as the target says");
  EXPECT_EQ(said("cpu:znver3", 0),
            "1 thread: as usual for a target that is named; --threads gives another number");
  setenv("OMP_NUM_THREADS", "1", 1);
  EXPECT_EQ(threads("cpu:host", 0).first, 1);
  EXPECT_EQ(threads("cpu:host", 2).first, 2) << "the variable limits what is usual alone";
  setenv("OMP_NUM_THREADS", "abc", 1);
  EXPECT_EQ(threads("cpu:host", 0).first, usual.number);
  EXPECT_TRUE(said("cpu:host", 0)
                  .ends_with("; OMP_NUM_THREADS=abc is no number of threads, and "
                             "ignored"));
  unsetenv("OMP_NUM_THREADS");
  EXPECT_EQ(make_target("cpu:host", -1).error().text(),
            "--threads: from 1 to 1024 threads, not -1");
}

TEST(CheckTimedHere, RefusesMoreThreadsThanProcessors) {
  const auto processors = static_cast<int>(allowed_processors().size());
  EXPECT_TRUE(check_timed_here(*make_target("cpu:host", processors)));
  const auto refused = check_timed_here(*make_target("cpu:host", processors + 1));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().place, "--threads");
  EXPECT_NE(refused.error().message.find(
                fmt::format("{} threads cannot be timed on the ", processors + 1)),
            std::string::npos)
      << refused.error().text();
}

TEST_F(Sources, RefuseTimesThatNoMachineHas) {
  store::Run run;
  run.workload = te::workload_key(task_.workload);
  run.target = target_.text();
  const auto check = [&](double seconds) {
    return check_trial(run, recorded(task_.workload, target_, 0, Json::array(), seconds));
  };
  EXPECT_TRUE(check(1e-6));
  run.workload =
      "A: f32[2000,900000]; B: f32[900000,3000]; output C: f32[2000,3000]; "
      "C[i:2000,j:3000] = sum(k:900000) A[i,k] * B[k,j]";
  EXPECT_TRUE(check(1e-3));
  const auto refused = check(2e-6);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().place, "member \"seconds\"");
  EXPECT_NE(
      refused.error().message.find("2e-06 s is less than any machine takes for this workload"),
      std::string::npos)
      << refused.error().text();
}

TEST_F(Sources, OnlyTheNamedBestAdvisesAnotherSchedule) {
  ASSERT_TRUE(store::open_sqlite(folder_.at("records.db")));
  const std::string advice = ", or give --schedule default";
  const auto named = choose("best");
  const auto plain = recorded_schedules(request("best"))(task_.workload, target_);
  ASSERT_FALSE(named);
  ASSERT_FALSE(plain);
  EXPECT_EQ(named.error().message, plain.error().message + advice);
}

}  // namespace
}  // namespace lathe::api
