// The number by which a library knows its file of weights: both get it from one compilation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace lathe::package {

// Reads as fast as memory gives the bytes.
std::uint64_t weights_hash(std::span<const std::byte> bytes);

}  // namespace lathe::package
