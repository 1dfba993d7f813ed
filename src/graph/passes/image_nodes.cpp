#include "graph/passes/image_nodes.h"

#include <algorithm>

namespace lathe::graph {
namespace {

constexpr std::int64_t kFewChannels = 8;  // that are computed: lanes do not run along these
constexpr double kMove = 50;              // an element that is put where its channel is

const te::Tensor& tensor_of(const te::Workload& expression, int tensor) {
  return expression.tensors[place(tensor)];
}

// By dimension inside, the one that callers see.
std::vector<int> seen_dims(const te::Tensor& tensor) {
  const auto dims = te::merged_dims(tensor.shape, tensor.shape_at_border());
  LATHE_CHECK(dims);
  return *dims;
}

// True if the read's indices in the image move with those of the element that is computed.
bool follows_image(const te::Workload& expression, const te::Stage& stage, const ir::Read& read) {
  const te::Tensor &from = tensor_of(expression, read.tensor),
                   &to = tensor_of(expression, stage.tensor);
  const std::size_t rank = from.shape_at_border().size();
  if (rank <= kFirstOfImage || rank != to.shape_at_border().size()) return false;
  const std::vector<int> of = seen_dims(from), made = seen_dims(to);
  for (std::size_t d = 0; d < read.index.size(); ++d) {
    if (of[d] < static_cast<int>(kFirstOfImage)) continue;
    const auto moves = [&](const ir::AffineTerm& term) {
      return term.iter < std::ssize(made) && made[place(term.iter)] == of[d];
    };
    if (std::ranges::none_of(read.index[d].terms, moves)) return false;
  }
  return true;
}

double iterations(const te::Stage& stage, bool spatial_alone) {
  double count = 1;
  for (const te::Iterator& iter : stage.iters)
    if (iter.kind == te::IterKind::kSpatial || !spatial_alone)
      count *= static_cast<double>(iter.extent);
  return count;
}

// The image that a convolution reads, and the weights.
struct Convolved {
  const ir::Read *image = nullptr, *weight = nullptr;
};
Convolved convolved_by(const te::Workload& expression, const te::Stage& stage) {
  const auto* product = std::get_if<ir::Binary>(&stage.body->value);
  if (stage.reduce != ir::ReduceOp::kSum || product == nullptr || product->op != ir::BinaryOp::kMul)
    return {};
  Convolved out{std::get_if<ir::Read>(&product->a->value),
                std::get_if<ir::Read>(&product->b->value)};
  if (out.image == nullptr || out.weight == nullptr) return {};
  if (tensor_of(expression, out.image->tensor).constant) std::swap(out.image, out.weight);
  return tensor_of(expression, out.weight->tensor).constant ? out : Convolved{};
}

// The channels that a convolution makes, all groups together.
std::int64_t channels_made(const te::Tensor& result) {
  const std::vector<int> seen = seen_dims(result);
  std::int64_t channels = 1;
  for (std::size_t d = 0; d < seen.size(); ++d)
    if (seen[d] == static_cast<int>(kChannel)) channels *= result.shape[d];
  return channels;
}

// True of windows of three and more elements along each of several axes that go on by one, between
// many channels: Cook-Toom algorithms multiply less often.
bool is_transformed(const te::Stage& stage, const ir::Read& image, std::size_t made_dims,
                    std::int64_t channels) {
  constexpr std::int64_t kMany = 32, kTaps = 3;
  std::size_t axes = 0;
  for (std::size_t d = kFirstOfImage; d < image.index.size(); ++d) {
    const auto slides = [&](const ir::AffineTerm& term) {
      return term.coef == 1 &&
             (place(term.iter) < made_dims || stage.iters[place(term.iter)].extent >= kTaps);
    };
    const auto& terms = image.index[d].terms;
    axes += terms.size() == 2 && std::ranges::all_of(terms, slides) ? 1 : 0;
  }
  // The channels that are summed up come first of what is reduced.
  return axes == image.index.size() - kFirstOfImage && axes > 1 && channels >= kMany &&
         stage.iters[made_dims].extent >= kMany;
}

}  // namespace

bool keeps_channels(const te::Workload& expression, const std::set<int>& tensors) {
  for (const te::Stage& stage : expression.stages) {
    const auto asks = [&](const ir::Lookup* l) { return tensors.contains(l->tensor); };
    if (std::ranges::any_of(ir::lookups_of(stage.body), asks)) return false;
    for (const ir::Read* read : ir::reads_of(stage.body)) {
      if (!tensors.contains(read->tensor)) continue;
      if (read->index.size() != tensor_of(expression, read->tensor).shape_at_border().size())
        return false;
      for (int d = 0; d < static_cast<int>(kFirstOfImage); ++d)
        if (read->index[place(d)] != ir::Affine::iter(d)) return false;
    }
  }
  return true;
}

bool is_convolution(const te::Workload& expression) {
  const te::Stage& stage = expression.stages.front();
  const auto [image, weight] = convolved_by(expression, stage);
  if (image == nullptr) return false;
  const auto made = seen_dims(tensor_of(expression, stage.tensor));
  // Phases of a transposed convolution are a part of a dimension.
  const auto of_image = [&](const ir::AffineTerm& term) {
    return term.iter < std::ssize(made) &&
           made[place(term.iter)] >= static_cast<int>(kFirstOfImage) &&
           std::ranges::count(made, made[place(term.iter)]) == 1;
  };
  const auto moves = [&](const ir::Affine& row) {
    return std::ranges::any_of(row.terms, of_image);
  };
  return std::ranges::none_of(weight->index, moves) && follows_image(expression, stage, *image);
}

// As measured with vectors of 512 and of 256 bits, on images from 7x7 to 224x224.
Between convolution_between(const te::Workload& expression, int read, int made) {
  constexpr double kLast = 0.88, kBegun = 0.92;  // of the time where channels are not last
  constexpr double kTurned = 1.05;               // the same, where pixels are read one by one
  constexpr double kFew = 5;                     // times as long, where lanes have no axis
  // Of the time as above, by Cook-Toom algorithms; and the shares of that.
  constexpr double kTransformed = 0.4, kTransformedBegun = 0.98, kTransformedLast = 0.96;
  const te::Stage& stage = expression.stages.front();
  const double terms = iterations(stage, false);
  if (keeps_channels(expression, {convolved_by(expression, stage).image->tensor})) {
    Between out = pooling_between(expression, read, made);
    out.cost[0][0] += terms;
    return out;
  }
  const te::Tensor& result = tensor_of(expression, stage.tensor);
  const double elements = iterations(stage, true);
  bool one_tap = true;  // the channels come first
  for (std::size_t i = result.shape.size() + 1; i < stage.iters.size(); ++i)
    one_tap &= stage.iters[i].extent == 1;
  const std::int64_t channels = channels_made(result);
  const bool few = channels < kFewChannels;
  // Of a transposed convolution, whose tiles store rows of planes.
  const bool phases = result.shape.size() != result.shape_at_border().size();
  Between out{read, made};
  const Convolved convolved = convolved_by(expression, stage);
  if (is_transformed(stage, *convolved.image, result.shape.size(), channels)) {
    const double cost[2][2] = {{1, kTransformedBegun}, {kTransformedBegun, kTransformedLast}};
    for (const int from : {0, 1})
      for (const int to : {0, 1}) out.cost[from][to] = kTransformed * terms * cost[from][to];
    return out;
  }
  out.cost[0][0] = terms;
  out.cost[0][1] = terms * (one_tap ? kTurned : kBegun);
  out.cost[1][0] = terms * (few ? kFew : 1) + (one_tap && !phases ? kMove * elements : 0);
  out.cost[1][1] = terms * (few ? kFew : kLast);
  return out;
}

Between pooling_between(const te::Workload& expression, int read, int made) {
  const double elements = kMove * iterations(expression.stages.front(), true);
  Between out{read, made};
  out.cost[0][1] = out.cost[1][0] = elements;
  return out;
}

}  // namespace lathe::graph
