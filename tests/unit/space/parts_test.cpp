// Parts of spaces: restricted, frozen and thawed, they hold the same programs.
#include <gtest/gtest.h>

#include "compiler/te/parse.h"
#include "support/targets.h"
#include "tuner/space/frozen.h"
#include "tuner/space/restriction.h"

namespace lathe::space {
namespace {

std::shared_ptr<const Space> space_of(const std::string& text, Flavour flavour) {
  const auto workload = te::parse_workload(text);
  EXPECT_TRUE(workload) << workload.error().text();
  auto space = derive_space(*workload, test::avx512(2), flavour);
  EXPECT_TRUE(space) << space.error().text();
  return std::move(*space);
}

Json name_of(const Knob& knob, std::size_t value) {
  return knob.labels.empty() ? Json(knob.values[value]) : Json(knob.labels[value]);
}

// Of every structural knob all values, of others the first and the last.
Json part_of(const Space& space) {
  Json kept = Json::object();
  for (const Knob& knob : space.knob_list()) {
    if (knob.under >= 0 && knob.under_values != std::vector<std::uint16_t>{0}) continue;
    if (knob.name == "algorithm") continue;  // it stays direct
    kept[knob.name] = Json::array();
    const std::size_t last = knob.values.size() - 1;
    for (std::size_t v = 0; v <= last; ++v)
      if (knob.structural || v == 0 || v == last) kept[knob.name].push_back(name_of(knob, v));
  }
  return kept;
}

// What the part says of a configuration, and what is settled.
Config whole_config(const Space& whole, const Space& part, const Config& config, const Json& kept) {
  Json all = part.to_json(config);
  for (const auto& [name, values] : kept.items())
    if (!all.contains(name)) all[name] = values.is_array() ? values[0] : values;
  for (const Knob& knob : whole.knob_list())
    if (!all.contains(knob.name)) all[knob.name] = name_of(knob, 0);
  return *whole.from_json(all);
}

Json program_of(const Space& space, const Config& config) {
  return schedule::to_json(space.trace(config));
}

constexpr const char* kPrograms[] = {
    "A: f32[23,19]; B: f32[23,37]; C[i,j] = sum(k) A[k,i] * B[k,j]",
    "layout free; X: f32[1,35,7,9]; const W: f32[33,35,3,3]; Y[n,o,y:7,x:9] = sum(c,r,s) "
    "X[n,c,y+r-1,x+s-1 else 0] * W[o,c,r,s]",
    "X: f32[1,21,8,6]; const W: f32[21,3,3]; Y[n,c,y:8,x:6] = sum(r,s) X[n,c,y+r-1,x+s-1 else 0] * "
    "W[c,r,s]",
    "X: f32[13,29]; B: f32[29]; Y[i,j] = max(X[i,j] * 2.0 + B[j], 0)"};

TEST(Restriction, HoldsTheProgramsOfTheWhole) {
  for (const char* text : kPrograms)
    for (const Flavour flavour : {Flavour::kDefault, Flavour::kWide}) {
      SCOPED_TRACE(text);
      const auto whole = space_of(text, flavour);
      const Json kept = part_of(*whole);
      const auto part = restrict_space(whole, kept);
      ASSERT_TRUE(part) << part.error().text();
      EXPECT_NE((*part)->hash(), whole->hash());
      Rng rng(1);
      for (int i = 0; i < 60; ++i) {
        const Config config = (*part)->random(rng);
        ASSERT_TRUE((*part)->valid(config));
        const Config same = whole_config(*whole, **part, config, kept);
        EXPECT_TRUE(whole->valid(same));
        ASSERT_EQ(program_of(**part, config), program_of(*whole, same))
            << (*part)->describe(config);
      }
    }
}

TEST(Restriction, SettledKnobsAreGoneAndTheStartIsNearest) {
  const auto whole = space_of(kPrograms[0], Flavour::kDefault);
  Json kept = part_of(*whole);
  kept["tile.p0"] = 5;
  kept["tile.v"] = {1};
  kept["unroll.k"] = {1, 4};
  const auto part = restrict_space(whole, kept);
  ASSERT_TRUE(part) << part.error().text();
  const Json start = (*part)->to_json((*part)->default_config());
  EXPECT_FALSE(start.contains("tile.p0"));
  EXPECT_FALSE(start.contains("tile.v"));
  EXPECT_EQ(start["unroll.k"], 1);  // 2 is as far from 4
  EXPECT_EQ((*part)->trace((*part)->default_config()).empty(), false);
}

TEST(Restriction, ConstraintsStay) {
  const auto whole = space_of(kPrograms[0], Flavour::kDefault);
  Json kept = part_of(*whole);
  kept["tile.v"] = {1, 3};
  kept["tile.p0"] = {4, 16, 18};
  const auto part = restrict_space(whole, kept);
  ASSERT_TRUE(part);
  int valid = 0;
  for (const Config& config : all_configs(**part)) {
    const Json json = (*part)->to_json(config);
    valid += 1;
    EXPECT_LE(json["tile.v"].get<int>() * (json["tile.p0"].get<int>() + 1) + 1, 32) << json.dump();
  }
  EXPECT_GT(valid, 0);
  EXPECT_LT(valid, (*part)->size());
}

TEST(Restriction, RefusesWhatMakesNoSense) {
  const auto whole = space_of(kPrograms[0], Flavour::kWide);
  const auto refused = [&](const Json& change, const std::string& part) {
    Json kept = part_of(*whole);
    kept.update(change);
    const auto made = restrict_space(whole, kept);
    ASSERT_FALSE(made) << change.dump();
    EXPECT_NE(made.error().text().find(part), std::string::npos) << made.error().text();
  };
  refused({{"tile.q", {1}}}, "tile.q: this space has no such knob");
  refused({{"tile.v", {1, 1000}}}, "tile.v: 1000 is no value of this knob; it has 1, 2");
  refused({{"tile.v", Json::array()}}, "one at least");
  refused({{"tile.v", {1, 1}}}, "each once");
  refused({{"order", {"VPK"}}}, "order: \"VPK\" is no value");
  EXPECT_FALSE(restrict_space(whole, Json::array()));
  Json missing = part_of(*whole);
  missing.erase("order");
  const auto made = restrict_space(whole, missing);
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().text().find("order: nothing says"), std::string::npos);
  Json settled = part_of(*whole);
  for (auto& values : settled) values = values[0];
  EXPECT_FALSE(restrict_space(whole, settled));
}

TEST(Frozen, ThawsToTheSameSpace) {
  for (const char* text : kPrograms) {
    SCOPED_TRACE(text);
    const auto whole = space_of(text, Flavour::kDefault);
    const auto part = restrict_space(whole, part_of(*whole));
    ASSERT_TRUE(part);
    const auto json = parse_json(freeze(**part).dump());
    const auto thawed = thaw((*part)->workload(), *json);
    ASSERT_TRUE(thawed) << thawed.error().text();
    EXPECT_EQ((*thawed)->hash(), (*part)->hash());
    EXPECT_EQ((*thawed)->default_config(), (*part)->default_config());
    const auto configs = all_configs(**part);
    ASSERT_EQ(all_configs(**thawed), configs);
    Rng rng(2);
    for (int i = 0; i < 60; ++i) {
      const Config& config = configs[rng.below(configs.size())];
      ASSERT_EQ(program_of(**thawed, config), program_of(**part, config));
    }
  }
}

TEST(Frozen, RefusesWhatCannotBeBuilt) {
  const auto whole = space_of(kPrograms[0], Flavour::kDefault);
  const auto part = restrict_space(whole, part_of(*whole));
  ASSERT_TRUE(part);
  const auto refused = [&](const char* pointer, const Json& value, const std::string& what) {
    Json json = freeze(**part);
    json[Json::json_pointer(pointer)] = value;
    const auto thawed = thaw((*part)->workload(), json);
    ASSERT_FALSE(thawed) << pointer;
    EXPECT_NE(thawed.error().text().find(what), std::string::npos) << thawed.error().text();
  };
  refused("/knobs/0/values", Json::array(), "has no values");
  refused("/start", Json::array(), "a start for each");
  refused("/sketches/0/trace/0/loop", "nowhere", "cannot be built by this Lathe any more");
  refused("/sketches/0/trace/0/factor", {"mul", "no.such.knob", 2},
          "there is no knob no.such.knob");
  refused("/sketches/0/trace/0/factor", {"pow", 2, 2}, "no operation on sizes");
  refused("/sketches", Json::array(), "no valid configuration");
}

}  // namespace
}  // namespace lathe::space
