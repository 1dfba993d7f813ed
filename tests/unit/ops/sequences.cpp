// Sequences of recurrent cells against plain loops.
#include <cmath>

#include "unit/ops/evaluated.h"

namespace lathe::ops {
namespace {

struct SequenceCase {
  std::int64_t length, batch, inputs, hidden;
  const char* direction;
  bool bias = true, initial = false, separate = false, onnx = false, reset_first = false;
  const char* dtype = "f32";
  bool directions_first = false, peepholes = false, relu = false;
};

std::vector<SequenceCase> sequence_cases() {
  return {{1, 1, 1, 1, "forward"},
          {5, 2, 3, 7, "forward", true, true},
          {4, 1, 5, 3, "reverse", false, true},
          {7, 3, 2, 5, "bidirectional", true, false},
          {3, 2, 4, 3, "bidirectional", false, true, true},
          {5, 1, 3, 4, "forward", true, true, false, true, true},
          {3, 2, 3, 3, "reverse", true, false, false, true},
          {4, 2, 3, 5, "bidirectional", true, true, false, false, true},
          {4, 2, 3, 5, "forward", true, true, false, false, false, "f64"},
          {3, 1, 3, 5, "forward", true, true, false, false, false, "f16"},
          {4, 3, 2, 5, "bidirectional", true, true, false, true, false, "f32", true, true, true},
          {5, 2, 3, 4, "forward", true, false, false, true, false, "f32", false, true, true},
          {3, 2, 3, 4, "reverse", false, true, false, false, false, "f16", false, true, true}};
}

// States by step, row of the batch and hidden element.
using States = std::vector<std::vector<std::vector<double>>>;

class Expected {
 public:
  Expected(const SequenceCase& c, const te::Workload& workload,
           const std::vector<interp::Tensor>& inputs, const std::string& op)
      : c_(c), workload_(workload), inputs_(inputs), op_(op) {}

  void run(bool backward, const std::string& suffix) {
    h = c = States(static_cast<std::size_t>(c_.length),
                   std::vector(static_cast<std::size_t>(c_.batch),
                               std::vector<double>(static_cast<std::size_t>(c_.hidden))));
    suffix_ = suffix;
    for (std::int64_t step = 0; step < c_.length; ++step) {
      const std::int64_t t = backward ? c_.length - 1 - step : step;
      for (std::int64_t b = 0; b < c_.batch; ++b) {
        std::vector<double> h_before, c_before;
        for (std::int64_t k = 0; k < c_.hidden; ++k) {
          h_before.push_back(before(h, "h_0", step, t, backward, b, k));
          c_before.push_back(op_ != "lstm" ? 0 : before(c, "c_0", step, t, backward, b, k));
        }
        for (std::int64_t k = 0; k < c_.hidden; ++k)
          if (op_ == "lstm") lstm(t, b, k, h_before, c_before[index(k)]);
          else if (op_ == "gru") gru(t, b, k, h_before);
          else plain(t, b, k, h_before);
      }
    }
  }
  States h, c;

  static std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

 private:
  const interp::Tensor& input(const std::string& name) const {
    const auto all = workload_.inputs();
    const auto found = std::ranges::find(all, workload_.find(name + suffix_));
    LATHE_CHECK(found != all.end(), "{}", name + suffix_);
    return inputs_[static_cast<std::size_t>(found - all.begin())];
  }
  double before(const States& of, const char* initial, std::int64_t step, std::int64_t t,
                bool backward, std::int64_t b, std::int64_t k) const {
    if (step > 0) return of[index(backward ? t + 1 : t - 1)][index(b)][index(k)];
    return c_.initial ? at(input(initial), {b, k}) : 0;
  }
  double bias(const char* name, std::int64_t row) const {
    return c_.bias ? input(name).values[index(row)] : 0;
  }
  double from_x(std::int64_t t, std::int64_t b, std::int64_t row) const {
    double out = bias("b_ih", row);
    for (std::int64_t i = 0; i < c_.inputs; ++i)
      out += input("w_ih").values[index(row * c_.inputs + i)] * at(inputs_[0], {t, b, i});
    return out;
  }
  double from_h(const std::vector<double>& h_before, std::int64_t row) const {
    double out = bias("b_hh", row);
    for (std::int64_t j = 0; j < c_.hidden; ++j)
      out += input("w_hh").values[index(row * c_.hidden + j)] * h_before[index(j)];
    return out;
  }
  static double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }

  void lstm(std::int64_t t, std::int64_t b, std::int64_t k, const std::vector<double>& h_before,
            double c_before) {
    const auto gate = [&](std::int64_t pytorch, std::int64_t onnx) {
      const std::int64_t row = (c_.onnx ? onnx : pytorch) * c_.hidden + k;
      return from_x(t, b, row) + from_h(h_before, row);
    };
    const auto peephole = [&](std::int64_t row, double state) {
      return c_.peepholes ? input("p").values[index(row * c_.hidden + k)] * state : 0;
    };
    const double next = sigmoid_of(gate(1, 2) + peephole(2, c_before)) * c_before +
                        sigmoid_of(gate(0, 0) + peephole(0, c_before)) * std::tanh(gate(2, 3));
    c[index(t)][index(b)][index(k)] = next;
    h[index(t)][index(b)][index(k)] = sigmoid_of(gate(3, 1) + peephole(1, next)) * std::tanh(next);
  }
  void plain(std::int64_t t, std::int64_t b, std::int64_t k, const std::vector<double>& h_before) {
    const double sum = from_x(t, b, k) + from_h(h_before, k);
    h[index(t)][index(b)][index(k)] = c_.relu ? std::max(sum, 0.0) : std::tanh(sum);
  }
  void gru(std::int64_t t, std::int64_t b, std::int64_t k, const std::vector<double>& h_before) {
    const auto row_of = [&](std::int64_t pytorch, std::int64_t onnx, std::int64_t element) {
      return (c_.onnx ? onnx : pytorch) * c_.hidden + element;
    };
    const auto reset = [&](std::int64_t element) {
      const std::int64_t row = row_of(0, 1, element);
      return sigmoid_of(from_x(t, b, row) + from_h(h_before, row));
    };
    const std::int64_t update = row_of(1, 0, k), last = row_of(2, 2, k);
    const double z = sigmoid_of(from_x(t, b, update) + from_h(h_before, update));
    std::vector<double> taken = h_before;
    for (std::int64_t j = 0; c_.reset_first && j < c_.hidden; ++j) taken[index(j)] *= reset(j);
    const double product = from_h(taken, last);
    const double n = std::tanh(from_x(t, b, last) + (c_.reset_first ? 1 : reset(k)) * product);
    h[index(t)][index(b)][index(k)] = (1 - z) * n + z * h_before[index(k)];
  }

  const SequenceCase& c_;
  const te::Workload& workload_;
  const std::vector<interp::Tensor>& inputs_;
  std::string op_, suffix_;
};

void check(const SequenceCase& c, const std::string& op) {
  Arguments arguments = {{"length", std::to_string(c.length)},
                         {"batch", std::to_string(c.batch)},
                         {"input-size", std::to_string(c.inputs)},
                         {"hidden-size", std::to_string(c.hidden)},
                         {"direction", c.direction},
                         {"no-bias", c.bias ? "false" : "true"},
                         {"initial", c.initial ? "true" : "false"},
                         {"separate", c.separate ? "true" : "false"},
                         {"directions-first", c.directions_first ? "true" : "false"},
                         {"dtype", c.dtype}};
  if (op == "rnn") arguments["nonlinearity"] = c.relu ? "relu" : "tanh";
  else arguments["gate-order"] = c.onnx ? "onnx" : "pytorch";
  if (op == "lstm") arguments["peepholes"] = c.peepholes ? "true" : "false";
  if (op == "gru") arguments["reset-first"] = c.reset_first ? "true" : "false";
  const te::Workload workload = built(op, arguments);
  Rng rng(43);
  const auto inputs = interp::random_inputs(workload, rng);
  const auto results = interp::evaluate(workload, inputs);
  ASSERT_TRUE(results) << results.error().text();
  const auto near = [&](const std::string& output, const Index& where, double want) {
    const auto all = workload.outputs();
    const auto found = std::ranges::find(all, workload.find(output));
    ASSERT_NE(found, all.end()) << output;
    const interp::Tensor& got = (*results)[static_cast<std::size_t>(found - all.begin())];
    const double within = size_of(got.dtype) == 2 ? 4 * epsilon_of(got.dtype) : 1e-6;
    EXPECT_NEAR(at(got, where), want, within) << output << " " << list(where);
  };
  const std::string direction = c.direction;
  const bool both = direction == "bidirectional";
  for (std::int64_t d = 0; d < (both ? 2 : 1); ++d) {
    const bool backward = direction == "reverse" || d == 1;
    const std::string suffix = d == 1 ? "_reverse" : "";
    Expected expected(c, workload, inputs, op);
    expected.run(backward, suffix);
    const std::size_t last = backward ? 0 : static_cast<std::size_t>(c.length - 1);
    for (std::int64_t b = 0; b < c.batch; ++b)
      for (std::int64_t k = 0; k < c.hidden; ++k) {
        const auto rows = static_cast<std::size_t>(b), column = static_cast<std::size_t>(k);
        for (std::int64_t t = 0; t < c.length; ++t) {
          const double want = expected.h[static_cast<std::size_t>(t)][rows][column];
          if (c.directions_first) near("y", {t, d, b, k}, want);
          else if (both && !c.separate) near("y", {t, b, d, k}, want);
          else near("h" + suffix, {t, b, k}, want);
        }
        for (const char* state : {"h_n", "c_n"}) {
          if (op != "lstm" && state[0] == 'c') continue;
          const States& of = state[0] == 'h' ? expected.h : expected.c;
          if (both && !c.separate) near(state, {d, b, k}, of[last][rows][column]);
          else near(state + suffix, {b, k}, of[last][rows][column]);
        }
      }
  }
}

TEST(Lstm, AllStepsInEachDirection) {
  for (const SequenceCase& c : sequence_cases()) check(c, "lstm");
}

TEST(Gru, AllStepsInEachDirection) {
  for (const SequenceCase& c : sequence_cases()) check(c, "gru");
}

TEST(Rnn, AllStepsInEachDirection) {
  for (const SequenceCase& c : sequence_cases()) check(c, "rnn");
}

TEST(Lstm, NamesWhatIsWrong) {
  const Arguments right = {
      {"length", "3"}, {"batch", "1"}, {"input-size", "2"}, {"hidden-size", "2"}};
  const auto with = [&](const char* name, const char* value) {
    Arguments out = right;
    out[name] = value;
    return refusal("lstm", out);
  };
  EXPECT_NE(with("direction", "up").find("known are forward, reverse and"), std::string::npos);
  EXPECT_NE(with("gate-order", "keras").find("pytorch and onnx"), std::string::npos);
  EXPECT_NE(with("separate", "").find("one direction only"), std::string::npos);
  EXPECT_NE(with("directions-first", "").find("one direction only"), std::string::npos);
  Arguments both = right;
  both["direction"] = "bidirectional";
  both["separate"] = both["directions-first"] = "true";
  EXPECT_NE(refusal("gru", both).find("--separate leaves no output"), std::string::npos);
  Arguments plain = right;
  plain["nonlinearity"] = "sigmoid";
  EXPECT_NE(refusal("rnn", plain).find("none of tanh and relu"), std::string::npos);
  EXPECT_NE(with("reset-first", "").find("reset-first"), std::string::npos);
  EXPECT_NE(with("length", "0").find("--length"), std::string::npos);
}

}  // namespace
}  // namespace lathe::ops
