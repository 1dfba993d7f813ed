// Rows that go through all stages together: each block of rows that a space offers computes the
// program.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/random_workload.h"
#include "support/targets.h"
#include "tuner/space/rules/rows/row_group.h"
#include "unit/space/check_space.h"

namespace lathe::space {
namespace {

using test::avx512, test::sse;

// The axes of the groups as "13,70r": r where a stage uses something along it; with the last stage
// of each, if that is not the last of the program.
std::string axes_of(const std::string& text) {
  const te::Workload workload = parsed(text);
  const auto prepared = prepare(workload, avx512(1).as_cpu(), algebra::Repeated::kKept);
  const te::Workload& view = prepared.view;
  std::string out;
  for (const RowGroup& group : find_row_groups(view, workload.tensors.size())) {
    if (!out.empty()) out += " ";
    const int last = view.stages.back().tensor;
    if (group.last != view.tensors[static_cast<std::size_t>(last)].name) out += group.last + ":";
    for (std::size_t a = 0; a < group.axes.size(); ++a)
      out += (a > 0 ? "," : "") + std::to_string(group.axes[a].extent) +
             (group.axes[a].reused ? "r" : "");
  }
  return out;
}

const std::string kSoftmax =
    "E[i,j] = exp(X[i,j] - (max(k) X[i,k])); Y[i,j] = E[i,j] / (sum(k) E[i,k])";
const std::string kAttention =
    "S[h,q,k] = sum(d) Q[h,q,d] * K[h,k,d]; P[h,q,k] = exp(S[h,q,k] - (max(j) S[h,q,j]))\n"
    "O[h,q,d] = (sum(k) P[h,q,k] * V[h,k,d]) / (sum(j) P[h,q,j])";

TEST(RowGroup, FindsWhatStagesHaveInCommon) {
  EXPECT_EQ(axes_of("X: f32[13,70]; " + kSoftmax), "13");
  EXPECT_EQ(axes_of("Q: f32[3,20,8]; K: f32[3,9,8]; V: f32[3,9,5]; " + kAttention), "3,20r");
  EXPECT_EQ(axes_of("Q: f32[3,7,8]; K: f32[3,9,8]; V: f32[3,9,5]; " + kAttention), "3");
  EXPECT_EQ(axes_of("X: f32[13,70]; Y[i] = (sum(j) X[i,j]) / 70"), "13");
  // Columns, a transpose, a neighbour's row, one row, one stage.
  EXPECT_EQ(axes_of("X: f32[13,70]; Y[i,j] = X[i,j] / (sum(k) X[k,j])"), "70");
  EXPECT_EQ(axes_of("X: f32[9,9]; T[i] = sum(k) X[i,k]; Y[i,j] = T[i] * T[j]"), "");
  EXPECT_EQ(axes_of("X: f32[9,33]; T[i] = sum(k) X[i,k]; Y[i:8] = T[i] + T[i+1]"), "");
  EXPECT_EQ(axes_of("X: f32[1,70]; " + kSoftmax), "");
  EXPECT_EQ(axes_of("A: f32[7,9]; B: f32[9,20]; C[i,j] = sum(k) A[i,k] * B[k,j]"), "");
}

// Attention and a projection that sums up its heads, two softmaxes of which the second goes along
// the columns of the first, norm and products, windows and products of images.
TEST(RowGroup, MayBeAPartOfAProgram) {
  EXPECT_EQ(axes_of("Q: f32[3,20,8]; K: f32[3,9,8]; V: f32[3,9,5]; W: f32[3,5,11]; " + kAttention +
                    "; Y[q,e] = sum(h,d) O[h,q,d] * W[h,d,e]"),
            "O:3,20r");
  EXPECT_EQ(axes_of("X: f32[13,70]; " + kSoftmax +
                    "; F[i,j] = exp(Y[i,j] - (max(k) Y[k,j])); Z[i,j] = F[i,j] / (sum(k) F[k,j])"),
            "Y_acc:13 70");
  EXPECT_EQ(axes_of("X: f32[21,12]; W: f32[12,40]; V: f32[40,12]; m[i] = sum(j) X[i,j]\n"
                    "v[i] = sum(j) (X[i,j] - m[i]) * (X[i,j] - m[i])\n"
                    "H[i,h] = relu((sum(j) (X[i,j] - m[i]) * rsqrt(v[i] + 1.0) * W[j,h]))\n"
                    "Y[i,j] = sum(h) H[i,h] * V[h,j]"),
            "21r");
  const auto image = [](const char* extents) {
    return axes_of(
        fmt::format("X: f32[{0}]; const D: f32[5,3,3]; const W: f32[19,5]\n"
                    "T[n,c,y,x] = sum(r,s) X[n,c,y+r,x+s] * D[c,r,s]\n"
                    "Y[n,o,y,x] = sum(c) T[n,c,y,x] * W[o,c]",
                    extents));
  };
  EXPECT_EQ(image("1,5,9,11"), "7r");
  EXPECT_EQ(image("2,5,9,11"), "2r");
  EXPECT_EQ(image("2,5,30,30"), "2r,28r");
  EXPECT_EQ(image("1,5,4,4"), "");
}

TEST(RowGroup, BlocksAreOfPowersOfFour) {
  const auto blocks = [](std::int64_t extent, bool reused, int axes, bool contiguous = false) {
    RowGroup group;
    group.axes.resize(static_cast<std::size_t>(axes));
    group.axes.back().extent = extent;
    group.axes.back().reused = reused;
    group.axes.back().contiguous = contiguous;
    return blocks_of_rows(group);
  };
  using Blocks = std::vector<std::int64_t>;
  EXPECT_EQ(blocks(100, false, 1), (Blocks{1, 4, 16, 64}));
  EXPECT_EQ(blocks(16, false, 2), (Blocks{1, 4}));
  EXPECT_EQ(blocks(100, true, 1), (Blocks{16, 64}));
  EXPECT_EQ(blocks(100, true, 2), (Blocks{16, 64, 100}));
  EXPECT_EQ(blocks(1013, false, 1, true), (Blocks{64, 256}));
}

TEST(Rows, GoTogetherByDefaultWhereTheyLeaveTheCache) {
  const auto start = [](const std::string& text) {
    const auto space = derive_space(parsed(text), avx512(1), Flavour::kDefault);
    if (!space) throw std::runtime_error(space.error().text());
    const Json json = (*space)->to_json((*space)->default_config());
    return json.contains("rows") ? json["rows"].get<std::string>() : "";
  };
  EXPECT_EQ(start("X: f32[4096,4096]; " + kSoftmax), "1");
  EXPECT_EQ(start("X: f32[1024,1024]; " + kSoftmax), "4");
  EXPECT_EQ(start("X: f32[64,128]; " + kSoftmax), "apart");
  EXPECT_EQ(start("X: f32[16,32]; " + kSoftmax), "");
  EXPECT_EQ(start("X: f32[1013,503]; E[i,j] = exp(X[i,j] - (max(k) X[k,j]))\n"
                  "Y[i,j] = E[i,j] / (sum(k) E[k,j])"),
            "apart");
  EXPECT_EQ(start("Q: f32[12,512,64]; K: f32[12,512,64]; V: f32[12,512,64]; " + kAttention), "64");
}

struct RowCase {
  const char* name;
  std::string text;
  int blocks;
};
const RowCase kRowCases[] = {
    {"softmax", "X: f32[13,70]; " + kSoftmax, 2},
    {"softmax_of_long_rows", "X: f32[5,9001]; " + kSoftmax, 4},
    {"softmax_of_one_long_row", "X: f32[1,9001]; " + kSoftmax, 2},
    {"log_sum_exp_of_all",
     "X: f32[9001]; L[o:1] = max(k) X[k]; M[o:1] = select(abs(L[o]) < inf, L[o], 0)\n"
     "Y[o:1] = M[o] + log(sum(k) exp(X[k] - M[o]))",
     2},
    {"argmax_of_all",
     "X: f32[3,61,47]; M[o:1] = max(i,j,k) X[i,j,k]\n"
     "Y[o:1] = min(i,j,k) select(X[i,j,k] == M[o] || X[i,j,k] != X[i,j,k], (i * 61 + j) * 47 + k, "
     "8601)",
     2},
    {"argmax_of_columns",
     "X: f32[1009,7]; M[j] = max(i) X[i,j]; Y[j] = min(i) select(X[i,j] == M[j], i, 1009)", 2},
    {"argmin_of_long_rows",
     "X: f16[3,5003]; M[i] = min(k) X[i,k]; Y[i] = min(k) select(X[i,k] == M[i], k, 5003)", 3},
    {"two_sums",
     "X: f32[5003]; A[o:1] = sum(k) X[k]; B[o:1] = sum(k) X[k] * X[k]\n"
     "Y[o:1] = B[o] - A[o] * A[o]",
     2},
    {"softmax_of_short_rows", "X: f32[37,3]; " + kSoftmax, 3},
    {"softmax_of_halves", "X: f16[5,67]; " + kSoftmax, 2},
    {"layer_norm",
     "X: f32[19,100]; g: f32[100]; b: f32[100]; m[i] = 0.01 * (sum(j) X[i,j])\n"
     "v[i] = 0.01 * (sum(j) (X[i,j] - m[i]) * (X[i,j] - m[i]))\n"
     "Y[i,j] = (X[i,j] - m[i]) * rsqrt(v[i] + 0.00001) * g[j] + b[j]",
     3},
    {"attention", "Q: f32[3,20,8]; K: f32[3,9,8]; V: f32[3,9,5]; " + kAttention, 2},
    {"attention_of_few", "Q: f32[5,7,8]; K: f32[5,9,8]; V: f32[5,9,5]; " + kAttention, 2},
    {"long_attention", "Q: f32[2,67,16]; K: f32[2,33,16]; V: f32[2,33,17]; " + kAttention, 3},
    {"perceptron",
     "X: f32[41,17]; V: f32[40,17]; W: f32[9,40]\n"
     "H[b,h] = tanh((sum(i) X[b,i] * V[h,i])); Y[b,o] = sum(h) H[b,h] * W[o,h]",
     1},
    {"perceptron_of_constants",
     "X: f32[41,17]; const V: f32[40,17]; const W: f32[9,40]\n"
     "H[b,h] = tanh((sum(i) X[b,i] * V[h,i])); Y[b,o] = sum(h) H[b,h] * W[o,h]",
     1},
    {"attention_and_a_projection",
     "Q: f32[3,20,8]; K: f32[3,9,8]; V: f32[3,9,5]; W: f32[3,5,11]; " + kAttention +
         "; Y[q,e] = sum(h,d) O[h,q,d] * W[h,d,e]",
     2},
    {"norm_and_products",
     "X: f32[41,12]; W: f32[12,40]; V: f32[40,13]; m[i] = sum(j) X[i,j]\n"
     "v[i] = sum(j) (X[i,j] - m[i]) * (X[i,j] - m[i])\n"
     "H[i,h] = relu((sum(j) (X[i,j] - m[i]) * rsqrt(v[i] + 1.0) * W[j,h]))\n"
     "Y[i,j] = sum(h) H[i,h] * V[h,j]",
     1},
    {"rows_and_columns",
     "X: f32[13,70]; " + kSoftmax +
         "; F[i,j] = exp(Y[i,j] - (max(k) Y[k,j])); Z[i,j] = F[i,j] / (sum(k) F[k,j])",
     3},
    {"depthwise_and_pointwise",
     "X: f32[1,5,13,11]; const D: f32[5,3,3]; const W: f32[19,5]\n"
     "T[n,c,y:13,x:11] = relu((sum(r,s) X[n,c,y+r-1,x+s-1 else 0] * D[c,r,s]))\n"
     "Y[n,o,y,x] = relu((sum(c) T[n,c,y,x] * W[o,c]))",
     2},
    {"depthwise_and_pointwise_of_images",
     "X: f32[2,3,19,17]; const D: f32[3,3,3]; const W: f32[7,3]\n"
     "T[n,c,y:17,x:17] = sum(r,s) X[n,c,y+r,x+s-1 else 0] * D[c,r,s]\n"
     "Y[n,o,y,x] = sum(c) T[n,c,y,x] * W[o,c]",
     4},
    {"columns", "X: f32[13,70]; Y[i,j] = X[i,j] / (sum(k) X[k,j])", 1},
    {"group_norm",
     "X: f32[6,2,5,7]; a: f32[6,2]; m[g] = (sum(c,y,x) X[g,c,y,x]) / 70\n"
     "v[g] = (sum(c,y,x) (X[g,c,y,x] - m[g]) * (X[g,c,y,x] - m[g])) / 70\n"
     "Y[g,c,y,x] = (X[g,c,y,x] - m[g]) * rsqrt(v[g] + 0.00001) * a[g,c]",
     2},
};

class Together : public ::testing::TestWithParam<RowCase> {};
TEST_P(Together, ComputesTheProgram) {
  for (const Target& target : {avx512(1), sse(1), avx512(2), avx512(7)})
    EXPECT_EQ(check_rows(parsed(GetParam().text), target, 1), GetParam().blocks);
}
INSTANTIATE_TEST_SUITE_P(Rows, Together, ::testing::ValuesIn(kRowCases),
                         [](const auto& info) { return info.param.name; });

TEST(Rows, OfRandomProgramsComputeThem) {
  const std::uint64_t first = asked("LATHE_RANDOM_FIRST", 0),
                      rounds = asked("LATHE_RANDOM_ROUNDS", 150);
  int checked = 0;
  for (std::uint64_t seed = first; seed < first + rounds && !HasFailure(); ++seed) {
    Rng rng(seed);
    const te::Workload workload =
        random_workload(rng, {.dtypes = seed % 3 == 0, .max_iterations = 8'000});
    checked += check_rows(workload, seed % 4 == 0 ? sse(1) : avx512(seed % 4 == 1 ? 2 : 1), seed);
  }
  EXPECT_GT(checked, static_cast<int>(rounds / 12));
}

}  // namespace
}  // namespace lathe::space
