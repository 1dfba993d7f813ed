// Prefetches of what loops will read.
#include <algorithm>

#include "compiler/analysis/dependence.h"
#include "compiler/lower/expand/block_emitter.h"

namespace lathe::lower {

namespace {

// Loops inside each other, as one that counts all their iterations.
struct Count {
  std::int64_t iterations = 1;
  flat::Expr at = flat::int_imm(0);

  // The next loop further out.
  void take(std::int64_t extent, const flat::Expr& value) {
    using enum flat::BinaryOp;
    at = flat::binary(kAdd, at, flat::binary(kMul, value, flat::int_imm(iterations)));
    iterations *= extent;
  }
};

std::int64_t parts(std::int64_t of, std::int64_t size) { return (of + size - 1) / size; }

std::int64_t elements_of_line(Dtype dtype) { return 64 / size_of(dtype); }

}  // namespace

void BlockEmitter::emit_prefetch(BufferId buffer, const Address& where) {
  if (where.is_vector || place_.init_of) return;
  const std::int64_t line = elements_of_line(nest_.buffers[buffer].dtype);
  for (ActivePrefetch& p : state_.prefetches) {
    if (p.buffer != buffer || p.again != ir::kRoot) continue;
    flat::Expr index = flat::binary(flat::BinaryOp::kAdd, where.index, flat::int_imm(p.elements));
    // One prefetch for each cache line: an address in a line that was prefetched already is left
    // out.
    const auto split = [](const flat::Expr& e) {
      const auto* sum = std::get_if<flat::Binary>(&e->value);
      if (sum != nullptr && sum->op == flat::BinaryOp::kAdd && flat::as_int(sum->b))
        return std::pair{sum->a, *flat::as_int(sum->b)};
      return std::pair{e, std::int64_t{0}};
    };
    const auto [base, c] = split(index);
    const bool covered = std::ranges::any_of(p.done, [&](const flat::Expr& other) {
      const auto [other_base, other_c] = split(other);
      return c / line == other_c / line && flat::equal(base, other_base);
    });
    if (covered) continue;
    p.done.push_back(index);
    code_.out->push_back(flat::prefetch(plan_.storage[buffer].buffer, index));
  }
}

// Of a loop that reads the same part of a buffer in each iteration, as tiles of pixels do a panel
// of weights. What lies ahead of the part comes while all of them run, each iteration of the
// innermost loop fetching a line or a few: memory is then never asked for more than it can give,
// which it is where one iteration fetches all and the others nothing.
void BlockEmitter::share_prefetches(const Instance& at, BufferId buffer,
                                    const std::vector<ir::Affine>& index, const Address& where) {
  if (where.is_vector || place_.init_of) return;
  const ir::Block& block = nest_.blocks[at.id];
  for (const ActivePrefetch& p : state_.prefetches) {
    if (p.buffer != buffer || p.again == ir::kRoot) continue;
    Count part, again;             // iterations that go through the part, and that repeat it
    std::int64_t written_out = 1;  // elements that one of these reads
    bool first = true;             // of what is written out in an iteration
    for (LoopId loop = block.parent; loop != nest_.loops[p.again].parent;
         loop = nest_.loops[loop].parent) {
      const Binding& bound = place_.bound[loop];
      const bool forward = analysis::is_driven_by(block, index, loop);
      const ir::LoopKind kind = nest_.loops[loop].kind;
      if (kind == ir::LoopKind::kUnrolled || kind == ir::LoopKind::kVectorized) {
        first = first && (bound.kind != Binding::Kind::kStatic || bound.value == 0);
        if (forward) written_out *= plan_.sized.extent(loop);
        continue;
      }
      const flat::Expr value =
          bound.kind == Binding::Kind::kDynamic ? flat::var(bound.var) : flat::int_imm(bound.value);
      (forward ? part : again).take(plan_.sized.extent(loop), value);
    }
    if (!first) continue;
    using enum flat::BinaryOp;
    const std::int64_t line = elements_of_line(nest_.buffers[buffer].dtype);
    const std::int64_t lines = parts(part.iterations * written_out, line);
    const std::int64_t each = parts(lines, part.iterations * again.iterations);
    const std::int64_t rounds = parts(lines, part.iterations * each);
    flat::Expr round = again.at;
    if (rounds < again.iterations) round = flat::binary(kMod, round, flat::int_imm(rounds));
    const auto scaled = [](const flat::Expr& e, std::int64_t by) {
      return flat::binary(kMul, e, flat::int_imm(by));
    };
    flat::Expr start = flat::binary(kAdd, where.index, scaled(part.at, each * line - written_out));
    start = flat::binary(kAdd, start, scaled(round, part.iterations * each * line));
    for (std::int64_t l = 0; l < each; ++l)
      code_.out->push_back(
          flat::prefetch(plan_.storage[buffer].buffer,
                         flat::binary(kAdd, start, flat::int_imm(p.elements + l * line))));
  }
}

}  // namespace lathe::lower
