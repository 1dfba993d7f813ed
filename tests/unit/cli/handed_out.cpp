// What `compile` and `bench` give out was checked, or says that it was not.
#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include <unistd.h>

#include "unit/cli/command.h"

namespace lathe {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kAddOne = {"Y[i] = X[i] + 1", "--shape", "X=1009", "--schedule",
                                          "default"};

class HandedOut : public Command {
 protected:
  // The command in a folder of its own, beside which there are these helpers; where the others are,
  // it does not know.
  Outcome alone(const std::string& helpers, const std::vector<std::string>& words) const {
    const fs::path folder = folder_.at("alone");
    fs::create_directories(folder);
    if (!fs::exists(folder / "lathe")) fs::copy(LATHE_COMMAND, folder / "lathe");
    std::string line = "cd " + folder_.path().string() +
                       " && env -u LATHE_LIBEXEC TMPDIR=" + folder_.path().string();
    if (!helpers.empty()) line += " LATHE_LIBEXEC=" + helpers;
    line += " " + (folder / "lathe").string();
    for (const auto& word : words) line += " '" + word + "'";
    const int status = std::system((line + " >out 2>err").c_str());
    return {WEXITSTATUS(status), content(folder_.at("out")), content(folder_.at("err"))};
  }
  std::vector<std::string> compile(const std::string& file,
                                   const std::vector<std::string>& more = {}) const {
    return with(with(with({"compile"}, kAddOne), more), {"-o", folder_.at(file)});
  }
  std::int64_t remembered() const {
    return std::ranges::count(content(folder_.at("lathe/checked-programs")), '\n');
  }
  bool header_says(const std::string& file, const std::string& part) const {
    std::string text = content(folder_.at(file));
    // as one line
    for (std::size_t at = 0; (at = text.find("\n *", at)) != std::string::npos;) text.erase(at, 3);
    return text.find(part) != std::string::npos;
  }
};

TEST_F(HandedOut, IsCheckedOnceForEachProgram) {
  ASSERT_EQ(lathe(compile("a.so")).code, 0);
  EXPECT_EQ(remembered(), 1);
  EXPECT_TRUE(header_says("a.h", "The program was checked on ")) << content(folder_.at("a.h"));
  EXPECT_TRUE(header_says("a.h", "outputs agree with a reference"));
  ASSERT_EQ(lathe(compile("b.so", {"--name", "other"})).code, 0);
  EXPECT_EQ(remembered(), 1) << "the same program under another name";
  EXPECT_TRUE(header_says("b.h", "The program was checked on "));
  // What is remembered needs no helpers; another program does.
  const Outcome again = alone("", compile("c.so"));
  EXPECT_EQ(again.code, 0) << again.error;
  EXPECT_TRUE(header_says("c.h", "The program was checked on "));
  const Outcome other = alone("", compile("d.so", {"--schedule", "naive"}));
  EXPECT_EQ(other.code, 1);
  EXPECT_NE(
      other.error.find(
          "the program is not given out, as its check failed: the program lathe-runner is not in"),
      std::string::npos)
      << other.error;
  EXPECT_NE(other.error.find("; without the check (--no-check) it is given out\n"),
            std::string::npos)
      << other.error;
  EXPECT_FALSE(fs::exists(folder_.at("d.so")));
  ASSERT_EQ(lathe(compile("d.so", {"--schedule", "naive"})).code, 0);
  EXPECT_EQ(remembered(), 2);
}

TEST_F(HandedOut, AWrongProgramIsNot) {
  const fs::path wrong = folder_.at("wrong");
  fs::create_directory(wrong);
  fs::create_symlink(fs::path(LATHE_COMMAND).parent_path() / "lathe-runner",
                     wrong / "lathe-runner");
  fs::create_symlink(LATHE_WRONG_BUILDER, wrong / "lathe-builder");
  for (const auto& words : {compile("wrong.so"), with(with({"bench"}, kAddOne), {"--serve"}),
                            with({"bench"}, kAddOne)}) {
    const Outcome outcome = alone(wrong, words);
    EXPECT_EQ(outcome.code, 1) << words.front();
    EXPECT_NE(outcome.error.find("the program computed "), std::string::npos) << outcome.error;
    EXPECT_NE(outcome.error.find("; please report it with "), std::string::npos) << outcome.error;
    EXPECT_EQ(outcome.out, "");
  }
  EXPECT_FALSE(fs::exists(folder_.at("wrong.so")));
  EXPECT_FALSE(fs::exists(folder_.at("wrong.h")));
  EXPECT_EQ(remembered(), 0);
  EXPECT_EQ(alone(wrong, compile("wrong.so", {"--no-check"})).code, 0);
  EXPECT_TRUE(header_says("wrong.h", "The program was not checked, as was asked (--no-check)."));
}

TEST_F(HandedOut, WhatIsInfiniteInItsTypeHidesNothing) {
  const Outcome outcome = lathe({"compile", "Y[i] = exp(X[i] * 1000)", "--shape", "X=101",
                                 "--schedule", "default", "-o", folder_.at("e.so")});
  EXPECT_EQ(outcome.code, 0) << outcome.error;
  EXPECT_TRUE(header_says("e.h", "each is within the bound of its roundings"));
}

TEST_F(HandedOut, NothingIsWrittenWhereTheCheckRefuses) {
  const auto strict =
      with({"compile", "Y[i] = (X[i] + 1000) - 1000", "--shape", "X=64"},
           {"--schedule", "default", "--max-error", "1e-7", "-o", folder_.at("s.so")});
  const Outcome outcome = lathe(strict);
  EXPECT_NE(outcome.code, 0);
  EXPECT_NE(outcome.error.find("--max-error allows 1e-07"), std::string::npos) << outcome.error;
  EXPECT_FALSE(fs::exists(folder_.at("s.so")) || fs::exists(folder_.at("s.h")) ||
               fs::exists(folder_.at("s_example.c")));
  EXPECT_EQ(lathe(with(strict, {"--no-check"})).code, 0);
}

TEST_F(HandedOut, OneForAnotherMachineSaysThatItWasNot) {
  const Outcome outcome = lathe(compile("x.so", {"--target", "cpu:cortex-a72;isa=aarch64"}));
  if (outcome.error.find("has no runtime for artifacts") != std::string::npos)
    GTEST_SKIP() << outcome.error;
  ASSERT_EQ(outcome.code, 0) << outcome.error;
  const std::string sentence =
      "he program was not checked: it is for cpu:cortex-a72;isa=aarch64;threads=1 and could not "
      "run where it was made";
  EXPECT_TRUE(header_says("x.h", "T" + sentence)) << content(folder_.at("x.h"));
  EXPECT_NE(outcome.error.find("lathe: t" + sentence), std::string::npos) << outcome.error;
  EXPECT_EQ(remembered(), 0);
}

TEST_F(HandedOut, MoreThreadsThanProcessorsAreCheckedToo) {
  ASSERT_EQ(lathe(compile("t.so", {"--threads", "64"})).code, 0);
  EXPECT_TRUE(header_says("t.h", "The program was checked on "));
}

TEST_F(HandedOut, BenchSaysWhetherItChecked) {
  const auto bench = with(with({"bench"}, kAddOne), {"--json"});
  const Json checked = json_of(lathe(bench)),
             unchecked = json_of(alone("", with(bench, {"--no-check"})));
  EXPECT_EQ(checked["checked"], true);
  EXPECT_TRUE(checked["error"].is_number());
  EXPECT_EQ(unchecked["checked"], false);
  EXPECT_TRUE(unchecked["error"].is_null());
  EXPECT_GT(unchecked["seconds"].get<double>(), 0);
  EXPECT_EQ(unchecked["tensors"], (Json{{"X", "A"}, {"Y", "B"}}));
}

}  // namespace
}  // namespace lathe
