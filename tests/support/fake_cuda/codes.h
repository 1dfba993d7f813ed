// What instructions do, by number: an interpreter's step looks at no text.
#pragma once

#include "support/fake_cuda/ptx.h"

namespace lathe::fake_cuda {

enum Code : int {
  kLoad,
  kStore,
  kMove,
  kConvert,
  kToSpace,
  kAdd,
  kSub,
  kMul,
  kMad,
  kFma,
  kDiv,
  kRem,
  kNeg,
  kAbs,
  kMin,
  kMax,
  kAnd,
  kOr,
  kXor,
  kNot,
  kShl,
  kShr,
  kSetp,
  kSelp,
  kBra,
  kBar,
  kRet,
  kEx2,
  kLg2,
  kRcp,
  kSqrt,
  kRsqrt,
  kSin,
  kCos,
  kTanh,
  kBfe,
  kBfi,
  kPrmt,
  kPopc,
  kClz,
  kBrev,
  kShfl,
  kCopysign,
  kTestp,
  kCopyAsync,
  kNothing,
  kAtom,
  kShf,
  kCnot
};

// Sets the code and the space of an instruction. Throws a Fault where it is not known.
void resolve(Instruction& instruction);

}  // namespace lathe::fake_cuda
