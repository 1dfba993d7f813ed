#include "compiler/codegen/package/weights_hash.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/hash.h"

namespace lathe::package {
namespace {

// Lanes do not wait for each other: a product of one takes some cycles.
constexpr std::size_t kLanes = 8;
using Lanes = std::array<std::uint64_t, kLanes>;
constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15U;
constexpr int kTurn = 29;  // brings what a product has in its upper bits down

void add_block(Lanes& lanes, const std::byte* block) {
  Lanes words;
  std::memcpy(words.data(), block, sizeof words);
  for (std::size_t i = 0; i < kLanes; ++i)
    lanes[i] = std::rotl((lanes[i] ^ words[i]) * kOdd, kTurn);
}

}  // namespace

std::uint64_t weights_hash(std::span<const std::byte> bytes) {
  Lanes lanes{};
  Hasher hasher;
  hasher.add(bytes.size());
  for (; bytes.size() >= sizeof lanes; bytes = bytes.subspan(sizeof lanes))
    add_block(lanes, bytes.data());
  std::array<std::byte, sizeof lanes> rest{};
  std::ranges::copy(bytes, rest.begin());
  add_block(lanes, rest.data());
  for (const std::uint64_t lane : lanes) hasher.add(lane);
  return hasher.value();
}

}  // namespace lathe::package
