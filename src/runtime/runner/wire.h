// Turns values into bytes and back, for messages between processes of one machine. A reader of
// damaged bytes yields zeros, and tells at the end that they were damaged.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/result.h"
#include "runtime/tensor/layout.h"

namespace lathe::runner {

class Writer {
 public:
  template <class T>
  Writer& put(T value) {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Writer& text(std::string_view value);
  template <class T>
  Writer& list(const std::vector<T>& values) {
    put(static_cast<std::uint64_t>(values.size()));
    for (const T& value : values) put(value);
    return *this;
  }
  Writer& borders(const std::vector<tensor::Border>& borders);
  Writer& error(const Error& error);
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  template <class T>
  T get() {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
    T value{};
    if (const auto raw = next(sizeof value); !raw.empty())
      std::memcpy(&value, raw.data(), sizeof value);
    return value;
  }
  bool flag() { return get<std::uint8_t>() != 0; }
  std::string text();
  template <class T>
  std::vector<T> list() {
    const auto count = get<std::uint64_t>();
    if (count > bytes_.size() / sizeof(T)) damaged_ = true;
    std::vector<T> values;
    for (std::uint64_t i = 0; i < count && !damaged_; ++i) values.push_back(get<T>());
    return values;
  }
  std::vector<tensor::Border> borders();
  Error error();
  // True if everything was there and nothing is left.
  bool complete() const { return !damaged_ && bytes_.empty(); }

 private:
  std::string_view next(std::size_t size);
  std::string_view bytes_;
  bool damaged_ = false;
};

}  // namespace lathe::runner
