#include "compiler/schedule/steps/transpose.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/analysis/dependence.h"
#include "compiler/schedule/edit.h"

namespace lathe::schedule {
namespace {

using ir::Affine;
using ir::BlockId;
using ir::BufferId;
using ir::LoopId;

class Transposer {
 public:
  Transposer(ir::Nest& nest, const Transpose& step) : nest_(nest), step_(step) {}

  StepResult<void> run() {
    original_ = LATHE_TRY(buffer_named(nest_, step_.buffer));
    if (auto is_free = check_new_name(nest_, step_.name); !is_free) return is_free;
    if (!is_order()) return refuse(Refusal::kNotAnOrder, step_.buffer);
    if (original().at != ir::kRoot || original().cache_of >= 0)
      return refuse(Refusal::kNotAsWritten, step_.buffer);
    return step_.reader.empty() ? turn_what_is_written() : turn_what_is_read();
  }

 private:
  const ir::Buffer& original() const { return nest_.buffers[original_]; }

  bool is_order() const {
    std::vector<std::int64_t> sorted = step_.order;
    std::ranges::sort(sorted);
    for (std::size_t d = 0; d < sorted.size(); ++d)
      if (sorted[d] != static_cast<std::int64_t>(d)) return false;
    return sorted.size() == original().shape.size();
  }

  template <class T>
  std::vector<T> turned(const std::vector<T>& dims) const {
    std::vector<T> out;
    for (const std::int64_t d : step_.order) out.push_back(dims[static_cast<std::size_t>(d)]);
    return out;
  }
  // The copy's element in the coordinates of the original.
  std::vector<Affine> turned_back() const {
    std::vector<Affine> out(step_.order.size());
    for (std::size_t d = 0; d < step_.order.size(); ++d)
      out[static_cast<std::size_t>(step_.order[d])] = Affine::iter(static_cast<int>(d));
    return out;
  }

  BufferId add_buffer() {
    ir::Buffer copy;
    copy.name = step_.name;
    copy.dtype = original().dtype;
    copy.shape = turned(original().shape);
    copy.constant = original().constant;
    nest_.buffers.push_back(std::move(copy));
    return static_cast<BufferId>(nest_.buffers.size() - 1);
  }

  // A copy with its padding has elements beyond its shape, which a copy by the shape would not
  // have.
  bool has_padding() {
    for (const BlockId id : analysis::writers_of(nest_, original_)) {
      const ir::Block& block = nest_.blocks[id];
      for (std::size_t d = 0; d < block.index.size(); ++d) {
        const int iter = plain_iter(block.index[d]);
        if (iter < 0) continue;
        const std::int64_t first = block.index[d].offset;
        const ir::SizeId end = nest_.sizes.add(nest_.sizes.constant(first),
                                               block.iters[static_cast<std::size_t>(iter)].extent);
        if (first < 0 || !nest_.sizes.at_least(original().shape[d], end)) return true;
      }
    }
    return false;
  }

  StepResult<void> turn_what_is_read() {
    const BlockId reader = LATHE_TRY(reader_of_copy(nest_, original_, step_.reader));
    if (has_padding()) return refuse(Refusal::kNotAsWritten, step_.buffer);
    const int position = place_of_copy(nest_, original_, ir::kRoot, reader);
    const BufferId copy = add_buffer();
    ir::Block& turning = nest_.blocks[reader];
    turning.body = ir::rewrite_leaves(turning.body, [&](const ir::Expr& leaf) -> ir::Expr {
      const auto* read = std::get_if<ir::Read>(&leaf->value);
      if (read == nullptr || read->tensor != original_) return leaf;
      return ir::read(copy, turned(read->index), leaf->dtype, read->pad);
    });
    ir::Block fill;
    fill.name = step_.name;
    fill.writes = copy;
    fill.body = ir::read(original_, turned_back(), original().dtype);
    std::vector<std::string> loops, iters;
    for (std::size_t d = 0; d < step_.order.size(); ++d) {
      loops.push_back(fmt::format("{}.d{}", step_.name, d));
      iters.push_back(fmt::format("c{}", d));
    }
    return place(std::move(fill), nest_.buffers[copy].shape, loops, iters, position);
  }

  // The block that computes the buffer: the only one that touches it among its loops.
  StepResult<BlockId> writer() const {
    const std::vector<BlockId> writers = analysis::writers_of(nest_, original_);
    if (writers.empty()) return refuse(Refusal::kNotUsedThere, step_.buffer);
    if (writers.size() > 1) return refuse(Refusal::kMultipleConsumers, step_.buffer);
    const ir::Block& block = nest_.blocks[writers[0]];
    if (is_tensorized(nest_, block.parent)) return refuse(Refusal::kAlreadyBound, block.name);
    for (std::size_t d = 0; d < block.index.size(); ++d) {
      const int iter = plain_iter(block.index[d]);
      if (iter < 0 || block.index[d].offset != 0 ||
          block.iters[static_cast<std::size_t>(iter)].extent != original().shape[d])
        return refuse(Refusal::kNotElementwise, block.name);
    }
    const bool cached = std::ranges::any_of(
        nest_.buffers, [&](const ir::Buffer& b) { return b.cache_of == original_; });
    const int child = analysis::child_with(nest_, ir::kRoot, writers[0]);
    const ir::Item item = nest_.root[static_cast<std::size_t>(child)];
    if (cached || (item.kind == ir::Item::Kind::kLoop &&
                   !analysis::readers_of(nest_, original_, item.id).empty()))
      return refuse(Refusal::kNotAsWritten, block.name);
    return writers[0];
  }

  StepResult<void> turn_what_is_written() {
    const BlockId id = LATHE_TRY(writer());
    const int position = analysis::child_with(nest_, ir::kRoot, id) + 1;
    const BufferId copy = add_buffer();
    ir::Block& block = nest_.blocks[id];
    ir::Block back;
    back.name = block.name;
    back.writes = original_;
    std::vector<std::string> loops, iters;
    std::vector<Affine> index;
    for (const Affine& row : block.index) {
      const std::string& name = block.iters[static_cast<std::size_t>(plain_iter(row))].name;
      iters.push_back(name);
      loops.push_back(fmt::format("{}.{}@{}", back.name, name, step_.name));
      index.push_back(Affine::iter(static_cast<int>(index.size())));
    }
    back.body = ir::read(copy, turned(index), original().dtype);
    block.name = step_.name;
    block.writes = copy;
    block.index = turned(block.index);
    return place(std::move(back), original().shape, loops, iters, position);
  }

  // Adds the block, which has an iterator and a loop for each dimension that it writes.
  StepResult<void> place(ir::Block block, std::vector<ir::SizeId> shape,
                         const std::vector<std::string>& loops,
                         const std::vector<std::string>& iters, int position) {
    LoopId parent = ir::kRoot;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      parent = LATHE_TRY(add_loop(nest_, loops[d], shape[d], parent, d == 0 ? position : -1));
      ir::BlockIter iter;
      iter.name = iters[d];
      iter.extent = shape[d];
      iter.digits = {{parent, nest_.sizes.constant(1)}};
      block.iters.push_back(std::move(iter));
      block.index.push_back(Affine::iter(static_cast<int>(d)));
    }
    add_block(nest_, std::move(block), parent, shape.empty() ? position : -1);
    return {};
  }

  ir::Nest& nest_;
  const Transpose& step_;
  BufferId original_ = -1;
};

}  // namespace

std::string Transpose::text() const {
  const std::string out =
      fmt::format("transpose {} into {} ({})", buffer, name, fmt::join(order, ", "));
  return reader.empty() ? out : out + " for " + reader;
}

StepResult<void> apply_step(ir::Nest& nest, const Transpose& step) {
  return Transposer(nest, step).run();
}

}  // namespace lathe::schedule
