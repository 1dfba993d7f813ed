// The machine under flat_eval: a statement is an action, an expression is a list of instructions
// over cells.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "compiler/ir/flat/flat.h"
#include "oracle/flat_eval.h"

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
  // Cells of the expressions: begin, end; condition; value; index, value, mask.
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
    kIterationEnded,
    kRace
  } why;
  int buffer;
  std::int64_t index;
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

struct Machine {
  explicit Machine(const flat::Program& program);

  Status execute(const std::vector<Action>& actions, const flat::Grid& grid);
  Cell load(int buffer, std::int64_t index, Poison& poison);
  void store(int buffer, std::int64_t index, Cell value, Poison poison);
  Area& area_of(int buffer);
  void require_value(int cell, int lanes, const char* use) const;  // fails if a lane is poison
  std::string explain(Poison poison) const;

  const flat::Program& program;
  std::vector<Cell> cells;
  std::vector<Poison> poison_of;  // by cell; filled only once there is poison
  std::vector<PoisonedLoad> poisons{{}};
  std::vector<int> var_cells, reg_cells;
  std::vector<std::uint32_t> reg_epochs;

  std::deque<Area> areas;                 // areas_of_worker point into it
  std::vector<int> buffer_area;           // -1 for worker buffers
  std::vector<std::int64_t> buffer_base;  // bytes
  std::vector<int> worker_area;           // by worker
  int region_area = -1;                   // of buffers that a region shares

  int worker = 0;
  // loop_epoch: the first epoch of the running parallel phase; 0: none runs.
  std::uint32_t epoch = 1, loop_epoch = 0;
  std::uint32_t last_epoch = 1;
  std::uint64_t seed = 1;
  bool reversed = false;  // parallel iterations run in the opposite order
  const Action* action = nullptr;
};

// A fault of the program that runs; eval_flat returns it as its Error.
struct Fault {
  std::string message;
};

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
Handler handler_load();
Handler handler_check_reg();

}  // namespace lathe::interp
