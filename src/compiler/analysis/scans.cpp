#include "compiler/analysis/scans.h"

#include <algorithm>

#include "compiler/analysis/dependence.h"

namespace lathe::analysis {
namespace {

bool is_driven_by(const ir::Block& block, const ir::Affine& row, ir::LoopId loop) {
  return std::ranges::any_of(row.terms, [&](const ir::AffineTerm& term) {
    const auto& digits = block.iters[static_cast<std::size_t>(term.iter)].digits;
    return std::ranges::find(digits, loop, &ir::LoopDigit::loop) != digits.end();
  });
}

}  // namespace

bool is_scan(const ir::Block& block) { return reads(block, block.writes); }

bool has_scan(const ir::Nest& nest) {
  return std::ranges::any_of(nest.blocks_in_order(),
                             [&](ir::BlockId id) { return is_scan(nest.blocks[id]); });
}

bool is_scan_loop(const ir::Block& block, ir::LoopId loop) {
  return std::ranges::any_of(ir::reads_of(block.body), [&](const ir::Read* read) {
    if (read->tensor != block.writes) return false;
    for (std::size_t d = 0; d < block.index.size(); ++d)
      if (read->index[d] != block.index[d] &&
          (is_driven_by(block, block.index[d], loop) || is_driven_by(block, read->index[d], loop)))
        return true;
    return false;
  });
}

bool goes_along_scan(const ir::Nest& nest, ir::BlockId id, ir::LoopId loop) {
  const ir::Block& block = nest.blocks[static_cast<std::size_t>(id)];
  return std::ranges::any_of(nest.path_to(loop),
                             [&](ir::LoopId l) { return is_scan_loop(block, l); });
}

}  // namespace lathe::analysis
