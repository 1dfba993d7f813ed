// Steps of a sketch, applied one by one while the rules put it together.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tuner/space/rules/shared/prepare.h"
#include "tuner/space/space.h"

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
  // `wanted`, or a longer name where a loop is called so: the letters of a workload name loops,
  // too.
  std::string free_name(std::string wanted) const {
    while (nest_.find_loop(wanted) >= 0) wanted += "_";
    return wanted;
  }
  // One loop in place of several, called so if it can be.
  std::string fused(const std::vector<std::string>& loops, const std::string& wanted) {
    if (loops.size() < 2) return loops[0];
    std::string name = free_name(wanted);
    step(schedule::Fuse{loops, name});
    return name;
  }
  void kind(const std::string& loop, ir::LoopKind k) {
    step(schedule::Annotate{.loop = loop, .kind = k});
  }
  void unroll(const std::vector<std::string>& loops) {
    for (const std::string& loop : loops) kind(loop, ir::LoopKind::kUnrolled);
  }
  void prefetch(const std::string& loop, const std::string& buffer, ir::SizeId bytes) {
    schedule::Annotate ahead;
    ahead.loop = loop;
    ahead.what = schedule::Annotate::What::kPrefetch;
    ahead.buffer = buffer;
    ahead.bytes = bytes;
    step(ahead);
  }
  // Lanes along one loop, with these written out around it, and the first ones around those.
  void write_out(std::vector<std::string> order, const std::vector<std::string>& loops,
                 const std::string& lane) {
    order.insert(order.end(), loops.begin(), loops.end());
    order.push_back(lane);
    step(schedule::Reorder{std::move(order)});
    unroll(loops);
    kind(lane, ir::LoopKind::kVectorized);
  }
  ir::SizeId number(std::int64_t value) { return nest_.sizes.constant(value); }
  ir::SizeId times(ir::SizeId a, ir::SizeId b) { return nest_.sizes.mul(a, b); }

  ir::Nest& nest_;
  schedule::Trace& trace_;
  bool free_layout_;
};

// The sketch that a builder of an algorithm with knobs of its own puts together.
template <class Builder, class Rule>
Result<Sketch> built_sketch(const Rule& rule, const std::vector<Knob>& knobs,
                            std::span<const std::int64_t> values) {
  try {
    Sketch sketch{rule.prepared.nest, rule.prepared.steps};
    Builder(rule, knobs, values, sketch).run();
    return sketch;
  } catch (const StepRefused& refused) {
    return fail(ErrorKind::kIllegalSchedule, "{}", refused.error.text());
  }
}

}  // namespace lathe::space
