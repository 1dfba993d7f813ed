// What cells of recurrent networks and sequences of them have alike.
#pragma once

#include "compiler/ops/values.h"

namespace lathe::ops {

struct Cell {
  Dtype dtype;
  std::int64_t batch, inputs, hidden, gates;
  bool bias;

  bool narrow() const;
  // Reads an element in the type that is computed in.
  std::string read(const std::string& element) const;
  // A tensor between inputs and outputs, declared where its type does not follow.
  std::string wide(const std::string& name, const std::vector<std::int64_t>& shape) const;
  std::vector<std::int64_t> state() const { return {batch, hidden}; }
  // Weights and constant summands by gate. Callers see the gates' rows one after the other.
  std::string weights() const;
  // As callers see them. `suffix`: of their names.
  std::string rows_of_weights(const std::string& suffix) const;
};

// `gates`: 4 of an LSTM, 3 of a GRU, 1 where there are none.
Result<Cell> cell_of(const Values& values, std::int64_t gates);
// --batch, --input-size, --hidden-size, --no-bias and --dtype.
std::vector<Parameter> cell_parameters();

}  // namespace lathe::ops
