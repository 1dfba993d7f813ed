#include "tuner/feature/loop_context.h"

#include <algorithm>
#include <cmath>

#include "tuner/feature/log2.h"

namespace lathe::feature {
namespace {

using ir::LoopKind;

// The position in the one-hot vector; -1 for serial.
int annotation_of(LoopKind kind) {
  switch (kind) {
    case LoopKind::kSerial: return -1;
    case LoopKind::kVectorized: return 0;
    case LoopKind::kUnrolled: return 1;
    case LoopKind::kParallel: return 2;
    case LoopKind::kBlockX:
    case LoopKind::kBlockY:
    case LoopKind::kBlockZ: return 3;
    case LoopKind::kThreadX:
    case LoopKind::kThreadY:
    case LoopKind::kThreadZ:
    case LoopKind::kItems: return 4;
  }
  return -1;
}

}  // namespace

void loop_context(const analysis::FootprintPlan& plan, const analysis::Footprint& f, int l,
                  float* out) {
  std::fill_n(out, kLoopContext, 0.0F);
  out[0] = log2_at_least_one(f.length[l]);
  if (const int a = annotation_of(plan.kinds()[l]); a >= 0) out[1 + a] = 1;
  out[kLoopHeader] = log2_at_least_one(f.top_down[l]);
  out[kLoopHeader + 1] = log2_at_least_one(f.bottom_up[l]);
  float* slot = out + kLoopHeader + 2;
  for (int s = 0; s < kSlots; ++s, slot += kSlotWidth) {
    slot[2] = kNoStride;
    if (s >= f.slots) continue;
    slot[0] = log2_at_least_one(f.touch[l][s]);
    slot[1] = log2_of(static_cast<float>(f.reuse(l, s)));
    if (f.stride[l][s] != 0) slot[2] = log2_at_least_one(std::abs(f.stride[l][s]));
  }
}

std::vector<std::string> loop_context_names() {
  std::vector<std::string> names = {"length", "vectorize", "unroll",   "parallel",
                                    "block",  "thread",    "top_down", "bottom_up"};
  for (int s = 0; s < kSlots; ++s)
    for (const char* what : {"touch", "reuse", "stride"})
      names.push_back(fmt::format("buffer{}.{}", s, what));
  return names;
}

}  // namespace lathe::feature
