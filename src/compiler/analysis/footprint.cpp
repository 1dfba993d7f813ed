#include "compiler/analysis/footprint.h"

#include <algorithm>
#include <cmath>

namespace lathe::analysis {
namespace {

using ir::SizeId;

std::int64_t value_of(SizeId id, std::span<const std::int64_t> values, std::int64_t absent) {
  return id == SizeId::kNone ? absent : values[static_cast<std::size_t>(id)];
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// True for rows that differ only in their offsets: reads of one moving window.
bool same_but_offset(const std::vector<ir::Affine>& a, const std::vector<ir::Affine>& b) {
  return std::ranges::equal(a, b, {}, &ir::Affine::terms, &ir::Affine::terms);
}

// Which iterators the block computes with.
std::vector<bool> used_iters(const ir::Block& block) {
  std::vector<bool> used(block.iters.size(), false);
  const auto use = [&](const std::vector<ir::Affine>& rows) {
    for (const ir::Affine& row : rows)
      for (const ir::AffineTerm& term : row.terms) used[static_cast<std::size_t>(term.iter)] = true;
  };
  use(block.index);
  ir::rewrite_leaves(block.body, [&](const ir::Expr& leaf) {
    if (const auto* value = std::get_if<ir::IterValue>(&leaf->value))
      used[static_cast<std::size_t>(value->iter)] = true;
    if (const auto* read = std::get_if<ir::Read>(&leaf->value)) use(read->index);
    if (const auto* range = std::get_if<ir::InRange>(&leaf->value))
      for (const ir::InRange::Row& row : range->rows) use({row.index});
    return leaf;
  });
  return used;
}

// Extents whose product is the work of the block. Splits of splits leave iterators that only bound
// others (they run over loops that other iterators run over, too); these do not count.
std::vector<ir::SizeId> domain_of(const ir::Block& block) {
  const std::vector<bool> used = used_iters(block);
  std::vector<ir::LoopId> covered;
  std::vector<ir::SizeId> domain;
  const auto add = [&](const ir::BlockIter& iter) {
    domain.push_back(iter.extent);
    for (const ir::LoopDigit& digit : iter.digits) covered.push_back(digit.loop);
  };
  for (std::size_t i = 0; i < used.size(); ++i)
    if (used[i]) add(block.iters[i]);
  for (std::size_t i = 0; i < used.size(); ++i) {
    const bool bounds_only =
        std::ranges::all_of(block.iters[i].digits, [&](const ir::LoopDigit& digit) {
          return std::ranges::find(covered, digit.loop) != covered.end();
        });
    if (!used[i] && !bounds_only) add(block.iters[i]);
  }
  return domain;
}

ir::BufferId held_tensor(const ir::Nest& nest, ir::BufferId buffer) {
  while (nest.buffers[buffer].cache_of >= 0) buffer = nest.buffers[buffer].cache_of;
  return buffer;
}

}  // namespace

// One storage digit of a dimension: a step of `weight` coordinates moves by `stride` elements.
struct FootprintPlan::Strides {
  struct LayoutDigit {
    int dim;
    double weight, stride;
  };
  std::array<LayoutDigit, kMaxDims> digits;
  int count = 0;

  // A step of `step` in `dim` moves the largest digit whose weight is not larger.
  double of(int dim, double step) const {
    const LayoutDigit* best = nullptr;
    for (int i = 0; i < count; ++i) {
      const LayoutDigit& d = digits[static_cast<std::size_t>(i)];
      if (d.dim != dim || d.weight > std::abs(step)) continue;
      if (best == nullptr || d.weight > best->weight) best = &d;
    }
    return best == nullptr ? 0 : step / best->weight * best->stride;
  }
};

FootprintPlan::FootprintPlan(const ir::Nest& nest, ir::BlockId block) : block_(block) {
  const ir::Block& b = nest.blocks[block];
  chain_ = nest.loops_around(block);
  std::ranges::reverse(chain_);
  if (chain_.size() > kMaxChain) chain_.resize(kMaxChain);
  for (const ir::LoopId loop : chain_) {
    extents_.push_back(nest.loops[loop].extent);
    kinds_.push_back(nest.loops[loop].kind);
    reduces_.push_back(nest.is_reduction_loop(block, loop));
  }
  domain_ = domain_of(b);
  if (b.writes >= 0) add_slot(nest, b.writes, b.index);
  for (const ir::Read* read : ir::reads_of(b.body)) add_slot(nest, read->tensor, read->index);
  for (const ir::Lookup* lookup : ir::lookups_of(b.body))
    add_slot(nest, lookup->tensor, ir::rough_rows(*lookup));
  add_moves(nest);
}

void FootprintPlan::add_slot(const ir::Nest& nest, ir::BufferId buffer,
                             const std::vector<ir::Affine>& index) {
  const ir::Buffer& b = nest.buffers[buffer];
  if (b.scope == ir::Scope::kLiteral || index.size() > kMaxDims) return;
  for (std::size_t s = 0; s < slots_.size(); ++s) {
    if (slots_[s].buffer != buffer || !same_but_offset(indices_[s][0], index)) continue;
    indices_[s].push_back(index);
    for (std::size_t d = 0; d < index.size(); ++d) {
      const auto [low, high] = std::ranges::minmax(
          indices_[s], {}, [&](const std::vector<ir::Affine>& rows) { return rows[d].offset; });
      storage_[s].slack[d] = high[d].offset - low[d].offset;
    }
    return;
  }
  if (slots_.size() == kMaxSlots) return;
  const ir::BufferId tensor = held_tensor(nest, buffer);
  const bool copied = b.cache_of >= 0 && b.scope == ir::Scope::kMemory;
  slots_.push_back({buffer, tensor, size_of(b.dtype), b.scope,
                    b.constant || nest.buffers[tensor].constant, copied, 0});
  indices_.push_back({index});
  add_storage(nest, buffer);
}

void FootprintPlan::add_storage(const ir::Nest& nest, ir::BufferId buffer) {
  // Registers have no strides of their own. The strides of the tensor that they hold tell where it
  // is loaded and stored.
  const bool registers = nest.buffers[buffer].scope == ir::Scope::kRegister;
  const ir::Buffer& b = nest.buffers[registers ? held_tensor(nest, buffer) : buffer];
  Storage storage{b.shape, std::vector<std::int64_t>(b.shape.size(), 0), b.layout, -1};
  const auto at = std::ranges::find(chain_, b.at);
  if (b.at != ir::kRoot && at != chain_.end())
    storage.level = static_cast<int>(at - chain_.begin());
  if (storage.layout.size() > kMaxDims) storage.layout.clear();
  storage_.push_back(std::move(storage));
}

void FootprintPlan::add_moves(const ir::Nest& nest) {
  const ir::Block& block = nest.blocks[block_];
  for (std::size_t l = 0; l < chain_.size(); ++l) {
    first_move_.push_back(moves_.size());
    for (std::size_t i = 0; i < block.iters.size(); ++i) {
      for (const ir::LoopDigit& digit : block.iters[i].digits) {
        if (digit.loop != chain_[l]) continue;
        for (std::size_t s = 0; s < slots_.size(); ++s) {
          const std::vector<ir::Affine>& rows = indices_[s][0];
          for (std::size_t d = 0; d < rows.size(); ++d) {
            const std::int64_t coef = rows[d].coef_of(static_cast<int>(i));
            if (coef == 0) continue;
            moves_.push_back({static_cast<int>(s), static_cast<int>(d), coef, digit.weight,
                              digit.div, digit.mod});
            slots_[s].moved_by |= 1U << l;
          }
        }
      }
    }
  }
  first_move_.push_back(moves_.size());
}

FootprintPlan::Strides FootprintPlan::strides_of(int slot, std::span<const std::int64_t> values,
                                                 std::span<const double> box) const {
  const Storage& storage = storage_[static_cast<std::size_t>(slot)];
  const auto size = [&](std::size_t dim) {
    const double shape = static_cast<double>(value_of(storage.shape[dim], values, 1));
    return storage.level < 0 ? shape : std::min(shape, box[dim]);
  };
  Strides strides;
  double stride = 1;
  if (storage.layout.empty()) {
    for (std::size_t d = storage.shape.size(); d-- > 0;) {
      strides.digits[static_cast<std::size_t>(strides.count++)] = {static_cast<int>(d), 1, stride};
      stride *= size(d);
    }
    return strides;
  }
  // Goes from the innermost digit outwards. The next larger weight of the dimension tells how many
  // steps a digit has.
  for (std::size_t i = storage.layout.size(); i-- > 0;) {
    const ir::LayoutDigit& digit = storage.layout[i];
    const double weight = static_cast<double>(value_of(digit.weight, values, 1));
    double next = 0;
    for (std::size_t j = 0; j < storage.layout.size(); ++j) {
      const double other = static_cast<double>(value_of(storage.layout[j].weight, values, 1));
      const bool larger = other > weight || (other == weight && j < i);
      if (storage.layout[j].dim == digit.dim && j != i && larger && (next == 0 || other < next))
        next = other;
    }
    strides.digits[static_cast<std::size_t>(strides.count++)] = {digit.dim, weight, stride};
    stride *=
        next > 0 ? next / weight : std::ceil(size(static_cast<std::size_t>(digit.dim)) / weight);
  }
  return strides;
}

namespace {

using Extents = std::array<double, kMaxDims>;

// Elements of a box that lie in a buffer of this shape.
double elements_in(const Extents& box, const Extents& shape, std::size_t dims) {
  double product = 1;
  for (std::size_t d = 0; d < dims; ++d) product *= std::min(box[d], shape[d]);
  return product;
}

// How far a digit's last iteration lies from its first.
template <class Move>
double distance_of(const Move& move, std::int64_t extent, std::span<const std::int64_t> values) {
  std::int64_t steps =
      move.div == SizeId::kNone ? extent : ceil_div(extent, value_of(move.div, values, 1));
  if (move.mod != SizeId::kNone) steps = std::min(steps, value_of(move.mod, values, 1));
  const std::int64_t weight = std::abs(move.coef) * value_of(move.weight, values, 1);
  return static_cast<double>(weight * (steps - 1));
}

void count_from_the_top(Footprint& out) {
  double outer = 1;
  for (int l = out.loops; l-- > 0;) {
    out.top_down[l] = outer;
    outer *= out.length[l];
  }
}

}  // namespace

void FootprintPlan::evaluate(std::span<const std::int64_t> values, Footprint& out,
                             int strided_loops) const {
  const int loops = static_cast<int>(chain_.size()), slots = static_cast<int>(slots_.size());
  std::array<Extents, kMaxSlots> box, shape, held;
  for (int s = 0; s < slots; ++s) {
    const Storage& storage = storage_[s];
    for (std::size_t d = 0; d < storage.shape.size(); ++d) {
      box[s][d] = 1 + static_cast<double>(storage.slack[d]);
      shape[s][d] = static_cast<double>(value_of(storage.shape[d], values, 1));
      held[s][d] = shape[s][d];
    }
  }
  const auto touched = [&](int s) {
    return elements_in(box[s], shape[s], storage_[s].shape.size());
  };

  out.loops = loops;
  out.slots = slots;
  double inner = 1;
  for (int l = 0; l < loops; ++l) {
    const std::int64_t extent = value_of(extents_[l], values, 1);
    for (int s = 0; s < slots; ++s)
      if (storage_[s].level == l) held[s] = box[s];
    for (std::size_t m = first_move_[l]; extent > 1 && m < first_move_[l + 1]; ++m) {
      const Move& move = moves_[m];
      box[move.slot][move.dim] += distance_of(move, extent, values);
    }
    for (int s = 0; s < slots; ++s) {
      const bool same = l > 0 && (extent == 1 || (slots_[s].moved_by >> l & 1U) == 0);
      out.touch[l][s] = same ? out.touch[l - 1][s] : touched(s);
    }
    out.length[l] = static_cast<double>(extent);
    out.bottom_up[l] = inner;
    inner *= static_cast<double>(extent);
  }
  out.iterations = inner;
  for (int s = 0; s < slots; ++s) out.whole[s] = loops > 0 ? out.touch[loops - 1][s] : touched(s);
  count_from_the_top(out);
  out.useful = 1;
  for (const SizeId extent : domain_)
    out.useful *= static_cast<double>(value_of(extent, values, 1));

  const int strided = std::min(loops, strided_loops);
  std::array<Strides, kMaxSlots> strides;
  for (int s = 0; s < slots; ++s)
    if ((slots_[s].moved_by & ((1ULL << strided) - 1)) != 0)
      strides[s] = strides_of(s, values, held[s]);
  for (int l = 0; l < strided; ++l) {
    for (int s = 0; s < slots; ++s) out.stride[l][s] = 0;
    for (std::size_t m = first_move_[l]; m < first_move_[l + 1]; ++m) {
      const Move& move = moves_[m];
      if (move.div != SizeId::kNone && value_of(move.div, values, 1) != 1)
        continue;  // it moves rarely
      const double step =
          static_cast<double>(move.coef) * static_cast<double>(value_of(move.weight, values, 1));
      out.stride[l][move.slot] += strides[move.slot].of(move.dim, step);
    }
  }
}

double bytes_of(const ir::Nest& nest, const ir::Buffer& buffer) {
  auto bytes = static_cast<double>(size_of(buffer.dtype));
  for (const ir::SizeId size : buffer.shape)
    bytes *= static_cast<double>(nest.sizes.constant_value(size));
  return bytes;
}

ir::BlockId main_block(const ir::Nest& nest) {
  ir::BlockId best = -1;
  std::size_t best_depth = 0;
  bool best_reduces = false;
  for (const ir::BlockId id : nest.blocks_in_order()) {
    const bool reduces = nest.blocks[id].reduce != ir::ReduceOp::kNone;
    const std::size_t depth = nest.loops_around(id).size();
    const bool better = reduces != best_reduces ? reduces : depth > best_depth;
    if (best >= 0 && !better) continue;
    best = id;
    best_depth = depth;
    best_reduces = reduces;
  }
  return best;
}

}  // namespace lathe::analysis
