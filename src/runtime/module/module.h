// Opens generated code: a shared object in memory becomes callable, without a file that others
// could see or that would be left behind.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "base/result.h"
#include "runtime/module/abi.h"

namespace lathe::module {

// The code stays loaded for as long as this object lives.
class Module {
 public:
  Module(int file, void* library, const lathe_module* table)
      : file_(file), library_(library), table_(table) {}
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  const lathe_module& table() const { return *table_; }

 private:
  int file_;  // stays open: the loader knows libraries by name, and the name contains this number
  void* library_;
  const lathe_module* table_;
};

// Of an open file, which is closed with the module, or at once where it fails: with kDataLoss (no
// shared object for this machine, no table, another ABI) or kOutOfMemory.
Result<std::unique_ptr<Module>> open_module(int file);
// Of bytes in memory; fails with kIo, too.
Result<std::unique_ptr<Module>> load_module(std::span<const std::byte> shared_object);

}  // namespace lathe::module
