#include "compiler/backends/backends.h"

#include "compiler/codegen/llvm/codegen.h"
#include "compiler/codegen/llvm/nvptx/nvptx_backend.h"
#include "compiler/codegen/opencl/codegen.h"

namespace lathe {

driver::Backends backends() {
  static const codegen::Backend* const all[] = {
      &codegen::llvm_backend(), &codegen::opencl_backend(), &codegen::nvptx_backend()};
  return all;
}

}  // namespace lathe
