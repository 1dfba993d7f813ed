// Limits of a workload's size. They make every later product of sizes fit an i64, and let every
// pass that looks at pairs of stages end soon.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lathe::te {

inline constexpr std::int64_t kMaxElements = std::int64_t{1} << 40;    // of a tensor
inline constexpr std::int64_t kMaxIterations = std::int64_t{1} << 60;  // of a stage
inline constexpr std::size_t kMaxRank = 16;
inline constexpr std::size_t kMaxIterators = 32;  // of a stage
// Of a workload, with the stages of inner reductions.
inline constexpr std::size_t kMaxStages = 256;
inline constexpr std::size_t kMaxTensors = 1024;  // of a workload

inline constexpr int kMaxDepth = 250;  // of an expression: every pass may recurse so deep

}  // namespace lathe::te
