// Runs images on this machine's first OpenCL device, for tests of the back end alone: it waits
// after every launch and checks what lies behind each buffer.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "compiler/ir/flat/flat.h"
#include "oracle/flat_eval.h"
#include "runtime/device/opencl/image.h"

namespace lathe::testing {

class OpenClRunner {
 public:
  // kNotFound: there is no library, platform or device, which the sentence names.
  static Result<OpenClRunner> open();

  const std::string& device_name() const { return name_; }
  bool has_extension(const std::string& name) const;
  // prepare, then run; storage as interp::eval_flat has it.
  Result<std::vector<interp::Bytes>> run(const opencl::Image& image,
                                         std::span<const interp::Bytes> inputs) const;

 private:
  OpenClRunner() = default;
  void* context_ = nullptr;
  void* device_ = nullptr;
  void* queue_ = nullptr;
  std::string name_, extensions_;
};

}  // namespace lathe::testing
