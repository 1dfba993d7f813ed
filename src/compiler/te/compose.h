// Puts expressions together: what one computes takes the place of another's input. The result is an
// expression like any other, with stages of all parts, and is tuned, keyed and printed as one.
#pragma once

#include <string>
#include <vector>

#include "compiler/te/workload.h"

namespace lathe::te {

// A tensor of a part, by its name there.
struct PartTensor {
  int part = 0;
  std::string tensor;
};

struct Composition {
  std::vector<Workload> parts;
  // An output takes the place of an input of equal type, and of equal shape as callers see both:
  // where the output has other dimensions inside, what reads the input follows (reshape.h). An
  // output may take several.
  struct Edge {
    PartTensor output, input;
  };
  std::vector<Edge> edges;
  // One input of the whole serves as both. It is constant where one of them is, and its range is
  // what both promise.
  struct Alike {
    PartTensor one, other;
  };
  std::vector<Alike> alike;
  // The outputs of the whole, in this order; empty: those of all parts that no edge takes.
  std::vector<PartTensor> outputs;
};

// A composed expression, and what the tensors of its parts are called in it.
struct Composed {
  Workload workload;
  std::vector<std::vector<std::string>> names;  // by part, by tensor of the part
};

// Names stay where they are unique; else `_2`, `_3` ... follows. The contract is the strictest of
// all: the least max_error and level of numerics, a free layout where all are free, and the
// algorithm that a part names. The error says which part (from 0) and which tensor is at fault.
Result<Composed> compose(const Composition& whole);

}  // namespace lathe::te
