// The lowered program: explicit addresses, vectors, masks and registers. Code generators translate
// it one to one.
//
// Indices are i64, and buffers are one-dimensional arrays of their dtype. A vector Load or Store
// touches `lanes` consecutive elements from a scalar index on, or the elements that a vector index
// names. A masked-off lane of a Load is 0 and touches no memory. Registers are mutable typed cells
// without an address: code generation keeps them as SSA values. They are private to a kernel, and
// to an iteration of a parallel phase: no register is carried into, across or out of these. A loop
// or a Let defines a variable once in a kernel, for what follows inside the same list of
// statements.
//
// f32, f16 and bf16 arithmetic rounds to the type after every operation (passes/expand_conversions
// replaces the f16 and bf16 part by f32 arithmetic that rounds when it stores); integers wrap. kMin
// and kMax of reals are NaN if either operand is; which of -0 and 0 is smaller is left open. A Cast
// of a real number to an integer truncates and stops at the ends of the range; NaN gives 0. A Cast
// of an integer to a narrower one keeps the low bits. A Cast to bool is `!= 0`. A program must not
// divide integers by 0 nor shift by the width or more.
//
// The items of a group meet at barriers, and between two of them they run in any order, at the same
// time. What one item stores, another item of its group may load after a barrier; items of
// different groups see nothing of each other within a kernel. Otherwise no two items of a kernel
// touch the same element of a buffer, unless all only load it: that would be a race.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/dtype.h"
#include "base/result.h"
#include "compiler/ir/expr/expr.h"
#include "runtime/tensor/data.h"
#include "runtime/tensor/layout.h"

namespace lathe::flat {

struct Type {
  Dtype dtype = Dtype::kF32;
  int lanes = 1;
  friend bool operator==(const Type&, const Type&) = default;
};

struct Node;
using Expr = std::shared_ptr<const Node>;  // never null, except for an absent mask

using ir::UnaryOp;  // but kSign, kBitNot, kIsNan, kIsInf, which other operations make up
enum class BinaryOp {
  // On integers, kDiv rounds towards zero; kMod takes integers only.
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMod,
  kMin,
  kMax,
  kPow,
  kLt,
  kLe,
  kEq,
  kNe,
  kAnd,
  kOr,  // these yield bool; kAnd and kOr take bool
  kBitAnd,
  kBitOr,
  kBitXor,
  kShl,
  kShr,    // shifts of integers; kShr is logical
  kScale,  // a * 2^b of floats, for whole b, rounded once: of targets with AVX-512
  kSar,    // an arithmetic shift to the right, of signed integers
};
const char* name_of(BinaryOp op);

// A scalar of an integer or bool type, within its range.
struct IntImm {
  std::int64_t value;
};
// A scalar, a value of its type.
struct FloatImm {
  double value;
};
// The value of a variable, an i64 scalar.
struct Var {
  int id;
};
struct Unary {
  UnaryOp op;
  Expr x;
};
struct Binary {
  BinaryOp op;
  Expr a, b;
};
// a*b + c, rounded once or twice, as the target does it.
struct Fma {
  Expr a, b, c;
};
// The condition has as many lanes as the values, or is a scalar.
struct Select {
  Expr condition, then, otherwise;
};
// Converts the value.
struct Cast {
  Expr x;
};
// Keeps the bits of each lane. The types have equal sizes, or one is a 16-bit float and the other
// i32: the bits are zero-extended, and taken back from the low half.
struct Bitcast {
  Expr x;
};
// base, base + stride, ...
struct Ramp {
  Expr base;
  std::int64_t stride;
};
struct Broadcast {
  Expr x;
};
// All lanes of x in one, by kAdd, kMul, kMin or kMax: those of one half with those of the other,
// lane by lane, then these the same way. Their number is a power of two.
struct Reduce {
  BinaryOp op;
  Expr x;
};
// Lanes of x, a vector, from number `from` on, which may be negative: lane l is lane from + l of x,
// or `fill`, a scalar, where x has no such lane.
struct Slide {
  Expr x;
  int from;
  Expr fill;
};
// A null mask loads all lanes; otherwise it has as many lanes as the load.
struct Load {
  int buffer;
  Expr index;
  Expr mask;
};
struct RegRead {
  int reg;
};

// What a tree contains. Its root keeps this, so that passes skip what does not concern them.
using Contents = std::uint16_t;
namespace contents {
inline constexpr Contents kHalf = 1;  // a value of type f16 or bf16
// exp, log, rsqrt, tanh, erf, sigmoid, floor, ceil, sin, cos, tan, round, log1p, expm1 or pow.
inline constexpr Contents kMath = 2;
// A comparison, minimum, maximum, division or remainder of i64.
inline constexpr Contents kDecision = 4;
inline constexpr Contents kVar = 8;
// Of statements: a For, Region, If or Let, or a list without statements.
inline constexpr Contents kControl = 16;
inline constexpr Contents kLet = 32;     // of statements: a Let
inline constexpr Contents kRegion = 64;  // of statements: a Region
// A load, a register, or an integer made from another type's bits: any number, also one that wraps
// when something is added.
inline constexpr Contents kData = 128;
// Of statements: a Barrier, AsyncCopy, CommitCopies, AwaitCopies or Exchange.
inline constexpr Contents kTogether = 256;
}  // namespace contents

struct Node {
  std::variant<IntImm, FloatImm, Var, Unary, Binary, Fma, Select, Cast, Bitcast, Ramp, Broadcast,
               Reduce, Load, RegRead, Slide>
      value;
  Type type;
  std::uint64_t hash;  // of the type, the operation and the operands' hashes
  Contents contents;   // bits of namespace contents
};

struct StmtNode;
using Stmt = std::shared_ptr<const StmtNode>;

struct Seq {
  std::vector<Stmt> stmts;
};
// Runs body for var = begin ... end - 1.
struct For {
  int var;
  Expr begin, end;
  Stmt body;
};
// A parallel region: runs its phases one after the other, with a barrier between them. The
// iterations of a phase run in any order, on any threads; all of them are done before the next
// phase begins. The bounds of all phases are evaluated before the first one runs. There is no
// region inside a region.
struct Region {
  std::vector<For> phases;
};
// The condition is a scalar; `otherwise` may be null.
struct If {
  Expr condition;
  Stmt then, otherwise;
};
struct Let {
  int var;
  Expr value;
};
// A null mask stores all lanes. A streaming store goes past the caches where the target can: it is
// for what is not read again soon. Other threads see it once its phase, and the caller once its
// kernel, is done.
struct Store {
  int buffer;
  Expr index, value, mask;
  bool streaming = false;
};
struct RegWrite {
  int reg;
  Expr value;
};
// Brings a line into all cache levels. The index may lie anywhere: a prefetch does no harm.
struct PrefetchAt {
  int buffer;
  Expr index;
};
// The statements from here to Exchange are for grids whose groups have items.
//
// All items of the group meet here: what each stored before, and what its copies brought that it
// has awaited, the others see from here on. Control flow around it must be the same for all items
// of the group: no bound and no condition depends on an item's index, on memory or on a register.
struct Barrier {};
// Begins to copy `lanes` consecutive elements into group memory, without waiting for them. They
// take 4, 8 or 16 bytes, and both places are at a multiple of that. Where the condition, a scalar,
// is false, it reads nothing and zeros are stored; a null one is true. The elements are read and
// stored at any time until the copy is awaited: nothing else may touch them meanwhile, but to read
// what is copied.
struct AsyncCopy {
  int to;  // a buffer of group memory
  Expr to_index;
  int from;  // a buffer of the same type, in memory that all groups see
  Expr from_index;
  int lanes;
  Expr condition;
};
// Makes one batch of the copies that this item began since its last batch; it may be empty.
struct CommitCopies {};
// Waits until all of this item's batches but the last `pending` are there, for itself. The other
// items see them after a barrier that follows. Copies of no batch are not awaited.
struct AwaitCopies {
  int pending;
};
// The register becomes the value that another item of this warp has here: the item whose number is
// this one's with the bits of the mask changed, 1 to 31. Control flow around it is as around a
// barrier. The items of a group fill whole warps.
struct Exchange {
  int reg;
  Expr value;  // a scalar, no bool
  int lane_mask;
};
inline constexpr int kWarpItems = 32;

struct StmtNode {
  std::variant<Seq, For, Region, If, Let, Store, RegWrite, PrefetchAt, Barrier, AsyncCopy,
               CommitCopies, AwaitCopies, Exchange>
      value;
  std::uint64_t hash;  // of the structure
  Contents contents;   // bits of namespace contents, those of expressions included
};

// Where a buffer is, and who sees it. All threads see the first five.
enum class Scope {
  kInput,
  kOutput,   // slot: position among the program's inputs or outputs
  kLiteral,  // read-only data in the code
  // Filled by the kernels of prepare and kept. From here on, slot is a byte offset in the area of
  // the scope.
  kConstant,
  kGlobal,  // scratch of one run
  kShared,  // scratch of one region, for all its threads: what it holds ends with the region
  kThread,  // scratch of one thread, for one iteration of a phase; each thread has its own area
  // Scratch of one group of a grid, for all its items: what it holds begins as anything, and ends
  // with the group.
  kGroup,
};
const char* name_of(Scope scope);
struct Buffer {
  std::string name;
  Dtype dtype = Dtype::kF32;
  std::int64_t size = 0;  // elements of storage, padding included
  Scope scope = Scope::kInput;
  std::int64_t slot = 0;
  tensor::Data literal;  // kLiteral: its elements
};

// How the tensors at its border are stored, for whoever fills them and for the artifact's header.
using tensor::Border;

// One direction of a grid.
struct Axis {
  std::int64_t count = 1;
  int var = -1;  // the variable that is the index, 0 ... count - 1; -1: none, and count is 1
};
// The body of a kernel runs once for each point of its grid: for each item of each group, along x,
// y and z. These run in any order, at the same time, like the iterations of a phase: each has
// registers and thread memory of its own. There is no region inside a grid. The items of a group
// are numbered x first, then y, then z; kWarpItems that follow each other from a multiple of it are
// a warp.
struct Grid {
  std::array<Axis, 3> groups, items;

  bool is_single() const;            // one point: the kernel runs once
  std::vector<Axis> axes() const;    // those with a variable: groups x, y, z, then items
  bool has_items() const;            // some direction of items has a variable
  std::int64_t group_items() const;  // of one group
};

// Code that is called, or launched on a device, as one.
struct Kernel {
  std::string name;  // an identifier, unique in the program
  Stmt body;
  Grid grid = {};
};

struct Program {
  std::vector<Buffer> buffers;
  std::vector<Type> regs;
  std::vector<std::string> vars;  // hints for printing; Var::id is an index here
  std::vector<Kernel> kernels;
  // The kernels that run, in order, each after the one before it is done: `prepare` once for given
  // constants (empty where nothing depends on constants alone), `run` in every call.
  std::vector<int> prepare, run;
  std::vector<Border> inputs, outputs;
  // The sizes of the areas by scope, kThread's for one thread, kGroup's for one group of the kernel
  // that needs most. Each starts 64-byte aligned.
  std::int64_t constant_bytes = 0, global_bytes = 0, shared_bytes = 0, thread_bytes = 0,
               group_bytes = 0;
};
// What a group of this kernel needs of the area: up to the end of the last buffer that it touches.
std::int64_t group_bytes_of(const Program& program, const Kernel& kernel);

// For programs of one kernel: makes `body` all that prepare or run does, as a kernel of that name.
void set_prepare(Program& program, Stmt body);
void set_run(Program& program, Stmt body);

// Constructors: the only way to make nodes. Small constants fold (int arithmetic on immediates,
// x+0, x*1, x*0). A sum keeps its immediate last, so that an address always has the form `dynamic +
// immediate`: (x+3)+y is (x+y)+3, (x+3)*4 is x*4+12, 7-x is x*-1+7. Broadcasts and ramps move
// outwards: broadcast(x)*broadcast(y) is broadcast(x*y), ramp(x, s)+broadcast(y) is ramp(x+y, s).
// Where a load or store has a ramp of stride 1 as its index, the ramp becomes its scalar base.
Expr int_imm(std::int64_t value, Dtype dtype = Dtype::kI64);
Expr float_imm(double value, Dtype dtype);
Expr imm(double value, Type type);  // of any type, broadcast to its lanes
Expr var(int id);
Expr unary(UnaryOp op, Expr x);
Expr binary(BinaryOp op, Expr a, Expr b);  // equal types
Expr fma(Expr a, Expr b, Expr c);
Expr select(Expr condition, Expr then, Expr otherwise);
Expr cast(Expr x, Dtype dtype);
Expr bitcast(Expr x, Dtype dtype);
Expr ramp(Expr base, std::int64_t stride, int lanes);  // a broadcast if stride is 0
Expr broadcast(Expr x, int lanes);                     // x itself if it has so many lanes already
Expr reduce(BinaryOp op, Expr x);                      // x itself if it is a scalar
Expr slide(Expr x, int from, int lanes, Expr fill);
Expr lane(Expr x, int number);                    // x itself if it is a scalar
Expr prefix(BinaryOp op, Expr x, Expr identity);  // lane l: lanes 0 to l of x in one
Expr load(int buffer, Expr index, Type type, Expr mask = nullptr);
Expr reg_read(int reg, Type type);

Stmt seq(std::vector<Stmt> stmts);  // flattens; a single statement stays itself
Stmt for_loop(int var, Expr begin, Expr end, Stmt body);
Stmt parallel_for(int var, Expr begin, Expr end, Stmt body);  // a region of one phase
Stmt region(std::vector<For> phases);                         // of no phases: nothing
Stmt if_then(Expr condition, Stmt then, Stmt otherwise = nullptr);
Stmt let(int var, Expr value);
Stmt store(int buffer, Expr index, Expr value, Expr mask = nullptr, bool streaming = false);
Stmt reg_write(int reg, Expr value);
Stmt prefetch(int buffer, Expr index);
Stmt barrier();
Stmt async_copy(int to, Expr to_index, int from, Expr from_index, int lanes,
                Expr condition = nullptr);
Stmt commit_copies();
Stmt await_copies(int pending);
Stmt exchange(int reg, Expr value, int lane_mask);

bool is_imm(const Expr& e, std::int64_t value);
std::optional<std::int64_t> as_int(const Expr& e);  // the value of an IntImm
// The value of an IntImm or of a broadcast of one
std::optional<std::int64_t> splat_int(const Expr& e);
// Wraps the value into the range of an integer type; bool: != 0.
std::int64_t wrap(std::int64_t value, Dtype dtype);
// The result of an integer operation on values in range; nothing where it is undefined (division by
// 0, wide shifts).
std::optional<std::int64_t> evaluate(BinaryOp op, std::int64_t a, std::int64_t b, Dtype dtype);

// Compare the structure, by hashes and so in constant time.
bool equal(const Expr& a, const Expr& b);
bool equal(const Stmt& a, const Stmt& b);

std::string print(const Program& program);
std::string print(const Program& program, const Stmt& stmt);
std::string print(const Program& program, const Expr& e);
std::uint64_t hash(const Program& program);  // of the structure: equal programs are measured once

inline bool is_comparison(BinaryOp op) { return op >= BinaryOp::kLt && op <= BinaryOp::kNe; }
inline bool yields_bool(BinaryOp op) { return op >= BinaryOp::kLt && op <= BinaryOp::kOr; }

// Checks that types agree, variables are defined before they are used, registers are not carried
// between kernels or parallel iterations, buffers exist, grids have points and no regions, items
// meet under control flow that is the same for all of them, and every kernel has its place in
// prepare or run.
Status verify(const Program& program);

}  // namespace lathe::flat
