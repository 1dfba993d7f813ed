// Flat program -> PTX through LLVM 19, and what is launched of it (runtime/device/cuda/image.h).
#pragma once

#include <string>

#include "base/result.h"
#include "base/target.h"
#include "compiler/codegen/backend.h"
#include "compiler/ir/flat/flat.h"
#include "runtime/device/cuda/image.h"

namespace lathe::codegen {

// Its objects are the bytes of an image, and so is what it links of them.
const Backend& nvptx_backend();

// Fails with kUnsupported for what the card cannot do.
Result<cuda::Image> cuda_image(const flat::Program& program, const CudaTarget& card);

// The module that becomes PTX, as text.
Result<std::string> cuda_ir(const flat::Program& program, const Target& target);

}  // namespace lathe::codegen
