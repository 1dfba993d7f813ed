#include "api/report/knobs.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "unit/report/trials.h"

namespace lathe::report {
namespace {

// Programs with these configurations; the times are 1 s, 2 s ...
Knobs knobs_of(const std::vector<Json>& configs) {
  SettingTable table;
  std::vector<double> seconds;
  for (std::size_t i = 1; i <= configs.size(); ++i) seconds.push_back(static_cast<double>(i));
  auto trials = trials_of(seconds);
  for (std::size_t i = 0; i < configs.size(); ++i) trials[i].settings = table.ids_of(configs[i]);
  return shared_knobs(pointers(trials), table);
}

const KnobValue* value_of(const Knob& knob, const std::string& text) {
  const auto found = std::ranges::find(knob.values, text, &KnobValue::text);
  return found == knob.values.end() ? nullptr : &*found;
}

TEST(SharedKnobs, WhatTheFastShareComesFirst) {
  Rng rng(1);
  std::vector<Json> configs;
  for (int i = 0; i < 200; ++i)
    configs.push_back({{"noise", static_cast<int>(rng.below(3))},
                       {"order", i < 10 || i % 4 == 0 ? "KPV" : "PKV"},
                       {"same", 1},
                       {"id", i}});
  const Knobs knobs = knobs_of(configs);
  EXPECT_EQ(knobs.fast, 10);
  EXPECT_EQ(knobs.all, 200);
  const auto order = std::ranges::find(knobs.knobs, "order", &Knob::name);
  const auto noise = std::ranges::find(knobs.knobs, "noise", &Knob::name);
  ASSERT_TRUE(order != knobs.knobs.end() && noise != knobs.knobs.end());
  EXPECT_LT(order, noise);
  EXPECT_EQ(std::ranges::find(knobs.knobs, "same", &Knob::name), knobs.knobs.end())
      << "a knob with one value tells nothing";
  ASSERT_EQ(order->values.size(), 2U);
  const KnobValue* fast = value_of(*order, "KPV");
  ASSERT_NE(fast, nullptr);
  EXPECT_EQ(fast->fast, 10);
  EXPECT_EQ(fast->all, 57);
  EXPECT_NEAR(order->distance, 1 - 57.0 / 200, 1e-12);
}

TEST(SharedKnobs, TooFewToTell) {
  std::vector<Json> configs;
  for (int i = 0; i < 19; ++i) configs.push_back({{"id", i}});
  EXPECT_EQ(knobs_of(configs).all, 0);
  configs.push_back({{"id", 19}});
  EXPECT_EQ(knobs_of(configs).fast, 5);
}

TEST(SharedKnobs, AConfigurationMeasuredAgainIsOneProgram) {
  std::vector<Json> configs;
  for (int i = 0; i < 60; ++i) configs.push_back({{"id", i % 20}});
  const Knobs knobs = knobs_of(configs);
  EXPECT_EQ(knobs.all, 20);
  ASSERT_EQ(knobs.knobs.size(), 1U);
  int all = 0;
  for (const KnobValue& value : knobs.knobs[0].values) all += value.all;
  EXPECT_EQ(all, 20);
}

TEST(SharedKnobs, ManySizesAreJoinedToRanges) {
  std::vector<Json> configs;
  for (int i = 0; i < 100; ++i) configs.push_back({{"tile", i}});
  const Knobs knobs = knobs_of(configs);
  ASSERT_EQ(knobs.knobs.size(), 1U);
  std::vector<std::string> texts;
  int all = 0, fast = 0;
  for (const KnobValue& value : knobs.knobs[0].values) {
    texts.push_back(value.text);
    all += value.all;
    fast += value.fast;
  }
  EXPECT_EQ(texts, (std::vector<std::string>{"0", "1", "2 to 3", "4 to 7", "8 to 15", "16 to 31",
                                             "32 to 63", "64 to 99"}));
  EXPECT_EQ(all, 100);
  EXPECT_EQ(fast, 5);
}

TEST(SharedKnobs, ManyLabelsEndInOthers) {
  std::vector<Json> configs;
  for (int i = 0; i < 100; ++i) configs.push_back({{"order", fmt::format("L{:02}", i)}});
  const Knobs knobs = knobs_of(configs);
  ASSERT_EQ(knobs.knobs.size(), 1U);
  EXPECT_EQ(knobs.knobs[0].values.size(), 17U);
  EXPECT_EQ(knobs.knobs[0].values.back().text, "others");
  EXPECT_EQ(knobs.knobs[0].values.back().all, 84);
}

TEST(SharedKnobs, OddConfigurations) {
  std::vector<Json> configs(30, Json::array({1, 2}));
  EXPECT_EQ(knobs_of(configs).all, 0);
  configs.assign(30, Json());
  EXPECT_EQ(knobs_of(configs).all, 0);
  configs.clear();
  for (int i = 0; i < 30; ++i)
    configs.push_back(
        {{"id", i}, {"mixed", i % 2 ? Json(i) : Json("a\"<b>\xff")}, {"deep", {{"x", i % 3}}}});
  const Knobs knobs = knobs_of(configs);
  EXPECT_EQ(knobs.all, 30);
  EXPECT_EQ(knobs.knobs.size(), 3U);
}

}  // namespace
}  // namespace lathe::report
