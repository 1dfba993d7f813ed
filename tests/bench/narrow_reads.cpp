#include "bench/narrow_reads.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

#include "base/rng.h"
#include "compiler/ir/flat/rewrite.h"

namespace lathe::testing {
namespace {

using namespace flat;

constexpr std::size_t kThreads = kWarpItems;
constexpr std::int64_t kWide = 16;  // bytes

using Number = std::optional<std::int64_t>;  // nothing: only data would tell
using Threads = std::array<bool, kThreads>;

// One warp of a kernel, once: draws where it is.
class Warp {
 public:
  Warp(const Program& program, const Kernel& kernel, Rng& rng)
      : program_(program), rng_(rng), values_(program.vars.size()) {
    for (const Axis& axis : kernel.grid.groups)
      if (axis.var >= 0) set_all(axis.var, draw(axis.count));
    const std::int64_t items = kernel.grid.group_items();
    const std::int64_t first = draw((items + kWarpItems - 1) / kWarpItems) * kWarpItems;
    for (std::size_t t = 0; t < kThreads; ++t) {
      std::int64_t number = first + static_cast<std::int64_t>(t);
      runs_[t] = number < items;
      for (const Axis& axis : kernel.grid.items) {
        if (axis.var >= 0) value_of(axis.var)[t] = number % axis.count;
        number /= axis.count;
      }
    }
    visit(kernel.body, runs_);
  }

  struct Reads {  // how often 16 bytes were possible, and how often not
    int possible = 0, impossible = 0;
  };
  const std::map<int, Reads>& reads() const { return reads_; }  // by buffer

 private:
  std::array<Number, kThreads>& value_of(int var) { return values_[static_cast<std::size_t>(var)]; }
  std::int64_t draw(std::int64_t count) {
    return static_cast<std::int64_t>(rng_.below(static_cast<std::uint64_t>(count)));
  }
  void set_all(int var, Number value) { value_of(var).fill(value); }

  // Of a lane, in a thread.
  Number value(const Expr& e, std::size_t t, int lane = 0) const {
    if (const auto known = as_int(e)) return known;
    if (const auto* n = std::get_if<Var>(&e->value))
      return values_[static_cast<std::size_t>(n->id)][t];
    if (const auto* n = std::get_if<Broadcast>(&e->value)) return value(n->x, t);
    if (const auto* n = std::get_if<Ramp>(&e->value)) {
      const Number base = value(n->base, t);
      return base ? Number(*base + n->stride * lane) : Number();
    }
    if (const auto* n = std::get_if<Select>(&e->value)) {
      const Number condition = value(n->condition, t, lane);
      return condition ? value(*condition != 0 ? n->then : n->otherwise, t, lane) : Number();
    }
    const auto* n = std::get_if<flat::Binary>(&e->value);
    if (n == nullptr || is_float(n->a->type.dtype)) return {};
    const Number a = value(n->a, t, lane), b = value(n->b, t, lane);
    return a && b ? evaluate(n->op, *a, *b, n->a->type.dtype) : Number();
  }
  // Threads for which it is surely not so are left out.
  Threads where(const Expr& condition, Threads threads, bool wanted) const {
    for (std::size_t t = 0; t < kThreads; ++t)
      if (const Number known = value(condition, t); known && (*known != 0) != wanted)
        threads[t] = false;
    return threads;
  }

  void visit(const Stmt& s, const Threads& threads) {
    if (std::ranges::none_of(threads, [](bool runs) { return runs; })) return;
    if (const auto* n = std::get_if<For>(&s->value)) return visit_loop(*n, threads);
    if (const auto* n = std::get_if<If>(&s->value)) {
      visit(n->then, where(n->condition, threads, true));
      if (n->otherwise) visit(n->otherwise, where(n->condition, threads, false));
      return;
    }
    if (const auto* n = std::get_if<Let>(&s->value))
      for (std::size_t t = 0; t < kThreads; ++t) value_of(n->var)[t] = value(n->value, t);
    if (const auto* n = std::get_if<AsyncCopy>(&s->value))
      see(n->from, n->from_index, n->lanes,
          n->condition ? where(n->condition, threads, true) : threads);
    each_part(
        *s, [&](const Expr& e) { visit(e, threads); },
        [&](const Stmt& inner) { visit(inner, threads); });
  }
  void visit_loop(const For& loop, const Threads& threads) {
    const auto first = static_cast<std::size_t>(std::ranges::find(threads, true) - threads.begin());
    const Number begin = value(loop.begin, first), end = value(loop.end, first);
    if (!begin || !end || *begin >= *end) return;
    set_all(loop.var, *begin + draw(*end - *begin));
    visit(loop.body, threads);
  }
  void visit(const Expr& e, const Threads& threads) {
    each_operand(*e, [&](const Expr& x) { visit(x, threads); });
    const auto* load = std::get_if<Load>(&e->value);
    if (load == nullptr || load->index->type.lanes > 1) return;
    if (!load->mask || std::holds_alternative<Broadcast>(load->mask->value))
      return see(load->buffer, load->index, e->type.lanes,
                 load->mask ? where(load->mask, threads, true) : threads);
    see_masked(e, *load, threads);
  }

  bool is_of_card(int buffer) const {
    const Scope scope = program_.buffers[static_cast<std::size_t>(buffer)].scope;
    return scope == Scope::kInput || scope == Scope::kConstant || scope == Scope::kGlobal;
  }
  std::int64_t bytes_of(int buffer) const {
    return size_of(program_.buffers[static_cast<std::size_t>(buffer)].dtype);
  }
  void count(int buffer, bool possible) {
    Reads& own = reads_[buffer];
    ++(possible ? own.possible : own.impossible);
  }

  // `lanes` elements that lie side by side.
  void see(int buffer, const Expr& index, int lanes, const Threads& threads) {
    const std::int64_t bytes = lanes * bytes_of(buffer);
    if (!is_of_card(buffer) || bytes >= kWide || kWide % bytes != 0) return;
    const auto together = static_cast<std::size_t>(kWide / bytes);
    for (std::size_t t = 0; t + together <= kThreads; t += together) {
      bool all = true, wide = true;
      const Number first = value(index, t);
      for (std::size_t i = 0; i < together; ++i) {
        const Number at = value(index, t + i);
        all = all && threads[t + i];
        wide = wide && first && at && *at == *first + static_cast<std::int64_t>(i) * lanes;
      }
      if (all) count(buffer, wide && *first * bytes_of(buffer) % kWide == 0);
    }
  }
  void see_masked(const Expr& e, const Load& load, const Threads& threads) {
    const std::int64_t bytes = e->type.lanes * bytes_of(load.buffer);
    if (!is_of_card(load.buffer) || bytes < kWide) return;
    for (std::size_t t = 0; t < kThreads; ++t) {
      if (!threads[t]) continue;
      const Number at = value(load.index, t);
      bool alike = at && *at * bytes_of(load.buffer) % kWide == 0;
      for (int lane = 1; lane < e->type.lanes; ++lane)
        alike = alike && value(load.mask, t, lane) == value(load.mask, t);
      count(load.buffer, alike && value(load.mask, t).has_value());
    }
  }

  const Program& program_;
  Rng& rng_;
  std::vector<std::array<Number, kThreads>> values_;
  Threads runs_{};
  std::map<int, Reads> reads_;
};

}  // namespace

std::vector<std::string> narrow_reads(const Program& program) {
  constexpr int kWarps = 40;
  Rng rng(11);
  std::set<std::string> names;
  for (const int kernel : program.run) {
    std::map<int, Warp::Reads> all;
    for (int i = 0; i < kWarps; ++i) {
      const Warp warp(program, program.kernels[static_cast<std::size_t>(kernel)], rng);
      for (const auto& [buffer, reads] : warp.reads()) {
        all[buffer].possible += reads.possible;
        all[buffer].impossible += reads.impossible;
      }
    }
    for (const auto& [buffer, reads] : all)
      if (reads.possible > 0 && reads.impossible == 0)
        names.insert(program.buffers[static_cast<std::size_t>(buffer)].name);
  }
  return {names.begin(), names.end()};
}

}  // namespace lathe::testing
