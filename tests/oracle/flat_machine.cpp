// The checks of storage, and the loop that runs actions.
#include "oracle/flat_machine.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include <fmt/format.h>

#include "base/rng.h"

namespace lathe::interp {
namespace {

template <class T>
T from_bytes(const std::byte* address) {
  T value;
  std::memcpy(&value, address, sizeof(T));
  return value;
}
template <class T>
void to_bytes(std::byte* address, T value) {
  std::memcpy(address, &value, sizeof(T));
}

}  // namespace

Cell read_cell(Dtype dtype, const std::byte* address) {
  if (dtype == Dtype::kI64) return {.i = from_bytes<std::int64_t>(address)};
  const double value = load_element(dtype, address);
  if (is_float(dtype)) return {.f = value};
  return {.i = static_cast<std::int64_t>(value)};
}

void write_cell(Dtype dtype, std::byte* address, Cell value) {
  switch (dtype) {
    case Dtype::kI8:
    case Dtype::kU8:
    case Dtype::kBool: return to_bytes(address, static_cast<std::uint8_t>(value.i));
    case Dtype::kI32: return to_bytes(address, static_cast<std::int32_t>(value.i));
    case Dtype::kI64: return to_bytes(address, value.i);
    default: return store_element(dtype, address, value.f);
  }
}

double round_to(double value, Dtype dtype) {
  switch (dtype) {
    case Dtype::kF32: return static_cast<float>(value);
    case Dtype::kF16: return f16_to_f32(f32_to_f16(static_cast<float>(value)));
    case Dtype::kBF16: return bf16_to_f32(f32_to_bf16(static_cast<float>(value)));
    default: return value;
  }
}

Machine::Machine(const flat::Program& p)
    : program(p), buffer_area(p.buffers.size(), -1), buffer_base(p.buffers.size()) {}

Area& Machine::area_of(int buffer) {
  const int area = buffer_area[static_cast<std::size_t>(buffer)];
  return areas[static_cast<std::size_t>(area >= 0 ? area
                                                  : worker_area[static_cast<std::size_t>(worker)])];
}

Cell Machine::load(int id, std::int64_t index, Poison& poison) {
  const flat::Buffer& b = program.buffers[static_cast<std::size_t>(id)];
  if (index < 0 || index >= b.size)
    throw Fault{fmt::format("a load of {} at {}, outside its {} elements", b.name, index, b.size)};
  Area& area = area_of(id);
  const int bytes = size_of(b.dtype);
  const std::size_t begin =
      static_cast<std::size_t>(buffer_base[static_cast<std::size_t>(id)] + index * bytes);
  const auto none = [&](PoisonedLoad::Why why) {
    poisons.push_back({why, id, index});
    return static_cast<Poison>(poisons.size() - 1);
  };
  if (!area.origins.empty())
    for (std::size_t g = begin / area.granule;
         g < (begin + bytes + area.granule - 1) / area.granule && poison == 0; ++g) {
      const Origin& t = area.origins[g];
      using enum PoisonedLoad::Why;
      if (t.writer == 0) poison = none(kUnwritten);
      else if (t.writer < area.since) poison = none(kRegionEnded);
      else if (t.buffer != id) poison = none(kOverwritten);
      else if (!area.shared && t.writer != epoch) poison = none(kIterationEnded);
      else if (area.shared && loop_epoch != 0 && t.writer >= loop_epoch && t.writer != epoch)
        poison = none(kRace);
      else poison = t.poison;
    }
  return read_cell(b.dtype, &area.bytes[begin]);
}

void Machine::store(int id, std::int64_t index, Cell value, Poison poison) {
  const flat::Buffer& b = program.buffers[static_cast<std::size_t>(id)];
  if (index < 0 || index >= b.size)
    throw Fault{fmt::format("a store to {} at {}, outside its {} elements", b.name, index, b.size)};
  Area& area = area_of(id);
  const int bytes = size_of(b.dtype);
  const std::size_t begin =
      static_cast<std::size_t>(buffer_base[static_cast<std::size_t>(id)] + index * bytes);
  std::byte fresh[8];
  write_cell(b.dtype, fresh, value);
  const bool same = std::memcmp(fresh, &area.bytes[begin], static_cast<std::size_t>(bytes)) == 0;
  for (std::size_t g = begin / area.granule; g < (begin + bytes + area.granule - 1) / area.granule;
       ++g) {
    Origin& t = area.origins[g];
    const bool other =
        loop_epoch != 0 && area.shared && t.writer >= loop_epoch && t.writer != epoch;
    const bool proper = poison == 0 && t.poison == 0;
    if (other && proper && (!same || t.buffer != id))
      throw Fault{fmt::format(
          "a store to {} at {}, which another iteration of the parallel loop also writes", b.name,
          index)};
    t = {.writer = epoch, .buffer = id, .poison = other && t.poison != 0 ? t.poison : poison};
  }
  std::memcpy(&area.bytes[begin], fresh, static_cast<std::size_t>(bytes));
}

std::string Machine::explain(Poison poison) const {
  const PoisonedLoad& load = poisons[poison];
  const auto why = [&] {
    switch (load.why) {
      case PoisonedLoad::Why::kUnwritten: return "nothing has written";
      case PoisonedLoad::Why::kOverwritten:
        return "another buffer in the same place has overwritten";
      case PoisonedLoad::Why::kRegionEnded:
        return "was written before the end of a parallel region or of prepare";
      case PoisonedLoad::Why::kIterationEnded:
        return "was written in another iteration of a parallel loop";
      case PoisonedLoad::Why::kRace: return "another iteration of the parallel loop writes";
    }
    return "";
  };
  return fmt::format("a load of {} at {}, which {}",
                     program.buffers[static_cast<std::size_t>(load.buffer)].name, load.index,
                     why());
}

void Machine::require_value(int cell, int lanes, const char* use) const {
  if (poison_of.empty()) return;
  for (int l = 0; l < lanes; ++l)
    if (const Poison poison = poison_of[static_cast<std::size_t>(cell + l)])
      throw Fault{fmt::format("{} depends on {}", use, explain(poison))};
}

namespace {

class Executor {
 public:
  explicit Executor(Machine& machine) : m_(machine) {}

  void run(const std::vector<Action>& actions) {
    for (const Action& action : actions) {
      m_.action = &action;
      for (const Insn& insn : action.code) insn.run(m_, insn);
      std::visit([&](const auto& n) { finish(n, action); }, action.stmt->value);
    }
  }

  void run_grid(const std::vector<Action>& actions, const flat::Grid& grid) {
    const std::vector<flat::Axis> axes = grid.axes();
    std::int64_t points = 1;
    for (const flat::Axis& axis : axes) points *= axis.count;
    parallel(0, points, [&](std::int64_t point) {
      for (const flat::Axis& axis : axes) {
        set_var(axis.var, point % axis.count);
        point /= axis.count;
      }
      run(actions);
    });
  }

 private:
  Cell cell(int index) const { return m_.cells[static_cast<std::size_t>(index)]; }

  void finish(const flat::Seq&, const Action& action) { run(action.body); }
  void finish(const flat::If&, const Action& action) {
    m_.require_value(action.a, 1, "a condition");
    run(cell(action.a).i != 0 ? action.body : action.otherwise);
  }
  void finish(const flat::Let& n, const Action& action) {
    m_.require_value(action.a, 1, "a let");
    set_var(n.var, cell(action.a).i);
  }
  void finish(const flat::PrefetchAt&, const Action&) {}
  void finish(const flat::Barrier&, const Action&) { throw Fault{"a barrier"}; }
  void finish(const flat::AsyncCopy&, const Action&) { throw Fault{"an asynchronous copy"}; }
  void finish(const flat::CommitCopies&, const Action&) { throw Fault{"a batch of copies"}; }
  void finish(const flat::AwaitCopies&, const Action&) { throw Fault{"a wait for copies"}; }
  void finish(const flat::Exchange&, const Action&) { throw Fault{"an exchange"}; }
  void finish(const flat::For& n, const Action& action) {
    m_.require_value(action.a, 1, "a loop's bound");
    m_.require_value(action.b, 1, "a loop's bound");
    const std::int64_t begin = cell(action.a).i, end = cell(action.b).i;
    for (std::int64_t i = begin; i < end; ++i) {
      set_var(n.var, i);
      run(action.body);
    }
  }
  void finish(const flat::Region& n, const Action& action) {
    std::vector<std::pair<std::int64_t, std::int64_t>> bounds;
    for (const Action& phase : action.body) {
      m_.require_value(phase.a, 1, "a loop's bound");
      m_.require_value(phase.b, 1, "a loop's bound");
      bounds.emplace_back(cell(phase.a).i, cell(phase.b).i);
    }
    end_region();
    for (std::size_t i = 0; i < bounds.size(); ++i)
      parallel(bounds[i].first, bounds[i].second, [&](std::int64_t iteration) {
        set_var(n.phases[i].var, iteration);
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
  void finish(const flat::Store& n, const Action& action) {
    const int lanes = n.value->type.lanes;
    const bool vector_index = n.index->type.lanes > 1;
    m_.require_value(action.a, vector_index ? lanes : 1, "an address");
    if (action.c >= 0) m_.require_value(action.c, lanes, "a mask");
    for (int l = 0; l < lanes; ++l) {
      if (action.c >= 0 && cell(action.c + l).i == 0) continue;
      const Poison poison =
          m_.poison_of.empty() ? 0 : m_.poison_of[static_cast<std::size_t>(action.b + l)];
      m_.store(n.buffer, vector_index ? cell(action.a + l).i : cell(action.a).i + l,
               cell(action.b + l), poison);
    }
  }
  void finish(const flat::RegWrite& n, const Action& action) {
    const auto reg = static_cast<std::size_t>(n.reg);
    const auto lanes = static_cast<std::size_t>(m_.program.regs[reg].lanes);
    std::copy_n(m_.cells.begin() + action.a, lanes, m_.cells.begin() + m_.reg_cells[reg]);
    if (!m_.poison_of.empty())
      std::copy_n(m_.poison_of.begin() + action.a, lanes, m_.poison_of.begin() + m_.reg_cells[reg]);
    m_.reg_epochs[reg] = m_.epoch;
  }
  void set_var(int id, std::int64_t value) {
    m_.cells[static_cast<std::size_t>(m_.var_cells[static_cast<std::size_t>(id)])].i = value;
  }

  Machine& m_;
};

// The statement's text, without the body of a loop or if.
std::string first_line(const flat::Program& program, const flat::StmtNode& stmt) {
  const flat::Stmt alias(std::shared_ptr<void>(), &stmt);  // does not own
  const std::string text = print(program, alias);
  const auto* list = std::get_if<flat::Seq>(&stmt.value);
  return list != nullptr || text.empty() ? "" : text.substr(0, text.find('\n'));
}

}  // namespace

Status Machine::execute(const std::vector<Action>& actions, const flat::Grid& grid) {
  try {
    if (grid.axes().empty()) Executor(*this).run(actions);
    else Executor(*this).run_grid(actions, grid);
  } catch (const Fault& fault) {
    std::string values;
    for (std::size_t i = 0; i < program.vars.size() && i < 16; ++i)
      values +=
          fmt::format(" {}={}", program.vars[i], cells[static_cast<std::size_t>(var_cells[i])].i);
    return fail_at(action == nullptr ? "" : first_line(program, *action->stmt), ErrorKind::kRun,
                   "{} (variables:{})", fault.message, values);
  }
  return {};
}

}  // namespace lathe::interp
