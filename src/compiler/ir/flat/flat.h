// The lowered program: explicit addresses, vectors, masks and registers; what code generators
// translate one to one.
//
// Semantics in short. Indices are i64, buffers are one-dimensional arrays of their dtype, a vector
// Load or Store touches `lanes` consecutive elements from a scalar index, or the elements a vector
// index names. A masked-off lane of a Load is 0 and touches no memory. Registers are mutable typed
// cells without an address: code generation keeps them as SSA values. A parallel For runs its
// iterations in any order on any threads: no register is carried into, across or out of it. Vars
// are defined once, by a For or a Let, and seen in what follows inside the same statement list.
//
// Values. f32, f16 and bf16 arithmetic rounds to the type after every operation
// (passes/expand_conversions trades the f16 and bf16 part for f32 arithmetic that rounds when
// stored); integers wrap. kMin and kMax of reals are NaN if either operand is; which of -0 and 0 is
// smaller is open. A Cast of a real number to an integer truncates and stops at the ends of the
// range, NaN gives 0; of an integer to a narrower one it keeps the low bits. A Cast to bool is `!=
// 0`. Integer division by 0 and shifts by the width or more are errors of the program.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/dtype.h"
#include "base/result.h"
#include "compiler/ir/expr/expr.h"
#include "runtime/tensor/layout.h"

namespace lathe::flat {

struct Type {
  Dtype dtype = Dtype::kF32;
  int lanes = 1;
  friend bool operator==(const Type&, const Type&) = default;
};

struct Node;
using Expr = std::shared_ptr<const Node>;  // never null, but for an absent mask

using ir::UnaryOp;
enum class BinaryOp {
  // integer kDiv rounds towards zero; kMod: integers
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
  kOr,  // yield bool; kAnd, kOr take bool
  kBitAnd,
  kBitOr,
  kBitXor,
  kShl,
  kShr,  // of integers; kShr is logical
};
const char* name_of(BinaryOp op);

// scalar of an integer or bool type, within its range
struct IntImm {
  std::int64_t value;
};
struct FloatImm {
  double value;
};  // scalar, a value of its type
struct Var {
  int id;
};  // i64 scalar
struct Unary {
  UnaryOp op;
  Expr x;
};
struct Binary {
  BinaryOp op;
  Expr a, b;
};
// a*b + c, rounded once or twice as the target has it
struct Fma {
  Expr a, b, c;
};
struct Select {
  Expr condition, then, otherwise;
};  // condition: of the same lanes, or a scalar
struct Cast {
  Expr x;
};  // converts the value
// keeps the bits of each lane; equal sizes, or between a 16-bit float and i32: zero-extended, and
// back from the low half
struct Bitcast {
  Expr x;
};
struct Ramp {
  Expr base;
  std::int64_t stride;
};  // base, base + stride, ...
struct Broadcast {
  Expr x;
};
// mask null: all lanes; else of the same lanes
struct Load {
  int buffer;
  Expr index;
  Expr mask;
};
struct RegRead {
  int reg;
};

// What a tree contains, kept in its root so that passes skip what does not concern them.
namespace contents {
inline constexpr std::uint8_t kHalf = 1;  // a value of type f16 or bf16
// exp, log, rsqrt, tanh, erf, sigmoid, floor, ceil, pow
inline constexpr std::uint8_t kMath = 2;
// a comparison, min, max, division or remainder of i64
inline constexpr std::uint8_t kDecision = 4;
inline constexpr std::uint8_t kVar = 8;
// statements: a For, If or Let, or a list without statements
inline constexpr std::uint8_t kControl = 16;
inline constexpr std::uint8_t kLet = 32;  // statements: a Let
}  // namespace contents

struct Node {
  std::variant<IntImm, FloatImm, Var, Unary, Binary, Fma, Select, Cast, Bitcast, Ramp, Broadcast,
               Load, RegRead>
      value;
  Type type;
  std::uint64_t hash;     // structural: of the type, the operation and the operands' hashes
  std::uint8_t contents;  // bits of namespace contents
};

struct StmtNode;
using Stmt = std::shared_ptr<const StmtNode>;

enum class ForKind { kSerial, kParallel };
struct Seq {
  std::vector<Stmt> stmts;
};
struct For {
  int var;
  Expr begin, end;
  ForKind kind;
  Stmt body;
};  // var = begin ... end - 1
// scalar condition; otherwise may be null
struct If {
  Expr condition;
  Stmt then, otherwise;
};
struct Let {
  int var;
  Expr value;
};
struct Store {
  int buffer;
  Expr index, value, mask;
};  // mask null: all lanes
struct RegWrite {
  int reg;
  Expr value;
};
// into all cache levels; any address is harmless
struct PrefetchAt {
  int buffer;
  Expr index;
};
struct StmtNode {
  std::variant<Seq, For, If, Let, Store, RegWrite, PrefetchAt> value;
  std::uint64_t hash;     // structural
  std::uint8_t contents;  // bits of namespace contents, expressions included
};

enum class Scope {
  kInput,
  kOutput,   // slot: position among the program's inputs or outputs
  kLiteral,  // read-only data in the code
  // filled by prepare(), kept by the handle; slot: byte offset in the constants area
  kConstant,
  kWorkspace,  // scratch of one run; slot: byte offset in the shared workspace
  kWorker,     // scratch of one thread; slot: byte offset in that worker's workspace
};
struct Buffer {
  std::string name;
  Dtype dtype = Dtype::kF32;
  std::int64_t size = 0;  // elements of storage, padding included
  Scope scope = Scope::kInput;
  std::int64_t slot = 0;
  std::vector<double> literal;  // kLiteral
};

// How the tensors at its border are stored, for whoever fills them and for the artifact's header.
using tensor::Border;

struct Program {
  std::vector<Buffer> buffers;
  std::vector<Type> regs;
  std::vector<std::string> vars;  // hints; Var::id indexes this
  Stmt prepare;                   // null if nothing depends on constants alone
  Stmt run;
  std::vector<Border> inputs, outputs;
  // each area starts 64-byte aligned
  std::int64_t constant_bytes = 0, workspace_bytes = 0, worker_bytes = 0;
};

// Constructors: the only way to make nodes. Small constants fold (int arithmetic on immediates,
// x+0, x*1, x*0), and sums keep their immediate last, so that an address always has the form
// `dynamic + immediate`: (x+3)+y is (x+y)+3, (x+3)*4 is x*4+12, 7-x is x*-1+7. Broadcasts and ramps
// move outwards: broadcast(x)*broadcast(y) is broadcast(x*y), ramp(x, s)+broadcast(y) is ramp(x+y,
// s). A ramp of stride 1 as index of a load or store becomes its scalar base.
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
Expr broadcast(Expr x, int lanes);                     // x itself if it has them already
Expr load(int buffer, Expr index, Type type, Expr mask = nullptr);
Expr reg_read(int reg, Type type);

Stmt seq(std::vector<Stmt> stmts);  // flattens; one statement stays itself
Stmt for_loop(int var, Expr begin, Expr end, ForKind kind, Stmt body);
Stmt if_then(Expr condition, Stmt then, Stmt otherwise = nullptr);
Stmt let(int var, Expr value);
Stmt store(int buffer, Expr index, Expr value, Expr mask = nullptr);
Stmt reg_write(int reg, Expr value);
Stmt prefetch(int buffer, Expr index);

bool is_imm(const Expr& e, std::int64_t value);
std::optional<std::int64_t> as_int(const Expr& e);     // the value of an IntImm
std::optional<std::int64_t> splat_int(const Expr& e);  // of an IntImm or a broadcast of one
// into the range of an integer type; bool: != 0
std::int64_t wrap(std::int64_t value, Dtype dtype);
// The result of an integer operation on values in range; empty where it is undefined (division by
// 0, wide shifts).
std::optional<std::int64_t> evaluate(BinaryOp op, std::int64_t a, std::int64_t b, Dtype dtype);

// structural, in constant time (by the hashes)
bool equal(const Expr& a, const Expr& b);
bool equal(const Stmt& a, const Stmt& b);

std::string print(const Program& program);
std::string print(const Program& program, const Stmt& stmt);
std::string print(const Program& program, const Expr& e);
std::uint64_t hash(const Program& program);  // structural: equal programs are measured once

inline bool is_comparison(BinaryOp op) { return op >= BinaryOp::kLt && op <= BinaryOp::kNe; }
inline bool yields_bool(BinaryOp op) { return op >= BinaryOp::kLt && op <= BinaryOp::kOr; }

// Types agree, vars are defined before use, registers are not carried across parallel loops,
// buffers exist.
Status verify(const Program& program);

}  // namespace lathe::flat
