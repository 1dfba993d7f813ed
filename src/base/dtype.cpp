#include "base/dtype.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <string>

namespace lathe {
namespace {

struct Row {
  Dtype dtype;
  std::string_view name;
  int size;
  bool is_float;
  double epsilon;
};
constexpr std::array<Row, 12> kRows{{
    {Dtype::kF32, "f32", 4, true, 0x1p-24},
    {Dtype::kF64, "f64", 8, true, 0x1p-53},
    {Dtype::kF16, "f16", 2, true, 0x1p-11},
    {Dtype::kBF16, "bf16", 2, true, 0x1p-8},
    {Dtype::kI8, "i8", 1, false, 0},
    {Dtype::kU8, "u8", 1, false, 0},
    {Dtype::kI32, "i32", 4, false, 0},
    {Dtype::kI64, "i64", 8, false, 0},
    {Dtype::kBool, "bool", 1, false, 0},
    {Dtype::kI16, "i16", 2, false, 0},
    {Dtype::kU16, "u16", 2, false, 0},
    {Dtype::kU32, "u32", 4, false, 0},
}};

const Row& row(Dtype dtype) { return kRows[static_cast<std::size_t>(dtype)]; }

template <class T>
T read_as(const void* address) {
  T value;
  std::memcpy(&value, address, sizeof(T));
  return value;
}
template <class T>
void write_as(void* address, T value) {
  std::memcpy(address, &value, sizeof(T));
}

}  // namespace

std::string_view name_of(Dtype dtype) { return row(dtype).name; }
int size_of(Dtype dtype) { return row(dtype).size; }
bool is_float(Dtype dtype) { return row(dtype).is_float; }
bool is_unsigned(Dtype dtype) {
  return dtype == Dtype::kU8 || dtype == Dtype::kU16 || dtype == Dtype::kU32 ||
         dtype == Dtype::kBool;
}
double epsilon_of(Dtype dtype) { return row(dtype).epsilon; }
std::string_view known_dtypes() {
  return "f32, f64, f16, bf16, i8, u8, i16, u16, i32, u32, i64, bool";
}

std::optional<Dtype> dtype_from_name(std::string_view name) {
  for (const Row& r : kRows)
    if (r.name == name) return r.dtype;
  return std::nullopt;
}

float bf16_to_f32(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

std::uint16_t f32_to_bf16(float value) {
  auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>((bits >> 16) | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

float f16_to_f32(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000) << 16;
  const int exponent = (half >> 10) & 0x1f;
  const std::uint32_t fraction = half & 0x3ff;
  if (exponent == 0)
    return (sign != 0 ? -1.0F : 1.0F) * std::ldexp(static_cast<float>(fraction), -24);
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000U | (fraction << 13));
  return std::bit_cast<float>(sign | (static_cast<std::uint32_t>(exponent + 112) << 23) |
                              (fraction << 13));
}

std::uint16_t f32_to_f16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000);
  if (std::isnan(value)) return sign | 0x7e00;
  const float magnitude = std::fabs(value);
  if (magnitude >= 65520.0F) return sign | 0x7c00;
  if (magnitude < 0x1p-14F)  // a subnormal is a multiple of 2^-24; nearbyint rounds to even
    return sign | static_cast<std::uint16_t>(std::nearbyint(std::ldexp(magnitude, 24)));
  const std::uint32_t m = std::bit_cast<std::uint32_t>(magnitude);
  const std::uint32_t rounded = m + 0xfff + ((m >> 13) & 1);
  return sign | static_cast<std::uint16_t>((rounded - (112U << 23)) >> 13);
}

double load_element(Dtype dtype, const void* address) {
  switch (dtype) {
    case Dtype::kF32: return read_as<float>(address);
    case Dtype::kF64: return read_as<double>(address);
    case Dtype::kF16: return f16_to_f32(read_as<std::uint16_t>(address));
    case Dtype::kBF16: return bf16_to_f32(read_as<std::uint16_t>(address));
    case Dtype::kI8: return read_as<std::int8_t>(address);
    case Dtype::kU8: return read_as<std::uint8_t>(address);
    case Dtype::kI16: return read_as<std::int16_t>(address);
    case Dtype::kU16: return read_as<std::uint16_t>(address);
    case Dtype::kU32: return read_as<std::uint32_t>(address);
    case Dtype::kI32: return read_as<std::int32_t>(address);
    case Dtype::kI64: return static_cast<double>(read_as<std::int64_t>(address));
    case Dtype::kBool: return read_as<std::uint8_t>(address) != 0 ? 1 : 0;
  }
  return 0;
}

void store_element(Dtype dtype, void* address, double value) {
  switch (dtype) {
    case Dtype::kF32: return write_as(address, static_cast<float>(value));
    case Dtype::kF64: return write_as(address, value);
    case Dtype::kF16: return write_as(address, f32_to_f16(static_cast<float>(value)));
    case Dtype::kBF16: return write_as(address, f32_to_bf16(static_cast<float>(value)));
    case Dtype::kI8: return write_as(address, static_cast<std::int8_t>(value));
    case Dtype::kU8: return write_as(address, static_cast<std::uint8_t>(value));
    case Dtype::kI16: return write_as(address, static_cast<std::int16_t>(value));
    case Dtype::kU16: return write_as(address, static_cast<std::uint16_t>(value));
    case Dtype::kU32: return write_as(address, static_cast<std::uint32_t>(value));
    case Dtype::kI32: return write_as(address, static_cast<std::int32_t>(value));
    case Dtype::kI64: return write_as(address, static_cast<std::int64_t>(value));
    case Dtype::kBool: return write_as(address, static_cast<std::uint8_t>(value != 0));
  }
}

}  // namespace lathe
