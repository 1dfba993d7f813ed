#include "compiler/ops/cells.h"

#include "compiler/ops/text.h"
#include "compiler/te/types.h"

namespace lathe::ops {
namespace {

using Kind = Parameter::Kind;

struct Cell {
  Dtype dtype;
  std::int64_t batch, inputs, hidden, gates;
  bool bias;

  bool narrow() const { return te::is_narrow(dtype); }
  // Reads an element in the type that is computed in.
  std::string read(const char* element) const {
    return narrow() ? fmt::format("{}({})", name_of(te::accumulator_of(dtype)), element) : element;
  }
  // A tensor between inputs and outputs, declared where its type does not follow.
  std::string wide(const char* name, const std::vector<std::int64_t>& shape) const {
    return narrow() ? typed(shaped(name, shape), te::accumulator_of(dtype)) + "\n" : "";
  }
  std::vector<std::int64_t> state() const { return {batch, hidden}; }
  // Only of four gates there is c. Callers see the gates' rows one after the other.
  std::string declarations() const {
    std::string out = typed(shaped("x", {batch, inputs}), dtype) + "\n" +
                      typed(shaped("h", state()), dtype) + "\n";
    if (gates == 4) out += typed(shaped("c", state()), dtype) + "\n";
    const auto constant = [&](const char* name, std::vector<std::int64_t> shape) {
      std::vector<std::int64_t> border = {gates * hidden};
      border.insert(border.end(), shape.begin() + 2, shape.end());
      out += "const " + typed(shaped(name, shape, border), dtype) + "\n";
    };
    constant("w_ih", {gates, hidden, inputs});
    constant("w_hh", {gates, hidden, hidden});
    if (bias) constant("b_ih", {gates, hidden});
    if (bias) constant("b_hh", {gates, hidden});
    return out;
  }
};

Result<Cell> cell_of(const Values& values, std::int64_t gates) {
  return Cell{LATHE_TRY(float_of(values)),
              LATHE_TRY(values.size("batch")),
              LATHE_TRY(values.size("input-size")),
              LATHE_TRY(values.size("hidden-size")),
              gates,
              !values.flag("no-bias")};
}

// The sums over the input and over the state for each gate g: A[b,g,k] and B[b,g,k].
std::string sums_of(const Cell& cell) {
  std::string text;
  for (const char* name : {"A", "B"})
    text += cell.wide(name, {cell.batch, cell.gates, cell.hidden});
  return text + fmt::format(
                    "A[b,g,k] = (sum(i) x[b,i] * w_ih[g,k,i]){}\n"
                    "B[b,g,k] = (sum(j) h[b,j] * w_hh[g,k,j]){}\n",
                    cell.bias ? " + b_ih[g,k]" : "", cell.bias ? " + b_hh[g,k]" : "");
}

// Of 16 bits, h is made of c before that is rounded.
Result<std::vector<Algorithm>> build_lstm(const Values& values) {
  const Cell cell = LATHE_TRY(cell_of(values, 4));
  const std::string c = cell.narrow() ? "C" : "c_next";
  std::string text = cell.declarations();
  for (const char* name : {"h_next", "c_next"})
    text += "output " + typed(shaped(name, cell.state()), cell.dtype) + "\n";
  text += cell.wide("C", cell.state()) + sums_of(cell);
  text += fmt::format(
      "{0}[b,k] = sigmoid(A[b,1,k] + B[b,1,k]) * {1} + "
      "sigmoid(A[b,0,k] + B[b,0,k]) * tanh(A[b,2,k] + B[b,2,k])\n"
      "h_next[b,k] = sigmoid(A[b,3,k] + B[b,3,k]) * tanh({0}[b,k])\n",
      c, cell.read("c[b,k]"));
  if (cell.narrow()) text += "c_next[b,k] = C[b,k]\n";
  return direct(parsed("lstm_cell", text));
}

Result<std::vector<Algorithm>> build_gru(const Values& values) {
  const Cell cell = LATHE_TRY(cell_of(values, 3));
  std::string text = cell.declarations();
  text += "output " + typed(shaped("h_next", cell.state()), cell.dtype) + "\n";
  for (const char* name : {"Z", "N"}) text += cell.wide(name, cell.state());
  text += sums_of(cell);
  text += fmt::format(
      "Z[b,k] = sigmoid(A[b,1,k] + B[b,1,k])\n"
      "N[b,k] = tanh(A[b,2,k] + sigmoid(A[b,0,k] + B[b,0,k]) * B[b,2,k])\n"
      "h_next[b,k] = (1 - Z[b,k]) * N[b,k] + Z[b,k] * {}\n",
      cell.read("h[b,k]"));
  return direct(parsed("gru_cell", text));
}

std::vector<Parameter> cell_parameters() {
  return {{Kind::kInt, "batch", "", "rows of the input and of the state"},
          {Kind::kInt, "input-size", "", "elements of a row of the input"},
          {Kind::kInt, "hidden-size", "", "elements of a row of the state"},
          {Kind::kFlag, "no-bias", "false", "without the constant summands"},
          float_parameter()};
}

}  // namespace

Operator lstm_cell() {
  return {"lstm_cell",
          "a step of an LSTM: h and c after the input x, with the gates i, f, g, o in the weights",
          cell_parameters(), build_lstm};
}

Operator gru_cell() {
  return {"gru_cell", "a step of a GRU: h after the input x, with the gates r, z, n in the weights",
          cell_parameters(), build_gru};
}

}  // namespace lathe::ops
