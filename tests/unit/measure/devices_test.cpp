// Several devices in one session. The second is behind a socket that passes no descriptors, as a
// device of another machine is.
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <map>

#include "base/helper_path.h"
#include "compiler/backends/backends.h"
#include "compiler/driver/driver.h"
#include "compiler/te/parse.h"
#include "runtime/runner/protocol.h"
#include "support/temporary_folder.h"
#include "tuner/measure/device.h"
#include "tuner/measure/measure.h"

namespace lathe::measure {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const char* const kMatmul = "A: f32[11, 13]; B: f32[11, 37]; C[i,j] = sum(k) A[k,i] * B[k,j]";

Target host() { return *driver::resolve_target(*parse_target("cpu:host"), backends()); }

// A machine with a device, as far as the tuner can tell.
class FarDevice {
 public:
  explicit FarDevice(const char* how) {
    const std::string program = *find_helper("far_device"), runner = *find_helper("lathe-runner");
    std::vector<std::string> words{program, folder_.path().string(), runner, how};
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    EXPECT_EQ(::posix_spawn(&pid_, program.c_str(), nullptr, nullptr, arguments.data(), environ),
              0);
    for (int i = 0; i < 1000 && !std::filesystem::exists(folder_.at("port")); ++i) ::usleep(10'000);
  }
  ~FarDevice() { switch_off(); }
  void switch_off() {
    if (pid_ < 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  std::string address() const {
    std::string port;
    std::ifstream(folder_.at("port")) >> port;
    return "127.0.0.1:" + port;
  }
  std::vector<int> runners() const { return numbers("runners"); }
  // How many requests of the type it got.
  template <class Message>
  int asked() const {
    const auto types = numbers("asked");
    return static_cast<int>(std::ranges::count(types, int{runner::kSchema<Message>.type}));
  }

 private:
  std::vector<int> numbers(const char* name) const {
    std::ifstream file(folder_.at(name));
    std::vector<int> numbers;
    for (int number = 0; file >> number;) numbers.push_back(number);
    return numbers;
  }
  const test::TemporaryFolder folder_;
  pid_t pid_ = -1;
};

Options options_with(const std::vector<std::string>& elsewhere) {
  Options options;
  options.min_seconds = 0.001;
  options.timeout_seconds = 60;
  options.cache_folder = "-";
  options.elsewhere = elsewhere;
  return options;
}

// Programs that all differ.
std::vector<Candidate> programs() {
  std::vector<Candidate> batch;
  const auto add = [&](const char* loop, std::int64_t most) {
    for (std::int64_t size = 2; size <= most; ++size)
      batch.push_back(
          {static_cast<int>(batch.size()), {schedule::Split{loop, size, "o", "i"}}, {}});
  };
  add("C.i", 12);
  add("C.j", 30);
  return batch;
}

// Measures the programs; each has one outcome and is right. `between` gets their number as they
// come.
void measure_all(Measurer& measurer, const std::function<void(std::size_t)>& between = {}) {
  const auto batch = programs();
  std::map<int, Outcome> outcomes;
  const auto done = [&](Outcome outcome) {
    EXPECT_TRUE(outcomes.emplace(outcome.tag, outcome).second) << outcome.tag << " came twice";
    EXPECT_FALSE(outcome.error) << outcome.tag << ": " << outcome.error->text();
    EXPECT_GT(outcome.seconds, 0);
    EXPECT_EQ(outcome.machine.text(), measurer.machine().text());
    if (between) between(outcomes.size());
  };
  const Status status = measurer.measure(batch, kInfinity, done, {});
  EXPECT_TRUE(status.has_value()) << status.error().text();
  EXPECT_EQ(outcomes.size(), batch.size()) << "none is lost";
}

std::unique_ptr<Measurer> matmul_on(const std::shared_ptr<Session>& session) {
  auto measurer = make_measurer(session, *te::parse_workload(kMatmul));
  EXPECT_TRUE(measurer.has_value()) << measurer.error().text();
  return std::move(*measurer);
}

TEST(Devices, OneElsewhereMeasuresAlone) {
  const FarDevice far("direct");
  Options options = options_with({far.address()});
  options.here = false;
  const auto session = open_session(host(), options);
  ASSERT_TRUE(session.has_value()) << session.error().text();
  const auto measurer = matmul_on(*session);
  EXPECT_EQ(measurer->machine().text(), machine_for(host()).text());
  measure_all(*measurer);
  const auto peak = measurer->peak_flops();
  ASSERT_TRUE(peak.has_value()) << peak.error().text();
  EXPECT_GT(*peak, 1e8);
  EXPECT_TRUE(measurer->bandwidth().has_value());
  const auto race = measurer->race({{0, {}, {}}, programs()[3]}, {.seconds = 0.2});
  ASSERT_TRUE(race.has_value()) << race.error().text();
  for (const Racer& racer : race->racers) EXPECT_TRUE(racer.ran && !racer.failed);
}

TEST(Devices, OfOneKindShareABatch) {
  const FarDevice far("watched");
  const auto session = open_session(host(), options_with({far.address()}));
  ASSERT_TRUE(session.has_value()) << session.error().text();
  const auto measurer = matmul_on(*session);
  measure_all(*measurer);
  const int loads = far.asked<runner::Load>(), all = static_cast<int>(programs().size());
  EXPECT_GT(loads, 0);
  EXPECT_LT(loads, all);
  EXPECT_EQ(far.asked<runner::Execute>(), 0) << "the host computes the reference";
}

// Building here and timing here take turns; the other device goes on meanwhile.
TEST(Devices, OneElsewhereDoesNotWaitForBuilders) {
  const FarDevice far("watched");
  Options options = options_with({far.address()});
  options.jobs = 1;
  const auto session = open_session(host(), options);
  ASSERT_TRUE(session.has_value()) << session.error().text();
  measure_all(*matmul_on(*session));
  EXPECT_GT(far.asked<runner::Load>(), 0);
  EXPECT_LT(far.asked<runner::Load>(), static_cast<int>(programs().size())) << "both work";
}

TEST(Devices, InputsAndReferencesAreSentOnce) {
  const FarDevice far("watched");
  const auto session = open_session(host(), options_with({far.address()}));
  ASSERT_TRUE(session.has_value()) << session.error().text();
  const auto first = matmul_on(*session);
  const auto second = make_measurer(*session, *te::parse_workload("X: f32[99]; Y[i] = X[i] * 2"));
  ASSERT_TRUE(second.has_value()) << second.error().text();
  for (int round = 0; round < 3; ++round) {
    measure_all(*first, {});
    for (std::int64_t size = 2; size < 9; ++size)
      EXPECT_TRUE((*second)
                      ->measure({{0, {schedule::Split{"Y.i", 10 * round + size, "o", "i"}}, {}}},
                                kInfinity, [](const Outcome&) {}, {})
                      .has_value());
  }
  EXPECT_LE(far.asked<runner::KeepAsset>(), 4) << "the inputs and the reference of each";
  EXPECT_EQ(far.runners().size(), 1U);
}

// The first death of a runner costs nothing, and a machine that is gone leaves its work to others.
TEST(Devices, ADeathInTheMiddleOfABatchLosesNoTrialAndRepeatsNone) {
  for (const char* victim : {"runner", "machine"}) {
    SCOPED_TRACE(victim);
    FarDevice far("watched");
    const auto session = open_session(host(), options_with({far.address()}));
    ASSERT_TRUE(session.has_value()) << session.error().text();
    const auto measurer = matmul_on(*session);
    int loads = 0;
    measure_all(*measurer, [&](std::size_t finished) {
      if (finished != 8) return;
      loads = far.asked<runner::Load>();
      if (victim == std::string("runner")) ::kill(far.runners().back(), SIGKILL);
      else far.switch_off();
    });
    EXPECT_GT(loads, 0) << "it was at work";
    if (victim == std::string("runner")) {
      EXPECT_EQ(far.runners().size(), 2U) << "another one took its place";
      EXPECT_GT(far.asked<runner::Load>(), loads);
    }
    const auto other = make_measurer(*session, *te::parse_workload("X: f32[9]; Y[i] = X[i] + 1"));
    const Status status = (*other)->measure({{0, {}, {}}}, kInfinity,
                                            [](const Outcome& o) { EXPECT_FALSE(o.error); }, {});
    EXPECT_TRUE(status.has_value()) << status.error().text();
  }
}

TEST(Devices, TheOneHereMayDie) {
  const FarDevice far("watched");
  const auto session = open_session(host(), options_with({far.address()}));
  ASSERT_TRUE(session.has_value()) << session.error().text();
  const auto measurer = matmul_on(*session);
  measure_all(*measurer, [&](std::size_t finished) {
    if (finished != 8) return;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      std::ifstream file(entry.path() / "stat");
      std::string number, name, state;
      int parent = 0;
      if (file >> number >> name >> state >> parent && parent == ::getpid() &&
          name.starts_with("(lathe-runner"))
        ::kill(std::stoi(number), SIGKILL);
    }
  });
}

// Times of different machines do not compare, so each task has one of them.
TEST(Devices, OfDifferentMachinesMeasureATaskEach) {
  const FarDevice far("other");
  const auto session = open_session(host(), options_with({far.address()}));
  ASSERT_TRUE(session.has_value()) << session.error().text();
  const auto here = matmul_on(*session), there = matmul_on(*session), again = matmul_on(*session);
  EXPECT_NE(here->machine().cpu(), there->machine().cpu());
  EXPECT_EQ(here->machine().text(), again->machine().text());
  measure_all(*here);
  EXPECT_EQ(far.asked<runner::Load>(), 0);
  measure_all(*there);
  EXPECT_EQ(far.asked<runner::Load>(), static_cast<int>(programs().size()));
}

TEST(Devices, OneThatCannotBeReachedIsAnErrorWithItsAddress) {
  FarDevice far("direct");
  const std::string address = far.address();
  far.switch_off();
  const auto session = open_session(host(), options_with({address}));
  ASSERT_FALSE(session.has_value());
  EXPECT_EQ(session.error().kind, ErrorKind::kIo);
  EXPECT_EQ(session.error().place, address);
  EXPECT_EQ(open_session(host(), options_with({"nowhere"})).error().place, "nowhere");
}

}  // namespace
}  // namespace lathe::measure
