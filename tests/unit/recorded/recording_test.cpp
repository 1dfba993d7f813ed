#include "research/recorded/recording.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "research/recorded/compression.h"
#include "research/recorded/difficulty.h"
#include "research/recorded/kernel_tuner.h"
#include "tuner/feature/feature.h"
#include "unit/recorded/made_up.h"

namespace lathe::recorded {
namespace {

std::vector<float> features_of(const Recording& recording) {
  const feature::Extractor extractor({feature::Kind::kContext, recording.target.kind()},
                                     *recording.space);
  std::vector<float> rows(recording.configs().size() * static_cast<std::size_t>(extractor.width()));
  extractor.rows(recording.configs(), rows, 1);
  return rows;
}

TEST_F(RecordedTest, ComesBackAsItWas) {
  const Recording saved = made_up();
  ASSERT_TRUE(save(saved, path("a")));
  const auto loaded = load(path("a"));
  ASSERT_TRUE(loaded) << loaded.error().text();
  EXPECT_EQ(loaded->name, "small");
  EXPECT_EQ(loaded->target.text(), saved.target.text());
  EXPECT_EQ(loaded->target.as_cpu().vector_registers, 32);
  EXPECT_EQ(loaded->machine.text(), saved.machine.text());
  EXPECT_EQ(loaded->codegen_version, 7);
  EXPECT_EQ(loaded->space->hash(), saved.space->hash());
  EXPECT_EQ(loaded->configs(), saved.configs());
  EXPECT_EQ(features_of(*loaded), features_of(saved));
  int failed = 0;
  for (std::size_t i = 0; i < saved.trials().size(); ++i) {
    failed += loaded->trials()[i].failure == 0;
    EXPECT_EQ(loaded->trials()[i].failure, saved.trials()[i].failure);
    EXPECT_EQ(loaded->trials()[i].dropped_early, saved.trials()[i].dropped_early);
    if (saved.trials()[i].failure < 0) {
      EXPECT_NEAR(loaded->seconds(i), saved.seconds(i), 1e-5 * saved.seconds(i));
      EXPECT_EQ(loaded->trials()[i].spread, 0.0125);
    }
  }
  EXPECT_GT(failed, 0);
}

TEST_F(RecordedTest, RefusesWhatIsNoSoundRecording) {
  const auto refused = [&](const std::string& bytes, const std::string& part) {
    ASSERT_TRUE(write_whole(path("b"), bytes));
    const auto loaded = load(path("b"));
    ASSERT_FALSE(loaded) << part;
    EXPECT_NE(loaded.error().message.find(part), std::string::npos) << loaded.error().text();
    EXPECT_EQ(loaded.error().place, path("b"));
  };
  ASSERT_TRUE(save(made_up(), path("a")));
  const std::string bytes = *read_file(path("a"));
  refused("", "not a file that Lathe compressed");
  refused("{\"lathe_recording\": 1}", "not a file that Lathe compressed");
  refused(bytes.substr(0, bytes.size() / 2), "damaged or cut short");
  for (const std::size_t at : {bytes.size() / 3, bytes.size() / 2, bytes.size() - 1}) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    refused(damaged, "damaged or cut short");
  }
  refused(compress("{}"), "no recording");
  refused(compress("nonsense"), "not valid JSON");
  const auto changed = [&](const char* pointer, const Json& value) {
    Json json = *parse_json(*decompress(bytes, 1 << 24));
    json[Json::json_pointer(pointer)] = value;
    return compress(json.dump());
  };
  refused(changed("/lathe_recording", 2), "of format 2, this Lathe reads format 1");
  refused(changed("/trials/seconds/3", -1e-5), "times that cannot be");
  refused(changed("/trials/seconds/3", nullptr), "times that cannot be");
  refused(changed("/trials/seconds/3", "fast"), "no number");
  refused(changed("/trials/spread", Json::array()), "not equally long");
  refused(changed("/trials/failure/3", 5), "times that cannot be");
  refused(changed("/space/sketches/0/trace/0/loop", "nowhere"),
          "cannot be built by this Lathe any more");
  refused(changed("/space/knobs/0/labels", {"VPK.vp"}), "knob order");
  EXPECT_EQ(load(path("none")).error().kind, ErrorKind::kNotFound);
}

TEST_F(RecordedTest, ItsSpaceHasTwentyThousandConfigurationsInLessThanAMegabyte) {
  // Columns of noise are the worst there can be: six digits each.
  Json column = Json::array();
  Rng rng(1);
  for (int i = 0; i < 20'000; ++i)
    column.push_back(std::strtod(fmt::format("{:.6g}", 1e-3 * rng.uniform()).c_str(), nullptr));
  EXPECT_LT(compress(Json{{"a", column}}.dump()).size(), 150'000U);
}

TEST(Believed, RacesDecideAndAreBroughtToTheScaleOfTheRecording) {
  Recording recording = made_up();
  std::vector<Trial> trials = recording.trials();
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < trials.size(); ++i)
    if (trials[i].failure < 0) order.push_back(i);
  std::ranges::sort(order, {}, [&](std::size_t i) { return trials[i].seconds; });
  // The machine was a tenth slower in the races; the first was lucky before, the third unlucky.
  for (int i = 0; i < 9; ++i) trials[order[i]].raced_seconds = 1.1 * trials[order[i]].seconds;
  trials[order[0]].raced_seconds *= 1.5;
  trials[order[2]].raced_seconds = 1.1 * 0.9 * trials[order[0]].seconds;
  ASSERT_TRUE(recording.set_trials(trials));
  EXPECT_NEAR(recording.best_seconds(), 0.9 * trials[order[0]].seconds, 1e-12);
  EXPECT_EQ(recording.seconds(order[2]), recording.best_seconds());
  EXPECT_NEAR(recording.seconds(order[0]), 1.5 * trials[order[0]].seconds, 1e-12);
  EXPECT_EQ(recording.seconds(order[20]), trials[order[20]].seconds);
  // What was not raced is never the best.
  for (int i = 0; i < 9; ++i) trials[order[i]].raced_seconds = 0;
  trials[order[30]].raced_seconds = trials[order[30]].seconds;
  ASSERT_TRUE(recording.set_trials(trials));
  EXPECT_EQ(recording.best_seconds(), trials[order[30]].seconds);
}

TEST(Shuffled, DealsTheSameTimes) {
  const Recording recording = made_up();
  const Recording shuffled = recording.shuffled(1);
  EXPECT_EQ(shuffled.best_seconds(), recording.best_seconds());
  std::multiset<double> before, after;
  int moved = 0;
  for (std::size_t i = 0; i < recording.configs().size(); ++i) {
    before.insert(recording.seconds(i));
    after.insert(shuffled.seconds(i));
    moved += recording.seconds(i) != shuffled.seconds(i);
    EXPECT_EQ(shuffled.trials()[i].failure >= 0, !std::isfinite(shuffled.seconds(i)));
  }
  EXPECT_EQ(before, after);
  EXPECT_GT(moved, static_cast<int>(recording.configs().size() / 2));
  EXPECT_EQ(recording.shuffled(1).seconds(7), shuffled.seconds(7));
}

TEST(HowHard, MedianDrawsWithoutRepetition) {
  EXPECT_EQ(median_draws(1, 1), 1);
  EXPECT_EQ(median_draws(10, 10), 1);
  EXPECT_EQ(median_draws(9, 1), 5);
  EXPECT_EQ(median_draws(10'000, 1), 5'000);
  EXPECT_EQ(median_draws(10'000, 7), 943);  // about 10,000 (1 - 0.5^(1/7))
}

TEST(HowHard, CountsWhatIsNearTheBest) {
  const Recording recording = made_up();
  const Difficulty d = difficulty_of(recording);
  EXPECT_EQ(d.configs, static_cast<int>(recording.configs().size()));
  EXPECT_LT(d.worked, d.configs);
  EXPECT_GE(d.within_5, d.within_1);
  EXPECT_GE(d.within_1, 1);
  EXPECT_LE(d.random_trials_95, d.random_trials_99);
  const double start = recording.seconds(*recording.find(recording.space->default_config()));
  EXPECT_DOUBLE_EQ(d.default_share, recording.best_seconds() / start);
  int faster = 0;
  for (std::size_t i = 0; i < recording.configs().size(); ++i)
    faster += recording.seconds(i) < start;
  EXPECT_EQ(d.default_place, faster + 1);
}

TEST(KernelTuner, HasEveryConfigurationUnderItsValues) {
  const Recording recording = made_up();
  const Json cache = kernel_tuner_cache(recording);
  EXPECT_EQ(cache["tune_params_keys"].size(), static_cast<std::size_t>(recording.space->knobs()));
  ASSERT_EQ(cache["cache"].size(), recording.configs().size());
  std::size_t i = 0, failed = 0;
  for (const auto& [key, entry] : cache["cache"].items()) {
    std::string expected;
    for (const auto& name : cache["tune_params_keys"])
      expected += (expected.empty() ? "" : ",") + entry[name.get<std::string>()].dump();
    EXPECT_EQ(key, expected);
    if (entry["time"].is_number()) {
      EXPECT_DOUBLE_EQ(entry["time"].get<double>(), 1e3 * recording.seconds(i));
    } else {
      EXPECT_EQ(entry["time"], "RuntimeFailedConfig");
      ++failed;
    }
    ++i;
  }
  EXPECT_GT(failed, 0U);
}

}  // namespace
}  // namespace lathe::recorded
