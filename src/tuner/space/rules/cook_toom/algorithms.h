// Cook-Toom algorithms of a sum over neighbours: which there are, and which a contract allows.
// Every kind of device has the same.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "base/result.h"
#include "compiler/te/contract.h"
#include "tuner/space/rules/cook_toom/image_sum.h"

namespace lathe::space {

// F(m x n): so many results together along each tap. No taps: the sum as it is written.
struct Algorithm {
  std::vector<std::string> taps;  // iterators of the block
  std::vector<std::int64_t> tiles;

  bool transforms(const ImageAxis& axis) const;
};
std::string label_of(const Algorithm& algorithm);  // "direct", "F(4x4)", "F(4) along s"

// Those that the contract allows and that are accurate enough; the first is direct. `sum` says why
// there is none for a stage. Refuses an algorithm of the contract that there is not.
Result<std::vector<Algorithm>> algorithms_for(const te::Contract& contract,
                                              const std::expected<ImageSum, std::string>& sum);

}  // namespace lathe::space
