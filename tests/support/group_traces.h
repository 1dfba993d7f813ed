// Schedules that go through memory of the group, for the product C[i,j] = sum(k) A[i,k] * B[k,j]
// and for sums of rows S[i] = sum(k) X[i,k].
#pragma once

#include <string>

#include "compiler/schedule/step.h"

namespace lathe::testing {

inline schedule::Annotate kind(const std::string& loop, ir::LoopKind kind) {
  return {.loop = loop, .kind = kind};
}

// How copies are shared out: along the axes of the items, along axes that are longer than what
// other loops need, in turns, in turns of vectors, or not.
enum class Fill : std::uint8_t { kAxes, kLongAxes, kTurns, kVectors, kOne };
constexpr Fill kFills[] = {Fill::kAxes, Fill::kLongAxes, Fill::kTurns, Fill::kVectors, Fill::kOne};

inline void add_fill(schedule::Trace& trace, const std::string& copy, Fill fill) {
  const auto d = [&](int i) { return copy + ".d" + std::to_string(i); };
  switch (fill) {
    case Fill::kAxes:
      trace.push_back(schedule::Split{d(0), std::int64_t{4}, d(0) + ".o", d(0) + ".i"});
      trace.push_back(kind(d(0) + ".i", ir::LoopKind::kThreadY));
      trace.push_back(schedule::Split{d(1), std::int64_t{4}, d(1) + ".o", d(1) + ".i"});
      trace.push_back(kind(d(1) + ".i", ir::LoopKind::kThreadX));
      return;
    case Fill::kLongAxes:
      trace.push_back(kind(d(0), ir::LoopKind::kThreadY));
      trace.push_back(schedule::Split{d(1), std::int64_t{4}, d(1) + ".o", d(1) + ".i"});
      trace.push_back(kind(d(1) + ".i", ir::LoopKind::kThreadX));
      return;
    case Fill::kTurns:
      trace.push_back(schedule::Fuse{{d(0), d(1)}, copy + ".f"});
      trace.push_back(kind(copy + ".f", ir::LoopKind::kItems));
      return;
    case Fill::kVectors:
      trace.push_back(schedule::Fuse{{d(0), d(1)}, copy + ".f"});
      trace.push_back(kind(copy + ".f", ir::LoopKind::kItems));
      trace.push_back(kind(d(2), ir::LoopKind::kVectorized));
      return;
    case Fill::kOne: return;
  }
}

// Tiles of 16 by 16 results for groups of 4 by 4 items, 8 terms at a time.
inline schedule::Trace tiled_product() {
  using schedule::Split;
  const auto four = std::int64_t{4};
  return {
      Split{"C.i", std::int64_t{16}, "io", "ir"},
      Split{"ir", four, "it", "ii"},
      Split{"C.j", std::int64_t{16}, "jo", "jr"},
      Split{"jr", four, "jt", "jl"},
      Split{"C.k", std::int64_t{8}, "ko", "ki"},
      schedule::Reorder{{"io", "jo", "it", "jt", "ko", "ki", "ii", "jl"}},
      kind("io", ir::LoopKind::kBlockY),
      kind("jo", ir::LoopKind::kBlockX),
      kind("it", ir::LoopKind::kThreadY),
      kind("jt", ir::LoopKind::kThreadX),
      schedule::Cache{.buffer = "C", .name = "acc", .loop = "jt", .scope = ir::Scope::kRegister},
      kind("acc.d0", ir::LoopKind::kUnrolled),
      kind("acc.d1", ir::LoopKind::kVectorized),
      kind("ii", ir::LoopKind::kUnrolled),
      kind("jl", ir::LoopKind::kVectorized)};
}

inline schedule::Trace staged_product(Fill fill, int stages = 1) {
  schedule::Trace trace = tiled_product();
  for (const char* of : {"A", "B"}) {
    const std::string copy = std::string(of) + ".s";
    schedule::Cache cache{.buffer = of, .name = copy, .loop = "ko", .scope = ir::Scope::kGroup};
    if (fill == Fill::kVectors)
      cache.layout = {{0, std::int64_t{1}}, {1, std::int64_t{4}}, {1, std::int64_t{1}}};
    cache.stages = stages;
    trace.push_back(cache);
    add_fill(trace, copy, fill);
  }
  return trace;
}

// Four items along z share the sum of each result, of 32 terms at a time.
inline schedule::Trace split_sum() {
  using schedule::Split;
  const auto four = std::int64_t{4};
  return {Split{"C.i", std::int64_t{8}, "io", "it"},
          Split{"C.j", std::int64_t{16}, "jo", "jr"},
          Split{"jr", four, "jt", "jl"},
          Split{"C.k", std::int64_t{32}, "ko", "kr"},
          Split{"kr", std::int64_t{8}, "kz", "ki"},
          schedule::Reorder{{"io", "jo", "kz", "it", "jt", "ko", "ki", "jl"}},
          schedule::Rfactor{"C", "kz", "C.part", 0, ir::Scope::kGroup},
          schedule::Cache{
              .buffer = "C.part", .name = "acc", .loop = "jt", .scope = ir::Scope::kRegister},
          schedule::ReverseComputeAt{"C", "jo"},
          kind("io", ir::LoopKind::kBlockY),
          kind("jo", ir::LoopKind::kBlockX),
          kind("kz", ir::LoopKind::kThreadZ),
          kind("it", ir::LoopKind::kThreadY),
          kind("jt", ir::LoopKind::kThreadX),
          schedule::Fuse{{"C.i@jo", "C.j@jo"}, "C.f"},
          kind("C.f", ir::LoopKind::kItems),
          kind("acc.d0", ir::LoopKind::kUnrolled),
          kind("acc.d1", ir::LoopKind::kUnrolled),
          kind("acc.d2", ir::LoopKind::kVectorized),
          kind("jl", ir::LoopKind::kVectorized)};
}

// 16 items share the sum of a row.
inline schedule::Trace summed_rows() {
  return {schedule::Split{"S.k", std::int64_t{16}, "ko", "kt"},
          schedule::Reorder{{"S.i", "kt", "ko"}},
          schedule::Rfactor{"S", "kt", "S.part", -1, ir::Scope::kGroup},
          schedule::ReverseComputeAt{"S", "S.i"},
          kind("S.i", ir::LoopKind::kBlockX),
          kind("kt", ir::LoopKind::kThreadX)};
}

// A warp shares the sum of a row, and groups have four of them.
inline schedule::Trace rows_of_warps() {
  return {schedule::Split{"S.i", std::int64_t{4}, "io", "ii"},
          schedule::Split{"S.k", std::int64_t{32}, "ko", "kt"},
          schedule::Reorder{{"io", "ii", "kt", "ko"}},
          schedule::Rfactor{"S", "kt", "S.part", -1, ir::Scope::kLanes},
          schedule::ReverseComputeAt{"S", "ii"},
          kind("io", ir::LoopKind::kBlockX),
          kind("ii", ir::LoopKind::kThreadY),
          kind("kt", ir::LoopKind::kThreadX)};
}

// Rows of M[i] = max(k) X[i,k]; Y[i,j] = X[i,j] - M[i] stay in registers: lane l of a warp has
// every 32nd element of a row from l on, in both stages. Lanes of the second have `lanes` instead.
inline schedule::Trace rows_in_registers(std::int64_t lanes = 32) {
  using schedule::Cache, schedule::Split;
  constexpr auto kRows = ir::LoopKind::kThreadY, kLane = ir::LoopKind::kThreadX,
                 kTurns = ir::LoopKind::kUnrolled;
  return {Split{"M.i", std::int64_t{4}, "io", "ii"},
          Split{"Y.i", std::int64_t{4}, "yo", "yi"},
          schedule::Join{{"io", "yo"}},
          kind("io", ir::LoopKind::kBlockX),
          Split{"M.k", std::int64_t{32}, "ko", "kl"},
          schedule::Reorder{{"ii", "kl", "ko"}},
          schedule::Rfactor{"M", "kl", "M.part", -1, ir::Scope::kLanes},
          Cache{.buffer = "M", .name = "M.own", .loop = "io", .scope = ir::Scope::kLanes},
          Split{"Y.j", lanes, "jo", "jl"},
          schedule::Reorder{{"yi", "jl", "jo"}},
          Cache{.buffer = "X",
                .name = "X.row",
                .loop = "io",
                .scope = ir::Scope::kLanes,
                .layout = {{0, std::int64_t{1}}, {1, std::int64_t{32}}, {1, std::int64_t{1}}}},
          kind("M.i@M.part", kRows),
          kind("M.own.d0", kRows),
          kind("X.row.d0", kRows),
          kind("ii", kRows),
          kind("yi", kRows),
          kind("X.row.d2", kLane),
          kind("kl", kLane),
          kind("jl", kLane),
          kind("X.row.d1", kTurns),
          kind("ko", kTurns),
          kind("jo", kTurns)};
}

}  // namespace lathe::testing
