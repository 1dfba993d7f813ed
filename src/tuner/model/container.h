// The bytes a cost model is saved as: magic, format and feature version, kind, length, payload,
// checksum. Little-endian.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/result.h"

namespace lathe::model {

static_assert(std::endian::native == std::endian::little, "saved models are little-endian");

std::string pack(std::string_view kind, std::string_view payload);
// The payload. The error says whether the bytes are no model at all, cut short, damaged, of another
// kind, or made for other features.
Result<std::string> unpack(std::string_view bytes, std::string_view kind);

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

}  // namespace lathe::model
