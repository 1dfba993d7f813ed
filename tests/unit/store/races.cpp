// Which time stands after several races, and what is kept of each.
#include <limits>

#include "tuner/store/database.h"
#include "unit/store/fixture.h"

namespace lathe::store {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const RaceNote kQuiet{
    .peak_flops = 1e11, .sentinel_seconds = 1e-4, .time = "2026-08-01T10:00:00.000Z"};
const RaceNote kDisturbed{.peak_flops = 7e10,
                          .sentinel_seconds = 1.4e-4,
                          .disturbed = true,
                          .time = "2026-08-02T10:00:00.000Z"};

class Races : public StoreTest {
 protected:
  Races() : store_(open()), run_(*store_->open_run(a_run())) {
    records_ = {a_record(run_, 0), a_record(run_, 1), a_record(run_, 2)};
    EXPECT_TRUE(store_->add(records_));
  }
  Record of(int index) {
    for (const Record& record : all(*store_))
      if (record.index == index) return record;
    return {};
  }
  int best() { return (*store_->best({.workload = run_.workload}))->index; }
  std::int64_t id(int index) const { return records_[static_cast<std::size_t>(index)].id; }

  std::unique_ptr<Store> store_;
  store::Run run_;
  std::vector<Record> records_;
};

TEST_F(Races, ASlowerRepetitionDoesNotReplaceAFasterOne) {
  ASSERT_TRUE(store_->set_race({{id(0), 1.0e-3, 0.01}, {id(1), 1.2e-3, 0.02}}, kQuiet));
  // The same run resumed under load, with a new program in it that is no faster.
  ASSERT_TRUE(store_->set_race({{id(0), 2.4e-3, 0.2}, {id(1), 2.9e-3, 0.3}, {id(2), 2.5e-3, 0.1}},
                               kDisturbed));
  EXPECT_EQ(best(), 0);
  EXPECT_DOUBLE_EQ(of(0).race_seconds, 1.0e-3);
  EXPECT_DOUBLE_EQ(of(0).standing, 1.0e-3);
  EXPECT_FALSE(of(0).race.disturbed);
  EXPECT_EQ(of(0).race.time, kQuiet.time);
  EXPECT_DOUBLE_EQ(of(0).race.peak_flops, 1e11);
  EXPECT_DOUBLE_EQ(of(0).race.sentinel_seconds, 1e-4);
  EXPECT_DOUBLE_EQ(of(0).race.spread, 0.01);
  EXPECT_TRUE(of(2).race.disturbed) << "what was never raced is marked";
  EXPECT_DOUBLE_EQ(of(2).race_seconds, 2.5e-3);
}

TEST_F(Races, AFasterRepetitionReplacesADisturbedOne) {
  ASSERT_TRUE(store_->set_race({{id(0), 2.4e-3}, {id(1), 2.5e-3}}, kDisturbed));
  EXPECT_TRUE(of(0).race.disturbed);
  ASSERT_TRUE(store_->set_race({{id(0), 1.1e-3}, {id(1), 1.0e-3}}, kQuiet));
  EXPECT_EQ(best(), 1);
  for (const int index : {0, 1}) EXPECT_FALSE(of(index).race.disturbed);
  EXPECT_EQ(of(1).race.time, kQuiet.time);
}

TEST_F(Races, AFailureOnADisturbedMachineIsNoVerdict) {
  ASSERT_TRUE(store_->set_race({{id(0), 1.0e-3}, {id(1), 1.2e-3}}, kQuiet));
  ASSERT_TRUE(store_->set_race({{id(0), kInfinity}, {id(1), 2.5e-3}}, kDisturbed));
  EXPECT_EQ(best(), 0);
  ASSERT_TRUE(store_->set_race({{id(0), kInfinity}, {id(1), 1.3e-3}}, kQuiet));
  EXPECT_EQ(best(), 1);
  // And who failed once may come back.
  ASSERT_TRUE(store_->set_race({{id(0), 1.0e-3}, {id(1), 1.3e-3}}, kQuiet));
  EXPECT_EQ(best(), 0);
}

TEST_F(Races, WhoNeverRacedStandsBehindAlsoWhereTheMachineWasSlow) {
  ASSERT_TRUE(store_->set_race({{id(1), 2.4e-3}, {id(2), 2.5e-3}}, kDisturbed));
  EXPECT_EQ(best(), 1);
  EXPECT_DOUBLE_EQ(of(0).standing, 2.5e-3);
  EXPECT_FALSE(of(0).raced);
}

TEST_F(Races, TheStandingOfAWinnerIsItsOwn) {
  ASSERT_TRUE(store_->set_race({{id(0), 1.0e-3}, {id(1), 1.01e-3, 0.02, 0.999e-3}}, kQuiet));
  EXPECT_EQ(best(), 1);
  EXPECT_DOUBLE_EQ(of(1).race_seconds, 1.01e-3);
}

TEST_F(Races, TheTimeIsNotedWhereNoneIsGiven) {
  ASSERT_TRUE(store_->set_race({{id(0), 1.0e-3}}));
  EXPECT_EQ(of(0).race.time.size(), kQuiet.time.size());
}

TEST_F(Races, OfOneCodeGeneratorCanBeAskedFor) {
  std::vector<Record> newer = {a_record(run_, 3)};
  newer[0].codegen_version = 6;
  newer[0].seconds = 9e-3;
  ASSERT_TRUE(store_->add(newer));
  EXPECT_EQ((*store_->best({.workload = run_.workload, .codegen_version = 6}))->index, 3);
  EXPECT_EQ((*store_->best({.workload = run_.workload, .codegen_version = 5}))->index, 0);
  EXPECT_FALSE(*store_->best({.workload = run_.workload, .codegen_version = 7}));
}

TEST_F(Races, MachinesAreKnownByTheFastestOfThem) {
  EXPECT_EQ(machine_speed(*store_, "m", "t")->peak_flops, 0);
  ASSERT_TRUE(note_speed(*store_, "m", "t", {1e11, 1e-4}));
  ASSERT_TRUE(note_speed(*store_, "m", "t", {0.7e11, 1.4e-4}));
  ASSERT_TRUE(note_speed(*store_, "m", "t", {1.1e11, 0}));
  EXPECT_DOUBLE_EQ(machine_speed(*store_, "m", "t")->peak_flops, 1.1e11);
  EXPECT_DOUBLE_EQ(machine_speed(*store_, "m", "t")->sentinel_seconds, 1e-4);
  EXPECT_EQ(machine_speed(*store_, "m", "u")->peak_flops, 0);
  EXPECT_EQ(*note_bandwidth(*store_, "m", "t", "warm/1/2", 0), 0);
  EXPECT_EQ(*note_bandwidth(*store_, "m", "t", "warm/1/2", 3e9), 3e9);
  EXPECT_EQ(*note_bandwidth(*store_, "m", "t", "warm/1/2", 2e9), 3e9);
  EXPECT_EQ(*note_bandwidth(*store_, "m", "t", "warm/1/3", 0), 0);
}

// The tables of version 1, as they were.
constexpr const char* kVersion1 = R"sql(
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

TEST_F(StoreTest, ADatabaseInTheOldFormStaysReadable) {
  ASSERT_TRUE(Database::open(path(), 1)->exec(kVersion1));
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
    EXPECT_EQ((*(*store)->best({.workload = "C[i] = A[i]"}))->index, 0);
    EXPECT_DOUBLE_EQ(machine_speed(**store, "AMD EPYC", "cpu:znver5;threads=1")->peak_flops,
                     1.5e11);
    // Of its race nothing is known but the time: it stands until one is faster.
    ASSERT_TRUE((*store)->set_race({{1, 0.0013}, {2, 0.0014}}, kDisturbed));
    EXPECT_DOUBLE_EQ(all(**store)[0].race_seconds, 0.0012);
    ASSERT_TRUE((*store)->set_race({{1, 0.0011}, {2, 0.0014}}, kQuiet));
  }
  const auto records = all(*open());
  EXPECT_DOUBLE_EQ(records[0].race_seconds, 0.0011);
  EXPECT_EQ(records[0].race.time, kQuiet.time);
}

// Lines of then have no "race", and visits no "disturbed".
TEST_F(StoreTest, LinesInTheOldFormStayReadable) {
  const store::Run run = a_run();
  Record record = a_record(run, 0);
  record.raced = true;
  record.race_seconds = 2e-3;
  record.race = kDisturbed;
  record.visits[0].disturbed = {3e-3};
  Json line = to_json(run, record);
  auto read = from_json(line);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_TRUE(read->second.race.disturbed);
  EXPECT_EQ(read->second.race.time, kDisturbed.time);
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

}  // namespace
}  // namespace lathe::store
