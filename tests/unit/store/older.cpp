// Databases and lines that earlier Lathes wrote.
#include <algorithm>
#include <filesystem>
#include <sstream>

#include <sys/wait.h>
#include <unistd.h>

#include "tuner/store/database.h"
#include "tuner/store/schema.h"
#include "unit/store/field_values.h"
#include "unit/store/fixture.h"

namespace lathe::store {
namespace {

const RaceNote kFast{
    .peak_flops = 1e11, .sentinel_seconds = 1e-4, .time = "2026-08-01T10:00:00.000Z"};
const RaceNote kBusy{.peak_flops = 7e10,
                     .sentinel_seconds = 1.4e-4,
                     .disturbed = true,
                     .time = "2026-08-02T10:00:00.000Z"};

// The tables of version 1, as they were.
constexpr const char* kTables1 = R"sql(
CREATE TABLE names (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
CREATE TABLE runs (
  id INTEGER PRIMARY KEY, workload INTEGER NOT NULL, target INTEGER NOT NULL,
  cache_mode TEXT NOT NULL,
  space TEXT NOT NULL, space_hash TEXT NOT NULL, search TEXT NOT NULL, model TEXT NOT NULL,
  seed INTEGER NOT NULL,
  UNIQUE (workload, target, cache_mode, space, space_hash, search, model, seed));
CREATE TABLE records (
  id INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES runs, batch INTEGER NOT NULL,
  idx INTEGER NOT NULL,
  workload INTEGER NOT NULL, target INTEGER NOT NULL, cache_mode INTEGER NOT NULL,
  fingerprint INTEGER NOT NULL,
  cpu INTEGER NOT NULL, trace TEXT NOT NULL, config TEXT NOT NULL, space_hash TEXT NOT NULL,
  codegen_version INTEGER NOT NULL, program_hash TEXT NOT NULL, visits TEXT NOT NULL,
  seconds REAL NOT NULL,
  dropped_early INTEGER NOT NULL, raced INTEGER NOT NULL, race_seconds REAL NOT NULL,
  spills INTEGER NOT NULL,
  error_kind TEXT NOT NULL, error_message TEXT NOT NULL, error_place TEXT NOT NULL,
  numerical_error REAL NOT NULL,
  predicted_score REAL NOT NULL, build_seconds REAL NOT NULL, run_seconds REAL NOT NULL,
  model_seconds REAL NOT NULL,
  search_seconds REAL NOT NULL, time TEXT NOT NULL, ok INTEGER NOT NULL, standing REAL NOT NULL,
  UNIQUE (run, idx));
CREATE INDEX best_anywhere ON records (workload, target, cache_mode, ok, standing);
CREATE INDEX best_on_cpu ON records (workload, target, cache_mode, cpu, ok, standing);
CREATE TABLE named_values (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
)sql";

constexpr const char* kRows1 = R"sql(
INSERT INTO names VALUES (1, 'C[i] = A[i]'), (2, 'cpu:znver5;threads=1'), (3, 'warm'), (4,
  'AMD EPYC'), (5, '26/2/1');
INSERT INTO runs VALUES (1, 1, 2, 'warm', 'default', '00ff', 'annealing', 'xgb-rank', 0);
INSERT INTO records VALUES (1, 1, 0, 0, 1, 2, 3, 4, 5, '[]', '{"tile": 4}', '00ff', 2, 'beef',
  '[{"visit": 0, "seconds": [0.001, 0.002], "sentinel": 0.0001}]', 0.001, 0, 1, 0.0012, 0, '',
  '', '', 1e-7, 0, 0.1, 0.2, 0, 0,
  '2026-08-01T10:00:00Z', 1, 0.0012);
INSERT INTO records VALUES (2, 1, 0, 1, 1, 2, 3, 4, 5, '[]', '{"tile": 8}', '00ff', 2, 'dead',
  '[]', 0.002, 0, 0, 0, 0, '', '', '',
  1e-7, 0, 0.1, 0.2, 0, 0, '2026-08-01T10:00:01Z', 1, 0.0022);
INSERT INTO named_values VALUES ('peak/AMD EPYC/cpu:znver5;threads=1', '150000000000');
PRAGMA application_id = 0x4c617468;
PRAGMA user_version = 1;
)sql";

// What made version 2 of them.
constexpr const char* kTables2 = R"sql(
ALTER TABLE records ADD COLUMN race_spread REAL NOT NULL DEFAULT 0;
ALTER TABLE records ADD COLUMN race_peak REAL NOT NULL DEFAULT 0;
ALTER TABLE records ADD COLUMN race_sentinel REAL NOT NULL DEFAULT 0;
ALTER TABLE records ADD COLUMN race_disturbed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE records ADD COLUMN race_time TEXT NOT NULL DEFAULT '';
)sql";

constexpr const char* kRows2 = R"sql(
INSERT INTO names VALUES (1, 'C[i] = A[i]'), (2, 'cpu:znver5;threads=1'), (3, 'warm'),
  (4, 'AMD EPYC'), (5, '26/2/1');
INSERT INTO runs VALUES (1, 1, 2, 'warm', 'default', '00ff', 'annealing', 'xgb-rank', -15);
INSERT INTO records VALUES (1, 1, 2, 3, 1, 2, 3, 4, 5, '[{"step":"split"}]', '{"tile":4}', '00fe',
  6, 'beef', '[{"visit":0,"seconds":[0.001,0.002],"sentinel":0.0001,"disturbed":[0.003]}]', 0.001,
  1, 1, 0.0012, 7, '', '', '', 1e-07, -0.25, 0.1, 0.2, 0.3, 0.4, '2026-08-01T10:00:00.125Z', 1,
  0.0012, 0.01, 150000000000.0, 0.00015, 1, '2026-08-01T10:00:01.250Z');
INSERT INTO records VALUES (2, 1, 2, 4, 1, 2, 3, 4, 5, '[]', '{"tile":8}', '00fe', 6, '', '[]', 0,
  0, 0, 0, 0, 'timeout', 'took longer than 5 s', 'runner', 0, 9e999, 0.5, 0.0, 0.0, 0.0,
  '2026-08-01T10:00:02.000Z', 0, 0, 0, 0, 0, 0, '');
PRAGMA application_id = 0x4c617468;
PRAGMA user_version = 2;
)sql";

// What that Lathe exported from these.
constexpr const char* kLines2 =
    R"({"workload":"C[i] = A[i]","target":"cpu:znver5;threads=1","cache":"warm",)"
    R"("run":{"space":"default","space_hash":"00ff","search":"annealing",)"
    R"("model":"xgb-rank","seed":18446744073709551601},"batch":2,"index":3,"seconds":0.001,)"
    R"("race_seconds":0.0012,"race":{"spread":0.01,"peak_flops":150000000000.0,)"
    R"("sentinel":0.00015,"disturbed":true,"time":"2026-08-01T10:00:01.250Z"},"error":null,)"
    R"("config":{"tile":4},"trace":[{"step":"split"}],"visits":[{"visit":0,)"
    R"("seconds":[0.001,0.002],"sentinel":0.0001,"disturbed":[0.003]}],)"
    R"("dropped_early":true,"spills":7,"numerical_error":1e-07,"predicted_score":-0.25,)"
    R"("spent":{"build":0.1,"run":0.2,"model":0.3,"search":0.4},"space_hash":"00fe",)"
    R"("program_hash":"beef","codegen_version":6,"fingerprint":"AMD EPYC","cpu":"26/2/1",)"
    R"("time":"2026-08-01T10:00:00.125Z"})"
    "\n"
    R"({"workload":"C[i] = A[i]","target":"cpu:znver5;threads=1","cache":"warm",)"
    R"("run":{"space":"default","space_hash":"00ff","search":"annealing",)"
    R"("model":"xgb-rank","seed":18446744073709551601},"batch":2,"index":4,"seconds":0.0,)"
    R"("race_seconds":null,"error":{"kind":"timeout","message":"took longer than 5 s",)"
    R"("place":"runner"},"config":{"tile":8},"trace":[],"visits":[],"dropped_early":false,)"
    R"("spills":0,"numerical_error":0.0,"predicted_score":null,"spent":{"build":0.5,)"
    R"("run":0.0,"model":0.0,"search":0.0},"space_hash":"00fe","program_hash":"",)"
    R"("codegen_version":6,"fingerprint":"AMD EPYC","cpu":"26/2/1",)"
    R"("time":"2026-08-01T10:00:02.000Z"})"
    "\n";

TEST_F(StoreTest, ADatabaseInTheOldFormStaysReadable) {
  ASSERT_TRUE(Database::open(path(), 1)->exec((std::string(kTables1) + kRows1).c_str()));
  {
    auto store = open_sqlite(path());
    ASSERT_TRUE(store) << store.error().text();
    const auto records = all(**store);
    ASSERT_EQ(records.size(), 2U);
    EXPECT_TRUE(records[0].raced);
    EXPECT_DOUBLE_EQ(records[0].race_seconds, 0.0012);
    EXPECT_EQ(records[0].race.time, "");
    EXPECT_FALSE(records[0].race.disturbed);
    EXPECT_EQ(records[0].visits[0].seconds, (std::vector<double>{0.001, 0.002}));
    EXPECT_TRUE(records[0].visits[0].disturbed.empty());
    for (const auto& field : kRecordFields) {
      if (field.since == 1) continue;
      EXPECT_EQ(value_of(field, records[1]), value_of(field, Record{})) << field.column;
    }
    EXPECT_EQ((*(*store)->best({.workload = "C[i] = A[i]"}))->index, 0);
    EXPECT_DOUBLE_EQ(machine_speed(**store, "AMD EPYC", "cpu:znver5;threads=1")->peak_flops,
                     1.5e11);
    // Of its race nothing is known but the time: it stands until one is faster.
    ASSERT_TRUE((*store)->set_race({{1, 0.0013}, {2, 0.0014}}, kBusy));
    EXPECT_DOUBLE_EQ(all(**store)[0].race_seconds, 0.0012);
    ASSERT_TRUE((*store)->set_race({{1, 0.0011}, {2, 0.0014}}, kFast));
  }
  const auto records = all(*open());
  EXPECT_DOUBLE_EQ(records[0].race_seconds, 0.0011);
  EXPECT_EQ(records[0].race.time, kFast.time);
}

// Lines of then have no "race", and visits no "disturbed".
TEST_F(StoreTest, LinesInTheOldFormStayReadable) {
  const store::Run run = a_run();
  Record record = a_record(run, 0);
  record.raced = true;
  record.race_seconds = 2e-3;
  record.race = kBusy;
  record.visits[0].disturbed = {3e-3};
  Json line = to_json(run, record);
  auto read = from_json(line);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_TRUE(read->second.race.disturbed);
  EXPECT_EQ(read->second.race.time, kBusy.time);
  EXPECT_EQ(read->second.visits[0].disturbed, std::vector<double>{3e-3});
  line.erase("race");
  line["visits"][0].erase("disturbed");
  read = from_json(line);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_DOUBLE_EQ(read->second.race_seconds, 2e-3);
  EXPECT_EQ(read->second.race.time, "");
  line["race"] = 5;
  EXPECT_FALSE(from_json(line));
}

// Whether all of `old` stands in `now`, which may have members that came later.
bool holds(const Json& now, const Json& old) {
  if (!old.is_object() || !now.is_object()) return now == old;
  return std::ranges::all_of(old.items(), [&](const auto& member) {
    return now.contains(member.key()) && holds(now[member.key()], member.value());
  });
}

void expect_lines_of_version_2(Store& store) {
  std::stringstream written, wanted(kLines2);
  ASSERT_TRUE(export_lines(store, {}, written));
  for (std::string now, old; std::getline(wanted, old);) {
    ASSERT_TRUE(std::getline(written, now));
    EXPECT_TRUE(holds(Json::parse(now), Json::parse(old))) << now << "\n" << old;
  }
  EXPECT_EQ(written.get(), std::stringstream::traits_type::eof());
}

// The order of its columns is another than that of tables that are made now.
TEST_F(StoreTest, ADatabaseOfVersion2StaysReadable) {
  ASSERT_TRUE(Database::open(path(), 1)->exec((std::string(kTables1) + kTables2 + kRows2).c_str()));
  auto store = open();
  expect_lines_of_version_2(*store);
  const auto run = store->runs()->front();
  EXPECT_EQ(run.seed, 0xffff'ffff'ffff'fff1U);
  const auto best = *store->best({.workload = "C[i] = A[i]", .cpu = "26/2/1"});
  EXPECT_EQ(best->id, 1);
  EXPECT_DOUBLE_EQ(best->standing, 0.0012);
  std::vector<Record> more = {a_record(run, 5)};
  ASSERT_TRUE(store->add(more));
  EXPECT_EQ(more[0].id, 3);
  // What is new has the compact form, what was there stays as it was.
  auto database = *Database::open(path(), 1);
  for (const char* column : {"trace", "config", "visits"})
    EXPECT_EQ(*database.integer(fmt::format("SELECT count(*) FROM records WHERE typeof({}) = "
                                            "CASE WHEN id = 3 THEN 'blob' ELSE 'text' END",
                                            column)),
              3)
        << column;
  EXPECT_EQ(*database.integer("PRAGMA user_version"), kSchemaVersion);
  EXPECT_EQ(all(*store).size(), 3U);
}

// Nothing is written to it, not even its version.
TEST_F(StoreTest, AnOlderDatabaseThatMayOnlyBeReadIsRead) {
  ASSERT_TRUE(Database::open(path(), 1)->exec((std::string(kTables1) + kTables2 + kRows2).c_str()));
  std::filesystem::permissions(path(), std::filesystem::perms{0444});
  std::filesystem::permissions(folder_.path(), std::filesystem::perms{0555});
  const pid_t child = fork();
  if (child == 0) {
    if (getuid() == 0 && setresuid(65534, 65534, 65534) != 0) _exit(77);
    auto store = open_sqlite(path());
    _exit(store && all(**store).size() == 2 && !(*store)->open_run(a_run()) ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  std::filesystem::permissions(folder_.path(), std::filesystem::perms{0755});
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "cannot give up root here";
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(*Database::open(path(), 1)->integer("PRAGMA user_version"), 2);
}

TEST_F(StoreTest, LinesOfVersion2StayReadable) {
  auto store = open();
  std::istringstream lines(kLines2);
  const auto count = import_lines(*store, lines);
  ASSERT_TRUE(count) << count.error().text();
  EXPECT_EQ(count->added, 2);
  expect_lines_of_version_2(*store);
  const auto records = all(*store);
  EXPECT_TRUE(records[0].raced && records[0].race.disturbed);
  EXPECT_DOUBLE_EQ(records[0].race.sentinel_seconds, 1.5e-4);
  EXPECT_EQ(records[1].error_place, "runner");
}

}  // namespace
}  // namespace lathe::store
