// A part of verify() (flat.h): which types operations take.
#pragma once

#include <string>

#include "compiler/ir/flat/flat.h"

namespace lathe::flat {

std::string described(Type type);  // "f32", or "f32 x 8"
bool is_integer(Dtype dtype);      // no bool

// Whether the bits of a number of the one type are those of one of the other. Those of a half lie
// in the low bits of an i32.
bool bitcasts(Dtype from, Dtype to);

// Whether operands may have this type.
bool takes(UnaryOp op, Dtype dtype);
bool takes(BinaryOp op, Dtype dtype);

}  // namespace lathe::flat
