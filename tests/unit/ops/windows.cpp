// Convolutions and transposed convolutions against plain loops, and means of whole images.
#include <cmath>
#include <limits>

#include <fmt/ranges.h>

#include "unit/ops/evaluated.h"

namespace lathe::ops {
namespace {

struct Conv {
  Index input, weight, stride, before, after, dilation;
  std::int64_t groups = 1;
};

// The element of X at [n, c, place...]; `outside` beyond its ends.
double inside_or(const interp::Tensor& x, std::int64_t n, std::int64_t c, const Index& place,
                 double outside) {
  Index index = {n, c};
  for (std::size_t a = 0; a < place.size(); ++a) {
    if (place[a] < 0 || place[a] >= x.shape[2 + a]) return outside;
    index.push_back(place[a]);
  }
  return at(x, index);
}

void check_conv(const Conv& t) {
  const std::size_t rank = t.input.size() - 2;
  const Index kernel(t.weight.begin() + 2, t.weight.end());
  Index pad = t.before, shape = {t.input[0], t.weight[0]};
  pad.insert(pad.end(), t.after.begin(), t.after.end());
  for (std::size_t a = 0; a < rank; ++a)
    shape.push_back(
        (t.input[2 + a] + t.before[a] + t.after[a] - t.dilation[a] * (kernel[a] - 1) - 1) /
            t.stride[a] +
        1);
  const Evaluation r = run(built(fmt::format("conv{}d", rank), {{"input", list(t.input)},
                                                                {"weight", list(t.weight)},
                                                                {"stride", list(t.stride)},
                                                                {"pad", list(pad)},
                                                                {"dilation", list(t.dilation)},
                                                                {"groups", list({t.groups})}}),
                           7);
  const std::int64_t group_ic = t.weight[1], group_oc = t.weight[0] / t.groups;
  expect_output(r, shape, [&](const Index& y) {
    double sum = 0;
    for (std::int64_t c = 0; c < group_ic; ++c)
      each_index(kernel, [&](const Index& k) {
        Index place, w = {y[1], c};
        for (std::size_t a = 0; a < rank; ++a) {
          place.push_back(y[2 + a] * t.stride[a] + k[a] * t.dilation[a] - t.before[a]);
          w.push_back(k[a]);
        }
        sum += inside_or(r.inputs[0], y[0], y[1] / group_oc * group_ic + c, place, 0) *
               at(r.inputs[1], w);
      });
    return sum;
  });
}

TEST(Conv1d, StridesPaddingDilationGroups) {
  check_conv({{1, 1, 1}, {1, 1, 1}, {1}, {0}, {0}, {1}});
  check_conv({{2, 3, 17}, {5, 3, 3}, {1}, {1}, {1}, {1}});
  check_conv({{1, 4, 19}, {6, 2, 5}, {3}, {4}, {0}, {2}, 2});
  check_conv({{1, 7, 13}, {7, 1, 3}, {2}, {0}, {2}, {1}, 7});
  check_conv({{3, 5, 11}, {10, 1, 4}, {2}, {1}, {2}, {1}, 5});
}

TEST(Conv3d, StridesPaddingDilationGroups) {
  check_conv({{1, 1, 1, 1, 1}, {1, 1, 1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}, {1, 1, 1}});
  check_conv({{1, 2, 5, 4, 3}, {3, 2, 3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}});
  check_conv({{2, 3, 7, 5, 6}, {2, 3, 2, 1, 3}, {2, 3, 1}, {1, 0, 2}, {0, 0, 1}, {2, 1, 1}});
  check_conv({{1, 4, 3, 5, 4}, {6, 2, 1, 3, 2}, {1, 2, 2}, {0, 1, 0}, {0, 1, 1}, {1, 1, 3}, 2});
  check_conv({{1, 3, 4, 4, 4}, {3, 1, 3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, 3});
}

TEST(Conv, OneValueIsForAllAxes) {
  const te::Workload p = built("conv3d", {{"input", "1,2,6,7,8"},
                                          {"weight", "4,2,3,3,3"},
                                          {"stride", "2"},
                                          {"pad", "1"},
                                          {"epilogue", "bias,residual,relu"}});
  EXPECT_EQ(p.tensors[static_cast<std::size_t>(p.outputs()[0])].shape, (Index{1, 4, 3, 4, 4}));
  EXPECT_EQ(run(built("conv1d", {{"input", "1,2,9"}, {"weight", "3,2,3"}, {"pad", "2"}}), 1).shape,
            (Index{1, 3, 11}));
}

struct Transposed {
  Index input, weight, stride, pad, more;
  std::int64_t groups = 1;
  std::string epilogue = {};
  Index dilation = {}, after = {};  // 1, and as before, where they are not given
};

void check_transposed(Transposed t) {
  const std::size_t rank = t.input.size() - 2;
  if (t.dilation.empty()) t.dilation.resize(rank, 1);
  if (t.after.empty()) t.after = t.pad;
  Index pad = t.pad;
  pad.insert(pad.end(), t.after.begin(), t.after.end());
  const std::int64_t group_ic = t.input[1] / t.groups, group_oc = t.weight[1];
  const std::string name = fmt::format("conv_transpose{}d", rank);
  const Evaluation r = run(built(name, {{"input", list(t.input)},
                                        {"weight", list(t.weight)},
                                        {"stride", list(t.stride)},
                                        {"pad", list(t.after == t.pad ? t.pad : pad)},
                                        {"output-padding", list(t.more)},
                                        {"dilation", list(t.dilation)},
                                        {"groups", list({t.groups})},
                                        {"epilogue", t.epilogue}}),
                           8);
  Index shape = {t.input[0], group_oc * t.groups};
  for (std::size_t a = 0; a < rank; ++a)
    shape.push_back((t.input[2 + a] - 1) * t.stride[a] + t.dilation[a] * (t.weight[2 + a] - 1) + 1 -
                    t.pad[a] - t.after[a] + t.more[a]);
  // Every element of the input goes where its taps reach.
  std::int64_t size = 1;
  for (const std::int64_t s : shape) size *= s;
  interp::Tensor want{Dtype::kF64, shape, std::vector<double>(static_cast<std::size_t>(size)), {}};
  each_index(t.input, [&](const Index& x) {
    each_index(t.weight, [&](const Index& w) {
      if (w[0] != x[1]) return;
      std::int64_t place = x[0] * shape[1] + x[1] / group_ic * group_oc + w[1];
      for (std::size_t a = 0; a < rank; ++a) {
        const std::int64_t y = x[2 + a] * t.stride[a] + t.dilation[a] * w[2 + a] - t.pad[a];
        if (y < 0 || y >= shape[2 + a]) return;
        place = place * shape[2 + a] + y;
      }
      want.values[static_cast<std::size_t>(place)] += at(r.inputs[0], x) * at(r.inputs[1], w);
    });
  });
  const bool follows = !t.epilogue.empty();  // bias,relu
  SCOPED_TRACE(
      fmt::format("{} input {} weight {} stride {} pad {} {} more {} groups {} dilation {}", name,
                  t.input, t.weight, t.stride, t.pad, t.after, t.more, t.groups, t.dilation));
  expect_output(r, shape, [&](const Index& y) {
    return follows ? std::max(0.0, at(want, y) + at(r.inputs[2], {y[1]})) : at(want, y);
  });
}

TEST(ConvTranspose1d, EveryStrideKernelPaddingAndRest) {
  for (std::int64_t stride = 1; stride <= 5; ++stride)
    for (std::int64_t kernel = 1; kernel <= 7; ++kernel)
      for (std::int64_t pad = 0; pad <= 4; ++pad)
        for (std::int64_t more = 0; more < stride; more += 1 + stride / 2)
          if (3 * stride + kernel - 2 * pad + more > 0)
            check_transposed({{1, 2, 4}, {2, 3, kernel}, {stride}, {pad}, {more}});
  check_transposed({{2, 4, 5}, {4, 2, 16}, {8}, {4}, {0}, 2});
  check_transposed({{1, 1, 1}, {1, 1, 1}, {1}, {0}, {0}});
}

// Of one element each output reads one tap, or none, whatever the stride.
TEST(ConvTranspose2d, OfOneElementAlongAnAxis) {
  for (std::int64_t stride = 1; stride <= 3; ++stride)
    for (std::int64_t kernel = 1; kernel <= 4; ++kernel)
      for (std::int64_t before = 0; before < kernel; ++before)
        for (std::int64_t after = 0; before + after < kernel; ++after)
          for (std::int64_t more = 0; more < stride; ++more)
            check_transposed({{2, 3, 1, 1},
                              {3, 2, kernel, kernel},
                              {stride, stride},
                              {before, after},
                              {more, 0},
                              1,
                              "",
                              {},
                              {after, before}});
  check_transposed({{1, 4, 1, 5}, {4, 3, 3, 4}, {2, 2}, {1, 1}, {1, 0}, 2, "bias,relu"});
  check_transposed({{1, 3, 4, 1}, {3, 1, 4, 4}, {2, 2}, {1, 1}, {0, 0}, 3});
  check_transposed({{1, 2, 1, 3}, {2, 2, 3, 3}, {2, 1}, {1, 0}, {1, 0}, 1, "", {2, 1}});
}

TEST(ConvTranspose2d, WholePhasesAndCutOnes) {
  check_transposed({{1, 3, 4, 5}, {3, 2, 2, 2}, {2, 2}, {0, 0}, {0, 0}});
  check_transposed({{1, 3, 4, 5}, {3, 2, 4, 4}, {2, 2}, {1, 1}, {0, 0}});
  check_transposed({{2, 2, 3, 4}, {2, 3, 3, 3}, {2, 2}, {1, 1}, {1, 1}});
  check_transposed({{1, 2, 3, 4}, {2, 3, 3, 3}, {2, 2}, {1, 1}, {0, 0}});  // 5 x 7
  check_transposed({{1, 2, 3, 4}, {2, 3, 3, 2}, {2, 3}, {1, 0}, {1, 2}});  // 6 x 13
  check_transposed({{1, 2, 4, 3}, {2, 1, 5, 3}, {3, 1}, {2, 1}, {0, 0}, 1, "bias,relu"});
}

TEST(ConvTranspose2d, GroupsAndDepthwise) {
  check_transposed({{1, 4, 3, 3}, {4, 3, 4, 4}, {2, 2}, {1, 1}, {0, 0}, 2});
  check_transposed({{1, 4, 3, 3}, {4, 3, 3, 3}, {2, 2}, {1, 1}, {0, 0}, 2, "bias,relu"});
  check_transposed({{1, 3, 4, 3}, {3, 1, 4, 4}, {2, 2}, {1, 1}, {0, 0}, 3});
  check_transposed({{1, 3, 4, 3}, {3, 2, 3, 3}, {2, 2}, {0, 1}, {0, 0}, 3, "bias,relu"});
}

// Stride and dilation with and without a common factor, and padding at one end alone.
TEST(ConvTranspose1d, EveryDilation) {
  for (std::int64_t stride = 1; stride <= 6; ++stride)
    for (std::int64_t dilation = 2; dilation <= 6; ++dilation)
      for (std::int64_t kernel = 1; kernel <= 4; ++kernel)
        for (std::int64_t pad = 0; pad <= 5; ++pad) {
          const std::int64_t out = 2 * stride + dilation * (kernel - 1) + 1;
          if (pad < out)
            check_transposed(
                {{1, 2, 3}, {2, 2, kernel}, {stride}, {pad}, {0}, 1, "", {dilation}, {0}});
          if (2 * pad < out)
            check_transposed(
                {{1, 1, 3}, {1, 2, kernel}, {stride}, {pad}, {dilation - 1}, 1, "", {dilation}});
        }
  check_transposed({{1, 2, 5}, {2, 1, 3}, {2}, {0}, {0}, 1, "bias,relu", {1}, {3}});
}

TEST(ConvTranspose2d, DilationsAndUnevenPadding) {
  check_transposed({{1, 2, 3, 4}, {2, 3, 3, 2}, {2, 3}, {1, 0}, {0, 2}, 1, "", {2, 2}, {0, 1}});
  check_transposed({{1, 4, 3, 3}, {4, 2, 2, 3}, {2, 4}, {1, 3}, {1, 0}, 2, "bias,relu", {4, 6}});
  check_transposed({{2, 3, 4, 3}, {3, 1, 3, 3}, {3, 2}, {2, 1}, {0, 1}, 3, "", {3, 1}, {0, 2}});
}

// Where terms that are no part of an element must not touch it, infinities of the input are in the
// outputs that its taps reach, and in no other: not in those of phases without taps either.
TEST(ConvTranspose1d, InfinitiesStayWhereTheirTapsReach) {
  for (std::int64_t stride = 1; stride <= 4; ++stride)
    for (std::int64_t dilation = 1; dilation <= 4; ++dilation)
      for (std::int64_t pad = 0; pad <= 3; ++pad) {
        const auto algorithms = build("conv_transpose1d",
                                      {{"input", "1,1,5"},
                                       {"weight", "1,1,3"},
                                       {"stride", list({stride})},
                                       {"dilation", list({dilation})},
                                       {"pad", list({pad, 0})}},
                                      te::Numerics::kComponentwise);
        ASSERT_TRUE(algorithms) << algorithms.error().text();
        const double inf = std::numeric_limits<double>::infinity();
        const Evaluation r = evaluated(algorithms->front().workload,
                                       {{Dtype::kF32, {1, 1, 5}, {1, 2, inf, 4, 5}, {}},
                                        {Dtype::kF32, {1, 1, 3}, {1, 1, 1}, {}}});
        for (std::int64_t j = 0; j < std::ssize(r.output.values); ++j) {
          bool reached = false;
          for (std::int64_t k = 0; k < 3; ++k) reached |= j == 2 * stride + dilation * k - pad;
          EXPECT_EQ(r.output.values[static_cast<std::size_t>(j)] == inf, reached)
              << stride << " " << dilation << " " << pad << " " << j;
          EXPECT_FALSE(std::isnan(r.output.values[static_cast<std::size_t>(j)]));
        }
      }
}

// Elements between those that taps reach are 0, whatever the input is.
TEST(ConvTranspose1d, NothingComesToElementsWithoutTaps) {
  for (std::int64_t stride = 1; stride <= 7; ++stride)
    for (std::int64_t dilation = 1; dilation <= 4; ++dilation)
      for (std::int64_t taps = 1; taps <= 3; ++taps)
        for (std::int64_t pad = 0; pad <= 2; ++pad) {
          const auto algorithms = build("conv_transpose1d",
                                        {{"input", "1,1,5"},
                                         {"weight", list({1, 1, taps})},
                                         {"stride", list({stride})},
                                         {"dilation", list({dilation})},
                                         {"pad", list({pad, 0})}},
                                        te::Numerics::kLocal);
          ASSERT_TRUE(algorithms) << algorithms.error().text();
          const Evaluation r =
              evaluated(algorithms->front().workload,
                        {{Dtype::kF32, {1, 1, 5}, std::vector<double>(5, std::nan("")), {}},
                         {Dtype::kF32,
                          {1, 1, taps},
                          std::vector<double>(static_cast<std::size_t>(taps), 1),
                          {}}});
          for (std::int64_t j = 0; j < std::ssize(r.output.values); ++j) {
            bool has_tap = false;
            for (std::int64_t k = 0; k < taps; ++k)
              has_tap |= (j + pad - dilation * k) % stride == 0;
            if (!has_tap) {
              EXPECT_EQ(r.output.values[static_cast<std::size_t>(j)], 0)
                  << stride << " " << dilation << " " << taps << " " << pad << " " << j;
            }
          }
        }
}

TEST(ConvTranspose3d, StridesPaddingDilationGroups) {
  check_transposed({{1, 1, 1, 1, 1}, {1, 1, 1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}});
  check_transposed({{1, 2, 2, 3, 4}, {2, 3, 2, 2, 2}, {2, 2, 2}, {0, 0, 0}, {0, 0, 0}});
  check_transposed({{1, 2, 3, 2, 3}, {2, 3, 4, 4, 4}, {2, 2, 2}, {1, 1, 1}, {0, 0, 0}});
  check_transposed({{2, 2, 2, 3, 2}, {2, 1, 3, 2, 3}, {2, 3, 1}, {1, 0, 1}, {1, 0, 0}, 2});
  check_transposed({{1, 2, 2, 3, 2},
                    {2, 2, 2, 3, 2},
                    {2, 1, 3},
                    {1, 1, 0},
                    {0, 1, 0},
                    1,
                    "bias,relu",
                    {2, 3, 2}});
  check_transposed({{1, 2, 2, 3, 2},
                    {2, 1, 2, 3, 2},
                    {2, 1, 3},
                    {0, 2, 0},
                    {0, 0, 1},
                    2,
                    "",
                    {1, 2, 1},
                    {1, 0, 1}});
}

TEST(ConvTranspose2d, NoTapMeetsAZero) {
  // 4 x 4 taps with a stride of 2 are 2 x 2 for each output.
  const te::Workload p =
      built("conv_transpose2d",
            {{"input", "1,8,5,7"}, {"weight", "8,3,4,4"}, {"stride", "2"}, {"pad", "1"}});
  ASSERT_EQ(p.stages.size(), 1u);
  EXPECT_EQ(te::flops(p), 2.0 * 3 * 10 * 14 * 8 * 2 * 2);
}

TEST(AdaptivePool2d, WindowsCoverTheImageEvenly) {
  const std::vector<std::pair<Index, Index>> cases = {{{1, 1, 1, 1}, {1, 1}},
                                                      {{2, 3, 7, 5}, {3, 2}},
                                                      {{1, 2, 6, 8}, {3, 4}},
                                                      {{1, 2, 5, 3}, {7, 4}},
                                                      {{1, 1, 13, 11}, {6, 5}}};
  for (const auto& [input, output] : cases)
    for (const char* dtype : {"f32", "f64", "bf16"})
      for (const bool mean : {true, false}) {
        const char* name = mean ? "adaptive_avg_pool2d" : "adaptive_max_pool2d";
        const Evaluation r = run(
            built(name, {{"input", list(input)}, {"windows", list(output)}, {"dtype", dtype}}), 12);
        expect_output(
            r, {input[0], input[1], output[0], output[1]},
            [&](const Index& y) {
              double sum = 0, count = 0, most = -INFINITY;
              for (std::int64_t h = y[2] * input[2] / output[0];
                   h * output[0] < (y[2] + 1) * input[2]; ++h)
                for (std::int64_t w = y[3] * input[3] / output[1];
                     w * output[1] < (y[3] + 1) * input[3]; ++w) {
                  const double x = at(r.inputs[0], {y[0], y[1], h, w});
                  sum += x, ++count, most = std::max(most, x);
                }
              return mean ? sum / count : most;
            },
            1e-6);
      }
}

TEST(GlobalAvgPool, OverAllThatFollowsTheChannels) {
  for (const Index& input :
       {Index{1, 1, 1}, Index{2, 3, 7}, Index{1, 5, 7, 3}, Index{2, 2, 3, 1, 5}}) {
    const Evaluation r = run(built("global_avg_pool", {{"input", list(input)}}), 10);
    const Index window(input.begin() + 2, input.end());
    expect_output(r, {input[0], input[1]}, [&](const Index& y) {
      double sum = 0, count = 0;
      each_index(window, [&](const Index& k) {
        sum += inside_or(r.inputs[0], y[0], y[1], k, 0);
        ++count;
      });
      return sum / count;
    });
  }
}

}  // namespace
}  // namespace lathe::ops
