// The module of a card's program as machine code of this process.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace lathe::testing {

class HostModule {
 public:
  // With the functions of block.h for what the hardware does.
  static Result<HostModule> compile(const std::string& ir);
  HostModule(HostModule&&) noexcept;
  ~HostModule();

  using Kernel = void (*)(void* const* arguments);
  Result<Kernel> kernel(const std::string& name) const;
  // False: no thread waits for another, so that none needs a fiber.
  bool meets() const;

 private:
  struct Impl;
  explicit HostModule(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace lathe::testing
