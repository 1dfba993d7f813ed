#include "compiler/backends/backends.h"

#include "compiler/codegen/llvm/codegen.h"

namespace lathe {

driver::Backends backends() {
  static const codegen::Backend* const all[] = {&codegen::llvm_backend()};
  return all;
}

}  // namespace lathe
