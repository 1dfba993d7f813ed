// Pipelines of stencils in strips: where they are offered, and that each computes the program.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/targets.h"
#include "unit/space/check_space.h"

namespace lathe::space {
namespace {

using test::avx512, test::sse;

// "none" where it is no choice; else the default's.
std::string strips_of(const std::string& text, int threads = 1) {
  const auto space = derive_space(parsed(text), avx512(threads), Flavour::kDefault);
  if (!space) throw std::runtime_error(space.error().text());
  const std::vector<Knob>& knobs = (*space)->knob_list();
  if (std::ranges::find(knobs, "strips", &Knob::name) == knobs.end()) return "none";
  const Json json = (*space)->to_json((*space)->default_config());
  return json.contains("strips") ? json["strips"].get<std::string>() : "other";
}

std::string harris(int rows, int columns) {
  return fmt::format(
      "X: f32[{},{}]; K: f32[3,3]={{-1,0,1,-2,0,2,-1,0,1}}\n"
      "U[y,x] = sum(r,s) X[y+r,x+s]*K[r,s]; V[y,x] = sum(r,s) X[y+r,x+s]*K[s,r]\n"
      "A[y,x] = sum(r:3,s:3) U[y+r,x+s]*U[y+r,x+s]; B[y,x] = sum(r:3,s:3) V[y+r,x+s]*V[y+r,x+s]\n"
      "D[y,x] = sum(r:3,s:3) U[y+r,x+s]*V[y+r,x+s]\n"
      "Y[y,x] = A[y,x]*B[y,x]-D[y,x]*D[y,x]-0.04*(A[y,x]+B[y,x])*(A[y,x]+B[y,x])",
      rows, columns);
}

std::string blurs(int count, const std::string& shape) {
  std::string out = "T0: f32[" + shape + "]", last = "T0";
  for (int i = 1; i <= count; ++i) {
    const std::string name = i == count ? "Y" : "T" + std::to_string(i);
    const std::string along = i % 2 == 1 ? fmt::format("{0}[y,x] + {0}[y,x+1] + {0}[y,x+2]", last)
                                         : fmt::format("{0}[y,x] + {0}[y+1,x] + {0}[y+2,x]", last);
    out += fmt::format("; {}[y,x] = ({}) / 3", name, along);
    last = name;
  }
  return out;
}

std::string unsharp(const std::string& shape, const std::string& core) {
  return "X: f32[" + shape + "]; k: f32[5]; P[y:" + core +
         ",x] = sum(r) X[y+r,x]*k[r]; B[y,x] = sum(s) P[y,x+s]*k[s]\n"
         "Y[y,x] = X[y+2,x+2] + 1.5 * (X[y+2,x+2] - B[y,x])";
}

TEST(Strips, AreAChoiceForPipelinesOfStencils) {
  EXPECT_NE(strips_of(harris(770, 1026)), "none");
  EXPECT_NE(strips_of(harris(770, 1026)), "apart");
  EXPECT_NE(strips_of(harris(770, 1026), 4), "apart");
  EXPECT_NE(strips_of(blurs(2, "514,1026")), "none");
  EXPECT_NE(strips_of(blurs(6, "514,1026")), "none");
  EXPECT_NE(strips_of(unsharp("1028,1028", "1024")), "none");
}

TEST(Strips, AreNoChoiceElsewhere) {
  // One stage, no windows, rows of a matrix, a scan, a layer with channels, an element anywhere.
  EXPECT_EQ(strips_of("X: f32[99,99]; Y[y,x] = sum(r:3,s:3) X[y+r,x+s]"), "none");
  EXPECT_EQ(strips_of("X: f32[99,99]; T[y,x] = exp(X[y,x]); Y[y,x] = T[y,x] / (1 + T[y,x])"),
            "none");
  EXPECT_EQ(strips_of("X: f32[99,99]; S[i] = sum(j) X[i,j]; Y[i,j] = X[i,j] / S[i]"), "none");
  EXPECT_EQ(strips_of("X: f32[99,99]; S[i,j:99] = sum(k:99) select(k <= j, X[i,k], 0)\n"
                      "Y[i,j:97] = S[i,j] + S[i,j+2]"),
            "none");
  EXPECT_EQ(strips_of("X: f32[16,66,66]; const V: f32[16,16,3,3]; const W: f32[16,16,3,3]\n"
                      "H[o,y,x] = sum(c,r,s) X[c,y+r,x+s]*V[o,c,r,s]\n"
                      "Y[o,y,x] = sum(c,r,s) H[c,y+r,x+s]*W[o,c,r,s]"),
            "none");
  EXPECT_EQ(strips_of("X: f32[99,3]; T[i] = sum(j) X[i,j]; Y[i,j] = T[i] * T[j]"), "none");
  EXPECT_EQ(strips_of("X: f32[66,66]; T[y,x] = sum(r:3) X[y+r,x]\n"
                      "Y[y:100,x:60] = T[y/2,x] + T[y/2,x+1]"),
            "none");
}

const std::pair<const char*, std::string> kPipelines[] = {
    {"harris", harris(23, 41)},
    {"harris_of_few", harris(5, 6)},
    {"harris_of_one", harris(5, 5)},
    {"blurs", blurs(2, "13,37")},
    {"more_blurs", blurs(5, "19,53")},
    {"unsharp_mask", unsharp("23,61", "19")},
    {"unsharp_mask_of_a_row", unsharp("5,41", "1")},
    {"channels_around",
     "X: f32[2,3,17,29]; T[n,c,y,x] = sum(r:3,s:3) X[n,c,y+r,x+s]*0.25\n"
     "Y[n,c,y,x] = max(r:2,s:2) T[n,c,y+r,x+s]"},
    {"gray_of_channels",
     "X: f32[3,17,29]; w: f32[3]; G[y,x] = sum(c) X[c,y,x]*w[c]\n"
     "Y[c:2,y,x] = sum(r:3) G[y+r,x]*X[c,y,x]"},
    {"channels_inside",
     "X: f32[17,29,3]; T[y,x,c] = sum(r:3,s:3) X[y+r,x+s,c]; Y[y,x,c] = T[y,x+1,c] - T[y+1,x,c]"},
    {"padding",
     "X: f32[17,29]; T[y:17,x:29] = sum(r:3,s:3) X[y+r-1,x+s-1 else 0]\n"
     "Y[y:17,x:29] = sum(r:3,s:3) T[y+r-1,x+s-1 else 0] * 0.1"},
    {"edges_repeated",
     "X: f32[17,29]; T[y,x] = X[y,x] * 2.0 + 1.0\n"
     "Y[y:17,x:29] = T[y,x] + select(y > 0, T[y-1,x else 0], T[y,x])"},
    {"pyramid",
     "X: f32[41,59]; L[y:19,x:28] = sum(r:4,s:4) X[2*y+r,2*x+s]*0.0625\n"
     "Y[y:8,x:13] = sum(r:4,s:4) L[2*y+r,2*x+s]*0.0625"},
    {"strided_rows",
     "X: f32[41,59]; L[y,x] = sum(r:3) X[y+r,x]; Y[y:13,x:57] = L[3*y,x] + L[3*y+2,x+2]"},
    {"two_strides",
     "X: f32[41,59]; L[y,x] = sum(r:3) X[y+r,x]; Y[y:13,x:57] = L[3*y,x] + L[2*y+2,x+2]"},
    {"volume",
     "X: f32[9,11,23]; T[z,y,x] = X[z,y,x] + X[z+1,y,x] * X[z,y+1,x]\n"
     "Y[z,y,x] = sum(q:3,r:3,s:3) T[z+q,y+r,x+s]"},
    {"columns_first", "X: f32[19,43]; T[y,x] = sum(r:5) X[y+r,x]; Y[y,x] = sum(s:5) T[y,x+s]"},
    {"transposed", "X: f32[19,43]; T[x,y] = sum(r:5) X[y+r,x]; Y[y,x] = sum(s:5) T[x+s,y]"},
    {"mirrored",
     "X: f32[19,43]; T[y,x] = X[y,x]*X[y,x+1]; Y[y:18,x:40] = T[18-y,41-x] + T[17-y,40-x]"},
    {"many_readers",
     "X: f32[23,41]; A[y,x] = sum(r:3,s:3) X[y+r,x+s]; B[y:19,x:37] = A[y+1,x+1] - A[y,x+2]\n"
     "C[y:17,x:33] = B[y+1,x] * A[y+2,x+3]; Y[y:17,x:33] = C[y,x] + sqrt(abs(B[y+1,x+2])) + "
     "X[y,x]"},
    {"windows_of_inputs",
     "X: f32[23,41]; M[y,x] = (sum(r:3,s:3) X[y+r,x+s]) / 9\n"
     "Q[y,x] = (sum(r:3,s:3) X[y+r,x+s]*X[y+r,x+s]) / 9\n"
     "Y[y,x] = (X[y+1,x+1] - M[y,x]) * rsqrt(abs(Q[y,x] - M[y,x]*M[y,x]) + 0.01)"},
    {"table_of_values",
     "X: u8[23,41]; t: f32[256]; G[y,x] = t[X[y,x]]; Y[y,x] = G[y,x] - G[y+1,x+1] * G[y,x+2]"},
    {"bytes",
     "X: u8[23,41]; T[y,x] = sum(r:3) f32(X[y+r,x]); Y[y,x] = u8(T[y,x] * 0.1 + T[y,x+1] * 0.2)"},
    {"several_outputs",
     "X: f32[23,41]; U[y,x] = X[y+1,x+2] - X[y+1,x]; V[y:21,x:39] = X[y+2,x+1] - X[y,x+1]\n"
     "A[y:19,x:37] = sum(r:3,s:3) U[y+r,x+s]*U[y+r,x+s]\n"
     "B[y:19,x:37] = sum(r:3,s:3) V[y+r,x+s]*V[y+r,x+s]; D[y:19,x:37] = U[y+1,x]*V[y,x+1]"},
    {"outputs_of_one_window",
     "X: f32[2,23,41]; A[c,y,x] = sum(r:3,s:3) X[c,y+r,x+s]; B[c,y,x] = max(s:3,r:3) X[c,y+r,x+s]"},
    {"a_large_window", "X: f32[23,41]; Y[y,x] = sum(r:7,s:7) X[y+r,x+s]"},
    {"doubles_and_floats",
     "X: f32[23,41]; T[y,x] = sum(r:3) f64(X[y+r,x]); Y[y,x] = f32(T[y,x] - T[y,x+1])"},
};

class Pipeline : public ::testing::TestWithParam<std::pair<const char*, std::string>> {};
TEST_P(Pipeline, OfEachStripComputesTheProgram) {
  for (const Target& target : {avx512(1), sse(1), avx512(3)}) {
    const auto found = check_choices(parsed(GetParam().second), target, "strips", 6, 1);
    EXPECT_GE(found.size(), 2U);
    for (const auto& [label, count] : found) EXPECT_GT(count, 0) << label;
  }
}
INSTANTIATE_TEST_SUITE_P(Strips, Pipeline, ::testing::ValuesIn(kPipelines),
                         [](const auto& info) { return info.param.first; });

// A chain, or a tree, of stages that read neighbours of the stages before.
std::string random_pipeline(Rng& rng) {
  const auto pick = [&](int low, int high) {
    return low + static_cast<int>(rng.below(high - low + 1));
  };
  const int stages = pick(2, 5), channels = pick(1, 3);
  const bool channel = pick(0, 2) == 0;
  const std::string c = channel ? "c," : "";
  struct Made {
    std::string name;
    int rows, columns;
  };
  std::vector<Made> made = {{"X", pick(6, 40), pick(6, 70)}};
  std::string out = fmt::format("X: f32[{}{},{}]", channel ? std::to_string(channels) + "," : "",
                                made[0].rows, made[0].columns);
  for (int i = 1; i <= stages; ++i) {
    const Made& from = made.back();
    const Made& other = made[rng.below(made.size())];
    const int step = pick(0, 5) == 0 ? 2 : 1, pad = pick(0, 3) == 0 ? 1 : 0;
    const int r = std::min(pick(1, 3), from.rows), s = std::min(pick(1, 3), from.columns);
    Made next{i == stages ? "Y" : "T" + std::to_string(i), 0, 0};
    next.rows = std::min({(from.rows + 2 * pad - r) / step + 1, other.rows});
    next.columns = std::min({(from.columns + 2 * pad - s) / step + 1, other.columns});
    const auto place = [&](const std::string& y, const std::string& x) {
      const auto one = [&](const std::string& axis, const std::string& tap) {
        return fmt::format("{}{}{}{}", step > 1 ? "2*" : "", axis, tap, pad ? "-1" : "");
      };
      return fmt::format("{}[{}{},{}{}]", from.name, c, one("y", y), one("x", x),
                         pad ? " else 0" : "");
    };
    std::string body;
    if (pick(0, 2) == 0) {
      body = place("", "") + " - 0.5 * " +
             place("+" + std::to_string(r - 1), "+" + std::to_string(s - 1));
    } else {
      const char* reduce = pick(0, 3) == 0 ? "max" : "sum";
      body = fmt::format("({}(r:{},s:{}) {} * (f32(r) + 0.5))", reduce, r, s, place("+r", "+s"));
    }
    if (pick(0, 1) == 0) body += fmt::format(" + 0.25 * {}[{}y,x]", other.name, c);
    out += fmt::format("\n{}[{}y:{},x:{}] = {}", next.name, c, next.rows, next.columns, body);
    made.push_back(next);
  }
  return out;
}

TEST(Strips, OfRandomPipelinesComputeThem) {
  const std::uint64_t first = asked("LATHE_RANDOM_FIRST", 0),
                      rounds = asked("LATHE_RANDOM_ROUNDS", 60);
  int offered = 0;
  for (std::uint64_t seed = first; seed < first + rounds && !HasFailure(); ++seed) {
    Rng rng(seed);
    const te::Workload workload = parsed(random_pipeline(rng));
    const Target target = seed % 4 == 0 ? sse(1) : avx512(seed % 4 == 1 ? 2 : 1);
    offered += check_choices(workload, target, "strips", 3, seed).empty() ? 0 : 1;
  }
  EXPECT_GT(offered, static_cast<int>(rounds / 3));
}

}  // namespace
}  // namespace lathe::space
