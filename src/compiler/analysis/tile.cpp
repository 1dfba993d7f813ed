#include "compiler/analysis/tile.h"

namespace lathe::analysis {

using ir::LoopKind;

int body_loops(const FootprintPlan& plan) {
  int count = 0;
  for (const LoopKind kind : plan.kinds()) {
    if (kind != LoopKind::kVectorized && kind != LoopKind::kUnrolled) break;
    ++count;
  }
  return count;
}

RegisterTile register_tile(const FootprintPlan& plan, const Footprint& f) {
  RegisterTile tile;
  std::uint32_t vector_loops = 0;
  std::array<double, kMaxSlots> each, live;
  each.fill(1);
  live.fill(1);
  const int body = body_loops(plan);
  for (int l = 0; l < body; ++l) {
    if (plan.kinds()[l] == LoopKind::kVectorized) {
      vector_loops |= 1U << l;
      tile.lanes *= f.length[l];
      continue;
    }
    tile.operations *= f.length[l];
    if (plan.reduces(l) || f.length[l] == 1) continue;
    for (int s = 0; s < f.slots; ++s) {
      if ((plan.slots()[s].moved_by >> l & 1U) != 0) each[s] *= f.length[l];
      else live[s] = each[s];
    }
  }
  tile.accumulators = each[0];
  for (int s = 1; s < f.slots; ++s) {
    const bool vector = (plan.slots()[s].moved_by & vector_loops) != 0;
    (vector ? tile.vector_loads : tile.scalar_loads) += each[s];
    tile.kept += live[s];
  }
  return tile;
}

double traffic(const FootprintPlan& plan, const Footprint& f, double cache_bytes) {
  int fits = -1;
  double fitting = 0;
  while (fits + 1 < f.loops) {
    double bytes = 0;
    for (int s = 0; s < f.slots; ++s) bytes += f.touch[fits + 1][s] * plan.slots()[s].element_bytes;
    if (bytes > cache_bytes) break;
    fitting = bytes;
    ++fits;
  }
  if (fits >= 0) return f.top_down[fits] * fitting;
  double element = 0;
  for (const auto& slot : plan.slots()) element += slot.element_bytes;
  return f.iterations * element;
}

}  // namespace lathe::analysis
