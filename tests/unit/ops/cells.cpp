// Cells of recurrent networks and rotary embedding against plain loops.
#include <cmath>

#include "unit/ops/evaluated.h"

namespace lathe::ops {
namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

struct CellCase {
  std::int64_t batch, inputs, hidden;
  bool bias;
  const char* dtype;
};

std::vector<CellCase> cell_cases() {
  return {{1, 1, 1, true, "f32"}, {3, 5, 7, true, "f32"},   {2, 4, 3, false, "f64"},
          {2, 3, 5, true, "f16"}, {1, 17, 2, false, "f32"}, {2, 2, 3, true, "bf16"}};
}

struct Step {
  te::Workload workload;
  std::vector<interp::Tensor> inputs, outputs;

  const interp::Tensor& input(std::string_view name) const {
    const auto all = workload.inputs();
    const auto found = std::ranges::find(all, workload.find(name));
    LATHE_CHECK(found != all.end(), "{}", name);
    return inputs[static_cast<std::size_t>(found - all.begin())];
  }
  // The sum that row `row` of the weights gives, without the bias.
  double sum(std::string_view weight, std::string_view vector, std::int64_t b,
             std::int64_t row) const {
    const interp::Tensor &w = input(weight), &v = input(vector);
    const std::int64_t length = v.shape[1];
    double out = 0;
    for (std::int64_t i = 0; i < length; ++i)
      out += w.values[static_cast<std::size_t>(row * length + i)] * at(v, {b, i});
    return out;
  }
  double bias(std::string_view name, std::int64_t row) const {
    return workload.find(name) < 0 ? 0 : input(name).values[static_cast<std::size_t>(row)];
  }
};

Step stepped(const char* op, const CellCase& c) {
  Step out;
  out.workload = built(op, {{"batch", std::to_string(c.batch)},
                            {"input-size", std::to_string(c.inputs)},
                            {"hidden-size", std::to_string(c.hidden)},
                            {"no-bias", c.bias ? "false" : "true"},
                            {"dtype", c.dtype}});
  Rng rng(41);
  out.inputs = interp::random_inputs(out.workload, rng);
  auto results = interp::evaluate(out.workload, out.inputs);
  LATHE_CHECK(results.has_value(), "{}", results.error().text());
  out.outputs = std::move(*results);
  return out;
}

void expect_near(const interp::Tensor& got, const Index& at_index, double want) {
  const double within = size_of(got.dtype) == 2 ? 2 * epsilon_of(got.dtype) : 1e-9;
  EXPECT_NEAR(at(got, at_index), want, within);
}

// Rows of the weights: the gates i, f, g, o, one after the other.
TEST(LstmCell, AsInPyTorch) {
  for (const CellCase& c : cell_cases()) {
    const Step s = stepped("lstm_cell", c);
    const auto outputs = s.workload.outputs();
    ASSERT_EQ(outputs.size(), 2u);
    EXPECT_EQ(s.workload.tensors[static_cast<std::size_t>(outputs[0])].name, "h_next");
    EXPECT_EQ(s.workload.tensors[static_cast<std::size_t>(outputs[1])].name, "c_next");
    EXPECT_EQ(s.outputs[0].dtype, *dtype_from_name(c.dtype));
    EXPECT_EQ(
        s.workload.tensors[static_cast<std::size_t>(s.workload.find("w_ih"))].shape_at_border(),
        (Index{4 * c.hidden, c.inputs}));
    for (std::int64_t b = 0; b < c.batch; ++b)
      for (std::int64_t k = 0; k < c.hidden; ++k) {
        const auto gate = [&](std::int64_t g) {
          const std::int64_t row = g * c.hidden + k;
          return s.sum("w_ih", "x", b, row) + s.bias("b_ih", row) + s.sum("w_hh", "h", b, row) +
                 s.bias("b_hh", row);
        };
        const double next =
            sigmoid(gate(1)) * at(s.input("c"), {b, k}) + sigmoid(gate(0)) * std::tanh(gate(2));
        expect_near(s.outputs[1], {b, k}, next);
        expect_near(s.outputs[0], {b, k}, sigmoid(gate(3)) * std::tanh(next));
      }
  }
}

// Rows of the weights: the gates r, z, n.
TEST(GruCell, AsInPyTorch) {
  for (const CellCase& c : cell_cases()) {
    const Step s = stepped("gru_cell", c);
    ASSERT_EQ(s.outputs.size(), 1u);
    EXPECT_EQ(s.outputs[0].dtype, *dtype_from_name(c.dtype));
    for (std::int64_t b = 0; b < c.batch; ++b)
      for (std::int64_t k = 0; k < c.hidden; ++k) {
        const auto from_x = [&](std::int64_t g) {
          return s.sum("w_ih", "x", b, g * c.hidden + k) + s.bias("b_ih", g * c.hidden + k);
        };
        const auto from_h = [&](std::int64_t g) {
          return s.sum("w_hh", "h", b, g * c.hidden + k) + s.bias("b_hh", g * c.hidden + k);
        };
        const double r = sigmoid(from_x(0) + from_h(0)), z = sigmoid(from_x(1) + from_h(1)),
                     n = std::tanh(from_x(2) + r * from_h(2));
        expect_near(s.outputs[0], {b, k}, (1 - z) * n + z * at(s.input("h"), {b, k}));
      }
  }
}

TEST(Rope, HalvesAndNeighbours) {
  for (const bool interleaved : {false, true})
    for (const char* dtype : {"f32", "f64", "f16"})
      for (const auto& [heads, tokens, width] :
           {std::tuple{1, 1, 2}, std::tuple{3, 5, 14}, std::tuple{2, 7, 16}}) {
        const Evaluation r = run(built("rope", {{"heads", std::to_string(heads)},
                                                {"tokens", std::to_string(tokens)},
                                                {"width", std::to_string(width)},
                                                {"interleaved", interleaved ? "" : "false"},
                                                {"dtype", dtype}}),
                                 42);
        EXPECT_EQ(r.output.dtype, *dtype_from_name(dtype));
        const std::int64_t half = width / 2, rows = tokens, columns = width;
        ASSERT_EQ(r.inputs[1].shape, (Index{rows, half}));
        expect_output(r, {heads, rows, columns}, [&](const Index& y) {
          const std::int64_t d = y[2], pair = interleaved ? d / 2 : d % half;
          const bool first = interleaved ? d % 2 == 0 : d < half;
          const std::int64_t other = interleaved ? (d ^ 1) : first ? d + half : d - half;
          const auto x = [&](std::int64_t place) {
            return r.inputs[0]
                .values[static_cast<std::size_t>((y[0] * rows + y[1]) * columns + place)];
          };
          const double cosine = at(r.inputs[1], {y[1], pair}), sine = at(r.inputs[2], {y[1], pair});
          return first ? x(d) * cosine - x(other) * sine : x(d) * cosine + x(other) * sine;
        });
      }
}

}  // namespace
}  // namespace lathe::ops
