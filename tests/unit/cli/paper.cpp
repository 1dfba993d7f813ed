// The paper's experiments on two small recordings, by the command.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "unit/cli/command.h"

namespace lathe {
namespace {

class Paper : public Command {
 protected:
  Outcome paper(const std::string& figure, const std::vector<std::string>& more = {}) {
    return lathe(with({"paper", figure, "--spaces", LATHE_RECORDINGS, "-o", out_, "--seeds", "5",
                       "--treegru-seeds", "0", "--trials", "48"},
                      more));
  }
  std::string page() const { return content(out_ + ".md"); }

  const std::string out_ = folder_.at("paper");
};

TEST_F(Paper, RunsOnceAndWritesItsPage) {
  const Outcome first = paper("fig7");
  ASSERT_EQ(first.code, 0) << first.error;
  const std::string rows = content(out_ + "/raw.csv");
  EXPECT_EQ(std::ranges::count(rows, '\n'), 1 + 2 * 3 * 5);
  for (const char* part :
       {"## Figures 7 and 16", "| mean not more trials than expected improvement | **",
        "| conv | mean | 5 | ", "## Figure 8",
        "Left out: fig8 needs a recording of C7 or C8 or C9 or Matmul-1024, made with lathe space "
        "record."})
    EXPECT_NE(page().find(part), std::string::npos) << part << "\n" << page();
  const std::string before = page();
  ASSERT_EQ(paper("fig7", {"--jobs", "3"}).code, 0);
  EXPECT_EQ(page(), before);
  EXPECT_EQ(content(out_ + "/raw.csv"), rows);
}

TEST_F(Paper, TellsWhatIsNotFinished) {
  ASSERT_EQ(paper("fig6").code, 0);  // which shares a search with figures 4 and 5
  EXPECT_NE(page().find("10 of its 20 runs are finished."), std::string::npos) << page();
}

TEST_F(Paper, WritesItsPageWhenInterrupted) {
  const pid_t child = start({"paper", "fig7", "--spaces", LATHE_RECORDINGS, "-o", out_, "--seeds",
                             "1000", "--treegru-seeds", "0"});
  const auto finished = [&] {
    return std::filesystem::exists(out_ + "/raw.csv")
               ? std::ranges::count(content(out_ + "/raw.csv"), '\n') - 1
               : 0;
  };
  while (finished() < 2) usleep(1000);
  kill(child, SIGINT);
  const Outcome outcome = finish(child);
  EXPECT_EQ(outcome.code, 130);
  EXPECT_NE(outcome.error.find("lathe: interrupted; " + out_ +
                               ".md shows what is finished, the same command goes on\n"),
            std::string::npos)
      << outcome.error;
  EXPECT_NE(page().find(" of its 6000 runs are finished."), std::string::npos) << page();
}

TEST_F(Paper, WithoutGnuplotHasItsNumbers) {
  const std::string path = getenv("PATH");
  setenv("PATH", folder_.path().c_str(), 1);
  const Outcome outcome = paper("fig7");
  setenv("PATH", path.c_str(), 1);
  EXPECT_EQ(outcome.code, 0);
  EXPECT_NE(outcome.error.find("lathe: gnuplot is not in PATH, so no pictures are drawn; install "),
            std::string::npos)
      << outcome.error;
  EXPECT_FALSE(std::filesystem::exists(out_ + "/fig7.svg"));
  EXPECT_EQ(page().find("!["), std::string::npos);
}

TEST_F(Paper, TellsOfLiveRunsWithoutAnyRecording) {
  ASSERT_EQ(lathe(with(with({"tune"}, workload_), {"--trials", "3", "--search", "random"})).code,
            0);
  const Outcome live = lathe({"paper", "fig10a", "--spaces", folder_.at("none"), "-o", out_});
  EXPECT_EQ(live.code, 0) << live.error;
  EXPECT_EQ(live.out, out_ + "/fig10a.csv\n");
  const std::string rows = content(out_ + "/fig10a.csv");
  EXPECT_TRUE(
      rows.starts_with("workload,target,run,search,seconds,gflops\n"
                       "\"C[i,j] = sum(k) A[k,i] * B[k,j]\",\"cpu:"))
      << rows;
  EXPECT_NE(rows.find("\",1,random,"), std::string::npos) << rows;
}

TEST_F(Paper, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(paper("fig3").code, 2);
  EXPECT_EQ(paper("fig3").error,
            "lathe: unknown figure \"fig3\"; known are fig4, fig5, fig6, fig7, fig8, fig9, fig10a, "
            "all; did you mean fig4?\n");
  EXPECT_EQ(lathe({"paper", "fig7", "--spaces", folder_.at("none"), "-o", out_}).code, 1);
  std::filesystem::create_directories(out_);
  std::ofstream(out_ + "/raw.csv") << "not ours\n";
  const Outcome damaged = paper("fig7");
  EXPECT_EQ(damaged.code, 1);
  EXPECT_NE(damaged.error.find("/raw.csv: line 1 is no run of lathe paper; "), std::string::npos)
      << damaged.error;
  const Outcome live = paper("fig10a");
  EXPECT_EQ(live.code, 1);
  EXPECT_EQ(std::ranges::count(live.error, '\n'), 1) << live.error;
}

}  // namespace
}  // namespace lathe
