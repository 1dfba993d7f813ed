#include "compiler/codegen/opencl/operations.h"

#include <fmt/format.h>

#include "compiler/codegen/c_source/kernel_writer.h"

namespace lathe::codegen::cl {

using c_source::Refused;
using flat::BinaryOp;
using flat::Type;
using flat::UnaryOp;

namespace {

bool is_half(Dtype dtype) { return dtype == Dtype::kF16 || dtype == Dtype::kBF16; }
bool is_signed(Dtype dtype) { return !is_float(dtype) && !is_unsigned(dtype); }

const char* scalar_name(Dtype dtype) {
  switch (dtype) {
    case Dtype::kF32: return "float";
    case Dtype::kF64: return "double";
    case Dtype::kF16:
    case Dtype::kBF16: return "ushort";
    case Dtype::kI8: return "char";
    case Dtype::kU8: return "uchar";
    case Dtype::kI16: return "short";
    case Dtype::kU16: return "ushort";
    case Dtype::kU32: return "uint";
    case Dtype::kI32:
    case Dtype::kBool: return "int";
    case Dtype::kI64: return "long";
  }
  return "?";
}

std::string with_lanes(const std::string& name, int lanes) {
  return lanes == 1 ? name : fmt::format("{}{}", name, lanes);
}
std::string unsigned_name(Type type) {
  const std::string name = scalar_name(type.dtype);
  return with_lanes(name[0] == 'u' ? name : "u" + name, type.lanes);
}
// The integers that masks of such lanes consist of.
std::string mask_name(Type type) {
  constexpr const char* kBySize[] = {"", "char", "short", "", "int", "", "", "", "long"};
  const int bytes = type.dtype == Dtype::kBool ? 4 : size_of(type.dtype);
  return with_lanes(kBySize[bytes], type.lanes);
}

const char* symbol_of(BinaryOp op) { return flat::name_of(op); }

// The result of an operation in unsigned numbers, which wrap.
std::string wrapped(const std::string& symbol, Type type, const std::string& a,
                    const std::string& b) {
  const std::string name = type_name(type);
  // C would multiply numbers of 16 bits as ints, which their product leaves.
  const bool grows = size_of(type.dtype) == 2 && type.lanes == 1 && symbol != ">>";
  const std::string other = grows ? "uint" : unsigned_name(type);
  if (type.lanes == 1)
    return fmt::format("(({0})(({1}){2} {3} ({1}){4}))", name, other, a, symbol, b);
  if (!is_signed(type.dtype)) return fmt::format("({} {} {})", a, symbol, b);
  return fmt::format("as_{0}(as_{1}({2}) {3} as_{1}({4}))", name, other, a, symbol, b);
}

// NaN where either is.
std::string extreme(bool least, Type type, const std::string& a, const std::string& b,
                    Helpers& helpers) {
  const std::string name = type_name(type);
  const std::string function = fmt::format("lathe_{}_{}", least ? "min" : "max", name);
  const char* before = least ? "<" : ">";
  const std::string body = type.lanes == 1
                               ? fmt::format("a {} b || a != a ? a : b", before)
                               : fmt::format("select(b, a, (a {} b) | (a != a))", before);
  helpers[function] =
      fmt::format("inline {0} {1}({0} a, {0} b) {{ return {2}; }}\n", name, function, body);
  return fmt::format("{}({}, {})", function, c_source::bare(a), c_source::bare(b));
}

std::string compared(BinaryOp op, Type type, const std::string& a, const std::string& b) {
  const std::string text = fmt::format("({} {} {})", a, symbol_of(op), b);
  const bool ints = mask_name(type) == with_lanes("int", type.lanes);
  return type.lanes == 1 || ints ? text : fmt::format("convert_int{}{}", type.lanes, text);
}

// Of two bools; in vectors true is -1.
std::string bool_binary(BinaryOp op, Type type, const std::string& a, const std::string& b) {
  const std::string none = type.lanes == 1 ? "!" : "~";
  switch (op) {
    case BinaryOp::kAnd:
    case BinaryOp::kMin: return fmt::format("({} & {})", a, b);
    case BinaryOp::kOr:
    case BinaryOp::kMax: return fmt::format("({} | {})", a, b);
    case BinaryOp::kLt: return fmt::format("({}{} & {})", none, a, b);
    case BinaryOp::kLe: return fmt::format("({}{} | {})", none, a, b);
    case BinaryOp::kEq:
    case BinaryOp::kNe: return fmt::format("({} {} {})", a, symbol_of(op), b);
    default: throw Refused{fmt::format("{} of bools has no form in OpenCL C", symbol_of(op))};
  }
}

std::string int_binary(BinaryOp op, Type type, const std::string& a, const std::string& b,
                       bool may_wrap) {
  const bool narrow = size_of(type.dtype) < 4 && type.lanes == 1;  // C computes with ints
  switch (op) {
    case BinaryOp::kAdd:
    case BinaryOp::kSub:
    case BinaryOp::kMul:
      return may_wrap ? wrapped(symbol_of(op), type, a, b)
                      : fmt::format("({} {} {})", a, symbol_of(op), b);
    case BinaryOp::kShl:
    case BinaryOp::kShr: return wrapped(symbol_of(op), type, a, b);
    case BinaryOp::kMin: return fmt::format("min({}, {})", a, b);
    case BinaryOp::kMax: return fmt::format("max({}, {})", a, b);
    case BinaryOp::kSar: {  // C's shift of signed numbers
      const std::string text = fmt::format("({} >> {})", a, b);
      return narrow ? fmt::format("(({}){})", type_name(type), text) : text;
    }
    case BinaryOp::kDiv:
    case BinaryOp::kMod:
    case BinaryOp::kBitAnd:
    case BinaryOp::kBitOr:
    case BinaryOp::kBitXor: {
      const std::string text = fmt::format("({} {} {})", a, symbol_of(op), b);
      return narrow ? fmt::format("(({}){})", type_name(type), text) : text;
    }
    default: throw Refused{fmt::format("{} of integers has no form in OpenCL C", symbol_of(op))};
  }
}

std::string real_binary(BinaryOp op, Type type, const std::string& a, const std::string& b,
                        Helpers& helpers) {
  switch (op) {
    case BinaryOp::kAdd:
    case BinaryOp::kSub:
    case BinaryOp::kMul:
    case BinaryOp::kDiv: return fmt::format("({} {} {})", a, symbol_of(op), b);
    case BinaryOp::kMin:
    case BinaryOp::kMax: return extreme(op == BinaryOp::kMin, type, a, b, helpers);
    default:
      throw Refused{fmt::format("{} of real numbers has no form in OpenCL C", symbol_of(op))};
  }
}

}  // namespace

std::string type_name(Type type) { return with_lanes(scalar_name(type.dtype), type.lanes); }

std::string storage_name(Dtype dtype) {
  return dtype == Dtype::kBool ? "uchar" : scalar_name(dtype);
}

std::string splat_text(Type type, const std::string& x) {
  if (type.dtype == Dtype::kBool) return fmt::format("(({})(-{}))", type_name(type), x);
  return fmt::format("(({})({}))", type_name(type), c_source::bare(x));
}

std::string binary_text(BinaryOp op, Type type, const std::string& a, const std::string& b,
                        bool may_wrap, Helpers& helpers) {
  if (type.dtype == Dtype::kBool) return bool_binary(op, type, a, b);
  if (is_half(type.dtype)) throw Refused{"arithmetic of 16-bit real numbers is left"};
  if (flat::is_comparison(op)) return compared(op, type, a, b);
  return is_float(type.dtype) ? real_binary(op, type, a, b, helpers)
                              : int_binary(op, type, a, b, may_wrap);
}

std::string unary_text(UnaryOp op, Type type, const std::string& x) {
  const bool real = is_float(type.dtype);
  const std::string zero = type.lanes == 1 ? "0" : splat_text(type, "0");
  switch (op) {
    case UnaryOp::kNot: return fmt::format("({}{})", type.lanes == 1 ? "!" : "~", x);
    case UnaryOp::kNeg: return real ? fmt::format("(-{})", x) : wrapped("-", type, zero, x);
    case UnaryOp::kAbs:
      if (real) return fmt::format("fabs({})", x);
      if (!is_signed(type.dtype)) return x;
      // abs() gives an unsigned number, of which compilers know that it is no lowest one.
      return fmt::format("max(({}){}, {})", type_name(type), x, wrapped("-", type, zero, x));
    case UnaryOp::kSqrt:
    case UnaryOp::kFloor:
    case UnaryOp::kCeil: return fmt::format("{}({})", ir::name_of(op), x);
    case UnaryOp::kRound: return fmt::format("rint({})", x);
    default: throw Refused{fmt::format("{} is not written out", ir::name_of(op))};
  }
}

std::string select_text(Type condition, Type type, const std::string& c, const std::string& then,
                        const std::string& otherwise) {
  if (condition.lanes == 1) {
    const std::string text = fmt::format("({} ? {} : {})", c, then, otherwise);
    const bool narrow = size_of(type.dtype) < 4 && type.lanes == 1;
    return narrow ? fmt::format("(({}){})", type_name(type), text) : text;
  }
  const bool ints = mask_name(type) == type_name(condition);
  const std::string mask = ints ? c : fmt::format("convert_{}({})", mask_name(type), c);
  return fmt::format("select({}, {}, {})", otherwise, then, mask);
}

std::string cast_text(Type from, Type to, const std::string& x) {
  const std::string name = type_name(to);
  if (to.dtype == Dtype::kBool) {
    const std::string zero = from.lanes == 1 ? "0" : splat_text(from, "0");
    return compared(BinaryOp::kNe, from, x, zero);
  }
  if (is_half(to.dtype))
    return fmt::format("as_{}(convert_{}_rte({}))", name, with_lanes("half", to.lanes), x);
  if (is_half(from.dtype))
    return fmt::format("convert_{}(as_{}({}))", name, with_lanes("half", to.lanes), x);
  if (from.dtype == Dtype::kBool)
    return to.lanes == 1 ? fmt::format("(({}){})", name, x)
                         : fmt::format("convert_{}({} & 1)", name, x);
  if (is_float(from.dtype) && !is_float(to.dtype))  // NaN gives 0
    return from.lanes == 1 ? fmt::format("convert_{0}_sat_rtz({1} == {1} ? {1} : 0)", name, x)
                           : fmt::format("convert_{0}_sat_rtz(select(({2})(0), {1}, {1} == {1}))",
                                         name, x, type_name(from));
  return to.lanes == 1 ? fmt::format("(({}){})", name, x) : fmt::format("convert_{}({})", name, x);
}

std::string bitcast_text(Type from, Type to, const std::string& x) {
  const std::string name = type_name(to);
  if (size_of(from.dtype) != size_of(to.dtype))  // the bits of a half, and an i32
    return to.lanes == 1 ? fmt::format("(({}){})", name, x)
                         : fmt::format("convert_{}({})", name, x);
  if (from.dtype == Dtype::kBool || to.dtype == Dtype::kBool) return cast_text(from, to, x);
  return type_name(from) == name ? x : fmt::format("as_{}({})", name, x);
}

}  // namespace lathe::codegen::cl
