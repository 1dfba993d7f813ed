// Flat program -> LLVM IR that needs no optimisation: registers are SSA values from the start,
// loops are rotated, equal computations are shared, address arithmetic stands outside the loops it
// does not depend on. Private to this room.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <variant>
#include <vector>

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include "base/target.h"
#include "compiler/codegen/llvm/codegen.h"
#include "compiler/codegen/llvm/scopes.h"
#include "compiler/codegen/nvptx/assembler.h"
#include "runtime/device/cuda/image.h"
#include "runtime/device/opencl/image.h"

namespace lathe::codegen {

// True if the buffers' storage may overlap: what the planner laid over each other, or two names of
// one tensor.
bool may_alias(const flat::Buffer& a, const flat::Buffer& b);

// True if every lane of the mask is known to be `value`; a mask that is not there is not known.
bool is_all(const llvm::Value* mask, bool value);
// Of a mask that is known and that the first lanes alone pass: how many these are. Else 0.
int first_lanes(const llvm::Value* mask);

constexpr int kZeroBytes = 64;
constexpr double kShortReach = 0x1p31;  // numbers of 32 bits stay below
// Numbers of address spaces of cards; processors have one, 0.
constexpr unsigned kGlobalSpace = 1, kGroupSpace = 3;

// What is asked of the machine that functions are emitted for.
struct Machine {
  std::string name;  // of the target
  bool has_fma = false, has_f16 = false;
  bool has_round = false;  // floor and ceil are instructions
  // Of a vector register, which one instruction loads or stores under a mask. 0: no instruction
  // does, so that each lane of its own is loaded or stored behind a branch.
  int vector_bits = 0;
  bool has_masks = false;  // registers for them, with which masked stores cost no more than others
  bool is_x86 = false;
  int threads = 1;  // that share the work of regions
  // A device whose kernels run on grids: indices have 32 bits where these suffice, accesses are
  // known to be aligned, and the items of a group work together.
  bool on_grid = false;
  bool has_copies = false;                                      // asynchronous ones
  std::vector<std::pair<std::string, std::string>> attributes;  // of its functions
  int stack_align = 0;                                          // bytes; 0: any

  int lanes(int element_bytes) const { return vector_bits / 8 / element_bytes; }
};
Machine machine_of(const CpuTarget& target, bool has_round);

// What all functions of a module share.
struct ModuleContext {
  ModuleContext(llvm::LLVMContext& context, const flat::Program& program, Machine machine);

  llvm::LLVMContext& context;
  const flat::Program& program;
  Machine machine;
  std::unique_ptr<llvm::Module> module;
  std::vector<llvm::GlobalVariable*> literals;      // a buffer; null for other scopes
  std::vector<llvm::MDNode*> alias_scope, noalias;  // a buffer
  bool decides_by_quotients;                        // the program does
  std::optional<Error> error;                       // the first one
  int phases = 0;                                   // that have a function so far

  llvm::Type* type(
      flat::Type type) const;  // in registers: bool is i1, bf16 (and f16 without hardware) i16
  llvm::Type* memory_type(flat::Type type) const;  // bool is i8
  llvm::Function* function(llvm::FunctionType* type, const std::string& name);
  // A place that a masked-off load may read: kZeroBytes zeros.
  llvm::Value* zeros();
  void refuse(const std::string& what);

 private:
  llvm::GlobalVariable* zeros_ = nullptr;
};

// Bytes into the workspace where the scratch of regions begins, behind that of the run.
std::int64_t shared_offset(const flat::Program& program);

// The module with `lathe_module` in it; with a name, what makes it that artifact instead of the
// export of that table.
Result<std::unique_ptr<llvm::Module>> emit_module(llvm::LLVMContext& context,
                                                  const flat::Program& program,
                                                  const CpuTarget& target,
                                                  llvm::TargetMachine& machine,
                                                  const Exported& artifact);
// `kernels` are those of the program.
void emit_artifact(ModuleContext& m, const Exported& as, llvm::Constant* table,
                   const std::vector<llvm::Function*>& kernels, const llvm::MCSubtargetInfo& info,
                   Isa isa);

// What an artifact carries instead of kernels: the image of a device; of a card its machine code,
// too.
struct CardCargo {
  cuda::Image image;
  std::vector<MachineCode> codes;
};
using Cargo = std::variant<opencl::Image, CardCargo>;

// The module of an artifact that carries an image; of the program, only the borders count.
std::unique_ptr<llvm::Module> emit_carrier(llvm::LLVMContext& context, const flat::Program& program,
                                           const CpuTarget& target, llvm::TargetMachine& machine,
                                           const std::string& artifact, const Cargo& cargo);

// The arguments of lathe_entry, as values of the function being emitted.
struct Frame {
  llvm::Value *runtime, *tensors, *constants, *workspace, *workers;
  llvm::Value* worker_area;  // of this thread
  // Of a grid's kernel, in place of all these: where a buffer begins, by code of the entry block.
  std::function<llvm::Value*(llvm::IRBuilder<>& entry, int buffer)> place;
};

class FunctionEmitter {
 public:
  // `function` is empty; its code is complete after finish().
  FunctionEmitter(ModuleContext& m, llvm::Function* function);
  // Of the entry block, which comes before everything emitted.
  llvm::IRBuilder<>& entry() { return entry_; }
  void set_frame(const Frame& frame) { frame_ = frame; }
  void set_var(int var, llvm::Value* value) {  // made in the entry block
    vars_[var] = value;
    scopes_.define(value, 0);
  }
  // The same of an index of a grid, 0 ... count - 1.
  void set_index(int var, llvm::Value* value, std::int64_t count) {
    set_var(var, value);
    reaches_[var] = static_cast<double>(count);
    naturals_.insert(var);
  }

  // Buffers, by number, that nothing writes to while the function runs.
  void set_unchanged(std::vector<char> unchanged) { unchanged_ = std::move(unchanged); }

  void emit(const flat::Stmt& stmt);
  // for (var = begin; var < end; ++var) body
  void loop(int var, llvm::Value* begin, llvm::Value* end, bool never_empty,
            const flat::Stmt& body);
  void finish();

 private:
  using Value = llvm::Value;

  // Statements (emit_stmt.cpp).
  void statement(const flat::Seq& n);
  void statement(const flat::For& n);
  void statement(const flat::Region& n);  // emit_region.cpp
  void statement(const flat::If& n);
  void statement(const flat::Let& n);
  void statement(const flat::Store& n);
  void statement(const flat::RegWrite& n);
  void statement(const flat::PrefetchAt& n);
  // What the items of a group do together (nvptx/emit_group.cpp).
  void statement(const flat::Barrier& n);
  void statement(const flat::AsyncCopy& n);
  void statement(const flat::CommitCopies& n);
  void statement(const flat::AwaitCopies& n);
  void statement(const flat::Exchange& n);
  bool refused_off_grid(const char* what);
  void touch_all();
  Value* exchanged(Value* x, int lane_mask);
  void iterate(int var, Value* begin, Value* end, bool never_empty, const flat::Stmt& body);
  void call_runtime(Value* phases, std::size_t count, Value* context);
  // `writes`: of a loop that is sure to run, the buffers that it writes to.
  void open(ScopeKind kind, llvm::Instruction* entry, std::optional<std::vector<int>> writes);
  void close();
  void touch(const std::vector<int>& buffers);  // their contents may have changed
  Value* reg_or_poison(int reg) const;
  bool provably_below(const flat::Expr& begin, const flat::Expr& end) const;

  // Expressions (emit_expr.cpp).
  Value* value(const flat::Expr& e);
  Value* expression(const flat::Node& e, const flat::IntImm& n);
  Value* expression(const flat::Node& e, const flat::FloatImm& n);
  Value* expression(const flat::Node& e, const flat::Var& n);
  Value* expression(const flat::Node& e, const flat::Unary& n);
  Value* expression(const flat::Node& e, const flat::Binary& n);
  Value* expression(const flat::Node& e, const flat::Fma& n);
  Value* expression(const flat::Node& e, const flat::Select& n);
  Value* expression(const flat::Node& e, const flat::Cast& n);
  Value* expression(const flat::Node& e, const flat::Bitcast& n);
  Value* expression(const flat::Node& e, const flat::Ramp& n);
  Value* expression(const flat::Node& e, const flat::Broadcast& n);
  Value* expression(const flat::Node& e, const flat::Reduce& n);
  Value* expression(const flat::Node& e, const flat::Slide& n);
  Value* expression(const flat::Node& e, const flat::Load& n);
  Value* expression(const flat::Node& e, const flat::RegRead& n);
  // An operation without side effects, shared with an equal one. A movable one goes to the
  // outermost scope possible.
  template <class Make>
  Value* pure(int operation, const void* type, std::initializer_list<Value*> operands, bool movable,
              Make&& make, std::uint64_t immediate = 0);
  Value* float_binary(flat::BinaryOp op, Value* a, Value* b);
  Value* extreme(unsigned intrinsic, Value* a, Value* b);
  Value* scale_by_power(Value* x, Value* power);
  Value* int_binary(flat::BinaryOp op, bool u, Value* a, Value* b);  // u: of unsigned numbers
  Value* float_unary(flat::UnaryOp op, Value* x);
  Value* round_without_hardware(Value* x, flat::UnaryOp op);
  Value* lane_mask(const flat::Node& e,
                   const flat::Binary& n);  // of a ramp against a scalar; null if it is not that
  double most_of(const flat::Expr& e) const;
  Value* convert(Value* x, flat::Type from, flat::Type to);
  Value* widen(Value* x, Dtype dtype);   // f16, bf16 -> f32; others stay
  Value* narrow(Value* x, Dtype dtype);  // the inverse
  Value* splat(Value* x, int lanes);

  // Long formulas in turns (emit_together.cpp).
  std::size_t together_from(std::span<const flat::Stmt> stmts) const;
  void emit_together(std::span<const flat::Stmt> stmts);

  // Slow scalars that stay the same in a loop (emit_invariant.cpp).
  // What `make` emits goes to the outermost scope possible.
  template <class Make>
  Value* moving(Make&& make);
  int home_of_load(int buffer, int depth) const;
  Value* load_before_loops(const flat::Node& e, const flat::Load& n);
  Value* divide_by_invariant(const flat::Binary& n, Value* x);

  // Indices in 32 bits (emit_short.cpp).
  double reach(const flat::Expr& e);
  double reach_of(const flat::Node& e);
  bool is_short(const flat::Expr& e);
  bool is_natural(const flat::Expr& e);
  Value* whole(Value* x, Dtype dtype);
  void match(Dtype dtype, Value*& a, Value*& b, bool shortened);
  std::int64_t multiple_of(const flat::Expr& e) const;
  llvm::Align align_at(const Value* address, flat::Type type) const;

  // Memory (emit_memory.cpp).
  struct Term {
    Value* value;
    std::int64_t bytes;     // that it is multiplied by
    std::int64_t multiple;  // that the value is one of
    double reach;           // that its size stays below
  };
  struct Address {
    std::vector<Term> terms;
    std::int64_t displacement = 0;
  };
  Value* offset_of(std::span<const Term> terms);
  void remember_alignment(int buffer, const Address& address, const Value* at);
  void collect(const flat::Expr& index, std::int64_t scale, Address& out);
  Value* base(int buffer);
  Value* pointer(int buffer, const flat::Expr& index);
  Value* scaled(Value* term, std::int64_t scale);
  Value* load_at(int buffer, Value* address, flat::Type type, Value* mask);
  Value* load_of_card(int buffer, Value* address, llvm::Type* memory, llvm::Align align);
  void store_at(int buffer, Value* address, Value* x, flat::Type type, Value* mask);
  Value* gather(const flat::Node& e, const flat::Load& n, Value* mask);
  Value* load_one_by_one(const flat::Node& e, const flat::Load& n, Value* mask);
  Value* load_strided(const flat::Node& e, const flat::Load& n, const flat::Ramp& place);
  void scatter(const flat::Store& n, Value* stored, Value* mask);
  Value* lane_pointer(int buffer, const flat::Expr& index, int lane);
  Value* from_memory(Value* x, flat::Type type);
  Value* to_memory(Value* x, flat::Type type);
  Value* scratch();  // where a masked-off lane may write
  // What `make` emits runs where the condition, a scalar, is true; elsewhere its value is 0.
  template <class Make>
  Value* behind(Value* condition, Make&& make);

  // Loads of elements that lie near each other (emit_near.cpp).
  Value* load_near(const flat::Node& e, const flat::Load& n);
  Value* load_between(const flat::Node& e, const flat::Load& n, const flat::Expr& base,
                      const std::vector<std::int64_t>& offsets);

  // Masked accesses of vectors (emit_masked.cpp).
  int most_masked(Dtype dtype) const;
  llvm::Instruction* masked_load(llvm::Type* memory, Value* address, llvm::Align align,
                                 Value* mask);
  llvm::Instruction* masked_store(Value* x, Value* address, llvm::Align align, Value* mask);
  void store_first(int buffer, Value* address, Value* x, llvm::Align align, int count);
  void check_width(llvm::Type* memory) const;
  flat::Expr lanes_of(const flat::Expr& e, int first, int count) const;
  Value* lanes(Value* x, int first, int count);
  Value* with_lanes_of(Value* whole, Value* x, int first);
  Value* load_in_parts(const flat::Node& e, const flat::Load& n);
  void store_in_parts(const flat::Store& n);

  // Stores past the caches (emit_stream.cpp).
  struct Streamed {
    const flat::Store* store;
    Value* value;  // as memory has it
  };
  std::int64_t streamed_bytes(flat::Type type) const;
  bool lies_alike(const flat::Store& a, const flat::Store& b) const;
  std::size_t streams_from(std::span<const flat::Stmt> stmts) const;
  void stream(std::span<const flat::Stmt> stmts);
  void stream(std::span<const Streamed> all);
  Value* low_bits(const flat::Store& n, std::int64_t piece);
  void finish_streams();

  // Stores and loads of a tile across the rows of memory (emit_transpose.cpp).
  using StorePiece = std::function<void(int row, int column, Value* piece)>;
  struct ColumnBlock {  // of neighbouring columns
    bool stores;
    int count, lanes;
    std::int64_t stride;  // elements, from row to row
    llvm::Type* element;
  };
  std::size_t columns_from(std::span<const flat::Stmt> stmts) const;
  void move_columns(std::span<const flat::Stmt> stmts);
  llvm::Function* block_function(const ColumnBlock& block);
  void store_block(const ColumnBlock& block, Value* columns, Value* first);
  void load_block(const ColumnBlock& block, Value* columns, Value* first);
  Value* column_place(Value* columns, const ColumnBlock& block, int column);
  void store_group(Value* const* columns, int width, int lanes, int column,
                   const StorePiece& store);
  void transpose_sixteen(Value* const* columns, int column, const StorePiece& store);

  void tag(llvm::Instruction* access, int buffer);

  ModuleContext& m_;
  llvm::Function* function_;
  llvm::IRBuilder<> b_;
  llvm::IRBuilder<> entry_;  // before the entry block's branch: argument loads, allocas
  Scopes scopes_;
  // A scope: what it writes to, where it is a loop that is sure to run.
  std::vector<std::optional<std::vector<int>>> writes_ = {std::nullopt};
  bool moving_ = false;  // what is computed now goes to the outermost scope possible
  Frame frame_{};
  std::unordered_map<int, Value*> vars_;
  std::unordered_map<int, double> lets_;             // of variables that are no loop's: most_of()
  std::unordered_map<int, double> reaches_;          // of variables: reach()
  std::set<int> naturals_;                           // variables that are known not to be negative
  std::unordered_map<int, std::int64_t> multiples_;  // of variables that are no loop's
  std::unordered_map<const Value*, std::uint64_t> aligned_;  // of addresses: bytes
  std::unordered_map<int, flat::Expr> vectors_;  // what variables that are vectors stand for
  std::vector<Value*> regs_;                     // null: not written yet
  std::vector<Value*> bases_;                    // a buffer
  std::vector<std::uint64_t> versions_;          // a buffer: changes when its contents may have
  std::uint64_t version_ = 0;
  std::vector<char> unchanged_;
  Value* scratch_ = nullptr;
  bool streams_ = false;      // it has stores that a fence must follow
  Value* columns_ = nullptr;  // where columns are on their way to or from rows
  // Values of shared nodes, within one statement. Holds the nodes, so that an address is not used
  // again.
  std::unordered_map<const flat::Node*, std::pair<flat::Expr, Value*>> memo_;
  std::unordered_map<const flat::Node*, std::pair<flat::Expr, double>> known_reaches_;
};

// Operations of ValueKey, beside the numbers of unary and binary operators.
enum Operation {
  kUnaryOperation = 0,
  kBinaryOperation = 100,
  kFmaOperation = 200,
  kSelectOperation,
  kConvertOperation,
  kBitcastOperation,
  kRampOperation,
  kSplatOperation,
  kLoadOperation,
  kScaleOperation,
  kPointerOperation,
  kChoiceOperation,  // of an address, or zeros
  kLaneMaskOperation,
  kExtractOperation,
  kWidenOperation,
  kNarrowOperation,
  kLowBitsOperation,
  kOffsetOperation,
  kPowerOperation,  // of two, for a division
  kReciprocalOperation,
  kReduceOperation = 300,
  kSlideOperation = 400,
};

// Implementation.
template <class Make>
llvm::Value* FunctionEmitter::behind(Value* condition, Make&& make) {
  auto* inside = llvm::BasicBlock::Create(m_.context, "wanted", function_);
  auto* after = llvm::BasicBlock::Create(m_.context, "any");
  llvm::BasicBlock* before = b_.GetInsertBlock();
  b_.CreateCondBr(condition, inside, after);
  b_.SetInsertPoint(inside);
  Value* x = make();
  b_.CreateBr(after);
  function_->insert(function_->end(), after);
  b_.SetInsertPoint(after);
  if (x == nullptr) return nullptr;
  llvm::PHINode* out = b_.CreatePHI(x->getType(), 2);
  out->addIncoming(llvm::Constant::getNullValue(x->getType()), before);
  out->addIncoming(x, inside);
  return out;
}

template <class Make>
llvm::Value* FunctionEmitter::pure(int operation, const void* type,
                                   std::initializer_list<Value*> operands, bool movable,
                                   Make&& make, std::uint64_t immediate) {
  ValueKey key{operation, {reinterpret_cast<std::uintptr_t>(type), immediate}};
  int depth = 0;
  std::size_t at = 2;
  for (Value* operand : operands) {
    key.parts.at(at++) = reinterpret_cast<std::uintptr_t>(operand);
    depth = std::max(depth, scopes_.depth_of(operand));
  }
  if (Value* known = movable ? scopes_.find(key) : scopes_.find_innermost(key)) return known;
  return scopes_.add(key, movable ? scopes_.home(depth) : scopes_.current(), make);
}

}  // namespace lathe::codegen
