#include "compiler/schedule/steps/cook_toom.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/analysis/dependence.h"
#include "compiler/analysis/neighbours.h"
#include "compiler/cook_toom/matrices.h"
#include "compiler/schedule/edit.h"
#include "compiler/schedule/new_stage.h"

namespace lathe::schedule {
namespace {

using ir::Affine;
using ir::BlockId;
using ir::BufferId;
using ir::LoopId;

struct Axis : analysis::Neighbours {
  int tap = -1;
  std::int64_t results = 0, tiles = 0, tile = 0, positions = 0;
  cook_toom::Matrices matrices;

  std::int64_t reach() const { return (tiles - 1) * tile + positions; }  // elements that tiles read
};

class Rewriter {
 public:
  Rewriter(ir::Nest& nest, const CookToom& step) : nest_(nest), step_(step) {}

  StepResult<void> run() {
    id_ = LATHE_TRY(block_named(nest_, step_.block));
    if (auto fits = check_block(); !fits) return fits;
    for (std::size_t a = 0; a < step_.taps.size(); ++a)
      if (auto known = find_axis(step_.taps[a], step_.tiles[a]); !known) return known;
    old_ = nest_.blocks[id_];
    position_ = analysis::child_with(nest_, ir::kRoot, id_);
    remove_block(nest_, id_);
    dtype_ = old_.body->dtype;
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
  const ir::BlockIter& iter(int i) const { return nest_.blocks[id_].iters[i]; }

  // True if each iterator is one whole loop, all of them the block's own, at the top of the
  // program.
  bool has_first_loops(const ir::Block& block) const {
    const auto own = analysis::own_loops(nest_, id_, ir::kRoot);
    if (own.size() != block.iters.size() || nest_.loops_around(id_).size() != own.size())
      return false;
    return std::ranges::all_of(block.iters, [&](const ir::BlockIter& i) {
      return !i.guard && i.offset == ir::SizeId::kNone && i.digits.size() == 1 &&
             i.digits[0].div == ir::SizeId::kNone && i.digits[0].mod == ir::SizeId::kNone &&
             is_one(nest_.sizes, i.digits[0].weight) && nest_.sizes.is_constant(i.extent) &&
             nest_.loops[i.digits[0].loop].extent == i.extent &&
             nest_.loops[i.digits[0].loop].kind == ir::LoopKind::kSerial;
    });
  }

  StepResult<void> check_block() {
    const ir::Block& block = nest_.blocks[id_];
    if (step_.taps.empty() || step_.taps.size() != step_.tiles.size())
      return refuse(Refusal::kBadValue, step_.block);
    if (block.reduce != ir::ReduceOp::kSum || !is_float(block.body->dtype))
      return refuse(Refusal::kNotAReduction, step_.block);
    if (!has_first_loops(block)) return refuse(Refusal::kAlreadyBound, step_.block);
    const auto* product = std::get_if<ir::Binary>(&block.body->value);
    if (product == nullptr || product->op != ir::BinaryOp::kMul)
      return refuse(Refusal::kNoNeighbours, step_.block);
    input_ = std::get_if<ir::Read>(&product->a->value);
    filter_ = std::get_if<ir::Read>(&product->b->value);
    if (input_ == nullptr || filter_ == nullptr) return refuse(Refusal::kNoNeighbours, step_.block);
    for (const ir::Affine& row : block.index)
      if (row.offset != 0 || plain_iter(row) < 0) return refuse(Refusal::kBadLayout, step_.block);
    return {};
  }

  StepResult<void> find_axis(const std::string& tap, std::int64_t tile) {
    const ir::Block& block = nest_.blocks[id_];
    const auto found = std::ranges::find(block.iters, tap, &ir::BlockIter::name);
    if (found == block.iters.end() || found->kind != ir::IterKind::kReduce)
      return refuse(Refusal::kNoNeighbours, tap);
    const auto number_of_tap = static_cast<int>(found - block.iters.begin());
    auto known = analysis::neighbours_of(*input_, *filter_, number_of_tap);
    if (!known && axes_.empty()) {
      std::swap(input_, filter_);
      known = analysis::neighbours_of(*input_, *filter_, number_of_tap);
    }
    if (!known) return refuse(Refusal::kNoNeighbours, tap);
    Axis axis{*known, number_of_tap};
    if (iter(axis.result).kind != ir::IterKind::kSpatial ||
        std::ranges::any_of(axes_, [&](const Axis& a) { return a.tap == axis.tap; }))
      return refuse(Refusal::kNoNeighbours, tap);
    if (input_->pad.value_or(0) != 0) return refuse(Refusal::kNoNeighbours, tap);
    const std::int64_t taps = number(iter(axis.tap).extent);
    if (tile < 1 || tile + taps - 1 > cook_toom::kMostPositions)
      return refuse(Refusal::kBadValue, tap);
    axis.tile = tile;
    axis.positions = tile + taps - 1;
    axis.results = number(iter(axis.result).extent);
    axis.tiles = (axis.results + tile - 1) / tile;
    axis.matrices = cook_toom::matrices(static_cast<int>(tile), static_cast<int>(taps));
    axes_.push_back(std::move(axis));
    return {};
  }

  StepResult<BufferId> add_buffer(const std::string& name, const std::vector<std::int64_t>& shape) {
    if (auto is_free = check_new_name(nest_, name); !is_free)
      return std::unexpected(is_free.error());
    ir::Buffer buffer;
    buffer.name = name;
    buffer.dtype = dtype_;
    for (const std::int64_t size : shape) buffer.shape.push_back(nest_.sizes.constant(size));
    nest_.buffers.push_back(std::move(buffer));
    return static_cast<BufferId>(nest_.buffers.size() - 1);
  }

  StepResult<BufferId> add_literal(const std::string& name, const cook_toom::Matrix& matrix) {
    const auto rows = static_cast<std::int64_t>(matrix.size());
    const auto columns = static_cast<std::int64_t>(matrix[0].size());
    const BufferId id = LATHE_TRY(add_buffer(name, {rows, columns}));
    ir::Buffer& buffer = nest_.buffers[id];
    buffer.scope = ir::Scope::kLiteral;
    buffer.constant = true;
    buffer.sparse = true;
    for (const auto& row : matrix)
      for (const cook_toom::Rational& x : row) buffer.literal.push_back(x.value());
    return id;
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

  // Turns one dimension of the filter from taps to positions.
  StepResult<void> transform_filter(std::size_t a) {
    const Axis& axis = axes_[a];
    const BufferId from = a == 0 ? filter_->tensor : filtered_;
    std::vector<std::int64_t> shape = shape_of(from);
    shape[axis.filter_dim] = axis.positions;
    const std::string name = numbered("filter", a);
    const BufferId matrix = LATHE_TRY(add_literal(name + ".G", axis.matrices.filter));
    filtered_ = LATHE_TRY(add_buffer(name, shape));
    NewStage stage(nest_, name, position_++);
    std::vector<Affine> index;
    int position = -1;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const int i = LATHE_TRY(stage.add(fmt::format("d{}", d), shape[d]));
      index.push_back(Affine::iter(i));
      if (std::cmp_equal(d, axis.filter_dim)) position = i;
    }
    const int tap = LATHE_TRY(stage.add("r", extent_of(axis.tap), ir::IterKind::kReduce));
    index[axis.filter_dim] = Affine::iter(tap);
    stage.finish(filtered_,
                 weighted(matrix, position, tap, ir::read(from, std::move(index), dtype_)));
    return {};
  }

  // The axis with this number as dimension, result or tap; -1: none.
  int axis_of(std::size_t number, int Axis::* what) const {
    const auto found = std::ranges::find(axes_, static_cast<int>(number), what);
    return found == axes_.end() ? -1 : static_cast<int>(found - axes_.begin());
  }
  std::int64_t extent_of(int iter) const { return number(old_.iters[iter].extent); }

  // Turns one dimension of the input into tiles and positions. The first axis reads the input
  // itself; the dimensions of the others then start where their tiles do.
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
      const int b = axis_of(d, &Axis::input_dim);
      const Axis& axis = axes_[std::max(b, 0)];
      const Affine start = Affine::constant(b >= 0 && a == 0 ? axis.low : 0);
      if (b < 0 || std::cmp_greater(b, a)) {
        const std::int64_t extent = b < 0 ? whole[d] : axis.reach();
        index.push_back(Affine::iter(LATHE_TRY(add("d", d, extent))) + start);
        continue;
      }
      const int tile = LATHE_TRY(add("t", d, axis.tiles));
      const int p = LATHE_TRY(add("p", d, axis.positions));
      const bool done = std::cmp_less(b, a);
      if (!done) position = p, transformed = index.size();
      index.push_back(Affine::iter(tile, done ? 1 : axis.tile) + start);
      if (done) index.push_back(Affine::iter(p));
    }
    const int tap = LATHE_TRY(stage.add("r", axes_[a].positions, ir::IterKind::kReduce));
    index[transformed] = index[transformed] + Affine::iter(tap);
    const bool leaves = a == 0 && std::ranges::any_of(axes_, [&](const Axis& axis) {
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

  // Whether the first block reads beyond its input in a dimension that keeps its taps.
  bool leaves_elsewhere() const {
    for (std::size_t d = 0; d < input_->index.size(); ++d) {
      if (axis_of(d, &Axis::input_dim) >= 0) continue;
      std::int64_t low = input_->index[d].offset, high = low;
      for (const ir::AffineTerm& t : input_->index[d].terms)
        (t.coef < 0 ? low : high) += t.coef * (extent_of(t.iter) - 1);
      if (low < 0 || high >= number(nest_.buffers[input_->tensor].shape[d])) return true;
    }
    return false;
  }

  // What is left of the sums: products at each position, over the taps that stay and the rest.
  StepResult<void> multiply() {
    const std::string name = step_.block + ".product";
    NewStage stage(nest_, name, position_++);
    std::vector<Affine> now(old_.iters.size());  // of each old iterator; a tap's: its position
    std::vector<int> tiles(axes_.size());
    for (const Affine& row : old_.index) {
      const int i = plain_iter(row);
      const int a = axis_of(static_cast<std::size_t>(i), &Axis::result);
      const std::string& iter_name = old_.iters[i].name;
      if (a < 0) {
        now[i] = Affine::iter(LATHE_TRY(stage.add(iter_name, extent_of(i))));
        continue;
      }
      const Axis& axis = axes_[a];
      tiles[a] = LATHE_TRY(stage.add(iter_name + ".t", axis.tiles));
      now[axis.tap] = Affine::iter(LATHE_TRY(stage.add(iter_name + ".p", axis.positions)));
    }
    for (std::size_t i = 0; i < old_.iters.size(); ++i)
      if (old_.iters[i].kind == ir::IterKind::kReduce && axis_of(i, &Axis::tap) < 0)
        now[i] = Affine::iter(LATHE_TRY(
            stage.add(old_.iters[i].name, extent_of(static_cast<int>(i)), ir::IterKind::kReduce)));
    std::vector<Affine> input, filter;
    for (std::size_t d = 0; d < input_->index.size(); ++d) {
      const int a = axis_of(d, &Axis::input_dim);
      if (a < 0) {
        input.push_back(substitute(input_->index[d], now));
        continue;
      }
      input.push_back(Affine::iter(tiles[a]));
      input.push_back(now[axes_[a].tap]);
    }
    for (const Affine& row : filter_->index) filter.push_back(substitute(row, now));
    product_ = LATHE_TRY(add_buffer(name, stage.shape()));
    const bool pads = input_->pad && leaves_elsewhere();
    stage.finish(product_,
                 ir::binary(ir::BinaryOp::kMul,
                            ir::read(transformed_input_, std::move(input), dtype_,
                                     pads ? std::optional<double>(0) : std::nullopt),
                            ir::read(filtered_, std::move(filter), dtype_, filter_->pad)));
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
      const int b = axis_of(static_cast<std::size_t>(i), &Axis::result);
      const std::string& iter_name = old_.iters[i].name;
      if (b < 0) {
        index.push_back(Affine::iter(LATHE_TRY(stage.add(iter_name, extent_of(i)))));
        continue;
      }
      const Axis& axis = axes_[b];
      const bool done = std::cmp_greater_equal(b, a);
      index.push_back(Affine::iter(LATHE_TRY(stage.add(iter_name + ".t", axis.tiles))));
      const int inner =
          LATHE_TRY(stage.add(iter_name + (done ? ".i" : ".p"), done ? axis.tile : axis.positions));
      if (std::cmp_equal(b, a)) result = inner, transformed = index.size();
      index.push_back(Affine::iter(inner));
    }
    const int p = LATHE_TRY(stage.add("p", axes_[a].positions, ir::IterKind::kReduce));
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
    std::vector<LoopId> tile_loops(axes_.size()), inner_loops(axes_.size());
    for (const Affine& row : old_.index) {
      const int i = plain_iter(row);
      const int a = axis_of(static_cast<std::size_t>(i), &Axis::result);
      const std::string& iter_name = old_.iters[i].name;
      if (a < 0) {
        LATHE_TRY(stage.add(iter_name, extent_of(i)));
        continue;
      }
      const Axis& axis = axes_[a];
      const LoopId tiles = LATHE_TRY(stage.add_loop_of(iter_name + ".t", axis.tiles));
      const LoopId inner = LATHE_TRY(stage.add_loop_of(iter_name + ".i", axis.tile));
      stage.add_digits(
          iter_name, axis.results,
          {{tiles, nest_.sizes.constant(axis.tile)}, {inner, nest_.sizes.constant(1)}});
      tile_loops[a] = tiles;
      inner_loops[a] = inner;
    }
    int result = -1;
    std::size_t transformed = 0;
    for (std::size_t d = 0; d < old_.index.size(); ++d) {
      const int a = axis_of(static_cast<std::size_t>(plain_iter(old_.index[d])), &Axis::result);
      if (a < 0) {
        index.push_back(Affine::iter(static_cast<int>(d)));
        continue;
      }
      const Axis& axis = axes_[a];
      const std::string& iter_name = old_.iters[axis.result].name;
      index.push_back(Affine::iter(stage.add_view(iter_name + ".t", axis.tiles, tile_loops[a])));
      const int inner = stage.add_view(iter_name + ".i", axis.tile, inner_loops[a]);
      if (a == 0) result = inner, transformed = index.size();
      index.push_back(Affine::iter(inner));
    }
    const int p = LATHE_TRY(stage.add("p", axes_[0].positions, ir::IterKind::kReduce));
    index[transformed] = Affine::iter(p);
    stage.finish(old_.writes,
                 weighted(matrix, result, p, ir::read(product_, std::move(index), dtype_)));
    return {};
  }

  ir::Nest& nest_;
  const CookToom& step_;
  BlockId id_ = -1;
  ir::Block old_;
  int position_ = 0;  // among the root's children, of the next block
  Dtype dtype_ = Dtype::kF32;
  const ir::Read *input_ = nullptr, *filter_ = nullptr;  // of the old body
  std::vector<Axis> axes_;
  BufferId filtered_ = -1, transformed_input_ = -1, product_ = -1;
};

}  // namespace

std::string CookToom::text() const {
  std::string axes;
  for (std::size_t a = 0; a < taps.size() && a < tiles.size(); ++a)
    axes += fmt::format("{}{} by tiles of {}", a == 0 ? "" : ", ", taps[a], tiles[a]);
  return fmt::format("cook_toom {}, {}", block, axes);
}

StepResult<void> apply_step(ir::Nest& nest, const CookToom& step) {
  return Rewriter(nest, step).run();
}

}  // namespace lathe::schedule
