// Which time stands after several races, and what is kept of each.
#include <limits>

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

TEST_F(Races, WhatADisturbedRaceSaidOfAWinnerByChanceDoesNotStay) {
  ASSERT_TRUE(store_->set_race({{id(0), 0.9e-3}, {id(1), 1.3e-3}}, kDisturbed));
  ASSERT_TRUE(store_->set_race({{id(0), 1.1e-3}, {id(1), 1.0e-3}}, kQuiet));
  EXPECT_EQ(best(), 1);
  EXPECT_DOUBLE_EQ(of(0).race_seconds, 1.1e-3);
  EXPECT_FALSE(of(0).race.disturbed);
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
  EXPECT_GT(of(0).standing, 2.5e-3);
  EXPECT_FALSE(of(0).raced);
}

TEST_F(Races, WhoRacedAloneStandsBeforeThoseWhoNeverDid) {
  ASSERT_TRUE(store_->set_race({{id(1), 2.4e-3}}, kQuiet));
  EXPECT_EQ(best(), 1);
  EXPECT_GT(of(0).standing, of(1).standing);
}

TEST_F(Races, TheStandingOfAWinnerIsItsOwn) {
  ASSERT_TRUE(store_->set_race({{id(0), 1.0e-3}, {id(1), 1.01e-3, 0.02, true}}, kQuiet));
  EXPECT_EQ(best(), 1);
  EXPECT_DOUBLE_EQ(of(1).race_seconds, 1.01e-3);
}

// The time that it had before stays, and a challenger's is a little shorter.
TEST_F(Races, WhoWinsAgainStandsFirstThoughItsEarlierTimeStays) {
  for (const RaceNote& second : {kQuiet, kDisturbed}) {
    ASSERT_TRUE(store_->set_race({{id(0), 1.0e-3, 0, true}, {id(2), 1.2e-3}}, kQuiet));
    ASSERT_TRUE(store_->set_race({{id(0), 1.01e-3, 0, true}, {id(1), 0.99e-3}}, second));
    EXPECT_EQ(best(), 0);
    EXPECT_DOUBLE_EQ(of(0).race_seconds, 1.0e-3);
  }
}

// What a race without the others tells changes nothing between them.
TEST_F(Races, WhoWonStandsBeforeTheOthersAfterARaceWithoutThem) {
  ASSERT_TRUE(store_->set_race({{id(0), 1.0e-3}, {id(1), 1.01e-3, 0.02, true}}, kQuiet));
  for (const RaceNote& second : {kQuiet, kDisturbed}) {
    ASSERT_TRUE(store_->set_race({{id(1), 1.02e-3, 0, true}, {id(2), 1.3e-3}}, second));
    EXPECT_EQ(best(), 1);
    EXPECT_DOUBLE_EQ(of(1).race_seconds, 1.01e-3);
  }
}

TEST_F(Races, WhoNeverRacedKeepsItsOrder) {
  std::vector<Record> more;
  for (const int index : {3, 4, 5}) {
    more.push_back(a_record(run_, index));
    more.back().seconds = (1.1 - 0.01 * index) * 1e-3;
  }
  ASSERT_TRUE(store_->add(more));
  ASSERT_TRUE(store_->set_race({{id(0), 2.0e-3}, {id(1), 2.4e-3}}, kQuiet));
  EXPECT_GT(of(5).standing, of(1).standing);
  EXPECT_GT(of(4).standing, of(5).standing);
  EXPECT_GT(of(3).standing, of(4).standing);
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

TEST_F(Races, WhatAMachineHasShownFadesWithRacesThatDoNotReachIt) {
  ASSERT_TRUE(note_speed(*store_, "m", "t", {1.3e11, 1e-4}));
  ASSERT_TRUE(note_race_speed(*store_, "m", "t", {1e11, 1.3e-4}));
  EXPECT_DOUBLE_EQ(machine_speed(*store_, "m", "t")->peak_flops, 0.98 * 1.3e11);
  EXPECT_DOUBLE_EQ(machine_speed(*store_, "m", "t")->sentinel_seconds, 1e-4 / 0.98);
  for (int race = 0; race < 40; ++race)
    ASSERT_TRUE(note_race_speed(*store_, "m", "t", {1e11, 1.3e-4}));
  EXPECT_DOUBLE_EQ(machine_speed(*store_, "m", "t")->peak_flops, 1e11);
  EXPECT_DOUBLE_EQ(machine_speed(*store_, "m", "t")->sentinel_seconds, 1.3e-4);
  ASSERT_TRUE(note_race_speed(*store_, "m", "t", {1.2e11, 0}));
  EXPECT_DOUBLE_EQ(machine_speed(*store_, "m", "t")->peak_flops, 1.2e11);
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

}  // namespace
}  // namespace lathe::store
