// What an iteration of a loop stores and the next one loads again stays in a register: a scan then
// waits for its operations alone, not for memory.
//
//   for v in 1..9 {                    r = B[0]
//     B[v] = B[v - 1] + A[v]     ->    for v in 1..9 {
//   }                                    r = r + A[v]
//                                        B[v] = r
//                                      }
// Other statements may load it, too: then it has a second register until the iteration ends.
//
// Of vectors that lie one after the other the last element is kept, where the next vector begins
// with it. Each operation of the stored value is done for that element apart: so a scan by vectors
// waits for one operation alone, and not for a lane of its result.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/ir/flat/rewrite.h"
#include "compiler/lower/passes/passes.h"

namespace lathe::lower {
namespace {

using flat::Expr;
using flat::Stmt;

constexpr std::size_t kMostCarried = 64;  // by a loop

// An address as `base + offset`.
struct Place {
  Expr base;  // null: 0
  std::int64_t offset = 0;

  explicit Place(const Expr& index) : base(index) {
    if (const auto value = flat::as_int(index)) {
      base = nullptr;
      offset = *value;
      return;
    }
    const auto* sum = std::get_if<flat::Binary>(&index->value);
    if (sum == nullptr || sum->op != flat::BinaryOp::kAdd || !flat::as_int(sum->b)) return;
    base = sum->a;
    offset = *flat::as_int(sum->b);
  }
  bool is_beside(const Place& other) const {
    return base && other.base && flat::equal(base, other.base);
  }
};

// The expression with another value of the variable. What becomes the variable itself, as i - 1 + 1
// does, stays so.
Expr with_value(const Expr& e, int var, const Expr& value) {
  if (const auto* v = std::get_if<flat::Var>(&e->value)) return v->id == var ? value : e;
  if ((e->contents & flat::contents::kVar) == 0) return e;
  return flat::map_operands(e, [&](const Expr& x) { return with_value(x, var, value); });
}

class Carrier {
 public:
  Carrier(flat::Program& program, const flat::For& loop, const std::vector<Stmt>& body)
      : program_(program), loop_(loop), body_(body) {}

  // The loop with what comes before it; null: nothing is carried.
  Stmt run() {
    const auto begin = flat::as_int(loop_.begin), end = flat::as_int(loop_.end);
    const bool known = begin && end;
    if (known && *end - *begin < 2) return nullptr;
    for (std::size_t i = 0; i < body_.size(); ++i) {
      const auto* store = std::get_if<flat::Store>(&body_[i]->value);
      if (store == nullptr || kept_.size() == kMostCarried) continue;
      if (const Expr last = carried_lane(*store); last) keep(i, last, false);
      else if (!known) continue;
      else if (const Expr load = carried(*store); load)
        keep(i, load, is_loaded_elsewhere(*store, load));
    }
    if (kept_.empty()) return nullptr;
    std::vector<Stmt> before, inside, after;
    for (const Kept& kept : kept_)
      before.push_back(flat::reg_write(kept.reg, with_value(kept.load, loop_.var, loop_.begin)));
    for (std::size_t i = 0; i < body_.size(); ++i) {
      const auto kept = std::ranges::find(kept_, i, &Kept::statement);
      if (kept == kept_.end()) {
        inside.push_back(with_registers(body_[i]));
        continue;
      }
      const auto& store = std::get<flat::Store>(body_[i]->value);
      if (kept->load->type.lanes < store.value->type.lanes) {
        const Expr value = with_registers(store.value);
        inside.push_back(flat::store(store.buffer, store.index, value, store.mask));
        inside.push_back(flat::reg_write(kept->reg, last_lane(value)));
        continue;
      }
      const Expr held = flat::reg_read(kept->next, kept->load->type);
      inside.push_back(flat::reg_write(kept->next, with_registers(store.value)));
      inside.push_back(flat::store(store.buffer, store.index, held, store.mask));
      if (kept->next != kept->reg) after.push_back(flat::reg_write(kept->reg, held));
    }
    inside.insert(inside.end(), after.begin(), after.end());
    before.push_back(flat::for_loop(loop_.var, loop_.begin, loop_.end, flat::seq(inside)));
    Stmt all = flat::seq(std::move(before));
    if (known) return all;
    return flat::if_then(flat::binary(flat::BinaryOp::kLt, loop_.begin, loop_.end), all);
  }

 private:
  // What a store keeps in a register, from which other statements of the next iteration may read,
  // too: then what is stored there has a register of its own until the iteration ends.
  struct Kept {
    std::size_t statement;
    Expr load;
    int reg, next;
  };

  void keep(std::size_t statement, const Expr& load, bool elsewhere) {
    const int reg = static_cast<int>(program_.regs.size());
    program_.regs.push_back(load->type);
    if (elsewhere) program_.regs.push_back(load->type);
    kept_.push_back({statement, load, reg, elsewhere ? reg + 1 : reg});
  }

  Expr with_registers(const Expr& value) const {
    const auto from_register = [&](const Expr& x) {
      const auto kept =
          std::ranges::find_if(kept_, [&](const Kept& k) { return flat::equal(x, k.load); });
      return kept == kept_.end() ? x : flat::reg_read(kept->reg, x->type);
    };
    return flat::ExprRewriter(from_register)(value);
  }
  Stmt with_registers(const Stmt& s) const {
    if (const auto* store = std::get_if<flat::Store>(&s->value)) {
      const Expr value = with_registers(store->value);
      return value == store->value ? s
                                   : flat::store(store->buffer, store->index, value, store->mask);
    }
    const auto* write = std::get_if<flat::RegWrite>(&s->value);
    if (write == nullptr) return s;
    const Expr value = with_registers(write->value);
    return value == write->value ? s : flat::reg_write(write->reg, value);
  }

  // True if another statement loads it.
  bool is_loaded_elsewhere(const flat::Store& store, const Expr& load) const {
    return std::ranges::any_of(body_, [&](const Stmt& stmt) {
      if (const auto* other = std::get_if<flat::Store>(&stmt->value))
        return other != &store && contains(other->value, load);
      const auto* write = std::get_if<flat::RegWrite>(&stmt->value);
      return write != nullptr && contains(write->value, load);
    });
  }

  // The load of what the store has stored in the iteration before; null: there is none, or another
  // store may come between. Lanes that the store leaves out stay by themselves, so the load may
  // have them or not.
  Expr carried(const flat::Store& store) const {
    const Dtype dtype = store.value->type.dtype;
    if (store.index->type.lanes > 1 || dtype == Dtype::kF16 || dtype == Dtype::kBF16 ||
        (store.mask && (is_used(store.mask) || mixes_lanes(store.value))))
      return nullptr;
    const Expr earlier =
        with_value(store.index, loop_.var,
                   flat::binary(flat::BinaryOp::kAdd, flat::var(loop_.var), flat::int_imm(-1)));
    const Place here(store.index), there(earlier);
    if (flat::equal(earlier, store.index) || !here.is_beside(there)) return nullptr;
    Expr load = flat::load(store.buffer, earlier, store.value->type, store.mask);
    if (!contains(store.value, load)) load = flat::load(store.buffer, earlier, store.value->type);
    const bool computed = (store.index->contents & flat::contents::kData) != 0;
    if (!contains(store.value, load) &&
        (store.mask || computed || !is_loaded_elsewhere(store, load)))
      return nullptr;
    const std::int64_t step = here.offset - there.offset, own = lanes_of(store);
    const bool apart = std::ranges::all_of(body_, [&](const Stmt& stmt) {
      const auto* other = std::get_if<flat::Store>(&stmt->value);
      if (other == nullptr || other == &store || other->buffer != store.buffer) return true;
      const Place place(other->index);
      if (other->index->type.lanes > 1 || !place.is_beside(here)) return false;
      const auto is_apart = [&](std::int64_t distance) {
        return distance >= own || -distance >= lanes_of(*other);
      };
      const std::int64_t distance = place.offset - here.offset;
      return is_apart(distance) && is_apart(distance + step);
    });
    return apart ? load : nullptr;
  }

  // The load, of one element, of the last lane that a vector store has stored in the iteration
  // before, which nothing else in the loop reads; null: there is none.
  Expr carried_lane(const flat::Store& store) const {
    const flat::Type type = store.value->type;
    if (type.lanes == 1 || store.index->type.lanes > 1 || store.mask || store.streaming ||
        type.dtype == Dtype::kF16 || type.dtype == Dtype::kBF16 ||
        (store.index->contents & flat::contents::kData) != 0)
      return nullptr;
    const Expr earlier =
        with_value(store.index, loop_.var,
                   flat::binary(flat::BinaryOp::kAdd, flat::var(loop_.var), flat::int_imm(-1)));
    const Place here(store.index), there(earlier);
    if (!here.is_beside(there) || here.offset - there.offset != type.lanes) return nullptr;
    const Expr last = flat::binary(flat::BinaryOp::kAdd, store.index, flat::int_imm(-1));
    Expr load = flat::load(store.buffer, last, {type.dtype, 1});
    if (!contains(store.value, load) || is_loaded_elsewhere(store, load)) return nullptr;
    return is_alone(store, here, type.lanes) ? load : nullptr;
  }

  // True if no other store of the loop comes near what this one stores in two iterations that
  // follow each other.
  bool is_alone(const flat::Store& store, const Place& here, std::int64_t lanes) const {
    return std::ranges::all_of(body_, [&](const Stmt& stmt) {
      const auto* other = std::get_if<flat::Store>(&stmt->value);
      if (other == nullptr || other == &store || other->buffer != store.buffer) return true;
      const Place place(other->index);
      if (other->index->type.lanes > 1 || !place.is_beside(here)) return false;
      const std::int64_t distance = place.offset - here.offset;
      return distance >= lanes || -distance >= lanes + other->value->type.lanes;
    });
  }

  // The last lane of a value, by the operations of its own.
  static Expr last_lane(const Expr& e) {
    if (e->type.lanes == 1) return e;
    if (const auto* b = std::get_if<flat::Binary>(&e->value))
      return flat::binary(b->op, last_lane(b->a), last_lane(b->b));
    if (const auto* f = std::get_if<flat::Fma>(&e->value))
      return flat::fma(last_lane(f->a), last_lane(f->b), last_lane(f->c));
    return flat::lane(e, e->type.lanes - 1);
  }

  // How many of the first lanes may be stored.
  static std::int64_t lanes_of(const flat::Store& store) {
    const std::int64_t all = store.value->type.lanes;
    const auto* below = store.mask ? std::get_if<flat::Binary>(&store.mask->value) : nullptr;
    if (below == nullptr || below->op != flat::BinaryOp::kLt) return all;
    const auto* ramp = std::get_if<flat::Ramp>(&below->a->value);
    const auto end = flat::splat_int(below->b);
    if (ramp == nullptr || ramp->stride != 1 || !end || !flat::as_int(ramp->base)) return all;
    return std::clamp<std::int64_t>(*end - *flat::as_int(ramp->base), 0, all);
  }

  // True if the mask may differ from iteration to iteration.
  bool is_used(const Expr& mask) const {
    if ((mask->contents & flat::contents::kData) != 0) return true;
    return !flat::equal(mask, with_value(mask, loop_.var, flat::int_imm(0)));
  }

  // True if lanes that the mask leaves out might come into others.
  static bool mixes_lanes(const Expr& e) {
    bool mixes = std::holds_alternative<flat::Reduce>(e->value) ||
                 std::holds_alternative<flat::Slide>(e->value);
    flat::each_operand(*e, [&](const Expr& x) { mixes = mixes || mixes_lanes(x); });
    return mixes;
  }

  static bool contains(const Expr& e, const Expr& wanted) {
    if (flat::equal(e, wanted)) return true;
    bool found = false;
    flat::each_operand(*e, [&](const Expr& x) { found = found || contains(x, wanted); });
    return found;
  }

  flat::Program& program_;
  const flat::For& loop_;
  const std::vector<Stmt>& body_;
  std::vector<Kept> kept_;
};

// The statements of a body without control flow or variables of its own.
std::optional<std::vector<Stmt>> straight(const Stmt& body) {
  std::vector<Stmt> out = {body};
  if (const auto* list = std::get_if<flat::Seq>(&body->value)) out = list->stmts;
  const bool plain = std::ranges::all_of(out, [](const Stmt& stmt) {
    return std::holds_alternative<flat::Store>(stmt->value) ||
           std::holds_alternative<flat::RegWrite>(stmt->value) ||
           std::holds_alternative<flat::PrefetchAt>(stmt->value);
  });
  if (!plain) return std::nullopt;
  return out;
}

Stmt carried(flat::Program& program, const Stmt& s) {
  if ((s->contents & flat::contents::kControl) == 0 && !std::holds_alternative<flat::Seq>(s->value))
    return s;
  if (const auto* loop = std::get_if<flat::For>(&s->value))
    if (const auto body = straight(loop->body))
      if (Stmt made = Carrier(program, *loop, *body).run()) return made;
  return flat::map_parts(
      s, [](const Expr& e) { return e; },
      [&](const Stmt& inner) { return carried(program, inner); });
}

}  // namespace

flat::Program carry(flat::Program program, const Target&) {
  for (std::size_t k = 0; k < program.kernels.size(); ++k)
    program.kernels[k].body = carried(program, program.kernels[k].body);
  return program;
}

}  // namespace lathe::lower
