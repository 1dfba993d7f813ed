// What is asked of the axes of a stage, or of a tile's parts that were assigned to them.
#include <algorithm>

#include "tuner/space/rules/shared/axes.h"

namespace lathe::space {
namespace {

// So many results side by side are worth panels of weights: a narrower one would leave lanes idle.
constexpr std::int64_t kWorthPanels = 64;

}  // namespace

int last_spatial_of(const te::Stage& stage) {
  for (int i = static_cast<int>(stage.iters.size()); i-- > 0;)
    if (stage.iters[i].kind == te::IterKind::kSpatial) return i;
  return -1;
}

bool reads_near(const te::Stage& stage, int iter) {
  constexpr std::int64_t kNear = 4;  // as many loads as that bring them
  return std::ranges::all_of(ir::reads_of(stage.body), [&](const ir::Read* read) {
    if (!touches(read->index, iter)) return true;
    const auto rows = std::ranges::count_if(
        read->index, [&](const ir::Affine& r) { return r.coef_of(iter) != 0; });
    const std::int64_t apart = read->index.back().coef_of(iter);
    return rows == 1 && apart >= 1 && apart <= kNear;
  });
}

bool reads_as_they_lie(const te::Stage& stage, int iter) {
  return std::ranges::all_of(ir::reads_of(stage.body), [&](const ir::Read* read) {
    const auto rows = std::ranges::count_if(
        read->index, [&](const ir::Affine& r) { return r.coef_of(iter) != 0; });
    return rows == 0 || (rows == 1 && read->index.back().coef_of(iter) == 1);
  });
}

bool stores_across(const te::Workload& workload, const Axes& axes) {
  const te::Stage& stage = workload.stages[axes.stage];
  const int last = last_spatial_of(stage);
  return !layout_is_free(workload, stage.tensor) && stage.reduce != ir::ReduceOp::kNone &&
         axes.pixels.size() > 0 && axes.pixels[0] == last && axes.vector != last &&
         reads_near(stage, axes.vector) &&
         std::ranges::all_of(ir::reads_of(stage.body), [&](const ir::Read* read) {
           return touches(read->index, axes.vector) && touches(read->index, last);
         });
}

bool has_one_tap(const te::Stage& stage, const Axes& axes) {
  return std::ranges::all_of(axes.taps, [&](int tap) { return stage.iters[tap].extent == 1; });
}

bool has_panels(const te::Workload& workload, const te::Stage& stage, const Axes& axes) {
  const auto reads = ir::reads_of(stage.body);
  if (stage.reduce != ir::ReduceOp::kSum || reads.size() < 2) return false;
  const auto is_alone = [&](const ir::Read* weights, int i) {
    return dim_along(axes, weights->index, i) >= 0 &&
           std::ranges::none_of(reads, [&](const ir::Read* other) {
             return other != weights && touches(other->index, i);
           });
  };
  return std::ranges::any_of(reads, [&](const ir::Read* weights) {
    if (!workload.tensors[weights->tensor].constant || !all_plain(axes, weights->index))
      return false;
    for (int i = 0; i < static_cast<int>(stage.iters.size()); ++i)
      if (stage.iters[i].kind == te::IterKind::kSpatial && stage.iters[i].extent >= kWorthPanels &&
          is_alone(weights, i))
        return true;
    return false;
  });
}

bool has_phases(const Axes& axes) {
  return axes.pixels.size() == 2 && axes.weights != nullptr && axes.input != nullptr &&
         axes.pixels[1] + 1 == axes.pixels[0] && axes.vector != axes.pixels[0] &&
         touches(axes.weights->index, axes.pixels[0]) &&
         !touches(axes.input->index, axes.pixels[0]) &&
         !touches(axes.weights->index, axes.pixels[1]);
}

bool has_dots(const Axes& axes) {
  if (axes.pixels.size() != 2 || axes.weights == nullptr || axes.input == nullptr) return false;
  const auto in = [&](const ir::Read* read, int which) {
    return touches(read->index, axes.pixels[which]);
  };
  const bool first = in(axes.weights, 0);
  return touches(axes.input->index, axes.vector) && first != in(axes.input, 0) &&
         in(axes.weights, 1) != first && in(axes.input, 1) == first;
}

int read_along(const te::Stage& stage) {
  if (stage.reduce != ir::ReduceOp::kNone) return -1;
  for (const ir::Read* read : ir::reads_of(stage.body)) {
    if (read->index.empty() || read->index.back().terms.size() != 1) continue;
    const ir::AffineTerm& last = read->index.back().terms[0];
    const auto& iters = stage.iters;
    if (last.coef == 1 && iters[last.iter].extent > 1 &&
        last.iter + 1 != static_cast<int>(iters.size()) &&
        touches(read->index, static_cast<int>(iters.size()) - 1))
      return last.iter;
  }
  return -1;
}

}  // namespace lathe::space
