// Counts what a flat program does by going through all of its iterations, one after the other: the
// slow, obvious way to what compiler/sharing tells.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/flat/flat.h"

namespace lathe::interp {

struct Counted {
  std::int64_t operations = 0, multiply_adds = 0, bytes = 0;
  friend bool operator==(const Counted&, const Counted&) = default;
};

// Buffers that a part copies from and to, and the elements.
using CopiedElements = std::map<std::pair<int, int>, std::set<std::int64_t>>;

// What a part writes into one buffer: by element, a number that is the same for what is computed
// alike from the same elements. The work on it, without that on what lies in other buffers.
struct Contents {
  std::map<std::int64_t, std::uint64_t> values;
  Counted work;
};

struct CountedPart {
  Counted work;
  CopiedElements copied;
  std::map<int, Contents> computed;  // by buffer, of those into which no part only copies
};

// A region in one of its executions: by phase, by part.
struct CountedRegion {
  const flat::StmtNode* region;
  std::vector<std::vector<CountedPart>> phases;
};

struct CountedKernel {
  std::vector<CountedRegion> regions;  // as they run
  Counted alone;
};

CountedKernel count_kernel(const flat::Program& program, const flat::Kernel& kernel,
                           int vector_bytes);

}  // namespace lathe::interp
