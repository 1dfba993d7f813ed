// What is printed, and the protocol of contestants.
#include <sstream>

#include <gtest/gtest.h>

#include "cli/progress_line.h"
#include "cli/results.h"
#include "cli/serve.h"

namespace lathe::cli {
namespace {

TEST(Texts, Durations) {
  EXPECT_EQ(duration_text(0), "0:00");
  EXPECT_EQ(duration_text(33.4), "0:33");
  EXPECT_EQ(duration_text(59.7), "1:00");
  EXPECT_EQ(duration_text(3723), "1:02:03");
  EXPECT_EQ(duration_text(-5), "0:00");
  EXPECT_EQ(duration_text(1e300), "1000:00:00");
}

TEST(Texts, TimesAndRates) {
  EXPECT_EQ(time_text(12.34e-6), "12.34 us");
  EXPECT_EQ(time_text(4.5e-3), "4.5 ms");
  EXPECT_EQ(time_text(2), "2 s");
  EXPECT_EQ(rate_text(2e9, 0.01), "200.0 GFLOP/s");
}

TEST(Texts, CutKeepsCharactersWhole) {
  EXPECT_EQ(cut("abcdef", 3), "abc");
  EXPECT_EQ(cut("abc", 10), "abc");
  EXPECT_EQ(cut("a\xc3\xa9z", 2), "a\xc3\xa9");
  EXPECT_EQ(cut("", 3), "");
}

TEST(Texts, Progress) {
  tune::Progress p;
  p.trials = 37;
  p.wanted = 512;
  p.phase = "measuring";
  EXPECT_EQ(progress_text(p, 2e9, 0), "37/512 trials | measuring");
  p.failed = 2;
  p.main_failure = "timeout: took longer than 5 s and was stopped by the tuner";
  p.best_seconds = 0.01;
  p.trials_per_second = 14.12;
  p.left_seconds = 33;
  EXPECT_EQ(progress_text(p, 2e9, 400e9),
            "37/512 trials, 2 failed (timeout: took longer than 5 s and was...) | best 200.0 GFLOP/s, 50 % of peak | "
            "14.1 trials/s | 0:33 left | measuring");
}

TEST(Texts, ProgressInFewColumns) {
  tune::Progress p;
  EXPECT_EQ(progress_text(p, 2e9, 0), "");
  p.trials = 37;
  p.wanted = 512;
  p.phase = "measuring";
  p.best_seconds = 0.01;
  p.trials_per_second = 14.12;
  p.left_seconds = 33;
  EXPECT_EQ(progress_text(p, 2e9, 400e9, 79), "37/512 trials | 200.0 GFLOP/s, 50 % of peak | 14.1/s | 0:33 left | measuring");
  p.failed = 2;
  p.main_failure = "timeout: took longer than 5 s and was stopped by the tuner";
  EXPECT_EQ(progress_text(p, 2e9, 400e9, 119),
            "37/512 trials, 2 failed (timeout) | best 200.0 GFLOP/s, 50 % of peak | 14.1 trials/s | 0:33 left | measuring");
  EXPECT_EQ(progress_text(p, 2e9, 400e9, 90), "37/512 trials, 2 failed (timeout) | 200.0 GFLOP/s, 50 % of peak | 14.1/s | 0:33 left");
  EXPECT_EQ(progress_text(p, 2e9, 400e9, 79), "37/512, 2 failed | 200.0 GFLOP/s, 50 % of peak | 14.1/s | 0:33 left");
  EXPECT_EQ(progress_text(p, 2e9, 400e9, 20), "37/512, 2 failed");
  p.trials = 600;
  EXPECT_EQ(progress_text(p, 2e9, 400e9, 60), "600 trials, 2 failed | 200.0 GFLOP/s, 50 % of peak | 14.1/s");
}

TEST(Texts, HowARunEnded) {
  api::Tuned tuned;
  tuned.summary.trials = 1;
  tuned.summary.seconds = 6.44;
  tuned.summary.flops = 2e9;
  tuned.summary.best.seconds = 0.01;
  tuned.peak_flops = 4e11;
  EXPECT_TRUE(text_of(tuned).starts_with("1 trial, none failed, 6.4 s\nbest: 10 ms, 200.0 GFLOP/s, 50 % of the measured peak of 400 GFLOP/s\n"));
  tuned.summary.trials = 40;
  tuned.summary.resumed = 30;
  tuned.summary.failed = 2;
  tuned.summary.main_failure = "timeout: took too long";
  tuned.summary.interrupted = true;
  EXPECT_TRUE(text_of(tuned).starts_with(
      "40 trials (30 from before), 2 failed, 6.4 s; interrupted, the same command goes on\nmain failure: timeout: took too long\nbest: "));
  tuned.summary = {};
  tuned.summary.interrupted = true;
  tuned.summary.best.error_kind = "not-found";
  EXPECT_EQ(text_of(tuned), "0 trials, none failed, 0.0 s; interrupted, the same command goes on\nnothing was measured\n");
}

TEST(Texts, ResultsAsJson) {
  api::Tuned tuned;
  tuned.peak_flops = 4e11;
  tuned.summary.workload = "key";
  tuned.summary.trials = 3;
  tuned.summary.flops = 2e9;
  tuned.summary.best.seconds = 0.01;
  tuned.summary.best.trace = Json::array();
  const Json json = to_json(tuned);
  EXPECT_EQ(json["workload"], "key");
  EXPECT_EQ(json["trials"], 3);
  EXPECT_DOUBLE_EQ(json["best"]["seconds"], 0.01);
  EXPECT_DOUBLE_EQ(json["best"]["gflops"], 200);
  EXPECT_DOUBLE_EQ(json["best"]["peak_share"], 0.5);
  EXPECT_TRUE(json["best"]["trace"].is_array());
  tuned.summary.best.error_kind = "not-found";
  EXPECT_TRUE(to_json(tuned)["best"].is_null());
  EXPECT_NE(text_of(tuned).find("no candidate worked"), std::string::npos);
  // Whatever bytes a message holds.
  tuned.summary.main_failure = "\xff\xfe";
  EXPECT_NO_THROW(dump(to_json(tuned)));
}

TEST(Serve, AnswersUntilQuit) {
  std::istringstream in("run 0.5\nwalk\nrun x\nquit\nrun 9\n");
  std::ostringstream out;
  std::vector<double> asked;
  serve(in, out, "{}", [&](double seconds) {
    asked.push_back(seconds);
    return 0.25;
  });
  EXPECT_EQ(asked, std::vector<double>{0.5});
  EXPECT_EQ(out.str(),
            "ready {}\n2.500000000e-01\nerror \"walk\" is neither \"run SECONDS\" nor \"quit\"\n"
            "error \"run x\" is neither \"run SECONDS\" nor \"quit\"\n");
}

}  // namespace
}  // namespace lathe::cli
