// What a user does with the command, from beginning to end.
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/timing_claim.h"
#include "support/sanitized.h"
#include "unit/cli/command.h"

namespace lathe {
namespace {

TEST_F(Command, TunesAndUsesWhatItFound) {
  const auto tune = with(with({"tune"}, workload_), {"--trials", "12", "--json"});
  const Outcome first = lathe(tune);
  ASSERT_EQ(first.code, 0) << first.error;
  const Json result = json_of(first);
  EXPECT_EQ(result["trials"], 12);
  EXPECT_EQ(result["wrong"], 0);
  EXPECT_EQ(result["failed"], 0);
  EXPECT_GT(result["best"]["seconds"].get<double>(), 0);
  EXPECT_GT(result["best"]["gflops"].get<double>(), 0);
  EXPECT_TRUE(result["best"]["trace"].is_array());
  EXPECT_TRUE(result["best"]["raced"].get<bool>());
  for (const char* member : {"workload", "target", "seconds"})
    EXPECT_TRUE(result.contains(member)) << member;
  EXPECT_EQ(records().size(), 12U);

  // The same command goes on: there is nothing left to do but a race, where the first was
  // disturbed.
  const Json later = json_of(lathe(tune));
  EXPECT_EQ(later["resumed"], 12);
  EXPECT_EQ(records().size(), 12U);

  const Json best = json_of(lathe(with(with({"best"}, workload_), {"--json"})));
  EXPECT_EQ(best["trace"], later["best"]["trace"]);
  for (const Json& json : {result, best})
    EXPECT_EQ(json["tensors"], (Json{{"A", "A"}, {"B", "B"}, {"C", "C"}}));
  // The same work under other names has the same record, and it is said which tensor is which
  // there.
  const std::vector<std::string> renamed = {
      "best", "Z[p,q] = sum(r) X[r,p] * W[r,q]", "--shape", "X=31,37", "--shape", "W=31,29"};
  const Json other = json_of(lathe(with(renamed, {"--json"})));
  EXPECT_EQ(other["trace"], best["trace"]);
  EXPECT_EQ(other["tensors"], (Json{{"X", "A"}, {"W", "B"}, {"Z", "C"}}));
  EXPECT_TRUE(lathe(renamed).out.ends_with(
      "\nLathe's records and traces say A for X, B for W, C for Z.\n"));
  EXPECT_NE(lathe(with({"trials"}, workload_)).out.find("(raced"), std::string::npos);

  const std::string library = folder_.at("raced.so");
  EXPECT_EQ(lathe(with(with({"compile"}, workload_), {"-o", library})).code, 0);
  for (const char* said : {"right after another", "after 1 ms", "after 20 ms"})
    EXPECT_NE(content(folder_.at("raced.h")).find(said), std::string::npos) << said;

  for (const char* schedule : {"naive", "default", "predicted", "best"}) {
    const Outcome bench =
        lathe(with(with({"bench"}, workload_), {"--schedule", schedule, "--json"}));
    ASSERT_EQ(bench.code, 0) << bench.error;
    EXPECT_GT(json_of(bench)["gflops"].get<double>(), 0);
    EXPECT_LT(json_of(bench)["error"].get<double>(), 2e-5);
  }

  // Export, and import elsewhere: the best is the same.
  const std::string lines = folder_.at("records.jsonl");
  std::ofstream(lines) << lathe({"export"}).out;
  const std::string only_best = folder_.at("best.jsonl");
  std::ofstream(only_best) << lathe({"export", "--best"}).out;
  for (const auto& [file, count] :
       {std::pair(only_best, "1 trial"), std::pair(lines, "12 trials")}) {
    std::filesystem::remove(folder_.at("records.db"));
    EXPECT_EQ(lathe({"import", file}).out,
              fmt::format("{} imported, 0 were already there\n", count));
    EXPECT_EQ(json_of(lathe(with(with({"best"}, workload_), {"--json"})))["trace"], best["trace"]);
  }
}

TEST_F(Command, ReproducesWhatWentWrong) {
  const std::string target = json_of(lathe(
      with(with({"tune"}, workload_), {"--trials", "0", "--steps", "1", "--json"})))["target"];
  const std::filesystem::path folder = folder_.at("lathe-wrong-answer 'x'");
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "workload.te")
      << "A: f32[11,13]; B: f32[11,17]; C[i,j] = sum(k) A[k,i] * B[k,j]\n";
  std::ofstream(folder / "trace.json") << "[]\n";
  std::ofstream(folder / "case.json")
      << Json{{"target", target}, {"seed", 3}, {"free_layout", false}, {"max_error", 2e-5}}.dump();
  const Outcome right = lathe({"reproduce", folder.string()});
  EXPECT_EQ(right.code, 0) << right.error;
  EXPECT_TRUE(right.out.starts_with("right: the error is ")) << right.out;
  // A schedule that does not apply is no right answer.
  std::ofstream(folder / "trace.json") << R"([{"step": "inline", "block": "no such block"}])";
  const Outcome wrong = lathe({"reproduce", folder.string()});
  EXPECT_EQ(wrong.code, 1) << wrong.out;
  const Outcome none = lathe({"reproduce", folder_.at("nowhere")});
  EXPECT_EQ(none.code, 1);
  EXPECT_NE(none.error.find("; give the folder that a wrong answer left behind\n"),
            std::string::npos)
      << none.error;
}

TEST_F(Command, ReproducesNothingThatOthersCanChange) {
  const std::string folder = folder_.at("received");
  std::filesystem::create_directories(folder);
  ASSERT_EQ(::chmod(folder.c_str(), 0777), 0);
  const Outcome outcome = lathe({"reproduce", folder});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.error,
            fmt::format("lathe: {}: others can write to this, and could put something of their own "
                        "there; look at it, then forbid that: `chmod go-w '{}'`\n",
                        folder, folder));
}

// A grouped convolution is of [n,c,h,w], [o,c/groups,kh,kw] and [n,o,h,w] for those who call its
// library.
TEST_F(Command, GroupsAreNoDimensionForCallers) {
  for (const char* layout : {"plain", "free"}) {
    const Outcome made =
        lathe({"compile", "conv2d", "--input", "1,20,7,6", "--weight", "72,5,3,3", "--groups", "4",
               "--pad", "1", "--epilogue", "bias,residual,relu", "--layout", layout, "--schedule",
               "default", "-o", folder_.at("grouped.so")});
    ASSERT_EQ(made.code, 0) << made.error;
    const std::string header = content(folder_.at("grouped.h"));
    for (const char* tensor : {": f32 [1, 20, 7, 6]", ": f32 [72, 5, 3, 3], constant",
                               ": f32 [72], constant", ": f32 [1, 72, 7, 6]"})
      EXPECT_NE(header.find(tensor), std::string::npos) << tensor << header;
    // A layout that the schedule has chosen is told in the caller's dimensions. Lanes are the
    // machine's.
    const std::string stored = layout == std::string("plain")
                                   ? "outputs[0]  Y: f32 [1, 72, 7, 6], row-major\n"
                                   : " * (i1 / 18) + ";
    EXPECT_NE(header.find(stored), std::string::npos) << stored << header;
    const std::string build =
        "cd " + folder_.path().string() +
        " && cc grouped_example.c -I. ./grouped.so -o example 2>&1 && ./example >/dev/null";
    EXPECT_EQ(std::system(build.c_str()), 0);
  }
}

TEST_F(Command, WithoutTrialsTheModelsChoose) {
  // For targets of AVX2 a model comes with Lathe, for those of SSE none; nothing is run, so this
  // machine need not be one.
  const auto of = with(with({"tune"}, workload_), {"--trials", "0", "--steps", "50", "--target"});
  const auto tune = with(of, {"cpu:haswell"});
  const Json predicted = json_of(lathe(with(tune, {"--json"})));
  EXPECT_EQ(predicted["trials"], 0);
  EXPECT_TRUE(predicted["best"]["predicted"].get<bool>());
  EXPECT_FALSE(predicted["best"].contains("seconds"));
  EXPECT_FALSE(std::filesystem::exists(folder_.at("records.db"))) << "nothing was measured";
  EXPECT_TRUE(predicted["transfer"]["shipped"].get<bool>());
  EXPECT_GT(predicted["transfer"]["records"].get<int>(), 1000);
  EXPECT_TRUE(lathe(tune).out.starts_with("chosen by the analytic model and a model of "))
      << lathe(tune).out;
  EXPECT_NE(lathe(tune).out.find("nothing was measured"), std::string::npos);
  EXPECT_NE(lathe(with(tune, {"--no-transfer"})).out.find("chosen by the analytic model"),
            std::string::npos);
  const Outcome alone = lathe(with(of, {"cpu:x86-64"}));
  EXPECT_TRUE(alone.out.starts_with("chosen by the analytic model; nothing was measured"))
      << alone.out;

  const Outcome shown =
      lathe(with(with({"show"}, workload_), {"--schedule", "predicted", "--what", "trace"}));
  EXPECT_EQ(shown.code, 0) << shown.error;
}

TEST_F(Command, SaysWhereAnotherTimesProgramsToo) {
  const auto tune = with(with({"tune"}, workload_), {"--trials", "2"});
  const std::string sentence = "lathe: another lathe times programs on this machine: ";
  EXPECT_EQ(lathe(tune).error.find(sentence), std::string::npos);
  const TimingClaim claim;
  EXPECT_TRUE(claim.alone());
  for (const auto& words :
       {with(tune, {"--seed", "1"}), with(with({"bench"}, workload_), {"--schedule", "default"})}) {
    const Outcome beside = lathe(words);
    EXPECT_EQ(beside.code, 0);
    EXPECT_NE(beside.error.find(sentence), std::string::npos) << beside.error;
  }
}

// Beside the command there is what trains TreeGRU, or not.
TEST_F(Command, SaysWhatItIsMadeOf) {
  const Outcome version = lathe({"--version"});
  EXPECT_EQ(version.code, 0);
  for (const char* part : {"lathe 0.", ", commit ", ", LLVM 19.1.", ", XGBoost "})
    EXPECT_NE(version.out.find(part), std::string::npos) << version.out;
}

TEST_F(Command, ExaminesTheMachine) {
  const Outcome well = lathe({"doctor", "--json"});
  EXPECT_EQ(well.code, 0) << well.out << well.error;
  std::string found;
  for (const Json& check : json_of(well)) found += check["what"].get<std::string>() + ", ";
  EXPECT_EQ(found,
            "processor, cores, governor, turbo, other load, steady times, memory, building, cache, "
            "database, ");
  std::ofstream(folder_.at("records.db")) << "no database";
  const Outcome damaged = lathe({"doctor"});
  EXPECT_EQ(damaged.code, 1);
  EXPECT_NE(damaged.out.find("broken    database"), std::string::npos) << damaged.out;
  EXPECT_NE(damaged.out.find("fine      building"), std::string::npos) << damaged.out;
  const Outcome crowded = lathe({"doctor", "--threads", "1024"});
  EXPECT_EQ(crowded.code, 1);
  EXPECT_NE(crowded.out.find("broken    cores"), std::string::npos) << crowded.out;
  setenv("OMP_NUM_THREADS", "abc", 1);
  const Outcome ignored = lathe({"doctor"});
  unsetenv("OMP_NUM_THREADS");
  EXPECT_NE(ignored.out.find("doubtful  cores"), std::string::npos) << ignored.out;
}

// Most of it is libtorch's work, which takes 43 s under a sanitizer and is not checked by it.
TEST_F(Command, TunesWithTreeGru) {
  if (test::kSanitized && std::getenv("LATHE_TEST_LONG") == nullptr)
    GTEST_SKIP() << "treegru_test trains under sanitizers";
  const auto tune =
      with(with({"tune"}, workload_), {"--trials", "40", "--model", "treegru-rank", "--json"});
  const Outcome outcome = lathe(tune);
  if (outcome.error.find("was built without") != std::string::npos) GTEST_SKIP() << outcome.error;
  ASSERT_EQ(outcome.code, 0) << outcome.error;
  EXPECT_EQ(json_of(outcome)["trials"], 40);
  EXPECT_EQ(json_of(outcome)["wrong"], 0);
  // Chosen by a trained model, from the second batch on.
  const auto all = records();
  EXPECT_TRUE(std::ranges::any_of(
      all, [](const Json& record) { return record["spent"]["model"].get<double>() > 0; }));
  const Outcome judged = lathe({"model", "eval", "--model", "treegru-reg", "--json"});
  ASSERT_EQ(judged.code, 0) << judged.error;
  EXPECT_TRUE(json_of(judged)["mean"].contains("rmse"));
}

TEST_F(Command, SaysWhatTreeGruNeeds) {
  // alone, as in a build without libtorch
  std::filesystem::copy(LATHE_COMMAND, folder_.at("lathe"));
  const std::string line = "env -u LATHE_LIBEXEC " + folder_.at("lathe") +
                           " tune C6 --model treegru-rank --db " + folder_.at("x.db") + " 2>" +
                           folder_.at("err");
  EXPECT_EQ(WEXITSTATUS(std::system(line.c_str())), 1);
  EXPECT_EQ(content(folder_.at("err")),
            "lathe: training TreeGRU needs libtorch, which this Lathe was built without: install "
            "libtorch-dev (scripts/install "
            "--torch) and build again, or choose an xgb model\n");
  EXPECT_FALSE(std::filesystem::exists(folder_.at("x.db")));
}

TEST_F(Command, CompilesALibraryWithAnExample) {
  const std::string library = folder_.at("my-product.so");
  const Outcome compiled =
      lathe(with(with({"compile"}, workload_), {"--schedule", "default", "-o", library}));
  ASSERT_EQ(compiled.code, 0) << compiled.error;
  const std::string build =
      "cd " + folder_.path().string() +
      " && cc my-product_example.c -I. ./my-product.so -o example && ./example > printed";
  ASSERT_EQ(std::system(build.c_str()), 0) << content(folder_.at("my-product_example.c"));
  // Input e of a tensor is (e % 17) / 16 - 1/2.
  double want = 0;
  for (int k = 0; k < 31; ++k) want += ((k * 37) % 17 / 16.0 - 0.5) * ((k * 29) % 17 / 16.0 - 0.5);
  std::istringstream printed(content(folder_.at("printed")));
  std::string name, equals;
  double got = 0;
  printed >> name >> equals >> got;
  EXPECT_EQ(name, "C[0]");
  EXPECT_NEAR(got, want, 1e-4);
}

TEST_F(Command, OutputsThatCannotBeWritten) {
  setenv("LATHE", LATHE_COMMAND, 1);
  setenv("LATHE_DB", folder_.at("records.db").c_str(), 1);
  setenv("FOLDER", folder_.path().c_str(), 1);
  // The exit code of "$LATHE" `words`, in a shell that does `then` with what it prints.
  const auto shell = [this](const std::string& words, const std::string& then) {
    const std::string line =
        "cd \"$FOLDER\" && { \"$LATHE\" " + words + " 2>err; echo $? >code; } " + then;
    EXPECT_EQ(std::system(line.c_str()), 0);
    return std::atoi(content(folder_.at("code")).c_str());
  };
  const std::string workload = "'C[i,j] = sum(k) A[k,i] * B[k,j]' --shape A=31,37 --shape B=31,29";
  EXPECT_EQ(shell("tune " + workload + " --trials 12 --json", ">/dev/full"), 1);
  EXPECT_NE(content(folder_.at("err"))
                .find("lathe: standard output cannot be written (No space left on device)"),
            std::string::npos);
  EXPECT_EQ(records().size(), 12U) << "no trial is lost";
  for (const auto& words :
       {"show " + workload + " --what asm", "trials " + workload, "best " + workload,
        std::string("export"), std::string("tune --help")}) {
    EXPECT_EQ(shell(words, ">/dev/full"), 1) << words;
    const std::string error = content(folder_.at("err"));
    EXPECT_EQ(std::ranges::count(error, '\n'), 1) << words << ": " << error;
  }
  // A pipe that is closed early ends the command as it ends any other, without a word.
  EXPECT_EQ(shell("show C6 --what llvm", "| head -n 1 >/dev/null"), 128 + SIGPIPE)
      << "more than a pipe holds";
  EXPECT_EQ(content(folder_.at("err")), "");
}

// Who looks at the first line of progress alone does not end the run.
TEST_F(Command, OutlivesTheReaderOfItsProgress) {
  setenv("LATHE", LATHE_COMMAND, 1);
  setenv("LATHE_DB", folder_.at("records.db").c_str(), 1);
  setenv("FOLDER", folder_.path().c_str(), 1);
  const std::string line =
      "cd \"$FOLDER\" && { \"$LATHE\" tune 'C[i,j] = sum(k) A[k,i] * B[k,j]' --shape A=31,37 "
      "--shape B=31,29 --trials 60 2>&1 >out; echo $? >code; } | head -n 1 >/dev/null";
  EXPECT_EQ(std::system(line.c_str()), 0);
  EXPECT_EQ(content(folder_.at("code")), "0\n");
  EXPECT_TRUE(content(folder_.at("out")).starts_with("60 trials, none failed, "));
}

TEST_F(Command, OnATerminalOneLineLives) {
  constexpr std::size_t kColumns = 60;
  Terminal terminal(kColumns);
  const auto words = with(with({"tune"}, workload_), {"--trials", "40", "--threads", "1"});
  const pid_t child = start(words, terminal.end());
  while (waitpid(child, nullptr, WNOHANG) == 0) terminal.listen(0.02);
  terminal.listen(0);
  std::string shown = terminal.shown();
  const std::string first = "\r\x1b[Klathe: 1 thread: as --threads says\r\n";
  ASSERT_NE(shown.find(first), std::string::npos) << shown;
  shown.erase(shown.find(first), first.size());
  EXPECT_EQ(shown.find('\n'), std::string::npos) << "it stays one line: " << shown;
  EXPECT_TRUE(shown.ends_with("\r\x1b[K")) << "it is gone in the end: " << shown;
  EXPECT_NE(shown.find("GFLOP/s"), std::string::npos) << shown;
  std::istringstream lines(shown);
  for (std::string line; std::getline(lines, line, '\r');)
    EXPECT_LT(line.substr(0, line.find('\x1b')).size(), kColumns) << line;
  EXPECT_TRUE(content(folder_.at("out")).starts_with("40 trials, none failed, "))
      << content(folder_.at("out"));
}

// What a terminal of one line shows after all that was written to it.
std::string left_on(const std::string& written) {
  std::string line;
  std::size_t cursor = 0;
  for (std::size_t i = 0; i < written.size(); ++i) {
    if (written[i] == '\r') cursor = 0;
    else if (written[i] == '\n') line.clear();  // what stays above
    else if (written.compare(i, 3, "\x1b[K") == 0)
      line.resize(std::min(line.size(), cursor)), i += 2;
    else line.resize(std::max(line.size(), cursor + 1), ' '), line[cursor++] = written[i];
  }
  return line;
}

TEST_F(Command, WhatTheTerminalEchoesIsDrawnOver) {
  Terminal terminal;
  const pid_t child = start(
      with(with({"tune"}, workload_), {"--trials", "100000", "--threads", "1"}), terminal.end());
  while (terminal.shown().find("GFLOP/s") == std::string::npos) terminal.listen(0.02);
  ASSERT_EQ(write(terminal.end(), "\x03", 1), 1);
  kill(child, SIGINT);
  while (waitpid(child, nullptr, WNOHANG) == 0) terminal.listen(0.02);
  terminal.listen(0);
  EXPECT_NE(terminal.shown().find("^C"), std::string::npos) << "the terminal echoes it";
  EXPECT_EQ(left_on(terminal.shown()), "") << "nothing is left of it";
  EXPECT_NE(terminal.shown().find(", 1 thread: "), std::string::npos) << terminal.shown();
}

TEST_F(Command, AFileThatMayNotGrowIsSaid) {
  const Outcome made = lathe(with(with({"tune"}, workload_), {"--trials", "2"}));
  ASSERT_EQ(made.code, 0) << made.error;
  const std::string lines = folder_.at("lines.jsonl");
  std::ofstream(lines) << lathe({"export"}).out;
  const std::string line = "cd '" + folder_.path().string() + "' && ulimit -f 20 && '" +
                           LATHE_COMMAND + "' import lines.jsonl --db new.db 2>err";
  EXPECT_EQ(WEXITSTATUS(std::system(line.c_str())), 1);
  EXPECT_NE(
      content(folder_.at("err")).find("may not grow beyond the limit of this shell (ulimit -f)"),
      std::string::npos)
      << content(folder_.at("err"));
}

TEST_F(Command, RacesTheBestAgain) {
  // On a quiet machine a race takes 3 seconds, on a busy one as long as it may.
  const auto race = with(with({"race"}, workload_), {"--time", "30"});
  EXPECT_NE(lathe(race).error.find("there is no database here yet; run lathe tune first"),
            std::string::npos);
  ASSERT_EQ(lathe(with(with({"tune"}, workload_), {"--trials", "12"})).code, 0);
  const Json before = json_of(lathe(with(with({"best"}, workload_), {"--json"})));
  const Outcome outcome = lathe(with(race, {"--count", "4", "--json"}));
  ASSERT_EQ(outcome.code, 0) << outcome.error;
  const Json raced = json_of(outcome);
  EXPECT_TRUE(raced["finished"].get<bool>());
  ASSERT_EQ(raced["racers"].size(), 4U);
  EXPECT_GT(raced["speed"], 0);
  EXPECT_GT(raced["peak_gflops"], 0);
  for (const Json& racer : raced["racers"]) {
    EXPECT_TRUE(racer["raced"].get<bool>());
    EXPECT_LE(racer["seconds"], racer["raced_seconds"]) << "the fastest of its races stands";
    EXPECT_GT(racer["race"]["sentinel"], 0);
    EXPECT_GT(racer["race"]["peak_gflops"], 0);
  }
  // One story.
  const Json best = json_of(lathe(with(with({"best"}, workload_), {"--json"})));
  EXPECT_EQ(best["index"], raced["racers"][0]["index"]);
  // Of programs within 5 % of each other another may win.
  EXPECT_LE(best["seconds"].get<double>(), before["seconds"].get<double>() * 1.06);
  // It races once more where this race was disturbed.
  const Json again = json_of(lathe(with(with({"tune"}, workload_), {"--trials", "12", "--json"})));
  const Json then = json_of(lathe(with(with({"best"}, workload_), {"--json"})));
  EXPECT_EQ(again["best"]["index"], then["index"]);
  EXPECT_EQ(again["best"]["seconds"], then["seconds"]);

  EXPECT_NE(lathe(race).out.find("\nbest: "), std::string::npos);
  const Outcome none = lathe(with(race, {"--cache", "cold"}));
  EXPECT_EQ(none.code, 1);
  EXPECT_NE(none.error.find("no program of this workload is recorded for"), std::string::npos)
      << none.error;
  EXPECT_EQ(lathe(with(race, {"--count", "0"})).code, 2);
}

}  // namespace
}  // namespace lathe
