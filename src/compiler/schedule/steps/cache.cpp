#include <algorithm>

#include "compiler/analysis/dependence.h"
#include "compiler/schedule/edit.h"
#include "compiler/schedule/region.h"
#include "compiler/schedule/steps/steps.h"

namespace lathe::schedule {
namespace {

using ir::BlockId;
using ir::BufferId;
using ir::Digit;
using ir::LoopId;
using ir::SizeId;

class Cacher {
 public:
  Cacher(ir::Nest& nest, const Cache& step) : nest_(nest), step_(step) {}

  StepResult<void> run() {
    original_ = LATHE_TRY(buffer_named(nest_, step_.buffer));
    loop_ = LATHE_TRY(place_named(nest_, step_.loop));
    if (auto is_free = check_new_name(nest_, step_.name); !is_free) return is_free;
    if (step_.scope == ir::Scope::kInput || step_.scope == ir::Scope::kOutput || step_.scope == ir::Scope::kLiteral)
      return refuse(Refusal::kBadScope, step_.name);
    if (loop_ != ir::kRoot && !nest_.is_inside({ir::Item::Kind::kLoop, loop_}, nest_.buffers[original_].at))
      return refuse(Refusal::kNotUsedThere, step_.buffer);
    layout_ = LATHE_TRY(resolve_layout(nest_, step_.layout, nest_.buffers[original_].shape.size(), step_.name));
    const std::vector<BlockId> readers = analysis::readers_of(nest_, original_, loop_);
    const std::vector<BlockId> writers = analysis::writers_of(nest_, original_, loop_);
    if (readers.empty() && writers.empty()) return refuse(Refusal::kNotUsedThere, step_.buffer);
    if (writers.size() > 1) return refuse(Refusal::kMultipleConsumers, step_.buffer);
    return writers.empty() ? cache_read(readers) : cache_written(readers, writers[0]);
  }

 private:
  ir::Buffer& original() { return nest_.buffers[original_]; }
  std::size_t dims() { return original().shape.size(); }

  BufferId add_buffer() {
    ir::Buffer cache = original();
    cache.name = step_.name;
    cache.scope = step_.scope;
    cache.constant = original().constant && loop_ == ir::kRoot;
    cache.literal.clear();
    cache.at = loop_;
    cache.layout = layout_;
    cache.pad_stride = 0;
    cache.cache_of = original_;
    nest_.buffers.push_back(std::move(cache));
    return static_cast<BufferId>(nest_.buffers.size() - 1);
  }

  // Caches of the original that are filled from it or written back to it inside the loop are now caches of the cache.
  void adopt(BufferId cache) {
    for (const BlockId id : nest_.blocks_in(loop_)) {
      const ir::Block& block = nest_.blocks[id];
      const auto* read = std::get_if<ir::Read>(&block.body->value);
      if (!read) continue;
      for (const auto& [inner, outer] : {std::pair(block.writes, read->tensor), std::pair(read->tensor, block.writes)})
        if (nest_.buffers[inner].cache_of == original_ && outer == cache && inner != cache)
          nest_.buffers[inner].cache_of = cache;
    }
  }

  // Loops NAME.d0, NAME.d1 ... over the box in layout order; inner_ gets the digits of each dimension.
  StepResult<LoopId> add_copy_loops(const analysis::Box& box, int position) {
    std::vector<ir::LayoutDigit> order = layout_;
    if (order.empty())
      for (std::size_t d = 0; d < dims(); ++d) order.push_back({static_cast<int>(d), nest_.sizes.constant(1)});
    inner_.assign(dims(), {});
    LoopId parent = loop_;
    for (std::size_t i = 0; i < order.size(); ++i) {
      auto& digits = inner_[static_cast<std::size_t>(order[i].dim)];
      const SizeId above = digits.empty() ? box[static_cast<std::size_t>(order[i].dim)].extent : digits.back().weight;
      const SizeId extent = nest_.sizes.ceildiv(above, order[i].weight);
      parent = LATHE_TRY(add_loop(nest_, step_.name + ".d" + std::to_string(i), extent, parent, i == 0 ? position : -1));
      digits.push_back({parent, order[i].weight});
    }
    return parent;
  }

  static std::string iter_name(std::size_t dim) { return "c" + std::to_string(dim); }

  StepResult<void> cache_read(const std::vector<BlockId>& readers) {
    if (std::ranges::any_of(readers, [&](BlockId id) { return nest_.is_write_back(id); }))
      return refuse(Refusal::kNotUsedThere, step_.buffer);
    analysis::Box box = analysis::box_read(nest_, original_, loop_);
    std::optional<double> pad;
    bool padded = false;
    for (const BlockId id : readers)
      for (const ir::Read* read : ir::reads_of(nest_.blocks[id].body)) {
        if (read->tensor != original_ || !read->pad) continue;
        if (padded && pad != read->pad) return refuse(Refusal::kPadNeedsOwnStorage, step_.buffer);
        pad = read->pad;
        padded = true;
      }
    std::vector<std::int64_t> low(dims(), 0);
    std::vector<SizeId> domain = original().shape;
    if (padded) {
      const analysis::Box all = box_of_reads(readers);
      for (std::size_t d = 0; d < dims(); ++d)
        if (auto known = pad_domain(all[d], domain[d], low[d]); !known) return known;
    }
    const int position = analysis::child_with(nest_, loop_, readers[0]);
    const BufferId cache = add_buffer();
    for (const BlockId id : readers) redirect_reads(nest_.blocks[id], original_, cache, padded);
    const LoopId innermost = LATHE_TRY(add_copy_loops(box, position));

    ir::Block copy;
    copy.name = step_.name;
    for (std::size_t d = 0; d < dims(); ++d) {
      copy.iters.push_back(region_iter(nest_, iter_name(d), box[d], low[d], domain[d], inner_[d]));
      copy.index.push_back(ir::Affine::iter(static_cast<int>(d)) + ir::Affine::constant(low[d]));
    }
    copy.writes = cache;
    copy.body = ir::read(original_, copy.index, original().dtype, pad);
    adopt(cache);
    add_block(nest_, std::move(copy), innermost);
    return {};
  }

  // The whole range that these blocks read, over all iterations.
  analysis::Box box_of_reads(const std::vector<BlockId>& readers) {
    analysis::Box sum;
    for (const BlockId id : readers)
      for (const ir::Read* read : ir::reads_of(nest_.blocks[id].body)) {
        if (read->tensor != original_) continue;
        const analysis::Box one = analysis::box_of(nest_, id, read->index, ir::kRoot);
        if (sum.empty()) sum = one;
        for (std::size_t d = 0; d < one.size(); ++d) sum[d] = analysis::united(nest_.sizes, sum[d], one[d], one[d]);
      }
    return sum;
  }

  // A padded dimension's coordinates run from `low` on, below 0 and beyond the shape.
  StepResult<void> pad_domain(const analysis::Span& all, SizeId& domain, std::int64_t& low) {
    const ir::Sizes& s = nest_.sizes;
    if (!s.is_constant(all.offset)) return refuse(Refusal::kPadNeedsOwnStorage, step_.buffer);
    const std::int64_t start = s.constant_value(all.offset);
    const bool fits = s.at_least(domain, nest_.sizes.add(all.offset, all.extent));
    if (start >= 0 && fits) return {};
    low = start;
    domain = all.extent;
    return {};
  }

  StepResult<void> cache_written(const std::vector<BlockId>& readers, BlockId writer) {
    const Region region = LATHE_TRY(region_computed(nest_, writer, loop_));
    for (const BlockId id : readers) {
      if (nest_.buffers[original_].at == loop_) break;
      for (const ir::Read* read : ir::reads_of(nest_.blocks[id].body)) {
        if (read->tensor != original_) continue;
        const analysis::Box box = analysis::box_of(nest_, id, read->index, loop_);
        for (std::size_t d = 0; d < box.size(); ++d)
          if (!analysis::same_start(box[d], region.box[d])) return refuse(Refusal::kBreaksDependence, step_.buffer);
      }
    }
    const int position = analysis::child_with(nest_, loop_, writer) + 1;
    const BufferId cache = add_buffer();
    nest_.blocks[writer].writes = cache;
    for (const BlockId id : readers) redirect_reads(nest_.blocks[id], original_, cache, false);
    const LoopId innermost = LATHE_TRY(add_copy_loops(region.box, position));

    ir::Block copy;
    copy.name = step_.name;
    for (std::size_t d = 0; d < dims(); ++d) {
      copy.iters.push_back(region_iter(nest_, iter_name(d), region.box[d], 0, original().shape[d], inner_[d]));
      copy.index.push_back(ir::Affine::iter(static_cast<int>(d)));
    }
    copy.writes = original_;
    copy.body = ir::read(cache, copy.index, original().dtype);
    add_guards(copy, region, inner_);
    for (std::size_t d = 0; d < dims(); ++d) guard_overhang(copy, d, region.box[d]);
    adopt(cache);
    add_block(nest_, std::move(copy), innermost);
    return {};
  }

  // A layout whose blocks do not divide the box makes copy loops that run past it, into the neighbour's elements.
  void guard_overhang(ir::Block& copy, std::size_t dim, const analysis::Span& span) {
    if (nest_.sizes.divides(inner_[dim].front().weight, span.extent)) return;
    if (span.start.empty() && nest_.sizes.at_least(span.extent, original().shape[dim])) return;
    ir::BlockIter guard;
    guard.name = iter_name(dim);
    guard.extent = span.extent;
    guard.digits = inner_[dim];
    guard.guard = true;
    copy.iters.push_back(std::move(guard));
  }

  ir::Nest& nest_;
  const Cache& step_;
  BufferId original_ = -1;
  LoopId loop_ = ir::kRoot;
  std::vector<ir::LayoutDigit> layout_;
  std::vector<std::vector<Digit>> inner_;  // by dimension: the copy loops' digits
};

}  // namespace

StepResult<void> apply_step(ir::Nest& nest, const Cache& step) { return Cacher(nest, step).run(); }

}  // namespace lathe::schedule
