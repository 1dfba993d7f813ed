// NVIDIA's assembler for PTX, where scripts/install --ptxas has brought it. It needs no card, no
// driver and nothing else of CUDA.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace lathe::testing {

struct AssembledKernel {
  std::string name;
  int registers = 0;  // of a thread
  int shared_bytes = 0, spilled_bytes = 0, stack_bytes = 0;
};

// Where it is; empty: it is not there.
std::string assembler_path();

// Every kernel, as machine code for "sm_80" and the like. kNotFound: the assembler is not there.
Result<std::vector<AssembledKernel>> assemble(const std::string& ptx,
                                              const std::string& architecture);

}  // namespace lathe::testing
