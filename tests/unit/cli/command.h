// Starts the command as a user does, in processes and with a database of their own.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/types.h>

#include "base/json.h"
#include "support/temporary_folder.h"

namespace lathe {

struct Outcome {
  int code = 0;  // 128 + signal where one ended it
  std::string out, error;
};

std::string content(const std::string& path);

class Command : public testing::Test {
 protected:
  Command();

  // Errors go to a file, or to the terminal whose other end is `terminal`.
  pid_t start(std::vector<std::string> words, int terminal = -1);
  Outcome finish(pid_t child) const;
  Outcome lathe(const std::vector<std::string>& words) { return finish(start(words)); }
  static std::vector<std::string> with(std::vector<std::string> words,
                                       const std::vector<std::string>& more);
  static Json json_of(const Outcome& outcome);
  // The records, as exported; no index and no configuration is there twice.
  std::vector<Json> records();

  const test::TemporaryFolder folder_;
  // Prime sizes: every tile has a tail.
  const std::vector<std::string> workload_ = {"C[i,j] = sum(k) A[k,i] * B[k,j]", "--shape",
                                              "A=31,37", "--shape", "B=31,29"};
};

// The other end of a terminal: what a program shows there is read here.
class Terminal {
 public:
  explicit Terminal(unsigned short columns = 120);
  ~Terminal();
  Terminal(const Terminal&) = delete;
  int end() const { return end_; }
  // Listens for so long, or until the last program that shows something there is gone.
  void listen(double seconds);
  const std::string& shown() const { return shown_; }

 private:
  int end_;
  std::string shown_;
};

}  // namespace lathe
