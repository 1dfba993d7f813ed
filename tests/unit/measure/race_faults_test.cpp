// Races in which something goes wrong.
#include <set>

#include "unit/measure/faults.h"

namespace lathe::measure {
namespace {

TEST_F(Faults, TheRaceGivesTimesToThoseThatFinish) {
  const auto measurer = make();
  const auto race =
      measurer->race({candidate(0, "good"), candidate(1, "crash"), candidate(2, "slow"),
                      candidate(3, "builder_exit"), candidate(4, "wrong")},
                     {.seconds = 0.2});
  ASSERT_TRUE(race.has_value()) << race.error().text();
  ASSERT_EQ(race->racers.size(), 5U);
  EXPECT_LT(race->racers[0].seconds, race->racers[2].seconds);
  for (const Racer& racer : race->racers) EXPECT_TRUE(racer.ran);
  for (const int failed : {1, 3, 4}) {
    EXPECT_TRUE(race->racers[failed].failed);
    EXPECT_EQ(race->racers[failed].seconds, kInfinity);
  }
  EXPECT_GT(race->speed.sentinel_seconds, 0) << "the machine's speed is measured beside it";
}

// A process a load: in its memory all rounds of it lie.
TEST_F(Faults, ARaceLoadsItsProgramsAnewInOtherProcesses) {
  const auto measurer = make();
  std::set<int> processes;
  const auto race = measurer->race({candidate(0, "good"), candidate(1, "slow")},
                                   {.seconds = 60, .defender = 0, .stop = [&] {
                                      for (const int runner : runners()) processes.insert(runner);
                                      return processes.size() > 4;
                                    }});
  ASSERT_TRUE(race.has_value()) << race.error().text();
  EXPECT_GE(processes.size(), 3U);
  EXPECT_TRUE(race->racers[0].ran && race->racers[1].ran);
  EXPECT_GT(race->racers[1].over_defender, 1);
  EXPECT_EQ(measure(*measurer, {"good"}).size(), 1U) << "and the measurer goes on";
}

// No machine is that fast: as one that has become ten times slower.
TEST_F(Faults, ARaceOnAMachineThatIsSlowerThanItWasSaysSo) {
  const auto measurer = make();
  int looks = 0;
  const auto race = measurer->race(
      {candidate(0, "good"), candidate(1, "slow")},
      {.seconds = 0, .patience = 1e-3, .known = {.sentinel_seconds = 1e-6}, .stop = [&] {
         return ++looks < 0;
       }});
  ASSERT_TRUE(race.has_value()) << race.error().text();
  EXPECT_TRUE(race->disturbed);
  EXPECT_TRUE(race->racers[0].ran && race->racers[1].ran) << "the times are kept, and marked";
  EXPECT_LT(share_of(race->speed, {.sentinel_seconds = 1e-6}), kSameSpeed);
  EXPECT_GT(looks, 0);
}

// Its patience would last for an hour.
TEST_F(Faults, ARaceThatWaitsForTheMachineCanBeStopped) {
  const auto measurer = make();
  int looks = 0;
  const auto race = measurer->race(
      {candidate(0, "good"), candidate(1, "slow")},
      {.seconds = 0, .patience = 3600, .known = {.sentinel_seconds = 1e-6}, .stop = [&] {
         return ++looks > 200;
       }});
  ASSERT_TRUE(race.has_value()) << race.error().text();
  EXPECT_GT(looks, 200);
}

TEST_F(Faults, ARaceIsStoppedWhileSomethingHangs) {
  options_.timeout_seconds = 3600;
  for (const char* fault : {"builder_hang", "hang", "hang_later"}) {
    SCOPED_TRACE(fault);
    const auto measurer = make();
    int looks = 0;
    const auto race = measurer->race({candidate(0, "good"), candidate(1, fault)},
                                     {.seconds = 0.1, .stop = [&] { return ++looks > 40; }});
    ASSERT_TRUE(race.has_value()) << race.error().text();
    EXPECT_FALSE(race->racers[1].ran && !race->racers[1].failed);
    EXPECT_EQ(measure(*measurer, {"good"}).size(), 1U) << "and the measurer can go on";
  }
}

// What kills it may have nothing to do with the program that is timed.
TEST_F(Faults, TheDeathOfARunnerCostsNobodyItsPlaceInARace) {
  const auto measurer = make();
  int looks = 0, killed = 0;
  const auto race = measurer->race({candidate(0, "good"), candidate(1, "slow")},
                                   {.seconds = 0.5, .stop = [&] {
                                      if (++looks % 25 == 0 && killed == 0) killed = kill_runner();
                                      return false;
                                    }});
  ASSERT_TRUE(race.has_value()) << race.error().text();
  EXPECT_EQ(killed, 1);
  for (const Racer& racer : race->racers) EXPECT_TRUE(racer.ran && !racer.failed);
}

// A limit for all of it: who is not built after half of that does not take part, and the others
// race.
TEST_F(Faults, ARaceLeavesOutWhoIsNotBuiltInTime) {
  options_.timeout_seconds = 3600;
  options_.jobs = 3;
  const auto measurer = make();
  const auto race = measurer->race({candidate(0, "good"), candidate(1, "builder_hang")},
                                   {.seconds = 0.1, .limit = 8});
  ASSERT_TRUE(race.has_value()) << race.error().text();
  EXPECT_TRUE(race->racers[0].ran);
  EXPECT_FALSE(race->racers[1].ran);
  EXPECT_FALSE(race->racers[1].failed);
}

}  // namespace
}  // namespace lathe::measure
