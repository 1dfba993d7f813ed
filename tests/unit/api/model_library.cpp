// lathe::Model with what may be kept narrow: the installed header alone.
#include <cmath>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "lathe/model.h"
#include "support/onnx_writer.h"
#include "support/temporary_folder.h"

namespace lathe {
namespace {

class ModelLibrary : public testing::Test {
 protected:
  ModelLibrary() {
    setenv("LATHE_LIBEXEC", LATHE_HELPERS, 1);
    setenv("XDG_CACHE_HOME", folder_.path().c_str(), 1);
    machine_.database = folder_.at("records.db");
    machine_.threads = 1;
    // f16 rounds 1/3.
    const std::vector<float> weight(kIn * kOut, 1.0F / 3);
    std::ofstream(path_, std::ios::binary)
        << test::model({{test::node("MatMul", {"x", "w"}, {"y"})},
                        {test::tensor("w", {kIn, kOut}, weight)},
                        {test::value_info("x", {"batch", std::to_string(kIn)})},
                        {test::value_info("y", {"batch", std::to_string(kOut)})}});
  }
  Expected<Model> opened(const ModelExactness& exactness) const {
    return Model::open(path_, {{"batch", {1}}}, exactness);
  }
  // Bytes of a library that has the weights inside.
  std::uintmax_t written(const ModelExactness& exactness, Check check = Check::kOnce) const {
    const auto model = opened(exactness);
    EXPECT_TRUE(model) << model.error().text();
    const std::string library = folder_.at("net.so");
    const auto done = model->write_library(library, "default", machine_, check);
    EXPECT_TRUE(done) << done.error().text();
    return done ? std::filesystem::file_size(library) : 0;
  }
  void refused(const ModelExactness& exactness, const std::string& part) const {
    const auto model = opened(exactness);
    ASSERT_FALSE(model) << part;
    EXPECT_EQ(model.error().kind, "invalid-argument");
    EXPECT_NE(model.error().text().find(part), std::string::npos) << model.error().text();
  }

  // Less than a second cache holds.
  static constexpr int kIn = 251, kOut = 199;
  const test::TemporaryFolder folder_;
  const std::string path_ = folder_.at("net.onnx");
  Machine machine_;
};

TEST_F(ModelLibrary, KeepsWeightsInTheTypeThatIsAskedFor) {
  constexpr std::uintmax_t kHalf = kIn * kOut * 2;
  const auto wide = written({}), f16 = written({1e-2, "f16"}), bf16 = written({5e-2, "bf16"});
  EXPECT_GT(wide, 2 * kHalf);
  for (const auto narrow : {f16, bf16}) {
    EXPECT_GT(narrow, kHalf);
    EXPECT_LT(narrow, wide - kHalf + kHalf / 2);
  }
  EXPECT_EQ(written({1e-2, "f32"}), wide);
  EXPECT_EQ(written({1e-2}), wide) << "few weights wait for no memory";
}

TEST_F(ModelLibrary, TunesTheTasksOfNarrowWeights) {
  const auto model = opened({1e-2, "f16"});
  ASSERT_TRUE(model) << model.error().text();
  const auto tuned = model->tune({.trials = 4, .machine = machine_});
  ASSERT_TRUE(tuned) << tuned.error().text();
  ASSERT_EQ(tuned->tasks.size(), 1U);
  EXPECT_NE(tuned->tasks[0].key.find("f16["), std::string::npos) << tuned->tasks[0].key;
  EXPECT_GT(tuned->tasks[0].best_seconds, 0);
}

TEST_F(ModelLibrary, TunesWhatMayBeOneProgramAsBoth) {
  const std::string path = folder_.at("attention.onnx");
  std::ofstream(path, std::ios::binary) << test::model(
      {{test::node("MatMul", {"q", "k"}, {"scores"}), test::node("Softmax", {"scores"}, {"shares"}),
        test::node("MatMul", {"shares", "v"}, {"y"})},
       {},
       {test::value_info("q", {"383", "16"}), test::value_info("k", {"16", "385"}),
        test::value_info("v", {"385", "16"})},
       {test::value_info("y", {"383", "16"})}});
  const auto model = Model::open(path);
  ASSERT_TRUE(model) << model.error().text();
  const auto tuned = model->tune({.trials = 100, .machine = machine_});
  ASSERT_TRUE(tuned) << tuned.error().text();
  ASSERT_EQ(tuned->tasks.size(), 4U);
  int several = 0, one = 0;
  for (const ModelTask& task : tuned->tasks) {
    EXPECT_GT(task.trials, 0) << task.name;
    (task.name.starts_with("MatMul+Softmax+MatMul") ? one : several) += task.nodes;
  }
  EXPECT_EQ(several, one == 1 ? 0 : 3);
  const auto done = model->write_library(folder_.at("attention.so"), "best", machine_);
  EXPECT_TRUE(done) << done.error().text();
}

TEST_F(ModelLibrary, RefusesWhatCannotBe) {
  refused({0, "f8"}, "there is no type of weights \"f8\"; there are any, f32, f16, bf16");
  refused({0, ""}, "there is no type of weights \"\"");
  for (const double error : {-1e-2, std::nan(""), double{INFINITY}})
    refused({error}, "is no largest error of a model's outputs; give a number above 0");
  // What the bound does not allow is known when the weights are chosen.
  const auto model = opened({0, "f16"});
  ASSERT_TRUE(model) << model.error().text();
  const auto done = model->write_library(folder_.at("net.so"), "default", machine_);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, "invalid-argument");
  EXPECT_NE(done.error().text().find("outputs may differ by 0.0001; allow more"), std::string::npos)
      << done.error().text();
  EXPECT_FALSE(model->tune({.trials = 4, .machine = machine_}));
}

}  // namespace
}  // namespace lathe
