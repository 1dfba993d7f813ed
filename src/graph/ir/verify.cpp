#include <algorithm>
#include <set>

#include "graph/ir/graph.h"

namespace lathe::graph {
namespace {

std::string place_of(const Node& node) { return fmt::format("node '{}' ({})", node.name, node.op); }

class Verifier {
 public:
  explicit Verifier(const Graph& graph) : graph_(graph), made_(graph.values.size()) {}

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
      if (value.view_of) LATHE_TRY_STATUS(check_view(static_cast<int>(id)));
      if (!value.constant) continue;
      LATHE_TRY_STATUS(make(static_cast<int>(id), "the constants"));
      if (static_cast<std::int64_t>(value.constant->bytes.size()) != value.bytes())
        return fail_at("the graph", ErrorKind::kInvalidArgument,
                       "the constant '{}' has {} bytes, and its type {} takes {}", value.name,
                       value.constant->bytes.size(), typed(value.dtype, value.shape),
                       value.bytes());
    }
    return {};
  }

  Status check_view(int id) const {
    const Value& value = graph_.value(id);
    int of = id;
    for (std::size_t steps = 0; graph_.value(of).view_of; ++steps) {
      of = *graph_.value(of).view_of;
      if (!inside(of) || steps == graph_.values.size())
        return fail_at("the graph", ErrorKind::kInvalidArgument,
                       "'{}' is a view of itself, or of no value", value.name);
    }
    const Value& other = graph_.value(*value.view_of);
    if (other.dtype != value.dtype || value.constant || value.begin < 0 ||
        value.elements() > other.elements() - value.begin)
      return fail_at("the graph", ErrorKind::kInvalidArgument,
                     "'{}' is {} from element {} of '{}', which is {}", value.name,
                     typed(value.dtype, value.shape), value.begin, other.name,
                     typed(other.dtype, other.shape));
    return {};
  }

  Status make(int id, const std::string& place) {
    if (!inside(id)) return fail_at(place, ErrorKind::kInvalidArgument, "there is no value {}", id);
    const Range range = graph_.range_of(id);
    auto& made = made_[graph::place(range.storage)];
    if (std::ranges::any_of(made, [&](const Range& other) { return overlap(range, other); }))
      return fail_at(place, ErrorKind::kInvalidArgument, "the value '{}' is made twice",
                     graph_.value(id).name);
    made.insert(std::ranges::upper_bound(made, range), range);
    return {};
  }

  Status use(int id, const std::string& place) const {
    if (!inside(id)) return fail_at(place, ErrorKind::kInvalidArgument, "there is no value {}", id);
    const Range range = graph_.range_of(id);
    std::int64_t known = range.begin;
    for (const Range& made : made_[graph::place(range.storage)])
      if (made.begin <= known) known = std::max(known, made.end);
    if (known < range.end || made_[graph::place(range.storage)].empty())
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
  std::vector<std::vector<Range>> made_;  // by value that is no view, in order
};

}  // namespace

Status verify(const Graph& graph) { return Verifier(graph).run(); }

}  // namespace lathe::graph
