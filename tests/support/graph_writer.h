// Writes graphs of expressions for tests.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/rng.h"
#include "compiler/te/parse.h"
#include "graph/ir/graph.h"

namespace lathe::test {

using graph::Graph;
using graph::place;
using graph::Shape;

// Values are named by their numbers.
class GraphWriter {
 public:
  GraphWriter() { graph_.name = "test"; }

  int value(Shape shape, std::optional<int> view_of = {}) {
    graph_.values.push_back(
        {fmt::format("v{}", graph_.values.size()), Dtype::kF32, std::move(shape), {}, view_of});
    return static_cast<int>(graph_.values.size()) - 1;
  }
  int input(Shape shape) {
    graph_.inputs.push_back(value(std::move(shape)));
    return graph_.inputs.back();
  }
  int constant(Shape shape, Rng& rng) {
    const int id = value(std::move(shape));
    std::vector<double> elements;
    for (std::int64_t e = 0; e < graph_.value(id).elements(); ++e)
      elements.push_back(static_cast<double>(rng.between(-8, 8)) * 0.25);
    graph_.values[place(id)].constant = graph::Data::of(Dtype::kF32, elements);
    return id;
  }
  int node(const std::string& op, const std::string& text, std::vector<int> inputs, Shape shape) {
    auto expression = te::parse_workload(text);
    if (!expression) throw std::runtime_error(text + "\n" + expression.error().text());
    const int made = value(std::move(shape));
    graph_.nodes.push_back({std::move(*expression), std::move(inputs), {made}, op, op});
    return made;
  }
  const Shape& shape(int id) const { return graph_.value(id).shape; }
  Graph finish(std::vector<int> outputs) {
    graph_.outputs = std::move(outputs);
    drop_unused(graph_);
    return std::move(graph_);
  }

 private:
  Graph graph_;
};

inline std::string list_of(const Shape& shape) {
  std::string text;
  for (const std::int64_t size : shape) text += fmt::format("{}{}", text.empty() ? "" : ",", size);
  return text;
}

inline std::string indices(std::size_t rank) {
  std::string text;
  for (std::size_t d = 0; d < rank; ++d) text += fmt::format("{}i{}", d == 0 ? "" : ",", d);
  return text;
}

// "i0:2,i1:3": iterators over a shape.
inline std::string sized(const Shape& shape) {
  std::string text;
  for (std::size_t d = 0; d < shape.size(); ++d)
    text += fmt::format("{}i{}:{}", d == 0 ? "" : ",", d, shape[d]);
  return text;
}

// Side by side along an axis.
inline int concatenated(GraphWriter& w, const std::vector<int>& ids, std::size_t axis) {
  Shape made = w.shape(ids[0]);
  made[axis] = 0;
  std::string inputs, body, closed;
  for (std::size_t k = 0; k < ids.size(); ++k) {
    const std::string name = fmt::format("i{}", axis);
    std::string at = indices(made.size());
    at.replace(at.find(name), name.size(), fmt::format("{} - {}", name, made[axis]));
    made[axis] += w.shape(ids[k])[axis];
    inputs += fmt::format("X{}: f32[{}]; ", k, list_of(w.shape(ids[k])));
    const std::string read = fmt::format("X{}[{} else 0]", k, at);
    if (k + 1 == ids.size()) {
      body += read + closed;
    } else {
      body += fmt::format("select({} < {}, {}, ", name, made[axis], read);
      closed += ")";
    }
  }
  return w.node("Concat", fmt::format("{}Y[{}] = {}", inputs, sized(made), body), ids, made);
}

// `count` elements along an axis, from one on, `step` apart.
inline int sliced(GraphWriter& w, int x, std::size_t axis, std::int64_t from, std::int64_t step,
                  std::int64_t count) {
  Shape made = w.shape(x);
  const std::string shape = list_of(made), name = fmt::format("i{}", axis);
  made[axis] = count;
  std::string at = indices(made.size());
  at.replace(at.find(name), name.size(), fmt::format("{}*{} + {}", step, name, from));
  return w.node("Slice", fmt::format("X: f32[{}]; Y[{}] = X[{}]", shape, sized(made), at), {x},
                made);
}

inline int unary(GraphWriter& w, int x, const std::string& body) {
  const std::string at = indices(w.shape(x).size());
  return w.node(body.substr(0, 3),
                fmt::format("X: f32[{0}]; Y[{1}] = {2}", list_of(w.shape(x)), at,
                            fmt::format(fmt::runtime(body), "X[" + at + "]")),
                {x}, w.shape(x));
}

inline int binary(GraphWriter& w, int a, int b) {
  const std::string at = indices(w.shape(a).size()), shape = list_of(w.shape(a));
  return w.node("Add", fmt::format("A: f32[{0}]; B: f32[{0}]; Y[{1}] = A[{1}] + B[{1}]", shape, at),
                {a, b}, w.shape(a));
}

// By the last axis, which `by` has alone.
inline int scaled(GraphWriter& w, int a, int by) {
  const std::size_t rank = w.shape(a).size();
  const std::string at = indices(rank);
  return w.node("Mul",
                fmt::format("A: f32[{}]; B: f32[{}]; Y[{}] = A[{}] * B[i{}]", list_of(w.shape(a)),
                            w.shape(a).back(), at, at, rank - 1),
                {a, by}, w.shape(a));
}

inline int product(GraphWriter& w, int a, int b) {
  const Shape made = {w.shape(a)[0], w.shape(b)[1]};
  return w.node("MatMul",
                fmt::format("A: f32[{}]; const B: f32[{}]; Y[i,j] = sum(k) A[i,k] * B[k,j]",
                            list_of(w.shape(a)), list_of(w.shape(b))),
                {a, b}, made);
}

inline int turned(GraphWriter& w, int x) {
  const Shape made = {w.shape(x)[1], w.shape(x)[0]};
  return w.node(
      "Transpose",
      fmt::format("X: f32[{}]; Y[i:{},j:{}] = X[j,i]", list_of(w.shape(x)), made[0], made[1]), {x},
      made);
}

}  // namespace lathe::test
