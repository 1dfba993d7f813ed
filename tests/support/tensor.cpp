#include "support/tensor.h"

#include <cstdlib>
#include <cstring>
#include <utility>

#include <fmt/ranges.h>

namespace lathe::tensor {
namespace {

constexpr std::uint8_t kDLBoolCode = 6;  // kDLBool, which older headers do not name

std::vector<std::int64_t> row_major(const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

}  // namespace

DLDataType dl_type(Dtype dtype) {
  const auto bits = static_cast<std::uint8_t>(8 * size_of(dtype));
  switch (dtype) {
    case Dtype::kF32:
    case Dtype::kF64:
    case Dtype::kF16: return {kDLFloat, bits, 1};
    case Dtype::kBF16: return {kDLBfloat, bits, 1};
    case Dtype::kI8:
    case Dtype::kI16:
    case Dtype::kI32:
    case Dtype::kI64: return {kDLInt, bits, 1};
    case Dtype::kU8:
    case Dtype::kU16:
    case Dtype::kU32: return {kDLUInt, bits, 1};
    case Dtype::kBool: return {kDLBoolCode, bits, 1};
  }
  broken_invariant(__FILE__, __LINE__, "dtype out of range");
}

Result<Dtype> dtype_of(DLDataType type) {
  for (const Dtype dtype :
       {Dtype::kF32, Dtype::kF64, Dtype::kF16, Dtype::kBF16, Dtype::kI8, Dtype::kU8, Dtype::kI16,
        Dtype::kU16, Dtype::kI32, Dtype::kU32, Dtype::kI64, Dtype::kBool}) {
    const DLDataType known = dl_type(dtype);
    if (known.code == type.code && known.bits == type.bits && known.lanes == type.lanes)
      return dtype;
  }
  return fail(ErrorKind::kUnsupported,
              "DLPack type code {} with {} bits and {} lanes is none of {}", int{type.code},
              int{type.bits}, int{type.lanes}, known_dtypes());
}

void Tensor::Free::operator()(std::byte* memory) const { std::free(memory); }

Result<Tensor> Tensor::make(Dtype dtype, std::vector<std::int64_t> shape) {
  Tensor tensor;
  tensor.dtype_ = dtype;
  tensor.shape_ = std::move(shape);
  tensor.strides_ = row_major(tensor.shape_);
  const auto wanted = static_cast<std::size_t>(tensor.bytes());
  const std::size_t bytes = (wanted + kAlignment) / kAlignment * kAlignment;
  tensor.memory_.reset(static_cast<std::byte*>(std::aligned_alloc(kAlignment, bytes)));
  if (!tensor.memory_)
    return fail(ErrorKind::kOutOfMemory, "there is no memory for a tensor of {} bytes", wanted);
  std::memset(tensor.memory_.get(), 0, bytes);
  tensor.point_view();
  return tensor;
}

Tensor::Tensor(Tensor&& other) noexcept
    : dtype_(other.dtype_),
      shape_(std::move(other.shape_)),
      strides_(std::move(other.strides_)),
      memory_(std::move(other.memory_)) {
  point_view();
}

Tensor& Tensor::operator=(Tensor&& other) noexcept {
  dtype_ = other.dtype_;
  shape_ = std::move(other.shape_);
  strides_ = std::move(other.strides_);
  memory_ = std::move(other.memory_);
  point_view();
  return *this;
}

std::int64_t Tensor::elements() const {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape_) count *= extent;
  return count;
}

void Tensor::point_view() {
  view_ = {};
  view_.data = memory_.get();
  view_.device.device_type = kDLCPU;
  view_.ndim = static_cast<int>(shape_.size());
  view_.dtype = dl_type(dtype_);
  view_.shape = shape_.data();
  view_.strides = strides_.data();
}

}  // namespace lathe::tensor
