// Which LLVM generates the code.
#pragma once

#include <string>

namespace lathe::codegen {

std::string llvm_version();  // "19.1.7"

}  // namespace lathe::codegen
