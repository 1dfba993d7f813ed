#include "oracle/flat_count.h"

#include <algorithm>
#include <stdexcept>

#include "compiler/ir/flat/rewrite.h"

namespace lathe::interp {
namespace {

using flat::BinaryOp;
using flat::Expr;
using flat::Stmt;

using Lanes = std::vector<std::int64_t>;

template <class... Kinds>
bool is_one_of(const Expr& e) {
  return (std::holds_alternative<Kinds>(e->value) || ...);
}

// Integers that are made from a real or from bits count as data, too.
bool reads_data(const Expr& e) {
  const auto* cast = std::get_if<flat::Cast>(&e->value);
  if (is_one_of<flat::Load, flat::RegRead, flat::Bitcast>(e) ||
      (cast != nullptr && is_float(cast->x->type.dtype)))
    return true;
  bool reads = false;
  flat::each_operand(*e, [&](const Expr& x) { reads = reads || reads_data(x); });
  return reads;
}

std::int64_t apply(BinaryOp op, std::int64_t a, std::int64_t b) {
  switch (op) {
    case BinaryOp::kAdd: return a + b;
    case BinaryOp::kSub: return a - b;
    case BinaryOp::kMul: return a * b;
    case BinaryOp::kDiv: return a / b;
    case BinaryOp::kMod: return a % b;
    case BinaryOp::kMin: return std::min(a, b);
    case BinaryOp::kMax: return std::max(a, b);
    case BinaryOp::kLt: return a < b;
    case BinaryOp::kLe: return a <= b;
    case BinaryOp::kEq: return a == b;
    case BinaryOp::kNe: return a != b;
    case BinaryOp::kAnd: return a != 0 && b != 0;
    case BinaryOp::kOr: return a != 0 || b != 0;
    case BinaryOp::kBitAnd: return a & b;
    case BinaryOp::kBitOr: return a | b;
    case BinaryOp::kBitXor: return a ^ b;
    case BinaryOp::kShl: return a << b;
    case BinaryOp::kShr: return a >> b;
    default: throw std::logic_error("no operation on indices");
  }
}

class Walk {
 public:
  Walk(const flat::Program& program, int vector_bytes)
      : program_(program), vector_bytes_(vector_bytes) {}

  CountedKernel kernel(const Stmt& body) {
    run(body);
    return std::move(out_);
  }

 private:
  Lanes lanes(const Expr& e) {
    const auto n = static_cast<std::size_t>(e->type.lanes);
    if (const auto* i = std::get_if<flat::IntImm>(&e->value)) return {i->value};
    if (const auto* v = std::get_if<flat::Var>(&e->value)) return {vars_.at(v->id)};
    if (const auto* r = std::get_if<flat::Ramp>(&e->value)) {
      Lanes out;
      for (std::int64_t l = 0; l < e->type.lanes; ++l)
        out.push_back(lanes(r->base)[0] + r->stride * l);
      return out;
    }
    if (const auto* b = std::get_if<flat::Broadcast>(&e->value)) return Lanes(n, lanes(b->x)[0]);
    if (const auto* c = std::get_if<flat::Cast>(&e->value)) return lanes(c->x);
    if (const auto* u = std::get_if<flat::Unary>(&e->value)) {
      Lanes x = lanes(u->x);
      for (std::int64_t& value : x) value = u->op == flat::UnaryOp::kNot ? value == 0 : -value;
      return x;
    }
    if (const auto* s = std::get_if<flat::Select>(&e->value)) {
      const Lanes c = lanes(s->condition), t = lanes(s->then), o = lanes(s->otherwise);
      Lanes out(n);
      for (std::size_t l = 0; l < n; ++l) out[l] = c[c.size() == 1 ? 0 : l] != 0 ? t[l] : o[l];
      return out;
    }
    const auto* b = std::get_if<flat::Binary>(&e->value);
    if (b == nullptr) throw std::logic_error("not an index");
    const Lanes x = lanes(b->a), y = lanes(b->b);
    Lanes out(n);
    for (std::size_t l = 0; l < n; ++l) out[l] = apply(b->op, x[l], y[l]);
    return out;
  }
  std::int64_t scalar(const Expr& e) { return lanes(e)[0]; }

  void run(const Stmt& s) {
    if (const auto* list = std::get_if<flat::Seq>(&s->value)) {
      for (const Stmt& inner : list->stmts) run(inner);
    } else if (const auto* let = std::get_if<flat::Let>(&s->value)) {
      vars_[let->var] = scalar(let->value);
    } else if (const auto* loop = std::get_if<flat::For>(&s->value)) {
      const std::int64_t end = scalar(loop->end);
      for (std::int64_t i = scalar(loop->begin); i < end; ++i) {
        vars_[loop->var] = i;
        run(loop->body);
      }
    } else if (const auto* branch = std::get_if<flat::If>(&s->value)) {
      if (scalar(branch->condition) != 0) run(branch->then);
      else if (branch->otherwise) run(branch->otherwise);
    } else if (const auto* region = std::get_if<flat::Region>(&s->value)) {
      run_region(s, *region);
    } else {
      count(s);
    }
  }

  void run_region(const Stmt& s, const flat::Region& region) {
    CountedRegion counted{s.get(), {}};
    for (const flat::For& phase : region.phases) {
      find_copied(phase.body);
      std::vector<CountedPart> parts;
      const std::int64_t end = scalar(phase.end);
      for (std::int64_t i = scalar(phase.begin); i < end; ++i) {
        vars_[phase.var] = i;
        part_ = &parts.emplace_back();
        run(phase.body);
      }
      part_ = nullptr;
      counted.phases.push_back(std::move(parts));
    }
    out_.regions.push_back(std::move(counted));
  }

  // Work.

  void count(const Stmt& s) {
    if (std::holds_alternative<flat::PrefetchAt>(s->value)) return;
    Counted& work = part_ != nullptr ? part_->work : out_.alone;
    const auto [known, fresh] = works_.try_emplace(s.get());
    if (fresh) known->second = work_of(s);
    work.operations += known->second.operations;
    work.multiply_adds += known->second.multiply_adds;
    work.bytes += known->second.bytes;
    if (part_ != nullptr) copy(s);
  }
  Counted work_of(const Stmt& s) const {
    Counted work;
    std::set<std::string> seen;
    flat::each_part(*s, [&](const Expr& e) { count(e, seen, work); }, [](const Stmt&) {});
    if (const auto* store = std::get_if<flat::Store>(&s->value))
      work.bytes += store->value->type.lanes * size_of(store->value->type.dtype);
    return work;
  }
  std::string text(const Expr& e) const {
    return std::string(name_of(e->type.dtype)) + std::to_string(e->type.lanes) + " " +
           flat::print(program_, e);
  }
  void count(const Expr& e, std::set<std::string>& seen, Counted& work) const {
    if (!reads_data(e) || !seen.insert(text(e)).second) return;
    int widest = e->type.lanes * size_of(e->type.dtype);
    flat::each_operand(*e, [&](const Expr& x) {
      widest = std::max(widest, x->type.lanes * size_of(x->type.dtype));
      count(x, seen, work);
    });
    if (is_one_of<flat::Unary, flat::Binary, flat::Fma, flat::Select, flat::Cast>(e))
      work.operations += (widest + vector_bytes_ - 1) / vector_bytes_;
    if (const auto* sum = std::get_if<flat::Reduce>(&e->value))
      for (int left = sum->x->type.lanes; left > 1; left /= 2) ++work.operations;
    if (std::holds_alternative<flat::Load>(e->value))
      work.bytes += e->type.lanes * size_of(e->type.dtype);
    if (std::holds_alternative<flat::Fma>(e->value) || is_multiply_add(e))
      work.multiply_adds += e->type.lanes;
  }
  static bool is_multiply_add(const Expr& e) {
    const auto* sum = std::get_if<flat::Binary>(&e->value);
    if (sum == nullptr || sum->op != BinaryOp::kAdd) return false;
    for (const Expr& x : {sum->a, sum->b})
      if (const auto* product = std::get_if<flat::Binary>(&x->value);
          product != nullptr && product->op == BinaryOp::kMul && reads_data(x))
        return true;
    return false;
  }

  // Copies: where from each lane of a register comes, and each lane that is stored.

  struct Origin {
    bool computed = false;
    int buffer = -1;  // none: a constant, or what the phase wrote itself
    std::int64_t element = 0;
  };
  using Origins = std::vector<Origin>;

  // What the phase writes, and its registers that get something computed anywhere.
  void find_copied(const Stmt& body) {
    stored_.clear();
    computed_regs_.clear();
    find_stored(body);
    for (std::size_t before = 1; before != computed_regs_.size() + 1;) {
      before = computed_regs_.size() + 1;
      find_computed(body);
    }
  }
  void find_stored(const Stmt& s) {
    if (const auto* store = std::get_if<flat::Store>(&s->value)) stored_.insert(store->buffer);
    flat::each_part(*s, [](const Expr&) {}, [&](const Stmt& inner) { find_stored(inner); });
  }
  void find_computed(const Stmt& s) {
    const auto* write = std::get_if<flat::RegWrite>(&s->value);
    if (write != nullptr && computes(write->value)) computed_regs_.insert(write->reg);
    flat::each_part(*s, [](const Expr&) {}, [&](const Stmt& inner) { find_computed(inner); });
  }
  bool computes(const Expr& e) const {
    if (!reads_data(e)) return false;
    if (const auto* reg = std::get_if<flat::RegRead>(&e->value))
      return computed_regs_.contains(reg->reg);
    if (const auto* load = std::get_if<flat::Load>(&e->value))
      return reads_data(load->index) || (load->mask && reads_data(load->mask));
    if (const auto* choice = std::get_if<flat::Select>(&e->value))
      return reads_data(choice->condition) || computes(choice->then) || computes(choice->otherwise);
    bool inside = !is_one_of<flat::Cast, flat::Bitcast, flat::Broadcast>(e);
    flat::each_operand(*e, [&](const Expr& x) { inside = inside || computes(x); });
    return inside;
  }

  // Of a value that computes nothing.
  Origins origins(const Expr& e) {
    const auto n = static_cast<std::size_t>(e->type.lanes);
    if (!reads_data(e)) return Origins(n);
    if (const auto* reg = std::get_if<flat::RegRead>(&e->value)) {
      regs_[reg->reg].resize(n);
      return regs_[reg->reg];
    }
    if (const auto* load = std::get_if<flat::Load>(&e->value)) {
      Origins out(n);
      const Lanes index = lanes(load->index), mask = load->mask ? lanes(load->mask) : Lanes(n, 1);
      for (std::size_t l = 0; l < n; ++l)
        if (mask[l] != 0 && !stored_.contains(load->buffer))
          out[l] = {false, load->buffer,
                    index.size() > 1 ? index[l] : index[0] + static_cast<std::int64_t>(l)};
      return out;
    }
    if (const auto* choice = std::get_if<flat::Select>(&e->value)) {
      const Lanes c = lanes(choice->condition);
      const Origins t = origins(choice->then), o = origins(choice->otherwise);
      Origins out(n);
      for (std::size_t l = 0; l < n; ++l) out[l] = c[c.size() == 1 ? 0 : l] != 0 ? t[l] : o[l];
      return out;
    }
    Origins inner;
    flat::each_operand(*e, [&](const Expr& x) { inner = origins(x); });
    return std::holds_alternative<flat::Broadcast>(e->value) ? Origins(n, inner[0]) : inner;
  }

  void copy(const Stmt& s) {
    if (const auto* write = std::get_if<flat::RegWrite>(&s->value)) {
      if (!computed_regs_.contains(write->reg)) regs_[write->reg] = origins(write->value);
      return;
    }
    const auto& store = std::get<flat::Store>(s->value);
    if (computes(store.value)) return;
    const Origins from = origins(store.value);
    const Lanes mask = store.mask ? lanes(store.mask) : Lanes(from.size(), 1);
    for (std::size_t l = 0; l < from.size(); ++l)
      if (mask[l] != 0 && from[l].buffer >= 0)
        part_->copied[{from[l].buffer, store.buffer}].insert(from[l].element);
  }

  const flat::Program& program_;
  int vector_bytes_;
  std::map<int, std::int64_t> vars_;
  CountedKernel out_;
  std::map<const flat::StmtNode*, Counted> works_;
  CountedPart* part_ = nullptr;  // the one that runs; null outside of regions
  std::set<int> stored_, computed_regs_;
  std::map<int, Origins> regs_;
};

}  // namespace

CountedKernel count_kernel(const flat::Program& program, const flat::Kernel& kernel,
                           int vector_bytes) {
  return Walk(program, vector_bytes).kernel(kernel.body);
}

}  // namespace lathe::interp
