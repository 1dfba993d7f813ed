#include "graph/passes/fuse.h"

#include <map>

#include "compiler/te/compose.h"
#include "graph/passes/groups.h"

namespace lathe::graph {
namespace {

// One node of several, each but the first with what those before it make.
class Fuser {
 public:
  Fuser(const Graph& graph, const std::vector<int>& members) : graph_(graph), members_(members) {}

  Result<Node> run() {
    for (const int n : members_) {
      whole_.parts.push_back(graph_.nodes[place(n)].expression);
      const int output = graph_.nodes[place(n)].outputs[0];
      part_of_[graph_.range_of(output)] = static_cast<int>(whole_.parts.size()) - 1;
    }
    for (int part = 0; part < static_cast<int>(members_.size()); ++part) add_inputs(part);
    const int last = static_cast<int>(members_.size()) - 1;
    whole_.outputs = {output_of(last)};
    const auto composed = te::compose(whole_);
    if (!composed) {
      Error error = composed.error();
      error.place = member(0).name;
      return std::unexpected(std::move(error));
    }
    return node_of(*composed);
  }

 private:
  const Node& member(int part) const { return graph_.nodes[place(members_[place(part)])]; }
  te::Workload& expression(int part) { return whole_.parts[place(part)]; }
  te::PartTensor output_of(int part) {
    te::Workload& made = expression(part);
    return {part, made.tensors[place(made.outputs()[0])].name};
  }

  void add_inputs(int part) {
    const std::vector<int> tensors = expression(part).inputs();
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const int value = member(part).inputs[i];
      const te::PartTensor input{part, expression(part).tensors[place(tensors[i])].name};
      const auto maker = part_of_.find(graph_.range_of(value));
      if (maker != part_of_.end()) connect(maker->second, input, tensors[i]);
      else add_outer(value, input, tensors[i]);
    }
  }

  // What is seen in another shape is seen as its elements in a row by both.
  void connect(int maker, const te::PartTensor& input, int tensor) {
    te::Workload& from = expression(maker);
    te::Tensor& made = from.tensors[place(from.outputs()[0])];
    te::Tensor& read = expression(input.part).tensors[place(tensor)];
    if (made.shape_at_border() != read.shape_at_border()) {
      see_in_a_row(made), see_in_a_row(read);
      for (const auto& edge : whole_.edges)
        if (edge.output.part == maker) {
          te::Workload& other = expression(edge.input.part);
          see_in_a_row(other.tensors[place(other.find(edge.input.tensor))]);
        }
    }
    whole_.edges.push_back({output_of(maker), input});
  }

  static void see_in_a_row(te::Tensor& tensor) {
    const Shape row = {elements_of(tensor.shape)};
    if (tensor.shape == row) tensor.border_shape.clear();
    else tensor.border_shape = row;
  }

  void add_outer(int value, const te::PartTensor& input, int tensor) {
    const te::Tensor& read = expression(input.part).tensors[place(tensor)];
    for (const auto& [known, other] : outer_) {
      const te::Workload& of = expression(other.part);
      if (known != value ||
          of.tensors[place(of.find(other.tensor))].shape_at_border() != read.shape_at_border())
        continue;
      whole_.alike.push_back({other, input});
      return;
    }
    outer_.emplace_back(value, input);
  }

  Node node_of(const te::Composed& composed) {
    Node node{composed.workload, {}, member(static_cast<int>(members_.size()) - 1).outputs, {}, {}};
    node.expression.name = member(0).expression.name;
    std::map<std::string, int> value_of;
    for (const auto& [value, input] : outer_) {
      const int tensor = expression(input.part).find(input.tensor);
      value_of[composed.names[place(input.part)][place(tensor)]] = value;
    }
    for (const int tensor : node.expression.inputs())
      node.inputs.push_back(value_of.at(node.expression.tensors[place(tensor)].name));
    node.name = member(0).name;
    for (const int n : members_) {
      if (!node.op.empty()) node.op += "+";
      node.op += graph_.nodes[place(n)].op;
    }
    return node;
  }

  const Graph& graph_;
  const std::vector<int>& members_;
  te::Composition whole_;
  std::map<Range, int> part_of_;                       // by what a member makes
  std::vector<std::pair<int, te::PartTensor>> outer_;  // values from outside, and who reads them
};

}  // namespace

Result<Node> merged(const Graph& graph, const std::vector<int>& members) {
  return Fuser(graph, members).run();
}

Status fuse(Graph& graph) {
  std::vector<Node> nodes;
  for (const std::vector<int>& group : groups_of(graph)) {
    if (group.size() == 1) nodes.push_back(graph.nodes[place(group[0])]);
    else nodes.push_back(LATHE_TRY(merged(graph, group)));
  }
  graph.nodes = std::move(nodes);
  drop_unused(graph);
  return {};
}

}  // namespace lathe::graph
