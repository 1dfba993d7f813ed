// How a tensor at an operator's border is stored, and copying between that and row-major order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/result.h"

namespace lathe::tensor {

// One digit of a storage layout: element x lies at  sum over digits of  stride * ((i / weight) %
// extent), where i is x[dim], or x[dim] % within where that is above 0.
struct LayoutDigit {
  int dim = 0;
  std::int64_t weight = 1, extent = 1, stride = 1, within = 0;
  // Of an element whose index in `dim` is `index`: what this digit adds to its offset.
  std::int64_t offset(std::int64_t index) const {
    return stride * ((within > 0 ? index % within : index) / weight % extent);
  }
  friend bool operator==(const LayoutDigit&, const LayoutDigit&) = default;
};

// A tensor at an operator's border, input or output: what it is, and how it lies in memory.
struct Border {
  std::string name;
  Dtype dtype = Dtype::kF32;
  std::vector<std::int64_t> shape;
  std::vector<LayoutDigit> layout;  // outermost first
  std::int64_t size = 0;            // elements of storage, padding included
  bool constant = false;            // known when prepare() runs

  std::int64_t elements() const;  // of the tensor, without padding
  std::int64_t bytes() const { return size * size_of(dtype); }
  friend bool operator==(const Border&, const Border&) = default;
};

// The border of a tensor stored row-major without padding.
Border plain_border(std::string name, Dtype dtype, std::vector<std::int64_t> shape,
                    bool constant = false);

// True if the storage is row-major without padding, so that nothing needs to be copied.
bool is_plain(const Border& border);

// Checks that digits are in range, every element lies inside the storage and no two share a place.
// Borders that come from another process are checked before they are used.
Status verify(const Border& border);

// Copies from row-major order to the storage. Padding becomes zero.
void pack(const Border& border, const void* plain, void* storage);
// Copies from the storage to row-major order.
void unpack(const Border& border, const void* storage, void* plain);

}  // namespace lathe::tensor
