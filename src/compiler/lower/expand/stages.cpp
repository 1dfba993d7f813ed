// What iterations of loops copy into memory of the group. Where that has a place for several of
// them, the copies for later ones are under way while one does its work.
#include <algorithm>
#include <span>
#include <utility>

#include "compiler/ir/flat/rewrite.h"

#include "compiler/lower/expand/emitter.h"
#include "compiler/lower/expand/lanes.h"

namespace lathe::lower {
namespace {

bool has_loop(const flat::Stmt& s) {
  if (std::holds_alternative<flat::For>(s->value)) return true;
  if (const auto* seq = std::get_if<flat::Seq>(&s->value))
    return std::ranges::any_of(seq->stmts, has_loop);
  const auto* branch = std::get_if<flat::If>(&s->value);
  return branch != nullptr &&
         (has_loop(branch->then) || (branch->otherwise && has_loop(branch->otherwise)));
}

}  // namespace

// What is held goes into a register: null. What is released comes from there.
flat::Expr BlockEmitter::held_or_released(flat::Expr value) {
  if (filling_ == Filling::kHold || filling_ == Filling::kCopyOrHold) {
    held_.push_back(static_cast<int>(code_.program.regs.size()));
    code_.program.regs.push_back(value->type);
    code_.out->push_back(flat::reg_write(held_.back(), std::move(value)));
    return nullptr;
  }
  if (filling_ != Filling::kRelease && filling_ != Filling::kReleaseRest) return value;
  LATHE_CHECK(released_ < held_.size(), "more is stored than was held");
  return flat::reg_read(held_[released_++], value->type);
}

// Loads and stores of a copy at this place as one asynchronous copy. False: it is none.
bool BlockEmitter::emit_copy(const Instance& at) {
  const ir::Block& block = nest_.blocks[at.id];
  const Storage& to = plan_.storage[block.writes];
  const auto* read = std::get_if<ir::Read>(&block.body->value);
  const bool may = copies() || filling_ == Filling::kReleaseRest;
  if (!may || read == nullptr || !plan_.is_of_group(block.writes) || at.mask ||
      read->pad.value_or(0) != 0 || plan_.storage[read->tensor].is_register ||
      nest_.buffers[read->tensor].dtype != nest_.buffers[block.writes].dtype)
    return false;
  const flat::Scope scope =
      code_.program.buffers[static_cast<std::size_t>(plan_.storage[read->tensor].buffer)].scope;
  const Address target = address(at, block.writes, block.index),
                source = address(at, read->tensor, read->index);
  const auto inside = at.read_conditions.find(read);
  const flat::Expr condition = inside == at.read_conditions.end() ? nullptr : inside->second;
  const int bytes = at.lanes * size_of(nest_.buffers[block.writes].dtype);
  const bool sized = bytes == 4 || bytes == 8 || bytes == 16;
  const bool aligned = target.multiple % at.lanes == 0 && source.multiple % at.lanes == 0;
  const bool plain = !target.is_vector && !source.is_vector && target.uniform == (at.lanes == 1) &&
                     source.uniform == (at.lanes == 1);
  if (!sized || !aligned || !plain || scope == flat::Scope::kThread ||
      scope == flat::Scope::kGroup || scope == flat::Scope::kLiteral ||
      (condition && condition->type.lanes > 1) || (condition && flat::is_imm(condition, 0)))
    return false;
  if (filling_ == Filling::kReleaseRest) return true;
  count_access();
  flat::Stmt copy = flat::async_copy(to.buffer, target.index, plan_.storage[read->tensor].buffer,
                                     source.index, at.lanes, condition);
  code_.owners[copy.get()] = {at.id, copy};
  code_.out->push_back(std::move(copy));
  return true;
}

namespace {

bool copies_asynchronously(const flat::Stmt& s) {
  bool any = std::holds_alternative<flat::AsyncCopy>(s->value);
  flat::each_part(
      *s, [](const flat::Expr&) {},
      [&](const flat::Stmt& inner) { any = any || copies_asynchronously(inner); });
  return any;
}

}  // namespace

// True if the item does nothing but copy into memory of the group, from elsewhere.
bool Emitter::only_copies(const ir::Item& item) const {
  return item.kind == ir::Item::Kind::kLoop &&
         std::ranges::all_of(plan_.blocks_of(item), [&](BlockId id) {
           const ir::Block& block = nest_.blocks[id];
           const auto* read = std::get_if<ir::Read>(&block.body->value);
           return plan_.is_of_group(block.writes) && block.reduce == ir::ReduceOp::kNone &&
                  read != nullptr && !plan_.is_of_group(read->tensor);
         });
}

// Copies that nothing runs ahead of: all of them are under way before the first is waited for.
// Returns how many of the items, from the first on, it has emitted.
std::size_t Emitter::emit_copies(std::span<const ir::Item> items) {
  if (!plan_.grids || !can_copy() || place_.init_of || leaf_.filling() != Filling::kAtOnce)
    return 0;
  const auto first_other =
      std::ranges::find_if_not(items, [&](const ir::Item& item) { return only_copies(item); });
  const auto count = static_cast<std::size_t>(first_other - items.begin());
  if (count == 0) return 0;
  leaf_.set_filling(Filling::kCopy);
  const flat::Stmt all = code_.capture([&] {
    for (const ir::Item& item : items.first(count)) emit_item(item);
  });
  leaf_.set_filling(Filling::kAtOnce);
  code_.out->push_back(all);
  if (!copies_asynchronously(all)) return count;
  commit_copies();
  await_copies(0);
  return count;
}

// Emits a loop with several stages: the copies for iteration k + ahead begin before the work of
// iteration k. False: it has one stage.
bool Emitter::emit_staged(LoopId loop) {
  const int stages = plan_.stages_of(loop);
  if (stages == 1 || place_.init_of || nest_.loops[loop].kind != ir::LoopKind::kSerial ||
      plan_.has_fused_digit(loop) || copies_own_work(loop))
    return false;
  const std::int64_t count = sized_.extent(loop), ahead = std::min<std::int64_t>(stages - 1, count);
  const auto at = [&](std::int64_t step) {
    Lin stage;
    stage.c = step % stages;
    bind_step(loop, {Binding::Kind::kStatic, step}, stage);
  };
  // The last step may be shorter, and then has code of its own.
  const std::int64_t looped = count - (parts_.pending_at(loop, 1, 0).empty() ? 0 : 1);
  for (std::int64_t step = 0; step < ahead; ++step) {
    at(step);
    emit_fills(loop, can_copy() ? Filling::kCopy : Filling::kAtOnce);
    commit_copies();
  }
  bind_step(loop, {}, {});
  if (looped > 0) {
    const int var = new_var(nest_.loops[loop].name, {0, looped - 1});
    flat::Stmt body = code_.capture([&] { emit_staged_body(loop, var, ahead); });
    code_.out->push_back(
        flat::for_loop(var, flat::int_imm(0), flat::int_imm(looped), std::move(body)));
  }
  if (looped < count) {
    at(looped);
    await_copies(0);
    emit_work(loop);
  }
  bind_step(loop, {}, {});
  return true;
}

void Emitter::bind_step(LoopId loop, const Binding& binding, Lin stage) {
  place_.bound[loop] = binding;
  place_.stage[loop] = std::move(stage);
}

void Emitter::emit_staged_body(LoopId loop, int var, std::int64_t ahead) {
  const std::int64_t stages = plan_.stages_of(loop), fills = sized_.extent(loop) - ahead;
  const auto let = [&](const char* what, const flat::Expr& value, Range range) {
    const int made = new_var(nest_.loops[loop].name + what, range);
    code_.out->push_back(flat::let(made, value));
    return made;
  };
  const auto stage_of = [&](int step) {
    const flat::Expr value =
        flat::binary(flat::BinaryOp::kMod, flat::var(step), flat::int_imm(stages));
    return let(".stage", value, {0, stages - 1});
  };
  const auto to = [&](int step, int stage) {
    Lin place;
    place.add(1, stage);
    bind_step(loop, {Binding::Kind::kDynamic, 0, 0, 1, step, {}}, place);
  };
  const Range range = place_.ranges[var];
  const int stage = stage_of(var);
  await_copies(ahead - 1);
  std::vector<flat::Stmt> stores;
  if (fills > 0) {
    const flat::Expr value =
        flat::binary(flat::BinaryOp::kAdd, flat::var(var), flat::int_imm(ahead));
    const int next = let(".next", value, {ahead, std::min(range.max, fills - 1) + ahead});
    const int next_stage = stage_of(next);
    code_.stages.emplace_back(stage, next_stage);
    to(next, next_stage);
    const auto while_there_are = [&](std::vector<flat::Stmt> stmts) {
      flat::Stmt all = flat::seq(std::move(stmts));
      return range.max < fills ? all
                               : flat::if_then(flat::binary(flat::BinaryOp::kLt, flat::var(var),
                                                            flat::int_imm(fills)),
                                               all);
    };
    code_.out->push_back(while_there_are(loads_ahead(loop, stores)));
    if (!stores.empty()) stores = {while_there_are(std::move(stores))};
  }
  commit_copies();
  to(var, stage);
  emit_work(loop);
  code_.out->insert(code_.out->end(), stores.begin(), stores.end());
}

// The copies for a later step: asynchronous ones; else loads into registers, from which `stores`
// brings them to their places after the work of this step; or all of it, where they have loops,
// each of whose iterations would need registers.
std::vector<flat::Stmt> Emitter::loads_ahead(LoopId loop, std::vector<flat::Stmt>& stores) {
  const bool copy = can_copy();
  const Checkpoint before = checkpoint();
  const flat::Stmt loads =
      code_.capture([&] { emit_fills(loop, copy ? Filling::kCopyOrHold : Filling::kHold); });
  if (!leaf_.holds()) return {loads};
  if (has_loop(loads)) {
    go_back(before);
    return {code_.capture([&] { emit_fills(loop, copy ? Filling::kCopy : Filling::kAtOnce); })};
  }
  stores = {
      code_.capture([&] { emit_fills(loop, copy ? Filling::kReleaseRest : Filling::kRelease); })};
  return {loads};
}

// True if something is copied that the loop itself makes: it is there when its turn comes, not
// before.
bool Emitter::copies_own_work(LoopId loop) const {
  const auto& blocks = plan_.blocks_in[loop];
  return std::ranges::any_of(blocks, [&](BlockId id) {
    const auto reads = ir::tensors_of(nest_.blocks[id].body);
    return nest_.buffers[nest_.blocks[id].writes].stages > 1 &&
           std::ranges::any_of(reads, [&](BufferId read) {
             return std::ranges::any_of(blocks,
                                        [&](BlockId w) { return nest_.blocks[w].writes == read; });
           });
  });
}

bool Emitter::can_copy() const { return plan_.grids->copies && grid_.has_items(); }

// The copies for the iteration that the loop is bound to, in the stage that is set.
void Emitter::emit_fills(LoopId loop, Filling filling) {
  leaf_.set_filling(filling);
  for (const ir::Item& item : nest_.loops[loop].body)
    if (plan_.fills_stage(item, loop)) emit_items({item});
  leaf_.set_filling(Filling::kAtOnce);
}

// All else that the iteration does.
void Emitter::emit_work(LoopId loop) {
  std::vector<ir::Item> items = nest_.loops[loop].body;
  std::erase_if(items, [&](const ir::Item& item) { return plan_.fills_stage(item, loop); });
  emit_items(items);
}

void Emitter::commit_copies() {
  if (can_copy()) code_.out->push_back(flat::commit_copies());
}

void Emitter::await_copies(std::int64_t pending) {
  if (can_copy()) code_.out->push_back(flat::await_copies(static_cast<int>(pending)));
}

}  // namespace lathe::lower
