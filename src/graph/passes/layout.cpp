#include "graph/passes/layout.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "compiler/te/permute.h"
#include "graph/passes/aligned.h"

namespace lathe::graph {
namespace {

constexpr std::size_t kChannel = 1;       // the dimension of channels
constexpr std::size_t kFirstOfImage = 2;  // those after it are an image's

// [0,2,3,1] of rank 4.
std::vector<int> channels_last(std::size_t rank) {
  std::vector<int> order(rank);
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.begin() + kChannel, order.begin() + kFirstOfImage, order.end());
  return order;
}

const te::Tensor& tensor_of(const te::Workload& expression, int tensor) {
  return expression.tensors[place(tensor)];
}

// By dimension inside, the one that callers see.
std::vector<int> seen_dims(const te::Tensor& tensor) {
  const auto dims = te::merged_dims(tensor.shape, tensor.shape_at_border());
  LATHE_CHECK(dims);
  return *dims;
}

// True if every access of the tensors takes the batch and the channel of the element that is
// computed: a pooling, what is resized, a convolution of each channel.
bool keeps_channels(const te::Workload& expression, const std::set<int>& tensors) {
  for (const te::Stage& stage : expression.stages) {
    if (std::ranges::any_of(ir::lookups_of(stage.body),
                            [&](const ir::Lookup* l) { return tensors.contains(l->tensor); }))
      return false;
    for (const ir::Read* read : ir::reads_of(stage.body)) {
      if (!tensors.contains(read->tensor)) continue;
      if (tensor_of(expression, read->tensor).shape.size() !=
          tensor_of(expression, read->tensor).shape_at_border().size())
        return false;
      for (int d = 0; d < static_cast<int>(kFirstOfImage); ++d)
        if (read->index[place(d)] != ir::Affine::iter(d)) return false;
    }
  }
  return true;
}

// True if the read's indices in the image move with those of the element that is computed.
bool follows_image(const te::Workload& expression, const te::Stage& stage, const ir::Read& read) {
  const te::Tensor& from = tensor_of(expression, read.tensor);
  const std::vector<int> of = seen_dims(from),
                         made = seen_dims(tensor_of(expression, stage.tensor));
  if (from.shape_at_border().size() <= kFirstOfImage ||
      from.shape_at_border().size() !=
          tensor_of(expression, stage.tensor).shape_at_border().size())
    return false;
  for (std::size_t d = 0; d < read.index.size(); ++d) {
    if (of[d] < static_cast<int>(kFirstOfImage)) continue;
    const auto moves = [&](const ir::AffineTerm& term) {
      return term.iter < std::ssize(made) && made[place(term.iter)] == of[d];
    };
    if (std::ranges::none_of(read.index[d].terms, moves)) return false;
  }
  return true;
}

// True of a sum over products of an image with constant weights that do not depend on where in the
// image they are used.
bool is_convolution(const te::Workload& expression) {
  const te::Stage& stage = expression.stages.front();
  const auto* product = std::get_if<ir::Binary>(&stage.body->value);
  if (stage.reduce != ir::ReduceOp::kSum || product == nullptr ||
      product->op != ir::BinaryOp::kMul)
    return false;
  const auto* image = std::get_if<ir::Read>(&product->a->value);
  const auto* weight = std::get_if<ir::Read>(&product->b->value);
  if (image == nullptr || weight == nullptr) return false;
  if (tensor_of(expression, image->tensor).constant) std::swap(image, weight);
  const auto made = seen_dims(tensor_of(expression, stage.tensor));
  const auto of_image = [&](const ir::AffineTerm& term) {
    return term.iter < std::ssize(made) && made[place(term.iter)] >= static_cast<int>(kFirstOfImage);
  };
  const auto moves = [&](const ir::Affine& row) { return std::ranges::any_of(row.terms, of_image); };
  return tensor_of(expression, weight->tensor).constant &&
         std::ranges::none_of(weight->index, moves) && follows_image(expression, stage, *image);
}

class Layouts {
 public:
  explicit Layouts(Graph& graph) : graph_(graph), same_(graph.values.size()) {
    std::iota(same_.begin(), same_.end(), 0);
  }

  void run() {
    find_candidates();
    for (const Node& node : graph_.nodes) look_at(node);
    std::set<int> stay, wanted;
    for (const int v : pinned_) stay.insert(root(v));
    for (const int v : convolved_)
      if (!stay.contains(root(v))) wanted.insert(root(v));
    for (const int v : candidates_)
      if (wanted.contains(root(v))) last_.insert(v);
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
    std::vector<int> read;
    bool as_it_is = node.outputs.size() == 1;
    for (const auto& [value, tensor] : touched) {
      tensors.insert(tensor);
      if (expression.writer(tensor) == nullptr) read.push_back(tensor);
      as_it_is &= tensor_of(expression, tensor).shape_at_border() == graph_.value(value).shape;
    }
    as_it_is &= !copies_image(node);
    const bool convolution = as_it_is && is_convolution(expression);
    const bool aligned = as_it_is && !convolution && is_aligned(expression, read);
    if (!convolution && !aligned && !(as_it_is && keeps_channels(expression, tensors)))
      for (const auto& [value, tensor] : touched) pinned_.insert(value);
    for (const auto& [value, tensor] : touched) {
      if (convolution) convolved_.insert(value);
      if (aligned) same_[place(root(value))] = root(touched[0].first);
    }
    // What it reads and makes in one layout.
    if (aligned && !candidates_.contains(node.outputs[0]))
      for (const auto& [value, tensor] : touched) pinned_.insert(value);
  }

  void rewrite(Node& node) const {
    te::Workload& expression = node.expression;
    const std::size_t tensors = expression.tensors.size();
    std::vector<bool> moves(tensors, false);
    for (const auto& [value, tensor] : touched_by(node))
      if (last_.contains(value)) moves[place(tensor)] = true;
    const int output = expression.outputs()[0];
    const std::vector<int> of_output = order_of(tensor_of(expression, output));
    for (std::size_t t = 0; t < tensors; ++t) {
      const te::Tensor& tensor = expression.tensors[t];
      // What is computed on the way to the output lies as that does.
      const bool between = tensor.role == te::TensorRole::kIntermediate &&
                           tensor.shape.size() == of_output.size();
      if (between && moves[place(output)])
        te::permute_dims(expression, static_cast<int>(t), of_output);
      else if (moves[t]) te::permute_dims(expression, static_cast<int>(t), order_of(tensor));
    }
  }

  static std::vector<int> order_of(const te::Tensor& tensor) {
    const std::size_t rank = tensor.shape_at_border().size();
    if (rank <= kFirstOfImage) return {};
    return te::order_inside(tensor, channels_last(rank));
  }

  Graph& graph_;
  std::set<int> candidates_, pinned_, convolved_, last_;  // values
  std::vector<int> same_;  // by value: one that must have its layout, or itself
};

}  // namespace

Status layout(Graph& graph) {
  Layouts(graph).run();
  return {};
}

}  // namespace lathe::graph
