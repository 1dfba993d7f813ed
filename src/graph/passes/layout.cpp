#include "graph/passes/layout.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "compiler/te/permute.h"
#include "graph/passes/aligned.h"
#include "graph/passes/image_nodes.h"

namespace lathe::graph {
namespace {

// [0,2,3,1] of rank 4.
std::vector<int> channels_last(std::size_t rank) {
  std::vector<int> order(rank);
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.begin() + kChannel, order.begin() + kFirstOfImage, order.end());
  return order;
}

// The order inside a tensor; none of what is no image.
std::vector<int> order_of(const te::Tensor& tensor) {
  const std::size_t rank = tensor.shape_at_border().size();
  if (rank <= kFirstOfImage) return {};
  return te::order_inside(tensor, channels_last(rank));
}

// Which values lie channels last, so that nodes between them cost least: one value after the other
// is changed as long as that gains, from two beginnings.
class Choice {
 public:
  explicit Choice(const std::vector<Between>& nodes) : nodes_(nodes) {
    for (std::size_t n = 0; n < nodes.size(); ++n)
      for (const int value : {nodes[n].read, nodes[n].made})
        if (value >= 0) touch_[value].push_back(n);
  }

  std::set<int> find() {
    std::set<int> all;
    for (const auto& [value, nodes] : touch_) all.insert(value);
    std::set<int> one = improved({}), other = improved(std::move(all));
    return cost(other) < cost(one) ? other : one;
  }

 private:
  std::set<int> improved(std::set<int> last) const {
    constexpr int kSweeps = 20;
    bool changed = true;
    for (int sweep = 0; changed && sweep < kSweeps; ++sweep) {
      changed = false;
      for (const auto& [value, nodes] : touch_) {
        const double before = cost(nodes, last);
        flip(last, value);
        if (cost(nodes, last) < before) changed = true;
        else flip(last, value);
      }
    }
    return last;
  }

  static void flip(std::set<int>& last, int value) {
    if (last.erase(value) == 0) last.insert(value);
  }

  double cost(const Between& node, const std::set<int>& last) const {
    return node.cost[last.contains(node.read)][last.contains(node.made)];
  }
  double cost(const std::vector<std::size_t>& nodes, const std::set<int>& last) const {
    double sum = 0;
    for (const std::size_t n : nodes) sum += cost(nodes_[n], last);
    return sum;
  }
  double cost(const std::set<int>& last) const {
    double sum = 0;
    for (const Between& node : nodes_) sum += cost(node, last);
    return sum;
  }

  const std::vector<Between>& nodes_;
  std::map<int, std::vector<std::size_t>> touch_;  // by value, nodes
};

class Layouts {
 public:
  explicit Layouts(Graph& graph) : graph_(graph), same_(graph.values.size()) {
    std::iota(same_.begin(), same_.end(), 0);
  }

  void run() {
    find_candidates();
    for (const Node& node : graph_.nodes) look_at(node);
    std::set<int> stay;
    for (const int v : pinned_) stay.insert(root(v));
    for (Between& node : between_)
      for (int* value : {&node.read, &node.made})
        if (*value >= 0) *value = stay.contains(root(*value)) ? -1 : root(*value);
    const std::set<int> roots = Choice(between_).find();
    for (const int v : candidates_)
      if (roots.contains(root(v))) last_.insert(v);
    for (Node& node : graph_.nodes) rewrite(node);
    for (const int v : last_) {
      Shape& shape = graph_.values[place(v)].shape;
      std::rotate(shape.begin() + kChannel, shape.begin() + kFirstOfImage, shape.end());
    }
  }

 private:
  // Values of several channels and pixels that nothing sees otherwise.
  void find_candidates() {
    std::set<int> seen(graph_.inputs.begin(), graph_.inputs.end());
    seen.insert(graph_.outputs.begin(), graph_.outputs.end());
    for (const Value& value : graph_.values)
      if (value.view_of) seen.insert(*value.view_of);
    for (int v = 0; v < static_cast<int>(graph_.values.size()); ++v) {
      const Value& value = graph_.value(v);
      if (seen.contains(v) || value.view_of || value.constant ||
          value.shape.size() <= kFirstOfImage)
        continue;
      const std::int64_t channels = value.shape[kChannel];
      if (channels > 1 && value.elements() > channels * value.shape[0]) candidates_.insert(v);
    }
  }

  int root(int v) {
    while (same_[place(v)] != v) v = same_[place(v)] = same_[place(same_[place(v)])];
    return v;
  }

  // The candidates that the node touches, and as which tensors.
  std::vector<std::pair<int, int>> touched_by(const Node& node) const {
    std::vector<std::pair<int, int>> out;
    const auto add = [&](const std::vector<int>& values, const std::vector<int>& tensors) {
      for (std::size_t i = 0; i < values.size(); ++i)
        if (candidates_.contains(values[i])) out.emplace_back(values[i], tensors[i]);
    };
    add(node.inputs, node.expression.inputs());
    add(node.outputs, node.expression.outputs());
    return out;
  }

  // True of what is computed element by element of an image that stays as it is: that, laid out
  // anew, would be all its work.
  bool copies_image(const Node& node) const {
    if (!is_pointwise(node.expression)) return false;
    const std::int64_t made = graph_.value(node.outputs[0]).elements();
    return std::ranges::any_of(node.inputs, [&](int id) {
      return !candidates_.contains(id) && !graph_.value(id).constant &&
             graph_.value(id).elements() == made;
    });
  }

  void look_at(const Node& node) {
    const auto touched = touched_by(node);
    const te::Workload& expression = node.expression;
    std::set<int> tensors;
    std::vector<int> read;  // tensors
    bool may_follow = node.outputs.size() == 1 && !copies_image(node);
    for (const auto& [value, tensor] : touched) {
      tensors.insert(tensor);
      if (expression.writer(tensor) == nullptr) read.push_back(tensor);
      may_follow &=
          expression.tensors[place(tensor)].shape_at_border() == graph_.value(value).shape;
    }
    if (touched.empty()) return;
    const bool made = candidates_.contains(node.outputs[0]);
    if (may_follow && is_convolution(expression))
      between_.push_back(convolution_between(expression, value_read(touched, expression),
                                             made ? node.outputs[0] : -1));
    else if (may_follow && made && is_aligned(expression, read))
      for (const auto& [value, tensor] : touched)
        same_[place(root(value))] = root(touched[0].first);
    else if (may_follow && !is_pointwise(expression) && keeps_channels(expression, tensors))
      between_.push_back(pooling_between(expression, value_read(touched, expression),
                                         made ? node.outputs[0] : -1));
    else
      for (const auto& [value, tensor] : touched) pinned_.insert(value);
  }

  // The candidate that the node reads; -1: none.
  static int value_read(const std::vector<std::pair<int, int>>& touched,
                        const te::Workload& expression) {
    for (const auto& [value, tensor] : touched)
      if (expression.writer(tensor) == nullptr) return value;
    return -1;
  }

  void rewrite(Node& node) const {
    te::Workload& expression = node.expression;
    const std::size_t tensors = expression.tensors.size();
    std::vector<bool> moves(tensors, false);
    for (const auto& [value, tensor] : touched_by(node))
      if (last_.contains(value)) moves[place(tensor)] = true;
    const int output = expression.outputs()[0];
    const std::vector<int> of_output = order_of(expression.tensors[place(output)]);
    for (std::size_t t = 0; t < tensors; ++t) {
      const te::Tensor& tensor = expression.tensors[t];
      // What is computed on the way to the output lies as that does.
      const bool between =
          tensor.role == te::TensorRole::kIntermediate && tensor.shape.size() == of_output.size();
      if (between && moves[place(output)])
        te::permute_dims(expression, static_cast<int>(t), of_output);
      else if (moves[t]) te::permute_dims(expression, static_cast<int>(t), order_of(tensor));
    }
  }

  Graph& graph_;
  std::set<int> candidates_, pinned_, last_;  // values
  std::vector<Between> between_;
  std::vector<int> same_;  // by value: one that must have its layout, or itself
};

}  // namespace

Status layout(Graph& graph) {
  Layouts(graph).run();
  return {};
}

}  // namespace lathe::graph
