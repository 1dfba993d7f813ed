#include "compiler/schedule/steps/fuse.h"

#include <algorithm>

#include <fmt/format.h>

#include "compiler/analysis/dependence.h"
#include "compiler/schedule/edit.h"

namespace lathe::schedule {
namespace {

using ir::LoopDigit;
using ir::LoopId;
using ir::SizeId;

// Writes digits of fused = outer * extent of inner + inner.
class Fuser {
 public:
  Fuser(ir::Nest& nest, LoopId outer, LoopId inner, LoopId fused)
      : nest_(nest),
        outer_(outer),
        inner_(inner),
        fused_(fused),
        count_(nest.loops[inner].extent) {}

  bool append(const LoopDigit& digit, std::vector<LoopDigit>& out) {
    if (digit.loop == outer_) {
      const SizeId div = digit.div == SizeId::kNone ? count_ : sizes().mul(digit.div, count_);
      out.push_back({fused_, digit.weight, or_none(div), digit.mod});
      return true;
    }
    if (digit.loop != inner_) {
      out.push_back(digit);
      return true;
    }
    const SizeId div = digit.div == SizeId::kNone ? sizes().constant(1) : digit.div;
    const SizeId span = digit.mod == SizeId::kNone ? div : sizes().mul(div, digit.mod);
    if (!sizes().divides(span, count_)) return false;
    const SizeId mod = digit.mod == SizeId::kNone ? sizes().ceildiv(count_, div) : digit.mod;
    if (!is_one(sizes(), mod)) out.push_back({fused_, digit.weight, digit.div, mod});
    return true;
  }

 private:
  ir::Sizes& sizes() { return nest_.sizes; }
  SizeId or_none(SizeId size) const { return is_one(nest_.sizes, size) ? SizeId::kNone : size; }

  ir::Nest& nest_;
  LoopId outer_, inner_, fused_;
  SizeId count_;
};

// True if a reduction loop and another kind would make a loop that is neither.
bool mixes_kinds(const ir::Nest& nest, LoopId outer, LoopId inner) {
  for (const ir::BlockId id : nest.blocks_in(inner)) {
    const ir::Block& block = nest.blocks[id];
    if (!analysis::is_driven_by(block, outer) && !analysis::is_driven_by(block, inner)) continue;
    if (nest.is_reduction_loop(id, outer) != nest.is_reduction_loop(id, inner)) return true;
  }
  return false;
}

StepResult<LoopId> fuse_pair(ir::Nest& nest, LoopId outer, LoopId inner, const std::string& name,
                             const std::string& subject) {
  if (mixes_kinds(nest, outer, inner)) return refuse(Refusal::kFusesKinds, subject);
  const ir::Loop first = nest.loops[outer], second = nest.loops[inner];
  if (is_too_long(nest.sizes, first.extent, second.extent))
    return refuse(Refusal::kTooLong, subject);
  const LoopId fused =
      LATHE_TRY(add_loop(nest, name, nest.sizes.mul(first.extent, second.extent), first.parent));
  nest.children(first.parent).pop_back();
  Fuser fuser(nest, outer, inner, fused);
  for (const ir::BlockId id : nest.blocks_in(inner)) {
    for (ir::BlockIter& iter : nest.blocks[id].iters) {
      std::vector<LoopDigit> digits;
      for (const LoopDigit& digit : iter.digits)
        if (!fuser.append(digit, digits)) return refuse(Refusal::kBadFactor, subject);
      iter.digits = std::move(digits);
    }
  }
  replace_child(nest, outer, fused);
  for (const ir::Item& item : second.body) nest.set_parent(item, fused);
  nest.loops[fused].body = second.body;
  nest.loops[fused].tail = second.tail;
  nest.loops[fused].prefetch = second.prefetch;
  for (const LoopId old : {outer, inner}) {
    nest.loops[old].dead = true;
    nest.loops[old].body.clear();
  }
  move_buffers(nest, inner, fused);
  return fused;
}

}  // namespace

std::string Fuse::text() const {
  return fmt::format("fuse {} into {}", fmt::join(loops, ", "), fused);
}

StepResult<void> apply_step(ir::Nest& nest, const Fuse& step) {
  if (step.loops.size() < 2) return refuse(Refusal::kTooFewLoops, step.fused);
  std::vector<LoopId> loops;
  for (const std::string& name : step.loops) {
    const LoopId loop = LATHE_TRY(loop_named(nest, name));
    if (nest.loops[loop].kind != ir::LoopKind::kSerial || is_tensorized(nest, loop))
      return refuse(Refusal::kAlreadyBound, name);
    if (!loops.empty()) {
      const LoopId outer = loops.back();
      const bool alone = nest.loops[loop].parent == outer && nest.loops[outer].body.size() == 1;
      const bool holds =
          std::ranges::any_of(nest.buffers, [&](const ir::Buffer& b) { return b.at == outer; });
      if (!alone || holds) return refuse(Refusal::kNotNested, name);
    }
    loops.push_back(loop);
  }
  LoopId fused = loops[0];
  for (std::size_t i = 1; i < loops.size(); ++i) {
    const bool last = i + 1 == loops.size();
    // The result may take one of the old names.
    const std::string name = last ? step.fused : step.fused + "\n" + std::to_string(i);
    nest.loops[fused].name.clear();
    nest.loops[loops[i]].name.clear();
    fused = LATHE_TRY(fuse_pair(nest, fused, loops[i], name, step.loops[i]));
  }
  return {};
}

}  // namespace lathe::schedule
