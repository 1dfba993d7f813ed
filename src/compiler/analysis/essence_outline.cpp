// What an essence is compared by.
#include <algorithm>
#include <bit>

#include "base/hash.h"
#include "compiler/analysis/essence.h"

namespace lathe::analysis {

using ir::Item;
using ir::LoopId;
using ir::SizeId;

namespace {

void add(const ir::Affine& row, Hasher& hasher) {
  hasher.add(row.terms.size());
  hasher.add(static_cast<std::uint64_t>(row.offset));
  for (const ir::AffineTerm& term : row.terms) {
    hasher.add(static_cast<std::uint64_t>(term.iter));
    hasher.add(static_cast<std::uint64_t>(term.coef));
  }
}

void add(const ir::Expr& e, Hasher& hasher) {
  hasher.add(e->value.index());
  hasher.add(static_cast<std::uint64_t>(e->dtype));
  struct Visitor {
    Hasher& hasher;
    void operator()(const ir::Const& n) const { hasher.add(std::bit_cast<std::uint64_t>(n.value)); }
    void operator()(const ir::IterValue& n) const {
      hasher.add(static_cast<std::uint64_t>(n.iter));
    }
    void operator()(const ir::Read& n) const {
      hasher.add(static_cast<std::uint64_t>(n.tensor));
      hasher.add(n.pad ? std::bit_cast<std::uint64_t>(*n.pad) : ~std::uint64_t{0});
      for (const ir::Affine& row : n.index) add(row, hasher);
    }
    void operator()(const ir::Lookup& n) const {
      hasher.add(static_cast<std::uint64_t>(n.tensor));
      hasher.add(n.pad ? std::bit_cast<std::uint64_t>(*n.pad) : ~std::uint64_t{0});
      for (const ir::Expr& index : n.index) add(index, hasher);
    }
    void operator()(const ir::Unary& n) const {
      hasher.add(static_cast<std::uint64_t>(n.op));
      add(n.x, hasher);
    }
    void operator()(const ir::Binary& n) const {
      hasher.add(static_cast<std::uint64_t>(n.op));
      add(n.a, hasher);
      add(n.b, hasher);
    }
    void operator()(const ir::Select& n) const {
      for (const ir::Expr& x : {n.condition, n.then, n.otherwise}) add(x, hasher);
    }
    void operator()(const ir::Cast& n) const { add(n.x, hasher); }
    void operator()(const ir::InRange& n) const {
      for (const auto& row : n.rows) {
        add(row.index, hasher);
        hasher.add(static_cast<std::uint64_t>(row.low));
        hasher.add(static_cast<std::uint64_t>(row.high));
      }
    }
  };
  std::visit(Visitor{hasher}, e->value);
}

}  // namespace

// Hashes facts with and without their sizes, and lists these.
class Essence::Writer {
 public:
  void word(std::uint64_t word) {
    form_.add(word);
    structure_.add(word);
  }
  void facts(const Facts& facts) {
    word(facts.words);
    form_.add(facts.formulas);
    for (const SizeId size : facts.sizes) sizes_.push_back(size);
  }
  Outline finish() && { return {form_.value(), structure_.value(), std::move(sizes_)}; }

 private:
  Hasher form_, structure_;
  std::vector<SizeId> sizes_;
};

template <class... Words>
Essence::Facts Essence::facts(std::vector<SizeId> sizes, Words... words) const {
  Hasher all, formulas;
  (all.add(static_cast<std::uint64_t>(words)), ...);
  for (const SizeId size : sizes) {
    all.add(size == SizeId::kNone ? 0 : 1);
    formulas.add(size == SizeId::kNone ? 0 : formula(size));
  }
  std::erase(sizes, SizeId::kNone);
  return {all.value(), formulas.value(), std::move(sizes)};
}

Essence::Facts Essence::facts_of(const ir::Block& block) const {
  Hasher hasher;
  for (const ir::Affine& row : block.index) add(row, hasher);
  add(block.body, hasher);
  std::vector<SizeId> sizes;
  for (const ir::BlockIter& iter : block.iters) {
    hasher.add(static_cast<std::uint64_t>(iter.kind) * 2 + (iter.guard ? 1 : 0));
    sizes.push_back(iter.extent);
    sizes.push_back(iter.offset);
  }
  return facts(std::move(sizes), block.writes, block.reduce, hasher.value());
}

Essence::Facts Essence::facts_of(const ir::Loop& loop, SizeId extent) const {
  return facts({extent}, loop.kind, loop.tail,
               loop.intrinsic == ir::IntrinsicId::kNone ? 0 : hash_of(name_of(loop.intrinsic)));
}

Essence::Facts Essence::facts_of(const ir::Buffer& buffer) const {
  Hasher hasher;
  for (const double value : buffer.literal) hasher.add(std::bit_cast<std::uint64_t>(value));
  std::vector<SizeId> sizes = buffer.shape;
  for (const ir::LayoutDigit& digit : buffer.layout) {
    hasher.add(static_cast<std::uint64_t>(digit.dim));
    sizes.push_back(digit.weight);
  }
  if (buffer.stages > 1) hasher.add(static_cast<std::uint64_t>(buffer.stages));
  return facts(std::move(sizes), buffer.dtype, buffer.scope, buffer.constant, buffer.pad_stride,
               buffer.cache_of, hasher.value());
}

void Essence::collect_facts() {
  of_digits_.resize(nest_.blocks.size());
  for (std::size_t b = 0; b < nest_.blocks.size(); ++b) {
    const ir::Block& block = nest_.blocks[b];
    of_block_.push_back(block.dead ? Facts() : facts_of(block));
    if (block.dead) continue;
    for (const ir::BlockIter& iter : block.iters)
      for (const ir::LoopDigit& digit : iter.digits)
        of_digits_[b].push_back(facts({digit.weight, digit.div, digit.mod}));
  }
  of_prefetches_.resize(nest_.loops.size());
  for (std::size_t l = 0; l < nest_.loops.size(); ++l) {
    const ir::Loop& loop = nest_.loops[l];
    of_loop_.push_back(loop.dead ? Facts() : facts_of(loop, extents_[l]));
    signatures_.push_back(of_loop_.back().all());
    for (const ir::Prefetch& prefetch : loop.prefetch)
      of_prefetches_[l].push_back(facts({prefetch.bytes}, prefetch.buffer));
  }
  for (const ir::Buffer& buffer : nest_.buffers) of_buffer_.push_back(facts_of(buffer));
  for (std::size_t b = 0; b < nest_.blocks.size(); ++b)
    if (!nest_.blocks[static_cast<ir::BlockId>(b)].dead) always_ += of_block_[b].all();
  for (const Facts& facts : of_buffer_) always_ += facts.all();
}

void Essence::write_digits(const Answers& answers, ir::BlockId block,
                           const std::vector<std::uint64_t>& number, Writer& out) const {
  const Facts* facts = of_digits_[static_cast<std::size_t>(block)].data();
  for (const ir::BlockIter& iter : nest_.blocks[block].iters) {
    out.word(4);
    for (const ir::LoopDigit& digit : iter.digits) {
      const Facts& of_digit = *facts++;
      if (is_single(answers, digit.loop)) continue;
      out.word(number[static_cast<std::size_t>(digit.loop)]);
      out.facts(of_digit);
    }
  }
}

// Returns the number of each loop that remains, in their order; 0 is outside of all loops.
std::vector<std::uint64_t> Essence::write_items(const Answers& answers,
                                                const std::vector<char>& gone, Writer& out) const {
  std::vector<std::uint64_t> number(nest_.loops.size(), 0);
  std::uint64_t loops = 0;
  const auto visit = [&](const auto& self, const std::vector<Item>& items) -> void {
    for (const Item& item : items) {
      const auto at = static_cast<std::size_t>(item.id);
      if (item.kind == Item::Kind::kBlock) {
        out.word(1);
        out.facts(of_block_[at]);
        write_digits(answers, item.id, number, out);
        continue;
      }
      const ir::Loop& loop = nest_.loops[item.id];
      if (gone[at] != 0) {
        self(self, loop.body);
        continue;
      }
      number[at] = ++loops;
      out.word(2);
      out.facts(of_loop_[at]);
      for (std::size_t p = 0; p < loop.prefetch.size(); ++p)
        if (!is_off(answers, item.id, p)) out.facts(of_prefetches_[at][p]);
      self(self, loop.body);
      out.word(3);
    }
  };
  visit(visit, nest_.root);
  return number;
}

// Neither names nor the numbers of loops in the nest make a difference.
Essence::Outline Essence::outline(const Answers& answers) const {
  const std::vector<char> gone = this->gone(answers);
  Writer out;
  const std::vector<std::uint64_t> number = write_items(answers, gone, out);
  for (std::size_t b = 0; b < nest_.buffers.size(); ++b) {
    const LoopId at = remaining(gone, nest_.buffers[b].at);
    out.facts(of_buffer_[b]);
    out.word(at == ir::kRoot ? 0 : number[static_cast<std::size_t>(at)]);
    if (streams(answers, static_cast<ir::BufferId>(b))) out.word(b);
  }
  return std::move(out).finish();
}

std::uint64_t Essence::signature(const Answers& answers) const {
  std::uint64_t sum = 0;
  for (std::size_t l = 0; l < nest_.loops.size(); ++l) {
    const auto loop = static_cast<LoopId>(l);
    if (!nest_.loops[loop].dead && !goes(answers, loop)) sum += signatures_[l];
  }
  return sum;
}

}  // namespace lathe::analysis
