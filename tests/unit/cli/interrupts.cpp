// Runs that are stopped, or lose their database, while they go on.
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include <sys/wait.h>
#include <unistd.h>

#include "unit/cli/command.h"

namespace lathe {
namespace {

class Interrupts : public Command {
 protected:
  // A run that has reported more trials than were on record. What it goes on from it reports too.
  pid_t begun(std::size_t on_record = 0) {
    const pid_t child = start(with(with({"tune"}, workload_), {"--trials", "100000", "--json"}));
    for (int i = 0; i < 1200 && reported() <= on_record; ++i) usleep(50'000);
    return child;
  }

  // Of the last line that tells trials.
  std::size_t reported() const {
    const std::string lines = content(folder_.at("err"));
    const std::size_t end = lines.rfind("/100000 trials | best ");
    if (end == std::string::npos) return 0;
    return std::stoul(lines.substr(lines.find_last_not_of("0123456789", end - 1) + 1, end));
  }
};

TEST_F(Interrupts, EndARunCleanly) {
  std::size_t before = 0;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    SCOPED_TRACE(signal);
    const pid_t child = begun(before);
    kill(child, signal);
    const Outcome outcome = finish(child);
    ASSERT_EQ(outcome.code, 128 + signal) << outcome.error;
    const Json result = json_of(outcome);
    EXPECT_TRUE(result["interrupted"].get<bool>());
    EXPECT_GT(result["trials"], before);
    before = records().size();
    EXPECT_EQ(before, result["trials"]);
  }
}

TEST_F(Interrupts, ASecondTunerOfARunIsRefusedAndTheFirstGoesOn) {
  const pid_t child = begun();
  const std::string line = "cd '" + folder_.path().string() + "' && '" + LATHE_COMMAND +
                           "' tune '" + workload_[0] +
                           "' --shape A=31,37 --shape B=31,29 --trials 100000 2>second";
  EXPECT_EQ(WEXITSTATUS(std::system(line.c_str())), 1);
  const std::string error = content(folder_.at("second"));
  EXPECT_NE(error.find("another tuner is at work on this run"), std::string::npos) << error;
  const std::size_t before = records().size();
  std::size_t later = before;
  for (int i = 0; i < 100 && later <= before; ++i) later = records().size();
  EXPECT_GT(later, before);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  const Outcome after = lathe(with(with({"tune"}, workload_), {"--trials", "1"}));
  EXPECT_EQ(after.code, 0) << after.error;
}

TEST_F(Interrupts, WhatIsIgnoredStaysIgnored) {
  std::signal(SIGHUP, SIG_IGN);  // as nohup has it
  const pid_t child = begun();
  std::signal(SIGHUP, SIG_DFL);
  kill(child, SIGHUP);
  kill(child, SIGTERM);
  EXPECT_EQ(finish(child).code, 128 + SIGTERM);
}

TEST_F(Interrupts, ADatabaseThatIsRemovedDuringARunIsSaid) {
  const pid_t child = begun();
  std::filesystem::remove(folder_.at("records.db"));
  const Outcome outcome = finish(child);
  EXPECT_EQ(outcome.code, 1);
  const std::string rescued = folder_.at("records.db.rescued");
  EXPECT_NE(outcome.error.find("all that it held and what came since is in " + rescued +
                               ": move it back, or give it with --db\n"),
            std::string::npos)
      << outcome.error;
  setenv("LATHE_DB", rescued.c_str(), 1);
  EXPECT_GT(records().size(), 0U);
}

}  // namespace
}  // namespace lathe
