// Index expressions (paper, section 2): what to compute, with every shape known.
//
// A workload in this form is a list of stages in order of computation. Each stage writes one
// tensor, element by element:
//   name[spatial iterators] = reduce over reduction iterators of body
// It reads inputs, literals, and tensors that earlier stages wrote. The text form (parse.h) parses
// and prints it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "compiler/ir/expr/expr.h"
#include "compiler/te/contract.h"

namespace lathe::te {

struct InputRange {
  double low = 0, high = 0;
  bool operator==(const InputRange&) const = default;
};

enum class TensorRole { kInput, kLiteral, kIntermediate, kOutput };

struct Tensor {
  std::string name;
  Dtype dtype = Dtype::kF32;
  std::vector<std::int64_t> shape;
  TensorRole role = TensorRole::kInput;
  bool constant = false;        // an input known when prepare() runs, e.g. weights
  std::vector<double> literal;  // row-major, for kLiteral
  // Between which numbers all elements of an input lie, as its caller promises.
  std::optional<InputRange> range;
  // The shape that callers see of an input or output: `shape` with neighbouring dimensions merged,
  // for the same elements in the same order. Empty: `shape`.
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
  int tensor = -1;  // the tensor written, at [spatial iterators in order]
  // Spatial iterators come first, in the order of the tensor's dimensions, then reduction
  // iterators.
  std::vector<Iterator> iters;
  ir::ReduceOp reduce = ir::ReduceOp::kNone;
  // The type of the body and of the tensor. A narrower result needs a stage of its own.
  Dtype accumulator = Dtype::kF32;
  ir::Expr body;  // Read.tensor indexes Workload::tensors
};

struct Workload {
  std::vector<Tensor> tensors;
  std::vector<Stage> stages;
  Contract contract;
  std::string name;  // "conv2d", "matmul" or the output's name: a hint for people and symbols

  std::vector<int> inputs() const;  // tensor indices, in order of declaration
  std::vector<int> outputs() const;
  int find(std::string_view tensor_name) const;  // -1 if there is none
  const Stage* writer(int tensor) const;
};

// Checks a workload: shapes, types, index bounds of unpadded reads, order of stages, names. The
// parser calls it too.
Status validate(const Workload& workload);

// Floating-point operations of the direct evaluation. Each element of a stage takes one for each
// arithmetic node of the body and one for each reduction step (so a sum of products takes 2 a
// step). Taps in the padding count as if they were multiplied, as is usual.
double flops(const Workload& workload);

// The fewest bytes that must move: every output, and what is read of every input, once.
double io_bytes(const Workload& workload);

// The canonical workload key: tensors and iterators renamed by order, shapes, types, which inputs
// are constant, layout mode, tolerance. Two expressions that differ only in names have the same
// key. parse_workload() parses it.
std::string workload_key(const Workload& workload);

// The workload with the names of its key: tensors A, B ..., the iterators of each stage i, j ...,
// and with an iterator instead of 0 as index where both dimensions have one element.
// Traces and knobs name loops after tensors and iterators. So what is stored under a key concerns
// the canonical nest: tune, look up and apply traces with that.
Workload canonical(const Workload& workload);

bool equal(const Workload& a, const Workload& b);  // names included

// For each dimension of `shape`, the dimension of `merged` that it is part of: neighbours are
// merged, and their sizes multiplied. None if `merged` cannot be made like that.
std::optional<std::vector<int>> merged_dims(const std::vector<std::int64_t>& shape,
                                            const std::vector<std::int64_t>& merged);

}  // namespace lathe::te
