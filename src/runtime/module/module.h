// Opens generated code: a shared object in memory becomes callable.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "base/result.h"
#include "runtime/module/abi.h"
#include "runtime/module/loaded_code.h"

namespace lathe::module {

// The code stays loaded for as long as this object lives.
class Module {
 public:
  Module(std::unique_ptr<LoadedCode> code, const lathe_module* table)
      : code_(std::move(code)), table_(table) {}

  const lathe_module& table() const { return *table_; }

 private:
  std::unique_ptr<LoadedCode> code_;
  const lathe_module* table_;
};

// Of an open file, which is closed with the module, or at once where it fails: with kDataLoss (no
// shared object for this machine, no table, another ABI) or kOutOfMemory.
Result<std::unique_ptr<Module>> open_module(int file);
// Of bytes in memory; fails with kIo, too.
Result<std::unique_ptr<Module>> load_module(std::span<const std::byte> shared_object);

}  // namespace lathe::module
