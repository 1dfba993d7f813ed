// Machines as a resolved target describes them, on whatever machine the tests run.
#pragma once

#include "base/target.h"

namespace lathe::test {

inline Target avx512(int threads = 1) {
  Target target = *parse_target("cpu:x86-64-v4");
  target.set_threads(threads);
  target.as_cpu().vector_bits = 512;
  target.as_cpu().vector_registers = 32;
  target.as_cpu().has_fma = target.as_cpu().has_f16c = target.as_cpu().has_avx512_masks = true;
  return target;
}

inline Target sse(int threads = 1) {
  Target target = *parse_target("cpu:x86-64");
  target.set_threads(threads);
  target.as_cpu().vector_bits = 128;
  target.as_cpu().vector_registers = 16;
  return target;
}

inline Target avx2(int threads = 1) {
  Target target = *parse_target("cpu:x86-64-v3");
  target.set_threads(threads);
  target.as_cpu().vector_bits = 256;
  target.as_cpu().vector_registers = 16;
  target.as_cpu().has_fma = target.as_cpu().has_f16c = true;
  return target;
}

}  // namespace lathe::test
