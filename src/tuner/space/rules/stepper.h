// Steps of a sketch, applied one by one while the rules put it together.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tuner/space/rules/prepare.h"

namespace lathe::space {

class Stepper {
 protected:
  Stepper(ir::Nest& nest, schedule::Trace& trace, bool free_layout)
      : nest_(nest), trace_(trace), free_layout_(free_layout) {}

  // Throws StepRefused.
  void step(schedule::Step s) {
    const auto done = schedule::apply(nest_, s, free_layout_);
    if (!done) throw StepRefused{done.error()};
    trace_.push_back(std::move(s));
  }
  bool may_step(schedule::Step s) { return try_step(nest_, trace_, std::move(s), free_layout_); }
  void split(const std::string& loop, ir::SizeId factor, const std::string& outer,
             const std::string& inner) {
    step(schedule::Split{loop, factor, outer, inner, ir::Tail::kPeel});
  }
  void kind(const std::string& loop, ir::LoopKind k) {
    step(schedule::Annotate{.loop = loop, .kind = k});
  }
  void unroll(const std::vector<std::string>& loops) {
    for (const std::string& loop : loops) kind(loop, ir::LoopKind::kUnrolled);
  }
  ir::SizeId number(std::int64_t value) { return nest_.sizes.constant(value); }
  ir::SizeId times(ir::SizeId a, ir::SizeId b) { return nest_.sizes.mul(a, b); }

  ir::Nest& nest_;
  schedule::Trace& trace_;
  bool free_layout_;
};

}  // namespace lathe::space
