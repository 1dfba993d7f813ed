// NVIDIA's assembler, ptxas, where it is on this machine: machine code that no driver has to make.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"

namespace lathe::codegen {

struct MachineCode {
  int architecture = 0;  // 80 for sm_80
  std::vector<std::byte> bytes;
};

struct Assembled {
  std::vector<MachineCode> codes;
  std::string remark;  // a sentence: which there are, or why there are none
};

// Machine code for the known architectures from `architecture` on, which the PTX is for; those that
// the assembler does not know or refuses are left out. It is the one that $LATHE_PTXAS names, else
// `ptxas` on the PATH. Without one there are no codes. Fails where $LATHE_PTXAS names none that can
// be run.
Result<Assembled> assemble_ptx(const std::string& ptx, int architecture);

}  // namespace lathe::codegen
