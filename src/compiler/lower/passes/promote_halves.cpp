#include "compiler/ir/flat/rewrite.h"
#include "compiler/lower/passes/passes.h"

namespace lathe::lower {
namespace {

using flat::Expr;
using flat::Stmt;

bool is_half(Dtype dtype) { return dtype == Dtype::kF16 || dtype == Dtype::kBF16; }
bool is_half(const Expr& e) { return is_half(e->type.dtype); }

class Promoter {
 public:
  // e, with every value of a 16-bit type as f32.
  Expr operator()(const Expr& e) {
    if ((e->contents & flat::contents::kHalf) == 0) return e;
    if (const auto known = done_.find(e.get()); known != done_.end()) return known->second.second;
    Expr out = promote(e);
    done_.emplace(e.get(), std::pair(e, out));
    return out;
  }
  Stmt statement(const Stmt& s) {
    if ((s->contents & flat::contents::kHalf) == 0) return s;
    if (const auto* n = std::get_if<flat::Store>(&s->value); n != nullptr && is_half(n->value)) {
      Expr value = round_to((*this)(n->value), n->value->type.dtype);
      return flat::store(n->buffer, (*this)(n->index), std::move(value),
                         n->mask ? (*this)(n->mask) : nullptr, n->streaming);
    }
    return flat::map_parts(s, *this, [&](const Stmt& inner) { return statement(inner); });
  }

 private:
  static Expr to_f32(Expr e) { return flat::cast(std::move(e), Dtype::kF32); }
  // Casts to a 16-bit type start from f32, so that only those casts need code.
  static Expr round_to(Expr e, Dtype half) { return flat::cast(to_f32(std::move(e)), half); }

  Expr promote(const Expr& e) {
    if (const auto* n = std::get_if<flat::FloatImm>(&e->value); n != nullptr && is_half(e))
      return flat::float_imm(n->value, Dtype::kF32);
    if (const auto* n = std::get_if<flat::RegRead>(&e->value); n != nullptr && is_half(e))
      return flat::reg_read(n->reg, {Dtype::kF32, e->type.lanes});
    if (const auto* n = std::get_if<flat::Cast>(&e->value); n != nullptr && is_half(e))
      return to_f32(round_to((*this)(n->x), e->type.dtype));
    if (const auto* n = std::get_if<flat::Bitcast>(&e->value); n != nullptr) {
      if (is_half(n->x))
        return flat::bitcast(round_to((*this)(n->x), n->x->type.dtype), e->type.dtype);
      if (is_half(e)) return to_f32(flat::bitcast((*this)(n->x), e->type.dtype));
    }
    Expr out = flat::map_operands(e, *this);
    return is_half(out) ? to_f32(std::move(out)) : out;  // a load
  }

  std::unordered_map<const flat::Node*, std::pair<Expr, Expr>> done_;
};

}  // namespace

flat::Program promote_halves(flat::Program program, const Target&) {
  Promoter promoter;
  for (flat::Kernel& kernel : program.kernels) kernel.body = promoter.statement(kernel.body);
  for (flat::Type& type : program.regs)
    if (is_half(type.dtype)) type.dtype = Dtype::kF32;
  return program;
}

}  // namespace lathe::lower
