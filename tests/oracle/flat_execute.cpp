// Statements: what each does, and the order in which they run.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "base/rng.h"
#include "oracle/flat_machine.h"

namespace lathe::interp {

void evaluate(Machine& m, const Action& action) {
  m.action = &action;
  for (const Insn& insn : action.code) insn.run(m, insn);
}

namespace {

Cell cell_of(const Machine& m, int index) { return m.cells[static_cast<std::size_t>(index)]; }

void store_lanes(Machine& m, const flat::Store& n, const Action& action) {
  const int lanes = n.value->type.lanes;
  const bool vector_index = n.index->type.lanes > 1;
  m.require_value(action.a, vector_index ? lanes : 1, "an address");
  if (action.c >= 0) m.require_value(action.c, lanes, "a mask");
  const std::int64_t first = cell_of(m, action.a).i;
  if (m.aligned_vectors && lanes > 1 && !vector_index && action.c < 0)
    m.check_aligned(n.buffer, first, lanes, "a store of");
  for (int l = 0; l < lanes; ++l) {
    if (action.c >= 0 && cell_of(m, action.c + l).i == 0) continue;
    const Poison poison =
        m.poison_of.empty() ? 0 : m.poison_of[static_cast<std::size_t>(action.b + l)];
    m.store(n.buffer, vector_index ? cell_of(m, action.a + l).i : first + l,
            cell_of(m, action.b + l), poison);
  }
}

void write_reg(Machine& m, const flat::RegWrite& n, const Action& action) {
  const auto reg = static_cast<std::size_t>(n.reg);
  const auto lanes = static_cast<std::size_t>(m.program.regs[reg].lanes);
  std::copy_n(m.cells.begin() + action.a, lanes, m.cells.begin() + m.reg_cells[reg]);
  if (!m.poison_of.empty())
    std::copy_n(m.poison_of.begin() + action.a, lanes, m.poison_of.begin() + m.reg_cells[reg]);
  m.reg_epochs[reg] = m.epoch;
}

}  // namespace

void set_var(Machine& m, int id, std::int64_t value) {
  m.cells[static_cast<std::size_t>(m.var_cells[static_cast<std::size_t>(id)])].i = value;
}

bool perform(Machine& m, const Action& action) {
  const auto& statement = action.stmt->value;
  if (const auto* n = std::get_if<flat::Let>(&statement)) {
    m.require_value(action.a, 1, "a let");
    set_var(m, n->var, cell_of(m, action.a).i);
  } else if (const auto* n = std::get_if<flat::Store>(&statement)) {
    store_lanes(m, *n, action);
  } else if (const auto* n = std::get_if<flat::RegWrite>(&statement)) {
    write_reg(m, *n, action);
  } else {
    return std::holds_alternative<flat::PrefetchAt>(statement);
  }
  return true;
}

std::pair<std::int64_t, std::int64_t> bounds_of(const Machine& m, const Action& loop) {
  m.require_value(loop.a, 1, "a loop's bound");
  m.require_value(loop.b, 1, "a loop's bound");
  return {cell_of(m, loop.a).i, cell_of(m, loop.b).i};
}

const std::vector<Action>& branch_of(const Machine& m, const Action& branch) {
  m.require_value(branch.a, 1, "a condition");
  return cell_of(m, branch.a).i != 0 ? branch.body : branch.otherwise;
}

namespace {

// Of kernels that run once.
class Executor {
 public:
  explicit Executor(Machine& machine) : m_(machine) {}

  void run(const std::vector<Action>& actions) {
    for (const Action& action : actions) {
      evaluate(m_, action);
      if (!perform(m_, action))
        std::visit([&](const auto& n) { control(n, action); }, action.stmt->value);
    }
  }

 private:
  template <class Other>
  void control(const Other&, const Action&) {
    throw Fault{"this is for the items of a grid"};
  }
  void control(const flat::Seq&, const Action& action) { run(action.body); }
  void control(const flat::If&, const Action& action) { run(branch_of(m_, action)); }
  void control(const flat::For& n, const Action& action) {
    const auto [begin, end] = bounds_of(m_, action);
    for (std::int64_t i = begin; i < end; ++i) {
      set_var(m_, n.var, i);
      run(action.body);
    }
  }
  void control(const flat::Region& n, const Action& action) {
    std::vector<std::pair<std::int64_t, std::int64_t>> bounds;
    for (const Action& phase : action.body) bounds.push_back(bounds_of(m_, phase));
    end_region();
    for (std::size_t i = 0; i < bounds.size(); ++i)
      parallel(bounds[i].first, bounds[i].second, [&](std::int64_t iteration) {
        set_var(m_, n.phases[i].var, iteration);
        run(action.body[i].body);
      });
    end_region();
  }
  void end_region() {
    m_.epoch = ++m_.last_epoch;
    m_.areas[static_cast<std::size_t>(m_.region_area)].since = m_.epoch;
  }
  template <class Body>
  void parallel(std::int64_t begin, std::int64_t end, const Body& body) {
    if (begin >= end) return;
    std::vector<std::int64_t> order(static_cast<std::size_t>(end - begin));
    std::iota(order.begin(), order.end(), begin);
    Rng rng(m_.seed ^ m_.last_epoch);
    shuffle(order, rng);
    if (m_.reversed) std::ranges::reverse(order);
    m_.loop_epoch = m_.last_epoch + 1;
    for (const std::int64_t i : order) {
      m_.epoch = ++m_.last_epoch;
      m_.worker = static_cast<int>(rng.below(m_.worker_area.size()));
      body(i);
    }
    m_.loop_epoch = 0;
    m_.epoch = ++m_.last_epoch;
    m_.worker = 0;
  }

  Machine& m_;
};

}  // namespace

Status Machine::execute(const std::vector<Action>& actions, const flat::Grid& grid) {
  try {
    if (grid.axes().empty()) Executor(*this).run(actions);
    else run_grid(*this, actions, grid);
  } catch (const Fault& fault) {
    found = described(fault);
    std::string values;
    for (std::size_t i = 0; i < program.vars.size() && i < 16; ++i)
      values +=
          fmt::format(" {}={}", program.vars[i], cells[static_cast<std::size_t>(var_cells[i])].i);
    return fail_at(found.place, ErrorKind::kRun, "{} (variables:{})", fault.message, values);
  }
  return {};
}

}  // namespace lathe::interp
