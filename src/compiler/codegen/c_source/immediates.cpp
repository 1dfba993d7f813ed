#include "compiler/codegen/c_source/immediates.h"

#include <cmath>

#include <fmt/format.h>

namespace lathe::codegen::c_source {
namespace {

// The shortest digits that give the same number, with a point or an exponent.
template <class T>
std::string digits(T value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

}  // namespace

std::string integer(std::int64_t value, Dtype dtype, const std::string& type) {
  switch (dtype) {
    case Dtype::kI64:
      if (value == INT64_MIN) return "(-9223372036854775807L - 1)";
      return value < 0 ? fmt::format("({}L)", value) : fmt::format("{}L", value);
    case Dtype::kI32:
      if (value == INT32_MIN) return "(-2147483647 - 1)";
      return value < 0 ? fmt::format("({})", value) : fmt::format("{}", value);
    case Dtype::kBool: return value != 0 ? "1" : "0";
    default: return fmt::format("(({}){})", type, value);
  }
}

std::string real(double value, Dtype dtype) {
  if (dtype == Dtype::kF16)
    return fmt::format("((ushort){:#x})", f32_to_f16(static_cast<float>(value)));
  if (dtype == Dtype::kBF16)
    return fmt::format("((ushort){:#x})", f32_to_bf16(static_cast<float>(value)));
  if (std::isnan(value)) return dtype == Dtype::kF64 ? "((double)NAN)" : "NAN";
  if (std::isinf(value)) {
    const char* text = dtype == Dtype::kF64 ? "((double){}INFINITY)" : "({}INFINITY)";
    return fmt::format(fmt::runtime(text), value < 0 ? "-" : "");
  }
  const std::string text =
      dtype == Dtype::kF64 ? digits(value) : digits(static_cast<float>(value)) + "f";
  return std::signbit(value) ? "(" + text + ")" : text;
}

}  // namespace lathe::codegen::c_source
