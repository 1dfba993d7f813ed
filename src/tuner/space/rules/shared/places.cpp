#include "tuner/space/rules/shared/places.h"

#include <algorithm>
#include <cmath>

#include "compiler/analysis/dependence.h"
#include "tuner/space/costs.h"

namespace lathe::space {
namespace {

// So many vectors of a row are worth parts.
constexpr std::int64_t kRowWorthParts = 32;
// What the extreme of a part costs beside its elements, in vectors of a part that is gone through
// for the place: the extreme of its lanes, a store, and a comparison.
constexpr double kPartCost = 2;

bool is_place(const ir::Block& block) {
  return (block.reduce == ir::ReduceOp::kMin || block.reduce == ir::ReduceOp::kMax) &&
         std::holds_alternative<ir::Select>(block.body->value);
}

// The reduction iterator along which the row lies, if it is the only one; else -1.
int along_row(const ir::Block& block) {
  int along = -1;
  for (int i = 0; i < static_cast<int>(block.iters.size()); ++i) {
    if (block.iters[static_cast<std::size_t>(i)].kind != ir::IterKind::kReduce) continue;
    if (along >= 0) return -1;
    along = i;
  }
  const auto lies_along = [&](const ir::Read* read) {
    return std::ranges::all_of(read->index, [&](const ir::Affine& row) {
      return row.coef_of(along) == 0 ||
             (&row == &read->index.back() && row == ir::Affine::iter(along));
    });
  };
  return along >= 0 && std::ranges::all_of(ir::reads_of(block.body), lies_along) ? along : -1;
}

// True if all elements come from inputs: no step could compute others where they are looked up.
bool reads_inputs(const ir::Nest& nest, const ir::Block& block, int along) {
  return std::ranges::all_of(ir::reads_of(block.body), [&](const ir::Read* read) {
    const bool element = std::ranges::any_of(
        read->index, [&](const ir::Affine& row) { return row.coef_of(along) != 0; });
    return !element || nest.buffers[read->tensor].scope == ir::Scope::kInput;
  });
}

// Whole vectors, with which both take least in all. Parts that begin a page apart would share sets
// of the first cache.
std::int64_t length_of_part(std::int64_t terms, std::int64_t lanes) {
  constexpr std::int64_t kApart = 256;
  const double best = std::sqrt(kPartCost * static_cast<double>(terms * lanes));
  const std::int64_t parts = std::max(2L, std::lround(static_cast<double>(terms) / best));
  const std::int64_t length = ((terms + parts - 1) / parts + lanes - 1) / lanes * lanes;
  return length % kApart == 0 ? length + lanes : length;
}

// Rows that come from beyond the second cache and stay in the first one: to look for the place in
// all of such a row costs nothing beside that, and parts of several rows are too many streams (1024
// rows of 1000 took 125 us on a Zen 4 by parts, and 100 whole).
bool waits_for_rows(const ir::Nest& nest, const ir::Block& place, std::int64_t terms) {
  double rows = 1;
  for (const ir::BlockIter& iter : place.iters)
    if (iter.kind == ir::IterKind::kSpatial)
      rows *= static_cast<double>(nest.sizes.constant_value(iter.extent));
  const ir::Buffer& read = nest.buffers[ir::reads_of(place.body)[0]->tensor];
  const auto row = static_cast<double>(terms * size_of(read.dtype));
  return rows * row > kL2 && row <= kL1 / 2;
}

// False if the block is no place of that extreme; then nothing is changed.
bool locate(Prepared& prepared, const std::string& place, const std::string& extreme,
            std::int64_t length, bool free_layout) {
  Prepared changed = prepared;
  const ir::Nest& nest = changed.nest;
  const ir::Block& by = nest.blocks[nest.find_block(extreme)];
  const auto over = std::ranges::find(by.iters, ir::IterKind::kReduce, &ir::BlockIter::kind);
  if (over == by.iters.end() || over->digits.size() != 1) return false;
  const std::string loop = nest.loops[over->digits[0].loop].name;
  const auto step = [&](schedule::Step s) {
    return try_step(changed.nest, changed.steps, std::move(s), free_layout);
  };
  if (!step(schedule::Split{loop, length, loop + ".p", loop + ".e", ir::Tail::kPeel}) ||
      !step(schedule::Rfactor{extreme, loop + ".p", extreme + ".parts"}) ||
      !step(schedule::Locate{place, extreme, place + ".part"}))
    return false;
  prepared = std::move(changed);
  return true;
}

}  // namespace

void locate_in_parts(Prepared& prepared, const te::Workload& workload, const CpuTarget& target) {
  for (const ir::BlockId id : prepared.nest.blocks_in_order()) {
    const ir::Block place = prepared.nest.blocks[id];
    const int along = is_place(place) ? along_row(place) : -1;
    if (along < 0 || !reads_inputs(prepared.nest, place, along)) continue;
    const std::int64_t terms = prepared.nest.sizes.constant_value(
                           place.iters[static_cast<std::size_t>(along)].extent),
                       lanes = std::max(1, target.lanes(size_of(place.body->dtype)));
    if (terms < kRowWorthParts * lanes || waits_for_rows(prepared.nest, place, terms)) continue;
    for (const int tensor : ir::tensors_of(place.body)) {
      const auto writers = analysis::writers_of(prepared.nest, tensor);
      if (writers.size() == 1 &&
          locate(prepared, place.name, prepared.nest.blocks[writers[0]].name,
                 length_of_part(terms, lanes), workload.contract.free_layout))
        break;
    }
  }
}

}  // namespace lathe::space
