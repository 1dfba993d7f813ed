// Every configuration of a space is a correct program: random ones, lowered and interpreted,
// against the naive nest.
#include "tuner/space/space.h"

#include <cmath>

#include <gtest/gtest.h>

#include "compiler/lower/lower.h"
#include "compiler/te/naive_nest.h"
#include "compiler/te/parse.h"
#include "oracle/flat_eval.h"
#include "support/sanitized.h"
#include "support/targets.h"

namespace lathe::space {
namespace {

using test::avx512, test::sse;

std::vector<interp::Bytes> random_inputs(const flat::Program& program, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<interp::Bytes> out;
  for (const flat::Border& border : program.inputs) {
    std::int64_t count = 1;
    for (const auto n : border.shape) count *= n;
    std::vector<double> values(static_cast<std::size_t>(count));
    for (double& v : values) v = static_cast<float>(rng.uniform() * 2 - 1);
    out.push_back(interp::to_storage(border, values));
  }
  return out;
}

std::vector<std::vector<double>> evaluate(const flat::Program& program, std::uint64_t seed,
                                          std::string& error) {
  const auto run = interp::eval_flat(program, random_inputs(program, seed), {});
  if (!run) {
    error = run.error().text();
    return {};
  }
  std::vector<std::vector<double>> out;
  for (std::size_t i = 0; i < run->size(); ++i)
    out.push_back(interp::from_storage(program.outputs[i], (*run)[i]));
  return out;
}

struct Case {
  const char* name;
  const char* text;
};
constexpr Case kCases[] = {
    {"matmul", "A: f32[23,19]; B: f32[23,37]; C[i,j] = sum(k) A[k,i] * B[k,j]"},
    {"matmul_square", "A: f32[32,64]; B: f32[64,48]; C[i,j] = sum(k) A[i,k] * B[k,j]"},
    // Each stage reads the two before it: not all of them can be inlined.
    {"doubling",
     "A: f32[7,19]; T0[i,j] = A[i,j] + 1; T1[i,j] = A[i,j] * 2; "
     "T2[i,j] = T1[i,j] * 0.5 + T0[i,j] * 0.5; T3[i,j] = T2[i,j] * 0.5 + T1[i,j] * 0.5; "
     "T4[i,j] = T3[i,j] * 0.5 + T2[i,j] * 0.5; T5[i,j] = T4[i,j] * 0.5 + T3[i,j] * 0.5; "
     "T6[i,j] = T5[i,j] * 0.5 + T4[i,j] * 0.5; T7[i,j] = T6[i,j] * 0.5 + T5[i,j] * 0.5; "
     "T8[i,j] = T7[i,j] * 0.5 + T6[i,j] * 0.5; T9[i,j] = T8[i,j] * 0.5 + T7[i,j] * 0.5; "
     "T10[i,j] = T9[i,j] * 0.5 + T8[i,j] * 0.5; T11[i,j] = T10[i,j] * 0.5 + T9[i,j] * 0.5"},
    {"matvec", "A: f32[31,17]; B: f32[17]; C[i] = sum(k) A[i,k] * B[k]"},
    {"dense",
     "X: f32[3,29]; const W: f32[35,29]; const B: f32[35]; Y[n,o] = max(sum(k) X[n,k]*W[o,k] + "
     "B[o], 0)"},
    {"conv3x3",
     "X: f32[1,19,7,9]; const W: f32[33,19,3,3]; "
     "Y[n,o,y:7,x:9] = sum(c,r,s) X[n,c,y+r-1,x+s-1 else 0] * W[o,c,r,s]"},
    {"conv_stride",
     "X: f32[2,3,13,11]; const W: f32[20,3,5,5]; "
     "Y[n,o,y:7,x:6] = sum(c,r,s) X[n,c,2*y+r-2,2*x+s-2 else 0] * W[o,c,r,s]"},
    {"conv1x1_epilogue",
     "X: f32[1,32,5,7]; const W: f32[48,32]; const B: f32[48]; R: f32[1,48,5,7]; "
     "Y[n,o,y,x] = max(sum(c) X[n,c,y,x] * W[o,c] + B[o] + R[n,o,y,x], 0)"},
    {"conv_dilated",
     "X: f32[1,16,9,9]; const W: f32[16,16,3,3]; "
     "Y[n,o,y:9,x:9] = sum(c,r,s) X[n,c,y+2*r-2,x+2*s-2 else 0] * W[o,c,r,s]"},
    {"depthwise",
     "X: f32[1,21,8,6]; const W: f32[21,3,3]; "
     "Y[n,c,y:8,x:6] = sum(r,s) X[n,c,y+r-1,x+s-1 else 0] * W[c,r,s]"},
    {"grouped",
     "X: f32[1,2,9,6,6]; const W: f32[2,18,9,3,3]; "
     "Y[n,g,o,y:6,x:6] = sum(c,r,s) X[n,g,c,y+r-1,x+s-1 else 0] * W[g,o,c,r,s]"},
    {"maxpool", "X: f32[1,5,9,9]; Y[n,c,y:4,x:4] = max(r:3,s:3) X[n,c,2*y+r,2*x+s]"},
    {"elementwise", "X: f32[13,29]; B: f32[29]; Y[i,j] = max(X[i,j] * 2.0 + B[j], 0)"},
    {"softmax_sum", "X: f32[7,33]; S[i] = sum(j) X[i,j]; Y[i,j] = X[i,j] - S[i]"},
    {"ones", "A: f32[1,1]; B: f32[1,1]; C[i,j] = sum(k) A[i,k] * B[k,j]"},
};

constexpr int kTrials = test::kSanitized ? 2 : 6;

class SpaceTest : public ::testing::TestWithParam<std::tuple<Case, bool>> {};

TEST_P(SpaceTest, RandomConfigurationsComputeTheSame) {
  const auto& [c, free_layout] = GetParam();
  auto workload = te::parse_workload(c.text);
  ASSERT_TRUE(workload) << workload.error().text();
  workload->contract.free_layout = free_layout;
  const ir::Nest naive = te::naive_nest(*workload);
  const auto plain = lower::lower(ir::SizedNest(naive, {}), avx512(1));
  ASSERT_TRUE(plain) << plain.error().text();
  constexpr std::uint64_t kSeed = 11;
  std::string error;
  const auto want = evaluate(*plain, kSeed, error);
  ASSERT_EQ(error, "");
  for (const Target& target : {avx512(1), sse(1), avx512(2)}) {
    for (const Flavour flavour : {Flavour::kDefault, Flavour::kWide}) {
      const auto space = derive_space(*workload, target, flavour);
      ASSERT_TRUE(space) << space.error().text();
      Rng rng(kSeed);
      for (int trial = 0; trial < kTrials; ++trial) {
        const Config config = trial == 0 ? (*space)->default_config() : (*space)->random(rng);
        SCOPED_TRACE(target.text() + " " + (*space)->describe(config));
        // The stored trace replays without the space.
        ir::Nest nest = te::naive_nest(*workload);
        const schedule::Trace trace = (*space)->trace(config);
        const auto applied = schedule::apply(nest, trace, free_layout);
        ASSERT_TRUE(applied) << applied.error().text();
        const auto flat = lower::lower(ir::SizedNest(nest, {}), target);
        if (!flat) {  // the wide space holds programs too large to unroll
          EXPECT_EQ(flat.error().kind, ErrorKind::kIllegalSchedule) << flat.error().text();
          EXPECT_EQ(flavour, Flavour::kWide) << flat.error().text();
          continue;
        }
        const auto verified = flat::verify(*flat);
        ASSERT_TRUE(verified) << verified.error().text();
        // And the open nest with the knobs filled in computes the same (its caches may be a little
        // larger, since a box of open sizes is not known to be cut off by its tensor).
        std::vector<std::int64_t> values;
        (*space)->knob_values(config, values);
        const auto open =
            lower::lower(ir::SizedNest((*space)->sketch(config).nest, values), target);
        ASSERT_TRUE(open) << open.error().text();
        if (flat::hash(*open) != flat::hash(*flat)) {
          ASSERT_EQ(evaluate(*open, kSeed, error), evaluate(*flat, kSeed, error));
        }
        const auto got = evaluate(*flat, kSeed, error);
        ASSERT_EQ(error, "") << schedule::print(trace) << ir::print(nest) << flat::print(*flat);
        for (std::size_t o = 0; o < want.size(); ++o)
          for (std::size_t i = 0; i < want[o].size(); ++i)
            ASSERT_NEAR(got[o][i], want[o][i], 1e-4) << "output " << o << " element " << i << "\n"
                                                     << schedule::print(trace);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, SpaceTest,
                         ::testing::Combine(::testing::ValuesIn(kCases), ::testing::Bool()),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param).name) +
                                  (std::get<1>(info.param) ? "_free" : "_plain");
                         });

std::unique_ptr<Space> conv_space(Flavour flavour) {
  auto workload = te::parse_workload(
      "X: f32[1,128,28,28]; const W: f32[128,128,3,3]; "
      "Y[n,o,y:28,x:28] = sum(c,r,s) X[n,c,y+r-1,x+s-1 else 0] * W[o,c,r,s]");
  workload->contract.free_layout = true;
  return std::move(*derive_space(*workload, avx512(1), flavour));
}

TEST(Space, DefaultNeverProposesSpills) {
  const auto space = conv_space(Flavour::kDefault);
  Rng rng(3);
  std::vector<std::int64_t> v;
  const auto value = [&](const char* name) {
    for (int k = 0; k < space->knobs(); ++k)
      if (space->knob_list()[k].name == name) return v[k];
    return std::int64_t{1};
  };
  Config config = space->random(rng);
  for (int i = 0; i < 2000; ++i) {
    config = i % 2 == 0 ? space->random(rng) : space->neighbour(config, rng);
    ASSERT_TRUE(space->valid(config));
    space->knob_values(config, v);
    const auto vectors = value("tile.v"), pixels = value("tile.p0") * value("tile.p1");
    EXPECT_LE(pixels * vectors + vectors + 1, 32);
  }
}

// Where rows of the result have a few elements, as the phases of a transposed convolution, lanes
// run along another axis, unless sums are short.
TEST(Space, NarrowRowsHaveLanesElsewhere) {
  const auto lanes = [](const char* text) {
    const auto workload = te::parse_workload(text);
    EXPECT_TRUE(workload) << workload.error().text();
    const auto space = derive_space(*workload, test::avx512(1), Flavour::kDefault);
    EXPECT_TRUE(space) << space.error().text();
    for (const schedule::Step& step : (*space)->trace((*space)->default_config()))
      if (const auto* annotate = std::get_if<schedule::Annotate>(&step);
          annotate != nullptr && annotate->kind == ir::LoopKind::kVectorized &&
          annotate->loop.starts_with("Y.") && annotate->loop.ends_with(".l"))
        return annotate->loop;
    return std::string();
  };
  EXPECT_EQ(lanes("X: f32[64,40]; const W: f32[64,2,4]\n"
                  "Y[o,x:40,q:4] = sum(c,s:1) X[c,x-s else 0] * W[c,o,4*s+q]"),
            "Y.x.l");
  EXPECT_EQ(lanes("X: f32[64,40]; const W: f32[64,32,4]\n"
                  "Y[o,x:40,q:4] = sum(c,s:1) X[c,x-s else 0] * W[c,o,4*s+q]"),
            "Y.o.l");
  EXPECT_EQ(lanes("A: f32[64,3,20]; B: f32[3,3]\nY[i,k,j] = sum(c) A[i,c,k] * B[c,j]"), "Y.j.l");
}

TEST(Space, WideHoldsBillionsAndHasNoConstraints) {
  const auto space = conv_space(Flavour::kWide);
  EXPECT_GT(space->size(), 1e9);
}

TEST(Space, HashTellsSpacesApartAndJsonRoundTrips) {
  const auto a = conv_space(Flavour::kDefault), b = conv_space(Flavour::kDefault),
             wide = conv_space(Flavour::kWide);
  EXPECT_EQ(a->hash(), b->hash());
  EXPECT_NE(a->hash(), wide->hash());
  Rng rng(5);
  for (int i = 0; i < 100; ++i) {
    const Config config = a->random(rng);
    const auto back = a->from_json(a->to_json(config));
    ASSERT_TRUE(back) << back.error().text();
    EXPECT_EQ(*back, config);
  }
  Json broken = a->to_json(a->default_config());
  broken["tile.v"] = 1000;
  EXPECT_EQ(a->from_json(broken).error().message,
            "1000 is not a value of knob tile.v in this space");
}

}  // namespace
}  // namespace lathe::space
