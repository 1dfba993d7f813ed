// Elements that never change, and who keeps them.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/dtype.h"

namespace lathe::tensor {

// Bytes in memory, or of a part of a file that is mapped. `owner` keeps them. They need not be
// aligned.
struct Data {
  std::shared_ptr<const void> owner;
  std::span<const std::byte> bytes;

  static Data own(std::vector<std::byte> bytes) {
    auto kept = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
    return {kept, *kept};
  }
  // Numbers as elements of the type, one after the other.
  static Data of(Dtype dtype, std::span<const double> numbers) {
    const auto size = static_cast<std::size_t>(size_of(dtype));
    std::vector<std::byte> bytes(numbers.size() * size);
    for (std::size_t i = 0; i < numbers.size(); ++i)
      store_element(dtype, bytes.data() + i * size, numbers[i]);
    return own(std::move(bytes));
  }
};

}  // namespace lathe::tensor
