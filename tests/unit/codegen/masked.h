// What the tests of masked accesses share.
#pragma once

#include <string>
#include <vector>

#include "unit/codegen/harness.h"

namespace lathe::testing {

// SSE, AVX, AVX2 and AVX-512; this machine need not run them.
inline std::vector<Target> masked_targets() {
  return {resolved("cpu:x86-64-v2"), resolved("cpu:sandybridge"), resolved("cpu:haswell"),
          resolved("cpu:skylake-avx512")};
}

inline bool runs_here([[maybe_unused]] const Target& target) {
#if defined(__x86_64__)
  switch (target.as_cpu().vector_bits) {
    case 128: return __builtin_cpu_supports("x86-64-v2");
    case 256: return __builtin_cpu_supports("x86-64-v3");
    case 512: return __builtin_cpu_supports("x86-64-v4");
    default: break;
  }
#endif
  return false;
}

// The program's first masked access that is wider than a register of the target; empty if none is.
inline std::string wide_in(const flat::Program& program, const Target& target) {
  const auto ir = codegen::llvm_ir(program, target);
  return ir ? too_wide(*ir, target) : ir.error().text();
}

}  // namespace lathe::testing
