#include "graph/passes/fold.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include <fmt/ranges.h>

#include "compiler/te/parse.h"
#include "graph/passes/channels.h"

namespace lathe::graph {
namespace {

// A sum of products with constant weights, perhaps with a bias: by places among the inputs.
struct WeightedSum {
  std::size_t weight = 0, weight_axis = 0;  // the channels of the weight
  std::optional<std::size_t> bias;
};

// The number of the channel along `axis` as callers see the output, by the stage's iterators.
ir::Affine channel_of(const te::Workload& expression, std::size_t axis) {
  const te::Tensor& output = expression.tensors[place(expression.outputs()[0])];
  const auto dims = te::merged_dims(output.shape, output.shape_at_border());
  LATHE_CHECK(dims);
  ir::Affine channel;
  std::int64_t stride = 1;
  for (std::size_t d = output.shape.size(); d-- > 0;) {
    if (static_cast<std::size_t>((*dims)[d]) != axis) continue;
    channel = channel + ir::Affine::iter(static_cast<int>(d), stride);
    stride *= output.shape[d];
  }
  return channel;
}

class SumFinder {
 public:
  SumFinder(const Graph& graph, const Node& node, const ir::Affine& channel)
      : graph_(graph), node_(node), expression_(node.expression), channel_(channel) {}

  std::optional<WeightedSum> run() {
    const auto& stages = expression_.stages;
    if (stages.empty() || stages.size() > 2 || !find_weight(stages[0])) return std::nullopt;
    if (stages.size() == 2 && !find_bias(stages[0], stages[1])) return std::nullopt;
    return found_;
  }

 private:
  // The place of a constant input that is read there; none of anything else.
  std::optional<std::size_t> constant_read(const ir::Expr& e) const {
    const auto* read = std::get_if<ir::Read>(&e->value);
    if (read == nullptr) return std::nullopt;
    const std::vector<int> tensors = expression_.inputs();
    const auto at = std::ranges::find(tensors, read->tensor) - tensors.begin();
    if (at == std::ssize(tensors)) return std::nullopt;
    const auto input = static_cast<std::size_t>(at);
    if (!graph_.value(node_.inputs[input]).constant) return std::nullopt;
    return input;
  }

  bool find_weight(const te::Stage& stage) {
    const auto* product = std::get_if<ir::Binary>(&stage.body->value);
    if (stage.reduce != ir::ReduceOp::kSum || product == nullptr ||
        product->op != ir::BinaryOp::kMul)
      return false;
    for (const auto& [weight, other] :
         {std::pair(product->b, product->a), std::pair(product->a, product->b)}) {
      const auto input = constant_read(weight);
      if (!input) continue;
      const auto& read = std::get<ir::Read>(weight->value);
      const auto row = std::ranges::find(read.index, channel_);
      if (row == read.index.end() || std::ranges::count(ir::tensors_of(other), read.tensor) > 0)
        continue;
      found_.weight = *input;
      found_.weight_axis = static_cast<std::size_t>(row - read.index.begin());
      return true;
    }
    return false;
  }

  bool find_bias(const te::Stage& sum, const te::Stage& stage) {
    const auto* add = std::get_if<ir::Binary>(&stage.body->value);
    if (stage.reduce != ir::ReduceOp::kNone || add == nullptr || add->op != ir::BinaryOp::kAdd ||
        expression_.tensors[place(sum.tensor)].shape !=
            expression_.tensors[place(stage.tensor)].shape)
      return false;
    for (const auto& [made, other] : {std::pair(add->a, add->b), std::pair(add->b, add->a)}) {
      const auto* read = std::get_if<ir::Read>(&made->value);
      const auto input = constant_read(other);
      if (read == nullptr || read->tensor != sum.tensor || !input || *input == found_.weight)
        continue;
      for (std::size_t d = 0; d < read->index.size(); ++d)
        if (read->index[d] != ir::Affine::iter(static_cast<int>(d))) return false;
      if (std::get<ir::Read>(other->value).index != std::vector{channel_}) return false;
      found_.bias = input;
      return true;
    }
    return false;
  }

  const Graph& graph_;
  const Node& node_;
  const te::Workload& expression_;
  const ir::Affine& channel_;
  WeightedSum found_;
};

// Elements of a constant, each row along `axis` times its factor.
template <class T>
Data scaled(const Data& data, const Shape& shape, std::size_t axis, const Channels& by) {
  std::vector<std::byte> bytes(data.bytes.begin(), data.bytes.end());
  std::size_t inner = 1, e = 0;
  for (std::size_t d = axis + 1; d < shape.size(); ++d) inner *= static_cast<std::size_t>(shape[d]);
  const std::size_t count = bytes.size() / sizeof(T);
  for (std::size_t row = 0; e < count; ++row) {
    const double factor = by.factor_of(row % static_cast<std::size_t>(shape[axis]));
    for (std::size_t k = 0; k < inner; ++k, ++e) {
      T element;
      std::memcpy(&element, bytes.data() + e * sizeof(T), sizeof(T));
      element = static_cast<T>(element * factor);
      std::memcpy(bytes.data() + e * sizeof(T), &element, sizeof(T));
    }
  }
  return Data::own(std::move(bytes));
}

class Folder {
 public:
  explicit Folder(Graph& graph)
      : graph_(graph), readers_(graph.values.size(), 0), gone_(graph.nodes.size(), false) {
    for (const Value& value : graph.values) names_.insert(value.name);
    for (const Node& node : graph.nodes)
      for (const int id : node.inputs) ++readers_[place(graph.storage_of(id))];
    for (const int id : graph.outputs) ++readers_[place(graph.storage_of(id))];
  }

  Status run() {
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      LATHE_TRY_STATUS(fold_into_maker(n));
      if (!gone_[n])
        for (const int id : graph_.nodes[n].outputs) maker_[graph_.range_of(id)] = n;
    }
    std::vector<Node> kept;
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n)
      if (!gone_[n]) kept.push_back(std::move(graph_.nodes[n]));
    graph_.nodes = std::move(kept);
    drop_unused(graph_);
    return {};
  }

 private:
  Status fold_into_maker(std::size_t n) {
    Node& node = graph_.nodes[n];
    const std::vector<int> tensors = node.expression.inputs();
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const Range range = graph_.range_of(node.inputs[i]);
      const auto maker = maker_.find(range);
      if (maker == maker_.end() || readers_[place(range.storage)] != 1) continue;
      Node& sum = graph_.nodes[maker->second];
      const te::Tensor& seen = node.expression.tensors[place(tensors[i])];
      const Dtype dtype = seen.dtype;
      if ((dtype != Dtype::kF32 && dtype != Dtype::kF64) || sum.outputs.size() != 1) return {};
      const te::Tensor& made = sum.expression.tensors[place(sum.expression.outputs()[0])];
      if (made.shape_at_border() != seen.shape || !seen.border_shape.empty() ||
          graph_.value(node.outputs[0]).view_of)
        return {};
      const auto channels = channels_of(graph_, node, i);
      if (channels) return fold(maker->second, n, *channels);
    }
    return {};
  }

  Status fold(std::size_t maker, std::size_t n, const Channels& channels) {
    Node& sum = graph_.nodes[maker];
    const Shape shape =
        sum.expression.tensors[place(sum.expression.outputs()[0])].shape_at_border();
    std::optional<WeightedSum> found;
    std::size_t axis = channels.axis.value_or(0);
    for (; !found && axis < shape.size(); ++axis) {
      found = SumFinder(graph_, sum, channel_of(sum.expression, axis)).run();
      if (found || channels.axis) break;
    }
    const auto is = [](double number) { return [=](double other) { return other == number; }; };
    const bool scales = !std::ranges::all_of(channels.factor, is(1)),
               shifts = !std::ranges::all_of(channels.summand, is(0));
    if (!found || (!scales && !found->bias)) return {};
    if (scales) scale_weight(sum, *found, channels);
    if (found->bias) change_bias(sum, *found->bias, channels);
    if (shifts && !found->bias)
      return shift(graph_.nodes[n], sum.outputs[0], shape, axis, channels);
    sum.outputs = graph_.nodes[n].outputs;
    maker_[graph_.range_of(sum.outputs[0])] = maker;
    gone_[n] = true;
    return {};
  }

  int add_constant(const std::string& like, Dtype dtype, Shape shape, Data data) {
    std::string name = like + "_folded";
    for (int k = 2; !names_.insert(name).second; ++k) name = fmt::format("{}_folded_{}", like, k);
    graph_.values.push_back({name, dtype, std::move(shape), std::move(data), {}});
    return static_cast<int>(graph_.values.size()) - 1;
  }

  void scale_weight(Node& sum, const WeightedSum& found, const Channels& channels) {
    const Value weight = graph_.value(sum.inputs[found.weight]);
    const Shape& shape = sum.expression.tensors[place(sum.expression.inputs()[found.weight])].shape;
    const auto scale = weight.dtype == Dtype::kF32 ? scaled<float> : scaled<double>;
    sum.inputs[found.weight] =
        add_constant(weight.name, weight.dtype, weight.shape,
                     scale(*weight.constant, shape, found.weight_axis, channels));
  }

  void change_bias(Node& sum, std::size_t input, const Channels& channels) {
    const Value bias = graph_.value(sum.inputs[input]);
    std::vector<double> numbers = numbers_of(bias);
    for (std::size_t c = 0; c < numbers.size(); ++c)
      numbers[c] = numbers[c] * channels.factor_of(c) + channels.summand_of(c);
    sum.inputs[input] =
        add_constant(bias.name, bias.dtype, bias.shape, Data::of(bias.dtype, numbers));
  }

  // The node becomes the bias.
  Status shift(Node& node, int from, const Shape& shape, std::size_t axis,
               const Channels& channels) {
    std::vector<std::string> at;
    for (std::size_t d = 0; d < shape.size(); ++d) at.push_back(fmt::format("i{}", d));
    const Dtype dtype = graph_.value(from).dtype;
    std::vector<double> numbers;
    for (std::size_t c = 0; c < static_cast<std::size_t>(shape[axis]); ++c)
      numbers.push_back(channels.summand_of(c));
    node.expression = LATHE_TRY(te::parse_workload(
        fmt::format("X: {0}[{1}]; const B: {0}[{2}]; Y[{3}] = X[{3}] + B[i{4}]", name_of(dtype),
                    fmt::join(shape, ","), shape[axis], fmt::join(at, ","), axis)));
    node.inputs = {from, add_constant(node.name, dtype, {shape[axis]}, Data::of(dtype, numbers))};
    return {};
  }

  Graph& graph_;
  std::vector<int> readers_;  // by value that is no view: how often it is read
  std::vector<bool> gone_;    // by node
  std::map<Range, std::size_t> maker_;
  std::set<std::string> names_;
};

}  // namespace

Status fold(Graph& graph) { return Folder(graph).run(); }

}  // namespace lathe::graph
