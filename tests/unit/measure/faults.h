// Measuring with a builder that hands out hand-made candidates, faults among them.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "base/helper_path.h"
#include "compiler/te/parse.h"
#include "support/temporary_folder.h"
#include "tuner/measure/measure.h"

namespace lathe::measure {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Kills this process's runner; how many there were.
// The processes of runners that this one has started.
inline std::vector<int> runners() {
  std::vector<int> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "stat");
    std::string number, name, state;
    int parent = 0;
    if (!(file >> number >> name >> state >> parent)) continue;
    if (parent == ::getpid() && name.starts_with("(lathe-runner"))
      found.push_back(std::stoi(number));
  }
  return found;
}
inline int kill_runner() {
  int killed = 0;
  for (const int runner : runners()) killed += ::kill(runner, SIGKILL) == 0 ? 1 : 0;
  return killed;
}

class Faults : public testing::Test {
 protected:
  Faults() {
    ::setenv("LATHE_TEST_FOLDER", folder_.path().c_str(), 1);
    ::unsetenv("LATHE_TEST_REFERENCE");
    options_.builder = *find_helper("fake_builder");
    options_.cache_folder = "-";
    options_.reproducer_folder = folder_.path().string();
    options_.timeout_seconds = 1;
    options_.min_seconds = 0.0005;
    options_.memory_bytes = std::int64_t{1} << 32;
  }

  std::unique_ptr<Measurer> make() {
    const auto workload =
        te::parse_workload("A: f32[11, 13]; B: f32[11, 17]; C[i,j] = sum(k) A[k,i] * B[k,j]");
    auto measurer = make_measurer(*workload, *parse_target("cpu:test"), options_);
    EXPECT_TRUE(measurer.has_value()) << measurer.error().text();
    return std::move(*measurer);
  }

  static Candidate candidate(int tag, const std::string& name) {
    return {tag, {schedule::Split{name, std::int64_t{2}, "o", "i"}}};
  }

  // Outcomes by tag; names[i] has tag i.
  std::map<int, Outcome> measure(Measurer& measurer, const std::vector<std::string>& names,
                                 double best = kInfinity) {
    std::vector<Candidate> batch;
    for (std::size_t i = 0; i < names.size(); ++i)
      batch.push_back(candidate(static_cast<int>(i), names[i]));
    std::map<int, Outcome> outcomes;
    const auto status = measurer.measure(
        batch, best,
        [&](Outcome outcome) { EXPECT_TRUE(outcomes.emplace(outcome.tag, outcome).second); },
        [] { return false; });
    EXPECT_TRUE(status.has_value()) << status.error().text();
    return outcomes;
  }

  // The fault, between two candidates that must come out well.
  Outcome one(const std::string& name) {
    const auto measurer = make();
    const auto outcomes = measure(*measurer, {"good@1", name, "good@2"});
    EXPECT_EQ(outcomes.size(), 3U);
    for (const int tag : {0, 2}) {
      EXPECT_FALSE(outcomes.at(tag).error.has_value()) << outcomes.at(tag).error->text();
      EXPECT_GT(outcomes.at(tag).seconds, 0);
    }
    return outcomes.at(1);
  }
  void expect_error(const std::string& name, ErrorKind kind, const std::string& words) {
    SCOPED_TRACE(name);
    const Outcome outcome = one(name);
    ASSERT_TRUE(outcome.error.has_value());
    EXPECT_EQ(name_of(outcome.error->kind), name_of(kind)) << outcome.error->text();
    EXPECT_NE(outcome.error->text().find(words), std::string::npos) << outcome.error->text();
    EXPECT_TRUE(outcome.visits.empty());
  }

  const test::TemporaryFolder folder_;
  Options options_;
};

}  // namespace lathe::measure
