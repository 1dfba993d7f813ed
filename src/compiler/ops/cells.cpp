#include "compiler/ops/cells.h"

#include "compiler/ops/cell.h"
#include "compiler/ops/text.h"

namespace lathe::ops {
namespace {

// Inputs and weights of one step. Only of four gates there is c.
std::string declarations(const Cell& cell) {
  std::string out = typed(shaped("x", {cell.batch, cell.inputs}), cell.dtype) + "\n" +
                    typed(shaped("h", cell.state()), cell.dtype) + "\n";
  if (cell.gates == 4) out += typed(shaped("c", cell.state()), cell.dtype) + "\n";
  return out + cell.weights();
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
  std::string text = declarations(cell);
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
  std::string text = declarations(cell);
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
