#include "support/fake_cuda/arithmetic.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

namespace lathe::fake_cuda {
namespace {

template <class T>
std::uint64_t bits_of(T value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

float from_bf16(std::uint64_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits & 0xffff) << 16);
}
std::uint64_t to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return (bits >> 16) | 0x40;
  return ((bits + 0x7fff + ((bits >> 16) & 1)) >> 16) & 0xffff;
}

bool is_half(Type type) { return type == Type::kF16 || type == Type::kBf16; }

bool is_real(Type type) { return type == Type::kF64 || type == Type::kF32 || is_half(type); }
double rounded(const Instruction& in, double value) {
  if (in.has("rni")) return std::nearbyint(value);
  if (in.has("rzi")) return std::trunc(value);
  if (in.has("rmi")) return std::floor(value);
  if (in.has("rpi")) return std::ceil(value);
  return value;
}
std::uint64_t real_bits(Type type, double value) {
  if (type == Type::kF64) return bits_of(value);
  if (type == Type::kF32) return bits_of(static_cast<float>(value));
  if (type == Type::kF16) return bits_of(static_cast<_Float16>(value));
  return to_bf16(static_cast<float>(value));
}

// As the card does it: what is too large becomes the largest, NaN becomes nothing.
std::uint64_t whole_of(Type type, double value) {
  return with_type(type, [&](auto t) -> std::uint64_t {
    using To = decltype(t);
    if constexpr (std::is_integral_v<To>) {
      using Limits = std::numeric_limits<To>;
      if (std::isnan(value)) return 0;
      if (value <= static_cast<double>(Limits::min()))
        return static_cast<std::uint64_t>(static_cast<std::int64_t>(Limits::min()));
      if (value >= static_cast<double>(Limits::max()))
        return static_cast<std::uint64_t>(Limits::max());
      return static_cast<std::uint64_t>(static_cast<To>(value));
    }
    return 0;
  });
}

template <class T>
T combine(const Instruction& in, T a, T b) {
  using U =
      std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>, std::type_identity<T>>::type;
  switch (in.code) {
    case kAdd: return static_cast<T>(static_cast<U>(static_cast<U>(a) + static_cast<U>(b)));
    case kSub: return static_cast<T>(static_cast<U>(static_cast<U>(a) - static_cast<U>(b)));
    case kMul:
      if constexpr (std::is_integral_v<T>)
        return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
      else return a * b;
    case kDiv:
      if constexpr (std::is_integral_v<T>) {
        if (b == 0) return static_cast<T>(-1);
        if (std::is_signed_v<T> && b == static_cast<T>(-1)) return static_cast<T>(U{0} - U(a));
      }
      return static_cast<T>(a / b);
    case kRem:
      if constexpr (std::is_integral_v<T>) {
        if (b == 0) return a;
        if (std::is_signed_v<T> && b == static_cast<T>(-1)) return 0;
        return static_cast<T>(a % b);
      }
      return a;
    case kMin:
    case kMax:
      if constexpr (std::is_floating_point_v<T>) {
        if (in.has("NaN") && (std::isnan(a) || std::isnan(b)))
          return std::numeric_limits<T>::quiet_NaN();
        // A zero with its sign counts.
        if (a == b) return (in.code == kMin) == std::signbit(a) ? a : b;
        return in.code == kMin ? std::fmin(a, b) : std::fmax(a, b);
      } else {
        return in.code == kMin ? std::min(a, b) : std::max(a, b);
      }
    default: return a;
  }
}

template <class T>
bool compared(const std::string& how, T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    const bool unordered = std::isnan(a) || std::isnan(b);
    if (how == "num") return !unordered;
    if (how == "nan") return unordered;
    if (how.size() == 3 && how[2] == 'u' && unordered) return true;
    if (unordered) return false;
  }
  const std::string two = how.substr(0, 2);
  if (two == "eq") return a == b;
  if (two == "ne") return a != b;
  if (two == "lt" || two == "lo") return a < b;
  if (two == "le" || two == "ls") return a <= b;
  if (two == "gt" || two == "hi") return a > b;
  return a >= b;
}

template <class T>
T real_function(int code, T a) {
  switch (code) {
    case kNeg: return -a;
    case kAbs: return std::fabs(a);
    case kEx2: return std::exp2(a);
    case kLg2: return std::log2(a);
    case kRcp: return 1 / a;
    case kSqrt: return std::sqrt(a);
    case kRsqrt: return 1 / std::sqrt(a);
    case kSin: return std::sin(a);
    case kCos: return std::cos(a);
    default: return std::tanh(a);
  }
}

}  // namespace

double real_of(Type type, std::uint64_t bits) {
  if (type == Type::kF64) return as<double>(bits);
  if (type == Type::kF32) return as<float>(bits);
  if (type == Type::kF16) return static_cast<double>(static_cast<float>(as<_Float16>(bits)));
  return from_bf16(bits);
}
std::uint64_t binary(const Instruction& in, Type type, std::uint64_t x, std::uint64_t y) {
  if (is_half(type)) {
    const auto a = static_cast<float>(real_of(type, x)), b = static_cast<float>(real_of(type, y));
    return real_bits(type, combine(in, a, b));
  }
  if (in.code == kMul && (in.has("wide") || in.has("hi")))
    return with_type(type, [&](auto t) -> std::uint64_t {
      using T = decltype(t);
      if constexpr (std::is_integral_v<T>) {
        using Wide = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
        const Wide product = static_cast<Wide>(as<T>(x)) * static_cast<Wide>(as<T>(y));
        return static_cast<std::uint64_t>(in.has("hi") ? product >> (8 * sizeof(T)) : product);
      }
      return 0;
    });
  return with_type(type, [&](auto t) -> std::uint64_t {
    return bits_of(combine(in, as<decltype(t)>(x), as<decltype(t)>(y)));
  });
}

std::uint64_t fused(const Instruction& in, std::uint64_t x, std::uint64_t y, std::uint64_t z) {
  const Type type = in.types[0];
  if (type == Type::kF32) return bits_of(std::fma(as<float>(x), as<float>(y), as<float>(z)));
  if (type == Type::kF64) return bits_of(std::fma(as<double>(x), as<double>(y), as<double>(z)));
  if (is_half(type))
    return real_bits(type, std::fma(real_of(type, x), real_of(type, y), real_of(type, z)));
  Instruction product = in;  // of integers: rare
  product.code = kMul;
  const std::uint64_t wide = binary(product, type, x, y);
  const int bytes = in.has("wide") ? 2 * size_of(type) : size_of(type);
  const std::uint64_t sum = wide + z;
  return bytes == 8 ? sum : sum & ((std::uint64_t{1} << (8 * bytes)) - 1);
}

std::uint64_t shifted(const Instruction& in, std::uint64_t x, std::uint64_t y) {
  const Type type = in.types[0];
  const unsigned bits = 8U * static_cast<unsigned>(size_of(type));
  const auto by = static_cast<unsigned>(y & 0xffffffffU);
  return with_type(type, [&](auto t) -> std::uint64_t {
    using T = decltype(t);
    if constexpr (std::is_integral_v<T>) {
      if (in.code == kShl)
        return by >= bits ? 0 : bits_of(static_cast<T>(static_cast<std::uint64_t>(as<T>(x)) << by));
      const T value = as<T>(x);
      if (by >= bits) return bits_of(static_cast<T>(value < 0 ? -1 : 0));
      return bits_of(static_cast<T>(value >> by));
    }
    return 0;
  });
}

std::uint64_t unary(const Instruction& in, std::uint64_t x) {
  const Type type = in.types[0];
  if (is_half(type)) {
    if (in.code == kNeg) return x ^ 0x8000U;
    if (in.code == kAbs) return x & 0x7fffU;
    return real_bits(type, real_function(in.code, static_cast<float>(real_of(type, x))));
  }
  return with_type(type, [&](auto t) -> std::uint64_t {
    using T = decltype(t);
    const T a = as<T>(x);
    if constexpr (std::is_floating_point_v<T>) {
      return bits_of(real_function(in.code, a));
    } else {
      using U = std::make_unsigned_t<T>;
      switch (in.code) {
        case kNeg: return bits_of(static_cast<T>(U{0} - static_cast<U>(a)));
        case kAbs: return bits_of(a < 0 ? static_cast<T>(U{0} - static_cast<U>(a)) : a);
        case kNot: return type == Type::kPred ? (x & 1U) ^ 1U : bits_of(static_cast<T>(~a));
        case kCnot: return bits_of(static_cast<T>(a == 0));
        case kPopc: return static_cast<std::uint64_t>(std::popcount(static_cast<U>(a)));
        case kClz: return static_cast<std::uint64_t>(std::countl_zero(static_cast<U>(a)));
        default: break;
      }
      std::uint64_t reversed = 0;
      for (unsigned i = 0; i < 8 * sizeof(T); ++i)
        reversed |= (x >> i & 1U) << (8 * sizeof(T) - 1 - i);
      return reversed;
    }
  });
}

std::uint64_t converted(const Instruction& in, std::uint64_t value) {
  const Type to = in.types[0], from = in.types[1];
  std::uint64_t out = 0;
  if (is_real(from)) {
    double real = rounded(in, real_of(from, value));
    if (in.has("sat")) real = std::isnan(real) ? 0 : std::clamp(real, 0.0, 1.0);
    out = is_real(to) ? real_bits(to, real) : whole_of(to, real);
  } else {
    out = with_type(from, [&](auto t) -> std::uint64_t {
      using From = decltype(t);
      const From whole = as<From>(value);
      if (to == Type::kF32) return bits_of(static_cast<float>(whole));
      if (is_real(to)) return real_bits(to, static_cast<double>(whole));
      return static_cast<std::uint64_t>(whole);
    });
    if (!is_real(to) && size_of(to) < 8)
      out = with_type(to, [&](auto t) -> std::uint64_t {
        return static_cast<std::uint64_t>(static_cast<std::int64_t>(as<decltype(t)>(out)));
      });
  }
  return out;
}

std::uint64_t of_bits(const Instruction& in, std::span<const std::uint64_t> operands) {
  const auto operand = [&](std::size_t i) { return operands[i - 1]; };
  const Type type = in.types[0];
  const unsigned width = 8U * static_cast<unsigned>(size_of(type));
  if (in.code == kPrmt) {
    const std::uint64_t both = (operand(1) & 0xffffffffU) | operand(2) << 32U;
    std::uint64_t out = 0;
    for (unsigned i = 0; i < 4; ++i) {
      const auto pick = static_cast<unsigned>(operand(3) >> (4 * i) & 15U);
      std::uint64_t byte = both >> (8 * (pick & 7U)) & 0xffU;
      if ((pick & 8U) != 0) byte = (byte & 0x80U) != 0 ? 0xff : 0;
      out |= byte << (8 * i);
    }
    return out;
  }
  if (in.code == kShf) {
    const std::uint64_t both = (operand(1) & 0xffffffffU) | operand(2) << 32U;
    auto by = static_cast<unsigned>(operand(3));
    by = in.has("clamp") ? std::min(by, 32U) : by & 31U;
    return (in.has("l") ? (by == 0 ? both >> 32U : both >> (32U - by)) : both >> by) & 0xffffffffU;
  }
  const std::uint64_t whole = width == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
  const auto at = static_cast<unsigned>(operand(in.code == kBfi ? 3 : 2) & 0xffU);
  const auto length = static_cast<unsigned>(operand(in.code == kBfi ? 4 : 3) & 0xffU);
  const std::uint64_t mask = length >= 64 ? whole : (std::uint64_t{1} << length) - 1;
  if (in.code == kBfi) {
    if (at >= width) return operand(2) & whole;
    return ((operand(2) & ~(mask << at)) | (operand(1) & mask) << at) & whole;
  }
  if (length == 0 || at >= width) return 0;
  std::uint64_t out = (operand(1) & whole) >> at & mask;
  const bool is_signed = type == Type::kS32 || type == Type::kS64;
  if (is_signed && length < width && (out >> (length - 1) & 1U) != 0) out |= whole & ~mask;
  return out;
}

bool compares(const Instruction& in, std::uint64_t x, std::uint64_t y) {
  const Type type = in.types[0];
  const std::string& how = in.words[0];
  if (is_half(type)) return compared(how, real_of(type, x), real_of(type, y));
  return with_type(type,
                   [&](auto t) { return compared(how, as<decltype(t)>(x), as<decltype(t)>(y)); });
}

}  // namespace lathe::fake_cuda
