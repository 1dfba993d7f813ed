#include "compiler/analysis/essence.h"

#include <algorithm>

#include "base/hash.h"
#include "compiler/analysis/dependence.h"

namespace lathe::analysis {
namespace {

using ir::Item;
using ir::LoopId;
using ir::SizeId;

std::uint64_t mix(std::uint64_t a, std::uint64_t b) { return Hasher().add(a).add(b).value(); }

// Numbers sums and products by their terms, whatever order the table has them in.
std::vector<std::uint64_t> formulas_of(const ir::Sizes& sizes) {
  // terms: the sum over an operation's flattened operands.
  std::vector<std::uint64_t> numbers, terms;
  for (int i = 0; i < sizes.count(); ++i) {
    const ir::Sizes::Entry& e = sizes.at(static_cast<SizeId>(i));
    const auto op = static_cast<std::uint64_t>(e.op);
    const auto operand = [&](SizeId id) {
      const auto at = static_cast<std::size_t>(id);
      return sizes.at(id).op == e.op ? terms[at] : mix(op, numbers[at]);
    };
    terms.push_back(0);
    switch (e.op) {
      case ir::Sizes::Op::kConst:
      case ir::Sizes::Op::kKnob:
        numbers.push_back(mix(op, static_cast<std::uint64_t>(e.value)));
        continue;
      case ir::Sizes::Op::kCeilDiv:
        numbers.push_back(Hasher()
                              .add(op)
                              .add(numbers[static_cast<std::size_t>(e.a)])
                              .add(numbers[static_cast<std::size_t>(e.b)])
                              .value());
        continue;
      case ir::Sizes::Op::kAdd:
      case ir::Sizes::Op::kMul:
      case ir::Sizes::Op::kMin:
      case ir::Sizes::Op::kMax: terms.back() = operand(e.a) + operand(e.b); break;
    }
    numbers.push_back(mix(~op, terms.back()));
  }
  return numbers;
}

// True if the block fills a cache in memory; it then also fills the padding of the cache's layout.
bool fills_cache(const ir::Nest& nest, const ir::Block& block) {
  const auto* read = std::get_if<ir::Read>(&block.body->value);
  return read != nullptr && nest.buffers[block.writes].cache_of == read->tensor;
}

}  // namespace

Essence::Essence(const ir::Nest& nest) : nest_(nest), sizes_(nest.sizes) {
  extents_.assign(nest.loops.size(), SizeId::kNone);
  asked_.resize(nest.loops.size());
  tensorized_.assign(nest.loops.size(), 0);
  holds_together_.assign(nest.loops.size(), 0);
  for (std::size_t b = 0; b < nest.buffers.size(); ++b)
    resumed_over_.push_back(nest.buffers[b].streaming
                                ? analysis::resumed_over(nest, static_cast<ir::BufferId>(b))
                                : std::vector<LoopId>{});
  for (LoopId loop = 0; loop < static_cast<LoopId>(nest.loops.size()); ++loop) {
    if (nest.loops[loop].dead) continue;
    for (LoopId at = loop; at != ir::kRoot; at = nest.loops[at].parent)
      if (nest.loops[at].intrinsic != ir::IntrinsicId::kNone) tensorized_[loop] = 1;
    holds_together_[loop] = holds_memory_of_group(loop) ? 1 : 0;
    extents_[loop] = busy_extent(loop);
    std::vector<std::size_t>& asked = asked_[static_cast<std::size_t>(loop)];
    asked.push_back(ask(extents_[loop], 1));
    for (const ir::Prefetch& prefetch : nest.loops[loop].prefetch)
      asked.push_back(ask(prefetch.bytes, 0));
  }
  formulas_ = formulas_of(sizes_);
  collect_facts();
}

bool Essence::holds_memory_of_group(LoopId loop) const {
  const bool bound = nest_.loops[loop].kind >= ir::LoopKind::kBlockX;
  return bound && std::ranges::any_of(nest_.buffers, [&](const ir::Buffer& buffer) {
           const bool shared =
               buffer.scope == ir::Scope::kGroup || buffer.scope == ir::Scope::kLanes;
           return shared && buffer.at != ir::kRoot &&
                  nest_.is_inside({Item::Kind::kLoop, buffer.at}, loop);
         });
}

std::size_t Essence::ask(SizeId size, std::int64_t limit) {
  const auto found = std::ranges::find(questions_, Question{size, limit});
  const auto number = static_cast<std::size_t>(found - questions_.begin());
  if (found == questions_.end()) questions_.push_back({size, limit});
  return number;
}

// One past the last iteration in which the block can run; kNone if the block does not tell. The
// less significant digits of a block that fills a cache do not tell: they also reach the padding.
SizeId Essence::busy_iterations(const ir::Block& block, LoopId loop) {
  SizeId most = SizeId::kNone;
  const bool fills = fills_cache(nest_, block);
  const LoopId at = nest_.buffers[block.writes].at;
  for (const ir::BlockIter& iter : block.iters) {
    const ir::LoopDigit* own = nullptr;
    bool known = true, significant = true;
    for (const ir::LoopDigit& digit : iter.digits) {
      if (sizes_.is_negative(digit.weight)) known = false;
      if (digit.loop == loop) {
        known = known && own == nullptr && digit.div == SizeId::kNone && digit.mod == SizeId::kNone;
        own = &digit;
      } else if (own == nullptr && digit.loop != at &&
                 nest_.is_inside({Item::Kind::kLoop, digit.loop}, at)) {
        significant = false;
      }
    }
    if (own == nullptr || !known || (fills && !significant)) continue;
    SizeId reach = iter.extent;
    if (iter.offset != SizeId::kNone)
      reach = sizes_.add(reach, sizes_.mul(iter.offset, sizes_.constant(-1)));
    const SizeId bound = sizes_.ceildiv(reach, own->weight);
    most = most == SizeId::kNone ? bound : sizes_.min(most, bound);
  }
  return most;
}

SizeId Essence::busy_extent(LoopId loop) {
  const ir::Loop& l = nest_.loops[loop];
  if (l.kind == ir::LoopKind::kVectorized || tensorized_[loop] != 0) return l.extent;
  SizeId most = SizeId::kNone;
  for (const ir::BlockId id : nest_.blocks_in(loop)) {
    const SizeId busy = busy_iterations(nest_.blocks[id], loop);
    if (busy == SizeId::kNone) return l.extent;
    most = most == SizeId::kNone ? busy : sizes_.max(most, busy);
  }
  if (most == SizeId::kNone || sizes_.at_least(most, l.extent)) return l.extent;
  return sizes_.max(sizes_.constant(1), sizes_.min(l.extent, most));
}

Essence::Answers Essence::answers(std::span<const std::int64_t> values) const {
  Answers out;
  for (const Question& q : questions_)
    out.push_back(values[static_cast<std::size_t>(q.size)] <= q.limit ? 1 : 0);
  return out;
}

bool Essence::is_off(const Answers& answers, LoopId loop, std::size_t prefetch) const {
  return answers[asked_[static_cast<std::size_t>(loop)][1 + prefetch]] != 0;
}

// The loop has one iteration, so none of its digits is ever more than 0.
bool Essence::is_single(const Answers& answers, LoopId loop) const {
  return tensorized_[loop] == 0 && answers[asked_[static_cast<std::size_t>(loop)][0]] != 0;
}

bool Essence::goes(const Answers& answers, LoopId loop) const {
  if (!is_single(answers, loop) || holds_together_[loop] != 0) return false;
  for (std::size_t p = 0; p < nest_.loops[loop].prefetch.size(); ++p)
    if (!is_off(answers, loop, p)) return false;
  return true;
}

bool Essence::streams(const Answers& answers, ir::BufferId buffer) const {
  return nest_.buffers[buffer].streaming &&
         std::ranges::all_of(resumed_over_[static_cast<std::size_t>(buffer)],
                             [&](LoopId loop) { return is_single(answers, loop); });
}

std::vector<char> Essence::gone(const Answers& answers) const {
  std::vector<char> out(nest_.loops.size(), 0);
  for (LoopId loop = 0; loop < static_cast<LoopId>(out.size()); ++loop)
    out[loop] = nest_.loops[loop].dead || goes(answers, loop) ? 1 : 0;
  return out;
}

// The loop itself, or the nearest loop around it that does not go.
LoopId Essence::remaining(const std::vector<char>& gone, LoopId loop) const {
  while (loop != ir::kRoot && gone[loop] != 0) loop = nest_.loops[loop].parent;
  return loop;
}

ir::Nest Essence::nest(std::span<const std::int64_t> values) const {
  const Answers answers = this->answers(values);
  const std::vector<char> gone = this->gone(answers);
  ir::Nest out = nest_;
  out.sizes = {};
  const auto fix = [&](SizeId& id) {
    if (id != SizeId::kNone) id = out.sizes.constant(values[static_cast<std::size_t>(id)]);
  };
  for (LoopId loop = 0; loop < static_cast<LoopId>(out.loops.size()); ++loop) {
    ir::Loop& l = out.loops[loop];
    if (l.dead) {
      l.extent = out.sizes.constant(1);
      continue;
    }
    std::vector<ir::Prefetch> on;
    for (std::size_t p = 0; p < l.prefetch.size(); ++p)
      if (!is_off(answers, loop, p)) on.push_back(l.prefetch[p]);
    l.prefetch = std::move(on);
    for (ir::Prefetch& p : l.prefetch) fix(p.bytes);
    l.extent = extents_[loop];
    fix(l.extent);
    l.parent = remaining(gone, nest_.loops[loop].parent);
    l.dead = gone[loop] != 0;
    l.body.clear();
  }
  out.root.clear();
  const auto place = [&](const auto& self, const std::vector<Item>& items, LoopId parent) -> void {
    for (const Item& item : items) {
      const bool goes = item.kind == Item::Kind::kLoop && gone[item.id] != 0;
      if (!goes) out.children(parent).push_back(item);
      if (!goes) out.set_parent(item, parent);
      if (item.kind == Item::Kind::kLoop)
        self(self, nest_.loops[item.id].body, goes ? parent : item.id);
    }
  };
  place(place, nest_.root, ir::kRoot);
  for (ir::Block& block : out.blocks) {
    if (block.dead) block.iters.clear();
    for (ir::BlockIter& iter : block.iters) {
      fix(iter.extent);
      fix(iter.offset);
      std::erase_if(iter.digits,
                    [&](const ir::LoopDigit& digit) { return is_single(answers, digit.loop); });
      for (ir::LoopDigit& digit : iter.digits)
        for (SizeId* size : {&digit.weight, &digit.div, &digit.mod}) fix(*size);
    }
  }
  for (std::size_t b = 0; b < out.buffers.size(); ++b) {
    ir::Buffer& buffer = out.buffers[b];
    buffer.streaming = streams(answers, static_cast<ir::BufferId>(b));
    if (buffer.at != ir::kRoot && gone[buffer.at] != 0) buffer.stages = 1;
    buffer.at = remaining(gone, buffer.at);
    for (SizeId& size : buffer.shape) fix(size);
    for (ir::LayoutDigit& digit : buffer.layout) fix(digit.weight);
  }
  return out;
}

ir::Nest essential(const ir::SizedNest& sized) {
  const Essence essence(*sized.nest);
  std::vector<std::int64_t> knobs(static_cast<std::size_t>(sized.nest->sizes.knob_count()), 1),
      values;
  for (int i = 0; i < sized.nest->sizes.count(); ++i) {
    const auto& entry = sized.nest->sizes.at(static_cast<SizeId>(i));
    if (entry.op == ir::Sizes::Op::kKnob)
      knobs[static_cast<std::size_t>(entry.value)] = sized[static_cast<SizeId>(i)];
  }
  essence.sizes().evaluate(knobs, values);
  return essence.nest(values);
}

}  // namespace lathe::analysis
