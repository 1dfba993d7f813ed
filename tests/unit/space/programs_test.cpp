// Whatever the program, its default configuration, the predicted one and random ones are schedules
// that can be built, and compute it: random programs of many stages, the documents' examples and
// what users tripped over, lowered and interpreted.
#include <gtest/gtest.h>

#include "compiler/te/parse.h"
#include "support/random_workload.h"
#include "support/targets.h"
#include "unit/space/check_space.h"

namespace lathe::space {
namespace {

using test::avx512, test::sse;

TEST(Programs, RandomOnesHaveSpacesOfRightPrograms) {
  const std::uint64_t first = asked("LATHE_RANDOM_FIRST", 0),
                      end = first + asked("LATHE_RANDOM_ROUNDS", 120);
  const auto configurations = static_cast<int>(asked("LATHE_RANDOM_CONFIGS", 4));
  for (std::uint64_t seed = first; seed < end && !HasFailure(); ++seed) {
    Rng rng(seed);
    te::Workload workload = random_workload(
        rng, {.dtypes = seed % 3 == 0, .max_iterations = 8'000, .recurrences = 0.15});
    workload.contract.free_layout = rng.chance(0.3);
    constexpr int kThreads[] = {2, 3, 5, 8, 13, 16, 64};
    const int threads = seed % 3 == 1 ? kThreads[seed / 3 % std::size(kThreads)] : 1;
    const Target target = seed % 4 == 0 ? sse(threads) : avx512(threads);
    check_space(workload, target, Flavour::kDefault, configurations, seed);
  }
}

struct Case {
  const char* name;
  const char* text;
};
constexpr Case kCases[] = {
    {"padded_relu",
     "X: f32[1,5,14,14]; W: f32[19,5,3,3]; R[n,c,y,x] = relu(X[n,c,y,x])\n"
     "Y[n,o,y:14,x:14] = sum(c,r,s) R[n,c,y+r-1,x+s-1 else 0] * W[o,c,r,s]"},
    {"dilated",
     "X: f32[1,3,11,12]; const W: f32[19,3,3,3]; const b: f32[19]\n"
     "Y[n,o,y:11,x:12] = relu((sum(c,r,s) X[n,c,y+2*r-2,x+3*s-3 else 0] * W[o,c,r,s]) + b[o])"},
    {"dilated_with_strides",
     "X: f32[2,2,13,17]; const W: f32[17,2,3,2]\n"
     "Y[n,o,y:6,x:5] = sum(c,r,s) X[n,c,2*y+2*r-1,3*x+2*s else 0] * W[o,c,r,s]"},
    {"phases",
     "X: f32[2,5,7]; const W: f32[2,17,4,3]\n"
     "Y[o,y:5,p:2,x:7,q:3] = sum(c,r:2,s:1) X[c,y+p-r,x-s else 0] * W[c,o,2*r+1-p,3*s+q else 0]"},
    {"groups",
     "X: f32[1,6,9,8]; const W: f32[34,3,3,3]\n"
     "Y[n,g:2,o:17,y:9,x:8] = sum(c:3,r,s) X[n,3*g+c,y+r-1,x+s-1 else 0] * W[17*g+o,c,r,s]"},
    {"backwards",
     "X: f32[3,40]; const W: f32[18,3,5]\n"
     "Y[o,x:40] = sum(c,s) X[c,x-s+2 else 0] * W[o,2-c,s]"},
    {"padded_exp",
     "X: f32[1,5,9,9]; const W: f32[19,5,3,3]; R[n,c,y,x] = exp(X[n,c,y,x])\n"
     "Y[n,o,y:9,x:9] = sum(c,r,s) R[n,c,y+r-1,x+s-1 else 0] * W[o,c,r,s]"},
    {"padded_product",
     "A: f32[20,7]; B: f32[7,16]; M[i,j] = sum(k) A[i,k] * B[k,j]\n"
     "Y[i:32,j:40] = relu(M[i,j else 0])"},
    {"padded_reduction",
     "A: f32[20,7]; B: f32[7,16]; M[i,j] = sum(k) A[i,k] * B[k,j]\n"
     "Y[i,j:20] = max(s:3) M[i,j+s-2 else -inf]"},
    {"softmax",
     "X: f32[13,70]; E[i,j] = exp(X[i,j] - (max(k) X[i,k])); Y[i,j] = E[i,j] / (sum(k) E[i,k])"},
    {"log_sum_exp",
     "X: f32[5,130]; M[i] = max(j) X[i,j]; L[i] = M[i] + log((sum(j) exp(X[i,j] - M[i])))"},
    {"layer_norm",
     "X: f32[7,100]; g: f32[100]; b: f32[100]; m[i] = 0.01 * (sum(j) X[i,j])\n"
     "v[i] = 0.01 * (sum(j) (X[i,j] - m[i]) * (X[i,j] - m[i]))\n"
     "Y[i,j] = (X[i,j] - m[i]) * rsqrt(v[i] + 0.00001) * g[j] + b[j]"},
    {"sum_over_max", "X: f32[9,65,3]; S[i] = sum(j) (max(k) X[i,j,k])"},
    {"gram", "A: f32[17,23]; G[i,j] = sum(k) A[i,k] * A[j,k]"},
    {"gram_columns", "A: f32[17,23]; G[i,j] = sum(k) A[k,i] * A[k,j]"},
    {"diagonal", "A: f32[9,9,21]; D[i] = sum(k) A[k,k,i]"},
    {"trace", "A: f32[37,37]; T[one:1] = sum(i) A[i,i]"},
    {"gated",
     "X: f32[5,19]; const V: f32[33,19]; const U: f32[33,19]; const W: f32[19,33]\n"
     "A[b,h] = sum(i) X[b,i] * V[h,i]; B[b,h] = sum(i) X[b,i] * U[h,i]\n"
     "Y[b,o] = sum(h) (A[b,h] * sigmoid(A[b,h]) * B[b,h]) * W[o,h]"},
    {"perceptron",
     "X: f32[6,17]; const V: f32[40,17]; const W: f32[9,40]; const c: f32[40]\n"
     "H[b,h] = relu((sum(i) X[b,i] * V[h,i]) + c[h]); Y[b,o] = sum(h) H[b,h] * W[o,h]"},
    {"perceptron_varying",
     "X: f32[6,17]; V: f32[40,17]; W: f32[9,40]\n"
     "H[b,h] = tanh((sum(i) X[b,i] * V[h,i])); Y[b,o] = sum(h) H[b,h] * W[o,h]"},
    {"attention",
     "Q: f32[7,16]; K: f32[19,16]; V: f32[19,16]; S[i,j] = 0.25 * (sum(d) Q[i,d] * K[j,d])\n"
     "E[i,j] = exp(S[i,j] - (max(k) S[i,k])); P[i,j] = E[i,j] / (sum(k) E[i,k])\n"
     "O[i,d] = sum(j) P[i,j] * V[j,d]"},
    {"row_share", "X: f32[64,256]; Y[i,j] = X[i,j] / (sum(k) X[i,k])"},
    {"rms_norm",
     "X: f32[8,256]; g: f32[256]; Y[i,j] = X[i,j] * rsqrt(0.1 + 0.0039 * (sum(k) X[i,k] * X[i,k])) "
     "* g[j]"},
    {"weighted_rows",
     "X: f32[9,130]; g: f32[130]; b: f32[130]; S[i] = sum(j) (X[i,j] * g[j] + b[j])"},
    {"dot", "x: f32[1000]; y: f32[1000]; D[one:1] = sum(i) x[i] * y[i]"},
    {"matvec", "A: f32[37,130]; x: f32[130]; y[i] = sum(k) A[i,k] * x[k]"},
    {"rows_by_rows", "X: f32[5,67]; W: f32[19,67]; Y[m,n] = sum(k) X[m,k] * W[n,k]"},
    {"rows_by_rows_and_more",
     "X: f32[3,130]; W: f32[11,130]; b: f32[11]\nY[m,n] = relu((sum(k) X[m,k] * W[n,k]) + b[n])"},
    {"batches_of_rows", "X: f32[2,3,48]; W: f32[2,7,48]; Y[b,m,n] = sum(k) X[b,m,k] * W[b,n,k]"},
    {"doubles_by_rows", "X: f64[3,40]; W: f64[5,40]; Y[m,n] = sum(k) X[m,k] * W[n,k]"},
    {"halves_by_rows", "X: f16[3,70]; W: f16[5,70]; Y[m,n] = sum(k) X[m,k] * W[n,k]"},
    {"whole_numbers_by_rows", "X: i8[3,70]; W: i8[5,70]; Y[m,n] = sum(k) X[m,k] * W[n,k]"},
    {"largest_of_bytes", "X: u8[5,70]; Y[m] = max(k) X[m,k]"},
    {"many_rows_by_rows", "X: f32[70,33]; W: f32[23,33]; Y[m,n] = sum(k) X[m,k] * W[n,k]"},
    {"narrow_product", "A: f32[37,29]; B: f32[29,3]; C[i,j] = sum(k) A[i,k] * B[k,j]"},
    {"colliding_rows", "A: f32[9,1024]; B: f32[1024,5]; C[i,j] = sum(k) A[i,k] * B[k,j]"},
    {"six_indices",
     "A: f32[3,5,7,2]; B: f32[7,11,4,3]\nC[a,b,c,d,e,f] = sum(g) A[d,e,g,a] * B[g,f,b,c]"},
    {"four_indices",
     "A: f32[3,7,5,6]; B: f32[18,6,4,7]\nC[a,b,c,d] = sum(e,f) A[a,e,b,f] * B[d,f,c,e]"},
    {"image_of_few_channels",
     "X: f32[5,9,20]; const W: f32[3,5,3,3]; Y[o,y,x] = sum(c,r,s) X[c,y+r,x+s] * W[o,c,r,s]"},
    {"phases_of_few_channels",
     "output Y: f32[3,6,2,9,2] as [3,12,18]; X: f32[7,6,9]; const W: f32[7,3,4,4]\n"
     "Y[o,y,p,x,q] = sum(c,t:2,u:2) X[c,y+p-t,x+q-u else 0] * W[c,o,2*t-p+1,2*u-q+1]"},
    {"pixels_merged", "X: f32[9,5,7]; const W: f32[18,9]; Y[o,y,x] = sum(c) W[o,c] * X[c,y,x]"},
    {"pixels_merged_and_residual",
     "X: f32[9,5,7]; W: f32[18,9,1,1]; R: f32[18,5,7]\n"
     "Y[o,y,x] = relu((sum(c,r,s) X[c,y+r,x+s] * W[o,c,r,s]) + R[o,y,x])"},
    {"group_norm",
     "X: f32[3,2,5,7]; a: f32[3,2]; m[g] = (sum(c,y,x) X[g,c,y,x]) / 70\n"
     "v[g] = (sum(c,y,x) (X[g,c,y,x] - m[g]) * (X[g,c,y,x] - m[g])) / 70\n"
     "Y[g,c,y,x] = (X[g,c,y,x] - m[g]) * rsqrt(v[g] + 0.00001) * a[g,c]"},
    {"means_of_images", "X: f32[19,7,7]; Y[c] = (sum(y,x) X[c,y,x]) / 49"},
    {"outer_and_inner", "X: f32[7,9,20]; Y[j] = sum(i,k) X[i,j,k]"},
    {"transposed", "X: f32[37,51]; Y[i,j] = X[j,i]"},
    {"transposed_and_added", "X: f32[19,33]; Z: f32[33,19]; Y[i,j] = X[j,i] * 2 + Z[i,j]"},
    {"reversed", "X: f32[3,5,17,19]; Y[d,c,b,a] = X[a,b,c,d]"},
    {"channels_last", "X: f32[18,5,7]; Y[y,x,c] = X[c,y,x]"},
    {"rows_by_constant_rows",
     "X: f32[1,600]; const W: f32[33,600]; Y[m,n] = sum(k) X[m,k] * W[n,k]"},
    {"constant_with_all_indices",
     "A: f32[4,17]; const B: f32[17,8,4,11]; Y[e,f] = sum(c,d) A[c,f] * B[f,d,c,e]"},
    {"transposed_bytes", "X: i8[64,40]; Y[b,a] = X[a,b]"},
    {"transposed_halves", "X: f16[20,64]; Y[b,a] = X[a,b]"},
    {"every_third", "X: f32[5,61]; Y[i,j] = X[i,3*j] + X[i,3*j+1]"},
    {"pooled", "X: f32[3,33,33]; Y[c,y:17,x:17] = max(r:3,s:3) X[c,2*y+r-1,2*x+s-1 else -inf]"},
    {"long_sum", "X: f32[100003]; S[one:1] = sum(i) X[i]"},
    {"long_sum_of_many_blocks", "X: f32[140003]; S[one:1] = sum(i) X[i]"},
    {"long_columns", "X: f32[40009,3]; S[j] = sum(i) X[i,j]"},
    {"long_sum_of_two", "X: f32[301,211]; S[one:1] = sum(i,j) X[i,j]"},
    {"equal_terms", "A: f32[8]; S[i] = sum(p:341) A[i]"},
    {"equal_terms_of_one", "A: f32[1]; S[one:1] = sum(p:20011) A[0]"},
    {"equal_terms_in_rows", "A: f32[7,5]; S[i,k:11] = sum(j,p:601) A[i,j]"},
    {"terms_without_reads", "S[i:4] = sum(j:5003) f32(i) * 0.1"},
    {"terms_cut_off", "X: f32[4,3001]; S[i] = sum(j) min(X[i,j] * 100, 0.1)"},
    {"terms_chosen", "X: f32[4,1009]; S[i] = sum(j) select(X[i,j] > -9, 0.1, 0.2)"},
    {"terms_of_padding",
     "X: f32[1,1,40,40]\nY[n,c,y:3,x:3] = sum(r:40,s:40) X[n,c,y + r - 39,x + s - 39 else 0.3]"},
    {"blur",
     "X: f32[19,37]; B[y,x] = (X[y,x] + X[y,x+1] + X[y,x+2]) / 3\n"
     "Y[y,x] = (B[y,x] + B[y+1,x] + B[y+2,x]) / 3"},
    {"pyramid",
     "X: f32[13,35]; A[y,x] = X[2*y,2*x] + X[2*y+1,2*x] + X[2*y,2*x+1] + X[2*y+1,2*x+1]\n"
     "B[y,x] = A[2*y,x] + A[2*y+1,x] - X[4*y+1,2*x]"},
    {"total_variation", "X: f32[5,131]; S[i] = sum(j) abs(X[i,j+1] - X[i,j])"},
    {"concatenated",
     "X: f32[5,19]; Z: f32[5,3]\n"
     "Y[i,j:22] = select(j < 19, X[i,j else 0], Z[i,j-19 else 0])"},
    {"turned",
     "X: f32[3,11,9,2] as [3,11,18]; c: f32[11,9]; s: f32[11,9]\n"
     "output Y: f32[3,11,9,2] as [3,11,18]\n"
     "Y[h,t,p,e] = select(e == 0, X[h,t,p,0] * c[t,p] - X[h,t,p,1] * s[t,p], X[h,t,p,1] * c[t,p] + "
     "X[h,t,p,0] * s[t,p])"},
    {"constants",
     "const W: f32[9,7]; const s: f32[9]; X: f32[5,7]; V[o,i] = exp(W[o,i]) * s[o]\n"
     "Y[n,o] = sum(i) X[n,i] * V[o,i]"},
    {"sum_of_a_step", "X: f32[6,40]; H[i,t] = X[i,t] + (sum(k:6) H[k,t-1 else 0])"},
    {"sum_of_a_step_in_doubles", "X: f64[40,7]; H[t,i] = X[t,i] + (max(k:7) H[t-1,k else 0]) * 2"},
    {"one_sum_in_each_step", "X: f32[40]; A: f32[3]; H[t] = X[t] + (sum(k) A[k] * H[t+1 else 0])"},
    {"chain_of_maps",
     "X: f32[50]; A[i] = X[i] * X[i]; B[i] = A[i] + A[i]; C[i] = B[i] * B[i] - A[i]; D[i] = "
     "exp(C[i] * 0.01)\n"
     "E[i] = D[i] + D[i]; F[i:60] = E[i - 3 else 2] * E[i - 5 else 1]"},
};

// Inlined without end the first would read A 2^200 times, the second be one expression of 200
// additions.
TEST(Programs, LongChainsOfMapsStayShort) {
  std::string doubling = "A: f32[8]; T0[i] = A[i]; T1[i] = A[i] * 2",
              chain = "A: f32[8]; T0[i] = A[i]";
  for (int i = 2; i < 200; ++i)
    doubling += fmt::format("; T{}[i] = T{}[i] * 0.5 + T{}[i] * 0.5", i, i - 1, i - 2);
  for (int i = 1; i < 200; ++i) chain += fmt::format("; T{}[i] = T{}[i] + 1", i, i - 1);
  for (const std::string& text : {doubling, chain}) {
    const auto workload = te::parse_workload(text);
    ASSERT_TRUE(workload) << workload.error().text();
    check_space(*workload, avx512(1), Flavour::kDefault, 1, 1);
  }
}

class NamedProgram : public ::testing::TestWithParam<Case> {};
TEST_P(NamedProgram, HasASpaceOfRightPrograms) {
  auto workload = te::parse_workload(GetParam().text);
  ASSERT_TRUE(workload) << workload.error().text();
  const bool large = std::string_view(GetParam().name).starts_with("long");
  for (const bool free_layout : {false, true}) {
    workload->contract.free_layout = free_layout;
    for (const Target& target : {avx512(1), sse(1), avx512(free_layout ? 2 : 12)})
      check_space(*workload, target, Flavour::kDefault, large ? 2 : 6, 1);
    check_space(*workload, avx512(1), Flavour::kWide, 1, 1);
  }
}
INSTANTIATE_TEST_SUITE_P(All, NamedProgram, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace lathe::space
