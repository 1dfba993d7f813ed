#include "compiler/lower/expand/barriers.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "compiler/ir/flat/rewrite.h"
#include "compiler/lower/expand/plan.h"

namespace lathe::lower {
namespace {

struct GroupAccess {
  int buffer;
  bool stores;
  int owner;       // the block whose own element it is; -1: nobody's
  int stage = -1;  // the variable that numbers the stage; -1: any stage
  friend bool operator==(const GroupAccess&, const GroupAccess&) = default;
};

// What a statement does with memory of the group.
struct Touched {
  // Before the items meet for the first time, and after they met for the last time. If they need
  // not meet, both are all of it.
  std::vector<GroupAccess> head, tail;
  bool meets = false;  // on every way through
};

void add(std::vector<GroupAccess>& to, const std::vector<GroupAccess>& from) {
  for (const GroupAccess& access : from)
    if (std::ranges::find(to, access) == to.end()) to.push_back(access);
}

class BarrierPlacer {
 public:
  BarrierPlacer(const Code& code, const flat::Grid& grid, const std::vector<flat::Stmt>& stmts)
      : code_(code) {
    for (const flat::Stmt& s : stmts) find_copied(s);
    for (const flat::Axis& axis : grid.items)
      if (axis.var >= 0) differing_.insert(axis.var);
  }

  std::pair<std::vector<flat::Stmt>, Touched> in_order(const std::vector<flat::Stmt>& stmts) {
    std::vector<flat::Stmt> out;
    Touched all;
    for (const flat::Stmt& s : stmts) {
      auto [inner, touched] = visit(s);
      if (conflict(all.tail, touched.head)) meet(out, all);
      out.push_back(std::move(inner));
      if (!all.meets) add(all.head, touched.head);
      if (touched.meets) all.tail = touched.tail;
      else add(all.tail, touched.tail);
      all.meets |= touched.meets;
    }
    return {std::move(out), std::move(all)};
  }

 private:
  const flat::Buffer& buffer(int id) const {
    return code_.program.buffers[static_cast<std::size_t>(id)];
  }

  // An element that a block computes is computed by one item, in all iterations. The stage that is
  // filled in an iteration is never the one that is used in it.
  bool conflict(const GroupAccess& a, const GroupAccess& b) const {
    const bool apart = std::ranges::any_of(code_.stages, [&](const auto& pair) {
      return pair == std::pair(a.stage, b.stage) || pair == std::pair(b.stage, a.stage);
    });
    return a.buffer == b.buffer && (a.stores || b.stores) && (a.owner < 0 || a.owner != b.owner) &&
           !apart;
  }
  bool conflict(const std::vector<GroupAccess>& before,
                const std::vector<GroupAccess>& after) const {
    return std::ranges::any_of(before, [&](const GroupAccess& a) {
      return std::ranges::any_of(after, [&](const GroupAccess& b) { return conflict(a, b); });
    });
  }

  int stage_in(const flat::Expr& index) const {
    if (const auto* v = std::get_if<flat::Var>(&index->value))
      return std::ranges::any_of(
                 code_.stages,
                 [&](const auto& pair) { return v->id == pair.first || v->id == pair.second; })
                 ? v->id
                 : -1;
    int found = -1;
    flat::each_operand(*index, [&](const flat::Expr& x) { found = std::max(found, stage_in(x)); });
    return found;
  }

  void meet(std::vector<flat::Stmt>& out, Touched& so_far) const {
    if (divergent_ > 0)
      refuse(ErrorKind::kUnsupported,
             "items of a group would have to wait for each other where only some of them run, at "
             "{}: let the loops that fill memory of the group have an iteration for each item",
             so_far.tail.empty() ? "a loop" : buffer(so_far.tail.front().buffer).name);
    out.push_back(flat::barrier());
    so_far.tail.clear();
    so_far.meets = true;
  }

  bool differs(const flat::Expr& e) const {
    if ((e->contents & flat::contents::kData) != 0) return true;
    if (const auto* v = std::get_if<flat::Var>(&e->value)) return differing_.contains(v->id);
    bool any = false;
    flat::each_operand(*e, [&](const flat::Expr& x) { any = any || differs(x); });
    return any;
  }

  void collect(const flat::Expr& e, std::vector<GroupAccess>& out) const {
    if ((e->contents & flat::contents::kData) == 0) return;
    if (const auto* load = std::get_if<flat::Load>(&e->value);
        load != nullptr && buffer(load->buffer).scope == flat::Scope::kGroup)
      add(out, {{load->buffer, false, code_.owner_of(e.get()), stage_in(load->index)}});
    flat::each_operand(*e, [&](const flat::Expr& x) { collect(x, out); });
  }

  std::pair<flat::Stmt, Touched> visit(const flat::Stmt& s) {
    if (const auto* seq = std::get_if<flat::Seq>(&s->value)) {
      auto [stmts, touched] = in_order(seq->stmts);
      return {flat::seq(std::move(stmts)), std::move(touched)};
    }
    if (const auto* loop = std::get_if<flat::For>(&s->value)) return visit_loop(*loop);
    if (const auto* branch = std::get_if<flat::If>(&s->value)) return visit_branch(*branch);
    if (std::holds_alternative<flat::Exchange>(s->value) && divergent_ > 0)
      refuse(ErrorKind::kUnsupported,
             "items of a warp would have to exchange registers where only some of them run: let "
             "what is around the sum of their parts be the same for all");
    if (const auto* let = std::get_if<flat::Let>(&s->value)) {
      if (differs(let->value)) differing_.insert(let->var);
      defined_at_[let->var] = depth_;
    }
    return {s, simple(*s)};
  }

  Touched simple(const flat::StmtNode& s) const {
    if (std::holds_alternative<flat::Barrier>(s.value)) return {{}, {}, true};
    std::vector<GroupAccess> all;
    flat::each_part(s, [&](const flat::Expr& e) { collect(e, all); }, [](const flat::Stmt&) {});
    const auto fills = [&](int id, const flat::Expr& index) {
      if (buffer(id).scope == flat::Scope::kGroup)
        add(all, {{id, true, code_.owner_of(&s), stage_in(index)}});
    };
    if (const auto* store = std::get_if<flat::Store>(&s.value)) fills(store->buffer, store->index);
    if (const auto* copy = std::get_if<flat::AsyncCopy>(&s.value)) fills(copy->to, copy->to_index);
    // What it waits for was begun before; from here on others may read it.
    if (std::holds_alternative<flat::AwaitCopies>(s.value)) return {{}, copied_, false};
    return {all, all, false};
  }

  void find_copied(const flat::Stmt& s) {
    if (const auto* copy = std::get_if<flat::AsyncCopy>(&s->value))
      add(copied_, {{copy->to, true, code_.owner_of(s.get())}});
    flat::each_part(*s, [](const flat::Expr&) {}, [&](const flat::Stmt& x) { find_copied(x); });
  }

  std::pair<flat::Stmt, Touched> visit_loop(const flat::For& loop) {
    const bool divides = differs(loop.begin) || differs(loop.end);
    if (divides) differing_.insert(loop.var);
    divergent_ += divides ? 1 : 0;
    ++depth_;
    auto [stmts, touched] = in_order({loop.body});
    forget_stages(touched);
    // What an iteration leaves meets what the next one begins with.
    if (conflict(touched.tail, touched.head)) {
      std::tie(stmts, touched) = with_barrier_before(loop.body, touched.tail);
      forget_stages(touched);
      if (conflict(touched.tail, touched.head)) meet(stmts, touched);
    }
    --depth_;
    divergent_ -= divides ? 1 : 0;
    const auto begin = flat::as_int(loop.begin), end = flat::as_int(loop.end);
    touched.meets = touched.meets && begin && end && *begin < *end;
    return {flat::for_loop(loop.var, loop.begin, loop.end, flat::seq(std::move(stmts))),
            std::move(touched)};
  }

  // In another iteration of the loop at this depth, numbers of stages are others.
  void forget_stages(Touched& touched) const {
    for (auto* list : {&touched.head, &touched.tail})
      for (GroupAccess& access : *list)
        if (const auto found = defined_at_.find(access.stage);
            found != defined_at_.end() && found->second >= depth_)
          access.stage = -1;
  }

  // The body with a barrier before the first statement that meets what is left from before, and
  // with those that are needed besides.
  std::pair<std::vector<flat::Stmt>, Touched> with_barrier_before(
      const flat::Stmt& body, const std::vector<GroupAccess>& left) {
    std::vector<flat::Stmt> out, all = {body};
    if (const auto* seq = std::get_if<flat::Seq>(&body->value)) all = seq->stmts;
    Touched before{{}, left};
    bool placed = false;
    for (const flat::Stmt& s : all) {
      Touched touched = visit(s).second;
      forget_stages(touched);
      if (!placed && conflict(left, touched.head)) {
        meet(out, before);
        placed = true;
      }
      out.push_back(s);
    }
    return in_order(out);
  }

  std::pair<flat::Stmt, Touched> visit_branch(const flat::If& branch) {
    const bool divides = differs(branch.condition);
    divergent_ += divides ? 1 : 0;
    auto [then, touched] = in_order({branch.then});
    std::vector<flat::Stmt> otherwise;
    if (branch.otherwise) {
      Touched other;
      std::tie(otherwise, other) = in_order({branch.otherwise});
      add(touched.head, other.head);
      add(touched.tail, other.tail);
      touched.meets = touched.meets && other.meets;
    } else {
      touched.meets = false;
    }
    divergent_ -= divides ? 1 : 0;
    std::vector<GroupAccess> asked;
    collect(branch.condition, asked);
    add(touched.head, asked);
    if (!touched.meets) add(touched.tail, asked);
    return {flat::if_then(branch.condition, flat::seq(std::move(then)),
                          branch.otherwise ? flat::seq(std::move(otherwise)) : nullptr),
            std::move(touched)};
  }

  const Code& code_;
  std::unordered_set<int> differing_;  // variables that differ among the items of a group
  int divergent_ = 0;
  int depth_ = 0;                            // of loops
  std::unordered_map<int, int> defined_at_;  // lets: how many loops are around
  std::vector<GroupAccess> copied_;          // what asynchronous copies fill
};

}  // namespace

void place_barriers(const Code& code, const flat::Grid& grid, std::vector<flat::Stmt>& stmts) {
  stmts = BarrierPlacer(code, grid, stmts).in_order(stmts).first;
}

}  // namespace lathe::lower
