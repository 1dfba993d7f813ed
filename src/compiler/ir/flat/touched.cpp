#include "compiler/ir/flat/touched.h"

#include <algorithm>
#include <unordered_set>

#include "compiler/ir/flat/rewrite.h"

namespace lathe::flat {
namespace {

class Toucher {
 public:
  std::set<int> run(const Kernel& kernel) && {
    visit(kernel.body);
    return std::move(touched_);
  }

 private:
  void visit(const Expr& e) {
    if ((e->contents & contents::kData) == 0 || !seen_.insert(e.get()).second) return;
    if (const auto* load = std::get_if<Load>(&e->value)) touched_.insert(load->buffer);
    each_operand(*e, [&](const Expr& x) { visit(x); });
  }
  void visit(const Stmt& s) {
    if (const auto* store = std::get_if<Store>(&s->value)) touched_.insert(store->buffer);
    if (const auto* ahead = std::get_if<PrefetchAt>(&s->value)) touched_.insert(ahead->buffer);
    if (const auto* copy = std::get_if<AsyncCopy>(&s->value))
      touched_.insert({copy->to, copy->from});
    each_part(*s, [&](const Expr& e) { visit(e); }, [&](const Stmt& x) { visit(x); });
  }

  std::unordered_set<const Node*> seen_;
  std::set<int> touched_;
};

}  // namespace

std::set<int> touched_buffers(const Kernel& kernel) { return Toucher().run(kernel); }

std::set<int> touched_buffers(const Program& program, const std::vector<int>& kernels) {
  std::set<int> all;
  for (const int k : kernels)
    all.merge(touched_buffers(program.kernels[static_cast<std::size_t>(k)]));
  return all;
}

std::int64_t read_constant_bytes(const Program& program) {
  std::int64_t bytes = 0;
  for (const int b : touched_buffers(program, program.run))
    if (const Buffer& buffer = program.buffers[static_cast<std::size_t>(b)];
        buffer.scope == Scope::kConstant)
      bytes = std::max(bytes, buffer.slot + buffer.size * size_of(buffer.dtype));
  return bytes;
}

}  // namespace lathe::flat
