// The command as a user runs it, in processes of its own.
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json.h"
#include "base/rng.h"

namespace lathe {
namespace {

struct Outcome {
  int code = 0;  // 128 + signal where one ended it
  std::string out, error;
};

std::string content(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class Command : public testing::Test {
 protected:
  Command() {
    std::string name = (std::filesystem::temp_directory_path() / "lathe-command-XXXXXX").string();
    folder_ = mkdtemp(name.data());
    setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
  }
  ~Command() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  pid_t start(std::vector<std::string> words) {
    words.insert(words.begin(), LATHE_COMMAND);
    words.insert(words.end(), {"--db", folder_ + "/records.db"});
    const pid_t child = fork();
    if (child != 0) return child;
    std::vector<char*> argv;
    for (auto& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    redirect("out", 1);
    redirect("err", 2);
    execv(LATHE_COMMAND, argv.data());
    _exit(127);
  }
  Outcome finish(pid_t child) const {
    int status = 0;
    waitpid(child, &status, 0);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), content(folder_ + "/out"), content(folder_ + "/err")};
  }
  Outcome lathe(const std::vector<std::string>& words) { return finish(start(words)); }
  static std::vector<std::string> with(std::vector<std::string> words, const std::vector<std::string>& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  Json json_of(const Outcome& outcome) {
    const auto json = parse_json(outcome.out);
    EXPECT_TRUE(json.has_value()) << outcome.out << outcome.error;
    return json ? *json : Json();
  }
  // The records of the run: no index and no configuration twice.
  int recorded() {
    std::istringstream lines(lathe({"export"}).out);
    std::set<int> indices;
    std::set<std::string> configs;
    int count = 0;
    for (std::string line; std::getline(lines, line); ++count) {
      const Json record = *parse_json(line);
      EXPECT_TRUE(indices.insert(record["index"].get<int>()).second);
      EXPECT_TRUE(configs.insert(record["config"].dump()).second) << "trial repeated";
    }
    return count;
  }

  std::string folder_;
  // Prime sizes: every tile has a tail.
  const std::vector<std::string> workload_ = {"C[i,j] = sum(k) A[k,i] * B[k,j]", "--shape", "A=31,37", "--shape", "B=31,29"};

 private:
  void redirect(const std::string& name, int to) const {
    const int file = open((folder_ + "/" + name).c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(file, to);
    close(file);
  }
};

TEST_F(Command, TunesAndUsesWhatItFound) {
  const auto tune = with(with({"tune"}, workload_), {"--trials", "12", "--json"});
  const Outcome first = lathe(tune);
  ASSERT_EQ(first.code, 0) << first.error;
  const Json result = json_of(first);
  EXPECT_EQ(result["trials"], 12);
  EXPECT_EQ(result["wrong"], 0);
  EXPECT_EQ(result["failed"], 0);
  EXPECT_GT(result["best"]["seconds"].get<double>(), 0);
  EXPECT_GT(result["best"]["gflops"].get<double>(), 0);
  EXPECT_TRUE(result["best"]["trace"].is_array());
  EXPECT_TRUE(result["best"]["raced"].get<bool>());
  for (const char* member : {"workload", "target", "seconds"}) EXPECT_TRUE(result.contains(member)) << member;
  EXPECT_EQ(recorded(), 12);

  // The same command goes on: there is nothing left to do.
  EXPECT_EQ(json_of(lathe(tune))["resumed"], 12);
  EXPECT_EQ(recorded(), 12);

  const Json best = json_of(lathe(with(with({"best"}, workload_), {"--json"})));
  EXPECT_EQ(best["trace"], result["best"]["trace"]);
  EXPECT_NE(lathe(with({"trials"}, workload_)).out.find("(raced)"), std::string::npos);

  for (const char* schedule : {"naive", "default", "best"}) {
    const Outcome bench = lathe(with(with({"bench"}, workload_), {"--schedule", schedule, "--json"}));
    ASSERT_EQ(bench.code, 0) << bench.error;
    EXPECT_GT(json_of(bench)["gflops"].get<double>(), 0);
    EXPECT_LT(json_of(bench)["error"].get<double>(), 2e-5);
  }

  // Export, and import elsewhere: the best is the same.
  const std::string lines = folder_ + "/records.jsonl";
  std::ofstream(lines) << lathe({"export"}).out;
  std::filesystem::remove(folder_ + "/records.db");
  EXPECT_EQ(lathe({"import", lines}).out, "12 trials imported, 0 were already there\n");
  EXPECT_EQ(json_of(lathe(with(with({"best"}, workload_), {"--json"})))["trace"], result["best"]["trace"]);
}

TEST_F(Command, CompilesALibraryWithAnExample) {
  const std::string library = folder_ + "/my-product.so";
  const Outcome compiled = lathe(with(with({"compile"}, workload_), {"--schedule", "default", "-o", library}));
  ASSERT_EQ(compiled.code, 0) << compiled.error;
  const std::string build = "cd " + folder_ + " && cc my_product_example.c -I. ./my-product.so -o example && ./example > printed";
  ASSERT_EQ(std::system(build.c_str()), 0) << content(folder_ + "/my_product_example.c");
  // Input e of a tensor is (e % 17) / 16 - 1/2.
  double want = 0;
  for (int k = 0; k < 31; ++k) want += ((k * 37) % 17 / 16.0 - 0.5) * ((k * 29) % 17 / 16.0 - 0.5);
  std::istringstream printed(content(folder_ + "/printed"));
  std::string name, equals;
  double got = 0;
  printed >> name >> equals >> got;
  EXPECT_EQ(name, "C[0]");
  EXPECT_NEAR(got, want, 1e-4);
}

TEST_F(Command, AnInterruptEndsARunCleanly) {
  const pid_t child = start(with(with({"tune"}, workload_), {"--trials", "100000", "--json"}));
  // Until the first trials are reported.
  for (int i = 0; i < 1200 && content(folder_ + "/err").find("best ") == std::string::npos; ++i) usleep(50'000);
  kill(child, SIGINT);
  const Outcome outcome = finish(child);
  ASSERT_EQ(outcome.code, 0) << outcome.error;
  const Json result = json_of(outcome);
  EXPECT_TRUE(result["interrupted"].get<bool>());
  EXPECT_GT(result["trials"], 0);
  EXPECT_EQ(recorded(), result["trials"]);
}

TEST_F(Command, KilledAtRandomMomentsItLosesAndRepeatsNothing) {
  const auto tune = with(with({"tune"}, workload_), {"--trials", "60", "--search", "random", "--model", "none", "--json"});
  Rng rng(11);
  int before = 0;
  for (int round = 0; round < 5; ++round) {
    const pid_t child = start(tune);
    usleep(static_cast<useconds_t>(400'000 + rng.below(1'600'000)));
    kill(child, SIGKILL);
    finish(child);
    if (!std::filesystem::exists(folder_ + "/records.db")) continue;
    const int now = recorded();
    EXPECT_GE(now, before);
    before = now;
  }
  const Outcome last = lathe(tune);
  ASSERT_EQ(last.code, 0) << last.error;
  EXPECT_EQ(json_of(last)["trials"], 60);
  EXPECT_EQ(json_of(last)["resumed"], before);
  EXPECT_EQ(recorded(), 60);
}

}  // namespace
}  // namespace lathe
