// Rows of derived spaces: finite, the same whatever the threads, and telling configurations apart.
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/te/parse.h"
#include "tuner/feature/feature.h"

namespace lathe::feature {
namespace {

const char* const kPrograms[] = {
    "A: f32[61,37]; B: f32[61,53]; C[i,j] = sum(k) A[k,i] * B[k,j]",
    "X: f32[1,8,14,14]; const W: f32[32,8,3,3]; Y[n,o,y:14,x:14] = sum(c,r,s) X[n,c,y+r-1,x+s-1 "
    "else 0] * W[o,c,r,s]",
    "A: f32[1,1]; B: f32[1,1]; C[i,j] = sum(k) A[i,k] * B[k,j]",
    "X: f32[7,13]; Y[i,j] = max(X[i,j], 0)",
};

std::unique_ptr<space::Space> space_of(const std::string& text,
                                       space::Flavour flavour = space::Flavour::kDefault) {
  Target target;
  target.as_cpu().mcpu = "x86-64-v4";
  target.as_cpu().vector_bits = 512;
  target.as_cpu().vector_registers = 32;
  target.as_cpu().has_fma = true;
  auto workload = te::parse_workload(text);
  EXPECT_TRUE(workload) << workload.error().text();
  auto space = space::derive_space(*workload, target, flavour);
  EXPECT_TRUE(space) << space.error().text();
  return std::move(*space);
}

std::vector<space::Config> random_configs(const space::Space& space, int count,
                                          std::uint64_t seed) {
  Rng rng(seed);
  std::vector<space::Config> configs;
  for (int i = 0; i < count; ++i) configs.push_back(space.random(rng));
  return configs;
}

TEST(SpaceRows, AreOfAKindOfDevice) {
  const auto features = features_for("tree", Target{});
  ASSERT_TRUE(features) << features.error().text();
  EXPECT_EQ(features->kind, Kind::kTree);
  EXPECT_EQ(features->device, DeviceKind::kCpu);
  EXPECT_EQ(features_for("colour", Target{}).error().kind, ErrorKind::kInvalidArgument);
}

TEST(SpaceRows, FiniteOfTheStatedWidthAndTheSameOnEveryThread) {
  for (const char* text : kPrograms) {
    for (const space::Flavour flavour : {space::Flavour::kDefault, space::Flavour::kWide}) {
      const auto space = space_of(text, flavour);
      const auto configs = random_configs(*space, 700, 1);
      for (const Kind kind :
           {Kind::kConfiguration, Kind::kContext, Kind::kRelation, Kind::kTree, Kind::kBlocks}) {
        const std::size_t w = static_cast<std::size_t>(width({kind, DeviceKind::kCpu}, *space));
        EXPECT_EQ(names({kind, DeviceKind::kCpu}, *space).size(), w);
        std::vector<float> one(configs.size() * w, NAN), two = one;
        extract({kind, DeviceKind::kCpu}, *space, configs, one, 1);
        extract({kind, DeviceKind::kCpu}, *space, configs, two, 2);
        for (const float x : one) ASSERT_TRUE(std::isfinite(x)) << text;
        EXPECT_EQ(one, two) << text;
      }
    }
  }
}

// Configurations with different programs must not look alike: rows are as many as configurations,
// nearly.
TEST(SpaceRows, TellConfigurationsApart) {
  const auto space = space_of(kPrograms[1]);
  std::map<space::Config, int> distinct;
  for (const auto& config : random_configs(*space, 400, 2)) distinct.emplace(config, 0);
  std::vector<space::Config> configs;
  for (const auto& [config, unused] : distinct) configs.push_back(config);
  for (const auto& [kind, least] : {std::pair{Kind::kConfiguration, 1.0},
                                    {Kind::kContext, 0.9},
                                    {Kind::kRelation, 0.5},
                                    {Kind::kTree, 0.9},
                                    {Kind::kBlocks, 0.9}}) {
    const std::size_t w = static_cast<std::size_t>(width({kind, DeviceKind::kCpu}, *space));
    std::vector<float> rows(configs.size() * w);
    extract({kind, DeviceKind::kCpu}, *space, configs, rows, 1);
    std::set<std::vector<float>> seen;
    for (std::size_t i = 0; i < configs.size(); ++i)
      seen.emplace(rows.begin() + static_cast<std::ptrdiff_t>(i * w),
                   rows.begin() + static_cast<std::ptrdiff_t>((i + 1) * w));
    EXPECT_GE(static_cast<double>(seen.size()), least * static_cast<double>(configs.size()));
  }
}

// Stores past the caches show in whatever block they are: of a map, and behind a reduction.
TEST(SpaceRows, TellStoresApart) {
  for (const char* text :
       {"A: f32[16000,4099]; Y[i,j] = A[i,j] * 2.0",
        "X: f32[4000,4099]; E[i,j] = exp(X[i,j] - (max(k) X[i,k])); Y[i,j] = E[i,j] / (sum(k) "
        "E[i,k])"}) {
    const auto space = space_of(text);
    ASSERT_EQ(space->knob_list().back().name, "stores");
    std::vector<space::Config> configs(2, space->default_config());
    configs[0].back() = 0;
    configs[1].back() = 1;
    for (const Kind kind : {Kind::kConfiguration, Kind::kContext, Kind::kTree}) {
      const std::size_t w = static_cast<std::size_t>(width({kind, DeviceKind::kCpu}, *space));
      std::vector<float> rows(2 * w);
      extract({kind, DeviceKind::kCpu}, *space, configs, rows, 1);
      EXPECT_FALSE(std::equal(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(w),
                              rows.begin() + static_cast<std::ptrdiff_t>(w)))
          << text;
    }
  }
}

TEST(SpaceRows, NothingIsAllowed) {
  const auto space = space_of(kPrograms[0]);
  extract({Kind::kContext, DeviceKind::kCpu}, *space, {}, {}, 2);
}

// The feature agrees with the constraint of the default space, which is about output channels as
// vectors.
TEST(SpaceRows, RegistersStayWithinTheSpillRule) {
  const auto space = space_of(kPrograms[1]);
  const auto configs = random_configs(*space, 3000, 3);
  const auto all = names({Kind::kContext, DeviceKind::kCpu}, *space);
  const auto at = std::ranges::find(all, "registers") - all.begin();
  std::vector<float> rows(configs.size() * all.size());
  extract({Kind::kContext, DeviceKind::kCpu}, *space, configs, rows, 1);
  int seen = 0;
  for (std::size_t i = 0; i < configs.size(); ++i) {
    const std::string text = space->describe(configs[i]);
    if (text.find("vector=o") == std::string::npos ||
        text.find("algorithm=direct") == std::string::npos)
      continue;
    ++seen;
    EXPECT_LE(rows[i * all.size() + static_cast<std::size_t>(at)], 32)
        << space->describe(configs[i]);
  }
  EXPECT_GT(seen, 30);
}

// The work of a direct program is that of its expression, that of a Cook-Toom algorithm less; waste
// is what comes on top.
TEST(SpaceRows, WorkIsTheExpressions) {
  const auto space = space_of(kPrograms[1]);
  const auto configs = random_configs(*space, 300, 4);
  const auto all = names({Kind::kContext, DeviceKind::kCpu}, *space);
  const auto work = static_cast<std::size_t>(std::ranges::find(all, "work") - all.begin());
  const auto waste = static_cast<std::size_t>(std::ranges::find(all, "waste") - all.begin());
  std::vector<float> rows(configs.size() * all.size());
  extract({Kind::kContext, DeviceKind::kCpu}, *space, configs, rows, 1);
  for (std::size_t i = 0; i < configs.size(); ++i) {
    const double whole = std::log2(32.0 * 14 * 14 * 8 * 9), own = rows[i * all.size() + work];
    const bool fewer = space->describe(configs[i]).find("algorithm=F") != std::string::npos;
    if (!fewer) EXPECT_NEAR(own, whole, 1e-4);
    else EXPECT_LT(own, whole) << space->describe(configs[i]);
    EXPECT_GE(rows[i * all.size() + waste], 0) << space->describe(configs[i]);
  }
}

TEST(SpaceRows, TableOfADerivedProgram) {
  const auto space = space_of(kPrograms[1]);
  const space::Config start = space->default_config();
  std::vector<std::int64_t> knobs;
  space->knob_values(start, knobs);
  const std::string table = context_table(ir::SizedNest(space->sketch(start).nest, knobs));
  EXPECT_NE(table.find("vectorize"), std::string::npos);
  EXPECT_NE(table.find("touch / reuse / stride"), std::string::npos);
}

}  // namespace
}  // namespace lathe::feature
