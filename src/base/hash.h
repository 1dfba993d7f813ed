// A stable 64-bit hash: the same on every machine and build, so it may be stored in records.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lathe {

class Hasher {
 public:
  Hasher& add(std::uint64_t value) {
    std::uint64_t z = state_ ^ (value + 0x9e3779b97f4a7c15U + (state_ << 6) + (state_ >> 2));
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    state_ = z ^ (z >> 31);
    return *this;
  }
  Hasher& add(std::string_view text);
  std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0xcbf29ce484222325U;
};

std::uint64_t hash_of(std::string_view text);
std::string hex(std::uint64_t value);  // 16 digits

}  // namespace lathe
