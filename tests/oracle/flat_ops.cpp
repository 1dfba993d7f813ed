// The instructions: one function for each kind of node, with a loop over lanes.
#include <algorithm>
#include <bit>
#include <cmath>

#include <fmt/format.h>

#include "oracle/flat_machine.h"

namespace lathe::interp {
namespace {

using flat::BinaryOp;
using flat::UnaryOp;

template <class F>
void each_lane(Machine& m, const Insn& n, F f) {
  Cell* out = &m.cells[static_cast<std::size_t>(n.out)];
  for (int lane = 0; lane < n.lanes; ++lane) out[lane] = f(lane);
}
// Makes the result poison where an operand is. `from` are the operands' cells, of as many lanes or
// of one.
void taint(Machine& m, const Insn& n, std::initializer_list<int> from, bool scalar = false) {
  if (m.poison_of.empty()) return;
  for (int lane = 0; lane < n.lanes; ++lane) {
    Poison poison = 0;
    for (const int first : from)
      if (poison == 0) poison = m.poison_of[static_cast<std::size_t>(first + (scalar ? 0 : lane))];
    m.poison_of[static_cast<std::size_t>(n.out + lane)] = poison;
  }
}
const Cell* cells(Machine& m, int first) { return &m.cells[static_cast<std::size_t>(first)]; }
Cell real(double value) { return {.f = value}; }
Cell integer(std::int64_t value) { return {.i = value}; }

double apply(UnaryOp op, double x) {
  switch (op) {
    case UnaryOp::kNeg: return -x;
    case UnaryOp::kAbs: return std::fabs(x);
    case UnaryOp::kExp: return std::exp(x);
    case UnaryOp::kLog: return std::log(x);
    case UnaryOp::kSqrt: return std::sqrt(x);
    case UnaryOp::kRsqrt: return 1 / std::sqrt(x);
    case UnaryOp::kTanh: return std::tanh(x);
    case UnaryOp::kErf: return std::erf(x);
    case UnaryOp::kSigmoid: return 1 / (1 + std::exp(-x));
    case UnaryOp::kFloor: return std::floor(x);
    case UnaryOp::kCeil: return std::ceil(x);
    case UnaryOp::kSin: return std::sin(x);
    case UnaryOp::kCos: return std::cos(x);
    case UnaryOp::kTan: return std::tan(x);
    case UnaryOp::kRound: return std::nearbyint(x);
    case UnaryOp::kLog1p: return std::log1p(x);
    case UnaryOp::kExpm1: return std::expm1(x);
    case UnaryOp::kSign:
    case UnaryOp::kBitNot:
    case UnaryOp::kIsNan:
    case UnaryOp::kIsInf:
    case UnaryOp::kNot: break;
  }
  throw Fault{"an operation on a type it does not have"};
}

double apply(BinaryOp op, double a, double b) {
  switch (op) {
    case BinaryOp::kAdd: return a + b;
    case BinaryOp::kSub: return a - b;
    case BinaryOp::kMul: return a * b;
    case BinaryOp::kDiv: return a / b;
    case BinaryOp::kMin: return std::isnan(a) || a < b ? a : b;
    case BinaryOp::kMax: return std::isnan(a) || a > b ? a : b;
    case BinaryOp::kPow: return std::pow(a, b);
    case BinaryOp::kScale:  // rounded once, also below the normal numbers
      return std::isnan(b) ? b : std::ldexp(a, static_cast<int>(std::clamp(b, -5000.0, 5000.0)));
    default: throw Fault{"an operation on a type it does not have"};
  }
}

bool compare(BinaryOp op, double a, double b) {
  switch (op) {
    case BinaryOp::kLt: return a < b;
    case BinaryOp::kLe: return a <= b;
    case BinaryOp::kEq: return a == b;
    case BinaryOp::kNe: return a != b;
    default: throw Fault{"a comparison on a type it does not have"};
  }
}

void unary_real(Machine& m, const Insn& n) {
  taint(m, n, {n.a});
  const Cell* a = cells(m, n.a);
  each_lane(m, n, [&](int l) {
    return real(round_to(apply(static_cast<UnaryOp>(n.op), a[l].f), n.dtype));
  });
}

void unary_integer(Machine& m, const Insn& n) {
  taint(m, n, {n.a});
  const Cell* a = cells(m, n.a);
  each_lane(m, n, [&](int l) {
    const std::int64_t x = a[l].i;
    const auto negated = static_cast<std::int64_t>(-static_cast<std::uint64_t>(x));
    switch (static_cast<UnaryOp>(n.op)) {
      case UnaryOp::kNot: return integer(x == 0);
      case UnaryOp::kNeg: return integer(flat::wrap(negated, n.dtype));
      case UnaryOp::kAbs: return integer(flat::wrap(x < 0 ? negated : x, n.dtype));
      default: throw Fault{"an operation on a type it does not have"};
    }
  });
}

void binary_real(Machine& m, const Insn& n) {
  taint(m, n, {n.a, n.b});
  const Cell *a = cells(m, n.a), *b = cells(m, n.b);
  each_lane(m, n, [&](int l) {
    return real(round_to(apply(static_cast<BinaryOp>(n.op), a[l].f, b[l].f), n.dtype));
  });
}

void compare_real(Machine& m, const Insn& n) {
  taint(m, n, {n.a, n.b});
  const Cell *a = cells(m, n.a), *b = cells(m, n.b);
  each_lane(m, n,
            [&](int l) { return integer(compare(static_cast<BinaryOp>(n.op), a[l].f, b[l].f)); });
}

void binary_integer(Machine& m, const Insn& n) {
  taint(m, n, {n.a, n.b});
  const Cell *a = cells(m, n.a), *b = cells(m, n.b);
  each_lane(m, n, [&](int l) {
    const auto op = static_cast<BinaryOp>(n.op);
    const auto value = flat::evaluate(op, a[l].i, b[l].i, n.from);
    if (!value)
      throw Fault{fmt::format("{} {} {} is not defined", a[l].i, flat::name_of(op), b[l].i)};
    return integer(*value);
  });
}

void fma_real(Machine& m, const Insn& n) {
  taint(m, n, {n.a, n.b, n.c});
  const Cell *a = cells(m, n.a), *b = cells(m, n.b), *c = cells(m, n.c);
  each_lane(m, n, [&](int l) {
    if (n.dtype == Dtype::kF64) return real(std::fma(a[l].f, b[l].f, c[l].f));
    const float x = static_cast<float>(a[l].f), y = static_cast<float>(b[l].f),
                z = static_cast<float>(c[l].f);
    return real(round_to(std::fma(x, y, z), n.dtype));
  });
}

void fma_integer(Machine& m, const Insn& n) {
  taint(m, n, {n.a, n.b, n.c});
  const Cell *a = cells(m, n.a), *b = cells(m, n.b), *c = cells(m, n.c);
  each_lane(m, n, [&](int l) {
    const auto product = flat::evaluate(BinaryOp::kMul, a[l].i, b[l].i, n.dtype);
    return integer(*flat::evaluate(BinaryOp::kAdd, *product, c[l].i, n.dtype));
  });
}

void do_select(Machine& m, const Insn& n) {
  const Cell *c = cells(m, n.a), *t = cells(m, n.b), *o = cells(m, n.c);
  each_lane(m, n, [&](int l) {
    const int at = n.vector_index ? l : 0;
    const bool taken = c[at].i != 0;
    if (!m.poison_of.empty()) {
      const auto poison = [&](int cell) { return m.poison_of[static_cast<std::size_t>(cell)]; };
      const Poison condition = poison(n.a + at);
      m.poison_of[static_cast<std::size_t>(n.out + l)] =
          condition != 0 ? condition : poison((taken ? n.b : n.c) + l);
    }
    return taken ? t[l] : o[l];
  });
}

std::int64_t saturated(double value, Dtype dtype) {
  if (std::isnan(value)) return 0;
  const auto clamp = [&](double low, double high) {
    return static_cast<std::int64_t>(value < low ? low : value > high ? high : value);
  };
  switch (dtype) {
    case Dtype::kI8: return clamp(-128, 127);
    case Dtype::kU8: return clamp(0, 255);
    case Dtype::kI16: return clamp(-0x1p15, 0x1p15 - 1);
    case Dtype::kU16: return clamp(0, 0x1p16 - 1);
    case Dtype::kU32: return clamp(0, 0x1p32 - 1);
    case Dtype::kI32: return clamp(-0x1p31, 0x1p31 - 1);
    default:
      if (value >= 0x1p63) return INT64_MAX;
      return value < -0x1p63 ? INT64_MIN : static_cast<std::int64_t>(value);
  }
}

void do_cast(Machine& m, const Insn& n) {
  taint(m, n, {n.a});
  const Cell* a = cells(m, n.a);
  const bool from_real = is_float(n.from), to_real = is_float(n.dtype);
  each_lane(m, n, [&](int l) {
    if (from_real && to_real) return real(round_to(a[l].f, n.dtype));
    if (from_real)
      return integer(n.dtype == Dtype::kBool ? a[l].f != 0 : saturated(a[l].f, n.dtype));
    if (!to_real) return integer(flat::wrap(a[l].i, n.dtype));
    // Converts from i64 directly: by way of f64 it would round twice.
    if (n.dtype == Dtype::kF64) return real(static_cast<double>(a[l].i));
    return real(round_to(static_cast<float>(a[l].i), n.dtype));
  });
}

std::int64_t bits_of(Cell cell, Dtype dtype) {
  std::byte bytes[8]{};
  write_cell(dtype, bytes, cell);
  return std::bit_cast<std::int64_t>(bytes);
}

void do_bitcast(Machine& m, const Insn& n) {
  taint(m, n, {n.a});
  const Cell* a = cells(m, n.a);
  each_lane(m, n, [&](int l) {
    const auto bytes = std::bit_cast<std::array<std::byte, 8>>(bits_of(a[l], n.from));
    return read_cell(n.dtype, bytes.data());
  });
}

void do_ramp(Machine& m, const Insn& n) {
  taint(m, n, {n.a}, true);
  const std::uint64_t base = static_cast<std::uint64_t>(cells(m, n.a)->i);
  each_lane(m, n, [&](int l) {
    const std::uint64_t step = static_cast<std::uint64_t>(n.stride) * static_cast<std::uint64_t>(l);
    return integer(flat::wrap(static_cast<std::int64_t>(base + step), n.dtype));
  });
}

void do_broadcast(Machine& m, const Insn& n) {
  taint(m, n, {n.a}, true);
  const Cell value = *cells(m, n.a);
  each_lane(m, n, [&](int) { return value; });
}

template <class Combine>
void reduce_lanes(Machine& m, const Insn& n, Combine combine) {
  const Cell* a = cells(m, n.a);
  std::vector<Cell> lanes(a, a + n.stride);
  for (std::size_t half = lanes.size() / 2; half >= 1; half /= 2)
    for (std::size_t l = 0; l < half; ++l) lanes[l] = combine(lanes[l], lanes[l + half]);
  m.cells[static_cast<std::size_t>(n.out)] = lanes[0];
  if (m.poison_of.empty()) return;
  Poison poison = 0;
  for (std::int64_t l = 0; l < n.stride && poison == 0; ++l)
    poison = m.poison_of[static_cast<std::size_t>(n.a + l)];
  m.poison_of[static_cast<std::size_t>(n.out)] = poison;
}

void reduce_real(Machine& m, const Insn& n) {
  reduce_lanes(m, n, [&](Cell x, Cell y) {
    return real(round_to(apply(static_cast<BinaryOp>(n.op), x.f, y.f), n.dtype));
  });
}

void reduce_integer(Machine& m, const Insn& n) {
  reduce_lanes(m, n, [&](Cell x, Cell y) {
    return integer(*flat::evaluate(static_cast<BinaryOp>(n.op), x.i, y.i, n.dtype));
  });
}

// op: the lanes of the operand.
void do_slide(Machine& m, const Insn& n) {
  const std::vector<Cell> x(cells(m, n.a), cells(m, n.a) + n.op);
  const Cell fill = *cells(m, n.b);
  const auto source = [&](int l) { return n.stride + l; };
  const auto has = [&](int l) { return source(l) >= 0 && source(l) < n.op; };
  if (!m.poison_of.empty())
    for (int l = 0; l < n.lanes; ++l) {
      const std::int64_t from = has(l) ? n.a + source(l) : n.b;
      m.poison_of[static_cast<std::size_t>(n.out + l)] =
          m.poison_of[static_cast<std::size_t>(from)];
    }
  for (int l = 0; l < n.lanes; ++l)
    m.cells[static_cast<std::size_t>(n.out + l)] =
        has(l) ? x[static_cast<std::size_t>(source(l))] : fill;
}

void do_load(Machine& m, const Insn& n) {
  const Cell *index = cells(m, n.a), *mask = n.c < 0 ? nullptr : cells(m, n.c);
  if (mask != nullptr) m.require_value(n.c, n.lanes, "a mask");
  for (int l = 0; l < (n.vector_index ? n.lanes : 1); ++l)
    if (!n.vector_index || mask == nullptr || mask[l].i != 0)
      m.require_value(n.a + l, 1, "an address");
  if (mask == nullptr && m.aligned_vectors && n.lanes > 1 && !n.vector_index)
    m.check_aligned(n.object, index->i, n.lanes, "a load of");
  each_lane(m, n, [&](int l) {
    Poison poison = 0;
    Cell value = is_float(n.dtype) ? real(0) : integer(0);
    if (mask == nullptr || mask[l].i != 0)
      value = m.load(n.object, n.vector_index ? index[l].i : index->i + l, poison);
    if (poison != 0 && m.poison_of.empty()) m.poison_of.resize(m.cells.size());
    if (!m.poison_of.empty()) m.poison_of[static_cast<std::size_t>(n.out + l)] = poison;
    return value;
  });
}

void check_reg(Machine& m, const Insn& n) {
  if (m.reg_epochs[static_cast<std::size_t>(n.object)] != m.epoch)
    throw Fault{fmt::format("register r{} is read before it is written", n.object)};
}

}  // namespace

Handler handler_of(const flat::Unary&, Dtype dtype) {
  return is_float(dtype) ? unary_real : unary_integer;
}
Handler handler_of(const flat::Binary& n, Dtype operands) {
  if (!is_float(operands)) return binary_integer;
  return flat::is_comparison(n.op) ? compare_real : binary_real;
}
Handler handler_fma(Dtype dtype) { return is_float(dtype) ? fma_real : fma_integer; }
Handler handler_select() { return do_select; }
Handler handler_cast() { return do_cast; }
Handler handler_bitcast() { return do_bitcast; }
Handler handler_ramp() { return do_ramp; }
Handler handler_broadcast() { return do_broadcast; }
Handler handler_reduce(Dtype dtype) { return is_float(dtype) ? reduce_real : reduce_integer; }
Handler handler_slide() { return do_slide; }
Handler handler_load() { return do_load; }
Handler handler_check_reg() { return check_reg; }

}  // namespace lathe::interp
