// Operators as the tests see them: built, and computed by the oracle on random inputs.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/ops/operators.h"
#include "oracle/te_eval.h"

namespace lathe::ops {

using Index = std::vector<std::int64_t>;

inline te::Workload built(std::string_view name, const Arguments& arguments) {
  auto algorithms = build(name, arguments);
  LATHE_CHECK(algorithms.has_value(), "{}", algorithms.error().text());
  EXPECT_EQ(algorithms->front().name, "direct");
  EXPECT_EQ(algorithms->front().workload.name, name);
  return std::move(algorithms->front().workload);
}

// The message; empty if nothing is wrong.
inline std::string refusal(std::string_view name, const Arguments& arguments) {
  const auto algorithms = build(name, arguments);
  return algorithms ? "" : algorithms.error().text();
}

struct Evaluation {
  std::vector<interp::Tensor> inputs;
  interp::Tensor output;
  Index shape;  // of the output, as callers see it
};

inline Evaluation evaluated(const te::Workload& workload, std::vector<interp::Tensor> inputs) {
  Evaluation out{std::move(inputs), {}, {}};
  auto results = interp::evaluate(workload, out.inputs);
  LATHE_CHECK(results.has_value(), "{}", results.error().text());
  EXPECT_EQ(results->size(), 1u);
  out.output = std::move(results->front());
  out.shape = workload.tensors[static_cast<std::size_t>(workload.outputs()[0])].shape_at_border();
  return out;
}

inline Evaluation run(const te::Workload& workload, std::uint64_t seed) {
  Rng rng(seed);
  return evaluated(workload, interp::random_inputs(workload, rng));
}

inline double at(const interp::Tensor& t, const Index& index) {
  std::int64_t offset = 0;
  std::size_t d = 0;
  for (const std::int64_t i : index) offset = offset * t.shape[d++] + i;
  return t.values[static_cast<std::size_t>(offset)];
}

// Calls `visit` with every index of the shape, the last dimension fastest.
inline void each_index(const Index& shape, const std::function<void(const Index&)>& visit) {
  Index index(shape.size());
  for (;;) {
    visit(index);
    std::size_t d = shape.size();
    while (d > 0 && ++index[d - 1] == shape[d - 1]) index[--d] = 0;
    if (d == 0) return;
  }
}

// Compares the output with `want` at every index that callers see. The oracle computes in f64, but
// rounds to types of 16 bits.
inline void expect_output(const Evaluation& got, const Index& shape,
                          const std::function<double(const Index&)>& want, double within = 1e-12) {
  ASSERT_EQ(got.shape, shape);
  if (size_of(got.output.dtype) == 2) within = std::max(within, 2 * epsilon_of(got.output.dtype));
  std::size_t element = 0;
  each_index(shape, [&](const Index& index) {
    const double value = got.output.values.at(element++), right = want(index);
    if (value == right || (std::isnan(value) && std::isnan(right))) return;
    EXPECT_NEAR(value, right, within * std::max(1.0, std::abs(right)))
        << fmt::format("[{}]", fmt::join(index, ","));
  });
}

inline std::string list(const Index& values) { return fmt::format("{}", fmt::join(values, ",")); }

}  // namespace lathe::ops
