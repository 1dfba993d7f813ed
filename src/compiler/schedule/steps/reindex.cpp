#include "compiler/schedule/steps/reindex.h"

#include <algorithm>

#include <fmt/format.h>

#include "compiler/schedule/edit.h"
#include "compiler/schedule/new_stage.h"

namespace lathe::schedule {
namespace {

using ir::Affine;
using ir::BlockId;
using ir::BufferId;

constexpr double kMostElements = 0x1p40;  // as of any tensor

class Reindexer {
 public:
  Reindexer(ir::Nest& nest, const Reindex& step) : nest_(nest), step_(step) {}

  StepResult<void> run() {
    original_ = LATHE_TRY(buffer_named(nest_, step_.buffer));
    if (auto is_free = check_new_name(nest_, step_.name); !is_free) return is_free;
    const ir::Buffer& original = nest_.buffers[original_];
    if (original.at != ir::kRoot || original.cache_of >= 0)
      return refuse(Refusal::kNotAsWritten, step_.buffer);
    const BlockId reader = LATHE_TRY(reader_of_copy(nest_, original_, step_.reader));
    LATHE_TRY_STATUS(find_read(nest_.blocks[reader]));
    LATHE_TRY_STATUS(find_dims(nest_.blocks[reader]));
    const int position = place_of_copy(nest_, original_, ir::kRoot, reader);
    const BufferId copy = add_buffer();
    redirect(nest_.blocks[reader], copy);
    return fill(copy, position);
  }

 private:
  StepResult<void> find_read(const ir::Block& block) {
    for (const ir::Read* read : ir::reads_of(block.body)) {
      if (read->tensor != original_) continue;
      if (read_ && (read_->index != read->index || read_->pad != read->pad))
        return refuse(Refusal::kMultipleConsumers, step_.buffer);
      read_ = *read;
    }
    return {};
  }

  // The iterators of the block that take part in the read.
  StepResult<void> find_dims(const ir::Block& block) {
    double elements = 1;
    for (int i = 0; i < static_cast<int>(block.iters.size()); ++i) {
      const auto moves = [&](const Affine& row) { return row.coef_of(i) != 0; };
      if (std::ranges::none_of(read_->index, moves)) continue;
      const ir::SizeId extent = block.iters[static_cast<std::size_t>(i)].extent;
      if (!nest_.sizes.is_constant(extent)) return refuse(Refusal::kNotAsWritten, step_.reader);
      iters_.push_back(i);
      shape_.push_back(nest_.sizes.constant_value(extent));
      elements *= static_cast<double>(shape_.back());
    }
    if (iters_.empty()) return refuse(Refusal::kNotElementwise, step_.buffer);
    if (elements > kMostElements) return refuse(Refusal::kTooLarge, step_.name);
    return {};
  }

  BufferId add_buffer() {
    ir::Buffer copy;
    copy.name = step_.name;
    copy.dtype = nest_.buffers[original_].dtype;
    copy.constant = nest_.buffers[original_].constant;
    for (const std::int64_t size : shape_) copy.shape.push_back(nest_.sizes.constant(size));
    nest_.buffers.push_back(std::move(copy));
    return static_cast<BufferId>(nest_.buffers.size() - 1);
  }

  void redirect(ir::Block& block, BufferId copy) const {
    std::vector<Affine> index;
    for (const int i : iters_) index.push_back(Affine::iter(i));
    block.body = ir::rewrite_leaves(block.body, [&](const ir::Expr& leaf) -> ir::Expr {
      const auto* read = std::get_if<ir::Read>(&leaf->value);
      if (read == nullptr || read->tensor != original_) return leaf;
      return ir::read(copy, index, leaf->dtype);
    });
  }

  StepResult<void> fill(BufferId copy, int position) {
    NewStage stage(nest_, step_.name, position);
    int most = 0;
    for (const int i : iters_) most = std::max(most, i);
    std::vector<Affine> now(static_cast<std::size_t>(most) + 1);
    for (std::size_t d = 0; d < iters_.size(); ++d)
      now[static_cast<std::size_t>(iters_[d])] =
          Affine::iter(LATHE_TRY(stage.add(fmt::format("d{}", d), shape_[d])));
    std::vector<Affine> index;
    for (const Affine& row : read_->index) index.push_back(ir::substitute(row, now));
    // What a condition keeps the block from reading is copied as 0, for nobody uses it.
    std::optional<double> pad = read_->pad;
    if (!pad && leaves(index)) pad = 0;
    stage.finish_map(copy, ir::read(original_, std::move(index), nest_.buffers[copy].dtype, pad));
    return {};
  }

  // True if the copy's iterators lead beyond the buffer.
  bool leaves(const std::vector<Affine>& index) const {
    for (std::size_t d = 0; d < index.size(); ++d) {
      std::int64_t low = index[d].offset, high = low;
      for (const ir::AffineTerm& term : index[d].terms)
        (term.coef < 0 ? low : high) +=
            term.coef * (shape_[static_cast<std::size_t>(term.iter)] - 1);
      const std::int64_t size = nest_.sizes.constant_value(nest_.buffers[original_].shape[d]);
      if (low < 0 || high >= size) return true;
    }
    return false;
  }

  ir::Nest& nest_;
  const Reindex& step_;
  BufferId original_ = -1;
  std::optional<ir::Read> read_;
  std::vector<int> iters_;
  std::vector<std::int64_t> shape_;
};

}  // namespace

std::string Reindex::text() const {
  return fmt::format("reindex {} into {} for {}", buffer, name, reader);
}

StepResult<void> apply_step(ir::Nest& nest, const Reindex& step) {
  return Reindexer(nest, step).run();
}

}  // namespace lathe::schedule
