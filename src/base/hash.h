// A stable 64-bit hash: the same on every machine and build, so it may be stored in records.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lathe {

class Hasher {
 public:
  Hasher& add(std::uint64_t value);
  Hasher& add(std::string_view text);
  std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0xcbf29ce484222325U;
};

std::uint64_t hash_of(std::string_view text);
std::string hex(std::uint64_t value);  // 16 digits

}  // namespace lathe
