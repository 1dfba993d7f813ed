#include "oracle/nest_eval.h"

#include <algorithm>
#include <set>
#include <utility>

#include "compiler/analysis/intrinsic_loops.h"
#include "compiler/interp/scalar.h"
#include "oracle/lanes.h"

namespace lathe::interp {
namespace {

constexpr std::int64_t kMaxElements = 1 << 26;

struct Storage {
  // For each dimension: the first coordinate held; below 0 in a cache with its padding.
  std::vector<std::int64_t> low;
  std::vector<std::int64_t> shape;
  std::vector<double> elements;
  std::vector<std::uint64_t> written;  // the instance that wrote the element last; 0: none did
  std::uint64_t instance = 1;          // counts the iterations of the buffer's `at` loop
  // Caches a result: elements are reloaded from the buffer that is cached
  bool accumulates = false;
};

struct BlockPlan {
  std::vector<ir::LoopId> reduction;  // their first iterations together start an element
  std::vector<ir::LoopId> last_only;  // the block runs in the last iteration of these loops only
};

// Finds which reduction loops must have ended before a block runs, because it depends on them.
class Planner {
 public:
  explicit Planner(const ir::Nest& nest) : nest_(nest) {}

  std::vector<BlockPlan> run() const {
    std::vector<BlockPlan> plans(nest_.blocks.size());
    for (std::size_t b = 0; b < nest_.blocks.size(); ++b)
      if (!nest_.blocks[b].dead) plans[b] = plan(static_cast<ir::BlockId>(b));
    return plans;
  }

 private:
  static bool uses(const ir::BlockIter& iter, ir::LoopId loop) {
    return std::ranges::any_of(iter.digits,
                               [&](const ir::LoopDigit& digit) { return digit.loop == loop; });
  }

  bool writes_back(ir::BlockId id, ir::LoopId loop) const {
    if (!nest_.is_write_back(id)) return false;
    const int cache = ir::reads_of(nest_.blocks[static_cast<std::size_t>(id)].body)[0]->tensor;
    // Behind the write-backs of caches of this cache.
    const ir::BlockId producer = nest_.writer_of(cache);
    return producer >= 0 && nest_.is_reduction_loop(producer, loop);
  }

  // Every block that `block` depends on, directly or not.
  std::set<ir::BlockId> sources(ir::BlockId block) const {
    std::set<ir::BlockId> out;
    std::vector<ir::BlockId> open = {block};
    while (!open.empty()) {
      const ir::Block& next = nest_.blocks[static_cast<std::size_t>(open.back())];
      open.pop_back();
      for (const int read : ir::tensors_of(next.body))
        for (std::size_t b = 0; b < nest_.blocks.size(); ++b)
          if (!nest_.blocks[b].dead && nest_.blocks[b].writes == read &&
              out.insert(static_cast<ir::BlockId>(b)).second)
            open.push_back(static_cast<ir::BlockId>(b));
    }
    return out;
  }

  BlockPlan plan(ir::BlockId id) const {
    BlockPlan out;
    const ir::Block& block = nest_.blocks[static_cast<std::size_t>(id)];
    for (const ir::LoopId loop : nest_.loops_around(id))
      if (nest_.is_reduction_loop(id, loop)) out.reduction.push_back(loop);
    const std::set<ir::BlockId> sources = this->sources(id);
    for (ir::LoopId loop = block.parent; loop != ir::kRoot;
         loop = nest_.loops[static_cast<std::size_t>(loop)].parent) {
      if (std::ranges::any_of(block.iters, [&](const auto& iter) { return uses(iter, loop); }))
        continue;
      // A write-back carries the partial sums themselves away.
      if (writes_back(id, loop)) continue;
      if (std::ranges::any_of(sources,
                              [&](ir::BlockId s) { return nest_.is_reduction_loop(s, loop); }))
        out.last_only.push_back(loop);
    }
    return out;
  }

  const ir::Nest& nest_;
};

// Thrown and caught in this file only: a read deep in an expression failed.
struct Stop {
  Error error;
};

template <class... Args>
[[noreturn]] void stop(fmt::format_string<Args...> format, Args&&... args) {
  throw Stop{{ErrorKind::kIllegalSchedule, fmt::format(format, std::forward<Args>(args)...), {}}};
}

class NestRun final : public Environment {
 public:
  explicit NestRun(const ir::SizedNest& nest)
      : sizes_(nest),
        nest_(*nest.nest),
        loop_value_(nest_.loops.size()),
        buffers_(nest_.buffers.size()),
        plans_(Planner(nest_).run()) {
    for (std::size_t b = 0; b < buffers_.size(); ++b) allocate(b);
    for (std::size_t b = 0; b < nest_.blocks.size(); ++b)
      if (!nest_.blocks[b].dead && nest_.is_write_back(static_cast<ir::BlockId>(b)))
        buffers_[static_cast<std::size_t>(ir::reads_of(nest_.blocks[b].body)[0]->tensor)]
            .accumulates = true;
  }

  void fill(ir::BufferId buffer, const std::vector<double>& values) {
    Storage& storage = buffers_[static_cast<std::size_t>(buffer)];
    storage.elements = values;
    std::ranges::fill(storage.written, storage.instance);
  }

  void run() { run(ir::kRoot); }

  Tensor result(ir::BufferId buffer) const {
    const Storage& storage = buffers_[static_cast<std::size_t>(buffer)];
    const ir::Buffer& b = nest_.buffers[static_cast<std::size_t>(buffer)];
    const auto missing = std::ranges::find(storage.written, 0u);
    if (missing != storage.written.end())
      stop("element {} of the output {} is never written", missing - storage.written.begin(),
           b.name);
    return {b.dtype, storage.shape, storage.elements, {}};
  }

  Value read(const ir::Read& read, Dtype) override {
    const std::int64_t offset = offset_of(read.tensor, read.index, read.pad.has_value());
    return exact(offset < 0 ? *read.pad : load(read.tensor, static_cast<std::size_t>(offset)));
  }
  Value element(int tensor, std::span<const std::int64_t> at,
                const std::optional<double>& pad) override {
    const auto shape = shape_of(tensor);
    std::vector<ir::Affine> index;
    for (std::size_t d = 0; d < at.size(); ++d) {
      if (pad && (at[d] < 0 || at[d] >= shape[d])) return exact(*pad);
      index.push_back(ir::Affine::constant(at[d]));
    }
    const std::int64_t offset = offset_of(tensor, index, false);
    return exact(load(tensor, static_cast<std::size_t>(offset)));
  }
  // Of the tensor, not of what is stored.
  std::span<const std::int64_t> shape_of(int tensor) override {
    shape_.clear();
    for (const ir::SizeId size : nest_.buffers[static_cast<std::size_t>(tensor)].shape)
      shape_.push_back(sizes_[size]);
    return shape_;
  }
  std::int64_t iter(int iter) override { return position_[static_cast<std::size_t>(iter)]; }

 private:
  void allocate(std::size_t b) {
    Storage& storage = buffers_[b];
    for (const ir::SizeId size : nest_.buffers[b].shape) {
      storage.low.push_back(0);
      storage.shape.push_back(sizes_[size]);
    }
    if (const ir::Scope scope = nest_.buffers[b].scope;
        scope != ir::Scope::kInput && scope != ir::Scope::kOutput)
      for (const ir::BlockId id : nest_.blocks_in_order())
        if (nest_.blocks[static_cast<std::size_t>(id)].writes == static_cast<ir::BufferId>(b))
          make_room(nest_.blocks[static_cast<std::size_t>(id)], storage);
    std::int64_t count = 1;
    for (const std::int64_t size : storage.shape) {
      count *= size;
      if (count > kMaxElements) stop("{} is too large to interpret", nest_.buffers[b].name);
    }
    storage.elements.resize(static_cast<std::size_t>(count));
    storage.written.resize(static_cast<std::size_t>(count));
    if (!nest_.buffers[b].literal.empty())
      fill(static_cast<ir::BufferId>(b), nest_.buffers[b].literal);
  }

  // A cache may hold coordinates outside the tensor; the copy's body supplies the padding there.
  void make_room(const ir::Block& block, Storage& storage) const {
    for (std::size_t d = 0; d < storage.shape.size(); ++d) {
      std::int64_t first = block.index[d].offset, last = first;
      for (const auto& [iter, coef] : block.index[d].terms)
        (coef < 0 ? first : last) +=
            coef * (sizes_[block.iters[static_cast<std::size_t>(iter)].extent] - 1);
      const std::int64_t end = std::max(storage.shape[d], last + 1);
      storage.low[d] = std::min<std::int64_t>(0, first);
      storage.shape[d] = end - storage.low[d];
    }
  }

  void run(ir::LoopId parent) {
    for (const ir::Item item : nest_.children(parent)) {
      if (item.kind == ir::Item::Kind::kBlock) {
        run_block(item.id);
        continue;
      }
      if (run_intrinsic(item.id)) continue;
      const std::int64_t extent = sizes_.extent(item.id);
      for (std::int64_t i = 0; i < extent; ++i) {
        loop_value_[static_cast<std::size_t>(item.id)] = i;
        for (std::size_t b = 0; b < buffers_.size(); ++b)
          if (nest_.buffers[b].at == item.id) ++buffers_[b].instance;
        run(item.id);
      }
    }
  }

  // Returns false where the loops run as they are: without an intrinsic, where none of its
  // iterations runs, and where it is written out and one of them is left out.
  bool run_intrinsic(ir::LoopId loop) {
    const ir::IntrinsicId id = nest_.loops[static_cast<std::size_t>(loop)].intrinsic;
    if (id == ir::IntrinsicId::kNone) return false;
    const ir::Intrinsic& intrinsic = row_of(id);
    const auto found = analysis::intrinsic_loops(nest_, loop, intrinsic);
    if (found && !found->left->pad && !found->right->pad) {
      const int missing = missing_iterations(intrinsic, *found);
      if (missing == 0) {
        run_tile(intrinsic, *found);
        return true;
      }
      if (missing < 0) return false;
    }
    if (!intrinsic.is_written_out())
      stop("the loops from {} inwards are none that {} can stand for",
           nest_.loops[static_cast<std::size_t>(loop)].name, intrinsic.name);
    return false;
  }

  void set_loops(const analysis::IntrinsicLoops& found, const TileIters& iters) {
    for (std::size_t i = 0; i < iters.size(); ++i)
      loop_value_[static_cast<std::size_t>(found.loops[i])] = iters[i];
  }

  // How many of its iterations do not run; -1: none runs.
  int missing_iterations(const ir::Intrinsic& intrinsic, const analysis::IntrinsicLoops& found) {
    const ir::Block& block = nest_.blocks[static_cast<std::size_t>(found.block)];
    for (const ir::LoopId loop : plans_[static_cast<std::size_t>(found.block)].last_only)
      if (loop_value_[static_cast<std::size_t>(loop)] != sizes_.extent(loop) - 1) return -1;
    int missing = 0, all = 1;
    for (const auto& iter : intrinsic.iters) all *= iter.extent;
    for (int i = 0; i < all; ++i) {
      TileIters iters;
      int rest = i;
      for (const auto& iter : intrinsic.iters) {
        iters.push_back(rest % iter.extent);
        rest /= iter.extent;
      }
      set_loops(found, iters);
      missing += set_position(block) ? 0 : 1;
    }
    return missing == all ? -1 : missing;
  }

  void run_tile(const ir::Intrinsic& intrinsic, const analysis::IntrinsicLoops& found) {
    block_ = &nest_.blocks[static_cast<std::size_t>(found.block)];
    const auto go_to = [&](const TileIters& iters) {
      set_loops(found, iters);
      set_position(*block_);
    };
    const auto read_at = [&](const ir::Read* factor, const TileIters& iters) {
      go_to(iters);
      return read(*factor, Dtype::kF32).value;
    };
    const ir::BufferId result = block_->writes;
    const auto place_of = [&](const TileIters& iters) {
      go_to(iters);
      return static_cast<std::size_t>(offset_of(result, block_->index, false));
    };
    const Dtype dtype = nest_.buffers[static_cast<std::size_t>(result)].dtype;
    run_lanes(intrinsic, {.left = [&](const TileIters& at) { return read_at(found.left, at); },
                          .right = [&](const TileIters& at) { return read_at(found.right, at); },
                          .result =
                              [&](const TileIters& at) {
                                const std::size_t place = place_of(at);
                                return starts(found.block) ? ir::identity_of(block_->reduce, dtype)
                                                           : load(result, place);
                              },
                          .store =
                              [&](const TileIters& at, double value) {
                                const std::size_t place = place_of(at);
                                Storage& storage = buffers_[static_cast<std::size_t>(result)];
                                storage.elements[place] = value;
                                storage.written[place] = storage.instance;
                              }});
  }

  // True if the iteration is inside the domain; with `of_result`, only the iterators that index the
  // element written count.
  bool set_position(const ir::Block& block, bool of_result = false) {
    position_.clear();
    for (const ir::BlockIter& iter : block.iters) {
      std::int64_t value = sizes_.or_else(iter.offset, 0);
      for (const ir::LoopDigit& digit : iter.digits) {
        std::int64_t part =
            loop_value_[static_cast<std::size_t>(digit.loop)] / sizes_.or_else(digit.div, 1);
        if (digit.mod != ir::SizeId::kNone) part %= sizes_[digit.mod];
        value += sizes_[digit.weight] * part;
      }
      const bool asked = !of_result || iter.kind == ir::IterKind::kSpatial;
      if (asked && (value < 0 || value >= sizes_[iter.extent])) return false;
      position_.push_back(value);
    }
    return true;
  }

  void run_block(ir::BlockId id) {
    const ir::Block& block = nest_.blocks[static_cast<std::size_t>(id)];
    for (const ir::LoopId loop : plans_[static_cast<std::size_t>(id)].last_only)
      if (loop_value_[static_cast<std::size_t>(loop)] != sizes_.extent(loop) - 1) return;
    block_ = &block;
    if (!set_position(block)) return start_without_term(id);
    const auto offset = static_cast<std::size_t>(offset_of(block.writes, block.index, false));
    double value = interp::evaluate(block.body, *this).value;
    if (block.reduce != ir::ReduceOp::kNone) {
      const Dtype dtype = nest_.buffers[static_cast<std::size_t>(block.writes)].dtype;
      const double so_far =
          starts(id) ? ir::identity_of(block.reduce, dtype) : load(block.writes, offset);
      value = accumulate(block.reduce, so_far, value, dtype).value;
    }
    Storage& storage = buffers_[static_cast<std::size_t>(block.writes)];
    storage.elements[offset] = value;
    storage.written[offset] = storage.instance;
  }

  // An element of a reduction exists even if no iteration adds to it.
  void start_without_term(ir::BlockId id) {
    const ir::Block& block = *block_;
    if (block.reduce == ir::ReduceOp::kNone || !starts(id) || !set_position(block, true)) return;
    const std::int64_t at = offset_of(block.writes, block.index, true);
    if (at < 0) return;
    const auto offset = static_cast<std::size_t>(at);
    Storage& storage = buffers_[static_cast<std::size_t>(block.writes)];
    if (storage.written[offset] == storage.instance) return;
    storage.elements[offset] =
        ir::identity_of(block.reduce, nest_.buffers[static_cast<std::size_t>(block.writes)].dtype);
    storage.written[offset] = storage.instance;
  }

  bool starts(ir::BlockId id) const {
    return std::ranges::all_of(
        plans_[static_cast<std::size_t>(id)].reduction,
        [&](ir::LoopId loop) { return loop_value_[static_cast<std::size_t>(loop)] == 0; });
  }

  // The row-major offset; -1 outside the tensor where that is legal.
  std::int64_t offset_of(ir::BufferId id, const std::vector<ir::Affine>& index, bool may_leave) {
    const Storage& storage = buffers_[static_cast<std::size_t>(id)];
    const ir::Buffer& buffer = nest_.buffers[static_cast<std::size_t>(id)];
    if (buffer.at != ir::kRoot &&
        (block_->parent == ir::kRoot ||
         !nest_.is_inside({ir::Item::Kind::kLoop, block_->parent}, buffer.at)))
      stop("{} uses {} outside the loop {} in which it lives", block_->name, buffer.name,
           nest_.loops[static_cast<std::size_t>(buffer.at)].name);
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < storage.shape.size(); ++d) {
      const std::int64_t i = at(index[d]) - storage.low[d];
      if (i < 0 || i >= storage.shape[d]) {
        if (may_leave) return -1;
        stop("{} uses index {} of {} at {}, outside its size {}", block_->name, d, buffer.name,
             i + storage.low[d], storage.shape[d]);
      }
      offset = offset * storage.shape[d] + i;
    }
    return offset;
  }

  double load(ir::BufferId id, std::size_t offset) const {
    const Storage& storage = buffers_[static_cast<std::size_t>(id)];
    if (storage.written[offset] == storage.instance) return storage.elements[offset];
    const ir::Buffer& buffer = nest_.buffers[static_cast<std::size_t>(id)];
    if (storage.accumulates) return load(buffer.cache_of, offset);
    stop("{} reads element {} of {}, which {}", block_->name, offset, buffer.name,
         storage.written[offset] == 0 ? "nothing wrote"
                                      : "was written in an earlier iteration of its loop");
  }

  const ir::SizedNest& sizes_;
  const ir::Nest& nest_;
  std::vector<std::int64_t> loop_value_, position_, shape_;
  std::vector<Storage> buffers_;
  std::vector<BlockPlan> plans_;
  const ir::Block* block_ = nullptr;  // the block that runs
};

Result<std::vector<Tensor>> run(const ir::SizedNest& nest, const std::vector<Tensor>& inputs) {
  NestRun machine(nest);
  std::size_t next = 0;
  const auto& buffers = nest.nest->buffers;
  for (std::size_t b = 0; b < buffers.size(); ++b) {
    if (buffers[b].scope != ir::Scope::kInput) continue;
    std::int64_t count = 1;
    for (const ir::SizeId size : buffers[b].shape) count *= nest[size];
    if (next == inputs.size() || std::cmp_not_equal(inputs[next].values.size(), count))
      return fail(ErrorKind::kInvalidArgument, "the input for {} is missing or has another size",
                  buffers[b].name);
    machine.fill(static_cast<ir::BufferId>(b), inputs[next++].values);
  }
  machine.run();
  std::vector<Tensor> out;
  for (std::size_t b = 0; b < buffers.size(); ++b)
    if (buffers[b].scope == ir::Scope::kOutput)
      out.push_back(machine.result(static_cast<ir::BufferId>(b)));
  return out;
}

}  // namespace

Result<std::vector<Tensor>> evaluate(const ir::SizedNest& nest, const std::vector<Tensor>& inputs) {
  try {
    return run(nest, inputs);
  } catch (const Stop& stopped) {
    return std::unexpected(stopped.error);
  }
}

}  // namespace lathe::interp
