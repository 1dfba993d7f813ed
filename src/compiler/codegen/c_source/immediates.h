// Numbers as generated C has them.
#pragma once

#include <cstdint>
#include <string>

#include "base/dtype.h"

namespace lathe::codegen::c_source {

// Of type i64 it has the suffix L. Smaller types are cast, for C would take the number as an int.
// `type` is their name: "char".
std::string integer(std::int64_t value, Dtype dtype, const std::string& type);

// Of f32 it has the suffix f. Of f16 and bf16 these are the bits, of which C knows no other number.
std::string real(double value, Dtype dtype);

}  // namespace lathe::codegen::c_source
