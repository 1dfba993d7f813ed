#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lathe/lathe.h"
#include "support/temporary_folder.h"

namespace lathe {
namespace {

constexpr int kM = 13, kN = 17, kK = 11;

class Library : public testing::Test {
 protected:
  Library() {
    setenv("LATHE_LIBEXEC", LATHE_HELPERS, 1);
    setenv("XDG_CACHE_HOME", folder_.path().c_str(), 1);
    machine_.database = folder_.at("records.db");
    for (int i = 0; i < kK * kM; ++i) a_[i] = static_cast<float>(i % 7 - 3);
    for (int i = 0; i < kK * kN; ++i) b_[i] = static_cast<float>(i % 5 - 2);
    for (int i = 0; i < kM; ++i)
      for (int j = 0; j < kN; ++j) {
        want_[i * kN + j] = 0;
        for (int k = 0; k < kK; ++k) want_[i * kN + j] += a_[k * kM + i] * b_[k * kN + j];
      }
  }
  static Workload matmul(std::vector<std::string> constants = {}, bool free_layout = false) {
    auto made = Workload::parse("C[i,j] = sum(k) A[k,i] * B[k,j]",
                                {.shapes = {{"A", {kK, kM}}, {"B", {kK, kN}}},
                                 .constants = std::move(constants),
                                 .free_layout = free_layout});
    EXPECT_TRUE(made.has_value()) << made.error().text();
    return *made;
  }
  void expect_right(Program& program) {
    std::vector<float> c(kM * kN, NAN);
    const void* inputs[] = {a_, b_};
    void* outputs[] = {c.data()};
    const auto ran = program.run(inputs, outputs);
    ASSERT_TRUE(ran.has_value()) << ran.error().text();
    for (int i = 0; i < kM * kN; ++i)
      ASSERT_EQ(c[static_cast<std::size_t>(i)], want_[i]) << "element " << i;
  }

  const test::TemporaryFolder folder_;
  Machine machine_;
  float a_[kK * kM], b_[kK * kN], want_[kM * kN];
};

TEST_F(Library, DescribesAWorkload) {
  const Workload workload = matmul({"B"});
  EXPECT_DOUBLE_EQ(workload.flops(), 2.0 * kM * kN * kK);
  const auto inputs = workload.inputs();
  ASSERT_EQ(inputs.size(), 2U);
  EXPECT_EQ(inputs[0].name, "A");
  EXPECT_EQ(inputs[0].shape, (std::vector<std::int64_t>{kK, kM}));
  EXPECT_FALSE(inputs[0].constant);
  EXPECT_TRUE(inputs[1].constant);
  EXPECT_EQ(workload.outputs()[0].name, "C");
  EXPECT_NE(workload.key(), matmul().key());
  EXPECT_EQ(Workload::named("C6")->inputs()[0].shape, (std::vector<std::int64_t>{1, 128, 28, 28}));
  EXPECT_EQ(Workload::named("matmul", {{"m", "3"}, {"n", "4"}, {"k", "5"}})->flops(), 120);
}

TEST_F(Library, BordersAreAsCallersExpectThem) {
  using Shape = std::vector<std::int64_t>;
  const auto grouped = Workload::named(
      "conv2d",
      {{"input", "1,8,5,7"}, {"weight", "12,2,3,3"}, {"groups", "4"}, {"epilogue", "residual"}});
  ASSERT_TRUE(grouped.has_value()) << grouped.error().text();
  EXPECT_EQ(grouped->inputs()[0].shape, (Shape{1, 8, 5, 7}));
  EXPECT_EQ(grouped->inputs()[1].shape, (Shape{12, 2, 3, 3}));
  EXPECT_EQ(grouped->inputs()[2].shape, (Shape{1, 12, 3, 5}));
  EXPECT_EQ(grouped->outputs()[0].shape, (Shape{1, 12, 3, 5}));
  // Group g of the output is of group g of the input: with X and W all ones but for what tells the
  // channels apart.
  auto program = grouped->compile("default", machine_);
  ASSERT_TRUE(program.has_value()) << program.error().text();
  std::vector<float> x(8 * 35), w(12 * 18, 1), residual(12 * 15), y(12 * 15);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(1 << (i / 35));
  for (std::size_t i = 0; i < residual.size(); ++i) residual[i] = static_cast<float>(i);
  const void* inputs[] = {x.data(), w.data(), residual.data()};
  void* outputs[] = {y.data()};
  ASSERT_TRUE(program->prepare(inputs).has_value());
  ASSERT_TRUE(program->run(inputs, outputs).has_value());
  for (std::size_t i = 0; i < y.size(); ++i) {
    const std::size_t group = i / 15 / 3;
    ASSERT_EQ(y[i], static_cast<float>(9 * (3 << (2 * group)) + static_cast<int>(i)))
        << "element " << i;
  }
}

TEST_F(Library, FailuresAreValues) {
  const auto bad = Workload::parse("C[i] = A[i");
  ASSERT_FALSE(bad.has_value());
  EXPECT_EQ(bad.error().kind, "invalid-argument");
  EXPECT_NE(bad.error().place.find("line 1, column"), std::string::npos);
  const auto missing = matmul().best(machine_);
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().kind, "not-found");
  EXPECT_FALSE(matmul().compile("best", machine_).has_value());
  EXPECT_FALSE(matmul().compile("fastest", machine_).has_value());
  EXPECT_FALSE(matmul().compile("[{\"step\": \"none\"}]", machine_).has_value());
  EXPECT_FALSE(matmul().tune({.trials = 1, .model = "magic", .machine = machine_}).has_value());
  EXPECT_FALSE(matmul().tune({.trials = 1, .space = "huge", .machine = machine_}).has_value());
}

TEST_F(Library, ProgramsComputeTheRightThing) {
  for (const char* schedule : {"naive", "default"})
    for (const bool free_layout : {false, true}) {
      SCOPED_TRACE(std::string(schedule) + (free_layout ? ", free" : ", plain"));
      auto program = matmul({}, free_layout).compile(schedule, machine_);
      ASSERT_TRUE(program.has_value()) << program.error().text();
      expect_right(*program);
    }
}

TEST_F(Library, ConstantsArePreparedOnce) {
  auto program = matmul({"B"}).compile("default", machine_);
  ASSERT_TRUE(program.has_value()) << program.error().text();
  std::vector<float> c(kM * kN);
  const void* inputs[] = {a_, b_};
  void* outputs[] = {c.data()};
  EXPECT_NE(program->run(inputs, outputs).error().message.find("call prepare() before run()"),
            std::string::npos);
  ASSERT_TRUE(program->prepare(inputs).has_value());
  expect_right(*program);
  // After one that failed, too.
  EXPECT_FALSE(program->prepare(std::span(inputs).first(1)).has_value());
  EXPECT_NE(program->run(inputs, outputs).error().message.find("call prepare() before run()"),
            std::string::npos);
  ASSERT_TRUE(program->prepare(inputs).has_value());
  EXPECT_FALSE(program->run(std::span(inputs).first(1), outputs).has_value());
  EXPECT_FALSE(program->run(inputs, {}).has_value());
}

TEST_F(Library, WhatIsGivenOutWasChecked) {
  // The digits that a thousand takes are missing in the difference.
  const auto strict =
      Workload::parse("C[i,j] = ((sum(k) A[k,i] * B[k,j]) + 1000) - 1000",
                      {.shapes = {{"A", {kK, kM}}, {"B", {kK, kN}}}, .max_error = 1e-7});
  ASSERT_TRUE(strict.has_value());
  const std::string path = folder_.at("strict.so");
  const auto program = strict->compile("default", machine_);
  ASSERT_FALSE(program.has_value());
  EXPECT_NE(program.error().message.find("the program is not given out, as its check failed: "),
            std::string::npos);
  EXPECT_FALSE(strict->write_library(path, "default", machine_).has_value());
  EXPECT_FALSE(std::filesystem::exists(path));
  auto unchecked = strict->compile("default", machine_, Check::kSkip);
  ASSERT_TRUE(unchecked.has_value()) << unchecked.error().text();
  expect_right(*unchecked);
  EXPECT_TRUE(strict->write_library(path, "default", machine_, Check::kSkip).has_value());
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST_F(Library, AMaxErrorThatNoTypeHoldsIsRefused) {
  const auto refused = Workload::parse(
      "B[i] = A[i] * 3", {.shapes = {{"A", {8}}}, .dtypes = {{"A", "f64"}}, .max_error = 1e-44});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().text(),
            "--max-error: no f64 is as accurate as a max_error of 1e-44 asks, and B is of that "
            "type; the least that can be asked for is 1.2e-16");
}

TEST_F(Library, FilesWithoutANameAreRefused) {
  EXPECT_NE(matmul().write_library("", "default", machine_).error().message.find("no file name"),
            std::string::npos);
}

// Y of X by the default schedule, without factors and summands.
std::vector<float> normed(const char* op, std::map<std::string, std::string> flags,
                          const std::vector<float>& x, const Machine& machine) {
  flags["no-scale"] = flags["no-shift"] = "";
  const auto workload = Workload::named(op, flags);
  EXPECT_TRUE(workload.has_value()) << workload.error().text();
  auto program = workload->compile("default", machine);
  EXPECT_TRUE(program.has_value()) << program.error().text();
  std::vector<float> y(x.size(), NAN);
  const void* inputs[] = {x.data()};
  void* outputs[] = {y.data()};
  EXPECT_TRUE(program->run(inputs, outputs).has_value());
  return y;
}

TEST_F(Library, NormsOfConstantRowsAreZero) {
  for (const float c : {1e3F, 0.1F, 3.3333F, -1e4F, 7e30F, 0.0F, 1e-40F}) {
    const std::vector<float> x(6 * 37 * 4, c), zeros(x.size(), 0);
    EXPECT_EQ(normed("layer_norm", {{"input", "24,37"}}, x, machine_), zeros) << c;
    EXPECT_EQ(normed("layer_norm", {{"input", "24,37"}, {"axes", "0"}}, x, machine_), zeros) << c;
    EXPECT_EQ(normed("group_norm", {{"input", "4,6,37"}, {"groups", "2"}}, x, machine_), zeros)
        << c;
    EXPECT_EQ(normed("group_norm", {{"input", "4,6,37"}, {"groups", "6"}}, x, machine_), zeros)
        << c;
  }
}

TEST_F(Library, NormsKeepTheirDigitsWhereTheMeanIsLarge) {
  constexpr int kRows = 9, kTerms = 301;
  std::mt19937 random(1);
  std::vector<float> x(kRows * kTerms);
  for (float& value : x) {
    value = 1e4F;
    for (int i = 0; i < 12; ++i)
      value += static_cast<float>(random()) / 4294967296.0F - 0.5F;  // deviation 1
  }
  const auto y = normed("layer_norm", {{"input", "9,301"}}, x, machine_);
  for (int row = 0; row < kRows; ++row) {
    const float* from = &x[static_cast<std::size_t>(row * kTerms)];
    double mean = 0, variance = 0;
    for (int k = 0; k < kTerms; ++k) mean += static_cast<double>(from[k]) / kTerms;
    for (int k = 0; k < kTerms; ++k) variance += (from[k] - mean) * (from[k] - mean) / kTerms;
    for (int k = 0; k < kTerms; ++k)
      ASSERT_NEAR(y[static_cast<std::size_t>(row * kTerms + k)],
                  (from[k] - mean) / std::sqrt(variance + 1e-5), 5e-6);
  }
}

TEST_F(Library, TunesCompilesAndRuns) {
  const Workload workload = matmul();
  int events = 0;
  const auto found =
      workload.tune({.trials = 8, .machine = machine_}, [&](const TuneProgress&) { ++events; });
  ASSERT_TRUE(found.has_value()) << found.error().text();
  EXPECT_EQ(found->trials, 8);
  ASSERT_TRUE(found->best.has_value());
  EXPECT_GT(events, 0);
  const auto best = workload.best(machine_);
  ASSERT_TRUE(best.has_value() && best->has_value());
  EXPECT_EQ((*best)->trace, found->best->trace);
  for (const std::string& schedule : {std::string("best"), found->best->trace}) {
    auto program = workload.compile(schedule, machine_);
    ASSERT_TRUE(program.has_value()) << program.error().text();
    expect_right(*program);
  }
  EXPECT_EQ((*best)->threads, Machine::usual_threads().first);
}

TEST_F(Library, WhatIsRecordedForFewerThreadsServes) {
  setenv("OMP_NUM_THREADS", "1", 1);
  const auto [usual, why] = Machine::usual_threads();
  unsetenv("OMP_NUM_THREADS");
  EXPECT_EQ(usual, 1);
  EXPECT_NE(why.find("this process may use "), std::string::npos) << why;

  const Workload workload = matmul();
  machine_.threads = usual;
  ASSERT_TRUE(workload.tune({.trials = 4, .machine = machine_}).has_value());
  machine_.threads = 3;
  const auto best = workload.best(machine_);
  ASSERT_TRUE(best.has_value() && best->has_value());
  EXPECT_EQ((*best)->threads, 1);
  auto program = workload.compile("best", machine_);
  ASSERT_TRUE(program.has_value()) << program.error().text();
  expect_right(*program);
  const std::string path = folder_.at("fewer.so");
  ASSERT_TRUE(workload.write_library(path, "best", machine_).has_value());
  std::ostringstream header;
  header << std::ifstream(folder_.at("fewer.h")).rdbuf();
  EXPECT_NE(header.str().find("NULL: up to 1 thread,"), std::string::npos);

  machine_.threads = -1;
  EXPECT_EQ(workload.compile("default", machine_).error().text(),
            "--threads: from 1 to 1024 threads, not -1");
  machine_.threads = 1000;
  EXPECT_TRUE(workload.tune({.trials = 1, .machine = machine_})
                  .error()
                  .text()
                  .starts_with("--threads: 1000 threads cannot be timed on the "));
}

}  // namespace
}  // namespace lathe
