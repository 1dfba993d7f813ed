// Regions on the threads of an OpenMP runtime that another library of this process has loaded, as
// PyTorch has. Two sets of threads that wait by spinning would take each other's processors.
#pragma once

#include <memory>

#include "runtime/module/abi.h"

namespace lathe::python {

// Runs regions of so many threads; for one caller at a time.
class OpenMpThreads {
 public:
  // Of the runtime that PyTorch computes with; null: it has none, or is not loaded.
  static std::unique_ptr<OpenMpThreads> of_torch(int threads);
  ~OpenMpThreads();
  OpenMpThreads(const OpenMpThreads&) = delete;
  OpenMpThreads& operator=(const OpenMpThreads&) = delete;

  const lathe_runtime* runtime() const { return &runtime_; }

 private:
  struct State;
  explicit OpenMpThreads(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
  lathe_runtime runtime_;
};

}  // namespace lathe::python
