// The arithmetic of PTX, on registers of 64 bits that hold values of any type.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>

#include "support/fake_cuda/codes.h"

namespace lathe::fake_cuda {

// What a register holds, as a type; the rest of it counts for nothing.
template <class T>
T as(std::uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
// Calls f with a value of the type; integers of 8 to 64 bits, f32 and f64.
template <class F>
auto with_type(Type type, const F& f) {
  switch (type) {
    case Type::kS8: return f(std::int8_t{});
    case Type::kU8:
    case Type::kB8:
    case Type::kPred: return f(std::uint8_t{});
    case Type::kS16: return f(std::int16_t{});
    case Type::kU16:
    case Type::kB16:
    case Type::kF16:
    case Type::kBf16: return f(std::uint16_t{});
    case Type::kS32: return f(std::int32_t{});
    case Type::kU32:
    case Type::kB32: return f(std::uint32_t{});
    case Type::kS64: return f(std::int64_t{});
    case Type::kU64:
    case Type::kB64: return f(std::uint64_t{});
    case Type::kF32: return f(float{});
    case Type::kF64: break;
  }
  return f(double{});
}

double real_of(Type type, std::uint64_t bits);
// Of two operands: sums, products, quotients, smaller and larger ones.
std::uint64_t binary(const Instruction& in, Type type, std::uint64_t x, std::uint64_t y);
std::uint64_t fused(const Instruction& in, std::uint64_t x, std::uint64_t y, std::uint64_t z);
std::uint64_t shifted(const Instruction& in, std::uint64_t x, std::uint64_t y);
std::uint64_t unary(const Instruction& in, std::uint64_t x);
std::uint64_t converted(const Instruction& in, std::uint64_t x);
// Fields of bits, bytes in another order, shifts of two registers. `operands`: those after the
// result.
std::uint64_t of_bits(const Instruction& in, std::span<const std::uint64_t> operands);
// What the comparison of an instruction says.
bool compares(const Instruction& in, std::uint64_t x, std::uint64_t y);

}  // namespace lathe::fake_cuda
