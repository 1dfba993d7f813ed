// A tensor in DLPack's layout that owns its memory.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <dlpack/dlpack.h>

#include "base/dtype.h"
#include "base/result.h"
#include "runtime/tensor/layout.h"

namespace lathe::tensor {

// In bytes, for every tensor: a cache line, and the widest vector.
inline constexpr std::size_t kAlignment = 64;

DLDataType dl_type(Dtype dtype);
Result<Dtype> dtype_of(DLDataType type);

// Row-major storage, 64-byte aligned, zeroed.
class Tensor {
 public:
  static Result<Tensor> make(Dtype dtype, std::vector<std::int64_t> shape);
  Tensor(Tensor&& other) noexcept;
  Tensor& operator=(Tensor&& other) noexcept;

  Dtype dtype() const { return dtype_; }
  const std::vector<std::int64_t>& shape() const { return shape_; }
  std::int64_t elements() const;
  std::int64_t bytes() const { return elements() * size_of(dtype_); }
  void* data() { return memory_.get(); }
  const void* data() const { return memory_.get(); }
  template <class T>
  T* as() {
    return static_cast<T*>(data());
  }
  template <class T>
  const T* as() const {
    return static_cast<const T*>(data());
  }
  double at(std::int64_t index) const { return load_element(dtype_, address(index)); }
  void set(std::int64_t index, double value) { store_element(dtype_, address(index), value); }

  // A view for users of DLPack; valid while this tensor lives and is not moved.
  DLTensor* dl() { return &view_; }

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  Tensor() = default;
  std::byte* address(std::int64_t index) const { return memory_.get() + index * size_of(dtype_); }
  void point_view();

  Dtype dtype_ = Dtype::kF32;
  std::vector<std::int64_t> shape_, strides_;
  std::unique_ptr<std::byte, Free> memory_;
  DLTensor view_{};
};

}  // namespace lathe::tensor
