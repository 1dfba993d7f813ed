#include "support/fake_cuda/codes.h"

#include <utility>

namespace lathe::fake_cuda {
namespace {

constexpr std::pair<const char*, Code> kCodes[] = {{"ld", kLoad},
                                                   {"ldu", kLoad},
                                                   {"st", kStore},
                                                   {"mov", kMove},
                                                   {"cvt", kConvert},
                                                   {"cvta", kToSpace},
                                                   {"add", kAdd},
                                                   {"sub", kSub},
                                                   {"mul", kMul},
                                                   {"mul24", kMul},
                                                   {"mad", kMad},
                                                   {"fma", kFma},
                                                   {"div", kDiv},
                                                   {"rem", kRem},
                                                   {"neg", kNeg},
                                                   {"abs", kAbs},
                                                   {"min", kMin},
                                                   {"max", kMax},
                                                   {"and", kAnd},
                                                   {"or", kOr},
                                                   {"xor", kXor},
                                                   {"not", kNot},
                                                   {"cnot", kCnot},
                                                   {"shl", kShl},
                                                   {"shr", kShr},
                                                   {"setp", kSetp},
                                                   {"selp", kSelp},
                                                   {"bra", kBra},
                                                   {"bar", kBar},
                                                   {"barrier", kBar},
                                                   {"ret", kRet},
                                                   {"exit", kRet},
                                                   {"ex2", kEx2},
                                                   {"lg2", kLg2},
                                                   {"rcp", kRcp},
                                                   {"sqrt", kSqrt},
                                                   {"rsqrt", kRsqrt},
                                                   {"sin", kSin},
                                                   {"cos", kCos},
                                                   {"tanh", kTanh},
                                                   {"bfe", kBfe},
                                                   {"bfi", kBfi},
                                                   {"prmt", kPrmt},
                                                   {"popc", kPopc},
                                                   {"clz", kClz},
                                                   {"brev", kBrev},
                                                   {"shfl", kShfl},
                                                   {"copysign", kCopysign},
                                                   {"testp", kTestp},
                                                   {"membar", kNothing},
                                                   {"fence", kNothing},
                                                   {"prefetch", kNothing},
                                                   {"griddepcontrol", kNothing},
                                                   {"atom", kAtom},
                                                   {"red", kAtom},
                                                   {"shf", kShf}};

}  // namespace

void resolve(Instruction& instruction) {
  for (const std::string& word : instruction.words) {
    if (word.starts_with("shared")) instruction.space = Instruction::kShared;
    if (word == "local") instruction.space = Instruction::kLocal;
    if (word == "param") instruction.space = Instruction::kParameter;
  }
  if (instruction.op == "cp" && instruction.has("async") && !instruction.has("bulk")) {
    instruction.code = kCopyAsync;
    return;
  }
  for (const auto& [name, code] : kCodes)
    if (instruction.op == name) {
      instruction.code = code;
      const bool needs_type = code != kBra && code != kBar && code != kRet && code != kNothing;
      if (needs_type && instruction.types.empty()) break;
      return;
    }
  throw Fault{kInvalidPtx, "an instruction that is not known: " + instruction.text};
}

}  // namespace lathe::fake_cuda
