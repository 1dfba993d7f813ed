// A model as a graph: values, and nodes that are expressions over them. All shapes are known.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/result.h"
#include "compiler/te/workload.h"
#include "runtime/tensor/data.h"

namespace lathe::graph {

using Shape = std::vector<std::int64_t>;

// The elements of a shape: 1 of rank 0; 2^62 where there are more.
std::int64_t elements_of(const Shape& shape);
// Writes "f32[1,3,224,224]".
std::string typed(Dtype dtype, const Shape& shape);

// The number of a value or a node, as the place in its list.
inline std::size_t place(int id) { return static_cast<std::size_t>(id); }

// Row-major elements in this machine's byte order.
using tensor::Data;

// Values are named by their place in Graph::values.
struct Value {
  std::string name;
  Dtype dtype = Dtype::kF32;
  Shape shape;                   // [] is one element; only constants may have sizes of 0
  std::optional<Data> constant;  // known when the model is read
  // Elements of another value, from number `begin` on, in the same order, under this name and
  // shape: nothing is moved or copied. All of Reshape, Flatten, Squeeze, Identity; a part of what
  // is split. A node may make a view: then it writes a part of the other value, as of what is
  // joined, and several nodes make that, each element once.
  std::optional<int> view_of;
  std::int64_t begin = 0;

  std::int64_t elements() const { return elements_of(shape); }
  std::int64_t bytes() const { return elements() * size_of(dtype); }
};

// What one operator of the model computes, or a part of it.
struct Node {
  // Its inputs, in their order, are the node's; its outputs, too. A tensor has the type of its
  // value and as many elements, in the same order; its shape may differ, as [1] for a value of rank
  // 0.
  te::Workload expression;
  std::vector<int> inputs, outputs;
  std::string name;  // of the node in the model, or what it makes, for messages
  std::string op;    // as the model has it: "Conv"
};

// Elements that follow each other of a value that is no view.
struct Range {
  int storage = 0;
  std::int64_t begin = 0, end = 0;
  auto operator<=>(const Range&) const = default;
};
bool overlap(const Range& a, const Range& b);

struct Graph {
  std::string name;
  std::vector<Value> values;
  std::vector<Node> nodes;  // in an order in which they can be computed
  std::vector<int> inputs, outputs;

  const Value& value(int id) const { return values[place(id)]; }
  // The value whose memory it shares: itself unless it is a view.
  int storage_of(int id) const { return range_of(id).storage; }
  // Where it lies in that.
  Range range_of(int id) const;
  bool is_whole(const Range& range) const {
    return range.begin == 0 && range.end == value(range.storage).elements();
  }
};

// The elements of a constant as numbers (exact for all but i64 beyond 2^53).
std::vector<double> numbers_of(const Value& constant);

// Checks that each element of a value is made once and before it is used, that names differ, and
// that types and numbers of elements agree with those of the expressions. The error's place is the
// node.
Status verify(const Graph& graph);

// Leaves out what no output of the graph needs. Inputs stay.
void drop_unused(Graph& graph);

// Computes the node by its expression, as compiler/interp/scalar.h says, and rounds the results to
// their types. `inputs` are in the order of the node's. None where it takes more than `most_terms`
// terms.
std::optional<std::vector<std::vector<double>>> evaluate(
    const te::Workload& expression, const std::vector<std::vector<double>>& inputs,
    std::int64_t most_terms);

}  // namespace lathe::graph
