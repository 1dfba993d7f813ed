// Element types. f32 is the one tuned for speed; the others are carried through correctly.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace lathe {

enum class Dtype : std::uint8_t {
  kF32,
  kF64,
  kF16,
  kBF16,
  kI8,
  kU8,
  kI32,
  kI64,
  kBool,
  kI16,
  kU16,
  kU32
};

std::string_view name_of(Dtype dtype);  // "f32", "bf16", "bool"
std::optional<Dtype> dtype_from_name(std::string_view name);
std::string_view known_dtypes();  // "f32, f64, ..." for error messages
int size_of(Dtype dtype);         // bytes an element; bool is 1
bool is_float(Dtype dtype);
bool is_unsigned(Dtype dtype);   // u8, u16, u32 and bool
double epsilon_of(Dtype dtype);  // unit round-off; 0 for integers

// IEEE half and bfloat16 bits, round to nearest even.
float f16_to_f32(std::uint16_t bits);
std::uint16_t f32_to_f16(float value);
float bf16_to_f32(std::uint16_t bits);
std::uint16_t f32_to_bf16(float value);

// Reads or writes the element at `address` as a double (exact for all but i64 beyond 2^53).
double load_element(Dtype dtype, const void* address);
void store_element(Dtype dtype, void* address, double value);

}  // namespace lathe
