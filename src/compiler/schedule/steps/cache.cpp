#include "compiler/schedule/steps/cache.h"

#include <algorithm>

#include <fmt/format.h>

#include "compiler/analysis/dependence.h"
#include "compiler/schedule/edit.h"
#include "compiler/schedule/region.h"

namespace lathe::schedule {
namespace {

using ir::BlockId;
using ir::BufferId;
using ir::LoopDigit;
using ir::LoopId;
using ir::SizeId;

class Cacher {
 public:
  Cacher(ir::Nest& nest, const Cache& step) : nest_(nest), step_(step) {}

  StepResult<void> run() {
    original_ = LATHE_TRY(buffer_named(nest_, step_.buffer));
    loop_ = LATHE_TRY(place_named(nest_, step_.loop));
    if (is_tensorized(nest_, loop_)) return refuse(Refusal::kAlreadyBound, step_.loop);
    if (auto is_free = check_new_name(nest_, step_.name); !is_free) return is_free;
    if (step_.scope == ir::Scope::kInput || step_.scope == ir::Scope::kOutput ||
        step_.scope == ir::Scope::kLiteral)
      return refuse(Refusal::kBadScope, step_.name);
    if (auto possible = check_stages(); !possible) return possible;
    const LoopId lives_at = nest_.buffers[original_].at;
    if (lives_at != ir::kRoot &&
        (loop_ == ir::kRoot || !nest_.is_inside({ir::Item::Kind::kLoop, loop_}, lives_at)))
      return refuse(Refusal::kNotUsedThere, step_.buffer);
    layout_ = LATHE_TRY(
        resolve_layout(nest_, step_.layout, nest_.buffers[original_].shape.size(), step_.name));
    const std::vector<BlockId> readers = analysis::readers_of(nest_, original_, loop_);
    const std::vector<BlockId> writers = analysis::writers_of(nest_, original_, loop_);
    // What is read at computed places stays where it is.
    const auto looks_up = [&](BlockId id) {
      return ir::looks_up(nest_.blocks[id].body, original_);
    };
    if (std::ranges::any_of(readers, looks_up))
      return refuse(Refusal::kNotElementwise, step_.buffer);
    if (!step_.reader.empty())
      return cache_for(LATHE_TRY(block_named(nest_, step_.reader)), writers);
    if (readers.empty() && writers.empty()) return refuse(Refusal::kNotUsedThere, step_.buffer);
    if (writers.size() > 1) return refuse(Refusal::kMultipleConsumers, step_.buffer);
    return writers.empty() ? cache_read(readers) : cache_written(readers, writers[0]);
  }

 private:
  bool is_of_group() const { return step_.scope == ir::Scope::kGroup; }

  StepResult<void> check_stages() const {
    constexpr int kMostStages = 8;
    if (step_.stages < 1 || step_.stages > kMostStages)
      return refuse(Refusal::kBadNumber, step_.name);
    if (step_.scope == ir::Scope::kLanes && loop_ == ir::kRoot)
      return refuse(Refusal::kBadScope, step_.name);
    if (step_.stages > 1 && (!is_of_group() || loop_ == ir::kRoot))
      return refuse(Refusal::kBadScope, step_.name);
    return {};
  }

  ir::Buffer& original() { return nest_.buffers[original_]; }
  std::size_t dims() { return original().shape.size(); }

  BufferId add_buffer() {
    ir::Buffer cache = original();
    cache.streaming = false;
    cache.name = step_.name;
    cache.scope = step_.scope;
    cache.constant = false;
    cache.literal.clear();
    cache.sparse = false;
    cache.at = loop_;
    cache.layout = layout_;
    cache.pad_stride = 0;
    cache.cache_of = original_;
    cache.stages = step_.stages;
    nest_.buffers.push_back(std::move(cache));
    return static_cast<BufferId>(nest_.buffers.size() - 1);
  }

  // Some caches of the original are filled from it or written back to it inside the loop; they
  // become caches of the new cache.
  void adopt(BufferId cache) {
    for (const BlockId id : nest_.blocks_in(loop_)) {
      const ir::Block& block = nest_.blocks[id];
      const auto* read = std::get_if<ir::Read>(&block.body->value);
      if (!read) continue;
      for (const auto& [inner, outer] :
           {std::pair(block.writes, read->tensor), std::pair(read->tensor, block.writes)})
        if (nest_.buffers[inner].cache_of == original_ && outer == cache && inner != cache)
          nest_.buffers[inner].cache_of = cache;
    }
  }

  // Makes loops NAME.d0, NAME.d1 ... over the box in layout order; inner_ gets the digits of each
  // dimension.
  StepResult<LoopId> add_copy_loops(const analysis::Box& box, int position) {
    std::vector<ir::LayoutDigit> order = layout_;
    if (order.empty())
      for (std::size_t d = 0; d < dims(); ++d)
        order.push_back({static_cast<int>(d), nest_.sizes.constant(1)});
    inner_.assign(dims(), {});
    LoopId parent = loop_;
    for (std::size_t i = 0; i < order.size(); ++i) {
      auto& digits = inner_[static_cast<std::size_t>(order[i].dim)];
      const SizeId above = digits.empty() ? box[static_cast<std::size_t>(order[i].dim)].extent
                                          : digits.back().weight;
      const SizeId extent = nest_.sizes.ceildiv(above, order[i].weight);
      parent = LATHE_TRY(add_loop(nest_, step_.name + ".d" + std::to_string(i), extent, parent,
                                  i == 0 ? position : -1));
      digits.push_back({parent, order[i].weight});
    }
    return parent;
  }

  static std::string iter_name(std::size_t dim) { return "c" + std::to_string(dim); }

  // Makes a copy for one reader, where the buffer is complete.
  StepResult<void> cache_for(BlockId reader, const std::vector<BlockId>& writers) {
    if (!nest_.is_inside({ir::Item::Kind::kBlock, reader}, loop_) ||
        !analysis::reads(nest_.blocks[reader], original_))
      return refuse(Refusal::kNotUsedThere, step_.buffer);
    const int position = analysis::child_with(nest_, loop_, reader);
    for (const BlockId writer : writers)
      if (analysis::child_with(nest_, loop_, writer) >= position)
        return refuse(Refusal::kBreaksDependence, step_.buffer);
    return cache_read({reader});
  }

  StepResult<void> cache_read(const std::vector<BlockId>& readers) {
    if (std::ranges::any_of(readers, [&](BlockId id) { return nest_.is_write_back(id); }))
      return refuse(Refusal::kNotUsedThere, step_.buffer);
    const bool in_the_making = analysis::is_in_the_making(nest_, original_, loop_);
    if (in_the_making && is_of_group()) return refuse(Refusal::kBreaksDependence, step_.buffer);
    std::vector<LoopId> relaxed;
    if (is_of_group()) relaxed = analysis::item_loops_around(nest_, loop_);
    // Of a buffer that each item has for itself, others cannot read.
    for (const LoopId l : relaxed)
      if (original().scope != ir::Scope::kGroup && original().at != ir::kRoot &&
          nest_.is_inside({ir::Item::Kind::kLoop, original().at}, l))
        return refuse(Refusal::kBadScope, step_.name);
    const analysis::Box box = analysis::box_read(nest_, original_, loop_, relaxed);
    std::optional<double> pad;
    bool padded = false;
    for (const BlockId id : readers)
      for (const ir::Read* read : ir::reads_of(nest_.blocks[id].body)) {
        if (read->tensor != original_ || !read->pad) continue;
        if (padded && pad != read->pad) return refuse(Refusal::kPadNeedsOwnStorage, step_.buffer);
        pad = read->pad;
        padded = true;
      }
    auto [low, domain] = coordinates();
    const bool exact = !analysis::writers_of(nest_, original_).empty();
    if (padded || exact) {
      const analysis::Box all = box_of_reads(readers);
      for (std::size_t d = 0; d < dims(); ++d)
        if (auto known = narrow_domain(all[d], padded, exact, domain[d], low[d]); !known)
          return known;
    }
    Region limits;
    if (in_the_making) limits.guards = LATHE_TRY(limits_of(readers));
    const int position = place_of_copy(nest_, original_, loop_, readers[0]);
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
    add_guards(nest_, copy, limits, inner_);
    for (std::size_t d = 0; exact && d < dims(); ++d) guard_overhang(copy, d, box[d], domain[d]);
    adopt(cache);
    add_block(nest_, std::move(copy), innermost);
    return {};
  }

  // The buffer's coordinates: low[d] + [0, extent[d]). A cache with its padding begins below 0.
  std::pair<std::vector<std::int64_t>, std::vector<SizeId>> coordinates() {
    std::vector<std::int64_t> low(dims(), 0);
    std::vector<SizeId> extent = original().shape;
    const std::vector<BlockId> writers = analysis::writers_of(nest_, original_);
    for (std::size_t d = 0; d < dims() && writers.size() == 1; ++d) {
      const ir::Block& writer = nest_.blocks[writers[0]];
      const int iter = plain_iter(writer.index[d]);
      if (iter < 0) continue;
      low[d] = writer.index[d].offset;
      extent[d] = writer.iters[static_cast<std::size_t>(iter)].extent;
    }
    return {low, extent};
  }

  // An accumulator is reloaded from the buffer that it caches. That buffer must not be a cache that
  // starts empty itself.
  bool is_nested_accumulator(BlockId writer) const {
    const BlockId computes = nest_.writer_of(original_);
    if (computes != writer) return analysis::is_partial_at(nest_, computes, loop_);
    return nest_.buffers[original_].cache_of >= 0 &&
           analysis::is_partial_at(nest_, writer, nest_.buffers[original_].at);
  }

  // The whole range that these blocks read, over all iterations.
  analysis::Box box_of_reads(const std::vector<BlockId>& readers) {
    analysis::Box sum;
    for (const BlockId id : readers)
      for (const ir::Read* read : ir::reads_of(nest_.blocks[id].body)) {
        if (read->tensor != original_) continue;
        const analysis::Box one = analysis::box_of(nest_, id, read->index, ir::kRoot);
        if (sum.empty()) sum = one;
        for (std::size_t d = 0; d < one.size(); ++d)
          sum[d] = analysis::united(nest_.sizes, sum[d], one[d], one[d]);
      }
    return sum;
  }

  // Narrows the domain to coordinates that are read at all. A padded dimension begins below 0 or
  // ends beyond the shape; a buffer that is still being computed may have no other coordinates.
  StepResult<void> narrow_domain(const analysis::Span& all, bool padded, bool exact, SizeId& domain,
                                 std::int64_t& low) {
    ir::Sizes& s = nest_.sizes;
    if (!s.is_constant(all.offset)) return refuse(Refusal::kPadNeedsOwnStorage, step_.buffer);
    const std::int64_t start = s.constant_value(all.offset);
    const SizeId end = s.add(domain, s.constant(low));
    const bool fits = start >= low && s.at_least(end, s.add(all.offset, all.extent));
    if (fits ? !exact : !padded) return {};
    low = start;
    domain = all.extent;
    return {};
  }

  // Bounds of the readers' iterations that their box does not show. Of a buffer in the making, what
  // lies past them is not there to be copied.
  StepResult<std::vector<RegionGuard>> limits_of(const std::vector<BlockId>& readers) {
    std::vector<RegionGuard> limits;
    for (const BlockId id : readers) {
      const ir::Block& reader = nest_.blocks[id];
      for (std::size_t i = 0; i < reader.iters.size(); ++i) {
        const ir::BlockIter& iter = reader.iters[i];
        if ((!iter.guard && !indexes(reader, static_cast<int>(i))) || !overshoots(iter)) continue;
        auto [outer, inner] = parted(nest_, iter, loop_);
        if (outer.empty() && iter.offset == SizeId::kNone) continue;
        if (std::ranges::any_of(inner, [&](const LoopDigit& digit) {
              return nest_.sizes.is_negative(digit.weight);
            }))
          return refuse(Refusal::kBreaksDependence, step_.buffer);
        RegionGuard guard{-1, iter.extent, std::move(outer), iter.offset};
        if (!inner.empty()) guard.dim = dim_driven_by(reader, inner);
        if (readers.size() > 1 || (!inner.empty() && guard.dim < 0))
          return refuse(Refusal::kBreaksDependence, step_.buffer);
        limits.push_back(std::move(guard));
      }
    }
    return limits;
  }

  bool indexes(const ir::Block& reader, int iter) const {
    for (const ir::Read* read : ir::reads_of(reader.body))
      if (read->tensor == original_ && std::ranges::any_of(read->index, [&](const ir::Affine& row) {
            return row.coef_of(iter) != 0;
          }))
        return true;
    return false;
  }

  // True if some iterations may leave the iterator's domain.
  bool overshoots(const ir::BlockIter& iter) {
    return iter.offset != SizeId::kNone || !analysis::stays_below(nest_, iter.digits, iter.extent);
  }

  // The dimension that the block reads at an iterator with exactly these digits inside the loop; -1
  // if there is none.
  int dim_driven_by(const ir::Block& block, const std::vector<LoopDigit>& inner) {
    int dim = -1;
    for (const ir::Read* read : ir::reads_of(block.body)) {
      if (read->tensor != original_) continue;
      int found = -1;
      for (std::size_t d = 0; d < read->index.size(); ++d) {
        const int iter = plain_iter(read->index[d]);
        if (iter >= 0 && read->index[d].offset == 0 &&
            same_digits(parted(nest_, block.iters[static_cast<std::size_t>(iter)], loop_).second,
                        inner))
          found = static_cast<int>(d);
      }
      if (found < 0 || (dim >= 0 && dim != found)) return -1;
      dim = found;
    }
    return dim;
  }

  StepResult<void> cache_written(const std::vector<BlockId>& readers, BlockId writer) {
    // Each item of a group writes a part of its own.
    if (step_.stages > 1 || (is_of_group() && !analysis::item_loops_around(nest_, loop_).empty()))
      return refuse(Refusal::kBadScope, step_.name);
    Region region = LATHE_TRY(region_computed(nest_, writer, loop_));
    for (RegionGuard& limit : idle_limits(nest_, writer, loop_)) {
      if (!readers.empty()) return refuse(Refusal::kBreaksDependence, step_.buffer);
      region.guards.push_back(std::move(limit));
    }
    for (const BlockId id : readers) {
      if (nest_.buffers[original_].at == loop_) break;
      for (const ir::Read* read : ir::reads_of(nest_.blocks[id].body)) {
        if (read->tensor != original_) continue;
        const analysis::Box box = analysis::box_of(nest_, id, read->index, loop_);
        for (std::size_t d = 0; d < box.size(); ++d)
          if (!analysis::same_start(box[d], region.box[d]))
            return refuse(Refusal::kBreaksDependence, step_.buffer);
      }
    }
    if (is_nested_accumulator(writer)) return refuse(Refusal::kBreaksDependence, step_.buffer);
    const auto [low, domain] = coordinates();
    const int position = analysis::child_with(nest_, loop_, writer) + 1;
    const BufferId cache = add_buffer();
    nest_.blocks[writer].writes = cache;
    for (const BlockId id : readers) redirect_reads(nest_.blocks[id], original_, cache, false);
    const LoopId innermost = LATHE_TRY(add_copy_loops(region.box, position));

    ir::Block copy;
    copy.name = step_.name;
    for (std::size_t d = 0; d < dims(); ++d) {
      copy.iters.push_back(
          region_iter(nest_, iter_name(d), region.box[d], low[d], domain[d], inner_[d]));
      copy.index.push_back(ir::Affine::iter(static_cast<int>(d)) + ir::Affine::constant(low[d]));
    }
    copy.writes = original_;
    copy.body = ir::read(cache, copy.index, original().dtype);
    add_guards(nest_, copy, region, inner_);
    for (std::size_t d = 0; d < dims(); ++d) guard_overhang(copy, d, region.box[d], domain[d]);
    adopt(cache);
    add_block(nest_, std::move(copy), innermost);
    return {};
  }

  // Where the blocks of a layout do not divide the box, the copy loops run past it, into elements
  // of the neighbour: a guard keeps them out.
  void guard_overhang(ir::Block& copy, std::size_t dim, const analysis::Span& span, SizeId domain) {
    if (nest_.sizes.divides(inner_[dim].front().weight, span.extent)) return;
    if (span.start.empty() && nest_.sizes.at_least(span.extent, domain)) return;
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
  std::vector<std::vector<LoopDigit>> inner_;  // by dimension: the copy loops' digits
};

}  // namespace

std::string Cache::text() const {
  std::string out = fmt::format("cache {} as {} in {}", buffer, name, ir::name_of(scope));
  if (!loop.empty()) out += " at " + loop;
  if (!reader.empty()) out += " for " + reader;
  if (stages > 1) out += fmt::format(", {} stages", stages);
  return layout.empty() ? out : out + ", layout " + text_of(layout);
}

StepResult<void> apply_step(ir::Nest& nest, const Cache& step) { return Cacher(nest, step).run(); }

}  // namespace lathe::schedule
