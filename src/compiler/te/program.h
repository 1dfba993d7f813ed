// Index expressions (paper, section 2): what to compute, with every shape known.
//
// A Program is a list of stages in order of computation. Each stage writes one tensor, element by
// element:
//   name[spatial iterators] = reduce over reduction iterators of body
// and reads tensors that are inputs, literals or written by earlier stages. The text form (parse.h)
// prints and parses it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "compiler/ir/expr/expr.h"

namespace lathe::te {

enum class TensorRole { kInput, kLiteral, kIntermediate, kOutput };

struct Tensor {
  std::string name;
  Dtype dtype = Dtype::kF32;
  std::vector<std::int64_t> shape;
  TensorRole role = TensorRole::kInput;
  bool constant = false;        // an input known when prepare() runs: weights
  std::vector<double> literal;  // row-major, for kLiteral
  // What callers see of an input or output: `shape` with neighbouring dimensions merged, the same
  // elements in the same order. Empty: `shape`.
  std::vector<std::int64_t> border_shape;

  const std::vector<std::int64_t>& shape_at_border() const {
    return border_shape.empty() ? shape : border_shape;
  }
};

enum class IterKind { kSpatial, kReduce };
struct Iterator {
  std::string name;
  std::int64_t extent = 0;  // runs over [0, extent)
  IterKind kind = IterKind::kSpatial;
};

struct Stage {
  int tensor = -1;  // written: element [spatial iterators in order]
  // Spatial ones first, in the order of the tensor's dimensions, then reduction ones.
  std::vector<Iterator> iters;
  ir::ReduceOp reduce = ir::ReduceOp::kNone;
  // The type of the body and of the tensor; a narrower result is a stage of its own.
  Dtype accumulator = Dtype::kF32;
  ir::Expr body;  // Read.tensor indexes Program::tensors
};

// How exactly the result must match, and what borders the schedule may change: part of the workload
// key.
struct Contract {
  double max_error = 2e-5;   // of the largest output, against f64
  bool free_layout = false;  // --layout free: the trace may choose layouts of inputs and outputs
};

struct Program {
  std::vector<Tensor> tensors;
  std::vector<Stage> stages;
  Contract contract;
  std::string name;  // "conv2d", "matmul" or the output's name: a hint for people and symbols

  std::vector<int> inputs() const;  // tensor indices, in order of declaration
  std::vector<int> outputs() const;
  int find(std::string_view tensor_name) const;  // -1 if there is none
  const Stage* writer(int tensor) const;
};

// Checks a program built through the API: shapes, types, index bounds of unpadded reads, order of
// stages, names. The parser calls it too.
Status validate(const Program& program);

// Floating-point operations of the direct evaluation: for each element of a stage one per
// arithmetic node of the body, plus one per reduction step (a sum of products: 2 per step). Padded
// taps count as if multiplied, as the field does.
double flops(const Program& program);

// The smallest number of bytes that must move: every output, and what is read of every input, once.
double io_bytes(const Program& program);

// The canonical workload key: tensors and iterators renamed by order, shapes, types, constness,
// layout mode, tolerance. Two expressions that differ only in names have the same key. It parses
// back with parse_program().
std::string workload_key(const Program& program);

// The program with the names of the key: tensors A, B ..., the iterators of each stage i, j ...
// Traces and knobs name loops after tensors and iterators, so what is stored under a key is about
// the canonical program's nest: tune, look up and replay with that.
Program canonical(const Program& program);

bool equal(const Program& a, const Program& b);  // names included

// For each dimension of `shape` the dimension of `merged` that it is part of: neighbours taken
// together, their sizes multiplied. None if `merged` is not made so.
std::optional<std::vector<int>> merged_dims(const std::vector<std::int64_t>& shape,
                                            const std::vector<std::int64_t>& merged);

}  // namespace lathe::te
