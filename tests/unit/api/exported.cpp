// What `compile` writes: files of one stem, an example that C99 compiles without a warning, and one
// name for each tensor.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "api/artifact.h"
#include "api/targets.h"
#include "api/workload.h"
#include "support/temporary_folder.h"

namespace lathe::api {
namespace {

std::string content(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class Exported : public testing::Test {
 protected:
  ArtifactFiles write(const std::string& expression, const std::string& dtype,
                      const std::string& path, const std::string& name = "") const {
    WorkloadRequest request;
    request.text = expression;
    if (expression.find("X[") != std::string::npos)
      request.shapes = {"X=20"}, request.dtypes = {dtype};
    const auto workload = make_workload(request);
    if (!workload) throw std::runtime_error(workload.error().text());
    auto files = write_artifact(workload->definition, {{}, *make_target("cpu:host", 1), {}, ""},
                                {folder_.at(path), name, Checking::kSkip});
    if (!files) throw std::runtime_error(files.error().text());
    return *files;
  }
  // The numbers that the example prints, after the names of their elements.
  std::vector<std::string> printed(const std::string& expression, const std::string& dtype) const {
    write(expression, dtype, "lib.so");
    const std::string line = fmt::format(
        "cd {} && {} -std=c99 -Wall -Wextra -pedantic -Werror lib_example.c -I. ./lib.so -o "
        "example && ./example > out",
        folder_.path().string(), LATHE_CC);
    EXPECT_EQ(std::system(line.c_str()), 0) << content(folder_.at("lib_example.c"));
    std::ifstream out(folder_.at("out"));
    std::vector<std::string> numbers;
    for (std::string name, equals, number; out >> name >> equals >> number;
         numbers.push_back(number))
      EXPECT_EQ(name, fmt::format("Y[{}]", numbers.size()));
    return numbers;
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
      names.push_back(entry.path().filename());
    std::ranges::sort(names);
    return names;
  }
  const test::TemporaryFolder folder_;
};

TEST_F(Exported, TheExampleFillsAndPrintsEveryElementType) {
  const std::vector<std::string> floats = {"-1",   "-0.875", "-0.75", "-0.625",
                                           "-0.5", "-0.375", "-0.25", "-0.125"};
  const std::vector<std::string> integers = {"-6", "-4", "-2", "0", "2", "4", "6", "-6"};
  for (const char* dtype : {"f32", "f64", "f16", "bf16"})
    EXPECT_EQ(printed("Y[i] = X[i] + X[i]", dtype), floats) << dtype;
  for (const char* dtype : {"i8", "i16", "i32", "i64"})
    EXPECT_EQ(printed("Y[i] = X[i] + X[i]", dtype), integers) << dtype;
  for (const char* dtype : {"u8", "u16", "u32"})
    EXPECT_EQ(printed("Y[i] = X[i] + X[i]", dtype),
              (std::vector<std::string>{"0", "2", "4", "6", "8", "10", "12", "0"}));
  EXPECT_EQ(printed("Y[i] = X[i]", "bool"),
            (std::vector<std::string>{"0", "1", "0", "1", "0", "1", "0", "1"}));
  EXPECT_EQ(printed("Y[i:3] = f32(i)", "f32").size(), 3U)
      << "no inputs, fewer numbers than are shown";
}

TEST_F(Exported, TheExamplePrintsSmallAndInfiniteHalves) {
  EXPECT_EQ(printed("Y[i] = (X[i] * 65504) * 65504", "f16").front(), "-inf");
  // -1/2, twice by 2^-10: below the smallest normal number of f16.
  EXPECT_EQ(printed("Y[i] = (X[i] * 0.0009765625) * 0.0009765625", "f16").front(), "-4.76837e-07");
}

TEST_F(Exported, FilesBesideOneAnotherHaveOneStem) {
  const auto named = write("Y[i] = X[i]", "f32", "C6.so", "k");
  EXPECT_EQ(named.name, "k");
  EXPECT_EQ(files(), (std::vector<std::string>{"C6.h", "C6.so", "C6_example.c"}));
  for (const char* file : {"C6.h", "C6_example.c"})
    EXPECT_NE(content(folder_.at(file)).find("lathe_k_run("), std::string::npos) << file;
  EXPECT_NE(
      content(folder_.at("C6_example.c")).find("cc ./C6_example.c -I. ./C6.so -o ./C6_example"),
      std::string::npos);
  std::filesystem::remove_all(folder_.path());
  std::filesystem::create_directory(folder_.path());
  EXPECT_EQ(write("Y[i] = X[i]", "f32", "my-product.so").name, "my_product");
  write("Y[i] = X[i]", "f32", "-a b's.so");
  const std::string example = content(folder_.at("-a b's_example.c"));
  const std::size_t command = example.find("cc "), end = example.find(" */", command);
  ASSERT_NE(end, std::string::npos) << example;
  const std::string line = "cd '" + folder_.path().string() + "' && " +
                           example.substr(command, end - command) + " > printed";
  EXPECT_EQ(std::system(line.c_str()), 0) << line;
  for (const std::string& file : files())
    if (file.find("a b's") != std::string::npos || file == "printed")
      std::filesystem::remove(folder_.path() / file);
  EXPECT_EQ(files(),
            (std::vector<std::string>{"my-product.h", "my-product.so", "my-product_example.c"}));
}

TEST_F(Exported, TheExampleCompilesWhateverItsFileIsCalled) {
  for (const char* stem :
       {"two words", "it's", "$(echo)", "a(b)[c]{d}%s;&|#!~", "<x>", "-o", "9"}) {
    const ArtifactFiles files = write("Y[i] = X[i] + X[i]", "f32", fmt::format("{}.so", stem));
    // The line that the example itself tells, with the compiler of the tests and all its warnings.
    const std::string text = content(files.example);
    const auto begin = text.find(" cc ") + 4, end = text.find(" && ", begin);
    const std::string line = fmt::format(
        "cd {} && {} -std=c99 -Wall -Wextra -pedantic -Werror {}{} > out", folder_.path().string(),
        LATHE_CC, text.substr(begin, end - begin), text.substr(end, text.find(" */", end) - end));
    ASSERT_EQ(std::system(line.c_str()), 0) << line << "\n" << text;
    EXPECT_TRUE(content(folder_.at("out")).starts_with("Y[0] = -1\n")) << stem;
  }
}

TEST_F(Exported, FileNamesThatCCannotSayAreRefused) {
  for (const char* stem : {"say \"x\"", "a\\b", "a\nb", "*", "a??/b"}) try {
      write("Y[i] = X[i] + X[i]", "f32", fmt::format("{}.so", stem));
      ADD_FAILURE() << stem;
    } catch (const std::runtime_error& refused) {
      const bool of_characters =
          std::string_view(refused.what()).contains("control characters mean something else");
      EXPECT_EQ(of_characters, !std::string_view(stem).contains('/')) << refused.what();
    }
  EXPECT_TRUE(files().empty());
}

TEST_F(Exported, TheHeaderConnectsItsNamesWithThoseOfRecords) {
  write("Y[i] = X[i]", "f32", "lib.so");
  EXPECT_NE(
      content(folder_.at("lib.h")).find(" * Lathe's records and traces say A for X, B for Y.\n"),
      std::string::npos)
      << content(folder_.at("lib.h"));
  EXPECT_NE(content(folder_.at("lib.h")).find("was not checked, as was asked"), std::string::npos);
}

}  // namespace
}  // namespace lathe::api
