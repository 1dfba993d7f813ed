// Strassen's algorithm for a program's main product (compiler/schedule/steps/strassen.h): where it
// is offered, its knobs, and its sketches.
//
// Outside run blocks of rows or of columns, and in each the sums of the operand that has them; sums
// of the other operand are made whole before. Inside, products of a block of rows by one of columns
// are summed up to quarters of the result. The products have a register tile of vectors along the
// columns by rows.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tuner/space/rules/cpu_context.h"
#include "tuner/space/rules/rule.h"
#include "tuner/space/rules/shared/axes.h"
#include "tuner/space/rules/shared/prepare.h"

namespace lathe::space {

// An axis that the algorithm halves: an iterator of the block, without the block's name.
struct ProductAxis {
  std::string iter;
  std::int64_t extent = 0;
  int left_dim = -1, right_dim = -1;  // of the operands; -1: it has none

  std::int64_t half() const { return (extent + 1) / 2; }
};

// What the iterators of a product are for.
struct ProductSum {
  std::string block;
  ProductAxis row, column, term;
  std::vector<std::string> result;  // iterators by dimension
  std::string left, right;          // operands
  int left_dims = 0, right_dims = 0;
  bool left_constant = false, right_constant = false;
  bool rows_lie_apart = true;      // terms of the left operand follow each other, or neither does
  bool columns_lie_apart = false;  // of the right one
};

// Which blocks are outside.
enum class OuterBlocks { kRows, kColumns };
std::string label_of(OuterBlocks outer);  // "rows"

// Numbers of the knobs; -1: this program has no such knob.
struct StrassenKnobs {
  int algorithm = -1, outer = -1;
  int tile_v = -1, tile_p = -1, block_v = -1, block_p = -1;
  int unroll = -1, prefetch = -1;
};

struct StrassenRule {
  Prepared prepared;  // without split reductions
  CpuTarget target;
  ProductSum sum;
  int lanes = 1;
  std::vector<schedule::Layout> layouts;  // of inputs and outputs
  bool may_be_direct = true;              // the contract allows it
  std::vector<OuterBlocks> outer;         // values of the knob
  StrassenKnobs at;
};

// Nothing where the main stage is no product that is large enough for the flavour, or where its
// errors might exceed the contract's. Refuses where the contract demands the algorithm.
Result<std::optional<StrassenRule>> strassen_rule(const CpuContext& context,
                                                  const std::vector<schedule::Layout>& layouts);
Result<std::unique_ptr<Alternatives>> offer_strassen(const CpuContext& context);
std::span<const Meaning> strassen_meanings();

}  // namespace lathe::space
