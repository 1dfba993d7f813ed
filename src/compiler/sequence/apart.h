// A program without its constants: what prepare makes, and the larger literals that run reads, are
// an area of bytes, made once and kept elsewhere.
#pragma once

#include <cstddef>
#include <span>

#include "base/result.h"
#include "compiler/ir/flat/flat.h"

namespace lathe::sequence {

struct Apart {
  flat::Program run;  // it has no prepare, and finds all in its constants
  // Its prepare makes an area that begins with theirs, up to the copies; its run does nothing.
  flat::Program make;
  // The rest, copied to these places.
  struct Copy {
    std::int64_t slot = 0;
    tensor::Data data;
  };
  std::vector<Copy> copies;

  // Into the whole area, which is of run.constant_bytes.
  void copy_into(std::span<std::byte> constants) const;
};

// Literals of fewer bytes stay in the code.
inline constexpr std::int64_t kLeastApart = 4096;

// kUnsupported where an input is constant: its elements are not known yet.
Result<Apart> apart(const flat::Program& program);

}  // namespace lathe::sequence
