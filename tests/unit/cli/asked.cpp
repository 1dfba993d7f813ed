// What the command tells when it is asked: help of an operator, what a database holds, what is
// recorded elsewhere.
#include <algorithm>
#include <sstream>

#include "base/processors.h"
#include "tuner/store/store.h"
#include "unit/cli/in_process.h"

namespace lathe::cli {
namespace {

class Asked : public Usage {};

TEST_F(Asked, HelpIsOfTheOperator) {
  const std::string conv = lathe({"tune", "conv2d", "--help"}).out;
  for (const char* part :
       {"conv2d: 2-D convolution", "\n  --input N,N,...", "shape of the input: n,c,h,w; needed\n",
        "--stride N[,N...]", "; default 1\n"})
    EXPECT_TRUE(has(conv, part)) << part << conv;
  EXPECT_FALSE(has(conv, "--trans-a") || has(conv, "--batch N")) << conv;
  const std::string product =
      lathe({"show", "--what", "space", "batch_matmul", "--m", "3", "--help"}).out;
  for (const char* part : {"\n  --batch N ", "--trans-a  ", "A is stored transposed: [b,k,m]\n"})
    EXPECT_TRUE(has(product, part)) << part << product;
  EXPECT_FALSE(has(product, "\n  --weight ")) << product;
  const std::string attention = lathe({"tune", "attention", "--help"}).out;
  for (const char* part : {"\n  --kv-tokens N ", "; default tokens\n", "\n  --scale X ",
                           "; default width^-0.5\n", "\n  --causal "})
    EXPECT_TRUE(has(attention, part)) << part << attention;
  EXPECT_TRUE(has(lathe({"tune", "softmax", "--help"}).out, "\n  --axes N[,N...] "));
  const std::string general = lathe({"tune", "--help"}).out;
  for (const char* part : {"(lathe tune OPERATOR --help)", "\n  matmul  ", "\n  dense  ",
                           "\n  batch_matmul  ", "\n  conv2d  ", "--trials N"})
    EXPECT_TRUE(has(general, part)) << part << general;
  for (const char* part : {"\n  --trans-a", "\n  --weight ", "\n  --groups", "rows of C"})
    EXPECT_FALSE(has(general, part)) << part << general;
  EXPECT_TRUE(has(lathe({"best", "c7", "--help"}).out,
                  "C7: conv2d --input 1,128,28,28 --pad 1 --stride 2 --weight 256,128,3,3\n"));
  // One way to write a flag of several words.
  for (const char* command : {"tune", "best", "trials", "show", "compile", "bench", "paper"}) {
    const std::string help =
        lathe({command, "--help"}).out + lathe({command, "matmul", "--help"}).out;
    for (std::size_t at = 0; (at = help.find("--", at)) != std::string::npos; at += 2)
      EXPECT_FALSE(has(help.substr(at, help.find_first_of(" ,\n=", at) - at), "_"))
          << help.substr(at, 40);
  }
  refused({"tune", "matmul", "--m", "8", "--n", "8", "--k", "8", "--trans_a"}, kWrongUsage,
          "nothing here is called --trans_a, but --trans-a is");
  const std::string eval = lathe({"model", "eval", "--help"}).out;
  for (const char* column : {"pairs", "fast", "rank", "top-8", "peak@1", "peak@4, pk@16", "rmse",
                             "judged on (trained on)"})
    EXPECT_TRUE(has(eval, std::string("\n  ") + column)) << column << eval;
}

TEST_F(Asked, OperatorsTakeAxesFromTheEndAndWords) {
  EXPECT_TRUE(
      has(lathe({"show", "softmax", "--input", "3,5,7", "--axes", "-2,-1"}).out, "sum(k1:5,k2:7)"));
  EXPECT_TRUE(has(lathe({"show", "reduce", "--input", "3,5", "--op", "argmax", "--axes", "-1"}).out,
                  "output Y: i64[3]\n"));
  EXPECT_TRUE(
      has(lathe({"show", "einsum", "--subscripts", "ij,jk->ik", "--sizes", "i=3,j=5,k=7"}).out,
          "sum(j:5) in1[i,j] * in2[j,k]"));
  refused({"show", "einsum", "--subscripts", "ij->k", "--sizes", "i=3,j=5"}, kWrongUsage,
          "--subscripts: the output has 'k', but no operand has");
  refused({"show", "softmax", "--input", "3,5", "--axes", "2"}, kWrongUsage,
          "--axes: [3,5] has no dimension 2");
}

TEST_F(Asked, LayoutAndErrorAreOfTheExpressionUnlessAFlagSaysOtherwise) {
  const auto key = [&](std::vector<const char*> more) {
    std::vector<const char*> words = {"show",
                                      "A: f32[8,8]; B[i,j] = A[j,i]; layout free; max_error 1e-3"};
    words.insert(words.end(), more.begin(), more.end());
    return lathe(words).out;
  };
  EXPECT_TRUE(has(key({}), "; layout free; max_error 0.001\n")) << key({});
  EXPECT_TRUE(
      has(key({"--layout", "plain", "--max-error", "0.5"}), "; layout plain; max_error 0.5\n"));
  EXPECT_TRUE(has(lathe({"show", "C6"}).out, "; layout plain; max_error 2e-05\n"));
  refused({"show", "C6", "--max-error", "1.5"}, kWrongUsage,
          "--max-error: the largest error must be above 0 and at most 1, not 1.5");
}

// A trial of C6 that worked, under these conditions.
void add_trial(const std::string& database, bool free_layout, const char* target, CacheMode cache,
               const char* error = "") {
  auto store = store::open_sqlite(database);
  ASSERT_TRUE(store);
  store::Run run;
  const std::string key = lathe({"show", "C6", "--layout", free_layout ? "free" : "plain"}).out;
  run.workload = key.substr(key.find("# key: ") + 7);
  run.workload.pop_back();
  run.target = target;
  run.cache_mode = cache;
  run.space = run.search = run.model = "x";
  run.seed = static_cast<std::uint64_t>(*(*store)->count({}));
  run = *(*store)->open_run(run);
  std::vector<store::Record> records(1);
  records[0].run = run.id;
  records[0].workload = run.workload;
  records[0].target = target;
  records[0].cache_mode = cache;
  records[0].cpu = records[0].fingerprint = "x";
  records[0].error_kind = error;
  records[0].seconds = *error == '\0' ? 1e-3 : 0;
  records[0].trace = records[0].config = Json::array();
  ASSERT_TRUE((*store)->add(records));
}

TEST_F(Asked, WhatIsRecordedElsewhereIsSaid) {
  const std::string database = folder_.at("elsewhere.db");
  const auto best = [&](std::vector<const char*> more) {
    std::vector<const char*> words = {"best",       "C6",   "--target",
                                      "cpu:znver3", "--db", database.c_str()};
    words.insert(words.end(), more.begin(), more.end());
    return lathe(words).error;
  };
  add_trial(database, true, "cpu:znver3;threads=2", CacheMode::kCold, "timeout");
  EXPECT_FALSE(has(best({}), "but one is")) << "it failed";
  add_trial(database, true, "cpu:znver3;threads=2", CacheMode::kCold);
  EXPECT_TRUE(has(
      best({}),
      "with a warm cache, but one is with --layout free --threads 2 --cache cold; run lathe tune"))
      << best({});
  add_trial(database, true, "cpu:znver3;threads=1", CacheMode::kWarm);
  EXPECT_TRUE(has(best({}), ", but one is with --layout free; run lathe tune")) << best({});
  EXPECT_TRUE(has(best({"--layout", "free", "--cache", "cold"}), "but one is with --threads 2;"));
  EXPECT_EQ(best({"--layout", "free"}).find("no schedule"), std::string::npos);
  add_trial(database, false, "cpu:znver4;threads=1", CacheMode::kWarm);
  EXPECT_TRUE(
      has(best({"--max-error", "0.01", "--layout", "free", "--cache", "cold", "--threads", "3"}),
          "but one is with --"))
      << "any is better than none";
  const char* words[] = {"trials", "C6", "--target", "cpu:znver3", "--db", database.c_str()};
  EXPECT_EQ(lathe({std::begin(words), std::end(words)}).out,
            "no trials of this workload on cpu:znver3;threads=1 with a warm cache, but there are "
            "some with --layout free\n");
  refused({"compile", "C6", "--target", "cpu:znver3", "--db", database.c_str(), "-o", "x.so"},
          kFailed, "or give --schedule default");
}

// Where there is nothing for as many threads.
TEST_F(Asked, WhatIsOfFewerThreadsIsTakenAndSaid) {
  const std::string database = folder_.at("fewer.db");
  add_trial(database, false, "cpu:znver3;threads=1", CacheMode::kWarm);
  add_trial(database, false, "cpu:znver3;threads=3", CacheMode::kWarm);
  const auto asked = [&](const char* command, const char* threads) {
    return lathe({command, "C6", "--target", "cpu:znver3", "--db", database.c_str(), "--json",
                  "--threads", threads});
  };
  EXPECT_EQ((*parse_json(asked("best", "8").out))["target"], "cpu:znver3;threads=3");
  EXPECT_TRUE(has(asked("best", "8").error,
                  "lathe: nothing for 8 threads is on record; the best for 3 is taken, and runs "
                  "with 3; lathe tune with --threads 8 finds one for 8, on as many processors"))
      << asked("best", "8").error;
  EXPECT_EQ((*parse_json(asked("best", "2").out))["target"], "cpu:znver3;threads=1");
  EXPECT_EQ(asked("trials", "2").error,
            "lathe: nothing for 2 threads is on record; what is for 1 is taken\n");
  EXPECT_EQ(std::ranges::count(asked("trials", "2").out, '\n'), 1);
  EXPECT_EQ(asked("trials", "3").error, "");
  for (const char* what : {"steps", "asm"}) {
    const auto shown = [&](const char* threads) {
      return lathe({"show", "C6", "--target", "cpu:znver3", "--db", database.c_str(), "--schedule",
                    "best", "--what", what, "--threads", threads});
    };
    EXPECT_EQ(shown("1000").code, kDone) << shown("1000").error;
    EXPECT_EQ(shown("1000").out, shown("3").out);
  }
  // Whatever is not recorded with fewer is as it was.
  EXPECT_TRUE(has(lathe({"trials", "C6", "--target", "cpu:znver3", "--cache", "cold", "--threads",
                         "8", "--db", database.c_str()})
                      .out,
                  "cpu:znver3;threads=8 with a cold cache, but there are some with --cache warm"));
}

// The number of this machine is used where nobody says another; refusals are one sentence all the
// same.
TEST_F(Asked, ThreadsByDefault) {
  const auto target_of = [](std::vector<const char*> more) {
    std::vector<const char*> words = {"tune", "A: f32[64]; B[i] = A[i]", "--trials", "0", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const std::string text = (*parse_json(lathe(words).out))["target"];
    return text.substr(text.find(';') + 1);
  };
  unsetenv("OMP_NUM_THREADS");
  const int usual = usual_threads().number;
  EXPECT_EQ(target_of({}), fmt::format("threads={}", usual));
  EXPECT_EQ(target_of({"--threads", "1"}), "threads=1");
  EXPECT_EQ(target_of({"--threads", "1000"}), "threads=1000");
  EXPECT_EQ(target_of({"--target", "cpu:haswell"}), "threads=1");
  EXPECT_EQ(target_of({"--target", "cpu:host;threads=3"}), "threads=3");
  for (const char* value : {"abc", "0", "-1", "1000", ""}) {
    setenv("OMP_NUM_THREADS", value, 1);
    EXPECT_EQ(target_of({}), fmt::format("threads={}", usual)) << value;
  }
  setenv("OMP_NUM_THREADS", "1", 1);
  EXPECT_EQ(target_of({}), "threads=1");
  EXPECT_TRUE(has(lathe({"tune", "--help"}).out, "fewer where OMP_NUM_THREADS"));
  unsetenv("OMP_NUM_THREADS");
  for (const char* wrong : {"0", "-1", "two", "1.5", "", "1025"})
    for (const char* command : {"tune", "show", "best", "race", "trials", "bench", "doctor"})
      refused({command, "--threads", wrong}, kWrongUsage,
              "--threads: must be a whole number from 1 to 1024, not");
}

TEST_F(Asked, ADatabaseThatCannotBeLookedFor) {
  const std::string name(300, 'x');
  refused({"best", "C6", "--db", name.c_str()}, kFailed,
          "this file cannot be looked for (File name too long); give another one with --db");
}

TEST_F(Asked, TrialsOfADatabase) {
  const std::string database = folder_.at("trials.db");
  add_trial(database, false, "cpu:znver3;threads=1", CacheMode::kWarm);
  add_trial(database, true, "cpu:znver4;threads=2", CacheMode::kCold, "timeout");
  EXPECT_EQ(
      lathe({"trials", "C6", "--failed", "--target", "cpu:znver3", "--db", database.c_str()}).out,
      "none of 1 trial of this workload on cpu:znver3;threads=1 with a warm cache failed\n");
  EXPECT_TRUE(has(lathe({"trials", "C6", "--layout", "free", "--failed", "--target", "cpu:znver4",
                         "--threads", "2", "--cache", "cold", "--db", database.c_str()})
                      .out,
                  "timeout"));
  const std::string list = lathe({"trials", "--db", database.c_str()}).out;
  EXPECT_TRUE(has(list, "     1      0       1 ms    231.2 GFLOP/s  C6 (f32 A 1x128x28x28, "))
      << list;
  EXPECT_TRUE(has(list, "     1      1          -                -  C6 (")) << list;
  EXPECT_TRUE(has(list, "cpu:znver4;threads=2, cold caches, CPU x\n")) << list;
  // The key of a line is a workload that has these trials.
  std::istringstream lines(lathe({"trials", "--json", "--db", database.c_str()}).out);
  int found = 0;
  for (std::string line; std::getline(lines, line); ++found) {
    const Json json = *parse_json(line);
    const std::string key = json["workload"], target = json["target"], cache = json["cache"];
    const Outcome of_one = lathe({"trials", key.c_str(), "--target", target.c_str(), "--cache",
                                  cache.c_str(), "--json", "--db", database.c_str()});
    EXPECT_EQ(std::ranges::count(of_one.out, '\n'), 1) << of_one.out << of_one.error;
  }
  EXPECT_EQ(found, 2);
}

}  // namespace
}  // namespace lathe::cli
