// Knobs of tiles: of the main stage, of the other contractions, and of both where rows go together.
#include <set>

#include <gtest/gtest.h>

#include "compiler/ir/flat/flat.h"
#include "compiler/lower/lower.h"
#include "compiler/te/naive_nest.h"
#include "support/targets.h"
#include "tuner/space/restriction.h"
#include "tuner/space/rules/rows/row_group.h"
#include "tuner/space/rules/shared/axes.h"
#include "tuner/space/rules/tile/register_tile.h"
#include "tuner/space/rules/tile/tile_sketch.h"
#include "unit/space/check_space.h"

namespace lathe::space {
namespace {

using test::avx512, test::sse;

std::unique_ptr<Space> space_for(const std::string& text, const Target& target = avx512(1),
                                 Flavour flavour = Flavour::kDefault) {
  auto space = derive_space(parsed(text), target, flavour);
  if (!space) throw std::runtime_error(space.error().text());
  return std::move(*space);
}

int number_of(const Space& space, const std::string& name) {
  const auto found = std::ranges::find(space.knob_list(), name, &Knob::name);
  return found == space.knob_list().end() ? -1
                                          : static_cast<int>(found - space.knob_list().begin());
}

const std::string kOneAttention =
    "S[h,q,k] = sum(d) Q[h,q,d] * K[h,k,d]; P[h,q,k] = exp(S[h,q,k] - (max(j) S[h,q,j]))\n"
    "O[h,q,d] = (sum(k) P[h,q,k] * V[h,k,d]) / (sum(j) P[h,q,j])";
const std::string kLongAttention =
    "Q: f32[3,131,16]; K: f32[3,67,16]; V: f32[3,67,16]; " + kOneAttention;
const std::string kTwoProducts =
    "A: f32[37,29]; B: f32[29,53]; C: f32[53,41]\n"
    "M[i,j] = sum(k) A[i,k] * B[k,j]; Y[i,l] = sum(j) M[i,j] * C[j,l]";

// Constant weights that few rows read lie in panels a vector wide, read from end to end; of many
// rows there is no such choice. The recurrent product of a sequence has one row in each step.
TEST(Knobs, PanelsOfWeightsForFewRows) {
  const auto product = [](int rows, const char* kind) {
    return fmt::format(
        "A: f32[{},650]; {}W: f32[650,1000]; C[i,j] = sum(k) A[i,k] * W[k,j]; algorithm direct",
        rows, kind);
  };
  for (const int rows : {1, 2, 4, 5, 64}) {
    const auto space = space_for(product(rows, "const "));
    EXPECT_EQ(number_of(*space, "panels") >= 0, rows <= 4) << rows;
    if (rows > 4) continue;
    const Config start = space->default_config();
    EXPECT_EQ(space->to_json(start)["panels"], "vector") << rows;
    EXPECT_EQ(space->to_json(start)["block.k"], 650) << rows;
    EXPECT_EQ(space->to_json(start)["prefetch"], 0) << rows;
  }
  EXPECT_LT(number_of(*space_for(product(1, "")), "panels"), 0);
  const std::string sequence =
      "X: f32[7,650]; const U: f32[650,650]; S[t:7,k:650] = sum(j) H[t - 1,j else 0] * U[k,j]\n"
      "H[t:7,k:650] = tanh(X[t,k] + S[t,k])";
  const auto space = space_for(sequence);
  const std::string trace = schedule::print(space->trace(space->default_config()));
  EXPECT_NE(trace.find("layout (0/16, 1/1, 0/1)"), std::string::npos) << trace;
}

TEST(Knobs, OtherContractionsHaveTheirOwn) {
  const auto space = space_for(kTwoProducts);
  const std::string other = number_of(*space, "M.tile.v") >= 0 ? "M." : "Y.";
  for (const char* knob : {"tile.v", "tile.p0", "block.k", "unroll.k", "pack.weights"}) {
    EXPECT_GE(number_of(*space, knob), 0) << knob;
    EXPECT_GE(number_of(*space, other + knob), 0) << other << knob;
  }
  const auto wide = space_for(kTwoProducts, avx512(1), Flavour::kWide);
  EXPECT_GE(number_of(*wide, other + "prefetch"), 0);
  EXPECT_GT(wide->knobs(), space->knobs());
  // A small one has none, nor has a sum without reuse.
  EXPECT_LT(number_of(*space_for("A: f32[37,29]; B: f32[29,53]; C: f32[53,3]\n"
                                 "M[i,j] = sum(k) A[i,k] * B[k,j]\n"
                                 "Y[i,l] = sum(j) M[i,j] * C[j,l]"),
                      "Y.tile.p0"),
            0);
  const auto sums = space_for(
      "X: f32[16,32]; E[i,j] = exp(X[i,j] - (max(k) X[i,k])); Y[i,j] = E[i,j] / (sum(k) E[i,k])");
  for (const Knob& knob : sums->knob_list())
    EXPECT_EQ(knob.name.find(".tile"), std::string::npos) << knob.name;
}

// Three channels by two vectors alone would be six sums under way.
TEST(Knobs, ATileOfFewResultsTakesRowsToo) {
  const auto results = [](int channels, int width) {
    const auto space = space_for(
        fmt::format("X: f32[64,34,{0}]; const W: f32[{1},64,3,3]\n"
                    "Y[o,y,x:{2}] = sum(c,r,s) X[c,y+r,x+s] * W[o,c,r,s]; algorithm direct",
                    width + 2, channels, width));
    const Json start = space->to_json(space->default_config());
    return start["tile.v"].get<int>() * start["tile.p0"].get<int>() * start.value("tile.p1", 1);
  };
  EXPECT_GE(results(3, 32), 12);
  EXPECT_GE(results(2, 16), 8);
  EXPECT_GE(results(3, 96), 12);
}

// Register tiles of both fit the registers.
TEST(Knobs, OfOtherContractionsAreConstrained) {
  const auto space = space_for(kTwoProducts, sse(1));
  const std::string other = number_of(*space, "M.tile.v") >= 0 ? "M." : "Y.";
  const auto v = static_cast<std::size_t>(number_of(*space, other + "tile.v"));
  const auto p = static_cast<std::size_t>(number_of(*space, other + "tile.p0"));
  Config config = space->default_config();
  config[v] = static_cast<std::uint16_t>(space->values(static_cast<int>(v)) - 1);
  config[p] = static_cast<std::uint16_t>(space->values(static_cast<int>(p)) - 1);
  EXPECT_FALSE(space->valid(config));
}

// Under "rows", either the knobs of tiles inside have an effect, or those of tiles outside.
TEST(Knobs, OfGroupsHaveAnEffectInside) {
  const auto space = space_for(kLongAttention);
  const int rows = number_of(*space, "rows");
  ASSERT_GE(rows, 0);
  int inside = 0, outside = 0;
  for (const Knob& knob : space->knob_list()) {
    if (knob.name == "rows") continue;
    ASSERT_EQ(knob.under, rows) << knob.name;
    const bool in = knob.name.starts_with("rows.");
    (in ? inside : outside) += 1;
    EXPECT_EQ(std::ranges::count(knob.under_values, 0), in ? 0 : 1) << knob.name;
  }
  EXPECT_GT(inside, 8);
  EXPECT_GT(outside, 8);
  Rng rng(1);
  for (int i = 0; i < 40; ++i) {
    const Config config = space->random(rng);
    const Json json = space->to_json(config);
    const bool apart = json["rows"] == "apart";
    EXPECT_EQ(json.contains("rows.tile.v"), !apart);
    EXPECT_EQ(json.contains("tile.v"), apart);
    const auto again = space->from_json(json);
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_EQ(*again, config);
    const Json moved = space->to_json(space->neighbour(config, rng));
    EXPECT_EQ(moved.contains("rows.tile.v"), moved["rows"] != "apart");
  }
}

// A tile inside is never higher than a block of rows.
TEST(Knobs, OfGroupsFitEveryBlock) {
  const auto space = space_for(kLongAttention);
  const auto rows = static_cast<std::size_t>(number_of(*space, "rows"));
  const auto tile = static_cast<std::size_t>(number_of(*space, "rows.tile.p0"));
  const std::vector<std::int64_t>& heights = space->knob_list()[tile].values;
  Rng rng(3);
  for (int i = 0; i < 200; ++i) {
    const Config config = space->random(rng);
    if (config[rows] == 0) continue;
    const std::int64_t block = std::stoll(space->knob_list()[rows].labels[config[rows]]);
    EXPECT_LE(heights[config[tile]], block) << space->describe(config);
  }
}

std::uint64_t program_of(const Space& space, const schedule::Trace& trace, const Target& target) {
  ir::Nest nest = te::naive_nest(space.workload());
  EXPECT_TRUE(schedule::apply(nest, trace, false));
  const auto flat = lower::lower(ir::SizedNest(nest, {}), target);
  EXPECT_TRUE(flat);
  return flat ? flat::hash(*flat) : 0;
}

// Each stage starts with what its rule thinks best.
TEST(Knobs, StartWithTheTilesOfTheirRules) {
  for (const std::string& text : {kTwoProducts, kLongAttention})
    for (const Target& target : {avx512(1), avx512(2), sse(1)}) {
      const te::Workload workload = parsed(text);
      Tiling tiling;
      tiling.prepared = prepare(workload, target.as_cpu(), algebra::Repeated::kKept);
      tiling.target = target.as_cpu();
      const te::Workload& view = tiling.prepared.view;
      const int main = main_stage(view);
      tiling.main = tiled(tile_rule_for(view, main, tiling.target, Flavour::kDefault));
      tiling.companions = companions_of(view, main, tiling.target, view);
      const auto sketch = build_tile_sketch(tiling, {});
      ASSERT_TRUE(sketch) << sketch.error().text();
      const auto space = space_for(text, target);
      const Config start = space->default_config();
      EXPECT_EQ(
          program_of(*space, space->trace(start), target),
          program_of(*space, schedule::concretize(sketch->trace, ir::SizedNest(sketch->nest, {})),
                     target))
          << space->describe(start);
    }
}

// Rows go together where operands are read as they lie, and tiles are inside or outside of that.
TEST(Knobs, MayBeUnderKnobsThatAreUnderOthers) {
  const std::string text =
      "X: f32[1,16,37,35]; const D: f32[16,3,3]; const W: f32[24,16]\n"
      "T[n,c,y:37,x:35] = sum(r,s) X[n,c,y+r-1,x+s-1 else 0] * D[c,r,s]\n"
      "Y[n,o,y,x] = sum(c) T[n,c,y,x] * W[o,c]";
  const std::shared_ptr<const Space> space = space_for(text);
  const int operands = number_of(*space, "operands"), rows = number_of(*space, "rows");
  ASSERT_GE(operands, 0);
  ASSERT_GE(rows, 0);
  EXPECT_EQ(space->knob_list()[rows].under, operands);
  EXPECT_EQ(space->knob_list()[number_of(*space, "tile.v")].under, rows);
  Rng rng(1);
  Json matrices = Json::object();
  for (int i = 0; i < 60; ++i) {
    const Config config = i % 2 == 0 ? space->random(rng) : space->draw(rng);
    const Json json = space->to_json(config);
    const bool as_they_lie = json["operands"] == "as they lie";
    EXPECT_EQ(json.contains("rows"), as_they_lie);
    EXPECT_EQ(json.contains("matrix.tile.v"), !as_they_lie);
    EXPECT_EQ(json.contains("tile.v"), as_they_lie && json["rows"] == "apart");
    EXPECT_EQ(json.contains("rows.tile.v"), as_they_lie && json["rows"] != "apart");
    const auto again = space->from_json(json);
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_EQ(*again, config);
    if (!as_they_lie && space->valid(config)) matrices = json;
  }
  ASSERT_FALSE(matrices.empty());
  matrices["matrix.unroll.k"] = {1, 2, 4};
  const auto part = restrict_space(space, matrices);  // of which the others may be left out
  ASSERT_TRUE(part) << part.error().text();
  EXPECT_EQ((*part)->size(), 3);
}

// Where a search begins: apart, and with each block of rows.
TEST(Knobs, StartsHaveEachBlockOfRows) {
  const auto space = space_for(kLongAttention);
  const auto rows = static_cast<std::size_t>(number_of(*space, "rows"));
  std::set<int> blocks;
  for (const Config& start : space->starts()) blocks.insert(start[rows]);
  EXPECT_EQ(static_cast<int>(blocks.size()), space->values(static_cast<int>(rows)));
}

struct KnobCase {
  const char* name;
  std::string text;
};
const KnobCase kKnobCases[] = {
    {"two_products", kTwoProducts},
    {"attention", "Q: f32[3,20,8]; K: f32[3,9,8]; V: f32[3,9,5]; " + kOneAttention},
    {"long_attention", kLongAttention},
    {"one_of_everything", "Q: f32[1,1,1]; K: f32[1,1,1]; V: f32[1,1,1]; " + kOneAttention},
    {"three_products",
     "A: f32[17,13]; B: f32[13,19]; C: f32[19,7]; D: f32[7,23]\n"
     "M[i,j] = sum(k) A[i,k] * B[k,j]; N[i,l] = sum(j) M[i,j] * C[j,l]\n"
     "Y[i,m] = sum(l) N[i,l] * D[l,m]"},
    {"perceptron_of_constants",
     "X: f32[41,17]; const V: f32[40,17]; const W: f32[31,40]; const c: f32[40]\n"
     "H[b,h] = relu((sum(i) X[b,i] * V[h,i]) + c[h]); Y[b,o] = sum(h) H[b,h] * W[o,h]"},
    {"convolutions",
     "X: f32[1,5,9,11]; const V: f32[17,5,3,3]; const W: f32[19,17,3,3]\n"
     "T[n,o,y:9,x:11] = sum(c,r,s) X[n,c,y+r-1,x+s-1 else 0] * V[o,c,r,s]\n"
     "Y[n,o,y:9,x:11] = sum(c,r,s) T[n,c,y+r-1,x+s-1 else 0] * W[o,c,r,s]"},
    {"matrices_and_a_product",
     "A: f32[3,5,4,7]; B: f32[6,7,2,5]; D: f32[4,6,35]\n"
     "C[a,b,c,d] = sum(e,f) A[a,e,b,f] * B[d,f,c,e]; Y[a,c,n] = sum(b,d) C[a,b,c,d] * D[b,d,n]"},
};

class StageKnobs : public ::testing::TestWithParam<KnobCase> {};
TEST_P(StageKnobs, ComputeTheProgram) {
  for (const Target& target : {avx512(1), sse(1), avx512(2)}) {
    check_space(parsed(GetParam().text), target, Flavour::kDefault, 6, 5);
    check_space(parsed(GetParam().text), target, Flavour::kWide, 1, 5);
  }
}
INSTANTIATE_TEST_SUITE_P(Knobs, StageKnobs, ::testing::ValuesIn(kKnobCases),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace lathe::space
