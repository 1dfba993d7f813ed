// What all functions of the double begin with, and the contexts that are current.
#pragma once

#include <cstdint>

namespace lathe::fake_cuda {

inline constexpr int kInvalidValue = 1, kOutOfMemory = 2, kNoDevice = 100, kInvalidDevice = 101,
                     kInvalidImage = 200, kInvalidContext = 201, kNotFound = 500,
                     kNoResources = 701, kUnavailable = 46, kCaptureUnsupported = 900,
                     kCaptureImplicit = 906;

// Counts the call; the code that it fails with, as it was told or as an earlier one left it.
int begin(const char* name);
// The same of a function that needs a current context.
int begin_in_context(const char* name);

struct FakeContext {
  int card = 0;
};
// Of this thread; null: none is current.
FakeContext* current_context();

template <class T>
T* opaque(void* handle) {
  return static_cast<T*>(handle);
}

}  // namespace lathe::fake_cuda

#define FAKE extern "C" __attribute__((visibility("default"))) int
#define BEGIN(name) \
  if (const int code = begin(name); code != 0) return code
#define BEGIN_IN_CONTEXT(name) \
  if (const int code = begin_in_context(name); code != 0) return code
