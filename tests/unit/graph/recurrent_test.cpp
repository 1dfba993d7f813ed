// Recurrent networks of models against plain loops over their steps.
#include <cmath>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "graph/import/import.h"
#include "support/graph_run.h"
#include "support/onnx_writer.h"

namespace lathe::graph {
namespace {

using test::attribute;
using test::node;
using test::tensor;
using test::value_info;
using Floats = std::vector<float>;

constexpr std::int64_t kLength = 4, kBatch = 3, kInputs = 2, kHidden = 5;

struct Net {
  const char* op;
  std::int64_t gates, directions;
  bool batch_first, linear_before_reset = false, known = true, reverse = false;
};

Floats some(std::int64_t count, Rng& rng) {
  Floats out(static_cast<std::size_t>(count));
  for (float& value : out) value = static_cast<float>(2 * rng.uniform() - 1);
  return out;
}

// Elements by name, as ONNX has them with `layout` 0.
struct Operands {
  std::map<std::string, Floats> of;
  double at(const std::string& name, std::int64_t place) const {
    return of.at(name)[static_cast<std::size_t>(place)];
  }
};

Operands operands_of(const Net& net) {
  Rng rng(17);
  const std::int64_t d = net.directions, rows = net.gates * kHidden;
  Operands out;
  out.of["x"] = some(kLength * kBatch * kInputs, rng);
  out.of["w"] = some(d * rows * kInputs, rng);
  out.of["r"] = some(d * rows * kHidden, rng);
  out.of["b"] = some(d * 2 * rows, rng);
  out.of["h0"] = some(d * kBatch * kHidden, rng);
  if (net.gates == 4) {
    out.of["c0"] = some(d * kBatch * kHidden, rng);
    out.of["p"] = some(d * 3 * kHidden, rng);
  }
  return out;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// ONNX's equations, a row of the batch and a direction at a time. `y` is [length][hidden].
class Loops {
 public:
  Loops(const Net& net, const Operands& operands, std::int64_t d, std::int64_t b)
      : net_(net), o_(operands), d_(d), b_(b) {
    for (std::int64_t k = 0; k < kHidden; ++k) {
      h.push_back(o_.at("h0", (d * kBatch + b) * kHidden + k));
      c.push_back(net.gates == 4 ? o_.at("c0", (d * kBatch + b) * kHidden + k) : 0);
    }
    y.resize(kLength);
    const bool backward = d == 1 || net.reverse;
    for (std::int64_t step = 0; step < kLength; ++step) {
      const std::int64_t t = backward ? kLength - 1 - step : step;
      net.gates == 4 ? lstm(t) : net.gates == 3 ? gru(t) : rnn(t);
      y[static_cast<std::size_t>(t)] = h;
    }
  }
  std::vector<double> h, c;
  std::vector<std::vector<double>> y;

 private:
  std::int64_t row(std::int64_t gate, std::int64_t k) const {
    return (d_ * net_.gates + gate) * kHidden + k;
  }
  double from_x(std::int64_t t, std::int64_t gate, std::int64_t k) const {
    double sum = o_.at("b", (2 * d_ * net_.gates + gate) * kHidden + k);
    for (std::int64_t i = 0; i < kInputs; ++i)
      sum += o_.at("w", row(gate, k) * kInputs + i) * o_.at("x", (t * kBatch + b_) * kInputs + i);
    return sum;
  }
  double from_h(const std::vector<double>& state, std::int64_t gate, std::int64_t k) const {
    double sum = o_.at("b", ((2 * d_ + 1) * net_.gates + gate) * kHidden + k);
    for (std::int64_t j = 0; j < kHidden; ++j)
      sum += o_.at("r", row(gate, k) * kHidden + j) * state[static_cast<std::size_t>(j)];
    return sum;
  }
  double peephole(std::int64_t gate, std::int64_t k, double state) const {
    return o_.at("p", (3 * d_ + gate) * kHidden + k) * state;
  }
  void rnn(std::int64_t t) {
    const std::vector<double> old = h;
    for (std::int64_t k = 0; k < kHidden; ++k)
      h[static_cast<std::size_t>(k)] = std::tanh(from_x(t, 0, k) + from_h(old, 0, k));
  }
  // The rows of weights are those of z, r and h.
  void gru(std::int64_t t) {
    const std::vector<double> old = h;
    std::vector<double> reset = old;
    for (std::int64_t k = 0; k < kHidden; ++k)
      reset[static_cast<std::size_t>(k)] *= sigmoid(from_x(t, 1, k) + from_h(old, 1, k));
    for (std::int64_t k = 0; k < kHidden; ++k) {
      const auto at = static_cast<std::size_t>(k);
      const double z = sigmoid(from_x(t, 0, k) + from_h(old, 0, k)),
                   r = sigmoid(from_x(t, 1, k) + from_h(old, 1, k)),
                   n = std::tanh(from_x(t, 2, k) + (net_.linear_before_reset
                                                        ? r * from_h(old, 2, k)
                                                        : from_h(reset, 2, k)));
      h[at] = (1 - z) * n + z * old[at];
    }
  }
  // The rows of weights are those of i, o, f and c.
  void lstm(std::int64_t t) {
    const std::vector<double> old = h;
    for (std::int64_t k = 0; k < kHidden; ++k) {
      const auto at = static_cast<std::size_t>(k);
      const auto gate = [&](std::int64_t g) { return from_x(t, g, k) + from_h(old, g, k); };
      const double i = sigmoid(gate(0) + peephole(0, k, c[at])),
                   f = sigmoid(gate(2) + peephole(2, k, c[at]));
      c[at] = f * c[at] + i * std::tanh(gate(3));
      h[at] = sigmoid(gate(1) + peephole(1, k, c[at])) * std::tanh(c[at]);
    }
  }

  const Net& net_;
  const Operands& o_;
  std::int64_t d_, b_;
};

Floats swapped(const Floats& values, std::int64_t a, std::int64_t b, std::int64_t c) {
  Floats out(values.size());
  for (std::int64_t i = 0; i < a; ++i)
    for (std::int64_t j = 0; j < b; ++j)
      for (std::int64_t k = 0; k < c; ++k)
        out[static_cast<std::size_t>((j * a + i) * c + k)] =
            values[static_cast<std::size_t>((i * b + j) * c + k)];
  return out;
}

struct Read {
  Graph graph;
  std::map<std::string, std::vector<double>> inputs;
};

// `net.known`: weights are constants of the model, else inputs.
Read read_net(const Net& net, const Operands& operands) {
  std::map<std::string, std::pair<Shape, Floats>> all;
  const std::int64_t d = net.directions, rows = net.gates * kHidden;
  const auto add = [&](const std::string& name, const Shape& shape, bool swaps = false) {
    const Floats& values = operands.of.at(name);
    all[name] = {shape, values};
    if (!swaps || !net.batch_first) return;
    all[name] = {{shape[1], shape[0], shape[2]}, swapped(values, shape[0], shape[1], shape[2])};
  };
  add("x", {kLength, kBatch, kInputs}, true);
  add("w", {d, rows, kInputs});
  add("r", {d, rows, kHidden});
  add("b", {d, 2 * rows});
  add("h0", {d, kBatch, kHidden}, true);
  std::vector<std::string> names{"x", "w", "r", "b", "", "h0"}, outputs{"y", "yh"};
  if (net.gates == 4) {
    add("c0", {d, kBatch, kHidden}, true);
    add("p", {d, 3 * kHidden});
    names.insert(names.end(), {"c0", "p"});
    outputs.emplace_back("yc");
  }
  test::ModelParts parts;
  Read out;
  for (const auto& [name, value] : all) {
    if (net.known && name.size() == 1 && name != "x") {
      parts.initializers.push_back(tensor(name, value.first, value.second));
      continue;
    }
    std::vector<std::string> sizes;
    for (const std::int64_t size : value.first) sizes.push_back(std::to_string(size));
    parts.inputs.push_back(value_info(name, sizes));
    out.inputs[name].assign(value.second.begin(), value.second.end());
  }
  test::Message direction;
  direction.text(1, "direction")
      .text(4, d == 2        ? "bidirectional"
               : net.reverse ? "reverse"
                             : "forward")
      .number(20, 3);
  parts.nodes = {node(net.op, names, outputs,
                      {attribute("hidden_size", kHidden), attribute("layout", net.batch_first),
                       attribute("linear_before_reset", net.linear_before_reset), direction})};
  for (const auto& output : outputs) parts.outputs.push_back(value_info(output, {"1"}));
  auto made = import(*onnx::parse_model(test::model(parts), ""));
  EXPECT_TRUE(made) << made.error().text();
  EXPECT_TRUE(made->unsupported.empty()) << print(made->unsupported);
  out.graph = std::move(made->graph);
  return out;
}

void check(const Net& net) {
  SCOPED_TRACE(fmt::format("{} of {} directions, batch first {}, weights known {}", net.op,
                           net.directions, net.batch_first, net.known));
  const Operands operands = operands_of(net);
  const Read read = read_net(net, operands);
  const auto got = test::run(read.graph, read.inputs);
  ASSERT_TRUE(got.has_value());
  const std::int64_t directions = net.directions;
  const auto value = [&](std::size_t o) { return read.graph.value(read.graph.outputs[o]); };
  EXPECT_EQ(value(0).shape, (net.batch_first ? Shape{kBatch, kLength, directions, kHidden}
                                             : Shape{kLength, directions, kBatch, kHidden}));
  EXPECT_EQ(value(1).shape, (net.batch_first ? Shape{kBatch, directions, kHidden}
                                             : Shape{directions, kBatch, kHidden}));
  for (std::int64_t d = 0; d < directions; ++d)
    for (std::int64_t b = 0; b < kBatch; ++b) {
      const Loops want(net, operands, d, b);
      const std::int64_t pair = net.batch_first ? b * directions + d : d * kBatch + b;
      for (std::int64_t k = 0; k < kHidden; ++k) {
        const auto last = static_cast<std::size_t>(pair * kHidden + k),
                   at = static_cast<std::size_t>(k);
        EXPECT_NEAR((*got)[1][last], want.h[at], 1e-5);
        if (net.gates == 4) {
          EXPECT_NEAR((*got)[2][last], want.c[at], 1e-5);
        }
        for (std::int64_t t = 0; t < kLength; ++t) {
          const std::int64_t place = net.batch_first ? (b * kLength + t) * directions + d
                                                     : (t * directions + d) * kBatch + b;
          EXPECT_NEAR((*got)[0][static_cast<std::size_t>(place * kHidden + k)],
                      want.y[static_cast<std::size_t>(t)][at], 1e-5);
        }
      }
    }
}

TEST(Recurrent, StepsOfAllNetworksInAllDirections) {
  for (const bool batch_first : {false, true})
    for (const auto& [op, gates] : {std::pair("LSTM", 4), std::pair("GRU", 3), std::pair("RNN", 1)})
      for (const std::int64_t directions : {1, 2})
        for (const bool known : {true, false}) {
          check({op, gates, directions, batch_first, false, known});
          check({op, gates, directions, batch_first, gates == 3, known, directions == 1});
        }
}

// What the operator does not do is said, with the node.
TEST(Recurrent, OtherFunctionsAndLengthsAreUnsupported) {
  const auto reason = [](const std::vector<test::Message>& attributes, std::int64_t steps) {
    const std::vector<std::int64_t> lengths(2, steps);
    test::ModelParts parts = {
        {node("RNN", {"x", "w", "r", "", "lengths"}, {"y"}, attributes)},
        {tensor("w", {1, 2, 1}, Floats{1, 2}), tensor("r", {1, 2, 2}, Floats{1, 2, 3, 4}),
         tensor("lengths", {2}, lengths)},
        {value_info("x", {"3", "2", "1"})},
        {value_info("y", {"3", "1", "2", "2"})}};
    const auto made = import(*onnx::parse_model(test::model(parts), ""));
    if (!made) return made.error().text();
    return made->unsupported.empty() ? "" : made->unsupported[0].reason;
  };
  const auto with = [](const char* function) {
    test::Message out;
    return out.text(1, "activations").text(9, function).number(20, 8);
  };
  EXPECT_EQ(reason({}, 3), "");
  EXPECT_EQ(reason({}, 2), "a sequence has 2 steps of 3");
  EXPECT_EQ(reason({with("Relu")}, 3), "");
  EXPECT_EQ(reason({with("Elu")}, 3), "its activations are Elu");
  EXPECT_NE(reason({attribute("hidden_size", 3)}, 3).find("its hidden_size is 3"),
            std::string::npos);
}

}  // namespace
}  // namespace lathe::graph
