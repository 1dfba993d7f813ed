// Matrix products and 2-D convolutions against plain loops written from their definition, and what
// is true of all operators.
#include <cmath>

#include "compiler/ops/paper.h"
#include "compiler/te/parse.h"
#include "unit/ops/evaluated.h"

namespace lathe::ops {
namespace {

TEST(Matmul, AllTransposes) {
  for (const bool ta : {false, true})
    for (const bool tb : {false, true}) {
      const Evaluation r = run(built("matmul", {{"m", "5"},
                                                {"n", "7"},
                                                {"k", "3"},
                                                {"trans-a", ta ? "true" : "false"},
                                                {"trans-b", tb ? "" : "false"}}),
                               3);
      for (std::int64_t i = 0; i < 5; ++i)
        for (std::int64_t j = 0; j < 7; ++j) {
          double sum = 0;
          for (std::int64_t k = 0; k < 3; ++k)
            sum += (ta ? at(r.inputs[0], {k, i}) : at(r.inputs[0], {i, k})) *
                   (tb ? at(r.inputs[1], {j, k}) : at(r.inputs[1], {k, j}));
          EXPECT_DOUBLE_EQ(at(r.output, {i, j}), sum);
        }
    }
}

TEST(BatchMatmul, TransposesBoth) {
  const Evaluation r = run(
      built("batch_matmul",
            {{"batch", "2"}, {"m", "3"}, {"n", "4"}, {"k", "5"}, {"trans-a", ""}, {"trans-b", ""}}),
      4);
  for (std::int64_t b = 0; b < 2; ++b)
    for (std::int64_t i = 0; i < 3; ++i)
      for (std::int64_t j = 0; j < 4; ++j) {
        double sum = 0;
        for (std::int64_t k = 0; k < 5; ++k)
          sum += at(r.inputs[0], {b, k, i}) * at(r.inputs[1], {b, j, k});
        EXPECT_DOUBLE_EQ(at(r.output, {b, i, j}), sum);
      }
}

TEST(Dense, WeightsAreConstantAndTheEpilogueFollows) {
  const te::Workload p =
      built("dense",
            {{"input", "3,5"}, {"weight", "7,5"}, {"epilogue", "bias,residual,relu,clip:0:0.5"}});
  EXPECT_FALSE(p.tensors[0].constant);
  EXPECT_TRUE(p.tensors[1].constant);
  const Evaluation r = run(p, 5);
  ASSERT_EQ(r.inputs.size(), 4u);
  for (std::int64_t b = 0; b < 3; ++b)
    for (std::int64_t o = 0; o < 7; ++o) {
      double sum = 0;
      for (std::int64_t i = 0; i < 5; ++i) sum += at(r.inputs[0], {b, i}) * at(r.inputs[1], {o, i});
      sum += at(r.inputs[2], {o}) + at(r.inputs[3], {b, o});
      EXPECT_DOUBLE_EQ(at(r.output, {b, o}), std::min(std::max(sum, 0.0), 0.5));
    }
}

struct ConvCase {
  std::int64_t n, c, h, w, o, kh, kw, sy, sx, top, left, bottom, right, dy, dx, groups;
};

void check_conv(const ConvCase& t) {
  const auto list = [](std::initializer_list<std::int64_t> v) {
    return fmt::format("{}", fmt::join(v, ","));
  };
  const std::int64_t cg = t.c / t.groups, og = t.o / t.groups;
  const te::Workload p = built("conv2d", {{"input", list({t.n, t.c, t.h, t.w})},
                                          {"weight", list({t.o, cg, t.kh, t.kw})},
                                          {"stride", list({t.sy, t.sx})},
                                          {"dilation", list({t.dy, t.dx})},
                                          {"pad", list({t.top, t.left, t.bottom, t.right})},
                                          {"groups", std::to_string(t.groups)}});
  const Evaluation r = run(p, 6);
  const std::int64_t oh = (t.h + t.top + t.bottom - t.dy * (t.kh - 1) - 1) / t.sy + 1;
  const std::int64_t ow = (t.w + t.left + t.right - t.dx * (t.kw - 1) - 1) / t.sx + 1;
  const te::Tensor& output = p.tensors[static_cast<std::size_t>(p.outputs()[0])];
  EXPECT_EQ(output.shape_at_border(), (std::vector<std::int64_t>{t.n, t.o, oh, ow}));
  ASSERT_EQ(r.output.values.size(), static_cast<std::size_t>(t.n * t.o * oh * ow));
  std::size_t element = 0;
  for (std::int64_t n = 0; n < t.n; ++n)
    for (std::int64_t o = 0; o < t.o; ++o)
      for (std::int64_t y = 0; y < oh; ++y)
        for (std::int64_t x = 0; x < ow; ++x) {
          double sum = 0;
          for (std::int64_t c = 0; c < cg; ++c)
            for (std::int64_t ky = 0; ky < t.kh; ++ky)
              for (std::int64_t kx = 0; kx < t.kw; ++kx) {
                const std::int64_t iy = y * t.sy + ky * t.dy - t.top,
                                   ix = x * t.sx + kx * t.dx - t.left;
                if (iy < 0 || iy >= t.h || ix < 0 || ix >= t.w) continue;
                sum +=
                    at(r.inputs[0], {n, o / og * cg + c, iy, ix}) * at(r.inputs[1], {o, c, ky, kx});
              }
          EXPECT_NEAR(r.output.values[element++], sum, 1e-12);
        }
}

TEST(Conv2d, StridesPaddingDilationGroups) {
  //           n  c  h  w  o kh kw sy sx  t  l  b  r dy dx groups
  check_conv({1, 3, 7, 5, 4, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1});
  check_conv({2, 1, 9, 8, 3, 3, 1, 2, 3, 0, 2, 1, 0, 2, 1, 1});
  check_conv({1, 4, 6, 7, 6, 2, 3, 1, 2, 1, 0, 0, 1, 1, 2, 2});
  check_conv({1, 5, 6, 7, 5, 3, 3, 2, 1, 1, 1, 1, 1, 1, 1, 5});
  check_conv({1, 3, 5, 5, 6, 3, 3, 1, 1, 1, 1, 0, 0, 1, 1, 3});
  check_conv({1, 2, 1, 1, 2, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1});
}

TEST(Conv2d, DepthwiseHasNoReductionOverOneChannel) {
  const te::Workload p =
      built("conv2d", {{"input", "1,8,9,9"}, {"weight", "8,1,3,3"}, {"groups", "8"}, {"pad", "1"}});
  EXPECT_EQ(p.stages[0].iters.size(), 6u);
  EXPECT_EQ(te::flops(p), 2.0 * 8 * 81 * 9);
}

TEST(Conv2d, EpilogueOfGroupsAndOtherTypes) {
  const te::Workload p = built("conv2d", {{"input", "1,4,5,5"},
                                          {"weight", "6,2,3,3"},
                                          {"groups", "2"},
                                          {"epilogue", "bias,residual,relu"},
                                          {"dtype", "f16"}});
  const te::Tensor& y = p.tensors[static_cast<std::size_t>(p.outputs()[0])];
  EXPECT_EQ(y.dtype, Dtype::kF16);
  EXPECT_EQ(y.shape_at_border(), (std::vector<std::int64_t>{1, 6, 3, 3}));
  EXPECT_EQ(p.tensors[static_cast<std::size_t>(p.find("residual"))].shape_at_border(),
            y.shape_at_border());
  const auto again = te::parse_workload(te::print_workload(p));
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_TRUE(te::equal(p, *again)) << te::print_workload(p);
  EXPECT_EQ(p.name, "conv2d");
  const te::Workload q =
      built("conv2d", {{"input", "1,4,5,5"}, {"weight", "6,4,3,3"}, {"dtype", "i8"}});
  EXPECT_EQ(q.tensors[static_cast<std::size_t>(q.outputs()[0])].dtype, Dtype::kI32);
}

TEST(Operators, EveryParameterHasHelpAndRequiredOnesAreAskedFor) {
  for (const Operator& op : operators()) {
    EXPECT_FALSE(op.help.empty());
    for (const Parameter& p : op.parameters)
      EXPECT_FALSE(p.help.empty()) << op.name << " " << p.name;
    EXPECT_NE(refusal(op.name, {}).find("--" + op.parameters[0].name), std::string::npos)
        << refusal(op.name, {});
  }
}

TEST(Operators, WrongArgumentsSayWhatIsKnown) {
  EXPECT_NE(refusal("conv4d", {}).find("matmul, dense, batch_matmul, "), std::string::npos);
  EXPECT_NE(refusal("matmul", {{"q", "1"}}).find("--m, --n, --k"), std::string::npos);
  EXPECT_NE(
      refusal("matmul", {{"m", "x"}, {"n", "2"}, {"k", "2"}}).find("--m: 'x' is no whole number"),
      std::string::npos);
  EXPECT_NE(refusal("matmul", {{"m", "0"}, {"n", "2"}, {"k", "2"}}).find("at least 1"),
            std::string::npos);
  EXPECT_NE(refusal("matmul", {{"m", "99999999999999999999"}, {"n", "2"}, {"k", "2"}}).find("2^31"),
            std::string::npos);
  EXPECT_NE(refusal("matmul", {{"m", "2"}, {"n", "2"}, {"k", "2"}, {"epilogue", "gelu"}})
                .find("known are bias"),
            std::string::npos);
  EXPECT_NE(refusal("matmul", {{"m", "2"}, {"n", "2"}, {"k", "2"}, {"epilogue", "clip:0"}})
                .find("clip:0:6"),
            std::string::npos);
  for (const char* clip : {"clip:2:1", "bias,clip:0.5:-0.5", "clip:1e-3:0"})
    EXPECT_NE(refusal("matmul", {{"m", "2"}, {"n", "2"}, {"k", "2"}, {"epilogue", clip}})
                  .find("clip needs the lower number first, as in clip:0:6, not 'clip:"),
              std::string::npos)
        << clip;
  EXPECT_EQ(refusal("matmul", {{"m", "2"}, {"n", "2"}, {"k", "2"}, {"epilogue", "clip:1:1"}}), "");
  EXPECT_NE(
      refusal("matmul", {{"m", "2"}, {"n", "2"}, {"k", "2"}, {"dtype", "f8"}}).find("f32, f64"),
      std::string::npos);
  EXPECT_NE(refusal("conv2d", {{"input", "1,3,8,8"}, {"weight", "4,2,3,3"}}).find("3 channels"),
            std::string::npos);
  EXPECT_NE(
      refusal("conv2d", {{"input", "1,3,8"}, {"weight", "4,3,3,3"}}).find("--input: 4 dimensions"),
      std::string::npos);
  EXPECT_NE(refusal("conv2d", {{"input", "1,3,4,4"}, {"weight", "4,3,5,5"}}).find("reaches over 5"),
            std::string::npos);
  EXPECT_NE(refusal("conv2d", {{"input", "1,3,4,4"}, {"weight", "4,3,3,3"}, {"pad", "1,2,3"}})
                .find("3 are given"),
            std::string::npos);
  EXPECT_NE(refusal("conv2d", {{"input", "1,3,4,4"}, {"weight", "4,3,3,3"}, {"stride", "0"}})
                .find("at least 1"),
            std::string::npos);
  EXPECT_NE(refusal("conv2d", {{"input", "2147483648,3,2147483648,4"}, {"weight", "4,3,3,3"}})
                .find("2^40"),
            std::string::npos);
}

TEST(Paper, TableOne) {
  const auto workloads = paper_workloads();
  ASSERT_EQ(workloads.size(), 13u);
  const double gflops[] = {0.236,   0.2312, 0.0257, 0.1156,  0.01285, 0.2312, 0.1156,
                           0.01285, 0.2312, 0.1156, 0.01285, 0.2312,  2.147};
  for (std::size_t i = 0; i < workloads.size(); ++i) {
    const te::Workload p = built(workloads[i].op, workloads[i].arguments);
    EXPECT_NEAR(te::flops(p) / 1e9, gflops[i], gflops[i] * 0.001) << workloads[i].name;
  }
  EXPECT_TRUE(paper_workload("c6"));
  EXPECT_FALSE(paper_workload("C13"));
  const te::Workload matmul = built("matmul", paper_workload("matmul-1024")->arguments);
  EXPECT_NE(te::print_workload(matmul).find("A[k,i] * B[k,j]"), std::string::npos);
}

}  // namespace
}  // namespace lathe::ops
