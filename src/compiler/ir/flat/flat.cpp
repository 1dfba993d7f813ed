#include "compiler/ir/flat/flat.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>

#include "compiler/ir/flat/fold.h"
#include "compiler/ir/flat/make.h"
#include "compiler/ir/flat/touched.h"

namespace lathe::flat {
namespace {

bool is_int(Dtype dtype) { return !is_float(dtype); }

double rounded(double value, Dtype dtype) {
  switch (dtype) {
    case Dtype::kF32: return static_cast<float>(value);
    case Dtype::kF16: return f16_to_f32(f32_to_f16(static_cast<float>(value)));
    case Dtype::kBF16: return bf16_to_f32(f32_to_bf16(static_cast<float>(value)));
    default: return value;
  }
}

// Truncates. Values beyond i64 give its ends, NaN gives 0.
std::int64_t truncated(double value) {
  if (std::isnan(value)) return 0;
  if (value >= 0x1p63) return INT64_MAX;
  if (value < -0x1p63) return INT64_MIN;
  return static_cast<std::int64_t>(value);
}

const Expr* broadcast_of(const Expr& e) {
  const auto* b = std::get_if<Broadcast>(&e->value);
  return b == nullptr ? nullptr : &b->x;
}

// A contiguous vector access has the scalar index of its first element.
Expr without_unit_ramp(Expr index) {
  if (const auto* r = std::get_if<Ramp>(&index->value); r != nullptr && r->stride == 1)
    return r->base;
  return index;
}
Expr without_full_mask(Expr mask) {
  if (mask && splat_int(mask) == 1) return nullptr;
  return mask;
}

// True if every value of the first type is one of the second.
bool widens(Dtype from, Dtype to) {
  return size_of(from) < size_of(to) && (is_float(from) ? is_float(to) : is_int(to));
}

Expr fold_cast(const Expr& x, Dtype dtype) {
  if (const auto* c = std::get_if<Cast>(&x->value); c != nullptr && c->x->type.dtype == dtype)
    return widens(dtype, x->type.dtype) ? c->x : nullptr;  // there and back again
  if (const auto* i = std::get_if<IntImm>(&x->value)) {
    if (is_int(dtype)) return int_imm(i->value, dtype);
    if (dtype == Dtype::kF32) return float_imm(static_cast<float>(i->value), dtype);
    return float_imm(static_cast<double>(i->value), dtype);
  }
  if (const auto* f = std::get_if<FloatImm>(&x->value)) {
    if (is_float(dtype)) return float_imm(f->value, dtype);
    if (dtype == Dtype::kBool) return int_imm(f->value != 0, dtype);
    const std::int64_t value = truncated(f->value);
    if (wrap(value, dtype) == value) return int_imm(value, dtype);
  }
  return nullptr;
}

Expr fold_bitcast(const Expr& x, Dtype dtype) {
  const Dtype from = x->type.dtype;
  std::byte bytes[8]{};
  if (const auto* i = std::get_if<IntImm>(&x->value)) {
    if (!is_float(dtype)) return int_imm(i->value, dtype);
    // The low bytes come first.
    const auto wide = std::bit_cast<std::array<std::byte, 8>>(i->value);
    return float_imm(load_element(dtype, wide.data()), dtype);
  }
  const auto* f = std::get_if<FloatImm>(&x->value);
  if (f == nullptr || is_float(dtype) || std::isnan(f->value)) return nullptr;
  store_element(from, bytes, f->value);
  return int_imm(std::bit_cast<std::int64_t>(bytes), dtype);
}

}  // namespace

const char* name_of(BinaryOp op) {
  switch (op) {
    case BinaryOp::kAdd: return "+";
    case BinaryOp::kSub: return "-";
    case BinaryOp::kMul: return "*";
    case BinaryOp::kDiv: return "/";
    case BinaryOp::kMod: return "%";
    case BinaryOp::kMin: return "min";
    case BinaryOp::kMax: return "max";
    case BinaryOp::kPow: return "pow";
    case BinaryOp::kLt: return "<";
    case BinaryOp::kLe: return "<=";
    case BinaryOp::kEq: return "==";
    case BinaryOp::kNe: return "!=";
    case BinaryOp::kAnd: return "&&";
    case BinaryOp::kOr: return "||";
    case BinaryOp::kBitAnd: return "&";
    case BinaryOp::kBitOr: return "|";
    case BinaryOp::kBitXor: return "^";
    case BinaryOp::kShl: return "<<";
    case BinaryOp::kShr: return ">>";
    case BinaryOp::kScale: return "scale";
    case BinaryOp::kSar: return "sar";
  }
  return "?";
}

Expr int_imm(std::int64_t value, Dtype dtype) {
  return make(IntImm{wrap(value, dtype)}, {dtype, 1});
}
Expr float_imm(double value, Dtype dtype) {
  return make(FloatImm{rounded(value, dtype)}, {dtype, 1});
}
Expr imm(double value, Type type) {
  Expr scalar = is_float(type.dtype)         ? float_imm(value, type.dtype)
                : type.dtype == Dtype::kBool ? int_imm(value != 0, type.dtype)
                                             : int_imm(truncated(value), type.dtype);
  return broadcast(std::move(scalar), type.lanes);
}
Expr var(int id) { return make(Var{id}, {Dtype::kI64, 1}); }

Expr unary(UnaryOp op, Expr x) {
  if (const Expr* inner = broadcast_of(x)) return broadcast(unary(op, *inner), x->type.lanes);
  if (const auto value = as_int(x)) {
    if (op == UnaryOp::kNot) return int_imm(*value == 0, Dtype::kBool);
    if (op == UnaryOp::kNeg)
      return int_imm(static_cast<std::int64_t>(-static_cast<std::uint64_t>(*value)), x->type.dtype);
  }
  const Type type = x->type;
  return make(Unary{op, std::move(x)}, type);
}

Expr binary(BinaryOp op, Expr a, Expr b) {
  LATHE_CHECK(a->type == b->type, "operands of {} are {} x {} and {} x {}", name_of(op),
              name_of(a->type.dtype), a->type.lanes, name_of(b->type.dtype), b->type.lanes);
  const Expr* x = broadcast_of(a);
  const Expr* y = broadcast_of(b);
  if (x != nullptr && y != nullptr) return broadcast(binary(op, *x, *y), a->type.lanes);
  Expr folded = is_int(a->type.dtype) ? fold_int(op, a, b) : fold_float(op, a, b);
  if (folded) return folded;
  const Type type{yields_bool(op) ? Dtype::kBool : a->type.dtype, a->type.lanes};
  return make(Binary{op, std::move(a), std::move(b)}, type);
}

Expr fma(Expr a, Expr b, Expr c) {
  LATHE_CHECK(a->type == b->type && a->type == c->type, "operands of fma differ in type");
  const Type type = a->type;
  if (const Expr *x = broadcast_of(a), *y = broadcast_of(b), *z = broadcast_of(c); x && y && z)
    return broadcast(fma(*x, *y, *z), type.lanes);
  return make(Fma{std::move(a), std::move(b), std::move(c)}, type);
}

Expr select(Expr condition, Expr then, Expr otherwise) {
  LATHE_CHECK(then->type == otherwise->type, "branches of select differ in type");
  if (const auto known = splat_int(condition)) return *known != 0 ? then : otherwise;
  if (equal(then, otherwise)) return then;
  if (const Expr* one = broadcast_of(condition)) condition = Expr(*one);
  const Type type = then->type;
  if (const Expr *t = broadcast_of(then), *o = broadcast_of(otherwise);
      t && o && condition->type.lanes == 1)
    return broadcast(select(std::move(condition), *t, *o), type.lanes);
  return make(Select{std::move(condition), std::move(then), std::move(otherwise)}, type);
}

Expr cast(Expr x, Dtype dtype) {
  if (x->type.dtype == dtype) return x;
  const int lanes = x->type.lanes;
  if (const Expr* inner = broadcast_of(x)) return broadcast(cast(*inner, dtype), lanes);
  if (Expr folded = fold_cast(x, dtype)) return folded;
  return make(Cast{std::move(x)}, {dtype, lanes});
}

Expr bitcast(Expr x, Dtype dtype) {
  if (x->type.dtype == dtype) return x;
  const int lanes = x->type.lanes;
  if (const Expr* inner = broadcast_of(x)) return broadcast(bitcast(*inner, dtype), lanes);
  if (const auto* b = std::get_if<Bitcast>(&x->value); b != nullptr && b->x->type.dtype == dtype)
    return b->x;
  if (Expr folded = fold_bitcast(x, dtype)) return folded;
  return make(Bitcast{std::move(x)}, {dtype, lanes});
}

Expr ramp(Expr base, std::int64_t stride, int lanes) {
  LATHE_CHECK(base->type.lanes == 1, "base of a ramp must be a scalar");
  if (lanes == 1) return base;
  if (stride == 0) return broadcast(std::move(base), lanes);
  const Type type{base->type.dtype, lanes};
  return make(Ramp{std::move(base), stride}, type);
}

Expr broadcast(Expr x, int lanes) {
  if (lanes == x->type.lanes) return x;
  LATHE_CHECK(x->type.lanes == 1, "broadcast of a vector of {} to {}", x->type.lanes, lanes);
  const Type type{x->type.dtype, lanes};
  return make(Broadcast{std::move(x)}, type);
}

Expr reduce(BinaryOp op, Expr x) {
  const int lanes = x->type.lanes;
  if (lanes == 1) return x;
  LATHE_CHECK((lanes & (lanes - 1)) == 0, "{} lanes are reduced to one", lanes);
  const Type type{x->type.dtype, 1};
  return make(Reduce{op, std::move(x)}, type);
}

Expr slide(Expr x, int from, int lanes, Expr fill) {
  if (from == 0 && lanes == x->type.lanes) return x;
  const Type type{x->type.dtype, lanes};
  return make(Slide{std::move(x), from, std::move(fill)}, type);
}

Expr lane(Expr x, int number) {
  if (x->type.lanes == 1) return x;
  if (const auto* same = std::get_if<Broadcast>(&x->value)) return same->x;
  Expr fill = imm(0, {x->type.dtype, 1});
  return slide(std::move(x), number, 1, std::move(fill));
}

Expr prefix(BinaryOp op, Expr x, Expr identity) {
  const int lanes = x->type.lanes;
  for (int by = 1; by < lanes; by *= 2) x = binary(op, slide(x, -by, lanes, identity), x);
  return x;
}

Expr load(int buffer, Expr index, Type type, Expr mask) {
  if (mask && splat_int(mask) == 0) return imm(0, type);
  return make(Load{buffer, without_unit_ramp(std::move(index)), without_full_mask(std::move(mask))},
              type);
}

Expr reg_read(int reg, Type type) { return make(RegRead{reg}, type); }

Stmt seq(std::vector<Stmt> stmts) {
  bool flat = true;
  for (const Stmt& s : stmts) flat = flat && !std::holds_alternative<Seq>(s->value);
  if (!flat) {
    std::vector<Stmt> all;
    all.reserve(stmts.size() * 2);
    for (Stmt& s : stmts) {
      if (const auto* inner = std::get_if<Seq>(&s->value))
        all.insert(all.end(), inner->stmts.begin(), inner->stmts.end());
      else all.push_back(std::move(s));
    }
    stmts = std::move(all);
  }
  if (stmts.size() == 1) return std::move(stmts.front());
  return make_stmt(Seq{std::move(stmts)});
}

Stmt for_loop(int var, Expr begin, Expr end, Stmt body) {
  return make_stmt(For{var, std::move(begin), std::move(end), std::move(body)});
}

Stmt parallel_for(int var, Expr begin, Expr end, Stmt body) {
  return region({For{var, std::move(begin), std::move(end), std::move(body)}});
}

Stmt region(std::vector<For> phases) {
  if (phases.empty()) return seq({});
  return make_stmt(Region{std::move(phases)});
}

Stmt if_then(Expr condition, Stmt then, Stmt otherwise) {
  if (const auto known = as_int(condition)) {
    if (*known != 0) return then;
    return otherwise ? otherwise : seq({});
  }
  return make_stmt(If{std::move(condition), std::move(then), std::move(otherwise)});
}

Stmt let(int var, Expr value) { return make_stmt(Let{var, std::move(value)}); }

Stmt store(int buffer, Expr index, Expr value, Expr mask, bool streaming) {
  if (mask && splat_int(mask) == 0) return seq({});
  return make_stmt(Store{buffer, without_unit_ramp(std::move(index)), std::move(value),
                         without_full_mask(std::move(mask)), streaming});
}

Stmt reg_write(int reg, Expr value) { return make_stmt(RegWrite{reg, std::move(value)}); }
Stmt prefetch(int buffer, Expr index) { return make_stmt(PrefetchAt{buffer, std::move(index)}); }

Stmt barrier() { return make_stmt(Barrier{}); }
Stmt async_copy(int to, Expr to_index, int from, Expr from_index, int lanes, Expr condition) {
  return make_stmt(AsyncCopy{to, std::move(to_index), from, std::move(from_index), lanes,
                             without_full_mask(std::move(condition))});
}
Stmt commit_copies() { return make_stmt(CommitCopies{}); }
Stmt await_copies(int pending) { return make_stmt(AwaitCopies{pending}); }
Stmt exchange(int reg, Expr value, int lane_mask) {
  return make_stmt(Exchange{reg, std::move(value), lane_mask});
}

namespace {

// The kernel keeps its number where the program already has one of that name.
void set_only_kernel(Program& program, std::vector<int>& sequence, const char* name, Stmt body) {
  auto known = std::ranges::find(program.kernels, name, &Kernel::name);
  if (known == program.kernels.end())
    known = program.kernels.insert(known, Kernel{.name = name, .body = nullptr});
  known->body = std::move(body);
  sequence = {static_cast<int>(known - program.kernels.begin())};
}

}  // namespace

void set_prepare(Program& program, Stmt body) {
  set_only_kernel(program, program.prepare, "prepare", std::move(body));
}
void set_run(Program& program, Stmt body) {
  set_only_kernel(program, program.run, "run", std::move(body));
}

std::int64_t group_bytes_of(const Program& program, const Kernel& kernel) {
  std::int64_t bytes = 0;
  for (const int id : touched_buffers(kernel)) {
    const Buffer& b = program.buffers[static_cast<std::size_t>(id)];
    if (b.scope == Scope::kGroup) bytes = std::max(bytes, b.slot + b.size * size_of(b.dtype));
  }
  return bytes;
}

std::vector<Axis> Grid::axes() const {
  std::vector<Axis> out;
  for (const auto* directions : {&groups, &items})
    for (const Axis& axis : *directions)
      if (axis.var >= 0) out.push_back(axis);
  return out;
}
bool Grid::has_items() const {
  return std::ranges::any_of(items, [](const Axis& a) { return a.var >= 0; });
}
std::int64_t Grid::group_items() const { return items[0].count * items[1].count * items[2].count; }
bool Grid::is_single() const {
  return std::ranges::all_of(groups, [](const Axis& a) { return a.count == 1; }) &&
         std::ranges::all_of(items, [](const Axis& a) { return a.count == 1; });
}

bool is_imm(const Expr& e, std::int64_t value) { return as_int(e) == value; }

std::optional<std::int64_t> as_int(const Expr& e) {
  if (const auto* i = std::get_if<IntImm>(&e->value)) return i->value;
  return std::nullopt;
}

std::optional<std::int64_t> splat_int(const Expr& e) {
  if (const Expr* inner = broadcast_of(e)) return as_int(*inner);
  return as_int(e);
}

}  // namespace lathe::flat
