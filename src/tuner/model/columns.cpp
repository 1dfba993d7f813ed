#include "tuner/model/columns.h"

#include <bit>
#include <cstdint>
#include <unordered_map>

#include "base/result.h"

namespace lathe::model {

std::vector<int> informative_columns(std::span<const float> features, int rows, int width) {
  LATHE_CHECK(features.size() == static_cast<std::size_t>(rows) * static_cast<std::size_t>(width));
  const auto at = [&](int row, int column) {
    return features[static_cast<std::size_t>(row) * static_cast<std::size_t>(width) +
                    static_cast<std::size_t>(column)];
  };
  const auto equal = [&](int a, int b) {
    for (int row = 0; row < rows; ++row)
      if (at(row, a) != at(row, b)) return false;
    return true;
  };
  std::vector<int> kept;
  std::unordered_multimap<std::uint64_t, int> by_hash;
  for (int column = 0; column < width; ++column) {
    bool varies = false;
    std::uint64_t hash = 0;
    for (int row = 0; row < rows; ++row) {
      varies = varies || at(row, column) != at(0, column);
      hash = (hash ^ std::bit_cast<std::uint32_t>(at(row, column))) * 0x9e3779b97f4a7c15U;
      hash ^= hash >> 29;
    }
    if (!varies) continue;
    const auto [begin, end] = by_hash.equal_range(hash);
    bool repeated = false;
    for (auto it = begin; it != end && !repeated; ++it) repeated = equal(it->second, column);
    if (repeated) continue;
    by_hash.emplace(hash, column);
    kept.push_back(column);
  }
  if (kept.empty()) kept.push_back(0);
  return kept;
}

std::vector<float> select_columns(std::span<const float> features, int rows, int width,
                                  std::span<const int> columns) {
  std::vector<float> out;
  out.reserve(static_cast<std::size_t>(rows) * columns.size());
  for (int row = 0; row < rows; ++row) {
    const auto begin = static_cast<std::size_t>(row) * static_cast<std::size_t>(width);
    for (const int column : columns)
      out.push_back(features[begin + static_cast<std::size_t>(column)]);
  }
  return out;
}

}  // namespace lathe::model
