// Parallel and fused loops: their iterations cannot be cut apart, so the body tells borders from
// the interior.
#include "compiler/lower/expand/expander.h"

namespace lathe::lower {

// The body of a parallel or fused loop, whose iterations cannot be cut apart from outside: the
// digits become variables, and for each digit a chain of ifs tells the interior from the borders.
void Expander::emit_guarded_body(LoopId loop) {
  Binding& binding = bound_[loop];
  const std::int64_t extent = sized_.extent(loop);
  for (const auto& [div, mod] : fused_digits(loop)) {
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
    if (var >= 0) out_->push_back(flat::let(var, value));
    bound_[loop].derived.push_back({div, mod, var, 0});
  }
  emit_chain(loop, 0);
}

namespace {

struct Case {
  flat::Expr condition;
  flat::Stmt body;
};

flat::Expr compare(flat::BinaryOp op, int var, std::int64_t value) {
  return flat::binary(op, flat::var(var), flat::int_imm(value));
}

// That begin <= var < end, as far as its range does not say so; null: it does.
flat::Expr is_between(int var, std::int64_t begin, std::int64_t end, const Range& range) {
  flat::Expr condition;
  if (begin > range.min)
    condition = flat::binary(flat::BinaryOp::kLe, flat::int_imm(begin), flat::var(var));
  if (end > range.max) return condition;
  const flat::Expr below = compare(flat::BinaryOp::kLt, var, end);
  return condition ? flat::binary(flat::BinaryOp::kAnd, condition, below) : below;
}

// The first case that holds; the last needs no test. Null where there is none.
flat::Stmt chain_of(const std::vector<Case>& cases) {
  flat::Stmt chain;
  for (std::size_t k = cases.size(); k-- > 0;) {
    const bool last = k + 1 == cases.size();
    chain = last ? cases[k].body : flat::if_then(cases[k].condition, cases[k].body, chain);
  }
  return chain;
}

}  // namespace

void Expander::emit_chain(LoopId loop, std::size_t digit) {
  const auto digits = fused_digits(loop);
  if (digit == digits.size()) return emit_body(loop);
  const auto [div, mod] = digits[digit];
  const Binding saved = bound_[loop];
  Binding::Derived* derived = nullptr;
  for (auto& d : bound_[loop].derived)
    if (d.div == div && d.mod == mod) derived = &d;
  const int var = derived != nullptr ? derived->var : saved.var;
  if (var < 0) return emit_chain(loop, digit + 1);
  const Range range = ranges_[var];

  std::vector<Pending> wanted;
  for (const Pending& p : pending_at(loop, div, mod)) {
    const BlockPlan& plan = blocks_[p.block];
    if (rest_is_static(plan, plan.constraints[p.constraint], loop, div, mod) &&
        wants_partition(loop, p))
      wanted.push_back(p);
  }
  const auto bind = [&](std::int64_t v) {
    if (derived != nullptr) {
      derived->var = -1;
      derived->value = v;
    } else if (digits.size() == 1) {
      bound_[loop] = {Binding::Kind::kStatic, v};
    } else {
      ranges_[var] = {v, v};  // other digits of the loop stay variables
    }
  };
  const auto unbind = [&] {
    bound_[loop] = saved;
    ranges_[var] = range;
    for (auto& d : bound_[loop].derived)
      if (d.div == div && d.mod == mod) derived = &d;
  };
  const auto parts = parts_of(range.min, range.max + 1, wanted, bind);
  unbind();
  const auto body_after = [&](const auto& choose) {
    return capture([&] {
      choose();
      emit_chain(loop, digit + 1);
      unbind();
    });
  };
  std::vector<Case> cases;
  for (const Part& part : parts) {
    if (part.begin >= part.end) continue;
    if (part.written_out) {
      for (std::int64_t v = part.begin; v < part.end; ++v)
        cases.push_back({compare(flat::BinaryOp::kEq, var, v), body_after([&] { bind(v); })});
    } else {
      flat::Stmt body = body_after([&] { ranges_[var] = {part.begin, part.end - 1}; });
      // The most frequent first.
      cases.insert(cases.begin(), {is_between(var, part.begin, part.end, range), std::move(body)});
    }
  }
  if (const flat::Stmt chain = chain_of(cases)) out_->push_back(chain);
}

}  // namespace lathe::lower
