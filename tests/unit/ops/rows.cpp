// Softmax, norms and attention against plain loops.
#include <cmath>
#include <limits>
#include <optional>

#include "unit/ops/evaluated.h"

namespace lathe::ops {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

struct RowCase {
  Index input;
  std::string axes;               // as --axes has them; empty: not given
  std::vector<std::size_t> over;  // which these are
};
const std::vector<RowCase>& row_cases() {
  static const std::vector<RowCase> all = {{{1}, "", {0}},
                                           {{17}, "", {0}},
                                           {{5, 13}, "", {1}},
                                           {{5, 13}, "0", {0}},
                                           {{2, 7, 3}, "1", {1}},
                                           {{2, 3, 5}, "-1,-2", {1, 2}},
                                           {{3, 1, 4}, "0,2", {0, 2}},
                                           {{2, 1, 3}, "1", {1}}};
  return all;
}

// The elements of the row that the element at `index` is in, in order.
std::vector<double> row_of(const interp::Tensor& x, const Index& index,
                           const std::vector<std::size_t>& over) {
  std::vector<double> out;
  Index extents;
  for (const std::size_t d : over) extents.push_back(x.shape[d]);
  each_index(extents, [&](const Index& place) {
    Index there = index;
    for (std::size_t o = 0; o < over.size(); ++o) there[over[o]] = place[o];
    out.push_back(at(x, there));
  });
  return out;
}

double log_sum_exp(const std::vector<double>& row) {
  double sum = 0;
  for (const double x : row) sum += std::exp(x);
  return std::log(sum);
}

Arguments arguments_of(const RowCase& c, const char* dtype) {
  Arguments out = {{"input", list(c.input)}, {"dtype", dtype}};
  if (!c.axes.empty()) out["axes"] = c.axes;
  return out;
}

TEST(Softmax, AnyDimensions) {
  for (const RowCase& c : row_cases())
    for (const char* dtype : {"f32", "f64", "f16", "bf16"}) {
      const Evaluation r = run(built("softmax", arguments_of(c, dtype)), 11);
      EXPECT_EQ(r.output.dtype, *dtype_from_name(dtype));
      expect_output(r, c.input, [&](const Index& y) {
        return std::exp(at(r.inputs[0], y) - log_sum_exp(row_of(r.inputs[0], y, c.over)));
      });
      const Evaluation l = run(built("log_softmax", arguments_of(c, dtype)), 12);
      EXPECT_EQ(l.output.dtype, *dtype_from_name(dtype));
      expect_output(l, c.input, [&](const Index& y) {
        return at(l.inputs[0], y) - log_sum_exp(row_of(l.inputs[0], y, c.over));
      });
    }
}

TEST(LogSumExp, WithAndWithoutTheDimensions) {
  for (const RowCase& c : row_cases())
    for (const bool keep : {false, true}) {
      Arguments arguments = arguments_of(c, keep ? "f16" : "f32");
      arguments["keep-dims"] = keep ? "true" : "false";
      const Evaluation r = run(built("logsumexp", arguments), 13);
      Index shape, kept;
      for (std::size_t d = 0; d < c.input.size(); ++d) {
        const bool gone = std::ranges::find(c.over, d) != c.over.end();
        if (!gone || keep) shape.push_back(gone ? 1 : c.input[d]);
        kept.push_back(gone ? 1 : c.input[d]);
      }
      if (shape.empty()) shape = {1};
      std::vector<double> want;
      each_index(kept, [&](const Index& y) {
        want.push_back(log_sum_exp(row_of(r.inputs[0], y, c.over)));
      });
      std::size_t next = 0;
      expect_output(r, shape, [&](const Index&) { return want.at(next++); });
    }
}

TEST(LogSumExp, InfinitiesAndNan) {
  const te::Workload p = built("logsumexp", {{"input", "4,2"}});
  const Evaluation r =
      evaluated(p, {{Dtype::kF32, {4, 2}, {-kInf, -kInf, kInf, 1, -kInf, 2, std::nan(""), 1}, {}}});
  EXPECT_EQ(r.output.values[0], -kInf);
  EXPECT_EQ(r.output.values[1], kInf);
  EXPECT_DOUBLE_EQ(r.output.values[2], 2);
  EXPECT_TRUE(std::isnan(r.output.values[3]));
}

struct Moments {
  double mean = 0, variance = 0, square = 0;
};
Moments moments_of(const std::vector<double>& row) {
  Moments out;
  const auto n = static_cast<double>(row.size());
  for (const double x : row) out.mean += x / n, out.square += x * x / n;
  for (const double x : row) out.variance += (x - out.mean) * (x - out.mean) / n;
  return out;
}

TEST(LayerNorm, AnyDimensionsWithAndWithoutScaleAndShift) {
  for (const RowCase& c : row_cases())
    for (const int without : {0, 1, 2, 3}) {
      Arguments arguments = arguments_of(c, without == 3 ? "f16" : "f32");
      if ((without & 1) != 0) arguments["no-scale"] = "";
      if ((without & 2) != 0) arguments["no-shift"] = "";
      arguments["eps"] = "0.5";
      const te::Workload p = built("layer_norm", arguments);
      const Evaluation r = run(p, 14);
      for (std::size_t i = 1; i < r.inputs.size(); ++i) EXPECT_TRUE(p.tensors[i].constant);
      expect_output(
          r, c.input,
          [&](const Index& y) {
            const Moments m = moments_of(row_of(r.inputs[0], y, c.over));
            double value = (at(r.inputs[0], y) - m.mean) / std::sqrt(m.variance + 0.5);
            Index along;
            for (const std::size_t d : c.over) along.push_back(y[d]);
            std::size_t next = 1;
            if ((without & 1) == 0) value *= at(r.inputs[next++], along);
            if ((without & 2) == 0) value += at(r.inputs[next], along);
            return value;
          },
          1e-7);
    }
}

TEST(LayerNorm, StatisticsAreOutputs) {
  for (const RowCase& c : row_cases())
    for (const char* dtype : {"f32", "f16"}) {
      Arguments arguments = arguments_of(c, dtype);
      arguments["statistics"] = "true";
      arguments["eps"] = "0.25";
      const te::Workload p = built("layer_norm", arguments);
      Rng rng(17);
      const auto inputs = interp::random_inputs(p, rng);
      const auto results = interp::evaluate(p, inputs);
      ASSERT_TRUE(results) << results.error().text();
      ASSERT_EQ(results->size(), 3u);
      EXPECT_EQ((*results)[0].shape, c.input);
      EXPECT_EQ((*results)[1].dtype, Dtype::kF32);
      std::size_t next = 0;
      Index kept = c.input;
      for (const std::size_t d : c.over) kept[d] = 1;
      each_index(kept, [&](const Index& y) {
        const Moments m = moments_of(row_of(inputs[0], y, c.over));
        EXPECT_NEAR((*results)[1].values.at(next), m.mean, 1e-5);
        EXPECT_NEAR((*results)[2].values.at(next), 1 / std::sqrt(m.variance + 0.25), 1e-5);
        ++next;
      });
      EXPECT_EQ((*results)[1].values.size(), next);
    }
}

TEST(RmsNorm, AnyDimensions) {
  for (const RowCase& c : row_cases())
    for (const bool scaled : {true, false}) {
      Arguments arguments = arguments_of(c, scaled ? "f32" : "bf16");
      arguments["no-scale"] = scaled ? "false" : "true";
      const Evaluation r = run(built("rms_norm", arguments), 15);
      expect_output(
          r, c.input,
          [&](const Index& y) {
            Index along;
            for (const std::size_t d : c.over) along.push_back(y[d]);
            const Moments m = moments_of(row_of(r.inputs[0], y, c.over));
            return at(r.inputs[0], y) / std::sqrt(m.square + 1e-6) *
                   (scaled ? at(r.inputs[1], along) : 1);
          },
          1e-7);
    }
}

// Runs with a variance that is not negative; it is the last input.
Evaluation run_batch_norm(const Arguments& arguments, std::uint64_t seed) {
  const te::Workload p = built("batch_norm", arguments);
  Rng rng(seed);
  std::vector<interp::Tensor> inputs = interp::random_inputs(p, rng);
  for (double& value : inputs.back().values) value = std::abs(value);
  for (std::size_t i = 1; i < inputs.size(); ++i) EXPECT_TRUE(p.tensors[i].constant);
  return evaluated(p, std::move(inputs));
}

// scale, shift, mean and variance of batch_norm follow the input, in this order.
TEST(BatchNorm, EveryChannelHasItsConstants) {
  struct Case {
    Index input;
    const char* axis;
    std::size_t channel;
  };
  for (const Case& c : {Case{{2, 3, 5, 7}, "1", 1}, Case{{4, 6}, "1", 1},
                        Case{{1, 3, 5, 7}, "-1", 3}, Case{{1, 1, 1}, "1", 1}})
    for (const char* dtype : {"f32", "f16"})
      for (const char* relu : {"false", "true"}) {
        const Evaluation r = run_batch_norm({{"input", list(c.input)},
                                             {"axis", c.axis},
                                             {"dtype", dtype},
                                             {"relu", relu},
                                             {"eps", "2"}},
                                            16);
        ASSERT_EQ(r.inputs.size(), 5u);
        expect_output(
            r, c.input,
            [&](const Index& y) {
              const Index channel = {y[c.channel]};
              const double value = (at(r.inputs[0], y) - at(r.inputs[3], channel)) /
                                       std::sqrt(at(r.inputs[4], channel) + 2) *
                                       at(r.inputs[1], channel) +
                                   at(r.inputs[2], channel);
              return relu[0] == 't' ? std::max(value, 0.0) : value;
            },
            1e-7);
      }
}

TEST(BatchNorm, WithoutScaleAndShift) {
  const Evaluation r =
      run_batch_norm({{"input", "2,3,2"}, {"no-scale", ""}, {"no-shift", ""}, {"eps", "2"}}, 17);
  ASSERT_EQ(r.inputs.size(), 3u);
  expect_output(
      r, {2, 3, 2},
      [&](const Index& y) {
        return (at(r.inputs[0], y) - at(r.inputs[1], {y[1]})) /
               std::sqrt(at(r.inputs[2], {y[1]}) + 2);
      },
      1e-7);
}

TEST(GroupNorm, GroupsOfChannels) {
  struct Case {
    Index input;
    std::int64_t groups;
  };
  for (const Case& c : {Case{{1, 6, 5, 7}, 2}, Case{{2, 6, 3}, 6}, Case{{3, 4}, 1},
                        Case{{1, 1, 1, 1}, 1}, Case{{2, 15, 2, 3, 1}, 5}})
    for (const char* dtype : {"f32", "bf16"}) {
      const Evaluation r =
          run(built("group_norm",
                    {{"input", list(c.input)}, {"groups", list({c.groups})}, {"dtype", dtype}}),
              18);
      const std::int64_t each = c.input[1] / c.groups;
      Index behind(c.input.begin() + 2, c.input.end());
      interp::Tensor x = r.inputs[0];
      x.shape = c.input;
      behind.insert(behind.begin(), each);
      expect_output(
          r, c.input,
          [&](const Index& y) {
            std::vector<double> group;
            each_index(behind, [&](const Index& place) {
              Index there = {y[0], y[1] / each * each};
              there.insert(there.end(), place.begin() + 1, place.end());
              there[1] += place[0];
              group.push_back(at(x, there));
            });
            const Moments m = moments_of(group);
            const auto channel = static_cast<std::size_t>(y[1]);
            return (at(x, y) - m.mean) / std::sqrt(m.variance + 1e-5) *
                       r.inputs[1].values[channel] +
                   r.inputs[2].values[channel];
          },
          // A group of one element is 0 times a large factor.
          c.input[1] == 1 ? 1e-3 : 1e-6);
    }
}

struct AttentionCase {
  std::int64_t heads, tokens, kv, width;
  bool causal;
  std::optional<double> scale;
  const char* dtype = "f32";
  std::int64_t kv_heads = 0;  // 0: as many as heads
};

TEST(Attention, ScalesMasksAndOtherKeys) {
  for (const AttentionCase& c :
       {AttentionCase{1, 1, 1, 1, false, {}}, AttentionCase{2, 5, 5, 3, false, {}},
        AttentionCase{3, 7, 7, 4, true, {}}, AttentionCase{2, 3, 11, 5, false, 0.5},
        AttentionCase{1, 4, 6, 2, true, -1.25}, AttentionCase{1, 6, 4, 2, true, {}, "f16"},
        AttentionCase{2, 3, 3, 4, false, {}, "f64"}, AttentionCase{6, 3, 5, 4, false, {}, "f32", 2},
        AttentionCase{4, 5, 5, 3, true, {}, "f16", 1},
        AttentionCase{3, 2, 2, 5, true, {}, "f32", 3}}) {
    Arguments arguments = {{"heads", list({c.heads})},          {"tokens", list({c.tokens})},
                           {"width", list({c.width})},          {"kv-tokens", list({c.kv})},
                           {"causal", c.causal ? "" : "false"}, {"dtype", c.dtype}};
    if (c.scale) arguments["scale"] = fmt::format("{}", *c.scale);
    if (c.kv == c.tokens) arguments.erase("kv-tokens");
    if (c.kv_heads > 0) arguments["kv-heads"] = list({c.kv_heads});
    const std::int64_t sharing = c.kv_heads > 0 ? c.heads / c.kv_heads : 1;
    Evaluation r = run(built("attention", arguments), 19);
    r.inputs[0].shape = {c.heads, c.tokens, c.width};
    EXPECT_EQ(r.output.dtype, *dtype_from_name(c.dtype));
    const double scale = c.scale.value_or(1 / std::sqrt(static_cast<double>(c.width)));
    expect_output(
        r, {c.heads, c.tokens, c.width},
        [&](const Index& y) {
          double sum = 0, weights = 0;
          for (std::int64_t j = 0; j < c.kv; ++j) {
            if (c.causal && j > y[1]) continue;
            double score = 0;
            for (std::int64_t d = 0; d < c.width; ++d)
              score += at(r.inputs[0], {y[0], y[1], d}) * at(r.inputs[1], {y[0] / sharing, j, d});
            const double weight = std::exp(scale * score);
            weights += weight;
            sum += weight * at(r.inputs[2], {y[0] / sharing, j, y[2]});
          }
          return sum / weights;
        },
        1e-7);
  }
}

}  // namespace
}  // namespace lathe::ops
