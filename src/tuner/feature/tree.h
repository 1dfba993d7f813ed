// A loop program as a tree of loops: what TreeGRU reads (paper, section 4, Figure 3).
//
// A row is kTreeNodes nodes of kTreeNodeWidth floats, outer loops before inner ones and siblings in
// the order of the program. A node has the position of its parent in the row (kAtTop: no loop is
// around it), the loop variable as a number that stands for its name everywhere, and the loop's
// context (loop_context.h). After the last node, kNoNode stands in place of a parent, followed by
// zeros.
//
// The loops are those around every block that runs with the program, the main block's and others. A
// loop that several blocks share has the context of the main block, or else of the first of these
// blocks. A loop of one iteration is left out. Of more than kTreeNodes loops, the main block's
// stay, and of the others those that come first.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compiler/analysis/footprint.h"
#include "compiler/ir/nest/nest.h"
#include "tuner/feature/loop_context.h"

namespace lathe::feature {

inline constexpr int kTreeNodes = 32;
inline constexpr int kNodeParent = 0, kNodeVariable = 1, kNodeContext = 2;
inline constexpr int kTreeNodeWidth = kNodeContext + kLoopContext;
inline constexpr float kAtTop = -1, kNoNode = -2;
static_assert(kTreeNodes >= analysis::kMaxChain, "the main chain fits a row");

// The number that stands for a loop variable: a whole number above 0 that a float holds exactly.
float variable_code(std::string_view name);

class TreePlan {
 public:
  explicit TreePlan(const ir::Nest& nest);
  // `values` are the values of the sizes of the plan's nest; out has room for tree_width() floats.
  void row(std::span<const std::int64_t> values, float* out) const;

 private:
  struct Loop {
    int parent;        // position in loops_; -1: none
    int block, level;  // whose context it has: blocks_[block], `level` loops from the innermost
    ir::SizeId extent;
    float variable;
  };
  void add_loops(const ir::Nest& nest, ir::LoopId around, int parent);

  std::vector<analysis::FootprintPlan> blocks_;  // the main block comes first
  std::vector<Loop> loops_;  // outer loops before inner ones, in the order of the program
};

int tree_width();
std::vector<std::string> tree_names();

}  // namespace lathe::feature
