// The rules of element types, shared by the parser and validate().
//
// Arithmetic takes operands of one numeric type and has that type. Functions (exp, sqrt, pow ...)
// take floating-point types. Comparisons yield bool, && || ! take it; bool has no arithmetic.
// Integers wrap around like two's complement. Integer / and % need a positive number as divisor, so
// that nothing can trap; % has no floating-point form. A reduction accumulates in
// accumulator_of(type of the body).
#pragma once

#include "base/result.h"
#include "compiler/ir/expr/expr.h"

namespace lathe::te {

// f32 for f16, bf16 and f32; i32 for i8, u8, i16 and u16; else the type itself.
Dtype accumulator_of(Dtype dtype);
bool is_narrow(Dtype dtype);  // accumulator_of(dtype) is another type

// The number as an element of that type (floats are rounded); an error says why it cannot be one.
Result<double> number_as(double value, Dtype dtype);

Status check_unary(ir::UnaryOp op, const ir::Expr& x);
Status check_binary(ir::BinaryOp op, const ir::Expr& a, const ir::Expr& b);
Status check_select(const ir::Expr& condition, const ir::Expr& then, const ir::Expr& otherwise);
Status check_reduction(ir::ReduceOp op, Dtype body);

}  // namespace lathe::te
