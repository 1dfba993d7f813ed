#include "graph/passes/pieces.h"

#include <algorithm>

#include "graph/passes/aligned.h"

namespace lathe::graph {
namespace {

std::vector<std::int64_t> row_major_strides(const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

class PieceFinder {
 public:
  PieceFinder(const te::Workload& expression, const te::Stage& stage)
      : expression_(expression),
        stage_(stage),
        strides_(row_major_strides(shape_of(stage.tensor))) {}

  std::optional<std::vector<Piece>> run() {
    Box all;
    for (const te::Iterator& iter : stage_.iters) all.push_back({0, iter.extent});
    if (!find(stage_.body, all)) return std::nullopt;
    std::ranges::sort(pieces_, {}, &Piece::to);
    return std::move(pieces_);
  }

 private:
  struct Interval {
    std::int64_t begin, end;
    std::int64_t size() const { return end - begin; }
  };
  using Box = std::vector<Interval>;  // by iterator

  const std::vector<std::int64_t>& shape_of(int tensor) const {
    return expression_.tensors[static_cast<std::size_t>(tensor)].shape;
  }

  bool find(const ir::Expr& e, const Box& box) {
    if (const auto* read = std::get_if<ir::Read>(&e->value)) return add(*read, box);
    const auto* choice = std::get_if<ir::Select>(&e->value);
    return choice != nullptr && find_halves(*choice, box);
  }

  // Of a choice by one iterator: it is less than a number.
  bool find_halves(const ir::Select& choice, const Box& box) {
    const auto* less = std::get_if<ir::Binary>(&choice.condition->value);
    if (less == nullptr || less->op != ir::BinaryOp::kLt) return false;
    const auto* bound = std::get_if<ir::Const>(&less->b->value);
    const auto* iter = std::get_if<ir::IterValue>(&less->a->value);
    if (bound == nullptr || iter == nullptr) return false;
    const auto at = static_cast<std::size_t>(iter->iter);
    Box low = box, high = box;
    low[at].end = high[at].begin =
        std::clamp(static_cast<std::int64_t>(bound->value), box[at].begin, box[at].end);
    return (low[at].size() == 0 || find(choice.then, low)) &&
           (high[at].size() == 0 || find(choice.otherwise, high));
  }

  // True if the box's elements of the output follow each other.
  bool follow_each_other(const Box& box) const {
    bool several = false;  // along a dimension before
    for (std::size_t d = 0; d < box.size(); ++d) {
      if (several && box[d].size() != stage_.iters[d].extent) return false;
      several = several || box[d].size() > 1;
    }
    return true;
  }

  bool add(const ir::Read& read, const Box& box) {
    const auto& shape = shape_of(read.tensor);
    const auto strides = row_major_strides(shape);
    ir::Affine from;
    for (std::size_t r = 0; r < read.index.size(); ++r) {
      if (read.pad && !is_inside(read.index[r], shape[r], box)) return false;
      from = from + read.index[r] * strides[r];
    }
    Piece piece{read.tensor, from.offset, 0, 1};
    for (std::size_t i = 0; i < box.size(); ++i) {
      const std::int64_t step = from.coef_of(static_cast<int>(i));
      if (box[i].size() > 1 && step != strides_[i]) return false;
      piece.from += step * box[i].begin;
      piece.to += strides_[i] * box[i].begin;
      piece.count *= box[i].size();
    }
    if (!follow_each_other(box)) return false;
    pieces_.push_back(piece);
    return true;
  }

  static bool is_inside(const ir::Affine& index, std::int64_t size, const Box& box) {
    std::int64_t low = index.offset, high = index.offset;
    for (const ir::AffineTerm& term : index.terms) {
      const Interval& over = box[static_cast<std::size_t>(term.iter)];
      (term.coef < 0 ? high : low) += term.coef * over.begin;
      (term.coef < 0 ? low : high) += term.coef * (over.end - 1);
    }
    return low >= 0 && high < size;
  }

  const te::Workload& expression_;
  const te::Stage& stage_;
  std::vector<std::int64_t> strides_;  // of the output
  std::vector<Piece> pieces_;
};

bool reads_nothing(const ir::Expr& e) {
  return ir::reads_of(e).empty() && ir::lookups_of(e).empty();
}

bool moves(const ir::Expr& e) {
  if (const auto* lookup = std::get_if<ir::Lookup>(&e->value))
    return std::ranges::all_of(lookup->index, reads_nothing);
  if (const auto* choice = std::get_if<ir::Select>(&e->value))
    return reads_nothing(choice->condition) && moves(choice->then) && moves(choice->otherwise);
  return std::holds_alternative<ir::Read>(e->value) || std::holds_alternative<ir::Const>(e->value);
}

}  // namespace

std::optional<std::vector<Piece>> pieces_of(const te::Workload& expression) {
  if (expression.stages.size() != 1 || !is_pointwise(expression)) return std::nullopt;
  return PieceFinder(expression, expression.stages[0]).run();
}

bool is_movement(const te::Workload& expression) {
  return std::ranges::all_of(expression.stages, [](const te::Stage& stage) {
    return stage.reduce == ir::ReduceOp::kNone && moves(stage.body) &&
           std::ranges::count(ir::tensors_of(stage.body), stage.tensor) == 0;
  });
}

}  // namespace lathe::graph
