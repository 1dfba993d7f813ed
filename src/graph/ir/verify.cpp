#include <set>

#include "graph/ir/graph.h"

namespace lathe::graph {
namespace {

std::string place_of(const Node& node) { return fmt::format("node '{}' ({})", node.name, node.op); }

class Verifier {
 public:
  explicit Verifier(const Graph& graph) : graph_(graph), made_(graph.values.size(), false) {}

  Status run() {
    LATHE_TRY_STATUS(check_values());
    for (const int id : graph_.inputs) LATHE_TRY_STATUS(make(id, "the graph's inputs"));
    for (const Node& node : graph_.nodes) LATHE_TRY_STATUS(check_node(node));
    for (const int id : graph_.outputs) LATHE_TRY_STATUS(use(id, "the graph's outputs"));
    return {};
  }

 private:
  bool inside(int id) const {
    return id >= 0 && static_cast<std::size_t>(id) < graph_.values.size();
  }

  Status check_values() {
    std::set<std::string> names;
    for (std::size_t id = 0; id < graph_.values.size(); ++id) {
      const Value& value = graph_.values[id];
      if (!names.insert(value.name).second)
        return fail_at("the graph", ErrorKind::kInvalidArgument, "two values are named '{}'",
                       value.name);
      if (value.view_of && (*value.view_of < 0 || static_cast<std::size_t>(*value.view_of) >= id))
        return fail_at("the graph", ErrorKind::kInvalidArgument,
                       "'{}' is a view of a value that does not stand before it", value.name);
      if (value.view_of && (graph_.value(*value.view_of).elements() != value.elements() ||
                            graph_.value(*value.view_of).dtype != value.dtype))
        return fail_at("the graph", ErrorKind::kInvalidArgument,
                       "'{}' is a view of '{}', whose type or number of elements is another",
                       value.name, graph_.value(*value.view_of).name);
      if (!value.constant) continue;
      made_[id] = true;
      if (static_cast<std::int64_t>(value.constant->bytes.size()) != value.bytes())
        return fail_at("the graph", ErrorKind::kInvalidArgument,
                       "the constant '{}' has {} bytes, and its type {} takes {}", value.name,
                       value.constant->bytes.size(), typed(value.dtype, value.shape),
                       value.bytes());
    }
    return {};
  }

  Status make(int id, const std::string& place) {
    if (!inside(id)) return fail_at(place, ErrorKind::kInvalidArgument, "there is no value {}", id);
    if (graph_.value(id).view_of || made_[static_cast<std::size_t>(id)])
      return fail_at(place, ErrorKind::kInvalidArgument, "the value '{}' is made twice",
                     graph_.value(id).name);
    made_[static_cast<std::size_t>(id)] = true;
    return {};
  }

  Status use(int id, const std::string& place) const {
    if (!inside(id)) return fail_at(place, ErrorKind::kInvalidArgument, "there is no value {}", id);
    if (!made_[static_cast<std::size_t>(graph_.storage_of(id))])
      return fail_at(place, ErrorKind::kInvalidArgument,
                     "the value '{}' is used before something makes it", graph_.value(id).name);
    return {};
  }

  // What `ids` name, beside the tensors of the expression.
  Status agree(const Node& node, const std::vector<int>& ids, const std::vector<int>& tensors) {
    if (ids.size() != tensors.size())
      return fail_at(place_of(node), ErrorKind::kInvalidArgument,
                     "its expression has {} tensors there, the node has {} values", tensors.size(),
                     ids.size());
    for (std::size_t k = 0; k < ids.size(); ++k) {
      const Value& value = graph_.value(ids[k]);
      const te::Tensor& tensor = node.expression.tensors[static_cast<std::size_t>(tensors[k])];
      if (tensor.dtype != value.dtype || elements_of(tensor.shape) != value.elements())
        return fail_at(place_of(node), ErrorKind::kInvalidArgument,
                       "the value '{}' is {}, and '{}' of its expression {}", value.name,
                       typed(value.dtype, value.shape), tensor.name,
                       typed(tensor.dtype, tensor.shape));
    }
    return {};
  }

  Status check_node(const Node& node) {
    for (const int id : node.inputs) LATHE_TRY_STATUS(use(id, place_of(node)));
    for (const int id : node.outputs) LATHE_TRY_STATUS(make(id, place_of(node)));
    LATHE_TRY_STATUS(agree(node, node.inputs, node.expression.inputs()));
    return agree(node, node.outputs, node.expression.outputs());
  }

  const Graph& graph_;
  std::vector<bool> made_;
};

}  // namespace

Status verify(const Graph& graph) { return Verifier(graph).run(); }

}  // namespace lathe::graph
