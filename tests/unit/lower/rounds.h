// How many random programs a test tries.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace lathe {

// `usual`, or what LATHE_RANDOM_ROUNDS asks for.
inline std::uint64_t rounds(std::uint64_t usual) {
  const char* asked = std::getenv("LATHE_RANDOM_ROUNDS");
  return asked ? std::strtoull(asked, nullptr, 10) : usual;
}

}  // namespace lathe
