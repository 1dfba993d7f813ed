// Small spaces, recorded by the command and searched again without the machine.
#include <csignal>
#include <filesystem>
#include <fstream>

#include "unit/cli/command.h"

namespace lathe {
namespace {

class Recordings : public Command {
 protected:
  Recordings() : list_(folder_.at("list.json")), file_(folder_.at("small.json.zst")) {
    std::ofstream(list_) << R"({"name": "small", "workload": "C[i,j] = sum(k) A[k,i] * B[k,j]",
      "shapes": ["A=31,37", "B=31,29"],
      "layout": "plain", "threads": 1, "cache": "warm", "space": "wide",
      "knobs": {"vector": "j", "order": ["VPK.vp", "PVK.vp", "KPV.pv"], "tile.v": 1,
                "tile.p0": [1, 3, 5, 7], "block.v": 1,
                "block.p": 1, "block.k": 31, "unroll.k": 2, "pack.weights": ["none", "block"],
                "prefetch": 0, "pack.input": "none"}})";
  }
  std::vector<std::string> record() const {
    return {"space", "record", list_, "-o", file_, "--json"};
  }

  const std::string list_, file_;
};

TEST_F(Recordings, AreMadeShownSearchedAndExported) {
  EXPECT_EQ(json_of(lathe({"space", "check", list_, "--json"}))["configurations"], 24);
  const Outcome recorded = lathe(record());
  ASSERT_EQ(recorded.code, 0) << recorded.error;
  EXPECT_EQ(json_of(recorded)["difficulty"]["configurations"], 24);
  EXPECT_EQ(json_of(recorded)["difficulty"]["raced"], 24);
  EXPECT_EQ(json_of(recorded)["wrong"], 0);
  // All is there: the same command measures nothing.
  EXPECT_EQ(json_of(lathe(record()))["resumed"], 24);
  EXPECT_EQ(records().size(), 24U);

  const Json shown = json_of(lathe({"space", "show", file_, "--json"}));
  EXPECT_EQ(shown["best"]["seconds"], shown["best_seconds"]);
  const std::string config = shown["best"]["config"].dump();
  EXPECT_EQ(json_of(lathe({"space", "show", file_, "--config", config, "--json"}))["trial"],
            shown["best"]);
  const Outcome outside = lathe({"space", "show", file_, "--config",
                                 R"({"order": "VPK.vp", "tile.p0": 2, "pack.weights": "none"})"});
  EXPECT_EQ(outside.code, 2);
  EXPECT_EQ(outside.error, "lathe: --config: 2 is not a value of knob tile.p0 in this space\n");

  ASSERT_EQ(lathe({"space", "export", file_, "-o", folder_.at("cache.json")}).code, 0);
  const auto cache = parse_json(content(folder_.at("cache.json")));
  ASSERT_TRUE(cache);
  EXPECT_EQ((*cache)["cache"].size(), 24U);
}

TEST_F(Recordings, SearchesOnThemAreTheSameToTheByte) {
  ASSERT_EQ(lathe(record()).code, 0);
  const auto replay = [&](const std::string& search, const std::string& model,
                          const std::string& jobs) {
    const Outcome outcome =
        lathe({"tune", "--replay", file_, "--search", search, "--model", model, "--trials", "18",
               "--batch-size", "4", "--jobs", jobs, "--seed", "3", "--json"});
    EXPECT_EQ(outcome.code, 0) << outcome.error;
    return outcome.out;
  };
  for (const auto& [search, model] :
       {std::pair{"annealing", "xgb-rank"}, {"genetic", "none"}, {"random", "none"}})
    EXPECT_EQ(replay(search, model, "1"), replay(search, model, "2")) << search;
  EXPECT_EQ((*parse_json(replay("random", "none", "1")))["trials"], 18);
  const Outcome all = lathe({"tune", "--replay", file_, "--trials", "100"});
  EXPECT_EQ(all.out.substr(0, all.out.find('\n')),
            "24 trials, none failed, replayed; the space has no more");
  EXPECT_EQ(lathe({"tune", "C6", "--replay", file_}).error,
            "lathe: --replay: the recording says what its workload is; remove \"C6\"\n");
}

TEST_F(Recordings, GoOnAfterAnInterrupt) {
  const pid_t child = start({"space", "record", list_, "-o", file_});
  constexpr int kMostMilliseconds = 60'000;  // it may have refused
  for (int i = 0; i < kMostMilliseconds && !std::filesystem::exists(folder_.at("records.db")); ++i)
    usleep(1000);
  kill(child, SIGINT);
  const Outcome interrupted = finish(child);
  if (interrupted.code != 0) {
    EXPECT_EQ(interrupted.code, 130) << interrupted.error;
    EXPECT_NE(interrupted.error.find("the same command goes on"), std::string::npos)
        << interrupted.error;
    EXPECT_FALSE(std::filesystem::exists(file_));
  }
  ASSERT_EQ(lathe(record()).code, 0);
  EXPECT_EQ(records().size(), 24U);
}

}  // namespace
}  // namespace lathe
