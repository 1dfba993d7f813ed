#include "graph/passes/channels.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "compiler/interp/te_elements.h"
#include "graph/passes/aligned.h"

namespace lathe::graph {
namespace {

constexpr std::int64_t kMostFolded = 1'000'000;

enum class Degree { kFixed, kLinear, kOther };  // of a body in the elements of X

class ChannelFinder {
 public:
  ChannelFinder(const te::Workload& expression, int input)
      : expression_(expression), moving_{input} {}

  // Whether the output is X times a number plus a number; finds the axis that these depend on.
  bool find() {
    for (const te::Stage& stage : expression_.stages) {
      const auto read = ir::tensors_of(stage.body);
      if (std::ranges::none_of(read, [&](int t) { return moving_.contains(t); })) continue;
      stage_ = &stage;
      if (degree(stage.body) != Degree::kLinear) return false;
      moving_.insert(stage.tensor);
    }
    return axes_.size() <= 1;
  }
  std::optional<std::size_t> axis() const {
    if (axes_.empty()) return std::nullopt;
    return static_cast<std::size_t>(*axes_.begin());
  }

 private:
  Degree degree(const ir::Expr& e) {
    if (std::holds_alternative<ir::Const>(e->value)) return Degree::kFixed;
    if (const auto* read = std::get_if<ir::Read>(&e->value)) return degree(*read);
    if (const auto* unary = std::get_if<ir::Unary>(&e->value)) {
      const Degree x = degree(unary->x);
      return x == Degree::kLinear && unary->op != ir::UnaryOp::kNeg ? Degree::kOther : x;
    }
    const auto* binary = std::get_if<ir::Binary>(&e->value);
    return binary == nullptr ? Degree::kOther : degree(*binary);
  }

  Degree degree(const ir::Binary& binary) {
    using enum ir::BinaryOp;
    const Degree a = degree(binary.a), b = degree(binary.b);
    if (a == Degree::kOther || b == Degree::kOther) return Degree::kOther;
    if (a == Degree::kFixed && b == Degree::kFixed) return Degree::kFixed;
    const bool sum = binary.op == kAdd || binary.op == kSub;
    const bool scaled = binary.op == kMul && (a == Degree::kFixed || b == Degree::kFixed);
    const bool divided = binary.op == kDiv && b == Degree::kFixed;
    return sum || scaled || divided ? Degree::kLinear : Degree::kOther;
  }

  Degree degree(const ir::Read& read) {
    if (read.pad) return Degree::kOther;
    if (moving_.contains(read.tensor)) return Degree::kLinear;
    for (const ir::Affine& row : read.index) {
      if (row == ir::Affine::constant(0)) continue;
      if (row.terms.size() != 1 || row != ir::Affine::iter(row.terms[0].iter))
        return Degree::kOther;
      if (stage_->iters[static_cast<std::size_t>(row.terms[0].iter)].extent > 1)
        axes_.insert(row.terms[0].iter);
    }
    return Degree::kFixed;
  }

  const te::Workload& expression_;
  const te::Stage* stage_ = nullptr;
  std::set<int> moving_;  // X, and what follows from it
  std::set<int> axes_;
};

// The expression where every element of the input is that number.
te::Workload with_elements(te::Workload expression, int input, double number) {
  for (te::Stage& stage : expression.stages)
    stage.body = ir::rewrite_leaves(stage.body, [&](const ir::Expr& leaf) {
      const auto* read = std::get_if<ir::Read>(&leaf->value);
      return read != nullptr && read->tensor == input ? ir::constant(number, leaf->dtype) : leaf;
    });
  return expression;
}

// The first element of each channel.
std::optional<std::vector<double>> firsts_of(const te::Workload& expression,
                                             const std::vector<std::vector<double>>& inputs,
                                             std::optional<std::size_t> axis) {
  interp::Elements elements(
      expression, std::vector<std::span<const double>>(inputs.begin(), inputs.end()), kMostFolded);
  const int output = expression.outputs()[0];
  const Shape& shape = expression.tensors[place(output)].shape;
  std::int64_t stride = 1, channels = 1;
  if (axis) {
    channels = shape[*axis];
    for (std::size_t d = *axis + 1; d < shape.size(); ++d) stride *= shape[d];
  }
  std::vector<double> out;
  for (std::int64_t c = 0; c < channels; ++c) {
    const auto value = elements.at(output, c * stride);
    if (!value || !std::isfinite(value->value)) return std::nullopt;
    out.push_back(value->value);
  }
  return out;
}

}  // namespace

std::optional<Channels> channels_of(const Graph& graph, const Node& node, std::size_t input) {
  const std::vector<int> tensors = node.expression.inputs();
  if (node.outputs.size() != 1 || !is_aligned(node.expression, {tensors[input]})) return {};
  std::vector<std::vector<double>> inputs(tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Value& value = graph.value(node.inputs[i]);
    if (i == input) continue;
    if (!value.constant || value.elements() > kMostFolded) return {};
    inputs[i] = numbers_of(value);
  }
  ChannelFinder finder(node.expression, tensors[input]);
  if (!finder.find()) return {};
  const auto at = [&](double number) {
    return firsts_of(with_elements(node.expression, tensors[input], number), inputs, finder.axis());
  };
  auto zero = at(0);
  const auto one = at(1);
  if (!zero || !one) return {};
  Channels out{finder.axis(), {}, std::move(*zero)};
  for (std::size_t c = 0; c < one->size(); ++c) out.factor.push_back((*one)[c] - out.summand[c]);
  return out;
}

}  // namespace lathe::graph
