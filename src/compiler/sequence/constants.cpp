#include "compiler/sequence/constants.h"

#include <algorithm>
#include <set>
#include <utility>

#include "compiler/ir/flat/touched.h"
#include "compiler/sequence/arena.h"

namespace lathe::sequence {
namespace {

std::int64_t end_of(const flat::Buffer& buffer) {
  return buffer.slot + buffer.size * size_of(buffer.dtype);
}

// One for each buffer of the area, in order.
std::vector<ConstantRange> single_ranges(const flat::Program& program, bool read) {
  std::set<int> touched;
  if (read) touched = flat::touched_buffers(program, program.run);
  std::vector<ConstantRange> ranges;
  for (std::size_t b = 0; b < program.buffers.size(); ++b) {
    const flat::Buffer& buffer = program.buffers[b];
    if (buffer.scope == flat::Scope::kConstant)
      ranges.push_back({buffer.slot, end_of(buffer), touched.contains(static_cast<int>(b)), 0});
  }
  std::ranges::sort(ranges, {}, &ConstantRange::begin);
  return ranges;
}

}  // namespace

ConstantRanges constants_of(const flat::Program& program, bool read) {
  ConstantRanges out;
  for (const ConstantRange& range : single_ranges(program, read)) {
    if (out.ranges.empty() || out.ranges.back().end <= range.begin) {
      out.ranges.push_back(range);
      continue;
    }
    out.ranges.back().end = std::max(out.ranges.back().end, range.end);
    out.ranges.back().kept |= range.kept;
  }
  for (ConstantRange& range : out.ranges) {
    // Begins as far from a multiple of the alignment as it did.
    const std::int64_t before = range.begin % kAlignment;
    std::int64_t& area = range.kept ? out.kept : out.passing;
    range.offset = aligned(area) + before;
    area = range.offset + range.end - range.begin;
  }
  return out;
}

const ConstantRange& ConstantRanges::at(std::int64_t slot) const {
  const auto after = std::ranges::upper_bound(ranges, slot, {}, &ConstantRange::begin);
  LATHE_CHECK(after != ranges.begin(), "no constant is at {}", slot);
  return *std::prev(after);
}

}  // namespace lathe::sequence
