#include "compiler/analysis/essence.h"

#include <algorithm>
#include <bit>

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

template <class Sink>
void each_fact(const ir::Affine& row, Sink& sink) {
  sink.word(row.terms.size());
  sink.word(static_cast<std::uint64_t>(row.offset));
  for (const ir::AffineTerm& term : row.terms) {
    sink.word(static_cast<std::uint64_t>(term.iter));
    sink.word(static_cast<std::uint64_t>(term.coef));
  }
}

template <class Sink>
void each_fact(const ir::Expr& e, Sink& sink) {
  sink.word(e->value.index());
  sink.word(static_cast<std::uint64_t>(e->dtype));
  struct Visitor {
    Sink& sink;
    void operator()(const ir::Const& n) const { sink.word(std::bit_cast<std::uint64_t>(n.value)); }
    void operator()(const ir::IterValue& n) const { sink.word(static_cast<std::uint64_t>(n.iter)); }
    void operator()(const ir::Read& n) const {
      sink.word(static_cast<std::uint64_t>(n.tensor));
      sink.word(n.pad ? std::bit_cast<std::uint64_t>(*n.pad) : ~std::uint64_t{0});
      for (const ir::Affine& row : n.index) each_fact(row, sink);
    }
    void operator()(const ir::Unary& n) const {
      sink.word(static_cast<std::uint64_t>(n.op));
      each_fact(n.x, sink);
    }
    void operator()(const ir::Binary& n) const {
      sink.word(static_cast<std::uint64_t>(n.op));
      each_fact(n.a, sink);
      each_fact(n.b, sink);
    }
    void operator()(const ir::Select& n) const {
      for (const ir::Expr& x : {n.condition, n.then, n.otherwise}) each_fact(x, sink);
    }
    void operator()(const ir::Cast& n) const { each_fact(n.x, sink); }
    void operator()(const ir::InRange& n) const {
      for (const auto& row : n.rows) {
        each_fact(row.index, sink);
        sink.word(static_cast<std::uint64_t>(row.low));
        sink.word(static_cast<std::uint64_t>(row.high));
      }
    }
  };
  std::visit(Visitor{sink}, e->value);
}

// True if the block fills a cache in memory; it then also fills the padding of the cache's layout.
bool fills_cache(const ir::Nest& nest, const ir::Block& block) {
  const auto* read = std::get_if<ir::Read>(&block.body->value);
  return read != nullptr && nest.buffers[block.writes].cache_of == read->tensor;
}

// `at`: the number of the loop that it lives in.
template <class Sink>
void each_fact(const ir::Buffer& buffer, std::uint64_t at, Sink& sink) {
  for (const auto word :
       {static_cast<std::uint64_t>(buffer.dtype), static_cast<std::uint64_t>(buffer.scope),
        std::uint64_t{buffer.constant}, at, static_cast<std::uint64_t>(buffer.pad_stride),
        static_cast<std::uint64_t>(buffer.cache_of)})
    sink.word(word);
  for (const double value : buffer.literal) sink.word(std::bit_cast<std::uint64_t>(value));
  for (const SizeId size : buffer.shape) sink.size(size);
  for (const ir::LayoutDigit& digit : buffer.layout) {
    sink.word(static_cast<std::uint64_t>(digit.dim));
    sink.size(digit.weight);
  }
}

}  // namespace

Essence::Essence(const ir::Nest& nest) : nest_(nest), sizes_(nest.sizes) {
  extents_.assign(nest.loops.size(), SizeId::kNone);
  tensorized_.assign(nest.loops.size(), 0);
  for (std::size_t b = 0; b < nest.buffers.size(); ++b)
    resumed_over_.push_back(nest.buffers[b].streaming
                                ? analysis::resumed_over(nest, static_cast<ir::BufferId>(b))
                                : std::vector<LoopId>{});
  for (LoopId loop = 0; loop < static_cast<LoopId>(nest.loops.size()); ++loop) {
    if (nest.loops[loop].dead) continue;
    for (LoopId at = loop; at != ir::kRoot; at = nest.loops[at].parent)
      if (nest.loops[at].intrinsic != ir::Intrinsic::kNone) tensorized_[loop] = 1;
    extents_[loop] = busy_extent(loop);
    ask(extents_[loop], 1);
    for (const ir::Prefetch& prefetch : nest.loops[loop].prefetch) ask(prefetch.bytes, 0);
  }
  formulas_ = formulas_of(sizes_);
}

void Essence::ask(SizeId size, std::int64_t limit) {
  if (std::ranges::find(questions_, Question{size, limit}) == questions_.end())
    questions_.push_back({size, limit});
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

bool Essence::yes(const Answers& answers, SizeId size, std::int64_t limit) const {
  const auto at = std::ranges::find(questions_, Question{size, limit});
  return answers[static_cast<std::size_t>(at - questions_.begin())] != 0;
}

// The loop has one iteration, so none of its digits is ever more than 0.
bool Essence::is_single(const Answers& answers, LoopId loop) const {
  return tensorized_[loop] == 0 && yes(answers, extents_[loop], 1);
}

bool Essence::goes(const Answers& answers, LoopId loop) const {
  return is_single(answers, loop) &&
         std::ranges::all_of(nest_.loops[loop].prefetch,
                             [&](const ir::Prefetch& p) { return is_off(answers, p); });
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

// Feeds the structure to the sink as words and sizes, in an order that does not depend on names or
// on the numbers of loops.
template <class Sink>
void Essence::each_fact(const Answers& answers, Sink& sink) const {
  const std::vector<char> gone = this->gone(answers);
  std::vector<std::uint64_t> number(nest_.loops.size() + 1, 0);  // 0: outside all loops
  std::uint64_t loops = 0;
  const auto visit_block = [&](const ir::Block& block) {
    sink.word(static_cast<std::uint64_t>(block.writes));
    sink.word(static_cast<std::uint64_t>(block.reduce));
    for (const ir::Affine& row : block.index) analysis::each_fact(row, sink);
    analysis::each_fact(block.body, sink);
    for (const ir::BlockIter& iter : block.iters) {
      sink.word(static_cast<std::uint64_t>(iter.kind) * 2 + (iter.guard ? 1 : 0));
      sink.size(iter.extent);
      sink.size(iter.offset);
      for (const ir::LoopDigit& digit : iter.digits) {
        if (is_single(answers, digit.loop)) continue;
        sink.word(number[digit.loop]);
        for (const SizeId size : {digit.weight, digit.div, digit.mod}) sink.size(size);
      }
    }
  };
  const auto visit = [&](const auto& self, const std::vector<Item>& items) -> void {
    for (const Item& item : items) {
      if (item.kind == Item::Kind::kBlock) {
        sink.word(1);
        visit_block(nest_.blocks[item.id]);
        continue;
      }
      const ir::Loop& l = nest_.loops[item.id];
      if (gone[item.id] != 0) {
        self(self, l.body);
        continue;
      }
      number[item.id] = ++loops;
      sink.word(2);
      sink.word(static_cast<std::uint64_t>(l.kind) * 8 + static_cast<std::uint64_t>(l.tail));
      sink.word(l.intrinsic == ir::Intrinsic::kNone ? 0 : hash_of(name_of(l.intrinsic)));
      sink.size(extents_[item.id]);
      for (const ir::Prefetch& p : l.prefetch) {
        if (is_off(answers, p)) continue;
        sink.word(static_cast<std::uint64_t>(p.buffer));
        sink.size(p.bytes);
      }
      self(self, l.body);
      sink.word(3);
    }
  };
  visit(visit, nest_.root);
  for (std::size_t b = 0; b < nest_.buffers.size(); ++b) {
    const ir::Buffer& buffer = nest_.buffers[b];
    const LoopId at = remaining(gone, buffer.at);
    analysis::each_fact(buffer, at == ir::kRoot ? 0 : number[at], sink);
    if (streams(answers, static_cast<ir::BufferId>(b))) sink.word(b);
  }
}

std::uint64_t Essence::form(const Answers& answers) const {
  struct Sink {
    const Essence& self;
    Hasher hasher;
    void word(std::uint64_t word) { hasher.add(word); }
    void size(SizeId id) { hasher.add(id == SizeId::kNone ? 0 : self.formula(id)); }
  } sink{*this, {}};
  each_fact(answers, sink);
  return sink.hasher.value();
}

Essence::Outline Essence::outline(const Answers& answers) const {
  struct Sink {
    Hasher hasher;
    std::vector<SizeId> sizes;
    void word(std::uint64_t word) { hasher.add(word); }
    void size(SizeId id) {
      hasher.add(id == SizeId::kNone ? 0 : 1);
      sizes.push_back(id);
    }
  } sink;
  each_fact(answers, sink);
  std::erase(sink.sizes, SizeId::kNone);
  return {sink.hasher.value(), std::move(sink.sizes)};
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
    std::erase_if(l.prefetch, [&](const ir::Prefetch& p) { return is_off(answers, p); });
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
