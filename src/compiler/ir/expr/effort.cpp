#include "compiler/ir/expr/effort.h"

#include "base/result.h"

namespace lathe::ir {

Effort effort_of(UnaryOp op) {
  switch (op) {
    case UnaryOp::kNeg:
    case UnaryOp::kAbs:
    case UnaryOp::kFloor:
    case UnaryOp::kCeil:
    case UnaryOp::kNot:
    case UnaryOp::kRound:
    case UnaryOp::kSign:
    case UnaryOp::kBitNot:
    case UnaryOp::kIsNan:
    case UnaryOp::kIsInf: return Effort::kShort;
    case UnaryOp::kSqrt:
    case UnaryOp::kRsqrt: return Effort::kRoot;
    case UnaryOp::kExp:
    case UnaryOp::kLog:
    case UnaryOp::kTanh:
    case UnaryOp::kErf:
    case UnaryOp::kSigmoid:
    case UnaryOp::kSin:
    case UnaryOp::kCos:
    case UnaryOp::kTan:
    case UnaryOp::kLog1p:
    case UnaryOp::kExpm1: return Effort::kFunction;
  }
  broken_invariant(__FILE__, __LINE__, "unary operator out of range");
}

}  // namespace lathe::ir
