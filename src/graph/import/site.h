// What an operator's function sees of its node: inputs, attributes, and the graph that is made.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ops/operators.h"
#include "graph/ir/graph.h"
#include "graph/onnx/model.h"

namespace lathe::graph {

using Made = Result<std::vector<int>>;  // the values of the node's outputs, in order
// Makes the nodes of a graph that is an attribute, for these inputs, and returns its outputs.
using MakeBody = std::function<Made(const onnx::Model& body, const std::vector<int>& inputs)>;

class Site {
 public:
  Site(Graph& graph, const onnx::Node& node, std::int64_t version, std::vector<int> inputs,
       const MakeBody& make_body)
      : graph_(graph),
        node_(node),
        version_(version),
        inputs_(std::move(inputs)),
        make_body_(make_body) {}

  // The same node with other inputs.
  Site with(std::vector<int> inputs) const {
    return Site(graph_, node_, version_, std::move(inputs), make_body_);
  }

  std::int64_t version() const { return version_; }
  const std::string& op() const { return node_.op; }
  std::size_t outputs() const { return node_.outputs.size(); }
  // Whether something reads the output at that place, as far as the node says.
  bool wants(std::size_t output) const {
    return output < outputs() && !node_.outputs[output].empty();
  }

  // Inputs. What is left out is -1, and asking more of it than has() breaks an invariant, but for
  // those that a row of the table says there are.
  std::size_t inputs() const { return inputs_.size(); }
  bool has(std::size_t input) const { return input < inputs_.size() && inputs_[input] >= 0; }
  int input(std::size_t input) const;
  const Value& value(int id) const { return graph_.value(id); }
  const Value& at(std::size_t i) const { return value(input(i)); }
  const Shape& shape(std::size_t i) const { return at(i).shape; }
  Dtype dtype(std::size_t i) const { return at(i).dtype; }
  // The elements of an input that must be known when the model is read; `what` they are: "pads".
  Result<std::vector<double>> known(std::size_t i, std::string_view what) const;
  Result<std::vector<std::int64_t>> known_integers(std::size_t i, std::string_view what) const;

  // Attributes. One of another kind than asked for is refused.
  bool given(std::string_view name) const { return node_.attributes.contains(name); }
  Result<std::int64_t> integer(std::string_view name, std::int64_t fallback) const;
  Result<double> real(std::string_view name, double fallback) const;
  Result<std::string> text(std::string_view name, const std::string& fallback) const;
  Result<std::vector<std::int64_t>> integers(std::string_view name,
                                             std::vector<std::int64_t> fallback) const;
  const onnx::Attribute* attribute(std::string_view name) const;
  // The axis counted from 0, of `rank` dimensions; `most` may be rank where one may stand behind.
  Result<std::size_t> axis(std::int64_t given, std::size_t rank, bool behind = false) const;
  Result<std::vector<std::size_t>> axes(const std::vector<std::int64_t>& given,
                                        std::size_t rank) const;

  // Makes values. Where all inputs are constants and there is little to do, it is done, and the
  // results are constants; `shape` is that of the only output, by default the expression's.
  Made compute(te::Workload expression, const std::vector<int>& inputs,
               std::optional<Shape> shape = {});
  // The expression is a text; its inputs are declared in the order of `inputs`.
  Made write(const std::string& text, const std::vector<int>& inputs,
             std::optional<Shape> shape = {});
  // An operator of compiler/ops.
  Made call(std::string_view op, ops::Arguments arguments, const std::vector<int>& inputs,
            std::optional<Shape> shape = {});
  // The graph that an attribute is.
  Made body(std::string_view attribute, const std::vector<int>& inputs);
  int view(int value, Shape shape);
  // The elements that follow each other from number `begin` on.
  Result<int> part(int value, std::int64_t begin, Shape shape);
  int constant(Dtype dtype, Shape shape, std::span<const double> elements);
  int constant(Dtype dtype, Shape shape, Data data);

  template <class... Args>
  std::unexpected<Error> wrong(fmt::format_string<Args...> format, Args&&... args) const {
    return fail_at(node_.label(), ErrorKind::kInvalidArgument, format, std::forward<Args>(args)...);
  }
  // "its attribute 'x' is 3": a part of a sentence on why it is not supported.
  template <class... Args>
  std::unexpected<Error> unsupported(fmt::format_string<Args...> format, Args&&... args) const {
    return fail_at(node_.label(), ErrorKind::kUnsupported, format, std::forward<Args>(args)...);
  }

 private:
  std::string fresh_name();
  int add(Value value);
  std::optional<std::vector<int>> folded(const te::Workload& expression,
                                         const std::vector<int>& inputs,
                                         const std::vector<Shape>& shapes);

  Graph& graph_;
  const onnx::Node& node_;
  std::int64_t version_;
  std::vector<int> inputs_;
  const MakeBody& make_body_;
};

// A row of the table: what the operator is called, from which version of ONNX's operators on it
// means what the function makes of it, how many inputs it must have, and the function.
struct Row {
  std::string name;
  std::int64_t since;
  std::size_t least_inputs;
  std::function<Made(Site&)> make;
};
const std::vector<Row>& rows();

}  // namespace lathe::graph
