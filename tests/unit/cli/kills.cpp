// kill -9 at random moments of a run: what was finished stays, nothing is done twice, nobody is
// left behind.
#include <cctype>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <sys/wait.h>
#include <unistd.h>

#include "base/rng.h"
#include "support/onnx_writer.h"
#include "unit/cli/command.h"

namespace lathe {
namespace {

namespace fs = std::filesystem;

constexpr int kKills = 20;

// Of a run that tunes a model: few, which take long, but for LATHE_KILLS.
int model_kills() {
  constexpr int kUsual = 5;
  const char* const asked = std::getenv("LATHE_KILLS");
  return asked != nullptr ? std::atoi(asked) : kUsual;
}

// "C6, 1 thread: 37/512 trials": the last such number that a user saw.
int trials_shown(const std::string& shown) {
  const auto end = shown.rfind(" trials");
  const auto slash = end == std::string::npos ? end : shown.rfind('/', end);
  if (slash == std::string::npos) return 0;
  auto begin = slash;
  while (begin > 0 && std::isdigit(static_cast<unsigned char>(shown[begin - 1]))) --begin;
  return std::atoi(shown.c_str() + begin);
}

// What the last line on the terminal says that the run was doing.
std::string phase_shown(const std::string& shown) {
  const auto begin = shown.rfind("| ");
  return begin == std::string::npos
             ? "starting"
             : shown.substr(begin + 2, shown.find('\x1b', begin) - begin - 2);
}

// Whether it has ended; it can still be waited for.
bool over(pid_t child) {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == child;
}

class Kills : public Command {
 protected:
  // Trials by index: the configuration and every raw time.
  std::map<Json, Json> trials() {
    std::map<Json, Json> out;
    if (!fs::exists(folder_.at("records.db"))) return out;
    for (const Json& record : records())
      out[record["index"]] = {record["config"], record["visits"]};
    return out;
  }
  // Folders in the temporary folder, which is our own.
  static int folders_left(const std::string& place) {
    int count = 0;
    for (const auto& entry : fs::directory_iterator(place))
      count += entry.path().filename().string().starts_with("lathe-");
    return count;
  }
  // Processes that our killed ones started: they share the environment.
  int left_behind() const {
    int count = 0;
    for (const auto& process : fs::directory_iterator("/proc")) {
      if (process.path().filename().string() == std::to_string(getpid())) continue;
      count +=
          content(process.path() / "environ").find("XDG_CACHE_HOME=" + folder_.path().string()) !=
          std::string::npos;
    }
    return count;
  }
  void wait_for_the_dead() const {
    for (int i = 0; i < 100 && left_behind() > 0; ++i) usleep(100'000);
  }
};

// Another folder for what is temporary, while it lives.
class TemporaryPlace {
 public:
  explicit TemporaryPlace(const std::string& place) : before_(fs::temp_directory_path()) {
    setenv("TMPDIR", place.c_str(), 1);
  }
  TemporaryPlace(const TemporaryPlace&) = delete;
  TemporaryPlace& operator=(const TemporaryPlace&) = delete;
  ~TemporaryPlace() { setenv("TMPDIR", before_.c_str(), 1); }

 private:
  fs::path before_;
};

TEST_F(Kills, AtRandomMomentsLoseAndRepeatNothing) {
  constexpr std::uint64_t kSeed = 11;
  SCOPED_TRACE(kSeed);
  const std::string place = folder_.at("temporary");
  fs::create_directory(place);
  const TemporaryPlace own(place);
  Rng rng(kSeed);
  std::map<Json, Json> before;
  std::map<std::string, int> phases;
  int kills = 0, with_progress = 0;
  for (int round = 0; kills < kKills && round < 10 * kKills; ++round) {
    // Few enough trials that the end of a run, its race, is hit too.
    const auto wanted = before.size() + 1 + rng.below(200);
    Terminal terminal;
    const pid_t child = start(with(with({"tune"}, workload_), {"--trials", std::to_string(wanted)}),
                              terminal.end());
    // Some are killed while they start, most once they get on, however slow the machine is.
    while (round % 4 != 0 && !over(child) &&
           trials_shown(terminal.shown()) <= static_cast<int>(before.size()))
      terminal.listen(0.02);
    terminal.listen(rng.uniform());
    kill(child, SIGKILL);
    const bool killed = finish(child).code == 128 + SIGKILL;
    terminal.listen(0);
    const auto now = trials();
    for (const auto& [index, trial] : before) {
      ASSERT_TRUE(now.contains(index)) << "trial " << index << " is lost";
      EXPECT_EQ(now.at(index), trial);
    }
    EXPECT_GE(static_cast<int>(now.size()), trials_shown(terminal.shown()))
        << "a trial that the user saw is lost";
    if (killed) {
      ++kills;
      with_progress += now.size() > before.size();
      ++phases[phase_shown(terminal.shown())];
    }
    before = now;
  }
  for (const auto& [phase, count] : phases)
    std::printf("%d killed while %s\n", count, phase.c_str());
  EXPECT_EQ(kills, kKills);
  EXPECT_GE(with_progress, kKills / 4) << "the kills came too early to be of interest";

  wait_for_the_dead();  // whose folders are theirs until they are gone
  const Json last = json_of(lathe(
      with(with({"tune"}, workload_), {"--trials", std::to_string(before.size() + 10), "--json"})));
  EXPECT_EQ(last["resumed"], before.size());
  EXPECT_EQ(last["trials"], before.size() + 10);
  EXPECT_EQ(trials().size(), before.size() + 10);
  EXPECT_EQ(folders_left(place), 0) << "the last run removed what the killed ones had left";
  wait_for_the_dead();
  EXPECT_EQ(left_behind(), 0);
}

// Three products of prime sizes, one of them twice.
std::string three_tasks(const test::TemporaryFolder& folder) {
  const auto weight = [](const char* name, std::int64_t rows, std::int64_t columns) {
    return test::tensor(name, {rows, columns},
                        std::vector<float>(static_cast<std::size_t>(rows * columns), 0.25F));
  };
  const std::string path = folder.at("model.onnx");
  std::ofstream(path, std::ios::binary) << test::model(
      {{test::node("MatMul", {"x", "u"}, {"a"}), test::node("Relu", {"a"}, {"b"}),
        test::node("MatMul", {"b", "u"}, {"c"}), test::node("Relu", {"c"}, {"d"}),
        test::node("MatMul", {"d", "v"}, {"e"}), test::node("MatMul", {"e", "w"}, {"y"})},
       {weight("u", 29, 29), weight("v", 29, 17), weight("w", 17, 5)},
       {test::value_info("x", {"7", "29"})},
       {test::value_info("y", {"7", "5"})}});
  return path;
}

TEST_F(Kills, OfAModelLoseAndRepeatNothing) {
  constexpr std::uint64_t kSeed = 12;
  SCOPED_TRACE(kSeed);
  const int wanted = model_kills();
  Rng rng(kSeed);
  const std::vector<std::string> tune = {"tune", three_tasks(folder_), "--time", "6"};
  // By workload and index: the configuration and every raw time.
  const auto stored = [&] {
    std::map<std::pair<Json, Json>, Json> out;
    std::set<std::pair<Json, Json>> configurations;
    if (!fs::exists(folder_.at("records.db"))) return out;
    std::istringstream lines(lathe({"export"}).out);
    for (std::string line; std::getline(lines, line);) {
      const Json record = Json::parse(line);
      EXPECT_TRUE(configurations.emplace(record["workload"], record["config"]).second)
          << "measured twice: " << line;
      EXPECT_TRUE(out.emplace(std::pair(record["workload"], record["index"]),
                              Json::array({record["config"], record["visits"]}))
                      .second)
          << "there twice: " << line;
    }
    return out;
  };
  std::map<std::pair<Json, Json>, Json> before;
  int kills = 0, with_progress = 0;
  for (int round = 0; kills < wanted && round < 4 * wanted; ++round) {
    const pid_t child = start(tune);
    usleep(static_cast<useconds_t>(1e6 * 5 * rng.uniform()));
    kill(child, SIGKILL);
    kills += finish(child).code == 128 + SIGKILL;
    const auto now = stored();
    for (const auto& [trial, kept] : before) {
      ASSERT_TRUE(now.contains(trial)) << "trial " << trial.second << " is lost";
      EXPECT_EQ(now.at(trial), kept);
    }
    with_progress += now.size() > before.size();
    before = now;
  }
  EXPECT_EQ(kills, wanted);
  EXPECT_GE(with_progress, 1) << "the kills came too early to be of interest";
  std::printf("%d kills, %d of them after new trials, %zu trials\n", kills, with_progress,
              before.size());

  wait_for_the_dead();
  const Outcome last = lathe(with(tune, {"--json"}));
  ASSERT_EQ(last.code, 0) << last.error;
  const Json tasks = json_of(last)["tasks"];
  for (const Json& task : tasks) EXPECT_GT(task["best_seconds"], 0) << task;
  EXPECT_GE(stored().size(), before.size());
  wait_for_the_dead();
  EXPECT_EQ(left_behind(), 0);
}

}  // namespace
}  // namespace lathe
