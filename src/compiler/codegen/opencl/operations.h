// Operations of OpenCL C on texts of operands: scalars and vectors alike.
#pragma once

#include <map>
#include <string>

#include "compiler/ir/flat/flat.h"

namespace lathe::codegen::cl {

// "float4"; of f16 and bf16 their bits, "ushort4"; of bool "int4".
std::string type_name(flat::Type type);
// Of an element in memory, where a bool is a byte: "uchar".
std::string storage_name(Dtype dtype);

// Text of primary precedence. `may_wrap`: of integers, the result may leave the range of the type.
// Functions that the text calls are added to `helpers`: their definitions by name.
using Helpers = std::map<std::string, std::string>;
std::string binary_text(flat::BinaryOp op, flat::Type operands, const std::string& a,
                        const std::string& b, bool may_wrap, Helpers& helpers);
std::string unary_text(flat::UnaryOp op, flat::Type type, const std::string& x);
std::string select_text(flat::Type condition, flat::Type type, const std::string& c,
                        const std::string& then, const std::string& otherwise);
// `x` is a name or a number.
std::string cast_text(flat::Type from, flat::Type to, const std::string& x);
std::string bitcast_text(flat::Type from, flat::Type to, const std::string& x);
// A vector from the same number in all lanes.
std::string splat_text(flat::Type type, const std::string& x);

}  // namespace lathe::codegen::cl
