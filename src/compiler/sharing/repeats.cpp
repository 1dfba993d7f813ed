#include "compiler/sharing/repeats.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "compiler/ir/flat/rewrite.h"
#include "compiler/sharing/writes.h"

namespace lathe::sharing {

using flat::Expr;
using flat::Stmt;

Aspect::Aspect(Stmt body, int phase_var, FreeVars& free) : body_(std::move(body)) {
  Vars bound = {phase_var}, read;
  if (const auto* list = std::get_if<flat::Seq>(&body_->value)) {
    for (const Stmt& s : list->stmts)
      if (const auto* let = std::get_if<flat::Let>(&s->value)) {
        lets_.push_back(let);
        bound = joined(bound, {let->var});
      } else {
        read = joined(read, free(s));
      }
  } else {
    read = free(body_);
  }
  std::ranges::set_intersection(read, bound, std::back_inserter(read_));
  std::ranges::set_difference(free(body_), Vars{phase_var}, std::back_inserter(outer_));
}

Values Aspect::key(Values& values) const {
  for (const flat::Let* let : lets_)
    values[static_cast<std::size_t>(let->var)] = value_of(let->value, values);
  Values key;
  for (const int var : read_) key.push_back(values[static_cast<std::size_t>(var)]);
  return key;
}

Copies::Copies(const flat::Program& program, int source, Aspect aspect, FreeVars& free)
    : source_(source), aspect_(std::move(aspect)), free_(free) {
  const flat::Buffer& buffer = program.buffers[static_cast<std::size_t>(source)];
  element_bytes_ = size_of(buffer.dtype);
  marked_by_.resize(static_cast<std::size_t>(buffer.size));
}

void Copies::begin_run() {
  known_.clear();
  before_run_ = part_;
  copied_ = distinct_ = 0;
}

void Copies::add_part(Values& values) {
  const auto [known, fresh] = known_.try_emplace(aspect_.key(values), 0);
  if (fresh) {
    ++part_;
    in_part_ = 0;
    mark(aspect_.body(), values);
    known->second = in_part_;
  }
  copied_ += known->second;
}

Repeats Copies::repeats() const {
  return {.copied_bytes = copied_ * element_bytes_,
          .copied_again_bytes = (copied_ - distinct_) * element_bytes_};
}

void Copies::mark(const Stmt& s, Values& values) {
  if (const auto* list = std::get_if<flat::Seq>(&s->value)) {
    for (const Stmt& inner : list->stmts) mark(inner, values);
  } else if (const auto* let = std::get_if<flat::Let>(&s->value)) {
    values[static_cast<std::size_t>(let->var)] = value_of(let->value, values);
  } else if (const auto* branch = std::get_if<flat::If>(&s->value)) {
    if (value_of(branch->condition, values) != 0) mark(branch->then, values);
    else if (branch->otherwise) mark(branch->otherwise, values);
  } else if (const auto* loop = std::get_if<flat::For>(&s->value)) {
    mark_loop(*loop, values);
  } else if (const std::optional<Strip>& strip = strip_of(s)) {
    mark_strip(*strip, strip->first.of(values));
  } else if (const Expr* value = value_in(*s)) {
    const auto* store = std::get_if<flat::Store>(&s->value);
    mark_lanes(*value, store != nullptr ? store->mask : nullptr, values);
  }
}

void Copies::mark_loop(const flat::For& n, Values& values) {
  const std::int64_t begin = value_of(n.begin, values);
  std::int64_t end = value_of(n.end, values);
  // Where all iterations read the same, one tells it.
  if (!std::ranges::binary_search(free_(n.body), n.var)) end = std::min(end, begin + 1);
  const std::optional<Strip>& strip = strip_of(n.body);
  values[static_cast<std::size_t>(n.var)] = begin;
  if (strip && begin < end) {
    std::int64_t first = strip->first.of(values);
    const std::int64_t step = strip->first.coefficient(n.var);
    for (std::int64_t i = begin; i < end; ++i, first += step) mark_strip(*strip, first);
    return;
  }
  for (std::int64_t i = begin; i < end; ++i) {
    values[static_cast<std::size_t>(n.var)] = i;
    mark(n.body, values);
  }
}

const std::optional<Copies::Strip>& Copies::strip_of(const Stmt& s) {
  const auto [known, fresh] = strips_.try_emplace(s);
  const Expr* value = value_in(*s);
  if (!fresh || value == nullptr) return known->second;
  const auto* store = std::get_if<flat::Store>(&s->value);
  const auto* load = std::get_if<flat::Load>(&(*value)->value);
  if (load == nullptr || load->buffer != source_ || load->mask || (store != nullptr && store->mask))
    return known->second;
  const auto* ramp = std::get_if<flat::Ramp>(&load->index->value);
  if (load->index->type.lanes > 1 && ramp == nullptr) return known->second;
  if (const auto first = linear_of(ramp != nullptr ? ramp->base : load->index))
    known->second = Strip{*first, ramp != nullptr ? ramp->stride : 1, (*value)->type.lanes};
  return known->second;
}

void Copies::mark_strip(const Strip& strip, std::int64_t first) {
  for (int lane = 0; lane < strip.lanes; ++lane) mark_element(first + lane * strip.stride);
}

// `mask`: of the lanes that are stored; or null.
void Copies::mark_lanes(const Expr& value, const Expr& mask, const Values& values) {
  for (int lane = 0; lane < value->type.lanes; ++lane)
    if (!mask || value_of(mask, values, lane) != 0) mark_lane(value, lane, values);
}

void Copies::mark_lane(const Expr& e, int lane, const Values& values) {
  if (!holds_data(e)) return;
  const int taken = e->type.lanes == 1 ? 0 : lane;
  if (const auto* load = std::get_if<flat::Load>(&e->value)) {
    if (load->buffer != source_ || (load->mask && value_of(load->mask, values, taken) == 0)) return;
    const bool vector = load->index->type.lanes > 1;
    mark_element(value_of(load->index, values, taken) + (vector ? 0 : taken));
  } else if (const auto* choice = std::get_if<flat::Select>(&e->value)) {
    const bool then = value_of(choice->condition, values, taken) != 0;
    mark_lane(then ? choice->then : choice->otherwise, taken, values);
  } else {
    flat::each_operand(*e, [&](const Expr& operand) { mark_lane(operand, taken, values); });
  }
}

void Copies::mark_element(std::int64_t element) {
  std::uint32_t& last = marked_by_.at(static_cast<std::size_t>(element));
  if (last == part_) return;
  if (last <= before_run_) ++distinct_;
  ++in_part_;
  last = part_;
}

void Computed::begin_run() {
  known_.clear();
  again_ = {};
}

void Computed::add_part(Values& values, WorkCounter& counter) {
  Values key = inputs_.key(values);
  if (const auto known = known_.find(key); known != known_.end()) again_ += known->second;
  else known_.emplace(std::move(key), counter.of(own_, values));
}

RepeatCounter::RepeatCounter(const flat::Program& program, const flat::For& phase)
    : phase_var_(phase.var) {
  const Writes writes(phase.body);
  const auto aspect = [&](Stmt body) { return Aspect(std::move(body), phase.var, free_); };
  for (const auto& [target, stores] : writes.stores()) {
    std::set<int> sources;
    bool computes = false;
    for (const flat::StmtNode* s : stores) {
      Read read;
      if (writes.is_copy(*value_in(*s), read)) sources.merge(read.buffers);
      else computes = true;
    }
    for (const int source : sources)
      if (!writes.is_stored(source))
        copies_.emplace_back(program, source, aspect(writes.copies(source, target)), free_);
    const flat::Scope scope = program.buffers[static_cast<std::size_t>(target)].scope;
    if (!computes || scope == flat::Scope::kOutput) continue;
    const Read all = writes.closure(target);
    computed_.emplace_back(aspect(writes.only(all.buffers, all.regs)),
                           writes.only({target}, writes.own_regs(target)));
  }
}

Repeats RepeatCounter::of_run(std::int64_t begin, std::int64_t end, Values& values,
                              WorkCounter& counter) {
  if (copies_.empty() && computed_.empty()) return {};
  for (Copies& copies : copies_) copies.begin_run();
  for (Computed& computed : computed_) computed.begin_run();
  for (std::int64_t i = begin; i < end; ++i) {
    values[static_cast<std::size_t>(phase_var_)] = i;
    for (Copies& copies : copies_) copies.add_part(values);
    for (Computed& computed : computed_) computed.add_part(values, counter);
  }
  Repeats all;
  for (const Copies& copies : copies_) all += copies.repeats();
  for (const Computed& computed : computed_) all.computed_again += computed.again();
  return all;
}

Vars RepeatCounter::outer_vars() const {
  Vars vars;
  for (const Copies& copies : copies_) vars = joined(vars, copies.outer_vars());
  for (const Computed& computed : computed_) vars = joined(vars, computed.outer_vars());
  return vars;
}

}  // namespace lathe::sharing
