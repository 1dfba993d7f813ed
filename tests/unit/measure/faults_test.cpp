// Faults injected into builder and runner: each costs the one trial it belongs to.
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "tuner/measure/process.h"
#include "tuner/measure/reproduce.h"
#include "unit/measure/faults.h"

namespace lathe::measure {
namespace {

TEST_F(Faults, NoFault) {
  const auto measurer = make();
  const auto outcomes = measure(*measurer, {"good", "slow"});
  for (const auto& [tag, outcome] : outcomes) {
    ASSERT_FALSE(outcome.error.has_value()) << outcome.error->text();
    EXPECT_GE(outcome.visits.size(), 2U);
    EXPECT_LT(outcome.numerical_error, 1e-5);
    for (const Visit& visit : outcome.visits) EXPECT_GT(visit.sentinel_seconds, 0);
  }
  EXPECT_GT(outcomes.at(1).seconds, outcomes.at(0).seconds);
}

#if defined(__x86_64__)
// Wall time beyond the processor's is the scheduler's doing: such calls do not count.
TEST_F(Faults, CallsThatTheSchedulerDisturbsDoNotCount) {
  options_.min_seconds = 0.02;
  const Outcome sometimes = one("dozing");
  ASSERT_FALSE(sometimes.error.has_value()) << sometimes.error->text();
  std::size_t counted = 0, disturbed = 0;
  for (const Visit& visit : sometimes.visits) {
    for (const double seconds : visit.seconds) EXPECT_LT(seconds, 1e-3) << "one that slept";
    counted += visit.seconds.size();
    disturbed += visit.disturbed.size();
  }
  EXPECT_GT(counted, 0U);
  EXPECT_GT(disturbed, 0U);
  EXPECT_LT(sometimes.seconds, 1e-3);
  const Outcome always = one("sleepy");
  ASSERT_FALSE(always.error.has_value()) << always.error->text();
  for (const Visit& visit : always.visits) {
    EXPECT_TRUE(visit.seconds.empty());
    EXPECT_FALSE(visit.disturbed.empty());
  }
  EXPECT_LT(always.seconds, 0.01) << "what it slept is not its time";
}
#endif

TEST_F(Faults, OfTheCandidateWhileItRuns) {
  expect_error("crash", ErrorKind::kRun, "SIGSEGV: it wrote at address 0x8");
  expect_error("illegal", ErrorKind::kRun, "SIGILL");
  expect_error("overflow_stack", ErrorKind::kRun, "SIGSEGV");
  expect_error("exit", ErrorKind::kRun, "it exited with status 5");
  expect_error("garbage", ErrorKind::kInternal, "not a message");
  expect_error("other_abi", ErrorKind::kRun, "the library has interface version");
}

TEST_F(Faults, WritesWhereItMustNot) {
  expect_error("overrun", ErrorKind::kRun, "it wrote after the end of output C");
  expect_error("far_overrun", ErrorKind::kRun, "after the end of output C");
  expect_error("write_input", ErrorKind::kRun, "inside input A, which is not writable");
  expect_error("bad_prepare", ErrorKind::kRun, "constants");
}

TEST_F(Faults, TakesTooLong) {
  expect_error("hang", ErrorKind::kTimeout, "too long");
  expect_error("hang_later", ErrorKind::kTimeout, "too long");
}

TEST_F(Faults, APeakIsMeasuredAgainOnceWhereAHelperDied) {
  ::setenv("LATHE_TEST_PEAK", "builder_crash_once", 1);
  const auto measurer = make();
  const auto first = measurer->peak_flops();
  ASSERT_TRUE(first.has_value()) << first.error().text();
  ASSERT_GT(kill_runner(), 0);
  const auto second = measurer->peak_flops();
  EXPECT_TRUE(second.has_value()) << second.error().text();
  ::setenv("LATHE_TEST_PEAK", "crash", 1);
  const auto never = make()->peak_flops();
  ::unsetenv("LATHE_TEST_PEAK");
  ASSERT_FALSE(never.has_value());
  EXPECT_NE(never.error().message.find("SIGSEGV"), std::string::npos) << never.error().text();
}

TEST_F(Faults, EatsMemory) { expect_error("hog", ErrorKind::kOutOfMemory, "workspace"); }

TEST_F(Faults, WrongAnswersLeaveAReproducer) {
  const Outcome outcome = one("wrong");
  ASSERT_TRUE(outcome.error.has_value());
  EXPECT_EQ(outcome.error->kind, ErrorKind::kWrongAnswer);
  const std::filesystem::path folder = outcome.error->place;
  for (const char* name : {"workload.te", "trace.json", "candidate.so", "README", "case.json"})
    EXPECT_TRUE(std::filesystem::exists(folder / name)) << name;
  std::ifstream file(folder / "README");
  const std::string readme((std::istreambuf_iterator<char>(file)), {});
  EXPECT_NE(readme.find("C[5,7]"), std::string::npos) << readme;
  // tests/unit/cli runs this command.
  EXPECT_NE(readme.find("To see it again: lathe reproduce '" + folder.string() + "'\n"),
            std::string::npos)
      << readme;
  const auto again = reproduce(folder.string(), options_);
  ASSERT_TRUE(again.has_value()) << again.error().text();
  ASSERT_TRUE(again->error.has_value());
  EXPECT_EQ(again->error->kind, ErrorKind::kWrongAnswer);
  EXPECT_FALSE(reproduce(folder_.at("nowhere"), options_).has_value());
}

unsigned mode_of(const std::filesystem::path& path) {
  struct stat info{};
  return ::lstat(path.c_str(), &info) == 0 ? info.st_mode & 07777U : 0;
}

TEST_F(Faults, AReproducerIsNewAndPrivate) {
  const Outcome first = one("wrong"), second = one("wrong");
  ASSERT_TRUE(first.error && second.error);
  const std::filesystem::path folder = first.error->place, other = second.error->place;
  EXPECT_NE(folder, other) << "one that is there, or that somebody made, is not written to";
  EXPECT_EQ(mode_of(folder), 0700U);
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    EXPECT_EQ(mode_of(entry.path()), 0600U) << entry.path();
    ++files;
  }
  EXPECT_EQ(files, 5);
}

TEST_F(Faults, AReproducerThatOthersCanChangeIsRefused) {
  const Outcome outcome = one("wrong");
  ASSERT_TRUE(outcome.error);
  const std::filesystem::path folder = outcome.error->place;
  const auto refused = [&](const std::string& place, const std::string& words) {
    const auto again = reproduce(folder.string(), options_);
    ASSERT_FALSE(again.has_value()) << place;
    EXPECT_EQ(again.error().place, place);
    EXPECT_NE(again.error().message.find(words), std::string::npos) << again.error().text();
  };
  for (const std::filesystem::path& open :
       {folder, folder / "trace.json", folder / "candidate.so", folder.parent_path()}) {
    const unsigned before = mode_of(open);
    ASSERT_EQ(::chmod(open.c_str(), before | S_IWOTH), 0);
    refused(open.string(), fmt::format("`chmod go-w '{}'`", open.string()));
    ASSERT_EQ(::chmod(open.c_str(), before), 0);
  }
  std::filesystem::rename(folder / "workload.te", folder_.at("elsewhere"));
  std::filesystem::create_symlink(folder_.at("elsewhere"), folder / "workload.te");
  refused((folder / "workload.te").string(), "this is a link");
  std::filesystem::rename(folder_.at("elsewhere"), folder / "workload.te");
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown((folder / "case.json").c_str(), 65534, 65534), 0);
    refused((folder / "case.json").string(), "this belongs to ");
    ASSERT_EQ(::chown((folder / "case.json").c_str(), 0, 0), 0);
  }
  EXPECT_TRUE(reproduce(folder.string(), options_).has_value());
}

TEST_F(Faults, TheLibraryInAReproducerIsNeverLoaded) {
  const Outcome outcome = one("wrong");
  ASSERT_TRUE(outcome.error);
  const std::filesystem::path folder = outcome.error->place;
  std::ofstream(folder / "candidate.so") << "no library at all";
  const auto again = reproduce(folder.string(), options_);
  ASSERT_TRUE(again.has_value() && again->error.has_value());
  EXPECT_EQ(again->error->kind, ErrorKind::kWrongAnswer) << again->error->text();
}

// A fault of the compiler that hits the reference as it hits the candidates: they agree, and both
// are wrong.
TEST_F(Faults, OfTheReferenceAndTheCandidatesAlike) {
  for (const std::string kind : {"wrong_reference", "blind_reference"}) {
    ::setenv("LATHE_TEST_REFERENCE", kind.c_str(), 1);
    const auto measurer = make();
    int finished = 0;
    const auto status =
        measurer->measure({candidate(0, "wrong")}, kInfinity, [&](Outcome) { ++finished; }, {});
    EXPECT_EQ(finished, 0) << "nothing may be said of candidates";
    ASSERT_FALSE(status.has_value());
    EXPECT_EQ(status.error().kind, ErrorKind::kWrongAnswer) << status.error().text();
    EXPECT_NE(status.error().message.find("a bug of Lathe's compiler"), std::string::npos)
        << status.error().text();
    const std::filesystem::path folder = status.error().place;
    for (const char* name :
         {"workload.te", "reference.te", "trace.json", "candidate.so", "README", "case.json"})
      EXPECT_TRUE(std::filesystem::exists(folder / name)) << name;
    EXPECT_EQ(kind == "wrong_reference", status.error().message.find("C[5,7]") != std::string::npos)
        << status.error().text();
    const auto again = reproduce(folder.string(), options_);
    ASSERT_FALSE(again.has_value());
    EXPECT_EQ(again.error().kind, ErrorKind::kWrongAnswer);
    ASSERT_FALSE(measurer->race({candidate(0, "wrong")}, {.seconds = 0.1}).has_value());
  }
  ::unsetenv("LATHE_TEST_REFERENCE");
}

TEST_F(Faults, ScratchAndOutputsReadAsNan) {
  const Outcome outcome = one("partial");
  ASSERT_TRUE(outcome.error.has_value());
  EXPECT_EQ(outcome.error->kind, ErrorKind::kWrongAnswer);
}

TEST_F(Faults, OfTheBuilder) {
  expect_error("builder_crash", ErrorKind::kBuild, "the builder died: SIGSEGV");
  expect_error("builder_exit", ErrorKind::kBuild, "status 9");
  expect_error("builder_memory", ErrorKind::kOutOfMemory, "no memory");
  expect_error("builder_garbage", ErrorKind::kInternal, "not a message");
  expect_error("builder_hang", ErrorKind::kTimeout, "too long");
  expect_error("refused", ErrorKind::kIllegalSchedule, "no loop");
  expect_error("no_such_library", ErrorKind::kRun, "cannot be opened");
}

TEST_F(Faults, AFaultThatDoesNotComeBackCostsNothing) {
  EXPECT_FALSE(one("builder_crash_once").error.has_value());
}

// What says nothing of a program costs none its trial: it ends the batch.
TEST_F(Faults, AFullDiskIsNoFailureOfAProgram) {
  const auto measurer = make();
  std::map<int, Outcome> outcomes;
  const auto status = measurer->measure(
      {candidate(0, "good"), candidate(1, "no_disk"), candidate(2, "no_disk")}, kInfinity,
      [&](Outcome outcome) { outcomes.emplace(outcome.tag, outcome); }, [] { return false; });
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().kind, ErrorKind::kIo);
  EXPECT_NE(status.error().text().find("No space left"), std::string::npos);
  for (const auto& [tag, outcome] : outcomes) EXPECT_FALSE(outcome.error.has_value()) << tag;
  const auto race =
      measurer->race({candidate(0, "good"), candidate(1, "no_disk")}, {.seconds = 0.1});
  ASSERT_TRUE(race.has_value()) << race.error().text();
  EXPECT_FALSE(race->racers[1].failed);
  EXPECT_FALSE(race->racers[1].ran);
}

TEST_F(Faults, EqualProgramsAreMeasuredOnce) {
  const auto measurer = make();
  auto outcomes = measure(*measurer, {"good", "good", "good"});
  ASSERT_EQ(outcomes.size(), 3U);
  int measured = 0;
  for (const auto& [tag, outcome] : outcomes) measured += outcome.duplicate_of_hash.empty() ? 1 : 0;
  EXPECT_EQ(measured, 1);
  outcomes = measure(*measurer, {"slow", "good"});
  EXPECT_EQ(outcomes.at(1).duplicate_of_hash, "good");
  EXPECT_FALSE(outcomes.at(1).visits.empty());
  EXPECT_TRUE(outcomes.at(0).duplicate_of_hash.empty());
}

TEST_F(Faults, SlowOnesAreDroppedEarly) {
  const auto measurer = make();
  const auto outcomes = measure(*measurer, {"slow"}, 1e-9);
  EXPECT_TRUE(outcomes.at(0).dropped_early);
  EXPECT_EQ(outcomes.at(0).visits.size(), 1U);
  EXPECT_GT(outcomes.at(0).seconds, 0);
}

TEST_F(Faults, BuildingAndMeasuringAlternateWhereTheyMayNotOverlap) {
  options_.jobs = 1;
  const auto measurer = make();
  const auto outcomes = measure(*measurer, {"good", "crash", "slow", "refused", "wrong", "good"});
  ASSERT_EQ(outcomes.size(), 6U);
  EXPECT_FALSE(outcomes.at(0).error || outcomes.at(2).error || outcomes.at(5).error);
}

TEST_F(Faults, ManyBuilders) {
  options_.jobs = 5;
  const auto measurer = make();
  std::vector<std::string> names;
  for (int i = 0; i < 20; ++i)
    names.push_back(i % 5 == 3 ? "builder_exit" : i % 5 == 4 ? "crash" : "good");
  EXPECT_EQ(measure(*measurer, names).size(), names.size());
}

TEST_F(Faults, StopsBetweenCandidates) {
  const auto measurer = make();
  int finished = 0;
  const auto status = measurer->measure(
      {candidate(0, "good"), candidate(1, "slow"), candidate(2, "hang"), candidate(3, "crash")},
      kInfinity, [&](Outcome) { ++finished; }, [&] { return finished > 0; });
  EXPECT_TRUE(status.has_value());
  EXPECT_LT(finished, 4);
  EXPECT_EQ(measure(*measurer, {"good"}).size(), 1U) << "and can go on";
}

TEST_F(Faults, SaysThatAReferenceIsAwaited) {
  const auto measurer = make();
  EXPECT_FALSE(measurer->awaits_reference());
  bool awaited = false;
  const auto status = measurer->measure(
      {candidate(0, "good")}, kInfinity, [](Outcome) { ADD_FAILURE() << "nothing is verified"; },
      [&] { return awaited = measurer->awaits_reference(); });
  EXPECT_TRUE(status.has_value());
  EXPECT_TRUE(awaited);
  EXPECT_TRUE(measurer->awaits_reference()) << "it was stopped before there was one";
  EXPECT_EQ(measure(*measurer, {"good"}).size(), 1U);
  EXPECT_FALSE(measurer->awaits_reference());
}

// It may compute the reference, or run a candidate, or do nothing yet.
TEST_F(Faults, TheFirstDeathOfTheRunnerCostsNothing) {
  for (int when = 1; when <= 12; ++when) {
    const auto measurer = make();
    int looks = 0, killed = 0, right = 0;
    const auto status = measurer->measure(
        {candidate(0, "good@1"), candidate(1, "good@2")}, kInfinity,
        [&](const Outcome& outcome) { right += outcome.error ? 0 : 1; },
        [&] {
          if (++looks >= when && killed == 0) killed = kill_runner();
          return false;
        });
    ASSERT_TRUE(status.has_value()) << status.error().text();
    EXPECT_EQ(right, 2) << "killed at look " << when;
  }
}

// What is left of the reference must not outlive the batch.
TEST_F(Faults, CandidatesThatAllFailEndTheBatchAfterTheReference) {
  const auto measurer = make();
  EXPECT_TRUE(measure(*measurer, {"refused"}).at(0).error.has_value());
  EXPECT_FALSE(measure(*measurer, {"good"}).at(0).error.has_value());
}

TEST_F(Faults, ColdCaches) {
  options_.cache = CacheMode::kCold;
  const Outcome outcome = one("good");
  EXPECT_FALSE(outcome.error.has_value());
}

TEST_F(Faults, ARunnerThatIsMissingIsAnError) {
  options_.runner = "/nowhere/lathe-runner";
  const auto workload =
      te::parse_workload("A: f32[11, 13]; B: f32[11, 17]; C[i,j] = sum(k) A[k,i] * B[k,j]");
  const auto measurer = make_measurer(*workload, *parse_target("cpu:test"), options_);
  ASSERT_FALSE(measurer.has_value());
  EXPECT_EQ(measurer.error().place, "/nowhere/lathe-runner");
}

// Processes whose parent is `parent`.
std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> children;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream status(entry.path() / "stat");
    std::string pid, name, state;
    pid_t ppid = 0;
    if (status >> pid >> name >> state >> ppid && ppid == parent)
      children.push_back(std::stoi(pid));
  }
  return children;
}

TEST_F(Faults, NothingIsLeftBehind) {
  {
    const auto measurer = make();
    measure(*measurer, {"good", "hang"});
  }
  EXPECT_TRUE(children_of(::getpid()).empty()) << "neither running nor zombies";
}

TEST_F(Faults, ChildrenDieWithTheTuner) {
  const pid_t tuner = ::fork();
  if (tuner == 0) {
    const auto measurer = make();
    measure(*measurer, {"good"});
    options_.timeout_seconds = 100;
    measure(*measurer, {"hang"});
    ::_exit(0);
  }
  constexpr std::size_t kHelpers = 3;  // the runner, and builders on its and on other processors
  std::vector<pid_t> children;
  for (int i = 0; i < 500 && children.size() < kHelpers; ++i)
    ::usleep(10'000), children = children_of(tuner);
  ASSERT_EQ(children.size(), kHelpers);
  ::usleep(200'000);
  children = children_of(tuner);
  ::kill(tuner, SIGKILL);
  ::waitpid(tuner, nullptr, 0);
  for (const pid_t child : children) {
    bool gone = false;
    for (int i = 0; i < 500 && !gone; ++i) {
      std::ifstream status("/proc/" + std::to_string(child) + "/stat");
      std::string pid, name, state;
      gone = !(status >> pid >> name >> state) || state == "Z";
      if (!gone) ::usleep(10'000);
    }
    EXPECT_TRUE(gone) << child;
  }
}

}  // namespace
}  // namespace lathe::measure
