// A folder of its own for each test, and records to fill databases with.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "support/temporary_folder.h"
#include "tuner/store/store.h"

namespace lathe::store {

class StoreTest : public testing::Test {
 protected:
  std::string path(const std::string& name = "records.db") const { return folder_.at(name); }
  std::unique_ptr<Store> open(const std::string& name = "records.db") {
    auto store = open_sqlite(path(name));
    EXPECT_TRUE(store.has_value()) << store.error().text();
    return std::move(*store);
  }

  const test::TemporaryFolder folder_;
};

inline Run a_run(std::uint64_t seed = 0) {
  return {0,
          "C[i,j] = sum(k) A[k,i] * B[k,j]",
          "cpu:znver5;threads=1",
          CacheMode::kWarm,
          "default",
          "00ff",
          "annealing",
          "xgb-rank",
          seed};
}

// Every member with a value of its own, so that a mix-up of two columns shows.
inline Record a_record(const Run& run, int index) {
  Record r;
  r.run = run.id;
  r.batch = 3;
  r.index = index;
  r.workload = run.workload;
  r.target = run.target;
  r.cache_mode = run.cache_mode;
  r.fingerprint = "AMD EPYC (26/2/1) L1d=49152";
  r.cpu = "26/2/1";
  r.trace = Json::parse(R"([{"step": "split", "loop": "C.i", "factor": 14}])");
  r.config = {{"tile.p", 14}, {"order", "ab\"c"}};
  r.space_hash = "00ff";
  r.codegen_version = 5;
  r.program_hash = "deadbeef";
  r.visits = {{0, {1e-3, 1.5e-3}, 2e-4}, {1, {0.9e-3}, 2.1e-4}};
  r.seconds = 1e-3 + index * 1e-6;
  r.dropped_early = index % 2 == 1;
  r.spills = 7;
  r.numerical_error = 3e-7;
  r.predicted_score = -0.25;
  r.build_seconds = 0.01;
  r.run_seconds = 0.02;
  r.model_seconds = 0.03;
  r.search_seconds = 0.04;
  r.time = "2026-08-01T10:00:00Z";
  return r;
}

inline Record a_failure(const Run& run, int index) {
  Record r = a_record(run, index);
  r.visits.clear();
  r.seconds = 0;
  r.error_kind = "timeout";
  r.error_message = "took longer than 5 s";
  r.error_place = "runner";
  return r;
}

inline std::vector<Record> all(Store& store, const Query& query = {}) {
  std::vector<Record> out;
  const auto status = store.each(query, [&](const Record& r) {
    out.push_back(r);
    return true;
  });
  EXPECT_TRUE(status.has_value()) << status.error().text();
  return out;
}

}  // namespace lathe::store
