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

TEST(Texts, OfARecordCommandNoTerminal) {
  EXPECT_EQ(printable("a line\n\ttwo \xc3\xa9\xc2\xa0\xe2\x82\xac"),
            "a line\n\ttwo \xc3\xa9\xc2\xa0\xe2\x82\xac");
  EXPECT_EQ(printable("\x1b[2J\x1b]0;title\a"), "?[2J?]0;title?");
  EXPECT_EQ(printable("a\rb\bc\x7f\xc2\x9b\x31m\xc2"), "a?b?c??1m\xc2");
  EXPECT_EQ(schedule_text({{"knob", "\x1b[1m"}}), "knob=?[1m");
}

const Subject kProduct{"", 2e9, 2e9};

TEST(Texts, ProgressSaysOfWhat) {
  tune::Progress p;
  p.trials = 37;
  p.wanted = 512;
  p.phase = tune::Phase::kMeasuring;
  p.best_seconds = 0.01;
  p.trials_per_second = 14.12;
  p.left_seconds = 33;
  const Subject c6{label_of("C6", *parse_target("cpu:x86-64;threads=2")), 2e9, 1e9};
  EXPECT_EQ(progress_text(p, c6, 400e9),
            "C6, 2 threads: 37/512 trials | best 200.0 GFLOP/s, 25 % of peak | 14.1 trials/s | "
            "0:33 left | measuring")
      << "the share is of what is done";
  EXPECT_EQ(progress_text(p, c6, 400e9, 79),
            "C6, 2 threads: 37/512 trials | 200.0 GFLOP/s, 25 % of peak | 14.1/s | 0:33 left");
  EXPECT_EQ(progress_text(p, c6, 400e9, 75),
            "C6, 2 threads: 37/512 | 200.0 GFLOP/s, 25 % of peak | 14.1/s | 0:33 left");
  EXPECT_EQ(progress_text(p, c6, 400e9, 60),
            "37/512 | 200.0 GFLOP/s, 25 % of peak | 14.1/s | 0:33 left");
  p = {};
  EXPECT_EQ(progress_text(p, c6, 0), "C6, 2 threads: starting");
  EXPECT_EQ(label_of("A: f32[9]\n\n  B[i] = A[i];\t\n", *parse_target("cpu:x86-64")),
            "A: f32[9]; B[i] = A[i], 1 thread");
  EXPECT_EQ(label_of("C[i,j] = sum(k) A[k,i] * B[k,j] + D[i,j]", *parse_target("cpu:x86-64")),
            "C[i,j] = sum(k) A[k,i] * B[..., 1 thread");
}

TEST(Texts, Progress) {
  tune::Progress p;
  p.trials = 37;
  p.wanted = 512;
  p.phase = tune::Phase::kMeasuring;
  EXPECT_EQ(progress_text(p, kProduct, 0), "37/512 trials | measuring");
  p.failed = 2;
  p.main_failure = "timeout: took longer than 5 s and was stopped by the tuner";
  p.best_seconds = 0.01;
  p.trials_per_second = 14.12;
  p.left_seconds = 33;
  EXPECT_EQ(progress_text(p, kProduct, 400e9),
            "37/512 trials, 2 failed (timeout: took longer than 5 s and was...) | best 200.0 "
            "GFLOP/s, 50 % of peak | "
            "14.1 trials/s | 0:33 left | measuring");
}

TEST(Texts, ProgressInFewColumns) {
  tune::Progress p;
  EXPECT_EQ(progress_text(p, kProduct, 0), "starting");
  p.trials = 37;
  p.wanted = 512;
  p.phase = tune::Phase::kMeasuring;
  p.best_seconds = 0.01;
  p.trials_per_second = 14.12;
  p.left_seconds = 33;
  EXPECT_EQ(progress_text(p, kProduct, 400e9, 79),
            "37/512 trials | 200.0 GFLOP/s, 50 % of peak | 14.1/s | 0:33 left | measuring");
  p.failed = 2;
  p.main_failure = "timeout: took longer than 5 s and was stopped by the tuner";
  EXPECT_EQ(progress_text(p, kProduct, 400e9, 119),
            "37/512 trials, 2 failed (timeout) | best 200.0 GFLOP/s, 50 % of peak | 14.1 trials/s "
            "| 0:33 left | measuring");
  EXPECT_EQ(progress_text(p, kProduct, 400e9, 90),
            "37/512 trials, 2 failed (timeout) | 200.0 GFLOP/s, 50 % of peak | 14.1/s | 0:33 left");
  EXPECT_EQ(progress_text(p, kProduct, 400e9, 79),
            "37/512, 2 failed | 200.0 GFLOP/s, 50 % of peak | 14.1/s | 0:33 left");
  EXPECT_EQ(progress_text(p, kProduct, 400e9, 20), "37/512, 2 failed");
  p.trials = 600;
  EXPECT_EQ(progress_text(p, kProduct, 400e9, 60),
            "600 trials, 2 failed | 200.0 GFLOP/s, 50 % of peak | 14.1/s");
}

TEST(Texts, HowARunEnded) {
  api::Tuned tuned;
  tuned.summary.trials = 1;
  tuned.summary.seconds = 6.44;
  tuned.summary.flops = 2e9;
  tuned.summary.best.seconds = 0.01;
  tuned.peak_flops = 4e11;
  EXPECT_TRUE(
      text_of(tuned).starts_with("1 trial, none failed, 6.4 s\nbest: 10 ms, 200.0 GFLOP/s, 50 % of "
                                 "the measured peak of 400 GFLOP/s\n"));
  tuned.summary.trials = 40;
  tuned.summary.resumed = 30;
  tuned.summary.failed = 2;
  tuned.summary.main_failure = "timeout: took too long";
  tuned.summary.interrupted = true;
  EXPECT_TRUE(text_of(tuned).starts_with(
      "40 trials (30 from before), 2 failed, 6.4 s; interrupted, the same command goes on\nmain "
      "failure: timeout: took too long\nbest: "));
  tuned.summary = {};
  tuned.summary.interrupted = true;
  tuned.summary.best.error_kind = "not-found";
  EXPECT_EQ(text_of(tuned),
            "0 trials, none failed, 0.0 s; interrupted, the same command goes on\nnothing was "
            "measured\n");
}

TEST(Texts, SharesAreOfWhatIsDoneAndOfWhatIsMoved) {
  api::Tuned tuned;
  tuned.summary.trials = 1;
  tuned.summary.flops = 2e9;
  tuned.summary.best.seconds = 0.01;
  tuned.peak_flops = 1.5e11;  // the products of padding would make it 133 %
  tuned.traffic = {.done_flops = 1.2e9, .bytes = 1e8, .bandwidth = 2e10};
  const std::string text = text_of(tuned);
  EXPECT_NE(text.find("best: 10 ms, 200.0 GFLOP/s, 80 % of the measured peak of 150 GFLOP/s by the "
                      "operations done (padding is not "
                      "multiplied)\nmemory: 10.0 GB/s of inputs and outputs, 50 % of the 20.0 GB/s "
                      "that reading and writing as much "
                      "reaches\n"),
            std::string::npos)
      << text;
  const Json json = to_json(tuned);
  EXPECT_DOUBLE_EQ(json["best"]["peak_share"], 0.8);
  EXPECT_DOUBLE_EQ(json["best"]["gigabytes_per_second"], 10);
  EXPECT_DOUBLE_EQ(json["best"]["bandwidth_share"], 0.5);
  tuned.peak_flops = 1e11;
  EXPECT_NE(text_of(tuned).find("best: 10 ms, 200.0 GFLOP/s, more than the 100 GFLOP/s that"),
            std::string::npos)
      << text_of(tuned);
  // in the caches a program may do better than the kernel that measures
  tuned.traffic.bandwidth = 9e9;
  EXPECT_DOUBLE_EQ(to_json(tuned)["best"]["bandwidth_share"], 1);
  EXPECT_NE(text_of(tuned).find("100 % of the 10.0 GB/s"), std::string::npos) << text_of(tuned);
}

TEST(Texts, ADisturbedRaceIsSaid) {
  api::Tuned tuned;
  tuned.summary.trials = 1;
  tuned.summary.flops = 2e9;
  tuned.summary.best.seconds = tuned.summary.best.race_seconds = 0.01;
  tuned.summary.best.raced = true;
  EXPECT_EQ(text_of(tuned).find("disturbed"), std::string::npos);
  tuned.summary.race =
      tune::RaceStory{.finished = true, .disturbed = true, .speed = 0.71, .racers = {}};
  EXPECT_NE(text_of(tuned).find("\nthe race of this run was disturbed (the machine ran at 71 % of "
                                "the speed it has shown), so the best is "
                                "that of an earlier one; lathe race repeats it\n"),
            std::string::npos)
      << text_of(tuned);
  tuned.summary.best.race.disturbed = true;
  EXPECT_NE(text_of(tuned).find("\nthis time is of a race on a disturbed machine, so the program "
                                "may be faster; lathe race repeats it (71 % "
                                "of the speed it has shown)\n"),
            std::string::npos)
      << text_of(tuned);
  EXPECT_TRUE(to_json(tuned)["best"]["race"]["disturbed"].get<bool>());
  EXPECT_DOUBLE_EQ(to_json(tuned)["race"]["speed"], 0.71);
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
  EXPECT_DOUBLE_EQ(json["options"]["epsilon"], 0.05);
  EXPECT_EQ(json["options"]["jobs"], 2);
  tuned.replayed = true;
  EXPECT_FALSE(to_json(tuned)["options"].contains("jobs")) << "a replay is the same on any number";
  tuned.replayed = false;
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
