#include "compiler/sharing/writes.h"

#include <algorithm>
#include <functional>

#include "compiler/ir/flat/rewrite.h"

namespace lathe::sharing {
namespace {

using flat::Expr;
using flat::Stmt;
using flat::StmtNode;

// The writes that are kept, with the control around them; null if there are none.
Stmt kept_of(const Stmt& s, const std::function<bool(const StmtNode&)>& keep) {
  const auto is_let = [](const Stmt& inner) {
    return std::holds_alternative<flat::Let>(inner->value);
  };
  if (const auto* n = std::get_if<flat::Seq>(&s->value)) {
    std::vector<Stmt> kept;
    for (const Stmt& inner : n->stmts)
      if (is_let(inner)) kept.push_back(inner);
      else if (Stmt left = kept_of(inner, keep)) kept.push_back(std::move(left));
    return std::ranges::all_of(kept, is_let) ? nullptr : flat::seq(std::move(kept));
  }
  if (const auto* n = std::get_if<flat::For>(&s->value)) {
    Stmt body = kept_of(n->body, keep);
    return body ? flat::for_loop(n->var, n->begin, n->end, std::move(body)) : nullptr;
  }
  if (const auto* n = std::get_if<flat::If>(&s->value)) {
    Stmt then = kept_of(n->then, keep),
         otherwise = n->otherwise ? kept_of(n->otherwise, keep) : nullptr;
    if (!then && !otherwise) return nullptr;
    return flat::if_then(n->condition, then ? then : flat::seq({}), otherwise);
  }
  return value_in(*s) != nullptr && keep(*s) ? s : nullptr;
}

template <class F>
void each_write(const Stmt& s, F&& f) {
  if (value_in(*s) != nullptr) f(*s);
  flat::each_part(*s, [](const Expr&) {}, [&](const Stmt& inner) { each_write(inner, f); });
}

void add_read(const Expr& e, Read& read) {
  if (!holds_data(e)) return;
  if (const auto* load = std::get_if<flat::Load>(&e->value)) read.buffers.insert(load->buffer);
  if (const auto* reg = std::get_if<flat::RegRead>(&e->value)) read.regs.insert(reg->reg);
  flat::each_operand(*e, [&](const Expr& operand) { add_read(operand, read); });
}

void add_read(const StmtNode& s, Read& read) {
  flat::each_part(s, [&](const Expr& e) { add_read(e, read); }, [](const Stmt&) {});
}

}  // namespace

const Expr* value_in(const StmtNode& s) {
  if (const auto* store = std::get_if<flat::Store>(&s.value)) return &store->value;
  if (const auto* write = std::get_if<flat::RegWrite>(&s.value)) return &write->value;
  return nullptr;
}

bool holds_data(const Expr& e) { return (e->contents & flat::contents::kData) != 0; }

Writes::Writes(const Stmt& body) : body_(body) {
  each_write(body, [&](const StmtNode& s) {
    if (const auto* store = std::get_if<flat::Store>(&s.value))
      stores_[store->buffer].push_back(&s);
    else regs_[std::get<flat::RegWrite>(s.value).reg].push_back(&s);
  });
}

bool Writes::is_copy(const Expr& e, Read& read) const {
  if (!holds_data(e)) return true;
  if (const auto* load = std::get_if<flat::Load>(&e->value)) {
    read.buffers.insert(load->buffer);
    return !holds_data(load->index) && (!load->mask || !holds_data(load->mask));
  }
  if (const auto* reg = std::get_if<flat::RegRead>(&e->value)) return is_copied(reg->reg, read);
  if (const auto* cast = std::get_if<flat::Cast>(&e->value)) return is_copy(cast->x, read);
  if (const auto* bits = std::get_if<flat::Bitcast>(&e->value)) return is_copy(bits->x, read);
  if (const auto* all = std::get_if<flat::Broadcast>(&e->value)) return is_copy(all->x, read);
  const auto* choice = std::get_if<flat::Select>(&e->value);
  return choice != nullptr && !holds_data(choice->condition) && is_copy(choice->then, read) &&
         is_copy(choice->otherwise, read);
}

bool Writes::is_copied(int reg, Read& read) const {
  if (!read.regs.insert(reg).second) return true;
  const auto writes = regs_.find(reg);
  return writes != regs_.end() && std::ranges::all_of(writes->second, [&](const StmtNode* s) {
           return is_copy(*value_in(*s), read);
         });
}

void Writes::add_inputs_of_reg(int reg, Read& all) const {
  if (const auto writes = regs_.find(reg); writes != regs_.end())
    for (const StmtNode* s : writes->second) add_read(*s, all);
}

void Writes::add_inputs(Read& all) const {
  for (const int buffer : std::set<int>(all.buffers))
    if (const auto stores = stores_.find(buffer); stores != stores_.end())
      for (const StmtNode* s : stores->second) add_read(*s, all);
  for (const int reg : std::set<int>(all.regs)) add_inputs_of_reg(reg, all);
}

Read Writes::closure(int buffer) const {
  Read all;
  all.buffers.insert(buffer);
  for (std::size_t before = 0; before != all.buffers.size() + all.regs.size();) {
    before = all.buffers.size() + all.regs.size();
    add_inputs(all);
  }
  std::erase_if(all.buffers, [&](int b) { return !is_stored(b); });
  return all;
}

std::set<int> Writes::own_regs(int buffer) const {
  Read all;
  for (const StmtNode* s : stores_.at(buffer)) add_read(*s, all);
  for (std::size_t before = 0; before != all.regs.size();) {
    before = all.regs.size();
    for (const int reg : std::set<int>(all.regs)) add_inputs_of_reg(reg, all);
  }
  return all.regs;
}

Stmt Writes::only(const std::set<int>& buffers, const std::set<int>& regs) const {
  return kept_of(body_, [&](const StmtNode& s) {
    if (const auto* store = std::get_if<flat::Store>(&s.value))
      return buffers.contains(store->buffer);
    return regs.contains(std::get<flat::RegWrite>(s.value).reg);
  });
}

Stmt Writes::copies(int source, int target) const {
  std::set<const StmtNode*> kept;
  for (const StmtNode* s : stores_.at(target)) {
    Read read;
    if (!is_copy(*value_in(*s), read) || !read.buffers.contains(source)) continue;
    kept.insert(s);
    for (const int reg : read.regs) kept.insert(regs_.at(reg).begin(), regs_.at(reg).end());
  }
  return kept_of(body_, [&](const StmtNode& s) { return kept.contains(&s); });
}

}  // namespace lathe::sharing
