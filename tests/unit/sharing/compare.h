// What sharing_of() tells, against a count of every iteration.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/sharing/sharing.h"
#include "oracle/flat_count.h"

namespace lathe::sharing {

inline bool is(const Work& work, const interp::Counted& counted) {
  return work == Work{counted.operations, counted.multiply_adds, counted.bytes};
}
inline void add(interp::Counted& sum, const interp::Counted& more) {
  sum.operations += more.operations;
  sum.multiply_adds += more.multiply_adds;
  sum.bytes += more.bytes;
}
inline void take_most(interp::Counted& most, const interp::Counted& other) {
  most.operations = std::max(most.operations, other.operations);
  most.multiply_adds = std::max(most.multiply_adds, other.multiply_adds);
  most.bytes = std::max(most.bytes, other.bytes);
}

// A phase in all runs of its region.
struct CountedPhase {
  std::int64_t runs = 0, parts = 0;
  interp::Counted all, busiest;
  std::int64_t copied = 0, again = 0;  // bytes
  interp::Counted computed_again;
};

inline void add_run(CountedPhase& phase, const std::vector<interp::CountedPart>& parts, int threads,
                    const flat::Program& program) {
  const auto count = static_cast<std::int64_t>(parts.size());
  ++phase.runs;
  phase.parts = std::max(phase.parts, count);
  interp::Counted busiest;
  for (std::int64_t t = 0; t < threads; ++t) {
    interp::Counted slice;
    for (std::int64_t i = count * t / threads; i < count * (t + 1) / threads; ++i)
      add(slice, parts[static_cast<std::size_t>(i)].work);
    add(phase.all, slice);
    take_most(busiest, slice);
  }
  add(phase.busiest, busiest);
  std::map<int, std::set<std::map<std::int64_t, std::uint64_t>>> contents;
  for (const auto& part : parts)
    for (const auto& [buffer, written] : part.computed)
      if (!contents[buffer].insert(written.values).second) add(phase.computed_again, written.work);
  interp::CopiedElements together;
  std::map<std::pair<int, int>, std::int64_t> copied;
  for (const auto& part : parts)
    for (const auto& [buffers, elements] : part.copied) {
      copied[buffers] += static_cast<std::int64_t>(elements.size());
      together[buffers].insert(elements.begin(), elements.end());
    }
  for (const auto& [buffers, elements] : together) {
    const int size = size_of(program.buffers[static_cast<std::size_t>(buffers.first)].dtype);
    phase.copied += copied[buffers] * size;
    phase.again += (copied[buffers] - static_cast<std::int64_t>(elements.size())) * size;
  }
}

inline void compare(const KernelWork& told, const interp::CountedKernel& counted, int threads,
                    const flat::Program& program, bool all_repeats) {
  EXPECT_TRUE(is(told.alone, counted.alone)) << flat::print(program);
  std::vector<CountedPhase> phases;
  std::map<const flat::StmtNode*, std::size_t> first;
  std::int64_t barriers = 0;
  for (const auto& region : counted.regions) {
    const auto [place, fresh] = first.try_emplace(region.region, phases.size());
    if (fresh) phases.resize(phases.size() + region.phases.size());
    for (std::size_t p = 0; p < region.phases.size(); ++p)
      add_run(phases[place->second + p], region.phases[p], threads, program);
    const bool shared =
        std::ranges::any_of(region.phases, [](const auto& parts) { return parts.size() > 1; });
    if (shared && threads > 1) barriers += static_cast<std::int64_t>(region.phases.size());
  }
  EXPECT_EQ(told.barriers, barriers);
  ASSERT_EQ(told.phases.size(), phases.size());
  for (std::size_t p = 0; p < phases.size(); ++p) {
    const Phase& phase = told.phases[p];
    EXPECT_EQ(phase.runs, phases[p].runs);
    EXPECT_EQ(phase.parts, phases[p].parts);
    EXPECT_EQ(phase.threads, std::min<std::int64_t>(threads, phases[p].parts));
    EXPECT_TRUE(is(phase.all, phases[p].all))
        << phase.all.operations << " operations, not " << phases[p].all.operations;
    EXPECT_TRUE(is(phase.busiest, phases[p].busiest)) << threads << " threads";
    EXPECT_EQ(phase.repeats.copied_bytes, phases[p].copied);
    EXPECT_EQ(phase.repeats.copied_again_bytes, phases[p].again);
    const Work again = phase.repeats.computed_again;
    EXPECT_TRUE(!all_repeats || is(again, phases[p].computed_again)) << again.operations;
    // Parts that read variables of other values may happen to compute the same.
    EXPECT_LE(again.operations, phases[p].computed_again.operations);
    EXPECT_LE(again.bytes, phases[p].computed_again.bytes);
  }
}

// Fails the test where they differ for one of these numbers of threads. all_repeats: also where
// sharing_of() does not see that parts compute the same.
inline void compare(const flat::Program& program, const std::vector<int>& threads, int vector_bytes,
                    bool all_repeats = false) {
  std::vector<int> ids = program.prepare;
  ids.insert(ids.end(), program.run.begin(), program.run.end());
  std::vector<interp::CountedKernel> counted;
  for (const int id : ids)
    counted.push_back(
        interp::count_kernel(program, program.kernels[static_cast<std::size_t>(id)], vector_bytes));
  for (const int t : threads) {
    const auto sharing = sharing_of(program, t, vector_bytes);
    ASSERT_TRUE(sharing) << sharing.error().text();
    ASSERT_EQ(sharing->kernels.size(), ids.size());
    for (std::size_t k = 0; k < ids.size(); ++k)
      compare(sharing->kernels[k], counted[k], t, program, all_repeats);
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace lathe::sharing
