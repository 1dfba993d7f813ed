// The race at the end of a run: who wins it, what is kept of a disturbed one, and that all tell one
// story.
#include <algorithm>
#include <limits>

#include "unit/tune/fakes.h"

namespace lathe::tune {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

measure::Racer racer(double seconds, double spread, double loads) {
  return {.ran = true, .seconds = seconds, .spread = spread, .loads_per_multiply = loads};
}

TEST(WinnerOf, TheFastest) {
  EXPECT_FALSE(winner_of({}));
  EXPECT_FALSE(winner_of({{.ran = true, .failed = true, .seconds = kInfinity}, {}}));
  EXPECT_EQ(winner_of({racer(1.2, 0.01, 0.3), racer(1, 0.01, 0.6)}), 1U);
  EXPECT_EQ(winner_of({racer(1.2, 0.01, 0.3), {.ran = false, .seconds = 0.5}}), 0U);
}

TEST(WinnerOf, OfThoseWithinEachOthersSpreadTheOneWithFewerLoads) {
  // Tiles of 14x2 and 6x4 on a quiet machine, and where the neighbours disturb.
  EXPECT_EQ(winner_of({racer(1, 0.02, 16. / 28), racer(1.01, 0.02, 10. / 24)}), 1U);
  EXPECT_EQ(winner_of({racer(1, 0.02, 16. / 28), racer(1.03, 0.02, 10. / 24)}), 0U)
      << "slower by more than the spread";
  EXPECT_EQ(winner_of({racer(1, 0.02, 16. / 28), racer(1.01, 0.002, 10. / 24)}), 0U)
      << "the spread of both counts";
  EXPECT_EQ(winner_of({racer(1, 0.3, 16. / 28), racer(1.1, 0.3, 10. / 24)}), 0U)
      << "however much they spread";
  EXPECT_EQ(winner_of({racer(1, 0.02, 0.42), racer(1.01, 0.02, 0.41)}), 0U) << "as good as equal";
  EXPECT_EQ(winner_of({racer(1, 0.02, 0), racer(1.01, 0.02, 0.4)}), 0U)
      << "nothing is known, or nothing multiplied";
  EXPECT_EQ(winner_of({racer(1, 0.02, 0.4), racer(1.01, 0.02, 0)}), 0U);
}

measure::Racer disturbed(double seconds, double spread, int rounds) {
  return {.ran = true, .seconds = seconds, .spread = spread, .rounds = rounds};
}

TEST(WinnerOf, TheDefenderUnlessAnotherIsFasterByMoreThanChance) {
  EXPECT_EQ(winner_of({disturbed(1, 0.1, 5), disturbed(0.9, 0.1, 5)}, 0), 0U);
  EXPECT_EQ(winner_of({disturbed(1, 0.1, 5), disturbed(0.9, 0.1, 5)}), 1U) << "nobody defends";
  EXPECT_EQ(winner_of({disturbed(1, 0.1, 200), disturbed(0.9, 0.1, 200)}, 0), 1U);
  EXPECT_EQ(winner_of({disturbed(1, 0.005, 5), disturbed(0.9, 0.005, 5)}, 0), 1U);
  const auto within_rounds = [](double ratio, double error) {
    measure::Racer racer = disturbed(0.9, 0.1, 5);
    racer.over_defender = ratio;
    racer.over_defender_error = error;
    return winner_of({disturbed(1, 0.1, 5), racer}, 0);
  };
  EXPECT_EQ(within_rounds(0.95, 0.01), 1U) << "the rounds of both say so";
  EXPECT_EQ(within_rounds(0.95, 0.03), 0U);
  EXPECT_EQ(within_rounds(1.01, 0.001), 0U);
  EXPECT_EQ(winner_of({disturbed(0.9, 0.3, 5), disturbed(1, 0.01, 5), disturbed(0.95, 0.01, 5)}, 1),
            2U)
      << "of two that are faster, the one that is so without doubt";
  EXPECT_EQ(winner_of({disturbed(1, 0, 5), {.ran = false}}, 1), 0U) << "it did not run";
  EXPECT_EQ(winner_of({{.ran = true, .failed = true, .seconds = kInfinity}, disturbed(1, 0, 5)}, 0),
            1U);
  EXPECT_EQ(winner_of({racer(1, 0, 0.6), racer(1.01, 0.02, 0.3)}, 0), 0U)
      << "fewer loads alone win over no defender";
}

// Of a resumed run: who won before was lucky, and what there is without tuning is faster.
TEST(WinnerOf, NobodyWhoIsSlowerThanTheStart) {
  const auto over = [](double seconds, double ratio) {
    measure::Racer racer = disturbed(seconds, 0.01, 20);
    racer.over_defender = ratio;
    racer.over_defender_error = ratio > 0 ? 0.003 : 0;
    return racer;
  };
  const std::vector<measure::Racer> racers = {over(1, 0), over(0.97, 0.97), over(0.98, 0.98)};
  EXPECT_EQ(winner_of(racers, 0, 1), 1U);
  EXPECT_EQ(winner_of({over(1, 0), over(0.97, 0.97), over(0.96, 0.972)}, 0, 1), 1U)
      << "its rounds tell more than its time";
  EXPECT_EQ(winner_of({over(1, 0), over(0.995, 0.995), over(0.99, 0.99)}, 0, 1), 0U)
      << "faster than the winner of before, but not for certain than the start";
  EXPECT_EQ(winner_of({over(1, 0), over(0.97, 0.97), over(0.95, 0.95)}, 0, 1), 2U);
  EXPECT_EQ(winner_of({over(1, 0), over(1.2, 1.2), over(0.98, 0.98)}, 0, 1), 2U);
  EXPECT_EQ(winner_of({over(1, 0), {.ran = false}, over(0.98, 0.98)}, 0, 1), 2U)
      << "the start could not be raced";
}

TEST(DefenderOf, TheWinnerOfAQuietRaceElseTheStart) {
  const auto record = [](int config, bool raced, bool disturbed) {
    store::Record record;
    record.config = Json::array({config});
    record.raced = raced;
    record.race.disturbed = disturbed;
    return record;
  };
  const Json start = Json::array({0});
  EXPECT_EQ(defender_of({record(3, true, false), record(0, true, false)}, start), 0U);
  EXPECT_EQ(defender_of({record(3, true, true), record(0, true, true)}, start), 1U)
      << "what won a disturbed race has shown little";
  EXPECT_EQ(defender_of({record(3, true, true), record(4, false, false)}, start), 0U);
  EXPECT_EQ(defender_of({record(3, false, false), record(0, false, false)}, start), 1U);
  EXPECT_FALSE(defender_of({record(3, false, false)}, start));
  EXPECT_EQ(start_of({record(3, true, false), record(0, true, false)}, start), 1U);
}

class RaceTest : public TuneTest {
 protected:
  RaceTest() { options_.run.trials = 40; }
  store::Record on_record() { return **store_->best({.workload = subject_.workload()}); }
};

TEST_F(RaceTest, AResumedRunUnderLoadKeepsWhatWasFaster) {
  measurer_.race_speed = {1e11, 1e-4};
  const auto quiet = run();
  ASSERT_TRUE(quiet);
  ASSERT_TRUE(quiet->race);
  EXPECT_FALSE(quiet->race->disturbed);
  EXPECT_DOUBLE_EQ(quiet->race->speed, 1);
  // Now the machine is 2.4 times slower, and new programs come in that are no better.
  options_.run.trials = 80;
  measurer_.race_seconds = [](const Config& c) { return 2.4 * search::structured_seconds(c); };
  measurer_.race_speed = {1e11 / 2.4, 2.4e-4};
  measurer_.race_disturbed = true;
  const auto loaded = run();
  ASSERT_TRUE(loaded);
  ASSERT_TRUE(loaded->race);
  EXPECT_TRUE(loaded->race->disturbed);
  EXPECT_NEAR(loaded->race->speed, 1 / 2.4, 1e-9);
  EXPECT_EQ(loaded->best.id, quiet->best.id) << "the winner of a quiet race keeps its place";
  EXPECT_EQ(loaded->best_seconds(), quiet->best_seconds());
  EXPECT_EQ(on_record().id, loaded->best.id);
  EXPECT_DOUBLE_EQ(measurer_.race_given.known.peak_flops, 1e11)
      << "the race is told how fast the machine was";
  EXPECT_DOUBLE_EQ(measurer_.race_given.known.sentinel_seconds, 1e-4);
}

// Neighbours explain a bad time, but no wrong answer.
TEST_F(RaceTest, WhoFailsInADisturbedRaceIsFirstNoMore) {
  ASSERT_TRUE(run());
  const Config first = on_record().config.get<Config>();
  options_.run.trials = 80;
  measurer_.race_disturbed = true;
  measurer_.race_seconds = [&](const Config& c) {
    return c == first ? kInfinity : search::structured_seconds(c);
  };
  const auto second = run();
  ASSERT_TRUE(second) << second.error().text();
  ASSERT_TRUE(second->race);
  EXPECT_NE(on_record().config.get<Config>(), first);
}

// A clock that the machine once had is no measure for ever.
TEST_F(RaceTest, WhatIsKnownOfTheMachineFadesRaceByRace) {
  const auto known = [&] {
    return store::machine_speed(*store_, host_fingerprint().text(), target_.text())->peak_flops;
  };
  ASSERT_TRUE(
      store::note_speed(*store_, host_fingerprint().text(), target_.text(), {2e11, 0.5e-4}));
  measurer_.race_speed = {1e11, 1e-4};
  ASSERT_TRUE(run());
  EXPECT_LT(known(), 2e11);
  EXPECT_GT(known(), 1.9e11);
}

TEST_F(RaceTest, ADisturbedRaceIsRepeatedByTheSameCommand) {
  measurer_.race_speed = {1e11, 1e-4};
  measurer_.race_disturbed = true;
  measurer_.race_seconds = [](const Config& c) { return 1.5 * search::structured_seconds(c); };
  const auto first = run();
  ASSERT_TRUE(first);
  EXPECT_TRUE(first->best.race.disturbed);
  EXPECT_DOUBLE_EQ(first->best.race.peak_flops, 1e11);
  measurer_.race_disturbed = false;
  measurer_.race_seconds = {};
  const auto second = run();
  ASSERT_TRUE(second);
  EXPECT_FALSE(second->best.race.disturbed);
  EXPECT_LT(second->best_seconds(), first->best_seconds());
  ASSERT_TRUE(run());
  EXPECT_EQ(measurer_.races, 2) << "now the winner stands";
}

TEST_F(RaceTest, AMachineThatTurnsOutFasterRacesAgain) {
  measurer_.race_speed = {1e11, 1e-4};
  ASSERT_TRUE(run());
  ASSERT_TRUE(run());
  EXPECT_EQ(measurer_.races, 1);
  ASSERT_TRUE(
      store::note_speed(*store_, host_fingerprint().text(), target_.text(), {1.3e11, 0.77e-4}));
  measurer_.race_speed = {1.3e11, 0.77e-4};
  measurer_.race_seconds = [](const Config& c) { return search::structured_seconds(c) / 1.3; };
  const auto summary = run();
  ASSERT_TRUE(summary);
  EXPECT_EQ(measurer_.races, 2) << "all of the first race was slow, as is known now";
  EXPECT_DOUBLE_EQ(summary->best.race.peak_flops, 1.3e11);
}

// A program that a neighbour slowed while it was measured, and the sentinel with it, is not left
// out of the race.
TEST_F(RaceTest, WhatWasMeasuredOnASlowedMachineReachesTheRace) {
  options_.race.finalists = 2;
  const auto slowed = [](const Config& c) { return c[0] % 2 == 0; };
  measurer_.seconds = [&](const Config& c) {
    return (slowed(c) ? 0.9 * 1.25 : 1.0) * (1 + 1e-3 * c[1]);
  };
  measurer_.sentinel = [&](const Config& c) { return slowed(c) ? 1.25e-4 : 1e-4; };
  measurer_.race_seconds = [&](const Config& c) { return slowed(c) ? 0.5 : 1.0; };
  ASSERT_TRUE(run());
  EXPECT_TRUE(std::ranges::any_of(measurer_.raced, slowed));
}

// What there was without tuning looked slow by chance.
TEST_F(RaceTest, TheFirstStartRacesToo) {
  options_.race.finalists = 2;
  const Config start = subject_.default_config();
  measurer_.seconds = [&](const Config& c) { return c == start ? 1.2 : 1.0 + 1e-3 * c[1]; };
  measurer_.race_seconds = [&](const Config& c) { return c == start ? 0.9 : 1.0; };
  const auto summary = run();
  ASSERT_TRUE(summary) << summary.error().text();
  EXPECT_EQ(summary->best.config.get<Config>(), start);
  EXPECT_EQ(measurer_.raced.size(), 2U);
}

// However slow it looked when it was measured.
TEST_F(RaceTest, TheFirstStartRacesWhateverItTook) {
  options_.race.finalists = 1;
  const Config start = subject_.default_config();
  measurer_.seconds = [&](const Config& c) { return c == start ? 2.5 : 1.0 + 1e-3 * c[1]; };
  measurer_.race_seconds = [&](const Config& c) { return c == start ? 0.9 : 1.0; };
  const auto summary = run();
  ASSERT_TRUE(summary) << summary.error().text();
  EXPECT_EQ(summary->best.config.get<Config>(), start);
  EXPECT_EQ(measurer_.raced.size(), 2U);
}

// A race under load tells little: then what there was without tuning stays, or who won before.
TEST_F(RaceTest, WhoDefendsLosesToNobodyByChance) {
  const Config start = subject_.default_config();
  measurer_.seconds = [&](const Config& c) { return c == start ? 1.2 : 1.0 + 1e-3 * c[1]; };
  measurer_.race_seconds = [&](const Config& c) { return c == start ? 1.0 : 0.9; };
  measurer_.race_spread = 0.3;
  measurer_.race_disturbed = true;
  const auto first = run();
  ASSERT_TRUE(first) << first.error().text();
  EXPECT_EQ(first->best.config.get<Config>(), start);
  measurer_.race_spread = 0.001;
  measurer_.race_disturbed = false;
  options_.run.trials = 60;
  const auto second = run();
  ASSERT_TRUE(second);
  EXPECT_EQ(measurer_.races, 2);
  const Config won = second->best.config.get<Config>();
  EXPECT_NE(won, start);
  measurer_.race_spread = 0.3;
  measurer_.race_disturbed = true;
  measurer_.race_seconds = [&](const Config& c) { return c == won ? 1.0 : 0.9; };
  options_.run.trials = 80;
  const auto third = run();
  ASSERT_TRUE(third);
  EXPECT_EQ(third->best.config.get<Config>(), won);
}

TEST_F(RaceTest, MoreRaceAfterMoreTrials) {
  options_.race.finalists = 2;
  options_.run.trials = 199;
  measurer_.seconds = [](const Config&) { return 1.0; };
  ASSERT_TRUE(run());
  EXPECT_EQ(measurer_.raced.size(), 3U);
  measurer_.raced.clear();
  options_.run.trials = 900;
  options_.run.fresh = true;
  ASSERT_TRUE(run());
  EXPECT_EQ(measurer_.raced.size(), 8U) << "up to four times as many";
}

// Another tuner on the same run, which ends its race first.
TEST_F(RaceTest, TwoTunersAgreeAboutTheBest) {
  std::int64_t other = 0;
  measurer_.while_racing = [&] {
    const auto all = records();
    const auto slowest = std::ranges::max_element(all, {}, &store::Record::seconds);
    other = slowest->id;
    ASSERT_TRUE((*store::open_sqlite(folder_.at("records.db")))->set_race({{other, 1e-6}}));
  };
  const auto summary = run();
  ASSERT_TRUE(summary);
  EXPECT_NE(other, 0);
  EXPECT_EQ(summary->best.id, other);
  EXPECT_EQ(on_record().id, other);
  EXPECT_DOUBLE_EQ(summary->best_seconds(), 1e-6);
}

TEST_F(RaceTest, WhatAnotherTunerCallsBestIsRacedToo) {
  ASSERT_TRUE(run());
  const auto all = records();
  const auto slowest = std::ranges::max_element(all, {}, &store::Record::seconds);
  ASSERT_TRUE(store_->set_race({{slowest->id, 1e-6}}));
  options_.run.trials = 60;
  measurer_.raced.clear();
  ASSERT_TRUE(run());
  EXPECT_EQ(subject_.to_json(measurer_.raced.front()), slowest->config) << "it defends its place";
}

TEST_F(RaceTest, TheRecordKeepsWhatWasBesideTheRace) {
  measurer_.race_speed = {1.2e11, 1e-4};
  ASSERT_TRUE(run());
  const store::Record best = on_record();
  EXPECT_DOUBLE_EQ(best.race.peak_flops, 1.2e11);
  EXPECT_DOUBLE_EQ(best.race.sentinel_seconds, 1e-4);
  EXPECT_FALSE(best.race.time.empty());
  EXPECT_DOUBLE_EQ(store::machine_speed(*store_, best.fingerprint, best.target)->peak_flops,
                   1.2e11);
}

TEST_F(RaceTest, ADatabaseThatIsRemovedDuringARunIsNoSuccess) {
  measurer_.while_racing = [&] { std::filesystem::remove(folder_.at("records.db")); };
  const auto failed = run();
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().message.find("was removed or replaced"), std::string::npos)
      << failed.error().text();
  store_ = std::move(*store::open_sqlite(folder_.at("records.db.rescued")));
  EXPECT_EQ(records().size(), 40U);
  EXPECT_TRUE(on_record().raced);
}

}  // namespace
}  // namespace lathe::tune
