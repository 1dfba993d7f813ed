// Models tuned and compiled by the command.
#include <algorithm>
#include <fstream>

#include "support/onnx_writer.h"
#include "unit/cli/command.h"

namespace lathe {
namespace {

// A product of prime sizes, with what follows it, twice with equal sizes.
std::string written(const test::TemporaryFolder& folder) {
  const std::vector<float> weight(17 * 17, 0.25F);
  const std::string path = folder.at("model.onnx");
  std::ofstream(path, std::ios::binary) << test::model(
      {{test::node("MatMul", {"x", "w"}, {"a"}), test::node("Relu", {"a"}, {"b"}),
        test::node("MatMul", {"b", "v"}, {"c"}), test::node("Relu", {"c"}, {"d"}),
        test::node("MatMul", {"d", "w"}, {"e"}), test::node("Sigmoid", {"e"}, {"y"})},
       {test::tensor("w", {17, 17}, weight), test::tensor("v", {17, 17}, weight)},
       {test::value_info("x", {"rows", "17"})},
       {test::value_info("y", {"rows", "17"})}});
  return path;
}

TEST_F(Command, TunesAModel) {
  const std::string path = written(folder_);
  const std::vector<std::string> model = {path, "--shape", "rows=13"};
  const Outcome tuned = lathe(with(with({"tune"}, model), {"--trials", "12", "--json"}));
  ASSERT_EQ(tuned.code, 0) << tuned.error;
  const Json json = json_of(tuned);
  ASSERT_EQ(json["tasks"].size(), 2U) << tuned.out;
  int trials = 0;
  for (const Json& task : json["tasks"]) {
    trials += task["trials"].get<int>();
    EXPECT_GT(task["best_seconds"], 0);
    EXPECT_LE(task["best_seconds"], task["default_seconds"]);
    EXPECT_EQ(task["count"], task["task"] == "MatMul+Relu f32[13,17]" ? 2 : 1);
  }
  EXPECT_GE(trials, 12);
  const auto stored = [&] {
    const std::string lines = lathe({"export"}).out;
    return std::ranges::count(lines, '\n');
  };
  EXPECT_EQ(stored(), trials);

  // The same command has nothing left to do, and finds what there is.
  const Outcome again = lathe(with(with({"tune"}, model), {"--trials", "12"}));
  ASSERT_EQ(again.code, 0) << again.error;
  EXPECT_EQ(stored(), trials);
  EXPECT_NE(again.out.find("in its tasks a run takes"), std::string::npos) << again.out;

  const Outcome compiled = lathe(with(with({"compile"}, model), {"-o", folder_.at("model.so")}));
  ASSERT_EQ(compiled.code, 0) << compiled.error;
  EXPECT_NE(compiled.error.find("3 nodes, 2 programs, 2 of them tuned"), std::string::npos)
      << compiled.error;
}

}  // namespace
}  // namespace lathe
