// Parallel and fused loops: their iterations cannot be cut apart, so the body tells the edges from
// the interior.
#include "compiler/lower/expand/emitter.h"

#include <algorithm>
#include <utility>

namespace lathe::lower {
namespace {

// One digit of a loop, (loop / div) % mod, bound otherwise for a while.
class BoundDigit {
 public:
  BoundDigit(Place& place, LoopId loop, std::pair<std::int64_t, std::int64_t> digit, bool alone)
      : place_(place), loop_(loop), digit_(digit), alone_(alone), saved_(place.bound[loop]) {
    const Binding::Derived* own = derived();
    var_ = own != nullptr ? own->var : saved_.var;
    if (var_ >= 0) range_ = place.ranges[var_];
  }
  int var() const { return var_; }  // -1: it is a number already
  Range range() const { return range_; }

  void bind(std::int64_t value) {
    if (Binding::Derived* own = derived()) {
      own->var = -1;
      own->value = value;
    } else if (alone_) {
      place_.bound[loop_] = {Binding::Kind::kStatic, value};
    } else {
      place_.ranges[var_] = {value, value};  // other digits of the loop stay variables
    }
  }
  void narrow(Range range) { place_.ranges[var_] = range; }
  void restore() {
    place_.bound[loop_] = saved_;
    place_.ranges[var_] = range_;
  }

 private:
  Binding::Derived* derived() {
    for (auto& d : place_.bound[loop_].derived)
      if (d.div == digit_.first && d.mod == digit_.second) return &d;
    return nullptr;
  }

  Place& place_;
  LoopId loop_;
  std::pair<std::int64_t, std::int64_t> digit_;
  bool alone_;
  Binding saved_;
  int var_ = -1;
  Range range_;
};

using Case = std::pair<flat::Expr, flat::Stmt>;

// Whether the variable is in the part; null: it always is.
flat::Expr in_part(int var, const Part& part, Range range) {
  flat::Expr condition;
  if (part.begin > range.min)
    condition = flat::binary(flat::BinaryOp::kLe, flat::int_imm(part.begin), flat::var(var));
  if (part.end <= range.max) {
    flat::Expr below = flat::binary(flat::BinaryOp::kLt, flat::var(var), flat::int_imm(part.end));
    condition = condition ? flat::binary(flat::BinaryOp::kAnd, condition, below) : below;
  }
  return condition;
}

// The last case needs no condition.
flat::Stmt if_chain(const std::vector<Case>& cases) {
  flat::Stmt chain;
  for (std::size_t k = cases.size(); k-- > 0;)
    chain = k + 1 == cases.size() ? cases[k].second
                                  : flat::if_then(cases[k].first, cases[k].second, chain);
  return chain;
}

}  // namespace

// The digits of a loop that is bound to a variable become variables, too.
void Emitter::derive_digits(LoopId loop) {
  const Binding& binding = place_.bound[loop];
  const std::int64_t extent = sized_.extent(loop);
  for (const auto& [div, mod] : plan_.fused_digits(loop)) {
    if (div == 1 && mod == 0) continue;
    std::int64_t count = (extent + div - 1) / div;
    flat::Expr value = flat::var(binding.var);
    if (div > 1) value = flat::binary(flat::BinaryOp::kDiv, value, flat::int_imm(div));
    if (mod > 0 && mod < count) {
      value = flat::binary(flat::BinaryOp::kMod, value, flat::int_imm(mod));
      count = mod;
    }
    const int var =
        count == 1 ? -1
                   : new_var(fmt::format("{}.{}", nest_.loops[loop].name, div), {0, count - 1});
    if (var >= 0) code_.out->push_back(flat::let(var, value));
    place_.bound[loop].derived.push_back({div, mod, var, 0});
  }
}

// Emits the body of a parallel or fused loop, whose iterations cannot be cut apart from outside.
// For each digit a chain of ifs tells the interior from the edges.
void Emitter::emit_guarded_body(LoopId loop) {
  derive_digits(loop);
  emit_chain(loop, 0);
}

void Emitter::emit_chain(LoopId loop, std::size_t digit) {
  const auto digits = plan_.fused_digits(loop);
  if (digit == digits.size()) return emit_body(loop);
  BoundDigit own(place_, loop, digits[digit], digits.size() == 1);
  if (own.var() < 0) return emit_chain(loop, digit + 1);
  const auto [div, mod] = digits[digit];
  const auto wanted = parts_.wanted(loop, div, mod, parts_.pending_at(loop, div, mod));
  const Range range = own.range();
  const auto parts = parts_.parts_of(range.min, range.max + 1, wanted,
                                     [&](std::int64_t value) { own.bind(value); });
  own.restore();
  const auto cut = [&](std::int64_t most) { return emit_cases(loop, digit, parts, most); };
  if (emit_if_small(loop, parts, wanted, cut)) return;
  emit_whole(parts, wanted, [&] { emit_chain(loop, digit + 1); });
}

// False: the edges are too much code.
bool Emitter::emit_cases(LoopId loop, std::size_t digit, const std::vector<Part>& parts,
                         std::int64_t most) {
  const auto digits = plan_.fused_digits(loop);
  BoundDigit own(place_, loop, digits[digit], digits.size() == 1);
  const Range range = own.range();
  Edges edges(parts, most);
  const auto body = [&](const auto& bind) {
    return code_.capture([&] {
      bind();
      emit_chain(loop, digit + 1);
      own.restore();
    });
  };
  std::vector<Case> cases;
  for (const Part& part : parts) {
    if (part.begin >= part.end) continue;
    if (part.written_out) {
      for (std::int64_t v = part.begin; v < part.end; ++v) {
        const auto emit = [&] {
          cases.emplace_back(
              flat::binary(flat::BinaryOp::kEq, flat::var(own.var()), flat::int_imm(v)),
              body([&] { own.bind(v); }));
        };
        if (!emit_edge(edges, emit)) return false;
      }
    } else {
      flat::Stmt interior = body([&] { own.narrow({part.begin, part.end - 1}); });
      // The most frequent case comes first.
      cases.insert(cases.begin(), {in_part(own.var(), part, range), std::move(interior)});
    }
  }
  if (flat::Stmt chain = if_chain(cases)) code_.out->push_back(std::move(chain));
  return true;
}

}  // namespace lathe::lower
