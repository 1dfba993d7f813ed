// The context vector of one loop (paper, appendix, Table 2). Context rows and tree rows are made of
// these.
//
// It holds log2 length; one-hot vectorize, unroll, parallel, block, thread; log2 top-down; log2
// bottom-up; then for each of kSlots buffers (the output or its accumulators first, then reads in
// order of appearance) log2 touch count, log2 reuse ratio, and log2 |stride| (kNoStride where the
// loop does not move the buffer).
#pragma once

#include <string>
#include <vector>

#include "compiler/analysis/footprint.h"

namespace lathe::feature {

inline constexpr int kSlots = 4;
inline constexpr float kNoStride = -1;

inline constexpr int kAnnotations = 5;
// What the loop tells by itself: length and annotation.
inline constexpr int kLoopHeader = 1 + kAnnotations;
inline constexpr int kSlotWidth = 3;
inline constexpr int kLoopContext = kLoopHeader + 2 + kSlots * kSlotWidth;

// Writes the context of loop l around the block (0 is the innermost); out has room for kLoopContext
// floats.
void loop_context(const analysis::FootprintPlan& plan, const analysis::Footprint& f, int l,
                  float* out);
std::vector<std::string> loop_context_names();

}  // namespace lathe::feature
