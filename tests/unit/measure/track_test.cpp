// Which rounds of a race count: rounds are made up here, no machine is timed.
#include "tuner/measure/track.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lathe::measure {
namespace {

constexpr Speed kFast{1e11, 1e-4};

// A machine at a share of kFast, where programs take so much longer.
Lap lap(double seconds, double share = 1, bool counts = true, int load = 0) {
  return {
      seconds / share, counts, {kFast.peak_flops * share, kFast.sentinel_seconds / share}, load};
}

TEST(Track, RoundsOfASlowerMachineDoNotCount) {
  Track track(2);
  for (int i = 0; i < 5; ++i) {
    track.add(0, lap(10));
    track.add(1, lap(12));
  }
  for (int i = 0; i < 20; ++i) {  // a neighbour slows it by 1.3 for most of the time
    track.add(0, lap(10, 1 / 1.3));
    track.add(1, lap(12, 1 / 1.3));
  }
  EXPECT_TRUE(track.all_have(5, true, kFast));
  EXPECT_FALSE(track.all_have(6, true, kFast));
  EXPECT_TRUE(track.winner_is_clear(kFast));
  const RaceOutcome outcome = track.outcome(kFast);
  EXPECT_FALSE(outcome.disturbed);
  EXPECT_DOUBLE_EQ(outcome.racers[0].seconds, 10);
  EXPECT_DOUBLE_EQ(outcome.racers[1].seconds, 12);
  EXPECT_DOUBLE_EQ(outcome.speed.peak_flops, 1e11);
  EXPECT_DOUBLE_EQ(outcome.racers[0].spread, 0);
}

TEST(Track, AMachineThatIsSlowAllTheTimeIsSaid) {
  Track track(2);
  for (int i = 0; i < 20; ++i) {
    track.add(0, lap(10, 1 / 1.3));
    track.add(1, lap(12, 1 / 1.3));
  }
  const RaceOutcome outcome = track.outcome(kFast);
  EXPECT_TRUE(outcome.disturbed);
  EXPECT_TRUE(outcome.racers[0].ran);
  EXPECT_DOUBLE_EQ(outcome.racers[0].seconds, 13) << "all rounds are kept, none is scaled";
  EXPECT_NEAR(share_of(outcome.speed, kFast), 1 / 1.3, 1e-9);
  // Where nothing is known of it, it is as fast as it is.
  EXPECT_FALSE(track.outcome({}).disturbed);
}

// The machine's speed changes from round to round, and all laps of a round have it.
TEST(Track, ADisturbedRaceComparesWithinRounds) {
  const double speeds[] = {1 / 1.3, 1 / 2.0, 1 / 1.9, 1 / 1.3, 1 / 2.1};
  Track track(3);
  for (const double speed : speeds) {
    track.add(0, lap(10, speed));
    track.add(1, lap(10.5, speed));
    track.add(2, lap(12, speed));
  }
  track.add(1, lap(10.5, 1 / 1.3));  // it was stopped in a round
  const RaceOutcome outcome = track.outcome(kFast);
  EXPECT_TRUE(outcome.disturbed);
  EXPECT_EQ(outcome.racers[0].rounds, 5);
  EXPECT_EQ(outcome.racers[1].rounds, 5);
  EXPECT_NEAR(outcome.racers[0].seconds, 19, 1e-9);
  EXPECT_NEAR(outcome.racers[1].seconds / outcome.racers[0].seconds, 1.05, 1e-9);
  EXPECT_NEAR(outcome.racers[2].seconds / outcome.racers[0].seconds, 1.2, 1e-9);
  EXPECT_NEAR(outcome.racers[0].spread, 0, 1e-9);
  Track alone(1);
  for (const double speed : speeds) alone.add(0, lap(10, speed));
  EXPECT_DOUBLE_EQ(alone.outcome(kFast).racers[0].seconds, 19) << "nobody tells what it lost";
  EXPECT_GT(alone.outcome(kFast).racers[0].spread, 0.1);
}

// Whatever the machine does to a round it does to both.
TEST(Track, ARacerIsComparedWithTheDefenderRoundByRound) {
  Track track(3, 0);
  for (int i = 0; i < 9; ++i) {
    const double speed = 1 / (1 + 0.3 * (i % 3));
    track.add(0, lap(10, speed, true, i / 3));
    track.add(1, lap(i % 2 == 0 ? 9.4 : 9.6, speed, true, i / 3));
    track.add(2, lap(11, speed, true, i / 3));
  }
  const RaceOutcome outcome = track.outcome(kFast);
  EXPECT_NEAR(outcome.racers[1].over_defender, 0.94, 1e-9);
  EXPECT_GT(outcome.racers[1].over_defender_error, 0);
  EXPECT_LT(outcome.racers[1].over_defender_error, 0.02);
  EXPECT_NEAR(outcome.racers[2].over_defender, 1.1, 1e-9);
  EXPECT_EQ(outcome.racers[0].over_defender, 0) << "it is not compared with itself";
  track.fail(0);
  EXPECT_EQ(track.outcome(kFast).racers[1].over_defender, 0);
}

std::vector<Lap> laps_of(std::initializer_list<double> loads, int rounds) {
  std::vector<Lap> laps;
  int load = 0;
  for (const double seconds : loads) {
    for (int i = 0; i < rounds; ++i) laps.push_back(lap(seconds, 1, true, load));
    ++load;
  }
  return laps;
}

// Each load lies elsewhere in memory, and its rounds agree: they alone would be sure of it.
TEST(RatioOf, RoundsOfOneLoadAreNoCertainty) {
  const auto same = [](std::size_t loads) {
    std::vector<Lap> laps;
    for (std::size_t load = 0; load < loads; ++load)
      for (int i = 0; i < 3; ++i) laps.push_back(lap(10, 1, true, static_cast<int>(load)));
    return laps;
  };
  const Ratio one = ratio_of(laps_of({9.7}, 40), laps_of({10}, 40));
  EXPECT_DOUBLE_EQ(one.value, 0.97);
  EXPECT_GT(one.value + 2 * one.error, 1) << "3 % in one place may be the place";
  const Ratio four = ratio_of(laps_of({9.7, 9.7, 9.7, 9.7}, 3), same(4));
  EXPECT_LT(four.value + 2 * four.error, 1) << "3 % in four places is not";
  const Ratio differ = ratio_of(laps_of({9.4, 9.4, 10.2, 9.8}, 10), laps_of({10, 10, 10, 10}, 10));
  EXPECT_GT(differ.value + 2 * differ.error, 1) << "some places were slower";
  EXPECT_GT(differ.error, four.error);
  EXPECT_EQ(ratio_of({}, same(2)).value, 0);
}

// Lucky and unlucky places of 5 % beside a program that is 2 % faster than the others.
TEST(RatioOf, ManyLoadsTellWhatIsFaster) {
  const auto over = ratio_of(laps_of({10.3, 9.8, 9.8, 10.3, 9.8, 10.2, 9.8, 9.8}, 3),
                             laps_of({10.5, 10, 10, 10.5, 10.1, 10.4, 10, 10}, 3));
  EXPECT_LT(over.value + 2 * over.error, 1);
}

TEST(Track, AFewRoundsOfASpeedNeverSeenBeforeMakeTheOthersSlow) {
  Track track(1);
  for (int i = 0; i < 4; ++i) track.add(0, lap(10));
  for (int i = 0; i < 4; ++i) track.add(0, lap(10, 0.8));
  const RaceOutcome outcome = track.outcome({});
  EXPECT_FALSE(outcome.disturbed);
  EXPECT_DOUBLE_EQ(outcome.racers[0].seconds, 10);
}

TEST(Track, RoundsThatTheSchedulerDisturbedDoNotCount) {
  Track track(1);
  for (int i = 0; i < 9; ++i) track.add(0, lap(i % 3 == 0 ? 10 : 17, 1, i % 3 == 0));
  EXPECT_FALSE(track.outcome(kFast).disturbed);
  EXPECT_DOUBLE_EQ(track.outcome(kFast).racers[0].seconds, 10);
  Track busy(1);
  for (int i = 0; i < 9; ++i) busy.add(0, lap(17, 1, false));
  EXPECT_TRUE(busy.outcome(kFast).disturbed);
}

TEST(Track, WhoFailedOrWasLeftOutHoldsNobodyUp) {
  Track track(4);
  for (int i = 0; i < 5; ++i) track.add(0, lap(10));
  track.fail(1);
  track.leave_out(2);
  track.add(3, lap(9));
  EXPECT_FALSE(track.all_have(2, true, kFast));
  track.fail(3);
  EXPECT_TRUE(track.all_have(5, true, kFast));
  const RaceOutcome outcome = track.outcome(kFast);
  EXPECT_FALSE(outcome.disturbed);
  EXPECT_TRUE(outcome.racers[0].ran && !outcome.racers[0].failed);
  for (const int failed : {1, 3}) {
    EXPECT_TRUE(outcome.racers[failed].ran && outcome.racers[failed].failed);
    EXPECT_TRUE(std::isinf(outcome.racers[failed].seconds));
  }
  EXPECT_FALSE(outcome.racers[2].ran || outcome.racers[2].failed);
}

TEST(Track, ARaceIsSettledWhereMoreRoundsWouldChangeNothing) {
  Track track(3);
  for (int i = 0; i < 10; ++i) {
    track.add(0, lap(10 + 0.01 * (i % 3)));
    track.add(1, lap(10.02 + 0.01 * (i % 3)));
    track.add(2, lap(i % 2 == 0 ? 11 : 14));  // too slow to win, however much it varies
    EXPECT_EQ(track.is_settled(kFast), i == 9);
  }
  EXPECT_FALSE(track.winner_is_clear(kFast));
  for (int i = 0; i < 10; ++i) track.add(1, lap(i % 2 == 0 ? 9.8 : 10.4));
  EXPECT_FALSE(track.is_settled(kFast)) << "who may win varies too much";
  Track slow(1);
  for (int i = 0; i < 20; ++i) slow.add(0, lap(10, 0.8));
  EXPECT_FALSE(slow.is_settled(kFast)) << "rounds of a slower machine settle nothing";
}

// The machine's speed changes from round to round, and who comes in is 0, 1, 2 ... of `seconds`
// times that.
void run_round(Track& track, std::initializer_list<double> seconds, double share, int load = 0) {
  std::size_t racer = 0;
  for (const double time : seconds) {
    if (track.runs(racer)) track.add(racer, lap(time, share, true, load));
    ++racer;
  }
  track.retire();
}

TEST(Track, WhoIsClearlyBehindRetires) {
  Track track(4);
  for (const double speed : {1 / 1.3, 1 / 2.0, 1 / 1.9, 1 / 1.4, 1 / 2.1}) {
    EXPECT_TRUE(track.runs(2)) << "five rounds at least";
    run_round(track, {10, 10.1, 11, 14}, speed);
  }
  EXPECT_TRUE(track.runs(0));
  EXPECT_TRUE(track.runs(1)) << "so near that it may still win";
  EXPECT_FALSE(track.runs(2) || track.runs(3));
  for (int i = 0; i < 10; ++i) run_round(track, {10, 9.9, 1, 1}, 1);
  EXPECT_TRUE(track.all_have(10, true, kFast)) << "nobody waits for those who have retired";
  const RaceOutcome outcome = track.outcome(kFast);
  EXPECT_FALSE(outcome.disturbed);
  EXPECT_NEAR(outcome.racers[0].seconds, 10, 1e-9);
  EXPECT_NEAR(outcome.racers[1].seconds, 9.9, 1e-9);
  EXPECT_TRUE(outcome.racers[2].ran && outcome.racers[3].ran);
  EXPECT_EQ(outcome.racers[2].rounds, 5);
  EXPECT_NEAR(outcome.racers[2].seconds, 9.9 * 11 / 10.1, 0.2)
      << "as far behind as in the rounds of both, on the machine that is quiet now";
  EXPECT_NEAR(outcome.racers[3].seconds / outcome.racers[2].seconds, 14 / 11., 1e-9);
}

TEST(Track, TheDefenderIsJudgedWhereTheLeaderIsItOrCertain) {
  Track near(2, 0);
  for (int i = 0; i < 9; ++i) run_round(near, {10, 9.95}, 1, i / 3);
  EXPECT_FALSE(near.defender_is_judged()) << "half a percent in three loads";
  Track far(2, 0);
  for (int i = 0; i < 9; ++i) run_round(far, {10, 9.5}, 1, i / 3);
  EXPECT_TRUE(far.defender_is_judged());
  Track first(2, 0);
  for (int i = 0; i < 9; ++i) run_round(first, {10, 10.05}, 1, i / 3);
  EXPECT_TRUE(first.defender_is_judged());
  near.fail(0);
  EXPECT_TRUE(near.defender_is_judged()) << "nobody waits for who failed";
  EXPECT_TRUE(Track(3).defender_is_judged());
}

// In its first places in memory it was 5 % slower, as is shown by the next.
TEST(Track, TheDefenderStaysUntilItsLoadsTell) {
  Track track(3, 0);
  for (int i = 0; i < 6; ++i) run_round(track, {10.5, 10, 10.5}, 1, i / 3);
  EXPECT_TRUE(track.runs(0));
  EXPECT_FALSE(track.runs(2)) << "a newcomer as slow as that retires";
  for (int i = 6; i < 24; ++i) run_round(track, {9.9, 10, 0}, 1, i / 3);
  EXPECT_TRUE(track.runs(0));
  EXPECT_LT(track.outcome(kFast).racers[1].over_defender_error, 0.05);
  EXPECT_GT(track.outcome(kFast).racers[1].over_defender, 1);
  Track clear(2, 0);
  for (int i = 0; i < 12; ++i) run_round(clear, {12, 10}, 1, i / 3);
  EXPECT_FALSE(clear.runs(0)) << "no place explains that";
}

TEST(Track, WhoVariesTooMuchToTellGoesOn) {
  Track track(3);
  for (int i = 0; i < 12; ++i)
    run_round(track, {i % 2 == 0 ? 9.0 : 12.0, i % 3 == 0 ? 9.0 : 13.0, 30}, 1);
  EXPECT_TRUE(track.runs(0) && track.runs(1));
  EXPECT_FALSE(track.runs(2));
}

TEST(Track, AllComeBackWhereOneFailsThatMightHaveWon) {
  Track track(3);
  for (int i = 0; i < 8; ++i) run_round(track, {10, 12, 13}, i % 2 == 0 ? 1 : 0.5);
  EXPECT_FALSE(track.runs(1) || track.runs(2));
  track.fail(0);
  EXPECT_TRUE(track.all_have(100, true, kFast)) << "nobody runs any more";
  track.retire();
  EXPECT_TRUE(track.runs(1) && track.runs(2));
  for (int i = 0; i < 8; ++i) run_round(track, {10, 12, 13}, i % 2 == 0 ? 0.5 : 1);
  const RaceOutcome outcome = track.outcome(kFast);
  EXPECT_TRUE(outcome.racers[0].failed);
  EXPECT_NEAR(outcome.racers[2].seconds / outcome.racers[1].seconds, 13 / 12., 1e-9);
}

TEST(Track, ARaceThatWasStoppedAtOnceSaysNothing) {
  Track track(2);
  track.add(0, lap(10));
  const RaceOutcome outcome = track.outcome(kFast);
  EXPECT_FALSE(outcome.racers[0].ran || outcome.racers[1].ran);
}

}  // namespace
}  // namespace lathe::measure
