// A shared object in memory, loaded into this process without a file that others could see or that
// would be left behind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/result.h"

namespace lathe::module {

// Which file it is, whatever its number; zeros: none.
struct FileIdentity {
  std::uint64_t device = 0, inode = 0;
  bool operator==(const FileIdentity&) const = default;
};

// The code stays loaded for as long as this object lives.
class LoadedCode {
 public:
  // Fails with kDataLoss where the loader refuses it or bytes are missing at its end, with
  // kOutOfMemory, or with kIo where the system has no file in memory.
  static Result<std::unique_ptr<LoadedCode>> of_bytes(std::span<const std::byte> shared_object);
  // Of an open file, which is closed with the object, or at once where it fails.
  static Result<std::unique_ptr<LoadedCode>> of_file(int file);
  ~LoadedCode();
  LoadedCode(const LoadedCode&) = delete;
  LoadedCode& operator=(const LoadedCode&) = delete;

  void* find(const char* symbol) const;  // null where there is none

 private:
  LoadedCode(int file, FileIdentity identity, void* library)
      : file_(file), identity_(identity), library_(library) {}

  int file_;  // stays open: the loader knows libraries by name, and the name contains this number
  FileIdentity identity_;  // of it
  void* library_;
};

}  // namespace lathe::module
