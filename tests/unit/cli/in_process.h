// The command in this process, for what needs no other: what it prints, and how it refuses.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cli/application.h"
#include "support/temporary_folder.h"

namespace lathe::cli {

struct Outcome {
  int code;
  std::string out, error;
};

inline Outcome lathe(std::vector<const char*> words) {
  words.insert(words.begin(), "lathe");
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int code = run(static_cast<int>(words.size()), words.data());
  std::fflush(stdout);
  std::fflush(stderr);
  return {code, testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
}

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Without the lines that tell how far a run is and its threads, which a slow machine prints before
// the refusal.
inline std::string without_progress(const std::string& text) {
  std::istringstream lines(text);
  std::string out;
  const std::regex threads("lathe: [0-9]+ threads?: .*");
  for (std::string line; std::getline(lines, line);)
    if (!has(line, " trials | ") && !std::regex_match(line, threads)) out += line + '\n';
  return out;
}

class Usage : public testing::Test {
 protected:
  Usage() {
    setenv("LATHE_DB", folder_.at("records.db").c_str(), 1);
    setenv("XDG_CACHE_HOME", folder_.path().c_str(), 1);
  }
  void refused(const std::vector<const char*>& words, int code, const std::string& part) {
    Outcome outcome = lathe(words);
    outcome.error = without_progress(outcome.error);
    EXPECT_EQ(outcome.code, code) << outcome.error;
    EXPECT_NE(outcome.error.find(part), std::string::npos) << outcome.error;
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(std::ranges::count(outcome.error, '\n'), 1) << "one sentence: " << outcome.error;
    EXPECT_TRUE(outcome.error.starts_with("lathe: ")) << outcome.error;
  }
  const test::TemporaryFolder folder_;
};

}  // namespace lathe::cli
