#pragma once

#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "compiler/ir/nest/nest.h"
#include "compiler/schedule/field.h"
#include "compiler/schedule/step_error.h"

namespace lathe::schedule {

// A part of what a block reduces, which may be reduced by itself.
struct Portion {
  ir::Expr value;
  bool subtracted = false;
  std::set<int> iters;   // of the block: those of the result and of the reduction that it needs
  bool reduces = false;  // false: it needs none of the reduction
};
// Each term of a sum is one. Terms of floats whose extreme is taken are together where they have
// reduced iterators in common, or none. Anything else is a single portion. None: the block reduces
// nothing.
std::vector<Portion> portions_of(const ir::Block& block);

// What a block reduces is reduced in portions: each that reduces by a block of its own, over the
// iterators that it needs, and the block then adds what it reads of them, as often as iterators of
// a sum have values that a portion does not need. With a single portion it copies: then the
// portion needs less than all iterators.
struct Distribute {
  std::string block;
  std::vector<std::string> names;  // of the new blocks and their buffers, a portion each

  static constexpr const char* kName = "distribute";
  static auto fields() {
    return std::tuple{Field{"block", &Distribute::block}, Field{"names", &Distribute::names}};
  }
  std::string text() const;
};

StepResult<void> apply_step(ir::Nest& nest, const Distribute& step);

}  // namespace lathe::schedule
