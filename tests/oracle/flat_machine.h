// The machine under flat_eval: a statement is an action, an expression is a list of instructions
// over cells.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "compiler/ir/flat/flat.h"
#include "oracle/flat_eval.h"
#include "oracle/flat_touch.h"

namespace lathe::interp {

// One lane. Reals of every type are held as f64; integers and bool are i64 within their range.
union Cell {
  double f;
  std::int64_t i;
};

struct Machine;
struct Insn {
  void (*run)(Machine& machine, const Insn& insn);
  int out = -1, a = -1, b = -1, c = -1;  // first cells; c of a load is its mask, -1: none
  int lanes = 1;
  Dtype dtype = Dtype::kF32, from = Dtype::kF32;  // types of the result and of operand a
  int op = 0;                                     // UnaryOp or BinaryOp
  int object = -1;                                // buffer or register
  bool vector_index = false;  // of a load; of a select: its condition is a vector
  std::int64_t stride = 0;    // of a ramp; of a reduction: lanes of its operand
};

struct Action {
  const flat::StmtNode* stmt;
  std::vector<Insn> code;  // evaluates the statement's expressions
  // Cells of the expressions: begin, end; condition; value; index, value, mask; of an asynchronous
  // copy where to, where from, its condition.
  int a = -1, b = -1, c = -1;
  std::vector<Action> body, otherwise;  // Seq, For, If; of a Region: an action for each phase
};

// Translates one statement. Cells of immediates are filled at once.
class Translator {
 public:
  Translator(const flat::Program& program, Machine& machine);
  Action translate(const flat::Stmt& stmt);

 private:
  friend struct ExprTranslator;
  int expression(const flat::Expr& e, Action& action);
  int new_cells(int lanes);

  const flat::Program& program_;
  Machine& machine_;
  struct Known {
    std::uint64_t hash;
    int cell;
  };
  std::vector<Known> known_;  // of the statement being translated; searched backwards
};

// Tells why there is no value: an index into Machine::poisons; 0 marks a proper value.
using Poison = std::uint32_t;
struct PoisonedLoad {
  enum class Why : std::uint8_t {
    kUnwritten,
    kOverwritten,
    kRegionEnded,
    kGroupEnded,
    kIterationEnded,
    kRace
  } why;
  int buffer;
  std::int64_t index;
  const flat::StmtNode* stmt;  // that loads it
};

// Who wrote an element of storage last. The numbers are epochs: every iteration of a parallel
// phase, and every stretch of the program between parallel regions, has its own.
struct Origin {
  std::uint32_t writer = 0;
  int buffer = -1;
  Poison poison = 0;
};
struct Area {
  Bytes bytes;
  int granule = 1;              // bytes that one origin stands for
  std::vector<Origin> origins;  // empty: read-only, always defined
  bool shared = true;           // by all workers
  std::uint32_t since = 0;      // what was written before this epoch is no longer there
};

// The bytes of an element.
struct Place {
  int area;
  std::size_t begin, bytes;
};

struct Machine {
  explicit Machine(const flat::Program& program);

  Status execute(const std::vector<Action>& actions, const flat::Grid& grid);
  Cell load(int buffer, std::int64_t index, Poison& poison);
  void store(int buffer, std::int64_t index, Cell value, Poison poison);
  // The same, without a look at who else touches the element.
  Cell peek(int buffer, std::int64_t index, Poison& poison);
  void poke(int buffer, std::int64_t index, Cell value, Poison poison);
  // `what` is done there: "a load of".
  Place place_of(int buffer, std::int64_t index, const char* what) const;
  // Calls f(area, granule, number of granules) for the granules of a place that items of a grid
  // share, which returns a Clash.
  template <class F>
  void each_shared(int buffer, std::int64_t index, const char* what, F&& f);
  void check_aligned(int buffer, std::int64_t index, int lanes, const char* what) const;
  void require_value(int cell, int lanes, const char* use) const;  // fails if a lane is poison
  std::string explain(Poison poison) const;
  FlatFault described(const struct Fault& fault) const;
  struct Fault fault_of(Poison poison, std::string message) const;
  FlatFault described(Poison poison) const;

  const flat::Program& program;
  std::vector<Cell> cells;
  std::vector<Poison> poison_of;  // by cell; filled only once there is poison
  std::vector<PoisonedLoad> poisons{{}};
  std::vector<int> var_cells, reg_cells;
  std::vector<std::uint32_t> reg_epochs;
  std::size_t own_cells = 0;  // the first ones: those of variables and registers

  std::deque<Area> areas;                 // areas_of_worker point into it
  std::vector<int> buffer_area;           // -1 for worker buffers
  std::vector<std::int64_t> buffer_base;  // bytes
  std::vector<int> worker_area;           // by worker
  int region_area = -1;                   // of buffers that a region shares
  int group_area = -1;                    // of the group that runs

  int worker = 0;
  // loop_epoch: the first epoch of the running parallel phase; 0: none runs.
  std::uint32_t epoch = 1, loop_epoch = 0;
  std::uint32_t last_epoch = 1;
  std::uint64_t seed = 1;
  bool reversed = false;  // parallel iterations run in the opposite order
  bool aligned_vectors = false;
  const Action* action = nullptr;
  Touches touches;
  bool in_grid = false;
  FlatFault found;  // by the last Status that is an error
};

// A fault of the program that runs; eval_flat returns it as its Error.
struct Fault {
  std::string message;
  FaultKind kind = FaultKind::kOther;
  int buffer = -1;
  std::int64_t index = -1;
  const flat::StmtNode* stmt = nullptr;  // null: the one that runs
};

template <class F>
void Machine::each_shared(int buffer, std::int64_t index, const char* what, F&& f) {
  const Place place = place_of(buffer, index, what);
  const Area& area = areas[static_cast<std::size_t>(place.area)];
  if (!area.shared || area.origins.empty()) return;
  const auto granule = static_cast<std::size_t>(area.granule);
  for (std::size_t g = place.begin / granule; g * granule < place.begin + place.bytes; ++g) {
    const Clash clash = f(place.area, g, area.origins.size());
    if (clash.why == nullptr) continue;
    const std::string& name = program.buffers[static_cast<std::size_t>(buffer)].name;
    throw Fault{fmt::format("{} {} at {}, {}", what, name, index, clash.why), clash.kind, buffer,
                index};
  }
}

// Evaluates the expressions of a statement.
void evaluate(Machine& machine, const Action& action);
// Does what a statement does that is no control flow and for which no items meet: Let, Store,
// RegWrite, PrefetchAt. False: the statement is another one.
bool perform(Machine& machine, const Action& action);
void set_var(Machine& machine, int id, std::int64_t value);
// Of a loop or phase whose expressions are evaluated; of an If the side that its condition takes.
std::pair<std::int64_t, std::int64_t> bounds_of(const Machine& machine, const Action& loop);
const std::vector<Action>& branch_of(const Machine& machine, const Action& branch);
// Runs the points of a grid (flat_grid.cpp).
void run_grid(Machine& machine, const std::vector<Action>& actions, const flat::Grid& grid);

Cell read_cell(Dtype dtype, const std::byte* address);
void write_cell(Dtype dtype, std::byte* address, Cell value);
double round_to(double value, Dtype dtype);

// The instruction for a node; the translator fills in its operands.
using Handler = void (*)(Machine&, const Insn&);
Handler handler_of(const flat::Unary&, Dtype dtype);
Handler handler_of(const flat::Binary&, Dtype operands);
Handler handler_fma(Dtype dtype);
Handler handler_select();
Handler handler_cast();
Handler handler_bitcast();
Handler handler_ramp();
Handler handler_broadcast();
Handler handler_reduce(Dtype dtype);
Handler handler_slide();
Handler handler_load();
Handler handler_check_reg();

}  // namespace lathe::interp
