// Every wrong input gets one sentence that says what is wrong, where, and what to do, and the right
// exit code.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tuner/store/store.h"
#include "unit/cli/in_process.h"

namespace lathe::cli {
namespace {

constexpr const char* kMatmul = "C[i,j] = sum(k) A[k,i] * B[k,j]";

TEST_F(Usage, Subcommands) {
  refused(
      {}, kWrongUsage,
      "a subcommand is missing, one of tune, race, best, trials, show, compile, bench, run, model, "
      "space, report, paper, export, import, reproduce, doctor, completion, manual");
  refused({"frobnicate"}, kWrongUsage, "unknown subcommand \"frobnicate\"; known are tune,");
  refused({"tune", "C6", "--frobnicate"}, kWrongUsage, "nothing here is called --frobnicate");
  refused({"tune", "C6", "C7"}, kWrongUsage, "nothing here is called C7");
  refused({"tune", kMatmul, "--shape", "A=8,8", "B=8,8"}, kWrongUsage,
          "B=8,8 belongs to no flag; give its flag again");
  refused({"tune", "C6", "--json=maybe"}, kWrongUsage, "--json = maybe: it takes no value");
  refused({"tune", "C6", "--time"}, kWrongUsage, "--time: its value is missing");
  refused({"import"}, kWrongUsage, "FILE is required");
}

// Made from one table: what the help names, they name.
TEST_F(Usage, CompletionsAndTheManualNameEveryFlag) {
  const std::string help = lathe({"tune", "--help"}).out, bash = lathe({"completion"}).out,
                    fish = lathe({"completion", "--shell", "fish"}).out,
                    manual = lathe({"manual"}).out;
  int flags = 0;
  for (std::size_t at = help.find("\n  --"); at != std::string::npos;
       at = help.find("\n  --", at + 1)) {
    const std::string name = help.substr(at + 5, help.find_first_of(" ,\n", at + 5) - at - 5);
    EXPECT_NE(bash.find(" --" + name + " "), std::string::npos) << name;
    EXPECT_NE(fish.find(" -l " + name + " "), std::string::npos) << name;
    std::string roff;
    for (const char c : "--" + name) roff += c == '-' ? std::string("\\-") : std::string(1, c);
    EXPECT_NE(manual.find(roff), std::string::npos) << name;
    ++flags;
  }
  EXPECT_GT(flags, 20);
  refused({"completion", "--shell", "csh"}, kWrongUsage, "must be one of bash, zsh, fish");
}

TEST_F(Usage, HelpIsNotAnError) {
  for (const char* word : {"tune", "best", "trials", "show", "compile", "bench", "model", "report",
                           "export", "import", "reproduce", "doctor", "completion", "manual"}) {
    const Outcome outcome = lathe({word, "--help"});
    EXPECT_EQ(outcome.code, kDone);
    EXPECT_NE(outcome.out.find("--help"), std::string::npos) << word;
  }
  EXPECT_NE(lathe({"--help"}).out.find("Exit codes"), std::string::npos);
}

TEST_F(Usage, Workloads) {
  refused({"tune"}, kWrongUsage, "no workload is given");
  refused({"tune", " "}, kWrongUsage, "no workload is given");
  refused({"tune", "frob"}, kWrongUsage, "unknown workload \"frob\"");
  refused({"tune", kMatmul}, kWrongUsage, "there is no tensor A");
  refused({"tune", kMatmul, "--shape", "A=8,8", "--shape", "B=7,8"}, kWrongUsage,
          "the expression, line 1, column");
  refused({"tune", kMatmul, "--shape", "A=8,8", "--shape", "A=8,9"}, kWrongUsage,
          "--shape: A has two shapes; give one");
  refused({"tune", kMatmul, "--shape", "A=8,x"}, kWrongUsage, "--shape: \"x\" is not a size of A");
  refused({"tune", kMatmul, "--shape", "A"}, kWrongUsage, "--shape: \"A\" is not NAME=VALUE");
  refused({"tune", "B[i] = A[i", "--shape", "A=8"}, kWrongUsage, "line 1, column");
  refused({"tune", "B[i] = A[i]", "--shape", "A=8", "--dtype", "f99"}, kWrongUsage,
          "--dtype: unknown type \"f99\"; known are f32");
  refused({"tune", "B[i] = A[i]", "--shape", "A=8", "--const", "Q"}, kWrongUsage, "Q");
  refused({"tune", "B[i] = A[i]", "--shape", "A=8", "--const", "B"}, kWrongUsage,
          "no input of the expression (inputs: A)");
  refused({"tune", "B[i] = A[i]", "--shape", "A=8", "--shape", "Q=8"}, kWrongUsage,
          "does not use (known: A, B)");
  refused({"tune", "B[i] = A[i]", "--shape", "A=8", "--pad", "1"}, kWrongUsage,
          "--pad: this flag belongs to an operator");
  refused({"tune", "conv2d", "--input", "1,64,56,56"}, kWrongUsage, "--weight");
  refused({"tune", "conv2d", "--shape", "A=8"}, kWrongUsage, "--shape: conv2d is an operator");
  refused({"tune", "C6", "--shape", "A=8"}, kWrongUsage,
          "--shape: the shapes of C6 are the paper's");
  refused({"tune", "C6", "--dtype", "f99"}, kWrongUsage, "f99");
  refused({"tune", "A: f32[8]; B[i] = A[i]", "--dtype", "f16"}, kWrongUsage,
          "the type f16 is given for the inputs, but each of them");
  refused({"tune", "A: f32[8]; B[i] = A[i]", "--dtype", "A=f16"}, kWrongUsage,
          "A is declared f32 here and f16 outside");
  refused({"tune", "B[i] = A[i]", "--shape", "A=8", "--dtype", "f16", "--dtype", "f32"},
          kWrongUsage, "two types are given");
}

TEST_F(Usage, DevicesOfOpenCl) {
  refused({"show", "C6", "--what", "space", "--target", "opencl:generic;threads=2"}, kWrongUsage,
          "only a processor's target has options; write opencl:generic without \";threads=2\"");
  refused({"show", "C6", "--what", "space", "--target", "opencl:generic", "--layout", "free"},
          kWrongUsage,
          "--layout: schedules for OpenCL keep the layouts of inputs and outputs; give plain, not "
          "free");
}

// Also with zeros before them, which C's own reading takes for octal.
TEST_F(Usage, WholeNumbersAreDecimal) {
  const auto steps = [](const char* threads) {
    return lathe({"show", "A: f32[64]; B[i] = A[i]", "--what", "steps", "--threads", threads});
  };
  EXPECT_EQ(steps("08").code, kDone) << steps("08").error;
  EXPECT_EQ(steps("08").out, steps("8").out);
  refused({"tune", "C6", "--trials", "0100000000000"}, kWrongUsage, "not \"100000000000\"");
}

TEST_F(Usage, Values) {
  refused({"tune", "C6", "--trials", "many"}, kWrongUsage,
          "--trials: must be a whole number from 0 to");
  refused({"tune", "C6", "--trials", "5", "--trials", "-1"}, kWrongUsage, "not \"-1\"");
  refused({"tune", "C6", "--trials", "0", "--model", "none"}, kWrongUsage,
          "--model: none chooses nothing");
  refused({"tune", "C6", "--time", "-1"}, kWrongUsage, "--time: must be a number above 0");
  refused({"tune", "C6", "--search", "anealing"}, kWrongUsage, "did you mean annealing?");
  refused({"tune", "C6", "--model", "xgb_rank"}, kWrongUsage, "did you mean xgb-rank?");
  refused({"tune", "C6", "--trial", "5"}, kWrongUsage,
          "nothing here is called --trial; did you mean --trials?");
  refused({"tuna", "C6"}, kWrongUsage, "did you mean tune?");
  refused({"tune", "conv2"}, kWrongUsage, "; did you mean conv2d?");
  refused({"tune", "matmull"}, kWrongUsage, "; did you mean matmul?");
  refused({"tune", "C13"}, kWrongUsage, "; did you mean C10?");
  refused({"tune", "conv2d", "--input", "1,8,8,8", "--weight", "8,8,3,3", "--padd", "1"},
          kWrongUsage, "--pad");
  refused({"tune", "B[i] = A[i]", "--shape", "A=8", "--dtype", "float32"}, kWrongUsage,
          "did you mean f32?");
  refused({"show", "C6", "--what", "spaces"}, kWrongUsage, "did you mean space?");
  refused({"tune", "C6", "--max-error", "1e-44"}, kWrongUsage,
          "--max-error: no f32 is as accurate as a max_error of 1e-44 asks, and Y is of that type; "
          "the least that can be asked for is 6e-08");
  refused({"tune", "C6", "--search", "magic"}, kWrongUsage,
          "--search: must be one of annealing, genetic, random, not \"magic\"");
  refused({"tune", "C6", "--model", "magic"}, kWrongUsage,
          "--model: must be one of xgb-rank, xgb-reg, xgb-ensemble, treegru-rank,");
  refused({"tune", "C6", "--features", "colour"}, kWrongUsage,
          "--features: must be one of context, relation, configuration");
  refused({"tune", "C6", "--acquisition", "luck"}, kWrongUsage,
          "--acquisition: must be one of mean, ei, ucb");
  refused({"tune", "C6", "--acquisition", "ei"}, kWrongUsage,
          "needs a model that knows how unsure it is, xgb-ensemble, not xgb-rank");
  refused({"tune", "C6", "--epsilon", "1.5"}, kWrongUsage,
          "--epsilon: must be a number from 0 to 1, not \"1.5\"");
  refused({"tune", "C6", "--lambda", "nan"}, kWrongUsage,
          "--lambda: must be a number from 1 to 1000, not \"nan\"");
  refused({"tune", "C6", "--chains", "0"}, kWrongUsage,
          "--chains: must be a whole number from 1 to");
  refused({"tune", "C6", "--layout", "loose"}, kWrongUsage, "--layout: must be one of plain, free");
  refused({"tune", "C6", "--cache", "tepid"}, kWrongUsage, "--cache: must be one of warm, cold");
  refused({"tune", "C6", "--space", "huge"}, kWrongUsage, "--space: must be one of default, wide");
  refused({"tune", "C6", "--max-error", "0"}, kWrongUsage, "--max-error: must be a number above 0");
  refused({"show", "C6", "--what", "everything"}, kWrongUsage,
          "--what: unknown view \"everything\"; known are expression");
  refused({"show", "C6", "--what", "nest", "--trace", "x.json"}, kWrongUsage,
          "--trace: --what nest shows no schedule");
  refused({"show", "C6", "--what", "nest", "--trace", "steps"}, kWrongUsage,
          "--trace: --what nest shows no schedule");
  refused({"bench", "C6", "--trace", "no-such-steps"}, kFailed,
          "no-such-steps: the file cannot be read");
  refused({"show", "C6", "--what", "ptx"}, kWrongUsage, "cannot be shown as ptx, but as llvm and");
  refused({"show", "C6", "--what", "llvm", "--target", "cuda:sm_80"}, kWrongUsage,
          "cannot be shown as llvm, but as ptx and source");
  refused({"bench", "C6", "--schedule", "fastest"}, kWrongUsage,
          "--schedule: must be one of best, predicted, default, naive");
}

TEST_F(Usage, Targets) {
  refused({"tune", "C6", "--target", "gpu"}, kWrongUsage, "unknown target \"gpu\"");
  refused({"tune", "C6", "--target", "cpu:no-such-cpu"}, kWrongUsage, "no-such-cpu");
  refused({"show", "C6", "--target", "cuda:no-such-card"}, kWrongUsage,
          "unknown card \"no-such-card\"");
  refused({"tune", "C6", "--target", "cpu:host;threads=2", "--threads", "3"}, kWrongUsage,
          "--threads: 3 here, 2 in the target");
  // Made here, but not timed here; "x86" or "aarch64", whichever this is not.
#if defined(__x86_64__)
  refused({"tune", "C6", "--target", "cpu:cortex-a72;isa=aarch64"}, kWrongUsage,
          "cannot be timed on this machine, which is of another kind");
  refused({"bench", "C6", "--schedule", "default", "--target", "cpu:cortex-a72;isa=aarch64"},
          kWrongUsage, "lathe compile");
#endif
  refused({"tune", "C6", "--target", "cpu:host;threads=2;threads=3"}, kWrongUsage,
          "the target gives threads twice; give it once");
  EXPECT_EQ(lathe({"show", "C6", "--what", "asm", "--target", "cpu:cortex-a76"}).code, kDone);
  for (const std::vector<const char*>& words :
       {std::vector<const char*>{"tune", "C6"},
        {"race", "C6"},
        {"bench", "C6", "--schedule", "default"},
        {"bench", "C6", "--schedule", "default", "--no-check"},
        {"bench", "C6", "--schedule", "default", "--serve"}}) {
    std::vector<const char*> many = words;
    many.insert(many.end(), {"--threads", "1000"});
    refused(many, kWrongUsage, "--threads: 1000 threads cannot be timed on the ");
  }
  EXPECT_EQ(lathe({"show", "C6", "--what", "steps", "--threads", "1000"}).code, kDone);
  refused({"tune", "C6", "--threads", "0"}, kWrongUsage,
          "--threads: must be a whole number from 1");
}

TEST_F(Usage, FilesAndDatabases) {
  refused({"best", "C6"}, kFailed, "there is no database here yet; run lathe tune first");
  refused({"export"}, kFailed, "there is no database here yet");
  refused({"import", "/no/such/file"}, kFailed, "/no/such/file: the file cannot be read");
  refused({"import", folder_.path().c_str()}, kFailed,
          "this is a folder; give a file of JSON lines");
  refused({"tune", "C6", "--db", folder_.path().c_str()}, kFailed,
          "this is a folder, not a database");
  for (const std::vector<const char*>& words : {std::vector<const char*>{"tune", "--replay", ""},
                                                {"tune", "C6", "--db", ""},
                                                {"tune", "C6", "--global-model", ""},
                                                {"race", "C6", "--db", ""},
                                                {"best", "C6", "--db", ""},
                                                {"compile", "C6", "-o", ""},
                                                {"compile", "C6", "--trace", "", "-o", "x.so"},
                                                {"report", "-o", ""},
                                                {"report", ""},
                                                {"import", ""},
                                                {"space", "record", "", "-o", "x"},
                                                {"space", "show", ""},
                                                {"model", "train", "--from", "", "-o", "x"},
                                                {"model", "eval", "--global-model", ""}})
    refused(words, kWrongUsage, "names no file, as its value is empty");
  for (const std::vector<const char*>& words : {std::vector<const char*>{"reproduce", ""},
                                                {"paper", "fig4", "--spaces", ""},
                                                {"paper", "fig4", "-o", ""}})
    refused(words, kWrongUsage, "names no folder, as its value is empty");
  refused({"tune", "C6", "--db", "no/such/folder/x.db"}, kFailed,
          "no/such/folder/x.db: there is no folder no/such/folder; make it, or");
  EXPECT_FALSE(std::filesystem::exists("no"));
  for (const char* device : {"/dev/full", "/dev/zero"}) {
    refused({"import", device}, kFailed,
            std::string(device) + ": this is a device, which may never end; give a file");
    refused({"tune", "C6", "--global-model", device}, kFailed,
            "this is a device, which may never end; give a file");
    refused({"tune", "--replay", device}, kFailed,
            "this is a device, which may never end; give a file");
    refused({"space", "check", device}, kFailed,
            "this is a device, which may never end; give a file");
    refused({"report", device}, kFailed, "this is a device or the like, not a database");
    refused({"model", "eval", "--from", device}, kFailed,
            "this is a device or the like, not a database");
  }
  const std::string letter = folder_.at("letter.txt");
  std::ofstream(letter) << "dear aunt, this is not a database, but it is longer than the header of "
                           "one would be, I think";
  refused({"best", "C6", "--db", letter.c_str()}, kFailed, "not a Lathe database");
  refused({"import", letter.c_str()}, kFailed, "letter.txt, line 1: not valid JSON");
}

TEST_F(Usage, Reports) {
  refused({"report"}, kFailed, "there is no database here yet; run lathe tune first");
  refused({"report", "/no/such.db"}, kFailed, "/no/such.db: there is no database here yet");
  for (const auto& [flag, value] :
       {std::pair("--shape", "x=1"), std::pair("--max-error", "1e-2"),
        std::pair("--target", "cpu:haswell"), std::pair("--threads", "1"),
        std::pair("--weights-type", "f16")})
    refused({"report", "a.db", flag, value}, kWrongUsage, "this is for a model.onnx");
  refused({"report", "a.db", "--floors"}, kWrongUsage, "this is for a model.onnx");
  refused({"report", "none.onnx"}, kFailed, "none.onnx");
  refused({"report", "a.db", "--db", "b.db"}, kWrongUsage,
          "--db: two databases are given, a.db and b.db; choose one");
  refused({"report", folder_.path().c_str()}, kFailed, "this is a folder, not a database");
  const std::string letter = folder_.at("letter.txt");
  std::ofstream(letter) << "dear aunt, this is not a database, but it is longer than the header of "
                           "one would be, I think";
  refused({"report", letter.c_str()}, kFailed, "not a Lathe database");
  const std::string empty = folder_.at("empty.db");
  auto store = store::open_sqlite(empty);
  ASSERT_TRUE(store);
  refused({"report", empty.c_str()}, kFailed,
          empty + ": the database holds no trials yet; run lathe tune first");
  store::Run run;
  run.workload = run.target = run.space = run.search = run.model = "x";
  run = *(*store)->open_run(run);
  std::vector<store::Record> records(1);
  records[0].run = run.id;
  records[0].workload = records[0].target = records[0].cpu = "x";
  records[0].error_kind = "timeout";
  records[0].trace = records[0].config = Json::array();
  ASSERT_TRUE((*store)->add(records));
  refused({"report", empty.c_str(), "-o", folder_.path().c_str()}, kWrongUsage,
          "is no file name for the page; give one, as in -o report.html");
  refused({"report", empty.c_str(), "-o", "/no/such/folder/x.html"}, kFailed,
          "/no/such/folder/x.html");
  const std::string page = folder_.at("x.html");
  EXPECT_EQ(lathe({"report", empty.c_str(), "-o", page.c_str()}).out, page + ": 1 workload\n");
  EXPECT_GT(std::filesystem::file_size(page), 100'000U);
  EXPECT_TRUE(
      lathe({"report", "--db", empty.c_str(), "-o", "-"}).out.starts_with("<!DOCTYPE html>"));
}

TEST_F(Usage, Outputs) {
  const auto to = [this](const std::string& path, int code, const std::string& part) {
    refused({"compile", kMatmul, "--shape", "A=8,8", "--shape", "B=8,8", "--schedule", "default",
             "-o", path.c_str()},
            code, part);
  };
  refused({"compile", "C6"}, kWrongUsage, "--output is required");
  to("/no/such/folder/x.so", kFailed, "the folder /no/such/folder does not exist");
  to("", kWrongUsage, "--output: names no file, as its value is empty");
  to(folder_.path().string(), kWrongUsage, "this is no file name for the library");
  to(folder_.at("new.so/"), kWrongUsage, "this is no file name for the library");
  to(folder_.at("x.h"), kWrongUsage, "would be overwritten by its header");
  const std::string pipe = folder_.at("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  to(pipe, kFailed, "this is a device or the like, which a library must not replace");
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
}

TEST_F(Usage, Imports) {
  store::Run run{0,
                 "A: f32[8]; output B: f32[8]; B[i:8] = A[i]; layout plain; max_error 2e-05",
                 "cpu:x86-64;threads=1",
                 CacheMode::kWarm,
                 "default",
                 "00",
                 "random",
                 "none",
                 0};
  store::Record record;
  record.workload = run.workload;
  record.target = run.target;
  record.cache_mode = run.cache_mode;
  record.seconds = 1;
  record.trace = Json::array();
  record.config = Json::object();
  const Json good = store::to_json(run, record);
  const std::string file = folder_.at("lines.jsonl");
  const auto line = [&](const char* member, const Json& value, const std::string& part) {
    Json bad = good;
    bad[member] = value;
    std::ofstream(file) << good.dump() << '\n' << bad.dump() << '\n';
    refused({"import", file.c_str()}, kFailed, "lines.jsonl, line 2: " + part);
  };
  line("workload", "hello", "member \"workload\": ");
  line("target", "gpu", "member \"target\": unknown target \"gpu\"");
  line("cache", "tepid", "member \"cache\": must be warm, cold or far, not \"tepid\"");
  line("trace", Json::array({5}), "member \"trace\": ");
  line("index", -5, "member \"index\" must be from 0");
  line("seconds", -1, "member \"seconds\" must be positive");
  line("visits", "none", "member \"visits\"");
  EXPECT_EQ(lathe({"export"}).out, "") << "nothing of a file with a wrong line is imported";
  std::ofstream(file) << good.dump() << '\n';
  EXPECT_EQ(lathe({"import", file.c_str()}).out, "1 trial imported, 0 were already there\n");
}

TEST_F(Usage, Models) {
  refused({"model"}, kWrongUsage, "a subcommand is missing, one of train, eval");
  refused({"model", "frob"}, kWrongUsage, "unknown subcommand \"frob\"; known are train, eval");
  refused({"model", "eval", "--frob"}, kWrongUsage, "see lathe model eval --help");
  refused({"model", "train"}, kWrongUsage, "--output is required");
  refused({"model", "train", "-o", "m.model"}, kFailed, "there is no database here yet");
  refused({"model", "train", "-o", "m.model", "--without", "frob"}, kWrongUsage,
          "unknown workload \"frob\"");
  refused({"model", "train", "-o", "m.model", "--target", "frob"}, kWrongUsage,
          "unknown target \"frob\"");
  refused({"model", "train", "-o", "m.model", "--model", "none"}, kWrongUsage,
          "--model: none does not learn");
  refused({"model", "eval", "--held-out", "frob"}, kWrongUsage, "unknown workload \"frob\"");
  refused({"model", "eval", "--from", "/no/such.db"}, kFailed,
          "/no/such.db: there is no database here yet");
  refused({"model", "eval", "--train-rows", "-1"}, kWrongUsage,
          "--train-rows: must be a whole number from 0");
  refused({"model", "eval", "--model", "none"}, kWrongUsage, "--model: none does not learn");
  const std::string letter = folder_.at("letter.txt"), empty = folder_.at("empty.jsonl");
  std::ofstream(letter) << "dear aunt";
  std::ofstream(empty).flush();
  refused({"tune", "C6", "--global-model", letter.c_str()}, kFailed,
          "letter.txt: this is not a saved cost model");
  refused({"tune", "C6", "--global-model", "/no/such/file"}, kFailed,
          "/no/such/file: the file cannot be read");
  refused({"tune", "C6", "--global-model", letter.c_str(), "--no-transfer"}, kWrongUsage,
          "--global-model: contradicts --no-transfer; give one of them");
  refused({"tune", "C6", "--global-model", letter.c_str(), "--model", "none"}, kFailed,
          "not a saved cost model");
  refused({"tune", "C6", "--model", "treegru-rank", "--features", "relation"}, kWrongUsage,
          "treegru-rank sees programs as trees, not as relation features");
  refused({"tune", "C6", "--features", "tree"}, kWrongUsage,
          "--features: must be one of context, relation, configuration");
  ASSERT_EQ(lathe({"import", empty.c_str()}).code, kDone);
  refused({"model", "train", "-o", "m.model"}, kFailed,
          "the databases hold no records; run lathe tune first");
  refused({"model", "eval", "--held-out", "each", "--unrelated", "familly"}, kWrongUsage,
          "--unrelated: unknown relation \"familly\"; known are operator, image, family");
  refused({"model", "eval", "--unrelated", "image"}, kWrongUsage, "give --held-out");
}

TEST_F(Usage, SpacesAndRecordings) {
  refused({"space"}, kWrongUsage, "a subcommand is missing, one of check, record, show, export");
  refused({"space", "check"}, kWrongUsage, "LIST is required");
  refused({"space", "show", "/no/such/file"}, kFailed, "/no/such/file: the file cannot be read");
  refused({"tune", "--replay", "/no/such/file"}, kFailed, "/no/such/file: the file cannot be read");
  refused({"tune", "--replay", "x", "--space", "wide"}, kWrongUsage,
          "--replay: contradicts --space; give one of them");
  const std::string list = folder_.at("list.json");
  const auto wrong = [&](const std::string& text, const std::string& part) {
    std::ofstream(list) << text;
    refused({"space", "check", list.c_str()}, kWrongUsage, "list.json");
    refused({"space", "check", list.c_str()}, kWrongUsage, part);
  };
  wrong("", "not valid JSON");
  wrong("{}", "member \"name\" is missing");
  const std::string head =
      R"({"name": "x", "workload": "C6", "layout": "free", "threads": 1, "cache": "warm")"
      R"(, "space": "wide")";
  wrong(head + "}", "member \"knobs\" is missing");
  wrong(head + R"(, "knobs": {}})", "vector: nothing says which values of this knob are kept");
  wrong(head + R"(, "knobs": {"tile.q": 1}})", "list.json, tile.q: this space has no such knob");
  wrong(head + R"(, "cache": "hot", "knobs": {}})", "the member \"cache\" is given twice");
  std::string hot = head;
  hot.replace(hot.find("warm"), 4, "hot");
  wrong(hot + R"(, "knobs": {}})", "\"cache\" must be warm, cold or far, not \"hot\"");
  refused({"space", "show", list.c_str()}, kFailed,
          "list.json: this is not a file that Lathe compressed");
  refused({"tune", "--replay", list.c_str()}, kFailed,
          "list.json: this is not a file that Lathe compressed");
}

TEST_F(Usage, NothingRecorded) {
  const std::string empty = folder_.at("empty.jsonl");
  std::ofstream(empty).flush();
  EXPECT_EQ(lathe({"import", empty.c_str()}).out, "0 trials imported, 0 were already there\n");
  refused({"best", "C6"}, kFailed, "no schedule is recorded for this workload");
  EXPECT_FALSE(has(lathe({"best", "C6"}).error, "--schedule")) << "best does not take it";
  refused({"trials"}, kFailed, "the database holds no trials yet; run lathe tune first");
  refused({"compile", "C6", "-o", "x.so"}, kFailed, "or give --schedule default");
  EXPECT_NE(lathe({"trials", "C6"}).out.find("no trials of this workload"), std::string::npos);
  EXPECT_EQ(lathe({"export"}).out, "");
}

TEST_F(Usage, ShowsEveryStage) {
  for (const char* what : {"expression", "space", "nest", "scheduled", "trace", "steps", "flat",
                           "llvm", "asm", "features"}) {
    const Outcome outcome =
        lathe({"show", kMatmul, "--shape", "A=33,20", "--shape", "B=33,17", "--what", what});
    EXPECT_EQ(outcome.code, kDone) << what << ": " << outcome.error;
    EXPECT_GT(outcome.out.size(), 40U) << what;
  }
  EXPECT_NE(lathe({"show", "C6"}).out.find("sum("), std::string::npos);
  EXPECT_EQ(lathe({"show", "matmul", "--m", "5", "--n", "7", "--k", "3", "--trans-a", "--what",
                   "trace", "--schedule", "naive"})
                .out,
            "\n");
}

TEST_F(Usage, StepsCanBeReadAgain) {
  for (const char* schedule : {"default", "naive"}) {
    const Outcome steps = lathe({"show", "C6", "--what", "steps", "--schedule", schedule});
    ASSERT_EQ(steps.code, kDone) << steps.error;
    const std::string file = folder_.at("steps.json");
    std::ofstream(file) << steps.out;
    const Outcome again = lathe({"show", "C6", "--what", "scheduled", "--trace", file.c_str()});
    EXPECT_EQ(again.code, kDone) << again.error;
    EXPECT_EQ(again.out, lathe({"show", "C6", "--what", "scheduled", "--schedule", schedule}).out);
  }
}

}  // namespace
}  // namespace lathe::cli
