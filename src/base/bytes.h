// Appends plain values to strings of bytes and takes them off again, for binary files. They are
// little-endian.
#pragma once

#include <bit>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

namespace lathe {

static_assert(std::endian::native == std::endian::little, "binary files are little-endian");

template <class T>
  requires std::is_trivially_copyable_v<T>
void append_value(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Moves a value from the front of `bytes` to `value`; false if there is not enough left.
template <class T>
  requires std::is_trivially_copyable_v<T>
bool take_value(std::string_view& bytes, T& value) {
  if (bytes.size() < sizeof value) return false;
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes.remove_prefix(sizeof value);
  return true;
}

}  // namespace lathe
