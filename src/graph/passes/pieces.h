// What an expression copies, as pieces of elements that follow each other.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/te/workload.h"

namespace lathe::graph {

// Elements of an input, from number `from` on, that become those of the output from `to` on.
struct Piece {
  int tensor = -1;
  std::int64_t from = 0, to = 0, count = 0;
};

// The pieces that make the only output, in order; none where anything but copying is done, or some
// of the output is not copied in order. A slice is one piece, a concatenation along the first
// dimension that has several elements one for each input.
std::optional<std::vector<Piece>> pieces_of(const te::Workload& expression);

// True if every element of each output is an element of an input or a constant, and which one does
// not depend on data.
bool is_movement(const te::Workload& expression);

}  // namespace lathe::graph
