#include "compiler/analysis/neighbours.h"

#include <algorithm>

namespace lathe::analysis {
namespace {

// The only dimension that the iterator takes part in; -1: none, or several.
int only_dim(const ir::Read& read, int iter) {
  int found = -1;
  for (int d = 0; d < static_cast<int>(read.index.size()); ++d) {
    if (read.index[static_cast<std::size_t>(d)].coef_of(iter) == 0) continue;
    if (found >= 0) return -1;
    found = d;
  }
  return found;
}

}  // namespace

std::optional<Neighbours> neighbours_of(const ir::Read& input, const ir::Read& filter, int tap) {
  Neighbours found;
  found.input_dim = only_dim(input, tap);
  found.filter_dim = only_dim(filter, tap);
  if (found.input_dim < 0 || found.filter_dim < 0) return {};
  if (filter.index[static_cast<std::size_t>(found.filter_dim)] != ir::Affine::iter(tap)) return {};
  const ir::Affine& row = input.index[static_cast<std::size_t>(found.input_dim)];
  found.offset = row.offset;
  for (const ir::AffineTerm& term : row.terms) {
    if (only_dim(input, term.iter) != found.input_dim) return {};
    const bool in_filter = std::ranges::any_of(
        filter.index, [&](const ir::Affine& r) { return r.coef_of(term.iter) != 0; });
    if (term.iter == tap) {
      found.dilation = term.coef;
    } else if (in_filter) {
      found.shifts.push_back(term);
    } else {
      if (found.result >= 0 || term.coef < 1) return {};
      found.result = term.iter;
      found.stride = term.coef;
    }
  }
  if (found.result < 0) return {};
  return found;
}

}  // namespace lathe::analysis
