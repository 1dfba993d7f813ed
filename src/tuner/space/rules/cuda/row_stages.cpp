#include "tuner/space/rules/cuda/row_stages.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "tuner/space/rules/shared/axes.h"

namespace lathe::space {
namespace {

constexpr std::int64_t kVectorBytes = 16;

// Axes that stages have in common: iterators and dimensions that go through the same coordinates.
class CommonAxes {
 public:
  CommonAxes(const te::Workload& view, const std::vector<std::size_t>& stages)
      : view_(view), stages_(stages) {
    std::size_t count = 0;
    for (const te::Tensor& tensor : view.tensors) {
      tensor_at_.push_back(count);
      count += tensor.shape.size();
    }
    for (const te::Stage& stage : view.stages) {
      stage_at_.push_back(count);
      count += stage.iters.size();
    }
    above_.resize(count);
    std::iota(above_.begin(), above_.end(), 0U);
  }

  // False where a tensor is read otherwise than element by element.
  bool join_all() {
    for (const std::size_t s : stages_) {
      const te::Stage& stage = view_.stages[s];
      if (!join(s, stage.tensor, written_index(stage))) return false;
      for (const ir::Read* read : ir::reads_of(stage.body))
        if (read->pad || !join(s, read->tensor, read->index)) return false;
    }
    return true;
  }
  std::size_t of_iter(std::size_t stage, std::size_t iter) const {
    return find(stage_at_[stage] + iter);
  }
  std::size_t of_dim(int tensor, std::size_t dim) const {
    return find(tensor_at_[static_cast<std::size_t>(tensor)] + dim);
  }

 private:
  std::size_t find(std::size_t node) const {
    while (above_[node] != node) node = above_[node];
    return node;
  }
  bool join(std::size_t stage, int tensor, const std::vector<ir::Affine>& index) {
    for (std::size_t d = 0; d < index.size(); ++d) {
      if (index[d].terms.empty() && index[d].offset == 0) continue;  // of one element
      if (index[d].terms.size() != 1 || index[d] != ir::Affine::iter(index[d].terms[0].iter))
        return false;
      const auto iter = static_cast<std::size_t>(index[d].terms[0].iter);
      above_[of_iter(stage, iter)] = of_dim(tensor, d);
    }
    return true;
  }

  const te::Workload& view_;
  const std::vector<std::size_t>& stages_;
  std::vector<std::size_t> tensor_at_, stage_at_, above_;
};

class RowFinder {
 public:
  RowFinder(const te::Workload& view, std::vector<std::size_t> stages)
      : view_(view), stages_(std::move(stages)), axes_(view, stages_) {}

  std::optional<RowStages> find() {
    const bool fits = std::ranges::all_of(stages_, [&](std::size_t s) {
      const te::Stage& stage = view_.stages[s];
      return !view_.tensors[static_cast<std::size_t>(stage.tensor)].constant &&
             writes_plainly(view_, stage) &&
             (stage.reduce == ir::ReduceOp::kNone || !has_reuse(stage));
    });
    if (!fits || stages_.size() < 2 || !axes_.join_all() || !sort_axes()) return {};
    out_.view = &view_;
    for (const std::size_t s : stages_)
      if (!add(s)) return {};
    const auto through = std::ranges::count_if(
        out_.stages, [](const RowStage& stage) { return !stage.along.empty(); });
    if (through < 2) return {};
    for (const std::size_t axis : rows_) out_.far *= extents_[axis];
    out_.rows = extents_[rows_.back()];
    out_.far /= out_.rows;
    for (const std::size_t axis : along_) out_.along.push_back(extents_[axis]);
    if (!find_tensors()) return {};
    return std::move(out_);
  }

 private:
  // Those that a reduction goes through are along rows; their order is that of the first one.
  bool sort_axes() {
    const te::Stage* longest = nullptr;
    for (const std::size_t s : stages_) {
      const te::Stage& stage = view_.stages[s];
      for (std::size_t i = 0; i < stage.iters.size(); ++i) {
        const std::size_t axis = axes_.of_iter(s, i);
        extents_[axis] = stage.iters[i].extent;
        if (stage.iters[i].kind == te::IterKind::kReduce &&
            std::ranges::find(along_, axis) == along_.end())
          along_.push_back(axis);
      }
      if (longest == nullptr || stage.iters.size() > longest->iters.size()) longest = &stage;
    }
    if (along_.empty()) return false;
    const auto number = static_cast<std::size_t>(longest - view_.stages.data());
    for (std::size_t i = 0; i < longest->iters.size(); ++i) {
      const std::size_t axis = axes_.of_iter(number, i);
      if (std::ranges::find(along_, axis) == along_.end() &&
          std::ranges::find(rows_, axis) == rows_.end())
        rows_.push_back(axis);
    }
    return !rows_.empty() && find_contiguous();
  }

  // The axis along which the largest tensor lies comes last.
  bool find_contiguous() {
    const te::Tensor* largest = nullptr;
    std::size_t last = 0;
    for (std::size_t t = 0; t < view_.tensors.size(); ++t) {
      const te::Tensor& tensor = view_.tensors[t];
      if (tensor.shape.empty() || !is_touched(static_cast<int>(t)) ||
          (largest != nullptr && bytes_of(tensor) <= bytes_of(*largest)))
        continue;
      largest = &tensor;
      last = axes_.of_dim(static_cast<int>(t), tensor.shape.size() - 1);
    }
    const auto found = std::ranges::find(along_, last);
    if (largest == nullptr || found == along_.end()) return false;
    std::rotate(found, found + 1, along_.end());
    return true;
  }

  bool is_touched(int tensor) const {
    return std::ranges::any_of(stages_, [&](std::size_t s) {
      const auto reads = ir::reads_of(view_.stages[s].body);
      return view_.stages[s].tensor == tensor ||
             std::ranges::any_of(reads, [&](const ir::Read* r) { return r->tensor == tensor; });
    });
  }

  static std::vector<int> iters_of(const std::vector<std::size_t>& own,
                                   const std::vector<std::size_t>& axes) {
    std::vector<int> out;
    for (const std::size_t axis : axes)
      if (const auto found = std::ranges::find(own, axis); found != own.end())
        out.push_back(static_cast<int>(found - own.begin()));
    return out;
  }

  // Each has all axes of rows, and all of those along them or none; no axis twice.
  bool add(std::size_t s) {
    const te::Stage& stage = view_.stages[s];
    std::vector<std::size_t> own;
    for (std::size_t i = 0; i < stage.iters.size(); ++i) own.push_back(axes_.of_iter(s, i));
    RowStage made{static_cast<int>(s), iters_of(own, rows_), iters_of(own, along_)};
    if (made.rows.size() != rows_.size() || made.rows.size() + made.along.size() != own.size() ||
        (!made.along.empty() && made.along.size() != along_.size()))
      return false;
    for (std::size_t i = 0; i < own.size(); ++i)
      if (stage.iters[i].extent != extents_[own[i]]) return false;
    const bool reduces = stage.reduce != ir::ReduceOp::kNone;
    if (reduces && std::ranges::any_of(made.along, [&](int i) {
          return stage.iters[static_cast<std::size_t>(i)].kind != te::IterKind::kReduce;
        }))
      return false;
    if (reduces && made.along.empty()) return false;
    out_.stages.push_back(std::move(made));
    return true;
  }

  bool is_along(int tensor) const {
    const auto& shape = view_.tensors[static_cast<std::size_t>(tensor)].shape;
    return !shape.empty() && axes_.of_dim(tensor, shape.size() - 1) == along_.back();
  }
  RowTensor row_tensor(int tensor) const {
    RowTensor out{tensor, -1, std::vector<int>(along_.size(), -1)};
    const auto dims = view_.tensors[static_cast<std::size_t>(tensor)].shape.size();
    for (std::size_t d = 0; d < dims; ++d) {
      const std::size_t axis = axes_.of_dim(tensor, d);
      if (axis == rows_.back()) out.row_dim = static_cast<int>(d);
      for (std::size_t a = 0; a < along_.size(); ++a)
        if (axis == along_[a]) out.along_dims[a] = static_cast<int>(d);
    }
    for (const std::size_t s : stages_)
      for (const ir::Read* read : ir::reads_of(view_.stages[s].body))
        for (const int d : out.along_dims)
          if (read->tensor == tensor && d >= 0 &&
              read->index[static_cast<std::size_t>(d)].terms.empty())
            out.alone = false;
    return out;
  }

  // False where a row is walked across what lies side by side.
  bool find_tensors() {
    std::map<int, int> readers, writers;
    for (const std::size_t s : stages_) {
      const te::Stage& stage = view_.stages[s];
      ++writers[stage.tensor];
      std::vector<int> seen;
      for (const ir::Read* read : ir::reads_of(stage.body))
        if (std::ranges::find(seen, read->tensor) == seen.end()) {
          seen.push_back(read->tensor);
          ++readers[read->tensor];
        }
    }
    std::int64_t bytes = 1;
    for (std::size_t t = 0; t < view_.tensors.size(); ++t) {
      const auto tensor = static_cast<int>(t);
      const te::Tensor& of = view_.tensors[t];
      if (readers[tensor] + writers[tensor] == 0) continue;
      const RowTensor found = row_tensor(tensor);
      const bool touched = std::ranges::any_of(found.along_dims, [](int d) { return d >= 0; });
      if (!touched) continue;
      if (found.along_dims.back() >= 0 && !is_along(tensor)) return false;
      if (!is_along(tensor)) continue;
      bytes = std::max<std::int64_t>(bytes, size_of(of.dtype));
      const bool whole = std::ranges::all_of(found.along_dims, [](int d) { return d >= 0; });
      if (writers[tensor] > 0 && !found.alone) return false;
      if (writers[tensor] > 0 && readers[tensor] > 0) out_.maps.push_back(found);
      else if (readers[tensor] > 1 && whole && found.row_dim >= 0) out_.inputs.push_back(found);
    }
    while (out_.width * 2 * bytes <= kVectorBytes && out_.length() % (out_.width * 2) == 0)
      out_.width *= 2;
    return true;
  }

  const te::Workload& view_;
  const std::vector<std::size_t> stages_;  // of the view
  CommonAxes axes_;
  std::map<std::size_t, std::int64_t> extents_;  // by axis
  std::vector<std::size_t> rows_, along_;        // axes, outermost first
  RowStages out_;
};

}  // namespace

std::int64_t RowStages::beside() const {
  std::int64_t out = 1;
  for (std::size_t a = 0; a + 1 < along.size(); ++a) out *= along[a];
  return out;
}

std::optional<RowStages> find_row_stages(const te::Workload& view) {
  std::vector<std::size_t> all(view.stages.size());
  std::iota(all.begin(), all.end(), 0U);
  return RowFinder(view, std::move(all)).find();
}

std::optional<RowStages> find_rows_beside(const te::Workload& view, int main) {
  const auto reduces_rows = [&](std::size_t s) {
    const te::Stage& stage = view.stages[s];
    return stage.reduce != ir::ReduceOp::kNone && !has_reuse(stage);
  };
  std::vector<std::size_t> stages;
  std::set<int> computed;
  std::size_t last = 0;
  for (std::size_t s = 0; s < view.stages.size(); ++s) {
    if (std::cmp_equal(s, main)) continue;
    const te::Stage& stage = view.stages[s];
    const auto reads = ir::reads_of(stage.body);
    const bool follows =
        stage.reduce == ir::ReduceOp::kNone &&
        std::ranges::any_of(reads, [&](const ir::Read* r) { return computed.contains(r->tensor); });
    if (!reduces_rows(s) && !follows) continue;
    stages.push_back(s);
    computed.insert(stage.tensor);
    if (reduces_rows(s)) last = stages.size();
  }
  stages.resize(last);
  return RowFinder(view, std::move(stages)).find();
}

}  // namespace lathe::space
