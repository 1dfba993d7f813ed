#include "base/hash.h"

#include <fmt/format.h>

namespace lathe {

Hasher& Hasher::add(std::string_view text) {
  std::uint64_t fnv = 0xcbf29ce484222325U;
  for (const char c : text) fnv = (fnv ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return add(fnv).add(text.size());
}

std::uint64_t hash_of(std::string_view text) { return Hasher().add(text).value(); }
std::string hex(std::uint64_t value) { return fmt::format("{:016x}", value); }

}  // namespace lathe
