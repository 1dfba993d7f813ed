// Knobs that have an effect only under some values of another: a space counts, draws, describes and
// changes only those that act.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "compiler/lower/lower.h"
#include "compiler/te/parse.h"
#include "support/sanitized.h"
#include "support/targets.h"
#include "tuner/space/restriction.h"
#include "tuner/space/space.h"
#include "unit/space/check_space.h"
#include "unit/space/derived.h"

namespace lathe::space {
namespace {

const std::string kRows =
    "X: f32[1,3,60,61]; const W: f32[32,3,7,7]; Y[n,o,y:30,x:30] = sum(c,r,s) "
    "X[n,c,2*y+r-3,2*x+s-3 else 0] * W[o,c,r,s]";

bool acts(const Space& space, const Config& config, int knob) {
  const Knob& k = space.knob_list()[static_cast<std::size_t>(knob)];
  return k.under < 0 ||
         std::ranges::find(k.under_values, config[static_cast<std::size_t>(k.under)]) !=
             k.under_values.end();
}

TEST(Conditional, ThoseWithoutEffectHaveTheirFirstValue) {
  const auto space = space_of(kConvolution);
  const auto algorithm = static_cast<std::size_t>(number_of(*space, "algorithm"));
  Rng rng(1);
  std::map<int, int> seen;
  for (int i = 0; i < 400; ++i) {
    const Config config = space->random(rng);
    ASSERT_TRUE(space->valid(config));
    ++seen[config[algorithm]];
    for (int k = 0; k < space->knobs(); ++k)
      if (!acts(*space, config, k)) {
        EXPECT_EQ(config[static_cast<std::size_t>(k)], 0);
      }
  }
  // Every algorithm is met, however many configurations each has.
  EXPECT_EQ(static_cast<int>(seen.size()), space->values(static_cast<int>(algorithm)));
}

TEST(Conditional, NeighboursOfAllAlgorithmsAreMet) {
  const auto space = space_of(kConvolution);
  const auto algorithm = static_cast<std::size_t>(number_of(*space, "algorithm"));
  Rng rng(2);
  Config config = space->default_config();
  int switched = 0, drawn = 0;
  for (int i = 0; i < 3000; ++i) {
    const Config next = space->neighbour(config, rng);
    ASSERT_TRUE(space->valid(next)) << space->describe(next);
    ASSERT_NE(next, config);
    if ((next[algorithm] == 0) != (config[algorithm] == 0)) {
      ++switched;
      for (int k = 0; k < space->knobs(); ++k)
        drawn += acts(*space, next, k) && !acts(*space, config, k) &&
                         next[static_cast<std::size_t>(k)] != 0
                     ? 1
                     : 0;
    }
    config = next;
  }
  EXPECT_GT(switched, 5);
  EXPECT_GT(drawn, switched);
}

TEST(Conditional, JsonAndTextNameOnlyThoseThatAct) {
  const auto space = space_of(kConvolution);
  Rng rng(3);
  for (int i = 0; i < 100; ++i) {
    const Config config = space->random(rng);
    const Json json = space->to_json(config);
    const bool product = json.contains("ct.tile.v");
    EXPECT_EQ(json.contains("tile.v") + product, 1);
    EXPECT_EQ(space->describe(config).find("ct.") != std::string::npos, product);
    const auto back = space->from_json(json);
    ASSERT_TRUE(back) << back.error().text();
    EXPECT_EQ(*back, config);
  }
  const auto missing = space->from_json(Json{{"algorithm", "direct"}});
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().text().find("order"), std::string::npos) << missing.error().text();
}

// The sizes of all kinds of algorithms add up.
TEST(Conditional, CountTheirOwnConfigurations) {
  const auto space = space_of(kConvolution);
  double direct = 1, other = 1, algorithms = 1;
  for (const Knob& knob : space->knob_list()) {
    const auto values = static_cast<double>(knob.values.size());
    if (knob.name == "algorithm") algorithms = values;
    else (knob.name.starts_with("ct.") ? other : direct) *= values;
  }
  EXPECT_EQ(space->size(), direct + (algorithms - 1) * other);
  Rng rng(4);
  const auto algorithm = static_cast<std::size_t>(number_of(*space, "algorithm"));
  int met = 0;
  constexpr int kDraws = test::kSanitized ? 5'000 : 20'000;
  for (int i = 0; i < kDraws; ++i) met += space->draw(rng)[algorithm] == 0 ? 1 : 0;
  EXPECT_NEAR(static_cast<double>(met) / kDraws, direct / space->size(), 0.02);
}

TEST(Conditional, StartsAreOfSeveralAlgorithms) {
  for (const std::string& text : {std::string(kConvolution), "layout plain; " + kRows}) {
    const auto space = space_of(text);
    const auto algorithm = static_cast<std::size_t>(number_of(*space, "algorithm"));
    const auto starts = space->starts();
    ASSERT_GE(starts.size(), 3U);
    EXPECT_LE(starts.size(), 8U);
    EXPECT_EQ(starts[0], space->default_config());
    std::set<int> algorithms;
    for (const Config& start : starts) {
      EXPECT_TRUE(space->valid(start)) << space->describe(start);
      EXPECT_EQ(space->canonical(start), start);
      algorithms.insert(start[algorithm]);
    }
    EXPECT_EQ(algorithms.size(), starts.size());
  }
  const auto product =
      space_of("A: f32[33,40]; const B: f32[40,64]; C[i,j] = sum(k) A[i,k] * B[k,j]");
  EXPECT_EQ(product->starts(), std::vector<Config>{product->default_config()});
}

// Blocks of tiles are alike, whatever their number: a smaller last one has slow code. With several
// threads it may be what makes the others even.
TEST(Conditional, StartsHaveBlocksOfOneSize) {
  for (const int results : {7, 10, 14, 19, 28, 37, 56, 112})
    for (const bool free : {false, true}) {
      if (test::kSanitized && results % 4 != 2 * free) continue;  // five of the 16
      const auto space =
          space_of(fmt::format("layout {1}; X: f32[1,64,{0},20]; "
                               "const W: f32[64,64,3,3]; Y[n,o,y:{0},x:20] = "
                               "sum(c,r,s) X[n,c,y+r-1,x+s-1 else 0] * W[o,c,r,s]",
                               results, free ? "free" : "plain"));
      const auto block = static_cast<std::size_t>(number_of(*space, "ct.block.t"));
      for (const Config& start : space->starts()) {
        const Json json = space->to_json(start);
        if (!json.contains("ct.block.t")) continue;
        const std::string algorithm = json["algorithm"];
        const int tile = algorithm.ends_with("s") ? 1 : algorithm[2] - '0';
        const int tiles = (results + tile - 1) / tile;
        const auto rows = static_cast<int>(space->knob_list()[block].values[start[block]]);
        EXPECT_TRUE(rows >= tiles || tiles % rows == 0) << algorithm << " " << tiles << " " << rows;
      }
    }
}

// Between row-major tensors lanes run along the channels, though what they store is scattered.
TEST(Conditional, PlainDefaultsHaveLanesAlongTheChannels) {
  const auto space = space_of(
      "X: f32[1,64,14,15]; const W: f32[64,64,1,1]; Y[n,o,y,x] = sum(c,r,s) X[n,c,y+r,x+s] * "
      "W[o,c,r,s]");
  EXPECT_EQ(space->to_json(space->default_config())["vector"], "o");
}

// An addition takes several cycles, so that long sums need several of them under way: also where
// both operands have all axes, and with few registers.
TEST(Conditional, LongSumsStartWithManyUnderWay) {
  for (const bool wide : {false, true})
    for (const char* text :
         {"A: f32[100003]; B: f32[100003]; Y[o:1] = sum(k) A[k] * B[k]",
          "X: f32[1000003]; Y[o:1] = sum(k) X[k]", "X: f32[1024,1023]; Y[j] = sum(i) X[i,j]"}) {
      const auto workload = te::parse_workload(text);
      const auto space =
          derive_space(*workload, wide ? test::avx512() : test::sse(), Flavour::kDefault);
      ASSERT_TRUE(space) << text;
      const Json start = (*space)->to_json((*space)->default_config());
      EXPECT_GE(start.value("tile.v", 1) * start.value("tile.p0", 1), 4) << text << dump(start);
    }
}

// A copy gathers channels that lie apart, once. Where they lie side by side, or most lanes would be
// empty, it is no gain.
TEST(Conditional, StartsCopyWhatLiesApart) {
  const auto copies = [](const std::string& layout, int channels) {
    const auto space = space_of(
        fmt::format("{}X: f32[1,{},29,30]; const W: f32[64,{},3,3]; Y[n,o,y:29,x:30] = sum(c,r,s) "
                    "X[n,c,y+r-1,x+s-1 else 0] * W[o,c,r,s]; algorithm F4x4",
                    layout, channels, channels));
    return space->to_json(space->default_config())["ct.copy"].get<std::string>();
  };
  EXPECT_EQ(copies("", 64), "block");
  EXPECT_EQ(copies("", 3), "none");
  EXPECT_EQ(copies("layout free; ", 64), "none");
}

// Code for edges has a limit, whatever padding, strides, dilations and sizes make of it.
TEST(Conditional, ProgramsStayShort) {
  constexpr std::ptrdiff_t kMostLines = 8'000;
  for (const char* text : {
           "X: f32[1,31,9,17]; const W: f32[31,32,6,6]; Y[n,o,y:14,x:22] = sum(c,r,s) "
           "X[n,c,y-r,x-s else 0] * W[c,o,r,s]",
           "X: f32[1,64,31,23]; const W: f32[48,64,3,3]; Y[n,o,y:31,x:23] = sum(c,r,s) "
           "X[n,c,y+3*r-3,x+3*s-3 else 0] * W[o,c,r,s]",
           "X: f32[1,3,225,227]; const W: f32[33,3,11,11]; Y[n,o,y:55,x:56] = sum(c,r,s) "
           "X[n,c,4*y+r-2,4*x+s-2 else 0] * W[o,c,r,s]",
           "X: f32[2,40,13,22]; const W: f32[40,16,8,6]; Y[n,o,y:14,p:4,x:21,q:2] = sum(c,r:2,s:3) "
           "X[n,c,y+1-r,x+q-s else 0] * W[c,o,4*r+p,2*s-q+1]",
       })
    for (const char* layout : {"", "layout free; "}) {
      if (test::kSanitized && *layout != 0) continue;
      const auto space = space_of(fmt::format("{}{}; algorithm cook_toom", layout, text), 2);
      for (const Config& config : space->starts()) {
        std::vector<std::int64_t> values;
        space->knob_values(config, values);
        const ir::SizedNest nest(space->sketch(config).nest, values);
        const auto flat = lower::lower(nest, test::avx512(2));
        ASSERT_TRUE(flat) << flat.error().text();
        EXPECT_LE(std::ranges::count(flat::print(*flat), '\n'), kMostLines) << text;
      }
    }
}

// Planes of a page share places in the caches, and are written by whole rows of tiles.
TEST(Conditional, PlanesOfPagesAreWrittenByRows) {
  const te::Workload workload = parsed(
      "algorithm cook_toom; X: f32[1,2,32,32]; const W: f32[20,2,3,3]; const b: f32[20]; "
      "S[n,o,y:32,x:32] = sum(c,r,s) X[n,c,y+r-1,x+s-1 else 0] * W[o,c,r,s]; "
      "Y[n,o,y,x] = max(S[n,o,y,x] + b[o], 0)");
  for (const Target& target : {test::sse(1), test::avx512(1), test::avx512(2)})
    check_space(workload, target, Flavour::kDefault, 4, 7);
}

TEST(Conditional, PartsMayLeaveThemOut) {
  const auto space = space_of(kConvolution);
  Json kept = Json::object();
  for (const Knob& knob : space->knob_list())
    if (!knob.name.starts_with("ct.") && knob.name != "algorithm")
      kept[knob.name] = knob.labels.empty() ? Json(knob.values[0]) : Json(knob.labels[0]);
  kept["tile.v"] = {1, 2};
  const auto part = restrict_space(space, kept);
  ASSERT_TRUE(part) << part.error().text();
  EXPECT_EQ((*part)->knobs(), 1);
  kept["algorithm"] = {"direct", "F(2x2)"};
  const auto both = restrict_space(space, kept);
  ASSERT_FALSE(both);
  EXPECT_NE(both.error().text().find("ct.input: nothing says"), std::string::npos)
      << both.error().text();
}

}  // namespace
}  // namespace lathe::space
