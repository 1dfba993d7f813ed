// What the command tells of threads: `show --what sharing` and `bench --in-turns`.
#include <fstream>
#include <thread>

#include <unistd.h>

#include "unit/cli/command.h"

namespace lathe {
namespace {

class SharingCommand : public Command {
 protected:
  std::vector<std::string> show(const std::string& threads) {
    return with(with({"show"}, product_), {"--what", "sharing", "--threads", threads});
  }
  // Large enough to be shared by default.
  const std::vector<std::string> product_ = {"C[i,j] = sum(k) A[k,i] * B[k,j]", "--shape",
                                             "A=131,97", "--shape", "B=131,113"};
};

TEST_F(SharingCommand, IsToldForAnyNumberOfThreadsAndAnyTarget) {
  for (const char* target : {"cpu:haswell", "cpu:skylake-avx512", "cpu:cortex-a72;isa=aarch64"})
    for (const char* threads : {"1", "3", "64", "1024"}) {
      const Json json = json_of(lathe(with(show(threads), {"--json", "--target", target})));
      EXPECT_EQ(json["threads"], std::stoi(threads)) << target;
      EXPECT_EQ(json["prepare"], nullptr);
      const Json& call = json["call"];
      EXPECT_GE(call["multiply_adds"].get<int>(), 131 * 97 * 113) << target;
      EXPECT_LE(call["threads"], json["threads"]);
      EXPECT_GT(call["share"].get<double>(), 0);
      EXPECT_LE(call["share"].get<double>(), 1 + 1e-9);
      EXPECT_GE(call["share"], call["share_of_offered"]);
      EXPECT_EQ(json["flops"], 2 * 131 * 97 * 113);
    }
}

TEST_F(SharingCommand, TextSaysWhatTheJsonSays) {
  const Outcome text = lathe(show("3"));
  EXPECT_EQ(text.code, 0) << text.error;
  const Json json = json_of(lathe(with(show("3"), {"--json"})));
  ASSERT_FALSE(json["call"]["phases"].empty());
  EXPECT_NE(text.out.find("3 threads; work is counted in operations of"), std::string::npos);
  EXPECT_NE(text.out.find("call:\n"), std::string::npos);
  EXPECT_NE(text.out.find(json["call"]["phases"][0]["loop"].get<std::string>()), std::string::npos)
      << text.out;
  EXPECT_EQ(text.out.find("prepare:"), std::string::npos);
  const Outcome constants = lathe(with(show("3"), {"--const", "B"}));
  EXPECT_NE(constants.out.find("prepare:"), std::string::npos) << constants.out;
}

TEST_F(SharingCommand, OtherViewsAreTexts) {
  const Outcome nest = lathe(with(with({"show"}, product_), {"--what", "nest", "--json"}));
  EXPECT_EQ(nest.code, 2);
  EXPECT_EQ(nest.error,
            "lathe: --json: --what nest is a text; --what sharing can be had as JSON\n");
  EXPECT_EQ(nest.out, "");
}

TEST_F(SharingCommand, SlicesInTurnsAreThoseOfTheView) {
  for (const char* threads : {"1", "2", "5", "64"}) {
    const Json told = json_of(lathe(with(show(threads), {"--json"}))),
               timed = json_of(
                   lathe(with(with({"bench"}, product_), {"--schedule", "default", "--threads",
                                                          threads, "--in-turns", "--json"})));
    EXPECT_EQ(timed["in_turns"], true);
    EXPECT_EQ(timed["checked"], true);
    EXPECT_GT(timed["seconds"].get<double>(), 0);
    if (std::string(threads) == "1") {
      EXPECT_EQ(timed["phases"], Json::array());
      continue;
    }
    const Json& phases = told["call"]["phases"];
    ASSERT_FALSE(phases.empty());
    ASSERT_EQ(timed["phases"].size(), phases.size());
    for (std::size_t i = 0; i < phases.size(); ++i)
      for (const char* member : {"region", "phase", "runs", "parts", "threads"})
        EXPECT_EQ(timed["phases"][i][member], phases[i][member]) << member << ", " << threads;
  }
}

TEST_F(SharingCommand, InTurnsSaysWhatTheFigureIs) {
  const auto bench = with(with({"bench"}, product_), {"--schedule", "default", "--in-turns"});
  const Outcome text = lathe(with(bench, {"--threads", "5", "--no-check"}));
  EXPECT_EQ(text.code, 0) << text.error;
  EXPECT_TRUE(text.out.starts_with("default schedule, in turns: ")) << text.out;
  EXPECT_NE(text.out.find(", not checked\n"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("The slices of 5 threads ran one after the other on one processor"),
            std::string::npos)
      << text.out;
  const Outcome cold = lathe(with(bench, {"--cache", "cold"}));
  EXPECT_EQ(cold.code, 2);
  EXPECT_EQ(cold.error,
            "lathe: --in-turns: slices that take turns find in the caches what others left; leave "
            "out --cache cold\n");
}

// A copy of 256 MB for each of 1024 threads.
TEST_F(SharingCommand, ScratchThatDoesNotFitIsRefused) {
  if (static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * 4096 > 5e11) GTEST_SKIP();
  const std::string trace = folder_.at("copies.json");
  std::ofstream(trace) << R"([{"step":"annotate","loop":"B.i","kind":"parallel"},
      {"step":"cache","buffer":"A","name":"a","loop":"B.i","scope":"memory","layout":[]}])";
  const Outcome refused = lathe({"bench", "A: f32[64000000]; B[i:1024] = sum(k) A[k]", "--trace",
                                 trace, "--threads", "1024", "--in-turns", "--no-check"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.error.find("--threads: the scratch of 1024 threads takes 262.1 GB, and this "
                               "machine has "),
            std::string::npos)
      << refused.error;
}

}  // namespace
}  // namespace lathe
