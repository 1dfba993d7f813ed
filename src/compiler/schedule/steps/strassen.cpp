#include "compiler/schedule/steps/strassen.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "compiler/analysis/dependence.h"
#include "compiler/schedule/new_stage.h"

namespace lathe::schedule {
namespace {

using ir::Affine;
using ir::BufferId;

constexpr std::int64_t kProducts = 7;
// Strassen's algorithm and not the variant with the fewest additions: its errors are smaller, and
// both read every quarter and write every sum once.
//
// A quarter of the left operand (by halves of rows, then terms) in each product.
constexpr std::array<std::array<int, 4>, kProducts> kLeft = {{{1, 0, 0, 1},
                                                              {0, 0, 1, 1},
                                                              {1, 0, 0, 0},
                                                              {0, 0, 0, 1},
                                                              {1, 1, 0, 0},
                                                              {-1, 0, 1, 0},
                                                              {0, 1, 0, -1}}};
// Of the right operand, by halves of terms, then columns.
constexpr std::array<std::array<int, 4>, kProducts> kRight = {{{1, 0, 0, 1},
                                                               {1, 0, 0, 0},
                                                               {0, 1, 0, -1},
                                                               {-1, 0, 1, 0},
                                                               {0, 0, 0, 1},
                                                               {1, 1, 0, 0},
                                                               {0, 0, 1, 1}}};
// A product in each quarter of the result, by halves of rows, then columns.
constexpr std::array<std::array<int, kProducts>, 4> kResult = {
    {{1, 0, 0, 1, -1, 0, 1}, {0, 0, 1, 0, 1, 0, 0}, {0, 1, 0, 1, 0, 0, 0}, {1, -1, 1, 0, 0, 1, 0}}};

template <class Rows>
std::vector<double> elements_of(const Rows& rows) {
  std::vector<double> out;
  for (const auto& row : rows) out.insert(out.end(), row.begin(), row.end());
  return out;
}

// One of the three axes: an iterator of the block.
struct HalvedAxis {
  int iter = -1;
  std::string name;
  std::int64_t extent = 0;

  std::int64_t half() const { return (extent + 1) / 2; }
};

struct HalvedProduct {
  ir::BlockId block = -1;
  HalvedAxis row, column, term;
  const ir::Read *left = nullptr, *right = nullptr;  // of the block's body
};

// The only dimension that an iterator goes through, one by one from 0; -1: there is none.
int dim_along(const std::vector<Affine>& index, int iter) {
  int found = -1;
  for (int d = 0; std::cmp_less(d, index.size()); ++d) {
    const Affine& row = index[static_cast<std::size_t>(d)];
    if (row.coef_of(iter) == 0) continue;
    if (found >= 0 || row != Affine::iter(iter)) return -1;
    found = d;
  }
  return found;
}

bool has_iter(const std::vector<Affine>& index, int iter) {
  return std::ranges::any_of(index, [&](const Affine& row) { return row.coef_of(iter) != 0; });
}

StepResult<HalvedAxis> axis_named(const ir::Nest& nest, const ir::Block& block,
                                  const std::string& name, ir::IterKind kind) {
  const auto found = std::ranges::find(block.iters, name, &ir::BlockIter::name);
  if (found == block.iters.end())
    return refuse(Refusal::kNoSuchLoop, fmt::format("{}.{}", block.name, name));
  if (found->kind != kind || nest.sizes.constant_value(found->extent) < 2)
    return refuse(Refusal::kNoProduct, name);
  return HalvedAxis{static_cast<int>(found - block.iters.begin()), name,
                    nest.sizes.constant_value(found->extent)};
}

// What lies beyond an odd axis must be 0.
StepResult<void> check_read(const ir::Nest& nest, const ir::Read& read, const HalvedAxis& axis) {
  const int dim = dim_along(read.index, axis.iter);
  if (dim < 0) return refuse(Refusal::kNoProduct, axis.name);
  const std::int64_t size = nest.sizes.constant_value(nest.buffers[read.tensor].shape[dim]);
  if (axis.extent % 2 != 0 && size > axis.extent) return refuse(Refusal::kNoProduct, axis.name);
  return {};
}

StepResult<HalvedProduct> halved_product(const ir::Nest& nest, const Strassen& step) {
  HalvedProduct out;
  out.block = LATHE_TRY(block_named(nest, step.block));
  const ir::Block& block = nest.blocks[out.block];
  if (block.reduce != ir::ReduceOp::kSum || !is_float(block.body->dtype))
    return refuse(Refusal::kNotAReduction, step.block);
  if (!has_first_loops(nest, out.block)) return refuse(Refusal::kNotAsWritten, step.block);
  const auto* product = std::get_if<ir::Binary>(&block.body->value);
  if (product == nullptr || product->op != ir::BinaryOp::kMul)
    return refuse(Refusal::kNoProduct, step.block);
  out.left = std::get_if<ir::Read>(&product->a->value);
  out.right = std::get_if<ir::Read>(&product->b->value);
  if (out.left == nullptr || out.right == nullptr || out.left->pad.value_or(0) != 0 ||
      out.right->pad.value_or(0) != 0)
    return refuse(Refusal::kNoProduct, step.block);
  for (const Affine& row : block.index)
    if (row.offset != 0 || plain_iter(row) < 0) return refuse(Refusal::kBadLayout, step.block);
  out.row = LATHE_TRY(axis_named(nest, block, step.row, ir::IterKind::kSpatial));
  out.column = LATHE_TRY(axis_named(nest, block, step.column, ir::IterKind::kSpatial));
  out.term = LATHE_TRY(axis_named(nest, block, step.term, ir::IterKind::kReduce));
  if (has_iter(out.right->index, out.row.iter)) std::swap(out.left, out.right);
  const auto& a = out.left->index;
  const auto& b = out.right->index;
  if (has_iter(b, out.row.iter)) return refuse(Refusal::kNoProduct, out.row.name);
  if (has_iter(a, out.column.iter)) return refuse(Refusal::kNoProduct, out.column.name);
  LATHE_TRY_STATUS(check_read(nest, *out.left, out.row));
  LATHE_TRY_STATUS(check_read(nest, *out.left, out.term));
  LATHE_TRY_STATUS(check_read(nest, *out.right, out.term));
  LATHE_TRY_STATUS(check_read(nest, *out.right, out.column));
  return out;
}

class Halver {
 public:
  Halver(ir::Nest& nest, const Strassen& step) : nest_(nest), step_(step) {}

  StepResult<void> run() {
    product_ = LATHE_TRY(halved_product(nest_, step_));
    old_ = nest_.blocks[product_.block];  // shares its body, and so the reads
    dtype_ = old_.body->dtype;
    position_ = analysis::child_with(nest_, ir::kRoot, product_.block);
    remove_block(nest_, product_.block);
    for (const Affine& row : old_.index) result_.push_back(old_.iters[plain_iter(row)].name);
    left_ = LATHE_TRY(sum_up("left", *product_.left, {product_.row, product_.term}, kLeft));
    right_ = LATHE_TRY(sum_up("right", *product_.right, {product_.term, product_.column}, kRight));
    LATHE_TRY_STATUS(multiply());
    return finish_result();
  }

 private:
  std::int64_t extent_of(int iter) const {
    return nest_.sizes.constant_value(old_.iters[iter].extent);
  }
  bool is_halved(int iter) const {
    return iter == product_.row.iter || iter == product_.column.iter;
  }
  const HalvedAxis& axis(int iter) const {
    return iter == product_.row.iter ? product_.row : product_.column;
  }

  ir::Expr weighted(BufferId literal, std::vector<Affine> at, ir::Expr read) const {
    return ir::binary(ir::BinaryOp::kMul, ir::read(literal, std::move(at), dtype_),
                      std::move(read));
  }

  // The sums of quarters of an operand, one for each product.
  StepResult<BufferId> sum_up(const char* what, const ir::Read& read,
                              const std::array<HalvedAxis, 2>& axes,
                              const std::array<std::array<int, 4>, kProducts>& factors) {
    const std::string name = fmt::format("{}.{}", step_.block, what);
    const BufferId matrix = LATHE_TRY(
        add_sparse_literal(nest_, name + ".M", dtype_, {kProducts, 2, 2}, elements_of(factors)));
    NewStage stage(nest_, name, position_++);
    const Affine q = Affine::iter(LATHE_TRY(stage.add("q", kProducts)));
    std::vector<Affine> index;
    std::array<int, 2> dims = {dim_along(read.index, axes[0].iter),
                               dim_along(read.index, axes[1].iter)};
    bool leaves = false;
    for (int d = 0; std::cmp_less(d, read.index.size()); ++d) {
      const std::int64_t size = nest_.sizes.constant_value(nest_.buffers[read.tensor].shape[d]);
      std::int64_t extent = size;
      for (std::size_t k = 0; k < 2; ++k)
        if (dims[k] == d) {
          extent = axes[k].half();
          leaves |= 2 * extent > size;
        }
      index.push_back(Affine::iter(LATHE_TRY(stage.add(fmt::format("d{}", d), extent))));
    }
    std::vector<Affine> at = {q};
    for (std::size_t k = 0; k < 2; ++k) {
      const std::string half = fmt::format("h{}", dims[k]);
      const int h = LATHE_TRY(stage.add(half, 2, ir::IterKind::kReduce));
      at.push_back(Affine::iter(h));
      index[dims[k]] = index[dims[k]] + Affine::iter(h, axes[k].half());
    }
    const BufferId sums = LATHE_TRY(add_buffer(nest_, name, dtype_, stage.shape()));
    const std::optional<double> pad = leaves ? std::optional<double>(0) : std::nullopt;
    stage.finish(sums, weighted(matrix, at, ir::read(read.tensor, std::move(index), dtype_, pad)));
    return sums;
  }

  // Of halves of rows, terms and columns, for each sum of quarters.
  StepResult<void> multiply() {
    const std::string name = step_.block + ".product";
    NewStage stage(nest_, name, position_++);
    const std::string over = product_iter(result_);
    const Affine q = Affine::iter(LATHE_TRY(stage.add(over, kProducts)));
    std::vector<Affine> now(old_.iters.size());  // of each old iterator
    for (const Affine& row : old_.index) {
      const int i = plain_iter(row);
      const std::string& own = old_.iters[i].name;
      now[i] = Affine::iter(LATHE_TRY(is_halved(i) ? stage.add(own + ".i", axis(i).half())
                                                   : stage.add(own, extent_of(i))));
    }
    for (int i = 0; std::cmp_less(i, old_.iters.size()); ++i) {
      if (old_.iters[i].kind != ir::IterKind::kReduce) continue;
      const bool halved = i == product_.term.iter;
      now[i] = Affine::iter(LATHE_TRY(stage.add(old_.iters[i].name + (halved ? ".i" : ""),
                                                halved ? product_.term.half() : extent_of(i),
                                                ir::IterKind::kReduce)));
    }
    const auto operand = [&](BufferId sums, const ir::Read& read) {
      std::vector<Affine> index = {q};
      for (const Affine& row : read.index) index.push_back(ir::substitute(row, now));
      return ir::read(sums, std::move(index), dtype_, read.pad);
    };
    products_ = LATHE_TRY(add_buffer(nest_, name, dtype_, stage.shape()));
    stage.finish(products_, ir::binary(ir::BinaryOp::kMul, operand(left_, *product_.left),
                                       operand(right_, *product_.right)));
    return {};
  }

  // The first block again: it sums products up.
  StepResult<void> finish_result() {
    const BufferId matrix = LATHE_TRY(add_sparse_literal(nest_, step_.block + ".M", dtype_,
                                                         {2, 2, kProducts}, elements_of(kResult)));
    NewStage stage(nest_, step_.block, position_);
    struct Loops {
      ir::LoopId half = ir::kRoot, inside = ir::kRoot;
    };
    std::vector<Loops> loops;
    for (const Affine& row : old_.index) {
      const int i = plain_iter(row);
      const std::string& own = old_.iters[i].name;
      Loops& made = loops.emplace_back();
      if (!is_halved(i)) {
        LATHE_TRY(stage.add(own, extent_of(i)));
        continue;
      }
      const std::int64_t half = axis(i).half();
      made.half = LATHE_TRY(stage.add_loop_of(own + ".h", 2));
      made.inside = LATHE_TRY(stage.add_loop_of(own + ".i", half));
      stage.add_digits(own, extent_of(i),
                       {{made.half, stage.size(half)}, {made.inside, stage.size(1)}});
    }
    std::vector<Affine> index(1), at(3);
    for (std::size_t d = 0; d < old_.index.size(); ++d) {
      const int i = plain_iter(old_.index[d]);
      if (!is_halved(i)) {
        index.push_back(Affine::iter(static_cast<int>(d)));
        continue;
      }
      const std::string& own = old_.iters[i].name;
      at[i == product_.row.iter ? 0 : 1] =
          Affine::iter(stage.add_view(own + ".h", 2, loops[d].half));
      index.push_back(Affine::iter(stage.add_view(own + ".i", axis(i).half(), loops[d].inside)));
    }
    const std::string over = product_iter(result_);
    const Affine q = Affine::iter(LATHE_TRY(stage.add(over, kProducts, ir::IterKind::kReduce)));
    index[0] = at[2] = q;
    stage.finish(old_.writes,
                 weighted(matrix, std::move(at), ir::read(products_, std::move(index), dtype_)));
    return {};
  }

  ir::Nest& nest_;
  const Strassen& step_;
  HalvedProduct product_;
  ir::Block old_;
  std::vector<std::string> result_;  // iterators by dimension
  int position_ = 0;                 // among the root's children, of the next block
  Dtype dtype_ = Dtype::kF32;
  BufferId left_ = -1, right_ = -1, products_ = -1;
};

}  // namespace

std::string Strassen::text() const {
  return fmt::format("strassen {}, {} by {}, over {}", block, row, column, term);
}

std::string product_iter(const std::vector<std::string>& result) {
  std::string name = "q";
  while (std::ranges::find(result, name) != result.end()) name += ".q";
  return name;
}

StepResult<void> apply_step(ir::Nest& nest, const Strassen& step) {
  return Halver(nest, step).run();
}

}  // namespace lathe::schedule
