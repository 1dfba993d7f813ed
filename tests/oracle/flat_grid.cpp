// Grids: groups one after the other, the items of one from barrier to barrier.
#include <algorithm>
#include <deque>
#include <numeric>

#include <fmt/format.h>

#include "base/rng.h"
#include "oracle/flat_machine.h"

namespace lathe::interp {
namespace {

// Statements that an item is in; of a loop, which iteration.
struct Frame {
  const std::vector<Action>* actions;
  std::size_t next = 0;
  int var = -1;
  std::int64_t iteration = 0, end = 0;
};

// An asynchronous copy on its way.
struct Copy {
  const Action* action;
  std::int64_t to, from;
  bool reads;  // else it stores zeros
  std::uint64_t moment;
};

struct Item {
  int number = 0;  // in its group
  std::vector<Frame> stack;
  const Action* waits = nullptr;  // a barrier or exchange; null: it is done
  std::uint64_t turn = 0;
  std::uint32_t epoch = 0;
  std::deque<std::vector<Copy>> batches;
  std::vector<Copy> copies;  // of no batch yet
  // While others run: what variables and registers hold.
  std::vector<Cell> cells;
  std::vector<Poison> poison_of;
  std::vector<std::uint32_t> reg_epochs;
  // What it gives in an exchange.
  Cell given{};
  Poison given_poison = 0;
};

class GridRun {
 public:
  GridRun(Machine& machine, const std::vector<Action>& actions, const flat::Grid& grid)
      : m_(machine), actions_(actions), grid_(grid), rng_(machine.seed ^ machine.last_epoch) {}

  void run() {
    m_.in_grid = true;
    m_.touches.begin_kernel();
    for (const std::int64_t group : random_order(points(grid_.groups))) run_group(group);
    m_.in_grid = false;
    m_.worker = 0;
    m_.epoch = ++m_.last_epoch;
  }

 private:
  static std::int64_t points(const std::array<flat::Axis, 3>& axes) {
    return axes[0].count * axes[1].count * axes[2].count;
  }
  std::vector<std::int64_t> random_order(std::int64_t count) {
    std::vector<std::int64_t> order(static_cast<std::size_t>(count));
    std::iota(order.begin(), order.end(), 0);
    shuffle(order, rng_);
    if (m_.reversed) std::ranges::reverse(order);
    return order;
  }
  void set_point(const std::array<flat::Axis, 3>& axes, std::int64_t point) {
    for (const flat::Axis& axis : axes) {
      if (axis.var >= 0) set_var(m_, axis.var, point % axis.count);
      point /= axis.count;
    }
  }

  void run_group(std::int64_t group) {
    m_.touches.begin_group(m_.group_area);
    m_.areas[static_cast<std::size_t>(m_.group_area)].since = ++m_.last_epoch;
    set_point(grid_.groups, group);
    items_.assign(static_cast<std::size_t>(points(grid_.items)), {});
    for (std::size_t i = 0; i < items_.size(); ++i) begin(items_[i], static_cast<int>(i));
    do {
      for (const std::int64_t i : random_order(static_cast<std::int64_t>(items_.size())))
        resume(items_[static_cast<std::size_t>(i)]);
    } while (meet());
  }
  void begin(Item& item, int number) {
    item.number = number;
    item.stack.push_back({.actions = &actions_});
    item.epoch = ++m_.last_epoch;
    item.turn = m_.touches.new_turn();
    set_point(grid_.items, number);
    leave(item);
  }

  // Runs the item as far as it comes alone.
  void resume(Item& item) {
    enter(item);
    item.waits = nullptr;
    while (!item.stack.empty() && item.waits == nullptr) {
      Frame& frame = item.stack.back();
      if (frame.next < frame.actions->size()) step(item, (*frame.actions)[frame.next++]);
      else end_of(item, frame);
    }
    leave(item);
  }
  void end_of(Item& item, Frame& frame) {
    if (frame.var < 0 || ++frame.iteration >= frame.end) return item.stack.pop_back();
    set_var(m_, frame.var, frame.iteration);
    frame.next = 0;
  }
  void step(Item& item, const Action& action) {
    evaluate(m_, action);
    if (perform(m_, action)) return;
    std::visit([&](const auto& n) { step(item, action, n); }, action.stmt->value);
  }
  template <class Other>
  void step(Item&, const Action&, const Other&) {
    throw Fault{"a statement that is not for grids"};
  }
  void step(Item& item, const Action& action, const flat::Seq&) {
    item.stack.push_back({.actions = &action.body});
  }
  void step(Item& item, const Action& action, const flat::If&) {
    item.stack.push_back({.actions = &branch_of(m_, action)});
  }
  void step(Item& item, const Action& action, const flat::For& n) {
    const auto [begin, end] = bounds_of(m_, action);
    if (begin >= end) return;
    set_var(m_, n.var, begin);
    item.stack.push_back({.actions = &action.body, .var = n.var, .iteration = begin, .end = end});
  }
  void step(Item& item, const Action& action, const flat::Barrier&) { item.waits = &action; }
  void step(Item& item, const Action& action, const flat::Exchange&) {
    item.waits = &action;
    item.given = m_.cells[static_cast<std::size_t>(action.a)];
    item.given_poison = poison_at(action.a);
  }
  void step(Item& item, const Action&, const flat::CommitCopies&) {
    item.batches.push_back(std::exchange(item.copies, {}));
  }
  void step(Item& item, const Action&, const flat::AwaitCopies& n) {
    for (; item.batches.size() > static_cast<std::size_t>(n.pending); item.batches.pop_front())
      for (const Copy& copy : item.batches.front()) end(copy);
  }
  void step(Item& item, const Action& action, const flat::AsyncCopy& n) {
    m_.require_value(action.a, 1, "an address");
    m_.require_value(action.b, 1, "an address");
    if (action.c >= 0) m_.require_value(action.c, 1, "a condition");
    const auto value = [&](int cell) { return m_.cells[static_cast<std::size_t>(cell)].i; };
    const Copy copy{.action = &action,
                    .to = value(action.a),
                    .from = value(action.b),
                    .reads = action.c < 0 || value(action.c) != 0,
                    .moment = m_.touches.moment()};
    m_.check_aligned(n.to, copy.to, n.lanes, "a copy to");
    if (copy.reads) m_.check_aligned(n.from, copy.from, n.lanes, "a copy of");
    for (int l = 0; l < n.lanes; ++l) {
      if (copy.reads)
        m_.each_shared(n.from, copy.from + l, "a copy of",
                       [&](int area, auto g, auto all) { return m_.touches.load(area, g, all); });
      m_.each_shared(n.to, copy.to + l, "a copy to", [&](int area, auto g, auto all) {
        return m_.touches.begin_copy(area, g, all);
      });
    }
    item.copies.push_back(copy);
  }
  void end(const Copy& copy) {
    const auto& n = std::get<flat::AsyncCopy>(copy.action->stmt->value);
    const Action* waits = std::exchange(m_.action, copy.action);
    const Dtype dtype = m_.program.buffers[static_cast<std::size_t>(n.to)].dtype;
    for (int l = 0; l < n.lanes; ++l) {
      Poison poison = 0;
      Cell value = is_float(dtype) ? Cell{.f = 0} : Cell{.i = 0};
      if (copy.reads) {
        m_.each_shared(n.from, copy.from + l, "a copy of", [&](int area, auto g, auto all) {
          return m_.touches.since(area, g, all, copy.moment);
        });
        value = m_.peek(n.from, copy.from + l, poison);
      }
      m_.each_shared(n.to, copy.to + l, "a copy to", [&](int area, auto g, auto all) {
        m_.touches.end_copy(area, g, all);
        return Clash{};
      });
      m_.poke(n.to, copy.to + l, value, poison);
    }
    m_.action = waits;
  }

  // Whether the items go on, after what they all wait for.
  bool meet() {
    const Action* at = items_[0].waits;
    for (const Item& item : items_)
      if (item.waits != at) diverged(item);
    if (at == nullptr) return false;
    if (const auto* n = std::get_if<flat::Exchange>(&at->stmt->value)) {
      for (Item& item : items_) take(item, *n);
      return true;
    }
    m_.touches.begin_interval();
    for (Item& item : items_) item.turn = m_.touches.new_turn();
    return true;
  }
  [[noreturn]] void diverged(const Item& item) {
    const bool comes = item.waits != nullptr;
    m_.action = comes ? item.waits : items_[0].waits;
    throw Fault{fmt::format("item {} of a group comes here, and item {} does not",
                            comes ? item.number : 0, comes ? 0 : item.number),
                FaultKind::kDivergence};
  }
  void take(Item& item, const flat::Exchange& n) {
    const auto other = static_cast<std::size_t>(item.number ^ n.lane_mask);
    if (other >= items_.size()) diverged(item);
    const auto cell = static_cast<std::size_t>(m_.reg_cells[static_cast<std::size_t>(n.reg)]);
    item.cells[cell] = items_[other].given;
    if (const Poison poison = items_[other].given_poison; poison != 0 || !item.poison_of.empty()) {
      item.poison_of.resize(m_.own_cells);
      item.poison_of[cell] = poison;
    }
    item.reg_epochs[static_cast<std::size_t>(n.reg)] = item.epoch;
  }

  Poison poison_at(int cell) const {
    return m_.poison_of.empty() ? 0 : m_.poison_of[static_cast<std::size_t>(cell)];
  }
  void enter(Item& item) {
    std::ranges::copy(item.cells, m_.cells.begin());
    if (!m_.poison_of.empty()) {
      item.poison_of.resize(m_.own_cells);
      std::ranges::copy(item.poison_of, m_.poison_of.begin());
    }
    std::ranges::copy(item.reg_epochs, m_.reg_epochs.begin());
    m_.epoch = item.epoch;
    m_.worker = item.number;
    m_.touches.resume(item.number, item.turn);
  }
  void leave(Item& item) {
    const auto own = static_cast<std::ptrdiff_t>(m_.own_cells);
    item.cells.assign(m_.cells.begin(), m_.cells.begin() + own);
    if (!m_.poison_of.empty())
      item.poison_of.assign(m_.poison_of.begin(), m_.poison_of.begin() + own);
    item.reg_epochs = m_.reg_epochs;
  }

  Machine& m_;
  const std::vector<Action>& actions_;
  const flat::Grid& grid_;
  Rng rng_;
  std::vector<Item> items_;  // of the group that runs
};

}  // namespace

void run_grid(Machine& machine, const std::vector<Action>& actions, const flat::Grid& grid) {
  GridRun(machine, actions, grid).run();
}

}  // namespace lathe::interp
