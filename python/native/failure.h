// Failures of Lathe as Python's exceptions: lathe.InvalidArgument, a ValueError, where the caller
// gave something wrong, lathe.Failed, a RuntimeError, for the rest. Both are a lathe.Error.
#pragma once

#include <exception>
#include <string>
#include <utility>

#include "lathe/lathe.h"

namespace lathe::python {

// Thrown through nanobind, which has raise() called.
struct Raised : std::exception {
  explicit Raised(Failure what) : failure(std::move(what)), text(failure.text()) {}
  const char* what() const noexcept override { return text.c_str(); }
  Failure failure;
  std::string text;
};

// Sets Python's error.
void raise(const Failure& failure);
void raise_invalid(std::string message);

template <class T>
T value_of(Expected<T> result) {
  if (!result) throw Raised(std::move(result.error()));
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

}  // namespace lathe::python
