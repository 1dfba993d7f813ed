#include "compiler/schedule/steps/cook_toom.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/analysis/dependence.h"
#include "compiler/schedule/edit.h"
#include "compiler/schedule/new_stage.h"
#include "compiler/schedule/steps/neighbour_sum.h"

namespace lathe::schedule {
namespace {

using ir::Affine;
using ir::BufferId;
using ir::LoopId;

class Rewriter {
 public:
  Rewriter(ir::Nest& nest, const CookToom& step) : nest_(nest), step_(step) {}

  StepResult<void> run() {
    NeighbourSum sum = LATHE_TRY(neighbour_sum(nest_, step_));
    old_ = nest_.blocks[sum.block];  // shares its body, and so the reads
    input_ = sum.input;
    filter_ = sum.filter;
    axes_ = std::move(sum.axes);
    position_ = analysis::child_with(nest_, ir::kRoot, sum.block);
    remove_block(nest_, sum.block);
    dtype_ = old_.body->dtype;
    std::vector<std::string> result;
    for (const Affine& row : old_.index) result.push_back(old_.iters[plain_iter(row)].name);
    over_positions_ = position_iter(result);
    for (std::size_t a = 0; a < axes_.size(); ++a)
      if (auto made = transform_filter(a); !made) return made;
    for (std::size_t a = 0; a < axes_.size(); ++a)
      if (auto made = transform_input(a); !made) return made;
    if (auto made = multiply(); !made) return made;
    for (std::size_t a = axes_.size(); a-- > 1;)
      if (auto made = transform_product(a); !made) return made;
    return finish_result();
  }

 private:
  std::int64_t number(ir::SizeId size) const { return nest_.sizes.constant_value(size); }

  StepResult<BufferId> add_buffer(const std::string& name, const std::vector<std::int64_t>& shape) {
    return schedule::add_buffer(nest_, name, dtype_, shape);
  }

  StepResult<BufferId> add_literal(const std::string& name, const cook_toom::Matrix& matrix) {
    std::vector<double> elements;
    for (const auto& row : matrix)
      for (const cook_toom::Rational& x : row) elements.push_back(x.value());
    return add_sparse_literal(
        nest_, name, dtype_,
        {static_cast<std::int64_t>(matrix.size()), static_cast<std::int64_t>(matrix[0].size())},
        std::move(elements));
  }

  std::string numbered(const char* what, std::size_t a) const {
    return a == 0 ? fmt::format("{}.{}", step_.block, what)
                  : fmt::format("{}.{}.{}", step_.block, what, a);
  }

  std::vector<std::int64_t> shape_of(BufferId buffer) const {
    std::vector<std::int64_t> shape;
    for (const ir::SizeId size : nest_.buffers[buffer].shape) shape.push_back(number(size));
    return shape;
  }

  // literal[left, right] * read
  ir::Expr weighted(BufferId literal, int left, int right, ir::Expr read) const {
    return ir::binary(ir::BinaryOp::kMul,
                      ir::read(literal, {Affine::iter(left), Affine::iter(right)}, dtype_),
                      std::move(read));
  }

  // Turns one dimension of the filter from taps to positions, those of each residue together.
  StepResult<void> transform_filter(std::size_t a) {
    const NeighbourAxis& axis = axes_[a];
    const BufferId from = a == 0 ? filter_->tensor : filtered_;
    std::vector<std::int64_t> shape = shape_of(from);
    shape[axis.filter_dim] = axis.filter_positions();
    const std::string name = numbered("filter", a);
    const BufferId matrix = LATHE_TRY(add_literal(name + ".G", axis.matrices.filter));
    filtered_ = LATHE_TRY(add_buffer(name, shape));
    NewStage stage(nest_, name, position_++);
    std::vector<Affine> index;
    ResiduePosition at;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (std::cmp_equal(d, axis.filter_dim)) {
        at = LATHE_TRY(add_positions(stage, d, axis));
        index.emplace_back();
      } else {
        index.push_back(Affine::iter(LATHE_TRY(stage.add(fmt::format("d{}", d), shape[d]))));
      }
    }
    const int tap = LATHE_TRY(stage.add("r", axis.residues.taps, ir::IterKind::kReduce));
    const Affine forwards =
        Affine::iter(tap, axis.residues.several() ? axis.strands.inner_stride : 1) + at.residue;
    index[axis.filter_dim] =
        axis.backwards() ? Affine::constant(axis.taps - 1) + forwards * -1 : forwards;
    const bool leaves = axis.residues.last_is_short();
    stage.finish(filtered_, weighted(matrix, at.position, tap,
                                     ir::read(from, std::move(index), dtype_,
                                              leaves ? std::optional<double>(0) : std::nullopt)));
    return {};
  }

  struct ResiduePosition {
    Affine residue;
    int position = -1;
  };
  // Adds a dimension for the positions of a filter's axis.
  static StepResult<ResiduePosition> add_positions(NewStage& stage, std::size_t d,
                                                   const NeighbourAxis& axis) {
    const std::string name = fmt::format("d{}", d);
    if (!axis.residues.several())
      return ResiduePosition{{}, LATHE_TRY(stage.add(name, axis.positions))};
    const LoopId residues = LATHE_TRY(stage.add_loop_of(name + ".a", axis.residues.count));
    const LoopId positions = LATHE_TRY(stage.add_loop_of(name + ".p", axis.positions));
    stage.add_digits(name, axis.filter_positions(),
                     {{residues, stage.size(axis.positions)}, {positions, stage.size(1)}});
    const int residue = stage.add_view(name + ".a", axis.residues.count, residues);
    return ResiduePosition{Affine::iter(residue),
                           stage.add_view(name + ".p", axis.positions, positions)};
  }

  // The axis with this number as dimension, result or tap; -1: none.
  int axis_of(std::size_t number, int NeighbourAxis::* what) const {
    const auto found = std::ranges::find(axes_, static_cast<int>(number), what);
    return found == axes_.end() ? -1 : static_cast<int>(found - axes_.begin());
  }
  std::int64_t extent_of(int iter) const { return number(old_.iters[iter].extent); }

  // The loop over what moves the elements of an input's dimension: "s2" for strands, "o2" for
  // another iterator.
  static std::string shift_name(const NeighbourAxis& axis, std::size_t k, std::size_t dim) {
    if (axis.moved_by[k].iter < 0) return fmt::format("s{}", dim);
    const std::size_t other = k - (axis.strands.several() ? 1 : 0);
    return other == 0 ? fmt::format("o{}", dim) : fmt::format("o{}.{}", dim, other);
  }

  // Turns one dimension of the input into tiles, what moves these, residues where there are
  // several, and positions.
  // The first axis reads the input itself; the dimensions of the others then start where their
  // tiles do.
  StepResult<void> transform_input(std::size_t a) {
    const std::string name = numbered("input", a);
    const BufferId matrix = LATHE_TRY(add_literal(name + ".BT", axes_[a].matrices.input));
    NewStage stage(nest_, name, position_++);
    std::vector<Affine> index;  // of what is read
    int position = -1;
    std::size_t transformed = 0;  // row of the index
    const auto add = [&](const char* prefix, std::size_t d, std::int64_t extent) {
      return stage.add(fmt::format("{}{}", prefix, d), extent);
    };
    const std::vector<std::int64_t> whole = shape_of(input_->tensor);
    for (std::size_t d = 0; d < whole.size(); ++d) {
      const int b = axis_of(d, &NeighbourAxis::input_dim);
      const NeighbourAxis& axis = axes_[std::max(b, 0)];
      if (b < 0 || std::cmp_greater(b, a)) {
        const std::int64_t extent = b < 0 ? whole[d] : axis.reach();
        const std::int64_t low = b >= 0 && a == 0 ? axis.low : 0;
        index.push_back(Affine::iter(LATHE_TRY(add("d", d, extent))) + Affine::constant(low));
        continue;
      }
      const int tile = LATHE_TRY(add("t", d, axis.tiles));
      std::vector<int> shifts;
      for (std::size_t k = 0; k < axis.moved_by.size(); ++k)
        shifts.push_back(LATHE_TRY(stage.add(shift_name(axis, k, d), axis.moved_by[k].extent)));
      const int residue =
          axis.residues.several() ? LATHE_TRY(add("a", d, axis.residues.count)) : -1;
      const int p = LATHE_TRY(add("p", d, axis.positions));
      if (std::cmp_less(b, a)) {
        index.push_back(Affine::iter(tile));
        for (const int i : shifts) index.push_back(Affine::iter(i));
        for (const int i : {residue, p})
          if (i >= 0) index.push_back(Affine::iter(i));
        continue;
      }
      position = p, transformed = index.size();
      index.push_back(Affine::iter(tile, axis.position_step() * axis.tile) +
                      Affine::constant(axis.start() - (a == 0 ? 0 : axis.low)));
      for (std::size_t k = 0; k < shifts.size(); ++k)
        index.back() = index.back() + Affine::iter(shifts[k], axis.moved_by[k].step);
      if (residue >= 0) index.back() = index.back() + Affine::iter(residue, axis.tap_step());
    }
    const int tap = LATHE_TRY(stage.add("r", axes_[a].positions, ir::IterKind::kReduce));
    index[transformed] = index[transformed] + Affine::iter(tap, axes_[a].position_step());
    const bool leaves = a == 0 && std::ranges::any_of(axes_, [&](const NeighbourAxis& axis) {
                          return axis.low < 0 || axis.low + axis.reach() > whole[axis.input_dim];
                        });
    const BufferId from = a == 0 ? input_->tensor : transformed_input_;
    transformed_input_ = LATHE_TRY(add_buffer(name, stage.shape()));
    stage.finish(transformed_input_,
                 weighted(matrix, position, tap,
                          ir::read(from, std::move(index), dtype_,
                                   leaves ? std::optional<double>(0) : std::nullopt)));
    return {};
  }

  bool has_short_residues() const {
    return std::ranges::any_of(
        axes_, [](const NeighbourAxis& axis) { return axis.residues.last_is_short(); });
  }

  // Whether the first block reads beyond its input in a dimension that keeps its taps.
  bool leaves_elsewhere() const {
    for (std::size_t d = 0; d < input_->index.size(); ++d) {
      if (axis_of(d, &NeighbourAxis::input_dim) >= 0) continue;
      std::int64_t low = input_->index[d].offset, high = low;
      for (const ir::AffineTerm& t : input_->index[d].terms)
        (t.coef < 0 ? low : high) += t.coef * (extent_of(t.iter) - 1);
      if (low < 0 || high >= number(nest_.buffers[input_->tensor].shape[d])) return true;
    }
    return false;
  }

  // What is left of the sums: products at each position, over residues, the taps that stay and the
  // rest.
  StepResult<void> multiply() {
    const std::string name = step_.block + ".product";
    NewStage stage(nest_, name, position_++);
    std::vector<Affine> now(old_.iters.size());  // of each old iterator; a tap's: its position
    std::vector<int> tiles(axes_.size()), strands(axes_.size(), -1), residues(axes_.size(), -1),
        positions(axes_.size());
    for (const Affine& row : old_.index) {
      const int i = plain_iter(row);
      const int a = axis_of(static_cast<std::size_t>(i), &NeighbourAxis::result);
      const std::string& iter_name = old_.iters[i].name;
      if (a < 0) {
        now[i] = Affine::iter(LATHE_TRY(stage.add(iter_name, extent_of(i))));
        continue;
      }
      const NeighbourAxis& axis = axes_[a];
      tiles[a] = LATHE_TRY(stage.add(iter_name + ".t", axis.tiles));
      if (axis.strands.several())
        strands[a] = LATHE_TRY(stage.add(iter_name + ".s", axis.strands.count));
      positions[a] = LATHE_TRY(stage.add(iter_name + ".p", axis.positions));
      now[axis.tap] = Affine::iter(positions[a]);
    }
    for (std::size_t i = 0; i < old_.iters.size(); ++i) {
      if (old_.iters[i].kind != ir::IterKind::kReduce) continue;
      const int a = axis_of(i, &NeighbourAxis::tap);
      const std::string& iter_name = old_.iters[i].name;
      if (a < 0) {
        now[i] = Affine::iter(
            LATHE_TRY(stage.add(iter_name, extent_of(static_cast<int>(i)), ir::IterKind::kReduce)));
      } else if (const NeighbourAxis& axis = axes_[a]; axis.residues.several()) {
        residues[a] =
            LATHE_TRY(stage.add(iter_name + ".a", axis.residues.count, ir::IterKind::kReduce));
        now[i] = now[i] + Affine::iter(residues[a], axis.positions);
      }
    }
    std::vector<Affine> input, filter;
    for (std::size_t d = 0; d < input_->index.size(); ++d) {
      const int a = axis_of(d, &NeighbourAxis::input_dim);
      if (a < 0) {
        input.push_back(substitute(input_->index[d], now));
        continue;
      }
      input.push_back(Affine::iter(tiles[a]));
      for (const NeighbourAxis::Shift& shift : axes_[a].moved_by)
        input.push_back(shift.iter < 0 ? Affine::iter(strands[a]) : now[shift.iter]);
      for (const int i : {residues[a], positions[a]})
        if (i >= 0) input.push_back(Affine::iter(i));
    }
    for (const Affine& row : filter_->index) filter.push_back(substitute(row, now));
    product_ = LATHE_TRY(add_buffer(name, stage.shape()));
    const bool pads = input_->pad && leaves_elsewhere();
    stage.finish(product_, ir::binary(ir::BinaryOp::kMul,
                                      ir::read(transformed_input_, std::move(input), dtype_,
                                               pads ? std::optional<double>(0) : std::nullopt),
                                      ir::read(filtered_, std::move(filter), dtype_,
                                               has_short_residues() ? std::optional<double>(0)
                                                                    : filter_->pad)));
    return {};
  }

  // Turns the positions of one axis into results; the axes after it are done.
  StepResult<void> transform_product(std::size_t a) {
    const std::string name = numbered("output", a);
    const BufferId matrix = LATHE_TRY(add_literal(name + ".AT", axes_[a].matrices.output));
    NewStage stage(nest_, name, position_++);
    std::vector<Affine> index;
    int result = -1;
    std::size_t transformed = 0;
    for (const Affine& row : old_.index) {
      const int i = plain_iter(row);
      const int b = axis_of(static_cast<std::size_t>(i), &NeighbourAxis::result);
      const std::string& iter_name = old_.iters[i].name;
      if (b < 0) {
        index.push_back(Affine::iter(LATHE_TRY(stage.add(iter_name, extent_of(i)))));
        continue;
      }
      const NeighbourAxis& axis = axes_[b];
      const bool done = std::cmp_greater_equal(b, a);
      index.push_back(Affine::iter(LATHE_TRY(stage.add(iter_name + ".t", axis.tiles))));
      if (axis.strands.several())
        index.push_back(Affine::iter(LATHE_TRY(stage.add(iter_name + ".s", axis.strands.count))));
      const int inner =
          LATHE_TRY(stage.add(iter_name + (done ? ".i" : ".p"), done ? axis.tile : axis.positions));
      if (std::cmp_equal(b, a)) result = inner, transformed = index.size();
      index.push_back(Affine::iter(inner));
    }
    const int p = LATHE_TRY(stage.add(over_positions_, axes_[a].positions, ir::IterKind::kReduce));
    index[transformed] = Affine::iter(p);
    const BufferId from = product_;
    product_ = LATHE_TRY(add_buffer(name, stage.shape()));
    stage.finish(product_, weighted(matrix, result, p, ir::read(from, std::move(index), dtype_)));
    return {};
  }

  // The first block again: it turns the positions of the first axis into results.
  StepResult<void> finish_result() {
    const BufferId matrix = LATHE_TRY(add_literal(step_.block + ".AT", axes_[0].matrices.output));
    NewStage stage(nest_, step_.block, position_);
    std::vector<Affine> index;
    std::vector<LoopId> tile_loops(axes_.size()), strand_loops(axes_.size()),
        inner_loops(axes_.size());
    for (const Affine& row : old_.index) {
      const int i = plain_iter(row);
      const int a = axis_of(static_cast<std::size_t>(i), &NeighbourAxis::result);
      const std::string& iter_name = old_.iters[i].name;
      if (a < 0) {
        LATHE_TRY(stage.add(iter_name, extent_of(i)));
        continue;
      }
      const NeighbourAxis& axis = axes_[a];
      const LoopId tiles = LATHE_TRY(stage.add_loop_of(iter_name + ".t", axis.tiles));
      const std::int64_t apart = axis.strands.count;
      if (apart > 1) strand_loops[a] = LATHE_TRY(stage.add_loop_of(iter_name + ".s", apart));
      const LoopId inner = LATHE_TRY(stage.add_loop_of(iter_name + ".i", axis.tile));
      std::vector<ir::LoopDigit> digits = {{tiles, stage.size(apart * axis.tile)},
                                           {inner, stage.size(apart)}};
      if (apart > 1) digits.push_back({strand_loops[a], stage.size(1)});
      stage.add_digits(iter_name, axis.results, std::move(digits));
      tile_loops[a] = tiles;
      inner_loops[a] = inner;
    }
    int result = -1;
    std::size_t transformed = 0;
    for (std::size_t d = 0; d < old_.index.size(); ++d) {
      const int a =
          axis_of(static_cast<std::size_t>(plain_iter(old_.index[d])), &NeighbourAxis::result);
      if (a < 0) {
        index.push_back(Affine::iter(static_cast<int>(d)));
        continue;
      }
      const NeighbourAxis& axis = axes_[a];
      const std::string& iter_name = old_.iters[axis.result].name;
      index.push_back(Affine::iter(stage.add_view(iter_name + ".t", axis.tiles, tile_loops[a])));
      if (axis.strands.several())
        index.push_back(
            Affine::iter(stage.add_view(iter_name + ".s", axis.strands.count, strand_loops[a])));
      const int inner = stage.add_view(iter_name + ".i", axis.tile, inner_loops[a]);
      if (a == 0) result = inner, transformed = index.size();
      index.push_back(Affine::iter(inner));
    }
    const int p = LATHE_TRY(stage.add(over_positions_, axes_[0].positions, ir::IterKind::kReduce));
    index[transformed] = Affine::iter(p);
    stage.finish(old_.writes,
                 weighted(matrix, result, p, ir::read(product_, std::move(index), dtype_)));
    return {};
  }

  ir::Nest& nest_;
  const CookToom& step_;
  ir::Block old_;
  int position_ = 0;  // among the root's children, of the next block
  Dtype dtype_ = Dtype::kF32;
  std::string over_positions_;                           // the iterator of the transforms back
  const ir::Read *input_ = nullptr, *filter_ = nullptr;  // of the old body
  std::vector<NeighbourAxis> axes_;
  BufferId filtered_ = -1, transformed_input_ = -1, product_ = -1;
};

}  // namespace

std::string CookToom::text() const {
  std::string axes;
  for (std::size_t a = 0; a < taps.size() && a < tiles.size(); ++a)
    axes += fmt::format("{}{} by tiles of {}", a == 0 ? "" : ", ", taps[a], tiles[a]);
  return fmt::format("cook_toom {}, {}", block, axes);
}

std::string position_iter(const std::vector<std::string>& result) {
  std::string name = "p";
  while (std::ranges::find(result, name) != result.end()) name += ".p";
  return name;
}

StepResult<void> apply_step(ir::Nest& nest, const CookToom& step) {
  return Rewriter(nest, step).run();
}

}  // namespace lathe::schedule
