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
  EXPECT_EQ(trials, 12);
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

  const Outcome timed = lathe(with(with({"bench"}, model), {"--floors", "--json"}));
  ASSERT_EQ(timed.code, 0) << timed.error;
  const Json nodes = json_of(timed)["nodes"];
  for (const Json& node : nodes) {
    EXPECT_GT(node["floor_seconds"]["arithmetic"], 0) << node;
    EXPECT_GT(node["floor_seconds"]["memory"], 0) << node;
  }

  const Outcome shown = lathe(with(with({"show"}, model), {"--floors"}));
  ASSERT_EQ(shown.code, 0) << shown.error;
  EXPECT_NE(shown.out.find("\n2 of 2 tasks on record for cpu:"), std::string::npos) << shown.out;
  EXPECT_EQ(shown.out.find("recorded: none"), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find(", floor: "), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find("    recorded       floor  of          task\n"), std::string::npos)
      << shown.out;

  const std::string page = folder_.at("model.html");
  const Outcome reported = lathe(with(with({"report"}, model), {"--floors", "-o", page}));
  ASSERT_EQ(reported.code, 0) << reported.error;
  EXPECT_EQ(reported.out, page + ": 3 nodes of the model, 2 workloads\n");
  EXPECT_NE(content(page).find("all of them are on record"), std::string::npos);
  EXPECT_NE(content(page).find(", floor "), std::string::npos);

  const Outcome compiled = lathe(with(with({"compile"}, model), {"-o", folder_.at("model.so")}));
  ASSERT_EQ(compiled.code, 0) << compiled.error;
  EXPECT_NE(compiled.error.find("3 nodes, 2 programs, 2 of them tuned"), std::string::npos)
      << compiled.error;
}

// As numpy.save writes a row-major tensor of f32.
void save(const std::string& path, const std::string& shape, const std::vector<float>& elements) {
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + shape + "), }";
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  const std::string size = {static_cast<char>(header.size() & 255),
                            static_cast<char>(header.size() >> 8)};
  std::ofstream file(path, std::ios::binary);
  file << "\x93NUMPY" << '\x01' << '\0' << size << header;
  file.write(reinterpret_cast<const char*>(elements.data()),
             static_cast<std::streamsize>(elements.size() * sizeof(float)));
}

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_F(Command, RunsAModel) {
  const std::string path = written(folder_);
  const std::vector<std::string> model = {"run",    path,         "--shape",
                                          "rows=3", "--schedule", "default"};
  save(folder_.at("x.npy"), "3, 17", std::vector<float>(51, 0.0F));
  const Outcome ran = lathe(
      with(model, {"--input", "x=" + folder_.at("x.npy"), "-o", folder_.at("y.npy"), "--check"}));
  ASSERT_EQ(ran.code, 0) << ran.error;
  EXPECT_NE(ran.out.find("y: f32[3,17], from 0.5 to 0.5, 0.5 in the mean"), std::string::npos)
      << ran.out;
  EXPECT_NE(ran.out.find("the whole agrees with f64"), std::string::npos) << ran.out;
  save(folder_.at("half.npy"), "3, 17", std::vector<float>(51, 0.5F));
  EXPECT_EQ(bytes_of(folder_.at("y.npy")), bytes_of(folder_.at("half.npy")));

  const auto expecting = [&](const std::string& file) {
    return lathe(with(model, {"--input", folder_.at("x.npy"), "--expect", folder_.at(file)}));
  };
  EXPECT_EQ(expecting("half.npy").code, 0);
  std::vector<float> other(51, 0.5F);
  other[50] = 0.501F;
  save(folder_.at("other.npy"), "3, 17", other);
  const Outcome differs = expecting("other.npy");
  EXPECT_EQ(differs.code, 1);
  EXPECT_NE(differs.out.find("differs from"), std::string::npos) << differs.out;
}

TEST_F(Command, RefusesTensorsThatAreNotTheModels) {
  const std::string path = written(folder_);
  const auto refused = [&](const std::string& given) {
    const Outcome ran = lathe({"run", path, "--shape", "rows=3", "--input", given});
    EXPECT_NE(ran.code, 0) << given;
    return ran.error;
  };
  save(folder_.at("long.npy"), "4, 17", std::vector<float>(68, 0.0F));
  EXPECT_NE(
      refused(folder_.at("long.npy")).find("it is f32[4,17], and x of the model is f32[3,17]"),
      std::string::npos);
  save(folder_.at("cut.npy"), "3, 17", std::vector<float>(50, 0.0F));
  EXPECT_NE(refused(folder_.at("cut.npy")).find("cut off"), std::string::npos);
  std::ofstream(folder_.at("text.npy")) << "no tensor";
  EXPECT_NE(refused(folder_.at("text.npy")).find("no .npy file"), std::string::npos);
  EXPECT_NE(refused(folder_.at("none.npy")).find("none.npy"), std::string::npos);
  EXPECT_NE(refused(folder_.at("tensor.bin")).find(".npy"), std::string::npos);
}

}  // namespace
}  // namespace lathe
