#include "tuner/space/rules/cook_toom/image_sum.h"

#include <algorithm>
#include <utility>

#include "compiler/analysis/neighbours.h"
#include "tuner/space/rules/shared/axes.h"

namespace lathe::space {
namespace {

// The name of an iterator: stages of a view name loops, TENSOR.iterator.
std::string iter_name(const te::Stage& stage, int iter) {
  const std::string& loop = stage.iters[static_cast<std::size_t>(iter)].name;
  return loop.substr(loop.find('.') + 1);
}

// The axis of this tap, and the number of the iterator beside it.
std::optional<std::pair<ImageAxis, int>> axis_of(const te::Stage& stage, const ir::Read& input,
                                                 const ir::Read& filter, int tap) {
  const auto found = analysis::neighbours_of(input, filter, tap);
  if (!found) return {};
  const te::Iterator& result = stage.iters[static_cast<std::size_t>(found->result)];
  if (result.kind != te::IterKind::kSpatial ||
      std::ranges::any_of(found->shifts, [&](const ir::AffineTerm& shift) {
        return stage.iters[static_cast<std::size_t>(shift.iter)].kind != te::IterKind::kSpatial;
      }))
    return {};
  ImageAxis axis{iter_name(stage, found->result),
                 iter_name(stage, tap),
                 result.extent,
                 stage.iters[static_cast<std::size_t>(tap)].extent,
                 found->stride,
                 std::abs(found->dilation),
                 found->input_dim,
                 found->filter_dim,
                 static_cast<int>(found->shifts.size())};
  return std::pair(std::move(axis), found->result);
}

// The only dimension that the iterator goes through one by one, of a group or of all; -1: none.
int channel_dim(const std::vector<ir::Affine>& index, int iter) {
  int found = -1;
  for (int d = 0; d < static_cast<int>(index.size()); ++d) {
    const std::int64_t coef = index[static_cast<std::size_t>(d)].coef_of(iter);
    if (coef == 0) continue;
    if (found >= 0 || coef != 1) return -1;
    found = d;
  }
  return found;
}

template <class... Args>
std::unexpected<std::string> because(fmt::format_string<Args...> format, Args&&... args) {
  return std::unexpected(fmt::format(format, std::forward<Args>(args)...));
}

// Gives reductions their parts: those of image axes, with the number of the result beside each.
std::expected<std::vector<std::pair<int, ImageAxis>>, std::string> axes_of(const te::Stage& stage,
                                                                           const ir::Read& input,
                                                                           const ir::Read& filter,
                                                                           ImageSum& sum) {
  std::vector<std::pair<int, ImageAxis>> axes;
  for (int i = 0; i < static_cast<int>(stage.iters.size()); ++i) {
    if (stage.iters[static_cast<std::size_t>(i)].kind != te::IterKind::kReduce) continue;
    if (auto axis = axis_of(stage, input, filter, i)) {
      axes.emplace_back(axis->second, axis->first);
      continue;
    }
    const std::string name = iter_name(stage, i);
    if (!sum.channels.empty())
      return because("{} sums over {} and {}, of which one at most may be no tap beside a result",
                     sum.block, sum.channels, name);
    sum.channels = name;
    sum.channel_extent = stage.iters[static_cast<std::size_t>(i)].extent;
    sum.input_channels = channel_dim(input.index, i);
    sum.filter_channels = plain_dim(filter.index, i);
  }
  if (axes.empty())
    return because("{} has no neighbours, which are read at stride * result + dilation * tap",
                   sum.block);
  if (axes.size() > 2)
    return because("{} has taps along {} axes, not 1 or 2", sum.block, axes.size());
  if (sum.channels.empty()) return because("{} sums over taps only, not over channels", sum.block);
  if (sum.input_channels < 0 || sum.filter_channels < 0)
    return because("{} goes through no one dimension each of the input and the filter",
                   sum.channels);
  std::ranges::sort(axes, {}, &std::pair<int, ImageAxis>::first);
  return axes;
}

// Gives every iterator its part.
std::expected<ImageSum, std::string> parts_of(const te::Workload& view, const te::Stage& stage,
                                              const ir::Read& input, const ir::Read& filter) {
  ImageSum sum;
  sum.block = view.tensors[static_cast<std::size_t>(stage.tensor)].name;
  sum.input = view.tensors[static_cast<std::size_t>(input.tensor)].name;
  sum.input_dims = static_cast<int>(input.index.size());
  sum.filter_dims = static_cast<int>(filter.index.size());
  if (input.pad.value_or(0) != 0)
    return because("{} is read as {} outside of it, not as 0", sum.input, *input.pad);
  const te::Tensor& filter_tensor = view.tensors[static_cast<std::size_t>(filter.tensor)];
  if (filter.pad.value_or(0) != 0)
    return because("{} is read as {} outside of it, not as 0", filter_tensor.name, *filter.pad);
  auto axes = axes_of(stage, input, filter, sum);  // by result
  if (!axes) return std::unexpected(axes.error());
  for (const auto& [result, axis] : *axes) {
    const std::int64_t own = filter_tensor.shape[static_cast<std::size_t>(axis.filter_dim)];
    if (!axis.residues().may_use(axis.taps, own))
      return because("there are {} taps along {}, and {} has {}", axis.taps, axis.tap,
                     filter_tensor.name, own);
  }
  for (int i = 0; i < static_cast<int>(stage.iters.size()); ++i) {
    const te::Iterator& iter = stage.iters[static_cast<std::size_t>(i)];
    if (iter.kind != te::IterKind::kSpatial) continue;
    sum.result.push_back(iter_name(stage, i));
    if (std::ranges::find(*axes, i, &std::pair<int, ImageAxis>::first) != axes->end()) continue;
    const bool free = !touches(input.index, i) && plain_dim(filter.index, i) >= 0;
    if (free && iter.extent > sum.vector_extent) {
      if (!sum.vector.empty()) sum.outer.push_back(sum.vector);
      sum.vector = iter_name(stage, i);
      sum.vector_extent = iter.extent;
      sum.vector_dim = plain_dim(filter.index, i);
    } else {
      sum.outer.push_back(iter_name(stage, i));
    }
  }
  for (auto& [result, axis] : *axes) sum.axes.push_back(std::move(axis));
  for (int i = 0; i < static_cast<int>(stage.iters.size()); ++i) {
    if (std::ranges::count(sum.outer, iter_name(stage, i)) == 0) continue;
    const std::int64_t extent = stage.iters[static_cast<std::size_t>(i)].extent;
    sum.outer_extent *= extent;
    if (touches(input.index, i)) sum.input_extent *= extent;
  }
  if (sum.vector.empty())
    return because("{} has no channels of its own, which the filter has and the input has not",
                   sum.block);
  return sum;
}

}  // namespace

std::expected<ImageSum, std::string> image_sum_of(const te::Workload& view,
                                                  const te::Stage& stage) {
  const std::string& name = view.tensors[static_cast<std::size_t>(stage.tensor)].name;
  const auto* product = std::get_if<ir::Binary>(&stage.body->value);
  const bool multiplies = product != nullptr && product->op == ir::BinaryOp::kMul;
  const auto* a = multiplies ? std::get_if<ir::Read>(&product->a->value) : nullptr;
  const auto* b = multiplies ? std::get_if<ir::Read>(&product->b->value) : nullptr;
  const bool converts = multiplies && (std::holds_alternative<ir::Cast>(product->a->value) ||
                                       std::holds_alternative<ir::Cast>(product->b->value));
  if (stage.reduce == ir::ReduceOp::kSum && converts)
    return because("{} converts what it multiplies, where f32 or f64 are needed", name);
  if (stage.reduce != ir::ReduceOp::kSum || a == nullptr || b == nullptr)
    return because("{} is no sum of products of two tensors", name);
  if (stage.body->dtype != Dtype::kF32 && stage.body->dtype != Dtype::kF64)
    return because("{} sums up {}, not f32 or f64", name, name_of(stage.body->dtype));
  std::string why = fmt::format(
      "of the factors of {} none is constant, and to transform a filter in every call costs more "
      "than it saves",
      name);
  for (const auto& [input, filter] : {std::pair(a, b), std::pair(b, a)}) {
    // Transforming a filter that changes with every call costs more than it saves.
    if (!view.tensors[static_cast<std::size_t>(filter->tensor)].constant) continue;
    auto sum = parts_of(view, stage, *input, *filter);
    if (sum) return sum;
    why = std::move(sum.error());
  }
  return std::unexpected(std::move(why));
}

}  // namespace lathe::space
